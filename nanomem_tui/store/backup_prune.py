"""Old backups go, and those that stay are whole without them: what they need of these is written into them first.

The newest is written anew first and an older one only after it, then those that go are removed, the newest first: a
prune that is killed at any step leaves every backup that stays whole, and is done to the end by the next one. One that
would stay and is damaged is left as it is, with all that it builds on, and keeps nothing else from going.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import BadInput, from_os_error
from nanomem_tui.store import atomic, backup_marker
from nanomem_tui.store.backup import listed
from nanomem_tui.store.backup_archive import Archive, Writer

Progress = Callable[[int, int], None]


class Pruned(NamedTuple):
    """What a prune did, or would do: names of backups, the newest first. `anew`: of those kept, the ones that are
    written anew to stand without what goes; `unread`: cannot be read, and stay with all that is older. `freed`: bytes
    of what goes, less what the others grow by; `damaged`: stay as they are with all that they build on, and why (both
    are known once it is done)."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    anew: tuple[str, ...]
    unread: tuple[str, ...]
    freed: int = 0
    damaged: tuple[tuple[str, str], ...] = ()


class _Standing(NamedTuple):
    """How a backup that stays will lie there: what it builds on, and the pieces in its own file."""

    base: str
    own: frozenset[str]
    all: frozenset[str]


def plan(folder: Path, keep: int, days: int = 0) -> Pruned:
    """What `prune` would do. `keep`: so many that a person made stay, and so many that nanomem made by itself; `days`:
    and all that are younger. Raises BadInput for a `keep` below 1."""
    kept, gone, unread = _sorted(folder, keep, days)
    anew = tuple(name for name, standing in _standing(folder, kept).items() if _is_new(folder / name, standing))
    return Pruned(tuple(gone), tuple(kept), anew, tuple(unread))


def prune(folder: Path, keep: int, days: int = 0, progress: Progress = lambda _done, _all: None) -> Pruned:
    """Remove what `plan` names. Every backup that stays was read whole before anything is removed.

    What is damaged stays as it is, with all that it builds on. Raises the errors of `from_os_error`.
    """
    kept, gone, unread = _sorted(folder, keep, days)
    if not gone:
        return Pruned((), tuple(kept), (), tuple(unread))
    try:
        return _pruned(folder, Pruned(tuple(gone), tuple(kept), (), tuple(unread)), frozenset(), progress)
    except BadInput:
        damaged, spared = _damaged(folder, kept)
        if not damaged:
            raise
    left = tuple(name for name in gone if name not in spared)
    stays = tuple(sorted({*kept, *gone} - set(left), reverse=True))
    return _pruned(folder, Pruned(left, stays, (), tuple(unread), 0, damaged), spared, progress)


def _pruned(folder: Path, wanted: Pruned, spared: frozenset[str], progress: Progress) -> Pruned:
    """Do what is wanted; `spared` ones are not touched. Raises BadInput where another one that stays is damaged:
    nothing was removed then."""
    if not wanted.removed:
        return wanted
    before = _bytes(folder, (*wanted.kept, *wanted.removed))
    standing = _standing(folder, wanted.kept, spared)
    anew = []
    try:
        for number, (name, stands) in enumerate(standing.items()):  # the newest first
            progress(number, len(wanted.kept))
            if name not in spared and _is_new(folder / name, stands):
                _write(folder / name, stands)
                anew.append(name)
        for name, stands in standing.items():
            if name not in spared:
                _refuse_damaged(folder / name, stands)
        for name in wanted.removed:
            os.unlink(folder / name)
        atomic.sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "removing old backups") from error
    return wanted._replace(anew=tuple(anew), freed=before - _bytes(folder, wanted.kept))


def _damaged(folder: Path, names: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Those of which a piece cannot be read, with why, and these with all that they build on."""
    found: list[tuple[str, str]] = []
    spared: set[str] = set()
    for name in names:
        with Archive(folder / name) as archive:
            for piece in sorted({piece for entry in archive.manifest.entries for piece in entry.pieces}):
                try:
                    archive.piece(piece)
                except BadInput as error:
                    file = archive.file_of(piece)
                    found.append((name, f"{error.what}, in {file}" if file not in ("", name) else error.what))
                    spared |= {name, *archive.chain}
                    break
    return tuple(found), frozenset(spared)


def _sorted(folder: Path, keep: int, days: int) -> tuple[list[str], list[str], list[str]]:
    """The names of those that stay, go, and cannot be read; each the newest first.

    One that cannot be read may build on any that is older: all of these stay, until a person has looked at it.
    """
    if keep < 1:
        raise BadInput("at least one backup has to stay", "--keep", "give 1 or more")
    needed, seen = _in_use(folder), Counter[bool]()
    try:
        since = clock.iso(clock.now() - timedelta(days=days)) if days else ""
    except OverflowError:
        since = "0"  # before any time
    kept: list[str] = []
    gone: list[str] = []
    unread: list[str] = []
    for one in listed(folder):
        name, own = one.path.name, bool(one.reason)
        if one.problem:
            unread.append(name)
            continue
        seen[own] += 1
        young = bool(since) and one.made_at >= since
        stays = bool(unread) or young or seen[own] <= keep or name in needed
        (kept if stays else gone).append(name)
    return kept, gone, unread


def _in_use(folder: Path) -> set[str]:
    """The backups that an interrupted restore needs."""
    mark = backup_marker.read(folder)
    return {Path(mark.archive).name, mark.before} if mark is not None else set()


def _standing(folder: Path, kept: Sequence[str], spared: Collection[str] = ()) -> dict[str, _Standing]:
    """How those that stay will lie there, the newest first: each on the next older one of its chain that stays, but
    `spared` ones as they are."""
    planned: dict[str, _Standing] = {}
    for name in reversed(kept):
        with Archive(folder / name) as archive:
            if name in spared:
                planned[name] = _Standing(archive.manifest.base, archive.own, archive.names)
                continue
            needed = {piece for entry in archive.manifest.entries for piece in entry.pieces}
            base = next((older for older in archive.chain if older in planned), "")
            below = planned[base].all if base else frozenset[str]()
            own = frozenset(archive.own | (needed & archive.names) - below)
        planned[name] = _Standing(base, own, own | below)
    return dict(reversed(planned.items()))


def _is_new(path: Path, stands: _Standing) -> bool:
    with Archive(path) as archive:
        return archive.manifest.base != stands.base or archive.own != stands.own


def _write(path: Path, stands: _Standing) -> None:
    """Write a backup anew in its place, with the pieces that shall be its own."""
    with Archive(path) as archive:
        writer = Writer(path)
        try:
            for name in sorted(stands.own):
                writer.piece(archive.piece(name))
            writer.close(archive.manifest._replace(base=stands.base), replace=True)
        finally:
            writer.abandon()


def _refuse_damaged(path: Path, stands: _Standing) -> None:
    """Raise BadInput where a piece is gone or not what it was. Each looks at its own; the others are looked at where
    they lie."""
    fix = "nothing was removed; `nanomem backup check` says more, move that file away and try again"
    with Archive(path) as archive:
        needed = {piece for entry in archive.manifest.entries for piece in entry.pieces}
        if not needed <= stands.all:
            raise BadInput("a backup that would stay is damaged: a piece is gone", str(path), fix)
        for name in sorted(archive.own):
            try:
                archive.piece(name)
            except BadInput as error:
                raise BadInput(f"a backup that would stay is damaged: {error.what}", str(path), fix) from error


def _bytes(folder: Path, names: Sequence[str]) -> int:
    return sum((folder / name).stat().st_size for name in names)
