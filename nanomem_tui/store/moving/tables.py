"""The tables of a memory that move with it: what each row is known by, and which of its columns are numbered anew.

A table joins by a line in `MEMORY`. What each place makes for itself is not here: the index of words, and the columns
beside a row that hold what finds it (`item_words`). Values only.
"""

from __future__ import annotations

from typing import NamedTuple

from nanomem_tui.store import item_words, moved, reader


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
LATER = frozenset({"records", "vectors"})
"""Those that a file of schema 1 lacks until somebody writes to it."""
REFERRED = {table.name: table for table in MEMORY if table.number}
"""Those with numbers that others refer to."""
OWN_MARKERS = moved.LOCAL | {"tokens", item_words.ROWS, item_words.LENGTH}
"""Markers that each place makes for itself."""
PLACE_MARKER = "audit_seq"
"""The marker that holds a place in the order of operations."""
