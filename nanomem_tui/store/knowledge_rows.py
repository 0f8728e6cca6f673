"""The rows of the knowledge base: documents, their chunks, and the full-text index over the chunks.

Owns those three tables of `tiers.db`, and the same three in memory for the pages that this package brings along. A
chunk that did not change keeps its row and its id. Must not know where a document comes from, nor how hits are ranked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui import json_text
from nanomem_tui.store.knowledge_values import Chunk, KnowledgeDocument
from nanomem_tui.store.tier_schema import BESIDE
from nanomem_tui.store.vocabulary import nearest
from nanomem_tui.tokens import VERSION, tokens

_DOCUMENT = "id, kind, title, source, hash, chunks, added_at, checked_at, meta"
_CHUNK = "number, id, document_id, ordinal, section, line_from, line_to, text"
_PUT_CHUNK = (
    "INSERT INTO knowledge_chunks"
    " (workspace_id, id, document_id, ordinal, section, line_from, line_to, text, text_hash)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_TITLE, _SECTION = 4.0, 2.0
"""What a word in the title or the section counts beside one in the text, when the index chooses candidates."""
_INDEXED_BY = "knowledge_tokens"
"""Where `tier_meta` keeps the version of the tokens that the index was made of."""
_REMOVED = "knowledge removed "
_PACKAGES = "knowledge packages "


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


def in_memory() -> sqlite3.Connection:
    """An empty knowledge base in memory."""
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    for statement in BESIDE:
        if "knowledge_" in statement or "tier_meta" in statement:
            connection.execute(statement)
    return connection


def text_hash(chunk: Chunk) -> str:
    """What tells whether a chunk changed: not the lines that it stands at."""
    return hashlib.blake2b(f"{chunk.section}\0{chunk.text}".encode("utf-8", "replace"), digest_size=8).hexdigest()


def chunk_ids(document_id: str, chunks: Sequence[Chunk]) -> list[str]:
    """The ids of the chunks of a document: made of what they say, so that the same chunk has the same id again."""
    seen: Counter[str] = Counter()
    ids = []
    for chunk in chunks:
        digest = text_hash(chunk)
        seen[digest] += 1
        ids.append(f"{document_id}-{digest}" + (f"-{seen[digest]}" if seen[digest] > 1 else ""))
    return ids


# -- documents --------------------------------------------------------------------------------------------------------


def documents(connection: sqlite3.Connection, workspace_id: str) -> list[KnowledgeDocument]:
    """Every document, in the order they came."""
    query = f"SELECT {_DOCUMENT} FROM knowledge_documents WHERE workspace_id = ? ORDER BY number"
    return [_document(row) for row in connection.execute(query, (workspace_id,))]


def document(connection: sqlite3.Connection, workspace_id: str, document_id: str) -> KnowledgeDocument | None:
    """The document of that id."""
    query = f"SELECT {_DOCUMENT} FROM knowledge_documents WHERE workspace_id = ? AND id = ?"
    row = connection.execute(query, (workspace_id, document_id)).fetchone()
    return _document(row) if row else None


def checked(connection: sqlite3.Connection, workspace_id: str, ids: Iterable[str], at: str) -> None:
    """Note when these documents were last compared with their sources."""
    update = "UPDATE knowledge_documents SET checked_at = ? WHERE workspace_id = ? AND id = ?"
    connection.executemany(update, [(at, workspace_id, document_id) for document_id in ids])


def mark_removed(connection: sqlite3.Connection, workspace_id: str, document_id: str, *, removed: bool) -> None:
    """Note that somebody took a document away, so that no sync brings it back; or that it is there again."""
    key = f"{_REMOVED}{workspace_id} {document_id}"
    if removed:
        connection.execute("INSERT OR REPLACE INTO tier_meta VALUES (?, '')", (key,))
    else:
        connection.execute('DELETE FROM tier_meta WHERE "key" = ?', (key,))


def removed(connection: sqlite3.Connection, workspace_id: str) -> set[str]:
    """The ids of the documents that somebody took away."""
    begins = f"{_REMOVED}{workspace_id} "
    query = 'SELECT "key" FROM tier_meta WHERE "key" >= ? AND "key" < ?'
    return {key.removeprefix(begins) for (key,) in connection.execute(query, (begins, begins + "\U0010ffff"))}


def note_packages(connection: sqlite3.Connection, workspace_id: str, names: Iterable[str]) -> None:
    """Note which packages are installed, so that the next sync knows what is new."""
    row = (f"{_PACKAGES}{workspace_id}", json.dumps(sorted(names)))
    connection.execute("INSERT OR REPLACE INTO tier_meta VALUES (?, ?)", row)


def packages(connection: sqlite3.Connection, workspace_id: str) -> set[str] | None:
    """The packages that were installed when that was noted last; None: it never was."""
    query = 'SELECT value FROM tier_meta WHERE "key" = ?'
    found = connection.execute(query, (f"{_PACKAGES}{workspace_id}",)).fetchone()
    with contextlib.suppress(ValueError):  # a bit flipped in it
        return set(json_text.loads(found[0])) if found else None
    return None


def chunks(connection: sqlite3.Connection, workspace_id: str, document_id: str) -> list[tuple[str, Chunk]]:
    """The chunks of a document with their ids, in order."""
    query = f"SELECT {_CHUNK} FROM knowledge_chunks WHERE workspace_id = ? AND document_id = ? ORDER BY ordinal"
    return [(row[1], _chunk(row)) for row in connection.execute(query, (workspace_id, document_id))]


def put(connection: sqlite3.Connection, workspace_id: str, one: KnowledgeDocument, new: Sequence[Chunk]) -> int:
    """Keep a document with its chunks; how many chunks were written anew. Those that stay keep their row."""
    before = document(connection, workspace_id, one.id)
    renamed = before is not None and (before.title, before.about) != (one.title, one.about)
    held = _held(connection, workspace_id, one.id) if before else {}
    values = (workspace_id, one.id, one.kind, one.title, one.source, one.hash, one.added_at, one.checked_at, len(new))
    connection.execute(
        "INSERT INTO knowledge_documents"
        " (workspace_id, id, kind, title, source, hash, added_at, checked_at, chunks, meta)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (workspace_id, id) DO UPDATE SET kind = excluded.kind,"
        " title = excluded.title, source = excluded.source, hash = excluded.hash, checked_at = excluded.checked_at,"
        " chunks = excluded.chunks, meta = excluded.meta",
        (*values, json.dumps({**one.meta, "about": one.about}, ensure_ascii=False)),
    )
    wanted = dict(zip(chunk_ids(one.id, new), enumerate(new), strict=True))
    for chunk_id, (number, chunk) in held.items():
        if renamed or chunk_id not in wanted:
            assert before is not None
            _unindex(connection, number, before, chunk)
        if chunk_id not in wanted:
            connection.execute("DELETE FROM knowledge_chunks WHERE number = ?", (number,))
    written = 0
    for chunk_id, (ordinal, chunk) in wanted.items():
        if chunk_id in held:
            number = held[chunk_id][0]
            where = (ordinal, chunk.line_from, chunk.line_to, number)
            connection.execute(
                "UPDATE knowledge_chunks SET ordinal = ?, line_from = ?, line_to = ? WHERE number = ?", where
            )
        else:
            row = (workspace_id, chunk_id, one.id, ordinal, *chunk, text_hash(chunk))
            number = int(connection.execute(_PUT_CHUNK, row).lastrowid or 0)
            written += 1
        if renamed or chunk_id not in held:
            _index(connection, number, one, chunk)
    return written


def delete(connection: sqlite3.Connection, workspace_id: str, document_id: str) -> None:
    """Let go of a document with its chunks."""
    before = document(connection, workspace_id, document_id)
    if before is None:
        return
    for number, chunk in _held(connection, workspace_id, document_id).values():
        _unindex(connection, number, before, chunk)
    for table, name in (("knowledge_chunks", "document_id"), ("knowledge_documents", "id")):
        connection.execute(f"DELETE FROM {table} WHERE workspace_id = ? AND {name} = ?", (workspace_id, document_id))


def _held(connection: sqlite3.Connection, workspace_id: str, document_id: str) -> dict[str, tuple[int, Chunk]]:
    query = f"SELECT {_CHUNK} FROM knowledge_chunks WHERE workspace_id = ? AND document_id = ?"
    return {row[1]: (row[0], _chunk(row)) for row in connection.execute(query, (workspace_id, document_id))}


def _document(row: Sequence[object]) -> KnowledgeDocument:
    key, kind, title, source, digest, count, added_at, checked_at, meta = row
    try:
        more = json_text.loads(str(meta))
    except ValueError:  # a bit flipped in it
        more = {}
    about = str(more.pop("about", ""))
    texts = (str(key), str(kind), str(title), str(source), about, str(digest))
    return KnowledgeDocument(*texts, int(str(count)), str(added_at), str(checked_at), more)


def _chunk(row: Sequence[object]) -> Chunk:
    return Chunk(str(row[4]), int(str(row[5])), int(str(row[6])), str(row[7]))


# -- the index --------------------------------------------------------------------------------------------------------


def title_words(one: KnowledgeDocument | Row) -> list[str]:
    """The tokens of a title and of what the document is about."""
    return tokens(f"{one.title} {one.about}")


def _index(connection: sqlite3.Connection, number: int, one: KnowledgeDocument, chunk: Chunk) -> None:
    row = (number, *_words(one, chunk))
    connection.execute("INSERT INTO knowledge_words (rowid, title, section, words) VALUES (?, ?, ?, ?)", row)


def _unindex(connection: sqlite3.Connection, number: int, one: KnowledgeDocument, chunk: Chunk) -> None:
    row = (number, *_words(one, chunk))
    delete_row = (
        "INSERT INTO knowledge_words (knowledge_words, rowid, title, section, words) VALUES ('delete', ?, ?, ?, ?)"
    )
    connection.execute(delete_row, row)


def _words(one: KnowledgeDocument, chunk: Chunk) -> tuple[str, str, str]:
    return " ".join(title_words(one)), " ".join(tokens(chunk.section)), " ".join(tokens(chunk.text))


def begin(connection: sqlite3.Connection) -> None:
    """Before a change: an index that was made of other tokens is made anew, as nothing could be taken out of it."""
    query = 'SELECT value FROM tier_meta WHERE "key" = ?'
    found = connection.execute(query, (_INDEXED_BY,)).fetchone()
    if found and found[0] == str(VERSION):
        return
    if found:
        connection.execute("INSERT INTO knowledge_words (knowledge_words) VALUES ('delete-all')")
        every = connection.execute("SELECT DISTINCT workspace_id FROM knowledge_documents").fetchall()
        for (workspace_id,) in every:
            for one in documents(connection, workspace_id):
                for number, chunk in _held(connection, workspace_id, one.id).values():
                    _index(connection, number, one, chunk)
    connection.execute("INSERT OR REPLACE INTO tier_meta VALUES (?, ?)", (_INDEXED_BY, str(VERSION)))


class Index:
    """The index of one knowledge base, for one search."""

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
            f"SELECT {', '.join(f'c.{name}' for name in _CHUNK.split(', '))}, d.kind, d.title, d.source, d.meta"
            " FROM knowledge_words f JOIN knowledge_chunks c ON c.number = f.rowid"
            " JOIN knowledge_documents d ON d.workspace_id = c.workspace_id AND d.id = c.document_id"
            f" WHERE knowledge_words MATCH ? AND c.workspace_id = ?{of_kinds}"
            f" ORDER BY bm25(knowledge_words, {_TITLE}, {_SECTION}, 1.0) LIMIT ?"
        )
        for row in self._connection.execute(query, (match, self._workspace_id, *kinds, limit)):
            yield Row(row[0], row[1], row[2], row[3], _chunk(row), row[8], row[9], row[10], _about(row[11]))


def _about(meta: str) -> str:
    try:
        found: Mapping[str, object] = json_text.loads(meta)
    except ValueError:
        return ""
    return str(found.get("about", ""))
