"""What can still be read of a damaged database, row by row, in a new one. For a database of which there is no copy.

Reads the damaged file and writes the new one; must not touch anything else.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.store import reader, sql
from nanomem_tui.store.database import make_schema

TABLES = ("memory_entries", "lessons", "records", "operations", "operation_keys", "foreign_rows", "memory_meta")
FIRST, LAST = -1, 2**31
"""The row numbers between which rows are looked for."""
TRIES = 2_000
"""Queries of one table that may fail before the rest of it is given up."""


class Rescued(NamedTuple):
    """How many rows of all layers were read, and how many are known to be lost."""

    found: int
    lost: int


def rescue(damaged: Path, target: Path) -> Rescued:
    """Make `target` anew of what can be read. Raises OSError and the driver's errors when nothing can be made."""
    for end in ("", "-wal", "-shm"):
        target.with_name(target.name + end).unlink(missing_ok=True)
    make_schema(target, 0)
    expected = 0
    with contextlib.closing(sqlite3.connect(target)) as new:
        found = dict.fromkeys(TABLES, 0)
        with contextlib.suppress(sqlite3.Error, OSError), _opened(damaged) as old:
            for table in TABLES:
                found[table] = _copy(old, new, table)
        meta = new.execute("SELECT value FROM memory_meta WHERE key LIKE '%:rows'").fetchall()
        expected = sum(int(value) for (value,) in meta if str(value).isdigit())
        # The index is written anew from the rows at the next checkpoint, and the rows are counted anew. The chain of
        # the operations begins anew: some may be lost.
        for end in ("tokens", "rows", "chain", "operations"):
            new.execute("DELETE FROM memory_meta WHERE key LIKE ?", (f"%:{end}",))
        # Without a revision nobody would look at the rows: they were never written, it would say.
        revision = (
            "INSERT OR IGNORE INTO memory_meta (key, value)"
            " SELECT workspace_id || ':revision', max(revision, 1) FROM"
            " (SELECT workspace_id, max(revision) AS revision FROM memory_entries GROUP BY workspace_id)"
        )
        new.execute(revision)
        new.commit()
    rows = found["memory_entries"] + found["lessons"] + found["records"]
    return Rescued(rows, max(0, expected - rows))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with reader.open_database(path) as connection:
        connection.text_factory = reader.tolerant
        yield connection


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    names = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    marks = ", ".join("?" * len(names))
    query = f"SELECT {', '.join(names)} FROM {table} NOT INDEXED WHERE rowid > ? AND rowid <= ?"
    statement = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})"
    taken = 0
    for row in _rows(old, query, FIRST, LAST):
        with contextlib.suppress(sqlite3.Error):  # a value that no row may have
            taken += new.execute(statement, [_text(value) for value in row]).rowcount
    if table == "memory_entries":  # the search index, which knows the numbers, is written anew
        highest = sql.next_number(new, table, "number", "")
        wrong = f"typeof(number) <> 'integer' OR number NOT BETWEEN 0 AND {sql.HIGHEST}"
        new.execute(f"UPDATE {table} SET number = rowid + ? WHERE {wrong}", (highest,))
    return taken


def _text(value: Any) -> Any:
    return reader.tolerant(value) if isinstance(value, bytes) else value


def _rows(connection: sqlite3.Connection, query: str, low: int, high: int) -> Iterator[tuple[Any, ...]]:
    """The rows between two numbers; around a page that cannot be read, by halves."""
    left, failures = [(low, high)], 0
    while left and failures < TRIES:
        low, high = left.pop()
        try:
            yield from connection.execute(query, (low, high)).fetchall()
        except sqlite3.Error:
            failures += 1
            if high - low > 1:
                middle = (low + high) // 2
                left += [(middle, high), (low, middle)]
