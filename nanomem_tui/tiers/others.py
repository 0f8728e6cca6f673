"""What other processes say of now: the segments that they write, or left, read as they grow. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Sequence
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.tiers.entries import Kept
from nanomem_tui.tiers.ring import Ring
from nanomem_tui.tiers.spool import read_lines


class _Seen(NamedTuple):
    """A segment of another process as far as it was read."""

    size: int
    rank: int
    ring: Ring


class Others:
    """The rings of the other processes. The caller lets in one at a time. `moved`: how many of the oldest entries of a
    file working memory has already."""

    def __init__(self, folder: Path, moved: Callable[[Collection[Kept]], int]) -> None:
        self._folder = folder
        self._moved = moved
        self._seen: dict[str, _Seen] = {}

    def look(self, names: Sequence[str], own: Container[str]) -> dict[str, Ring]:
        """The rings of the segments of these names that are not our own; only what was added since is read."""
        found = {}
        for name in names:
            if name not in own and (seen := self._read(name)) is not None:
                found[name] = seen
        self._seen = found
        return {name: seen.ring for name, seen in found.items()}

    def _read(self, name: str) -> _Seen | None:
        """The segment, with what was added to it; None when it went, or cannot be read."""
        known = self._seen.get(name) or _Seen(0, 0, Ring())
        path = self._folder / name
        try:
            size = os.stat(path).st_size
            if size == known.size:
                return known
            if size < known.size:  # an end that could not be written whole was taken back
                known = _Seen(0, 0, Ring())
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                data = os.pread(handle, size - known.size, known.size)
            finally:
                os.close(handle)
        except OSError:
            return None
        content = read_lines(data, None, known.rank)
        ring = known.ring
        for kept, told in content.entries:
            ring.add(kept, told)
        if content.aged and any(kept.id == content.aged for kept in ring.entries):
            while ring.entries[0].id != content.aged:
                ring.drop()
            ring.drop()
        if not known.size:
            for _ in range(self._moved(ring.entries)):
                ring.drop()
        return _Seen(known.size + content.whole, content.rank, ring)
