"""A row as a server takes it: it has no NUL in a text, and no item that does not say where it is from."""

from __future__ import annotations

from typing import Any

from nanomem_tui.store.moving.tables import ITEMS, KIND_OF, Table
from nanomem_tui.store.provenance import UNKNOWN
from nanomem_tui.store.reader import ITEM_COLUMNS
from nanomem_tui.store.tier_tables import hash_of
from nanomem_tui.store.values import Item, row_hash

_SOURCE = ITEM_COLUMNS.index("source")


def fitted(table: Table, row: tuple[Any, ...], workspace_id: str) -> tuple[Any, ...]:
    """The row itself, or one with the sign of NUL in its place and a source; its hash is of what it says then."""
    nameless = table is ITEMS and not row[_SOURCE]
    if not nameless and not any(type(value) is str and "\0" in value for value in row):
        return row
    values = [value.replace("\0", "\u2400") if type(value) is str else value for value in row]
    if nameless:
        values[_SOURCE] = UNKNOWN
    if table is ITEMS:
        from nanomem_tui.store.checkpoint import kept_values

        item = Item._make(values[: len(ITEM_COLUMNS)])
        return (*item, *kept_values(item))
    if table.columns[-1] == "row_hash":
        values[-1] = hash_of((workspace_id, *values[:-1])) if table.name in KIND_OF else row_hash(values[:-1])
    return tuple(values)
