"""The rows of one workspace made the same in another place, table by table, and what shows that they are.

Owns a pass over all tables, and their counts and hashes. Must not know why rows move, nor what marks a move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import NamedTuple

from nanomem_tui import tokens
from nanomem_tui.store import item_words, reader
from nanomem_tui.store.markers import PUT
from nanomem_tui.store.moving import markers
from nanomem_tui.store.moving.naming import Naming
from nanomem_tui.store.moving.rows import (
    Difference,
    Found,
    Ranks,
    Reading,
    as_held,
    differences,
    found,
    key_of,
    whole,
    write,
)
from nanomem_tui.store.moving.tables import LATER, MEMORY, REFERRED, WORK, Table
from nanomem_tui.store.sql import Connection

Progress = Callable[[str, int, int], None]
Writing = Callable[[], AbstractContextManager[Connection]]


class Sum(NamedTuple):
    """How many rows a table has, and a hash over all of them in order."""

    rows: int
    sha256: str


class Part(NamedTuple):
    """Tables that lie in one database, and what is remembered beside them. `file`: how a person calls it."""

    file: str
    tables: Sequence[Table]
    markers: Callable[[Connection, str, Naming], dict[str, str]]
    put_markers: Callable[[Connection, str, dict[str, str], Naming], None]


THE_MEMORY = Part("nanomem.db", MEMORY, markers.of, markers.put)
THE_WORK = Part("tiers.db", WORK, markers.of_work, markers.put_work)


class End(NamedTuple):
    """One end of a copy: how it is read, and how it names what is of the agent's files."""

    reading: Reading
    naming: Naming


