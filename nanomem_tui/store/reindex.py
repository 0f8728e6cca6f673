"""The full-text index made anew from the rows, whatever state it is in, while others read and write.

A second index grows beside the one in use, in short transactions; what is written meanwhile is told by its revision and
caught up with; the two change places in one short transaction. A run that was cut off leaves the old index in use, and
the next run removes what it left. Owns nothing else of the database.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import Conflict, NanomemError, Problem, Refused
from nanomem_tui.store import atomic, markers, migrations, reader
from nanomem_tui.text import counted
from nanomem_tui.tokens import VERSION, tokens

if TYPE_CHECKING:
    from sqlite3 import Connection

    from nanomem_tui.store.database import Database
    from nanomem_tui.store.memory_store import MemoryStore

BUSY = "another process makes the search index anew"
LOCK = "reindex.lock"
"""The file, beside the database, whose flock is held by who makes the index anew."""
CHUNK = 500
"""Rows that one transaction writes: some 30 ms."""
PAUSE = 0.015
"""Seconds between two transactions, in which others, who look every 10 ms, get their turn."""
INDEX, FRESH, OLD = "memory_entries_fts", "memory_entries_fts_new", "memory_entries_fts_old"
REMOVED = 2_000
"""Rows of its tables that one transaction removes from an index that is not in use any more."""
COMPARED, COPIED = 5_000, 64_000_000
"""Items that the index is held against, and bytes of a database that is copied for it."""
PROGRESS = "reindex"
"""The key in the meta table of how far a run is."""
_PARTS = ("data", "idx", "content", "docsize", "config")
"""The tables that SQLite keeps a full-text index in."""

Indexed = tuple[int, str, str]
"""Number, id and tokens of a row."""


class IndexState(NamedTuple):
    """How the index fits the rows: active items, how many of them it holds, and whether nothing is missing or stale."""

    items: int
    indexed: int
    current: bool


class _Changed(NamedTuple):
    number: int
    key: str
    text: str
    is_deleted: bool
    workspace_id: str
    revision: int


def state(store: MemoryStore) -> IndexState:
    """How the index is now; one that cannot be read holds nothing. Raises the store's errors for the rows."""
    if not store.has_database:
        return IndexState(0, 0, True)
    if store.server is not None:
        from nanomem_tui.store.postgres import words_anew

        return IndexState(*words_anew.state(store.server))
    with reader.open_database(store.paths.database) as connection:
        connection.execute("BEGIN")  # both counts are of one moment, whoever writes meanwhile
        current = reader.index_is_current(reader.meta(connection, store.workspace_id))
        query = "SELECT count(*) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
        items = int(connection.execute(query, (store.workspace_id,)).fetchone()[0])
        query = (
            "SELECT coalesce(sum(NOT e.is_deleted), 0), coalesce(sum(e.is_deleted), 0) FROM memory_entries_fts f"
            " JOIN memory_entries e ON e.number = f.rowid WHERE e.workspace_id = ?"
        )
        try:
            indexed, stale = map(int, connection.execute(query, (store.workspace_id,)).fetchone())
        except sqlite3.DatabaseError:
            return IndexState(items, 0, False)
    return IndexState(items, indexed, indexed == items and not stale and current)


def behind(store: MemoryStore) -> str:
    """What an index of a file lacks, or has otherwise, in words; "" where it is right, and where the database itself
    cannot be read."""
    if store.server is not None or not store.has_database or store.source.damage is not None:
        return ""
    try:
        found = state(store)
    except NanomemError:
        return ""
    if found.indexed < found.items:
        return f"the search index holds {found.indexed:,} of {counted(found.items, 'item')}"
    if not found.current or found.items > COMPARED:
        return ""
    return _otherwise(store)


def _otherwise(store: MemoryStore, *, wholly: bool = False) -> str:
    """That an index of a file does not say what its items say, in words; "" where it does. Of very many items some
    thousand are looked at. `wholly`: also whether it finds what it says that it holds."""
    try:
        with reader.open_database(store.paths.database) as connection:
            if not reader.index_is_current(reader.meta(connection, store.workspace_id)):
                return ""  # made anew anyway
            wrong = _unlike(connection, store.workspace_id)
            if wholly and not wrong and os.path.getsize(store.paths.database) <= COPIED and not _is_sound(connection):
                return "the search index is not what was written"
    except NanomemError:
        return ""
    return f"the search index says something else than {counted(wrong, 'item')}" if wrong else ""


