"""Rows as they were, found by going backwards from now through what operations recorded. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from nanomem_tui.operations import Operation
from nanomem_tui.store.snapshot import COUNTERS, RowKey, patched
from nanomem_tui.store.values import ROW_LAYERS, AnyRow

Fate = Literal["added", "removed", "changed"]


class Difference(NamedTuple):
    """A row that differs between two moments; None on a side where it was not there. `fields`: those that differ,
    counters left out."""

    layer: str
    key: str
    then: AnyRow | None
    now: AnyRow | None
    fields: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """What became of it from the one moment to the other."""
        if self.then is None:
            return "added"
        return "removed" if self.now is None else "changed"


def rewound(tables: Mapping[str, Mapping[str, AnyRow]], later: Iterable[Operation]) -> dict[RowKey, AnyRow | None]:
    """The rows that `later` operations, newest first, touched, as they were before all of them; deleted ones are among
    them, None where none was ever made."""
    found: dict[RowKey, AnyRow | None] = {}
    for operation in later:
        for change in reversed(operation.changes):
            if change.layer in ROW_LAYERS:
                place = (change.layer, change.key)
                row = found[place] if place in found else tables[change.layer].get(change.key)
                found[place] = patched(row, change.inverse())
    return found


def difference(place: RowKey, then: AnyRow | None, now: AnyRow | None) -> Difference | None:
    """What differs between a row then and now; None where nothing but counters does. A deleted row is not there."""
    before, after = (None if row is None or row.is_deleted else row for row in (then, now))
    if before is None and after is None:
        return None
    if before is None or after is None:
        return Difference(*place, before, after)
    names = (name for name in after._fields if name not in COUNTERS)
    fields = tuple(name for name in names if getattr(before, name) != getattr(after, name))
    return Difference(*place, before, after, fields) if fields else None
