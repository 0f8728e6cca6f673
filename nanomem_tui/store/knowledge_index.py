"""The full-text index over the chunks of the knowledge base, in step with them, and what a search asks of it.

SQLite has an FTS5 index; what a server has for it is `postgres.knowledge_index`'s matter. Must not know where a
document comes from, nor how hits are ranked in the end.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from nanomem_tui import json_text
from nanomem_tui.store import sql
from nanomem_tui.store.knowledge_values import Chunk
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.vocabulary import nearest
from nanomem_tui.tokens import tokens

CHUNK = ("number", "id", "document_id", "ordinal", "section", "line_from", "line_to", "text")
"""The columns of a chunk, in the order of `chunk_of`."""
SELECTED = f"{', '.join(f'c.{name}' for name in CHUNK)}, d.kind, d.title, d.source, d.meta"
"""What a row of a search is made of, of a chunk `c` and its document `d`."""
TITLE, SECTION = 4.0, 2.0
"""What a word in the title or the section counts beside one in the text, when the index chooses candidates."""


class Row(NamedTuple):
    """A chunk as it is kept, with the document that it is of."""

    number: int
    id: str
    document_id: str
    ordinal: int
    chunk: Chunk
    kind: str
    title: str
    source: str
    about: str


class Named(Protocol):
    """What has a title, and is about something."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def about(self) -> str:
        """What it is about, in a line."""


class Shelf(Protocol):
    """The index of one knowledge base, for one search."""

    def count(self) -> int:
        """How many chunks there are."""

    def rows_with(self, word: str) -> int:
        """How many chunks hold a word, in title, section or text."""

    def documents(self) -> int:
        """How many documents there are."""

    def titles_with(self, word: str) -> int:
        """How many documents hold a word in their title, or in what they are about."""

    def nearest(self, word: str) -> str | None:
        """The word with the same first letter that `word` was probably meant to be; None when nothing is near."""

    def best(self, words: Iterable[str], kinds: Sequence[str], limit: int) -> Iterator[Row]:
        """The chunks that hold any of the words, those first that the index ranks first."""


class Writer(Protocol):
    """What a change of documents asks of the index; it is in step once `done`."""

    def add(self, number: int, one: Named, chunk: Chunk) -> None:
        """Put a chunk of a document into it."""

    def forget(self, number: int, one: Named, chunk: Chunk) -> None:
        """Take a chunk out of it, which has to be told what it held."""

    def counted(self, one: Named, by: int) -> None:
        """Note that there is a document more, or less, with chunks."""

    def done(self) -> None:
        """Write what waits."""


def shelf_of(connection: Connection, workspace_id: str) -> Shelf:
    """The index of a workspace, to be asked."""
    if isinstance(connection, sqlite3.Connection):
        return Index(connection, workspace_id)
    from nanomem_tui.store.postgres.knowledge_index import PgShelf

    return PgShelf(connection, workspace_id)


def writer_of(connection: Connection, workspace_id: str) -> Writer:
    """The index of a workspace, to be changed."""
    if sql.is_sqlite(connection):
        return _FtsWriter(connection)
    from nanomem_tui.store.postgres.knowledge_index import PgWriter

    return PgWriter(connection, workspace_id)


def title_words(one: Named) -> list[str]:
    """The tokens of a title and of what the document is about."""
    return tokens(f"{one.title} {one.about}")


def chunk_of(row: Sequence[object]) -> Chunk:
    """The chunk of a row of `CHUNK`."""
    return Chunk(str(row[4]), int(str(row[5])), int(str(row[6])), str(row[7]))


def row_of(found: Sequence[object]) -> Row:
    """A row of `SELECTED`."""
    number, key, of, ordinal = int(str(found[0])), str(found[1]), str(found[2]), int(str(found[3]))
    kind, title, source, meta = map(str, found[8:12])
    return Row(number, key, of, ordinal, chunk_of(found), kind, title, source, _about(meta))


