"""Every table and every column of the schema is among those that move, or is made anew where a memory arrives."""

from __future__ import annotations

from nanomem_tui.store import models
from nanomem_tui.store.moving.tables import MEMORY

DECLARED = models.MemoryEntry.metadata.sorted_tables


def test_every_table_moves() -> None:
    assert {table.name for table in MEMORY} | {"memory_meta"} == {table.name for table in DECLARED}


def test_every_column_moves() -> None:
    columns = {table.name: {column.name for column in table.columns} for table in DECLARED}
    for table in MEMORY:
        ours = {"workspace_id", *table.columns, *filter(None, (table.number, table.refers))}
        assert ours == columns[table.name], table.name
        assert {*table.light} <= {*table.columns}
        assert {*table.key} <= {*table.columns, table.refers}
