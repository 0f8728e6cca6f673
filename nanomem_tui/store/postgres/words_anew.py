"""The words of a store in PostgreSQL made anew from its rows: after another version of the tokenizer, or when asked.

Rows are written part by part while others read and write; what was written meanwhile is caught up with, and the counts
of words are made in the same transaction that calls the words current. Knows nothing of what is searched.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nanomem_tui import tokens
from nanomem_tui.errors import Conflict
from nanomem_tui.store import item_words, markers, reader
from nanomem_tui.store.postgres import postings

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.database import PgDatabase
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection

CHUNK = 1_000
"""Rows that one transaction writes."""
PAUSE = 0.005
"""Seconds between two transactions, in which others get their turn."""


def state(server: Server) -> tuple[int, int, bool]:
    """How many items there are, how many of them the index has, and whether it fits them and is of this version."""
    with server.reading() as connection:
        workspace_id = server.workspace_id
        meta = reader.meta(connection, workspace_id)
        query = "SELECT count(*) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
        items = int(connection.execute(query, (workspace_id,)).fetchone()[0])
        query = "SELECT coalesce(sum(held), 0) FROM memory_words WHERE workspace_id = ?"
        counted = int(connection.execute(query, (workspace_id,)).fetchone()[0])
        indexed = int(meta.get(item_words.ROWS, 0)) if postings.number(connection, workspace_id) == counted else 0
    return items, indexed, indexed == items and reader.index_is_current(meta)


def make(database: PgDatabase, workspace_id: str) -> None:
    """Make the words of every item of a workspace anew. Raises the errors of the store, and Conflict where somebody
    else began meanwhile.

    Until it is done the index counts as none: a search reads the rows, and who writes leaves their words to this.
    """
    run = uuid.uuid4().hex
    with database.writing() as connection:
        revision = reader.revision(connection, workspace_id)
        item_words.clear(connection, workspace_id)
        connection.execute("DELETE FROM memory_meta WHERE key = ?", (f"{workspace_id}:tokens",))
        _mark(connection, workspace_id, {item_words.RUN: run})
    number = -1
    while True:
        with database.writing() as connection:
            if reader.meta(connection, workspace_id).get(item_words.RUN) != run:
                raise Conflict("somebody else makes the search index anew", workspace_id, "wait for it to finish")
            rows = connection.execute(f"{_ROWS} AND number > ? ORDER BY number LIMIT ?", (workspace_id, number, CHUNK))
            part = rows.fetchall()
            _write(connection, workspace_id, part)
            if len(part) < CHUNK:
                _finish(connection, workspace_id, revision)
                return
        number = part[-1][0]
        time.sleep(PAUSE)


_ROWS = "SELECT number, content, is_deleted FROM memory_entries WHERE workspace_id = ?"


def _write(connection: Connection, workspace_id: str, rows: list[tuple[int, str, int]]) -> None:
    found = [(number, [] if is_deleted else tokens.tokens(text)) for number, text, is_deleted in rows]
    change = "UPDATE memory_entries SET length = ? WHERE workspace_id = ? AND number = ? AND length <> ?"
    connection.executemany(change, [(len(words), workspace_id, number, len(words)) for number, words in found])
    changed = [postings.Changed(number, (), item_words.kept(words)) for number, words in found]
    postings.write(connection, workspace_id, changed)


def _finish(connection: Connection, workspace_id: str, since: int) -> None:
    """What others wrote since, whose words are taken out first; then the counts, by the server itself."""
    since_then = connection.execute(f"{_ROWS} AND revision > ?", (workspace_id, since)).fetchall()
    postings.take_out(connection, workspace_id, [number for number, _, _ in since_then])
    _write(connection, workspace_id, since_then)
    connection.execute(
        "INSERT INTO memory_words (workspace_id, word, held) SELECT workspace_id, word, sum(octet_length(held)) / 4"
        " FROM memory_postings WHERE workspace_id = ? GROUP BY workspace_id, word",
        (workspace_id,),
    )
    query = "SELECT count(*), coalesce(sum(length), 0) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
    rows, length = connection.execute(query, (workspace_id,)).fetchone()
    _mark(connection, workspace_id, {item_words.ROWS: rows, item_words.LENGTH: length, "tokens": tokens.VERSION})
    connection.execute("DELETE FROM memory_meta WHERE key = ?", (f"{workspace_id}:{item_words.RUN}",))


def _mark(connection: Connection, workspace_id: str, marks: Mapping[str, object]) -> None:
    connection.executemany(markers.PUT, [(f"{workspace_id}:{name}", str(value)) for name, value in marks.items()])
