"""The rows of one workspace made the same in another place, table by table, and what shows that they are.

Owns a pass over all tables, and their counts and hashes. Must not know why rows move, nor what marks a move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import tokens
from nanomem_tui.store import item_words, reader, sql
from nanomem_tui.store.moving import markers
from nanomem_tui.store.moving.naming import Naming
from nanomem_tui.store.moving.rows import Difference, Found, Ranks, Reading, Row, as_held, differences, found, write
from nanomem_tui.store.moving.tables import LATER, MEMORY, OPERATIONS, REFERRED, Table

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

Progress = Callable[[str, int, int], None]
Writing = Callable[[], AbstractContextManager["Connection"]]


class Sum(NamedTuple):
    """How many rows a table has, and a hash over all of them in order."""

    rows: int
    sha256: str


class Copied(NamedTuple):
    """What a pass did: how many rows it changed, and what was read, by table."""

    changed: int
    read: Mapping[str, Sum]


class _Summing:
    def __init__(self) -> None:
        self._rows, self._hash = 0, hashlib.sha256()

    def over(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            self._rows += 1
            self._hash.update(repr(row).encode("utf-8", "surrogatepass"))
            yield row

    @property
    def sum(self) -> Sum:
        return Sum(self._rows, self._hash.hexdigest())


class End(NamedTuple):
    """One end of a copy: how it is read, and how it names what is of the agent's files."""

    reading: Reading
    naming: Naming


class Copying:
    """From one place to another. `on_server`: whether the other one is a server."""

    def __init__(self, workspace_id: str, here: End, there: End, writing: Writing, *, on_server: bool) -> None:
        self._id = workspace_id
        self._here, self._there, self._writing = here, there, writing
        self._on_server = on_server

    def run(self, progress: Progress, total: int = 0) -> Copied:
        """Make every table there what it is here; what is written here meanwhile may be in it, or not."""
        changed, done = 0, 0
        read: dict[str, Sum] = {}
        for table in MEMORY:
            summing, ranks = _Summing(), self._ranks(self._there, table)
            rows = summing.over(self._rows(table, ranks))
            batch: list[Difference] = []
            for pair in differences(rows, self._found(self._there, table, ranks), table):
                done += 1
                progress("moving: row", done, max(total, done))
                if pair.old is None or pair.new != pair.old.row:
                    batch.append(pair)
                if len(batch) >= table.page:
                    changed += self._write(table, batch, ranks)
                    batch = []
            changed += self._write(table, batch, ranks)
            read[table.name] = summing.sum
        return Copied(changed, read)

    def _rows(self, table: Table, there: Ranks | None) -> Iterator[Row]:
        """The rows here; those that refer to what the other place does not have yet wait for the next pass."""
        rows = as_held(
            self._found(self._here, table, self._ranks(self._here, table)), table, on_server=self._on_server
        )
        return rows if there is None else (row for row in rows if 0 <= row[-1] < len(there))

    def _found(self, end: End, table: Table, ranks: Ranks | None) -> Iterator[Found]:
        """The rows of an end by the names of a server, in their order."""
        rows = found(end.reading, table, self._id, ranks)
        if (named := end.naming.seen(table)) is None:
            return rows
        seen = (Found(one.number, row) for one in rows if (row := named(one.row)) is not None)
        return iter(sorted(seen, key=lambda one: one.row[:2]))  # few: what is remembered of two files

    def _write(self, table: Table, batch: Sequence[Difference], ranks: Ranks | None) -> int:
        if batch:
            kept = [self._as_kept(table, one) for one in batch]
            with self._writing() as connection:
                write(connection, self._id, table, kept, ranks)
        return len(batch)

    def _as_kept(self, table: Table, one: Difference) -> Difference:
        naming = self._there.naming
        new = naming.kept(table, one.new) if one.new is not None else None
        old = one.old._replace(row=naming.kept(table, one.old.row)) if one.old is not None else None
        return Difference(new, old)

    def _ranks(self, end: End, table: Table) -> Ranks | None:
        """Those of the table that this one refers to."""
        if not table.refers:
            return None
        with end.reading() as connection:
            return Ranks(connection, REFERRED[table.to], self._id)

    def markers(self) -> None:
        """Make the markers there what they are here, once the rows are."""
        with self._here.reading() as connection:
            ranks = Ranks(connection, OPERATIONS, self._id)
            here = markers.of(connection, self._id, ranks, self._here.naming)
        with self._writing() as connection:
            ranks = Ranks(connection, OPERATIONS, self._id)
            markers.put(connection, self._id, here, ranks, self._there.naming)

    def sums_there(self) -> dict[str, Sum]:
        """The counts and hashes of the other place, read from it."""
        sums = {}
        for table in MEMORY:
            summing = _Summing()
            rows = self._found(self._there, table, self._ranks(self._there, table))
            for _ in summing.over(one.row for one in rows):
                pass
            sums[table.name] = summing.sum
        return sums


def begin_index(connection: Connection, workspace_id: str) -> None:
    """Make ready for an index of words that is in step with the rows from the first one on: where another version's is
    there, the items go, and come again."""
    meta = reader.meta(connection, workspace_id)
    if not reader.index_is_current(meta):
        clear(connection, workspace_id)
        connection.execute(markers.PUT, (f"{workspace_id}:tokens", str(tokens.VERSION)))


def clear(connection: Connection, workspace_id: str) -> None:
    """Take every item of a workspace out, with what finds it."""
    if sql.is_sqlite(connection):
        numbers = "SELECT number FROM memory_entries WHERE workspace_id = ?"
        connection.execute(f"DELETE FROM memory_entries_fts WHERE rowid IN ({numbers})", (workspace_id,))
    else:
        connection.execute("DELETE FROM memory_words WHERE workspace_id = ?", (workspace_id,))
        sums = [(f"{workspace_id}:{name}",) for name in (item_words.ROWS, item_words.LENGTH)]
        connection.executemany("DELETE FROM memory_meta WHERE key = ?", sums)
    connection.execute("DELETE FROM memory_entries WHERE workspace_id = ?", (workspace_id,))


def counts(connection: Connection, workspace_id: str) -> dict[str, int]:
    """How many rows each table has."""
    query = "SELECT count(*) FROM {} WHERE workspace_id = ?"
    tables = [table.name for table in MEMORY if reader.has_records(connection) or table.name not in LATER]
    return {name: int(connection.execute(query.format(name), (workspace_id,)).fetchone()[0]) for name in tables}
