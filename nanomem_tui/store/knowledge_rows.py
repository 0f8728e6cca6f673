"""The rows of the knowledge base: documents, and their chunks.

Owns those two tables, and the same two in memory for the pages that this package brings along. A
chunk that did not change keeps its row and its id. Must not know where a document comes from, nor how hits are ranked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from nanomem_tui import json_text
from nanomem_tui.store import knowledge_index, sql, tier_meta, tier_numbers
from nanomem_tui.store.knowledge_index import CHUNK, chunk_of, writer_of
from nanomem_tui.store.knowledge_values import Chunk, KnowledgeDocument
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_schema import BESIDE
from nanomem_tui.tokens import VERSION

_DOCUMENT = "id, kind, title, source, hash, chunks, added_at, checked_at, meta"
_NEW_DOCUMENT = (
    "workspace_id", "id", "kind", "title", "source", "hash", "added_at", "checked_at", "chunks", "meta",
)  # fmt: skip
_OR_CHANGED = (
    " ON CONFLICT (workspace_id, id) DO UPDATE SET kind = excluded.kind, title = excluded.title,"
    " source = excluded.source, hash = excluded.hash, checked_at = excluded.checked_at, chunks = excluded.chunks,"
    " meta = excluded.meta"
)
_CHUNK = ", ".join(CHUNK)
_NEW_CHUNK = (
    "workspace_id", "id", "document_id", "ordinal", "section", "line_from", "line_to", "text", "text_hash",
)  # fmt: skip
INDEXED_BY = "knowledge_tokens"
"""Where `tier_meta` keeps the version of the tokens that the index was made of."""
_REMOVED = "knowledge removed "
_PACKAGES = "knowledge packages "
_UNREAD = "knowledge unread "
_DECLINED = "knowledge declined "


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


def documents(connection: Connection, workspace_id: str) -> list[KnowledgeDocument]:
    """Every document, in the order they came."""
    query = f"SELECT {_DOCUMENT} FROM knowledge_documents WHERE workspace_id = ? ORDER BY number"
    return [_document(row) for row in connection.execute(query, (workspace_id,))]


def document(connection: Connection, workspace_id: str, document_id: str) -> KnowledgeDocument | None:
    """The document of that id."""
    query = f"SELECT {_DOCUMENT} FROM knowledge_documents WHERE workspace_id = ? AND id = ?"
    row = connection.execute(query, (workspace_id, document_id)).fetchone()
    return _document(row) if row else None


def is_empty(connection: Connection, workspace_id: str) -> bool:
    """Whether there is no document."""
    query = "SELECT 1 FROM knowledge_documents WHERE workspace_id = ? LIMIT 1"
    return connection.execute(query, (workspace_id,)).fetchone() is None


def checked(connection: Connection, workspace_id: str, ids: Iterable[str], at: str) -> None:
    """Note when these documents were last compared with their sources."""
    update = "UPDATE knowledge_documents SET checked_at = ? WHERE workspace_id = ? AND id = ?"
    connection.executemany(update, [(at, workspace_id, document_id) for document_id in ids])


def mark_removed(connection: Connection, workspace_id: str, document_id: str, *, removed: bool) -> None:
    """Note that somebody took a document away, so that no sync brings it back; or that it is there again."""
    name = f"{_REMOVED}{workspace_id} {document_id}"
    if removed:
        tier_meta.put(connection, workspace_id, name, "")
    else:
        tier_meta.drop(connection, workspace_id, name)


def removed(connection: Connection, workspace_id: str) -> set[str]:
    """The ids of the documents that somebody took away."""
    begins = f"{_REMOVED}{workspace_id} "
    return {name.removeprefix(begins) for name in tier_meta.beginning(connection, workspace_id, begins)}


def note_packages(connection: Connection, workspace_id: str, names: Iterable[str]) -> None:
    """Note which packages are installed, so that the next sync knows what is new."""
    tier_meta.put(connection, workspace_id, f"{_PACKAGES}{workspace_id}", json.dumps(sorted(names)))


def packages(connection: Connection, workspace_id: str) -> set[str] | None:
    """The packages that were installed when that was noted last; None: it never was."""
    found = tier_meta.get(connection, workspace_id, f"{_PACKAGES}{workspace_id}")
    with contextlib.suppress(ValueError):  # a bit flipped in it
        return set(json_text.loads(found)) if found is not None else None
    return None


def note_unread(connection: Connection, workspace_id: str, unread: Mapping[str, str]) -> None:
    """Note what could not be read, and why, by where it is."""
    text = json.dumps(dict(unread), ensure_ascii=False)
    tier_meta.put(connection, workspace_id, f"{_UNREAD}{workspace_id}", text)


def unread(connection: Connection, workspace_id: str) -> dict[str, str]:
    """Return what could not be read, and why, by where it is."""
    found = tier_meta.get(connection, workspace_id, f"{_UNREAD}{workspace_id}")
    with contextlib.suppress(ValueError, AttributeError):  # a bit flipped in it
        return {str(where): str(why) for where, why in json_text.loads(found or "{}").items()}
    return {}


def note_declined(connection: Connection, workspace_id: str) -> None:
    """Note that somebody declined to index what is installed."""
    tier_meta.put(connection, workspace_id, f"{_DECLINED}{workspace_id}", "")


def is_declined(connection: Connection, workspace_id: str) -> bool:
    """Whether somebody declined to index what is installed."""
    return tier_meta.get(connection, workspace_id, f"{_DECLINED}{workspace_id}") is not None


def chunks(connection: Connection, workspace_id: str, document_id: str) -> list[tuple[str, Chunk]]:
    """The chunks of a document with their ids, in order."""
    query = f"SELECT {_CHUNK} FROM knowledge_chunks WHERE workspace_id = ? AND document_id = ? ORDER BY ordinal"
    return [(row[1], chunk_of(row)) for row in connection.execute(query, (workspace_id, document_id))]


def put(connection: Connection, workspace_id: str, one: KnowledgeDocument, new: Sequence[Chunk]) -> int:
    """Keep a document with its chunks; how many chunks were written anew. Those that stay keep their row."""
    before = document(connection, workspace_id, one.id)
    renamed = before is not None and (before.title, before.about) != (one.title, one.about)
    held = _held(connection, workspace_id, one.id) if before else {}
    values = (workspace_id, one.id, one.kind, one.title, one.source, one.hash, one.added_at, one.checked_at, len(new))
    row = (*values, json.dumps({**one.meta, "about": one.about}, ensure_ascii=False))
    tier_numbers.add(connection, workspace_id, "knowledge_documents", _NEW_DOCUMENT, row, tail=_OR_CHANGED)
    wanted = dict(zip(chunk_ids(one.id, new), enumerate(new), strict=True))
    index = writer_of(connection, workspace_id)
    if before is not None and held:
        index.counted(before, -1)
    if wanted:
        index.counted(one, 1)
    own = sql.beside_number(connection)
    for chunk_id, (number, chunk) in held.items():
        if renamed or chunk_id not in wanted:
            assert before is not None
            index.forget(number, before, chunk)
        if chunk_id not in wanted:
            connection.execute(f"DELETE FROM knowledge_chunks WHERE number = ? AND {own} = ?", (number, workspace_id))
    written = 0
    for chunk_id, (ordinal, chunk) in wanted.items():
        if chunk_id in held:
            number = held[chunk_id][0]
            where = (ordinal, chunk.line_from, chunk.line_to, number, workspace_id)
            connection.execute(
                f"UPDATE knowledge_chunks SET ordinal = ?, line_from = ?, line_to = ? WHERE number = ? AND {own} = ?",
                where,
            )
        else:
            new_row = (workspace_id, chunk_id, one.id, ordinal, *chunk, text_hash(chunk))
            number = tier_numbers.add(connection, workspace_id, "knowledge_chunks", _NEW_CHUNK, new_row)
            written += 1
        if renamed or chunk_id not in held:
            index.add(number, one, chunk)
    index.done()
    return written


def delete(connection: Connection, workspace_id: str, document_id: str) -> None:
    """Let go of a document with its chunks."""
    before = document(connection, workspace_id, document_id)
    if before is None:
        return
    index = writer_of(connection, workspace_id)
    held = _held(connection, workspace_id, document_id)
    for number, chunk in held.values():
        index.forget(number, before, chunk)
    if held:
        index.counted(before, -1)
    index.done()
    for table, name in (("knowledge_chunks", "document_id"), ("knowledge_documents", "id")):
        connection.execute(f"DELETE FROM {table} WHERE workspace_id = ? AND {name} = ?", (workspace_id, document_id))


def _held(connection: Connection, workspace_id: str, document_id: str) -> dict[str, tuple[int, Chunk]]:
    query = f"SELECT {_CHUNK} FROM knowledge_chunks WHERE workspace_id = ? AND document_id = ?"
    return {row[1]: (row[0], chunk_of(row)) for row in connection.execute(query, (workspace_id, document_id))}


def _document(row: Sequence[object]) -> KnowledgeDocument:
    key, kind, title, source, digest, count, added_at, checked_at, meta = row
    try:
        more = json_text.loads(str(meta))
    except ValueError:  # a bit flipped in it
        more = {}
    about = str(more.pop("about", ""))
    texts = (str(key), str(kind), str(title), str(source), about, str(digest))
    return KnowledgeDocument(*texts, int(str(count)), str(added_at), str(checked_at), more)


# -- the index --------------------------------------------------------------------------------------------------------


def begin(connection: Connection, workspace_id: str) -> None:
    """Before a change: an index that was made of other tokens is made anew, as nothing could be taken out of it."""
    found = tier_meta.get(connection, workspace_id, INDEXED_BY)
    if found == str(VERSION):
        return
    if found is not None:
        knowledge_index.clear(connection, workspace_id)
        all_of_it, values = sql.whole(connection, workspace_id)
        query = f"SELECT DISTINCT workspace_id FROM knowledge_documents{all_of_it}"
        every = connection.execute(query, values).fetchall()
        for (own,) in every:
            _index_anew(connection, own)
    tier_meta.put(connection, workspace_id, INDEXED_BY, str(VERSION))


def _index_anew(connection: Connection, workspace_id: str) -> None:
    index = writer_of(connection, workspace_id)
    for one in documents(connection, workspace_id):
        held = _held(connection, workspace_id, one.id)
        for number, chunk in held.values():
            index.add(number, one, chunk)
        if held:
            index.counted(one, 1)
        index.done()
