"""Whether the markers of a workspace were taken out of its database: its rows are there, and what tells how many there
are, and how the chain of operations ends, is not. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.store import moved

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

WHAT = "the database has lost its markers, and its rows are there: somebody else wrote to it"
_TABLES = ("operations", "memory_entries", "lessons")


def is_unmarked(connection: Connection, workspace_id: str) -> bool:
    """Whether it is so: each checkpoint writes rows and revision together. Raises the driver's errors.

    A memory that is still being moved to a place has its rows there first.
    """
    keys = (f"{workspace_id}:revision", f"{workspace_id}:{moved.ARRIVING}")
    if connection.execute("SELECT 1 FROM memory_meta WHERE key IN (?, ?)", keys).fetchone() is not None:
        return False
    query = "SELECT 1 FROM {} WHERE workspace_id = ? LIMIT 1"
    return any(connection.execute(query.format(table), (workspace_id,)).fetchone() is not None for table in _TABLES)
