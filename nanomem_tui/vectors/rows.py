"""The `vectors` table: what was embedded, by workspace, item and model. A cache: nothing here is an operation.

Owns its reads and its small transactions. Where there is no database yet, or a damaged one, nothing is kept. Must not
know an embedder.
"""

from __future__ import annotations

import math
import sqlite3
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nanomem_tui.store import reader, sql
from nanomem_tui.store.migrations import VECTORS

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.sql import Connection

T = TypeVar("T")
CHUNK = 1_000
"""Rows that are read, or removed, at a time."""
KEYS = 500
"""Ids that one query names."""
_ROWS = "SELECT key, text_hash, dimension, {} FROM vectors WHERE workspace_id = ?"
_COLUMNS = {
    *((name, 1) for name in ("workspace_id", "key", "model")),
    *((name, 0) for name in ("dimension", "text_hash", "vector")),
}
"""The columns of the table, and whether they are of its key."""


class Stored(NamedTuple):
    """A row: the item's id, the hash of the text, how many numbers there should be, and the numbers as float32, little
    end first."""

    key: str
    text_hash: str
    dimension: int
    vector: bytes


class Held(NamedTuple):
    """How many vectors of a model there are."""

    model: str
    dimension: int
    rows: int


class VectorRows:
    """The vectors of one workspace in its database."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._closed = False

    @property
    def can_keep(self) -> bool:
        """Whether there is a database to write to; a search makes none, and mends none."""
        if not hasattr(self._store, "waiting"):
            return False
        return not self._closed and self._store.has_database and self._store.source.damage is None

    def close(self) -> None:
        """Write no more."""
        self._closed = True

    def counts(self) -> list[Held]:
        """How many vectors there are of each model, most first; reads no vector."""
        query = (
            "SELECT model, count(*), (SELECT dimension FROM vectors v WHERE v.workspace_id = a.workspace_id"
            " AND v.model = a.model LIMIT 1) FROM vectors a WHERE workspace_id = ? GROUP BY workspace_id, model"
            " ORDER BY count(*) DESC, model"
        )
        rows = self._ask(lambda connection: connection.execute(query, (self._id,)).fetchall())
        return [Held(model, dimension, number) for model, number, dimension in rows]

    def read(self, model: str, take: Callable[[Sequence[Stored]], None]) -> None:
        """Give every vector of a model to `take`, part by part; some may be given twice."""
        values = (self._id, model)
        self._ask(lambda connection: _by_parts(connection, f"{_rows(connection)} AND model = ?", values, take))

    def of(self, model: str, keys: Sequence[str]) -> dict[str, Stored]:
        """The vectors of these items, by id."""
        found: dict[str, Stored] = {}

        def ask(connection: Connection) -> list[Stored]:
            for start in range(0, len(keys), KEYS):
                part = keys[start : start + KEYS]
                query = f"{_rows(connection)} AND model = ? AND key IN ({', '.join('?' * len(part))})"
                rows = map(_stored, connection.execute(query, (self._id, model, *part)))
                found.update((row.key, row) for row in rows)
            return []

        self._ask(ask)
        return found

    def put(self, model: str, rows: Iterable[Stored]) -> None:
        """Write vectors in one transaction. Raises the store's errors; nothing is written then."""
        query = (
            "INSERT INTO vectors (workspace_id, key, model, dimension, text_hash, vector) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(workspace_id, key, model) DO UPDATE SET dimension = excluded.dimension,"
            " text_hash = excluded.text_hash, vector = excluded.vector"
        )
        values = [(self._id, row.key, model, row.dimension, row.text_hash, row.vector) for row in rows]
        with self._store.database.writing(durable=False) as connection:
            if not _is_there(connection):  # it is a cache: taken out or of another form, it is made anew
                connection.execute("DROP TABLE IF EXISTS vectors")
                connection.execute(VECTORS)
            connection.executemany(query, values)

    def clear(self) -> None:
        """Remove the vectors of every item and model."""
        self._remove("workspace_id = ?", (self._id,))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove the vectors of these items, of every model, in small transactions."""
        for start in range(0, len(keys), KEYS):
            part = keys[start : start + KEYS]
            self._remove(f"workspace_id = ? AND key IN ({', '.join('?' * len(part))})", (self._id, *part))

    def sweep(self, model: str, living: Collection[str]) -> None:
        """Remove the vectors of other models, and of items that are neither `living` nor in the database."""
        self._remove("workspace_id = ? AND model != ?", (self._id, model))
        query = (
            "SELECT key FROM vectors v WHERE workspace_id = ? AND NOT EXISTS (SELECT 1 FROM memory_entries e"
            " WHERE e.workspace_id = v.workspace_id AND e.id = v.key AND e.is_deleted = 0)"
        )
        self.remove(
            [key for (key,) in self._ask(lambda c: c.execute(query, (self._id,)).fetchall()) if key not in living]
        )

    def bad(self) -> list[str]:
        """Items with a row that is no vector: of another size than it says, with a number that is none, or of another
        length than 1."""
        found: list[str] = []

        def take(rows: Sequence[Stored]) -> None:
            found.extend(row.key for row in rows if not is_vector(row))

        self._ask(lambda connection: _by_parts(connection, _rows(connection), (self._id,), take))
        return found

    @property
    def _id(self) -> str:
        return self._store.workspace_id

    def _ask(self, ask: Callable[[Connection], list[T]]) -> list[T]:
        """The answer of the database; nothing where there is no such table yet."""
        if not hasattr(self._store, "waiting") or not self._store.has_database:
            return []

        def tolerant(connection: Connection) -> list[T]:
            if isinstance(connection, sqlite3.Connection):
                connection.text_factory = reader.tolerant  # a bit that flipped costs a vector, not the table
            return ask(connection) if _is_there(connection) else []

        return self._store.read(tolerant)

    def _remove(self, condition: str, values: Sequence[Any]) -> None:
        found = f"SELECT workspace_id, key, model FROM vectors WHERE {condition} LIMIT {CHUNK}"
        while rows := self._ask(lambda connection: connection.execute(found, values).fetchall()):
            with self._store.database.writing(durable=False) as connection:
                connection.executemany("DELETE FROM vectors WHERE workspace_id = ? AND key = ? AND model = ?", rows)


def is_vector(row: Stored) -> bool:
    """Whether a row holds what it says: so many numbers, of length 1 together."""
    if len(row.vector) != 4 * row.dimension:
        return False
    return abs(math.hypot(*numbers_of(row)) - 1) < 0.02


def numbers_of(row: Stored) -> array[float]:
    """The numbers of a row that has whole ones."""
    numbers = array("f", row.vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _rows(connection: Connection) -> str:
    """A damaged file may hold a text in the place of a vector."""
    return _ROWS.format("CAST(vector AS BLOB)" if sql.is_sqlite(connection) else "vector")


def _is_there(connection: Connection) -> bool:
    """Whether there is the table, with its columns and its key."""
    if not sql.is_sqlite(connection):
        return True  # the schema of a server is made whole, and nobody takes a table out of it in passing
    return set(connection.execute("SELECT name, pk > 0 FROM pragma_table_info('vectors')")) == _COLUMNS


def _stored(row: Sequence[Any]) -> Stored:
    """A row as it was read; a damaged one may hold a text, or no number, in place of what it says."""
    key, text_hash, dimension, vector = row
    good = isinstance(vector, bytes) and isinstance(dimension, int)
    return Stored(str(key), str(text_hash), dimension if good else 0, vector if good else b"?")


def _by_parts(
    connection: Connection, query: str, values: Sequence[Any], take: Callable[[Sequence[Stored]], None]
) -> list[Stored]:
    cursor = connection.execute(query, values)
    while part := cursor.fetchmany(CHUNK):
        take([_stored(row) for row in part])
    return []