def _unlike(connection: Connection, workspace_id: str) -> int:
    """How many items the index has otherwise, of those that are looked at."""
    query = "SELECT count(*) FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
    step = 1 + int(connection.execute(query, (workspace_id,)).fetchone()[0]) // COMPARED
    query = (
        "SELECT e.id, e.content, f.entry_id, f.content FROM memory_entries e JOIN memory_entries_fts f"
        " ON f.rowid = e.number WHERE e.workspace_id = ? AND e.is_deleted = 0 AND e.number % ? = 0"
    )
    try:
        rows = reader.fetched(connection, tuple, query, (workspace_id, step))
    except sqlite3.DatabaseError:
        return 0  # told as an index that holds nothing
    texts = [row for row in rows if isinstance(row[1], str)]  # another row is told, and mended
    return sum((key, " ".join(tokens(text))) != (known, words) for key, text, known, words in texts)


def _is_sound(connection: Connection) -> bool:
    """Whether the index finds what it says that it holds. SQLite asks for a database that can be written: a copy."""
    with contextlib.closing(sqlite3.connect(":memory:")) as copy:
        connection.rollback()
        connection.backup(copy)
        try:
            copy.execute(f"INSERT INTO {INDEX}({INDEX}) VALUES ('integrity-check')")
        except sqlite3.DatabaseError:
            return False
    return True


def problems(store: MemoryStore) -> Iterator[Problem]:
    """The same for the doctor, whatever number of items there is."""
    fix = "`nanomem doctor --fix`, or `nanomem memory reindex`, makes it anew"
    if what := behind(store):
        finds = ": a search does not find the others" if " holds " in what else ": a search finds what is not there"
        yield Problem(f"{what}{finds}", "nanomem.db", None, fix, "warning")
    elif store.server is None and store.has_database and store.source.damage is None and (
        what := _otherwise(store, wholly=True)
    ):
        yield Problem(f"{what}: a search finds what is not there", "nanomem.db", None, fix, "warning")


def rebuild(store: MemoryStore) -> IndexState:
    """Make the index anew for every workspace in the database; how it is then.

    Others read and write meanwhile. Raises Refused while another process does the same, Conflict when the database was
    exchanged beneath, and the errors of the store; the old index stays in use then.
    """
    if store.has_database:
        make_anew(store)
    return state(store)


def make_anew(store: MemoryStore) -> None:
    """Make the index of a store anew. Raises what `rebuild` does."""
    from nanomem_tui.store.database import Database

    if isinstance(store.database, Database):
        make(store.database)
        return
    from nanomem_tui.store.postgres import words_anew

    with store.leading("words") as ours:
        if not ours:
            raise Refused(BUSY, store.where, "wait for it to finish")
        words_anew.make(store.database, store.workspace_id)


def make(database: Database) -> None:
    """Make the index of a database anew. Raises what `rebuild` does."""
    with database.writing():  # a newer schema, or a damaged file, is refused before anything else
        pass
    try:
        with atomic.locked(database.path.with_name(LOCK), wait=0):
            _Making(database).run()
    except Refused as error:
        if LOCK not in error.where:
            raise
        raise Refused(BUSY, str(database.path), "wait for it to finish") from error


