"""The full-text index made anew from the rows, whatever state it is in. Owns nothing else of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import StoreError
from nanomem_tui.store import migrations, reader
from nanomem_tui.tokens import VERSION, tokens

if TYPE_CHECKING:
    from sqlite3 import Connection

    from nanomem_tui.store.memory_store import MemoryStore

CHUNK = 1_000


class IndexState(NamedTuple):
    """How the index fits the rows: active items, how many of them it holds, and whether nothing is missing or stale."""

    items: int
    indexed: int
    current: bool


def state(store: MemoryStore) -> IndexState:
    """How the index is now; one that cannot be read holds nothing. Raises the store's errors for the rows."""
    if not store.has_database:
        return IndexState(0, 0, True)
    with reader.open_database(store.paths.database) as connection:
        version = reader.meta(connection, store.workspace_id).get("tokens")
        query = "SELECT count(*) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
        items = int(connection.execute(query, (store.workspace_id,)).fetchone()[0])
    try:
        with reader.open_database(store.paths.database) as connection:
            query = (
                "SELECT coalesce(sum(NOT e.is_deleted), 0), coalesce(sum(e.is_deleted), 0) FROM memory_entries_fts f"
                " JOIN memory_entries e ON e.number = f.rowid WHERE e.workspace_id = ?"
            )
            indexed, stale = map(int, connection.execute(query, (store.workspace_id,)).fetchone())
    except StoreError:
        return IndexState(items, 0, False)
    return IndexState(items, indexed, indexed == items and not stale and version == str(VERSION))


def rebuild(store: MemoryStore) -> IndexState:
    """Drop the index and write it anew for every workspace in the database, in one transaction; how it is then.

    Raises Refused while another process writes, and the errors of the store.
    """
    if store.has_database:
        with store.database.writing() as connection:
            _rebuild(connection)
    return state(store)


def _rebuild(connection: Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS memory_entries_fts")
    connection.execute(migrations.FTS_TABLE)
    rows = connection.execute("SELECT number, id, content FROM memory_entries WHERE is_deleted = 0")
    while part := rows.fetchmany(CHUNK):
        connection.executemany(
            "INSERT INTO memory_entries_fts(rowid, entry_id, content) VALUES (?, ?, ?)",
            [(number, key, " ".join(tokens(content))) for number, key, content in part],
        )
    connection.execute(
        "INSERT INTO memory_meta(key, value) SELECT DISTINCT workspace_id || ':tokens', ? FROM memory_entries"
        " WHERE true ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (str(VERSION),),
    )
