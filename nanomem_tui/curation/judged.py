"""What findings were judged on: the rows and files as they were when somebody looked, and whether they still are so.

Owns which differences matter: what turns move by themselves (`NOT_COMPARED`) does not, unless a finding is about use.
Reads only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.curation.values import Finding
from nanomem_tui.store.snapshot import NOT_COMPARED
from nanomem_tui.store.values import ROW_TYPES, AnyRow

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

OF_USE = frozenset({"stale", "unused"})
"""Kinds of findings that no longer hold once the row was recalled."""
LAYERS = ("item", "lesson")
"""Where a new row wants a new look."""
STANDING = (*LAYERS, "record")
_JUDGED = {kind: attrgetter(*(f for f in kind._fields if f not in NOT_COMPARED)) for kind in ROW_TYPES.values()}

Stamp = tuple[tuple[int, int], ...]


class Judged(NamedTuple):
    """The rows by layer and id, and the files' stamps, at one moment."""

    rows: Mapping[str, Mapping[str, AnyRow]]
    files: Stamp


def judged(ws: Workspace) -> Judged:
    """All that findings are judged on, as it is now; of 100,000 rows only the references are kept."""
    snapshot = ws.store.load()
    with snapshot.lock:
        rows = {name: dict(snapshot.table(name)) for name in STANDING}
    return Judged(rows, files_of(ws))


def files_of(ws: Workspace) -> Stamp:
    """What tells whether the memory files or the list of sessions changed."""
    places = [ws.paths.workspace / name for name in TRACKED_FILES]
    return tuple(map(_stamp, (*places, *filter(None, (ws.layout.sessions_dir,)))))


def same(one: AnyRow | None, other: AnyRow | None) -> bool:
    """Whether two states of a row are judged alike."""
    if one is other:
        return True
    if one is None or other is None or type(one) is not type(other):
        return False
    look = _JUDGED[type(one)]
    return bool(look(one) == look(other))


def stands(finding: Finding, then: Judged, now: Mapping[str, Mapping[str, AnyRow]]) -> bool:
    """Whether the rows that a finding is about are as they were."""
    if finding.layer not in STANDING:
        return True
    before, after = then.rows[finding.layer], now[finding.layer]
    for key in finding.ids:
        old, new = before.get(key), after.get(key)
        if old is new:
            continue
        if not same(old, new) or (finding.kind in OF_USE and _hits(old) != _hits(new)):
            return False
    return True


def is_new(then: Judged, now: Mapping[str, Mapping[str, AnyRow]], settled: Mapping[tuple[str, str], AnyRow]) -> bool:
    """Whether there is a row that nobody looked at as it is: new, or changed. What is switched off or gone is not, nor
    what a person's own decision left (`settled`)."""
    for layer in LAYERS:
        before = then.rows[layer]
        for key, row in list(now[layer].items()):  # the agent may add one meanwhile
            old = before.get(key)
            if old is row or row.is_deleted or not _enabled(row):
                continue
            if not same(old, row) and not same(settled.get((layer, key)), row):
                return True
    return False


def _enabled(row: Any) -> bool:
    return bool(getattr(row, "enabled", True))


def _hits(row: Any) -> int:
    return int(getattr(row, "hits", 0) or 0)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