class Copying:
    """From one place to another. `on_server`: whether the other one is a server."""

    def __init__(
        self, workspace_id: str, here: End, there: End, writing: Writing, *, on_server: bool, part: Part = THE_MEMORY
    ) -> None:
        self._id, self._part = workspace_id, part
        self._here, self._there, self._writing = here, there, writing
        self._on_server = on_server

    def run(self, progress: Progress, total: int = 0, *, lightly: bool = True) -> int:
        """Make every table there what it is here, and return how many rows were changed; what is written here meanwhile
        may be in it, or not. `lightly`: what changed is told by ids, revisions and hashes, and not by all columns."""
        changed, done = 0, 0
        for table in self._part.tables:
            read = table.lightly if lightly else table
            ranks = self._ranks(self._there, table)
            batch: list[Difference] = []
            for pair in differences(self._rows(read, ranks), self._found(self._there, read, ranks), read):
                done += 1
                progress("moving: row", done, max(total, done))
                if not pair.is_same:
                    batch.append(pair)
                if len(batch) >= table.page:
                    changed += self._write(table, self._wholly(table, batch) if lightly else batch, ranks)
                    batch = []
            changed += self._write(table, self._wholly(table, batch) if lightly else batch, ranks)
        return changed

    def _rows(self, table: Table, there: Ranks | None) -> Iterator[Found]:
        """The rows here; those that refer to what the other place does not have yet wait for the next pass."""
        rows = self._found(self._here, table, self._ranks(self._here, table))
        rows = as_held(rows, table, self._id, on_server=self._on_server)
        return rows if there is None else (one for one in rows if 0 <= one.row[-1] < len(there))

    def _found(self, end: End, table: Table, ranks: Ranks | None) -> Iterator[Found]:
        """The rows of an end by the names of a server, in their order."""
        rows = found(end.reading, table, self._id, ranks)
        if (named := end.naming.seen(table)) is None:
            return rows
        seen = (Found(one.number, row) for one in rows if (row := named(one.row)) is not None)
        return iter(sorted(seen, key=lambda one: one.row[:2]))  # few: what is remembered of two files

    def _wholly(self, table: Table, batch: Sequence[Difference]) -> list[Difference]:
        """What was read lightly, with all of each row as it is now; what is gone by now is left for the next pass."""
        if not table.light or not batch:
            return list(batch)
        light = table.lightly
        with self._here.reading() as connection:
            new = whole(connection, table, self._id, (one.new for one in batch))
        with self._there.reading() as connection:
            old = whole(connection, table, self._id, (one.old for one in batch))
        held = as_held(new.values(), table, self._id, on_server=self._on_server)
        new = dict(zip(new, held, strict=True))
        pairs = (
            Difference(
                new.get(key_of(light, one.new.row)) if one.new is not None else None,
                old.get(key_of(light, one.old.row)) if one.old is not None else None,
            )
            for one in batch
            if one.new is None or key_of(light, one.new.row) in new
        )
        return [pair for pair in pairs if not pair.is_same]

    def _write(self, table: Table, batch: Sequence[Difference], ranks: Ranks | None) -> int:
        if batch:
            kept = [Difference(self._as_kept(table, one.new), self._as_kept(table, one.old)) for one in batch]
            with self._writing() as connection:
                write(connection, self._id, table, kept, ranks)
        return len(batch)

    def _as_kept(self, table: Table, one: Found | None) -> Found | None:
        return one._replace(row=self._there.naming.kept(table, one.row)) if one is not None else None

    def _ranks(self, end: End, table: Table) -> Ranks | None:
        """Those of the table that this one refers to."""
        if not table.refers:
            return None
        with end.reading() as connection:
            return Ranks(connection, REFERRED[table.to], self._id)

    def markers(self) -> None:
        """Make the markers there what they are here, once the rows are."""
        with self._here.reading() as connection:
            here = self._part.markers(connection, self._id, self._here.naming)
        with self._writing() as connection:
            self._part.put_markers(connection, self._id, here, self._there.naming)

    def sums(self) -> tuple[dict[str, Sum], dict[str, Sum]]:
        """The counts and hashes of all rows here, as the other place is to hold them, and there. Both are read at the
        same time."""
        ranks = {table.name: self._ranks(self._there, table) for table in self._part.tables}

        def there(table: Table) -> Iterator[Found]:
            return self._found(self._there, table, ranks[table.name])

        with ThreadPoolExecutor(1) as beside:
            other = beside.submit(self._sums, there)
            return self._sums(lambda table: self._rows(table, ranks[table.name])), other.result()

    def _sums(self, rows: Callable[[Table], Iterator[Found]]) -> dict[str, Sum]:
        return {table.name: _sum(rows(table)) for table in self._part.tables}


def _sum(rows: Iterator[Found]) -> Sum:
    count, digest = 0, hashlib.sha256()
    for one in rows:
        count += 1
        digest.update(repr(one.row).encode("utf-8", "surrogatepass"))
    return Sum(count, digest.hexdigest())


def begin_index(connection: Connection, workspace_id: str) -> None:
    """Make ready for an index of words that is in step with the rows from the first one on: where another version's is
    there, the items go, and come again."""
    meta = reader.meta(connection, workspace_id)
    if not reader.index_is_current(meta):
        clear(connection, workspace_id)
        connection.execute(PUT, (f"{workspace_id}:tokens", str(tokens.VERSION)))


def clear(connection: Connection, workspace_id: str) -> None:
    """Take every item of a workspace out, with what finds it."""
    item_words.clear(connection, workspace_id)
    connection.execute("DELETE FROM memory_entries WHERE workspace_id = ?", (workspace_id,))


def counts(connection: Connection, workspace_id: str, part: Part = THE_MEMORY) -> dict[str, int]:
    """How many rows each table has."""
    query = "SELECT count(*) FROM {} WHERE workspace_id = ?"
    old = LATER if part is THE_MEMORY and not reader.has_records(connection) else frozenset[str]()
    tables = [table.name for table in part.tables if table.name not in old]
    return {name: int(connection.execute(query.format(name), (workspace_id,)).fetchone()[0]) for name in tables}
