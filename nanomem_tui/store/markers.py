"""Markers of the whole workspace in the meta table that are no counters of a checkpoint: what was done once for good.

Keys are those of seed 001, `workspace:<id>:<name>`. Must not know what a marker means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nanomem_tui.store import edition

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore


PUT = "INSERT INTO memory_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
"""Sets a marker, whosever it is."""


def key(store: MemoryStore, name: str) -> str:
    """The key of a marker in the table."""
    return f"workspace:{store.workspace_id}:{name}"


def read(store: MemoryStore, name: str) -> str | None:
    """The value of a marker, None where there is none. Raises the store's errors."""
    new: Any = store  # what a test asks for; see docs/decisions/0094
    if edition.is_second(store):
        value: str | None = new.marker(key(store, name))
        return value
    if not store.has_database:
        return None
    query = "SELECT value FROM memory_meta WHERE key = ?"
    row = store.read(lambda connection: connection.execute(query, (key(store, name),)).fetchone())
    return str(row[0]) if row is not None else None


def write(store: MemoryStore, name: str, value: str) -> None:
    """Set a marker, durable when it returns. Raises the store's errors."""
    new: Any = store
    if edition.is_second(store):
        new.set_marker(key(store, name), value)
        return
    with store.database.writing() as connection:
        connection.execute(PUT, (key(store, name), value))
