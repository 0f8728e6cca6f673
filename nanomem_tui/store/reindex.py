"""The full-text index made anew from the rows, whatever state it is in. Owns nothing else of the database."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import StoreError, from_os_error
from nanomem_tui.store import atomic, migrations, reader
from nanomem_tui.tokens import VERSION, tokens

if TYPE_CHECKING:
    from nanomem_tui.store.rows import RowStore

LOCK_WAIT = 30.0
"""Seconds that we wait for another writer."""
CHUNK = 1_000


class IndexState(NamedTuple):
    """How the index fits the rows: active items, how many of them it holds, and whether nothing is missing or stale."""

    items: int
    indexed: int
    current: bool


def state(store: RowStore) -> IndexState:
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


def rebuild(store: RowStore) -> IndexState:
    """Drop the index and write it anew for every workspace in the database, in one transaction; how it is then.

    Raises Refused while another process writes, and the errors of the store.
    """
    path = store.paths.database
    if store.has_database:
        with reader.open_database(path):
            pass  # a database that is not ours to write is refused here
        try:
            with atomic.locked(path.with_name("store.lock"), wait=LOCK_WAIT):
                _rebuild(str(path))
        except sqlite3.Error as error:
            raise reader.database_error(error, path) from error
        except OSError as error:
            raise from_os_error(error, "writing the index") from error
    return state(store)


def _rebuild(path: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
        connection.text_factory = reader.tolerant
        for pragma in ("synchronous = FULL", "wal_autocheckpoint = 0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")  # closing without COMMIT takes everything back
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
        connection.execute("COMMIT")