def _about(meta: str) -> str:
    try:
        found: Mapping[str, object] = json_text.loads(meta)
    except ValueError:
        return ""
    return str(found.get("about", ""))


class _FtsWriter:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, number: int, one: Named, chunk: Chunk) -> None:
        query = "INSERT INTO knowledge_words (rowid, title, section, words) VALUES (?, ?, ?, ?)"
        self._connection.execute(query, (number, *_words(one, chunk)))

    def forget(self, number: int, one: Named, chunk: Chunk) -> None:
        query = (
            "INSERT INTO knowledge_words (knowledge_words, rowid, title, section, words) VALUES ('delete', ?, ?, ?, ?)"
        )
        self._connection.execute(query, (number, *_words(one, chunk)))

    def counted(self, one: Named, by: int) -> None:
        """The index counts by itself."""

    def done(self) -> None:
        """Nothing waits."""


def _words(one: Named, chunk: Chunk) -> tuple[str, str, str]:
    return " ".join(title_words(one)), " ".join(tokens(chunk.section)), " ".join(tokens(chunk.text))


def clear(connection: Connection, workspace_id: str) -> None:
    """Take everything out of the index."""
    if sql.is_sqlite(connection):
        connection.execute("INSERT INTO knowledge_words (knowledge_words) VALUES ('delete-all')")
        return
    for table in ("knowledge_words", "knowledge_terms"):
        connection.execute(f"DELETE FROM {table} WHERE workspace_id = ?", (workspace_id,))


class Index:
    """The index of SQLite, for one search."""

    def __init__(self, connection: sqlite3.Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        with contextlib.suppress(sqlite3.OperationalError):  # there already
            connection.execute(
                "CREATE VIRTUAL TABLE temp.knowledge_terms USING fts5vocab('main', 'knowledge_words', 'row')"
            )

    def count(self) -> int:
        """How many chunks there are."""
        return int(self._connection.execute("SELECT count(*) FROM knowledge_chunks").fetchone()[0])

    def rows_with(self, word: str) -> int:
        """How many chunks hold a word, in title, section or text."""
        query = "SELECT doc FROM temp.knowledge_terms WHERE term = ?"
        found = self._connection.execute(query, (word,)).fetchone()
        return int(found[0]) if found else 0

    def documents(self) -> int:
        """How many documents there are."""
        return int(self._connection.execute("SELECT count(*) FROM knowledge_documents").fetchone()[0])

    def titles_with(self, word: str) -> int:
        """How many documents hold a word in their title, or in what they are about."""
        query = (
            "SELECT count(DISTINCT c.document_id) FROM knowledge_words f JOIN knowledge_chunks c ON c.number = f.rowid"
            " WHERE knowledge_words MATCH ?"
        )
        return int(self._connection.execute(query, (f'title:"{word}"',)).fetchone()[0])

    def nearest(self, word: str) -> str | None:
        """The word with the same first letter that `word` was probably meant to be; None when nothing is near."""
        query = "SELECT term FROM temp.knowledge_terms WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
        values = (word[:1], word[:1] + "\U0010ffff", len(word) - 2, len(word) + 2)
        return nearest(word, [row[0] for row in self._connection.execute(query, values)], self.rows_with)

    def best(self, words: Iterable[str], kinds: Sequence[str], limit: int) -> Iterator[Row]:
        """The chunks that hold any of the words, those first that the index ranks first."""
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return
        of_kinds = f" AND d.kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        query = (
            f"SELECT {SELECTED} FROM knowledge_words f JOIN knowledge_chunks c ON c.number = f.rowid"
            " JOIN knowledge_documents d ON d.workspace_id = c.workspace_id AND d.id = c.document_id"
            f" WHERE knowledge_words MATCH ? AND c.workspace_id = ?{of_kinds}"
            f" ORDER BY bm25(knowledge_words, {TITLE}, {SECTION}, 1.0) LIMIT ?"
        )
        for row in self._connection.execute(query, (match, self._workspace_id, *kinds, limit)):
            yield row_of(row)
