"""Triggers, views and indexes of our database made anew, as `doctor --fix` does it; the text of what was there is kept.

Changes the database alone, under the lock of all writers. Which of them differ is `schema`.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from nanomem_tui.errors import CorruptDatabase
from nanomem_tui.store import atomic, schema

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore


def put_right(store: MemoryStore) -> None:
    """Make anew what differs, and take out triggers of others. Raises the errors of `Database.locked`."""
    with store.database.writing() as connection:
        assert isinstance(connection, sqlite3.Connection)
        for one in schema.differences(connection):
            if one.remade and one.found:
                name, text = f"{atomic.ALTERED}{one.kind}-{one.name}.sql", f"{one.found};\n"
                atomic.quarantine(store.paths.quarantine, name, text.encode("utf-8", "backslashreplace"))
        schema.put_right(connection)


def make_indexes(store: MemoryStore) -> None:
    """Make every index anew from its table; a copy takes the place of a database where that cannot be done. Raises
    the store's errors."""
    try:
        with store.database.writing() as connection:
            connection.execute("REINDEX")
    except CorruptDatabase as error:
        if not store.source.fall_back(error):
            raise
        store.checkpoint()
