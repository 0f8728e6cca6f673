"""The tables of a memory that move with it: what each row is known by, and which of its columns are numbered anew.

A table joins by a line in `MEMORY`. What each place makes for itself is not here: the index of words, and the columns
beside a row that hold what finds it (`item_words`). Values only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nanomem_tui.store import item_words, moved, reader, tier_tables
from nanomem_tui.store.tier_kinds import KINDS

Row = tuple[Any, ...]


class Table(NamedTuple):
    """One table. `columns`: those that are carried as they are; `key`: what a row is known by within its workspace.

    `number`: the column that keeps the rows in order; a file counts all its workspaces together and a server each by
    itself, so that it is numbered anew, in the same order. `refers`: a column of the key that holds such a number of
    the table `to`. `light`: columns by which a row that changed is told, the key among them; none: all of them.
    `page`: rows that are read at once.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    number: str = ""
    refers: str = ""
    to: str = ""
    light: tuple[str, ...] = ()
    page: int = 500

    @property
    def lightly(self) -> Table:
        """The table as far as it is read to see what changed."""
        return self._replace(columns=self.light) if self.light else self

    @property
    def places(self) -> tuple[int, ...]:
        """Where in a row the columns of its key are; the rank that a row refers to stands behind the others."""
        return tuple((*self.columns, self.refers).index(name) for name in self.key)


ITEMS = Table(
    "memory_entries", (*reader.ITEM_COLUMNS, "content_norm", "content_hash", "row_hash"), ("id",), number="number",
    light=("id", "revision", "row_hash"),
)  # fmt: skip
OPERATIONS = Table(
    "operations", ("id", "at", "actor", "kind", "label", "touched", "body_json", "undone"), ("id",), number="seq",
    light=("id", "undone", "touched", "label"), page=50,
)  # fmt: skip
FOREIGN = Table("foreign_rows", ("source", "id", "raw_json"), ("source", "id"))
MEMORY = (
    ITEMS,
    Table("lessons", (*reader.LESSON_COLUMNS, "row_hash"), ("id",), light=("id", "revision", "row_hash")),
    Table("records", (*reader.RECORD_COLUMNS, "row_hash"), ("id",), light=("id", "revision", "row_hash")),
    OPERATIONS,
    Table("operation_keys", ("layer", "key"), ("layer", "key", "seq"), refers="seq", to="operations", page=5_000),
    FOREIGN,
    Table("vectors", ("key", "model", "dimension", "text_hash", "vector"), ("key", "model"),
          light=("key", "model", "dimension", "text_hash")),
)  # fmt: skip
"""Those of `nanomem.db`, in the order in which they move."""
KIND_OF = {table: kind for kind in KINDS.values() for table in kind.tables.values()}
"""The kind of the records in each table of `tiers.db` that holds such."""
KNOWLEDGE = frozenset({"knowledge_documents", "knowledge_chunks"})
WORK = (
    *(Table(name, tier_tables.columns(kind, name)[1:], ("id",), number="number",
            light=("id", "stored_at", "changed_at", "row_hash")) for name, kind in KIND_OF.items()),
    Table("record_changes", ("kind", "id", "at", "origin", "before", "after"),
          ("kind", "id", "at", "origin", "before", "after"), number="seq"),
    Table("knowledge_documents", ("id", "kind", "title", "source", "hash", "added_at", "checked_at", "chunks", "meta"),
          ("id",), number="number", light=("id", "hash", "checked_at", "chunks")),
    Table("knowledge_chunks", ("id", "document_id", "ordinal", "section", "line_from", "line_to", "text", "text_hash"),
          ("id",), number="number", light=("id", "ordinal", "line_from", "line_to", "text_hash")),
    Table("record_vectors", ("model", "kind", "id", "at", "text_hash", "vector"), ("model", "kind", "id"),
          number="number", light=("model", "kind", "id", "at", "text_hash")),
    Table("record_vectors_due", ("kind", "id"), ("kind", "id")),
    Table("lifecycle_runs", ("id", "began_at", "state"), ("id",)),
    Table("lifecycle_batches", ("run", "kind", "what", "rows", "packed"), ("run", "kind", "what", "rows", "packed"),
          number="seq", page=20),
)  # fmt: skip
"""Those of `tiers.db`: the work of an agent, and the knowledge base."""
LATER = frozenset({"records", "vectors"})
"""Those that a file of schema 1 lacks until somebody writes to it."""
REFERRED = {table.name: table for table in MEMORY if table.number}
"""Those with numbers that others refer to."""
OWN_MARKERS = moved.LOCAL | {"tokens", item_words.ROWS, item_words.LENGTH, item_words.RUN}
"""Markers that each place makes for itself."""
PLACE_MARKER = "audit_seq"
"""The marker that holds a place in the order of operations."""
