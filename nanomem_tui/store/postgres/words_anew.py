"""The words of a store in PostgreSQL made anew from its rows: after another version of the tokenizer, or when asked.

Rows are written part by part while others read and write; what was written meanwhile is caught up with, and the counts
of words are made in the same transaction that calls the words current. Knows nothing of what is searched.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nanomem_tui import tokens
from nanomem_tui.store import item_words, reader

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.database import PgDatabase
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection

CHUNK = 1_000
"""Rows that one transaction writes."""
PAUSE = 0.005
"""Seconds between two transactions, in which others get their turn."""


def state(server: Server) -> tuple[int, int, bool]:
    """How many items there are, how many of them have words, and whether the counts fit and are of this version."""
    with server.reading() as connection:
        meta = reader.meta(connection, server.workspace_id)
        query = "SELECT count(*), count(words) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
        items, indexed = map(int, connection.execute(query, (server.workspace_id,)).fetchone())
        kept = int(meta.get(item_words.ROWS, 0))
    return items, indexed, indexed == items == kept and reader.index_is_current(meta)


def make(database: PgDatabase, workspace_id: str) -> None:
    """Make the words of every item of a workspace anew. Raises the errors of the store."""
    number, revision = -1, -1
    while True:
        with database.writing() as connection:
            if revision < 0:
                revision = reader.revision(connection, workspace_id)
            query = (
                "SELECT number, id, content, is_deleted FROM memory_entries"
                " WHERE workspace_id = ? AND number > ? ORDER BY number LIMIT ?"
            )
            rows = connection.execute(query, (workspace_id, number, CHUNK)).fetchall()
            _write(connection, workspace_id, rows)
            if len(rows) < CHUNK:
                _finish(connection, workspace_id, revision)
                return
        number = rows[-1][0]
        time.sleep(PAUSE)


def _write(connection: Connection, workspace_id: str, rows: list[tuple[int, str, str, int]]) -> None:
    values = []
    for number, _, text, is_deleted in rows:
        found = [] if is_deleted else tokens.tokens(text)
        values.append((item_words.vector_of(found), len(found), workspace_id, number))
    change = "UPDATE memory_entries SET words = CAST(? AS tsvector), length = ? WHERE workspace_id = ? AND number = ?"
    connection.executemany(change, values)


def _finish(connection: Connection, workspace_id: str, since: int) -> None:
    """What others wrote since, who may be of another version; then the counts, by the server itself."""
    query = "SELECT number, id, content, is_deleted FROM memory_entries WHERE workspace_id = ? AND revision > ?"
    _write(connection, workspace_id, connection.execute(query, (workspace_id, since)).fetchall())
    connection.execute("DELETE FROM memory_words WHERE workspace_id = ?", (workspace_id,))
    connection.execute(
        "INSERT INTO memory_words (workspace_id, word, held) SELECT workspace_id, word, count(*) FROM"
        " (SELECT workspace_id, unnest(tsvector_to_array(words)) AS word FROM memory_entries"
        " WHERE workspace_id = ? AND is_deleted = 0) AS each GROUP BY workspace_id, word",
        (workspace_id,),
    )
    query = "SELECT count(*), coalesce(sum(length), 0) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
    rows, length = connection.execute(query, (workspace_id,)).fetchone()
    markers = {item_words.ROWS: rows, item_words.LENGTH: length, "tokens": tokens.VERSION}
    connection.executemany(
        "INSERT INTO memory_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        [(f"{workspace_id}:{name}", str(value)) for name, value in markers.items()],
    )
