"""Rows and work records as they were, found by going backwards from now through what operations recorded. Pure.

What no operation made is not taken back: what an agent told of its work (`store`) since then stays as it is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.store.snapshot import NOT_COMPARED, RowKey, patched
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, layer_of
from nanomem_tui.store.work import layer as work_layer
from nanomem_tui.store.work.values import COUNTERS, TierRecord, differing

WORK = "work"
"""What the layer of work records is called here; their key is `<kind>/<id>`."""
LAYERS = (*ROW_LAYERS, WORK)
Kept = AnyRow | TierRecord
"""A row, or a work record."""
Fate = Literal["added", "removed", "changed"]


class Difference(NamedTuple):
    """A row that differs between two moments; None on a side where it was not there. `fields`: those that differ,
    counters left out."""

    layer: str
    key: str
    then: Kept | None
    now: Kept | None
    fields: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """What became of it from the one moment to the other."""
        if self.then is None:
            return "added"
        return "removed" if self.now is None else "changed"


def rewound(tables: Mapping[str, Mapping[str, Any]], later: Iterable[Operation]) -> dict[RowKey, Any]:
    """The rows and work records that `later` operations, newest first, touched, as they were before all of them;
    deleted rows are among them, None where none was ever made. `tables`: those of now, by layer and key."""
    found: dict[RowKey, Any] = {}
    for operation in later:
        for change in reversed(operation.changes):
            layer = WORK if change.layer == work_layer.NAME else change.layer
            if layer in LAYERS:
                place = (layer, change.key)
                row = found[place] if place in found else tables[layer].get(change.key)
                found[place] = work_layer.rewound(row, change) if layer == WORK else _made(row, change.inverse())
    return found


def _made(row: AnyRow | None, change: Change) -> AnyRow | None:
    """The row with a change made; None where it is, or stays, absent."""
    if row is None and (change.before is not None or change.after is None):
        return None
    return patched(row, change, row.revision if row is not None else 0)


def difference(place: RowKey, then: Kept | None, now: Kept | None) -> Difference | None:
    """What differs between a row then and now; None where nothing but counters does. A deleted row is not there."""
    before, after = (None if getattr(row, "is_deleted", False) else row for row in (then, now))
    if before is None and after is None:
        return None
    if before is None or after is None:
        return Difference(*place, before, after)
    if isinstance(before, TierRecord) and isinstance(after, TierRecord):
        names = [*(name for name in differing(before, after) if name not in COUNTERS), "tier"]
    else:
        names = [name for name in after._fields if name not in NOT_COMPARED]
    fields = tuple(name for name in names if value_of(before, name) != value_of(after, name))
    return Difference(*place, before, after, fields) if fields else None


def value_of(row: Kept, name: str) -> Any:
    """The value of a field."""
    if isinstance(row, TierRecord) and name in row.fields:
        return row.fields[name]
    return getattr(row, name)


def words_of(row: Kept) -> str:
    """What a row or a record says."""
    if isinstance(row, TierRecord):
        return row.title
    return str(getattr(row, "text", "") or getattr(row, "trigger", "") or getattr(row, "about", ""))


def layer_name(row: Kept) -> str:
    """The layer of a row or a record."""
    return WORK if isinstance(row, TierRecord) else layer_of(row)