class _Making:
    """One run. `_seen`: by workspace the newest row (revision, number) that the fresh index holds as it is; `_run`:
    what it is known by, empty once the indexes are exchanged."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: dict[str, tuple[int, int]] = {}
        self._run, self._steps = uuid.uuid4().hex, 0

    def run(self) -> None:
        for name in (FRESH, OLD):
            self._remove(name)
        self._begin()
        self._fill()
        while not self._caught_up():
            time.sleep(PAUSE)
        self._remove(OLD)

    def _begin(self) -> None:
        with self._database.writing() as connection:
            for statement in (migrations.FTS_TABLE, migrations.FTS_MERGES):
                connection.execute(statement.replace(INDEX, FRESH))
            for workspace_id in _workspaces(connection):
                query = "SELECT max(revision) FROM memory_entries WHERE workspace_id = ?"
                newest = int(connection.execute(query, (workspace_id,)).fetchone()[0])
                self._seen[workspace_id] = (newest, sys.maxsize)
            self._note(connection)

    def _note(self, connection: Connection) -> None:
        """Note how far this run is, in the database: one that is exchanged beneath it for a copy is told by that."""
        value = f"{self._run} {self._steps}"
        connection.execute(markers.PUT, (PROGRESS, value))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction on the database that the run began with. Raises Conflict when it is another one."""
        with self._database.writing() as connection:
            found = connection.execute("SELECT value FROM memory_meta WHERE key = ?", (PROGRESS,)).fetchone()
            if found is None or found[0] != f"{self._run} {self._steps}":
                raise Conflict("the database was exchanged meanwhile", str(self._database.path), "do it once more")
            yield connection
            if self._run:
                self._steps += 1
                self._note(connection)
            else:
                connection.execute("DELETE FROM memory_meta WHERE key = ?", (PROGRESS,))

    def _fill(self) -> None:
        """Every row there is. Words are cut before a transaction begins; what changes in between is caught up with."""
        query = (
            "SELECT number, id, content FROM memory_entries WHERE number > ? AND is_deleted = 0 ORDER BY number LIMIT ?"
        )
        last = -1
        while True:
            with reader.open_database(self._database.path) as connection:
                rows = connection.execute(query, (last, CHUNK)).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            values = [(number, key, " ".join(tokens(content))) for number, key, content in rows]
            with self._writing() as connection:
                _put(connection, values)
            time.sleep(PAUSE)

    def _caught_up(self) -> bool:
        """Take up what was written meanwhile; when little is left, that and the exchange are one transaction."""
        with reader.open_database(self._database.path) as connection:
            rows = self._changed(connection)
        if len(rows) < CHUNK:
            with self._writing() as connection:
                rows = self._changed(connection)
                self._take(connection, rows)
                if len(rows) < CHUNK:
                    _exchange(connection)
                    self._run = ""
        else:
            with self._writing() as connection:
                self._take(connection, rows)
        return not self._run

    def _changed(self, connection: Connection) -> list[_Changed]:
        """The first rows, at most a chunk, that were written since they were taken."""
        query = (
            "SELECT number, id, content, is_deleted, workspace_id, revision FROM memory_entries"
            " WHERE workspace_id = ? AND revision >= ? AND (revision, number) > (?, ?)"
            " ORDER BY revision, number LIMIT ?"
        )
        found: list[_Changed] = []
        for workspace_id in _workspaces(connection):
            revision, number = self._seen.get(workspace_id, (-1, -1))
            values = (workspace_id, revision, revision, number, CHUNK - len(found))
            found += map(_Changed._make, connection.execute(query, values))
        return found

    def _take(self, connection: Connection, rows: Sequence[_Changed]) -> None:
        connection.executemany(f"DELETE FROM {FRESH} WHERE rowid = ?", [(row.number,) for row in rows])
        _put(connection, [(r.number, r.key, " ".join(tokens(r.text))) for r in rows if not r.is_deleted])
        for row in rows:
            self._seen[row.workspace_id] = (row.revision, row.number)

    def _remove(self, name: str) -> None:
        """Remove an index that is not in use, in short transactions too: a large one takes seconds."""
        for table in (f"{name}_content", f"{name}_data"):
            while True:
                with self._database.writing() as connection:
                    if not _is_there(connection, table):
                        break
                    query = f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} LIMIT ?)"
                    if not connection.execute(query, (REMOVED,)).rowcount:
                        break
                time.sleep(PAUSE)
        with self._database.writing() as connection:
            _drop(connection, name)


def _workspaces(connection: Connection) -> list[str]:
    """The workspaces that have items: one look at the primary key for each."""
    found: list[str] = []
    query = "SELECT min(workspace_id) FROM memory_entries WHERE workspace_id > ?"
    while (row := connection.execute(query, (found[-1] if found else "",)).fetchone())[0] is not None:
        found.append(row[0])
    return found


def _put(connection: Connection, rows: Sequence[Indexed]) -> None:
    connection.executemany(f"INSERT INTO {FRESH}(rowid, entry_id, content) VALUES (?, ?, ?)", rows)


def _exchange(connection: Connection) -> None:
    """The fresh index becomes the one in use, and every workspace's is of this version."""
    try:
        if _is_there(connection, INDEX):
            connection.execute(f"ALTER TABLE {INDEX} RENAME TO {OLD}")
    except sqlite3.DatabaseError:  # so damaged that it cannot be moved
        _drop(connection, INDEX)
    connection.execute(f"ALTER TABLE {FRESH} RENAME TO {INDEX}")
    versions = [(f"{workspace_id}:tokens", str(VERSION)) for workspace_id in _workspaces(connection)]
    connection.executemany(markers.PUT, versions)


def _drop(connection: Connection, name: str) -> None:
    try:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    except sqlite3.DatabaseError:  # SQLite does not know it as an index any more: what it was kept in goes by itself
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = ? AND sql LIKE 'CREATE VIRTUAL TABLE%'", (name,))
        connection.execute("PRAGMA writable_schema = RESET")
    for part in _PARTS:
        connection.execute(f"DROP TABLE IF EXISTS {name}_{part}")


def _is_there(connection: Connection, name: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None
