"""The layer `knowledge` of operations: documents of the knowledge base come, change and go, and each way back is kept.

Keys are ids of documents; a value says what a document is, and where in `backups/` its chunks lie: many documents in
one compressed file. Written in small transactions, so that nobody who records something waits for a long addition.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nanomem_tui import clock, json_text
from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.operations import Change, Operation, Value
from nanomem_tui.store import blobs, knowledge_rows
from nanomem_tui.store.atomic import sha256
from nanomem_tui.store.knowledge_values import Chunk, Document, KnowledgeDocument
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_store import TierStore

NAME = "knowledge"
Tell = Callable[[str, int, int], None]
"""Told of long work: what is done, how much of it is, and how much there is."""

BATCH = 20
"""Documents that are written in one transaction."""

PACKED = 1_000_000
"""Characters of documents that are kept in one file of the backups."""


def quiet(what: str, done: int, total: int) -> None:
    """Nobody is told."""


def content_hash(document: Document) -> str:
    """What tells whether a document changed: what it says, and where each chunk stands."""
    body = [document.kind, document.title, document.about, [list(chunk) for chunk in document.chunks]]
    return sha256(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))[:32]


def pack(documents: Sequence[Document]) -> Iterator[tuple[bytes, list[Document]]]:
    """The documents in files for the backups, each with those that are in it, in order."""
    held: list[Document] = []
    size = 0
    for document in documents:
        held.append(document)
        size += sum(len(chunk.text) for chunk in document.chunks)
        if size >= PACKED:
            yield _packed(held), held
            held, size = [], 0
    if held:
        yield _packed(held), held


def _packed(documents: Iterable[Document]) -> bytes:
    body = [[list(chunk) for chunk in document.chunks] for document in documents]
    return zlib.compress(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), 6)


def value_of(document: KnowledgeDocument) -> dict[str, Any]:
    """A document as a value of a change."""
    value = document._asdict()
    del value["id"], value["checked_at"]
    return value


class KnowledgeLayer:
    """How operations change documents."""

    name = NAME

    def __init__(self, database: TierStore, workspace_id: str, backups: Path) -> None:
        self.tell: Tell = quiet
        self._database = database
        self._workspace_id = workspace_id
        self._backups = backups

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when a document is not what a change starts from."""
        for found, change in self._found(changes):
            if found is None and change.before is not None:
                raise Conflict("the document is gone", change.key, "nothing was changed")
            if found is not None and change.before is None:
                raise Conflict("the document is there already", change.key, "nothing was changed")
            if found is not None and change.before is not None and found.hash != change.before["hash"]:
                fix = "look again, or undo the later change first: see `nanomem log`"
                raise Conflict("the document was changed since", change.key, fix)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any document is as it is to be."""
        return any(_is(found, change.after) and not _is(found, change.before) for found, change in self._found(changes))

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every document what it is to be, some at a time; what is so already stays."""
        kept = _Kept(self._backups)
        for at in range(0, len(changes), BATCH):
            self.tell("Indexing", at, len(changes))
            batch = [(change, kept.chunks(change.after)) for change in changes[at : at + BATCH]]

            def write(connection: Connection, batch: list[tuple[Change, list[Chunk]]] = batch) -> None:
                knowledge_rows.begin(connection, self._workspace_id)
                for change, chunks in batch:
                    self._write(connection, change, chunks)
                    if operation.kind != "void":  # what could not be done took nothing away
                        gone = change.after is None
                        knowledge_rows.mark_removed(connection, self._workspace_id, change.key, removed=gone)

            self._database.write(write, durable=at + BATCH >= len(changes))

    def _write(self, connection: Connection, change: Change, chunks: list[Chunk]) -> None:
        if change.after is None:
            knowledge_rows.delete(connection, self._workspace_id, change.key)
        else:
            document = KnowledgeDocument(id=change.key, checked_at=clock.iso(clock.now()), **change.after)
            knowledge_rows.put(connection, self._workspace_id, document, chunks)

    def _found(self, changes: Sequence[Change]) -> list[tuple[KnowledgeDocument | None, Change]]:
        """What is there of each document that changes."""
        if not self._database.exists:
            return [(None, change) for change in changes]

        def look(connection: Connection) -> list[tuple[KnowledgeDocument | None, Change]]:
            return [(knowledge_rows.document(connection, self._workspace_id, change.key), change) for change in changes]

        return self._database.read(look)


class _Kept:
    """The chunks that lie in the backups; the file that was read last is kept at hand."""

    def __init__(self, backups: Path) -> None:
        self._backups = backups
        self._name = ""
        self._documents: list[Any] = []

    def chunks(self, value: Value | None) -> list[Chunk]:
        if value is None:
            return []
        name, part = value["meta"]["kept"]
        if name != self._name:
            try:
                self._documents = json_text.loads(zlib.decompress(blobs.get(self._backups, str(name))))
            except (zlib.error, ValueError) as error:
                raise BadInput("a recorded document is damaged", str(name)) from error
            self._name = name
        return [Chunk(*chunk) for chunk in self._documents[int(part)]]


def _is(found: KnowledgeDocument | None, value: Mapping[str, Any] | None) -> bool:
    if found is None or value is None:
        return found is None and value is None
    return found.hash == str(value["hash"])
