"""The documents of the knowledge base, and their chunks; also in memory, for the pages that this package brings along.

A chunk that did not change keeps its id. Every function works inside the transaction of its caller. Must
not know where a document comes from, nor how hits are ranked.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, create_engine, delete, insert, select, update

from nanomem_tui.core import files
from nanomem_tui.store.database.reading import escape_nul, unescape_nul
from nanomem_tui.store.work import models, records
from nanomem_tui.store.work.records import note, notes_beginning, set_note
from nanomem_tui.store.work.values import Chunk, KnowledgeDocument

_DOCUMENTS = models.table(models.DocumentRow)
_CHUNKS = models.table(models.ChunkRow)
_CHUNK = (_CHUNKS.c.section, _CHUNKS.c.line_from, _CHUNKS.c.line_to, _CHUNKS.c.text)


def in_memory() -> Connection:
    """Return an empty knowledge base in memory; it goes with its connection."""
    connection = create_engine("sqlite://", connect_args={"check_same_thread": False}).connect()
    models.METADATA.create_all(connection)
    records.make_indexes(connection)
    return connection


def documents(connection: Connection) -> list[KnowledgeDocument]:
    """List every document, in the order they came."""
    return [_document(row) for row in connection.execute(select(_DOCUMENTS).order_by(_DOCUMENTS.c.number))]


def document(connection: Connection, document_id: str) -> KnowledgeDocument | None:
    """Return the document of that id."""
    row = connection.execute(select(_DOCUMENTS).where(_DOCUMENTS.c.id == document_id)).first()
    return _document(row) if row is not None else None


def chunks(connection: Connection, document_id: str) -> list[tuple[str, Chunk]]:
    """List the chunks of a document with their ids, in order."""
    asked = select(_CHUNKS.c.id, *_CHUNK).where(_CHUNKS.c.document_id == document_id).order_by(_CHUNKS.c.ordinal)
    return [(key, _chunk(row)) for key, *row in connection.execute(asked)]


def put(connection: Connection, one: KnowledgeDocument, new: Sequence[Chunk]) -> None:
    """Keep a document with its chunks, in place of those that it had."""
    row = {
        "kind": one.kind, "title": escape_nul(one.title), "source": escape_nul(one.source),
        "about": escape_nul(one.about), "hash": one.hash, "chunks": len(new), "checked_at": one.checked_at,
        "meta_json": _dumped(one.meta),
    }  # fmt: skip
    if document(connection, one.id) is None:
        connection.execute(insert(_DOCUMENTS).values(id=one.id, added_at=one.added_at, **row))
    else:
        connection.execute(update(_DOCUMENTS).where(_DOCUMENTS.c.id == one.id).values(row))
    _drop(connection, one.id)
    values = [
        {
            "id": key, "document_id": one.id, "ordinal": ordinal, "section": escape_nul(chunk.section),
            "line_from": chunk.line_from, "line_to": chunk.line_to, "text": escape_nul(chunk.text),
        }
        for ordinal, (key, chunk) in enumerate(zip(_chunk_ids(one.id, new), new, strict=True))
    ]  # fmt: skip
    if values:
        connection.execute(insert(_CHUNKS), values)
    _index(connection, one)


def remove(connection: Connection, document_id: str) -> None:
    """Let go of a document with its chunks."""
    _drop(connection, document_id)
    connection.execute(delete(_DOCUMENTS).where(_DOCUMENTS.c.id == document_id))


def set_checked(connection: Connection, ids: Iterable[str], at: str) -> None:
    """Note when these documents were last compared with their sources."""
    for document_id in ids:
        connection.execute(update(_DOCUMENTS).where(_DOCUMENTS.c.id == document_id).values(checked_at=at))


def index_anew(connection: Connection) -> None:
    """Take every chunk into an empty index."""
    for one in documents(connection):
        _index(connection, one)


def _index(connection: Connection, one: KnowledgeDocument) -> None:
    asked = select(_CHUNKS.c.number, *_CHUNK).where(_CHUNKS.c.document_id == one.id)
    held = [(number, f"{one.title} {one.about}", _chunk(row)) for number, *row in connection.execute(asked)]
    records.add_chunks(connection, held)


def _drop(connection: Connection, document_id: str) -> None:
    held = select(_CHUNKS.c.number).where(_CHUNKS.c.document_id == document_id)
    for number in connection.execute(held).scalars().all():
        records.remove_words(connection, "knowledge", number)
    connection.execute(delete(_CHUNKS).where(_CHUNKS.c.document_id == document_id))


def _chunk_ids(document_id: str, every: Sequence[Chunk]) -> list[str]:
    """The ids of the chunks of a document: made of what they say, so that the same chunk has the same id again."""
    seen: Counter[str] = Counter()
    ids = []
    for chunk in every:
        said = f"{chunk.section}\0{chunk.text}".encode("utf-8", "replace")
        digest = hashlib.blake2b(said, digest_size=8).hexdigest()
        seen[digest] += 1
        ids.append(f"{document_id}-{digest}" + (f"-{seen[digest]}" if seen[digest] > 1 else ""))
    return ids


def _chunk(row: Sequence[Any]) -> Chunk:
    section, line_from, line_to, text = row
    return Chunk(unescape_nul(section), line_from, line_to, unescape_nul(text))


def _document(row: Any) -> KnowledgeDocument:
    title, source, about = (unescape_nul(text) for text in (row.title, row.source, row.about))
    more = files.loads(unescape_nul(row.meta_json))
    return KnowledgeDocument(
        row.id, row.kind, title, source, about, row.hash, row.chunks, row.added_at, row.checked_at, more
    )


def _dumped(value: Any) -> str:
    return escape_nul(json.dumps(value, ensure_ascii=False))


# -- what is remembered beside them -----------------------------------------------------------------------------------

_REMOVED = "knowledge removed "
PACKAGES, UNREAD, DECLINED = "knowledge packages", "knowledge unread", "knowledge declined"
"""What is noted: the packages that were installed at the last sync, what could not be read with the reason by place,
and that somebody declined to index what is installed."""


def mark_removed(connection: Connection, document_id: str, *, removed: bool) -> None:
    """Note that somebody took a document away, so that no sync brings it back; or that it is there again."""
    set_note(connection, f"{_REMOVED}{document_id}", "" if removed else None)


def removed(connection: Connection) -> set[str]:
    """Return the ids of the documents that somebody took away."""
    return {name.removeprefix(_REMOVED) for name in notes_beginning(connection, _REMOVED)}


def set_noted(connection: Connection, name: str, value: Any) -> None:
    """Note a JSON value."""
    set_note(connection, name, _dumped(value))


def noted(connection: Connection, name: str) -> Any:
    """Return what was noted; None: nothing was."""
    found = note(connection, name)
    return files.loads(unescape_nul(found)) if found else None
