"""What is asked of a connection to a database, and what SQLite and PostgreSQL say differently.

The statements of this package are written once, in the words that both know, with `?` for a value; what they differ in
stands here. Must not know what the tables hold, nor load a driver.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

HIGHEST = 10**15
"""No number of ours comes to that: a row's, an operation's, or one that is counted."""


class Cursor(Protocol):
    """The answer to a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    def fetchone(self) -> Any:
        """The next row, None behind the last."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""

    def fetchmany(self, size: int = 1, /) -> list[Any]:
        """The next rows, none behind the last."""

    def __iter__(self) -> Iterator[Any]:
        """Row by row."""


class Connection(Protocol):
    """A connection of either driver, as far as both go."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        """Do one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Do one statement for each of these."""


class Blob(Protocol):
    """A value of which a part is read at a time, as UTF-8."""

    def __len__(self) -> int:
        """Bytes."""

    def seek(self, offset: int, /) -> None:
        """Go on from there."""

    def read(self, length: int = -1, /) -> bytes:
        """The next bytes; all that is left unless told how many."""


def is_sqlite(connection: Connection) -> bool:
    """Whether it is a connection to an SQLite file."""
    return not getattr(connection, "is_on_a_server", False)


def unindexed(connection: Connection) -> str:
    """What follows a table's name, so that its rows are read without an index, which a flipped bit may have harmed."""
    return " NOT INDEXED" if is_sqlite(connection) else ""


def place(connection: Connection) -> tuple[str, Any]:
    """A column by which a table with an id can be read part by part, and a value before the first."""
    return ("rowid", -1) if is_sqlite(connection) else ("id", "")


def number_in(connection: Connection, column: str, name: str) -> str:
    """The whole number of that name in the JSON object of a column, 0 where there is none or less."""
    if is_sqlite(connection):
        found = f"max(CAST(json_extract({column}, '$.{name}') AS INTEGER), 0)"
        return f"CASE WHEN json_valid({column}) THEN {found} ELSE 0 END"
    return f"greatest(coalesce(CAST(CAST({column} AS jsonb) ->> '{name}' AS numeric), 0), 0)"


def next_number(connection: Connection, table: str, column: str, workspace_id: str) -> int:
    """The number behind the largest of a column; a file of SQLite counts its workspaces together."""
    query = f"SELECT coalesce(max({column}), 0) + 1 FROM {table}"
    if is_sqlite(connection):  # what somebody else put there may be no number, which is more than any, or the last one
        return int(connection.execute(f"{query} WHERE {column} < {HIGHEST}").fetchone()[0])
    return int(connection.execute(f"{query} WHERE workspace_id = ?", (workspace_id,)).fetchone()[0])


def whole(connection: Connection, workspace_id: str) -> tuple[str, tuple[str, ...]]:
    """What follows a table's name where all of it is meant, and its values: a file of SQLite numbers the rows of its
    workspaces together, a server those of each for itself."""
    return ("", ()) if is_sqlite(connection) else (" WHERE workspace_id = ?", (workspace_id,))


def beside_number(connection: Connection) -> str:
    """The column of the workspace beside a condition on numbers: SQLite finds rows by these, whatever else is asked."""
    return "+workspace_id" if is_sqlite(connection) else "workspace_id"


def most(connection: Connection, limit: int) -> int | None:
    """What stands behind LIMIT for so many rows, less than 0: all of them."""
    return limit if limit >= 0 or is_sqlite(connection) else None


def size(connection: Connection, column: str, *, is_blob: bool = False) -> str:
    """The bytes of a column's value, 0 where there is none."""
    if is_sqlite(connection):
        return f"coalesce(length(CAST({column} AS BLOB)), 0)"
    return f"coalesce(octet_length({column if is_blob else f'CAST({column} AS text)'}), 0)"


def each(connection: Connection, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
    """The rows of an answer, however many: no more than some are held at a time."""
    if is_sqlite(connection):
        yield from connection.execute(query, parameters)
    else:
        reading: Any = connection
        yield from reading.each(query, parameters)


def globbed(connection: Connection, column: str, patterns: Sequence[str]) -> tuple[str, list[str]]:
    """The condition that a text is like one of these patterns (`*` and `?`, in small letters), or is not ASCII, and its
    values."""
    if is_sqlite(connection):
        likes = " OR ".join([f"lower({column}) GLOB ?"] * len(patterns))
        return f"({likes} OR {column} GLOB '*[^ -~]*')", [*patterns]
    likes = " OR ".join([f"lower({column}) ~ ?"] * len(patterns))
    return f"({likes} OR {column} ~ '[^ -~]')", [_as_regex(pattern) for pattern in patterns]


def _as_regex(pattern: str) -> str:
    """A GLOB without brackets as an expression of PostgreSQL."""
    return f"^{re.escape(pattern)}$".replace(r"\*", ".*").replace(r"\?", ".")


def schema_version(connection: Connection) -> int:
    """The number of the schema of a database, 0 where there is none."""
    asked = "PRAGMA user_version" if is_sqlite(connection) else "SELECT version FROM nanomem_schema"
    return int(connection.execute(asked).fetchone()[0])


def server_version(connection: Connection) -> str | None:
    """The release of the server, None for a file."""
    return None if is_sqlite(connection) else str(connection.execute("SHOW server_version").fetchone()[0]).split()[0]


def blob_of(
    connection: Connection, table: str, column: str, workspace_id: str, seq: int
) -> AbstractContextManager[Blob]:
    """The text in a column of the row at a place in the order, which is not read whole."""
    if isinstance(connection, sqlite3.Connection):
        return connection.blobopen(table, column, seq, readonly=True)
    return nullcontext(_ServerBlob(connection, table, column, workspace_id, seq))


class _ServerBlob:
    def __init__(self, connection: Connection, table: str, column: str, workspace_id: str, seq: int) -> None:
        self._connection = connection
        self._bytes = f"convert_to({column}, 'UTF8')"
        self._of = f"FROM {table} WHERE workspace_id = ? AND seq = ?"
        self._row = workspace_id, seq
        self._size = int(connection.execute(f"SELECT octet_length({column}) {self._of}", self._row).fetchone()[0])
        self._at = 0

    def __len__(self) -> int:
        return self._size

    def seek(self, offset: int, /) -> None:
        self._at = offset

    def read(self, length: int = -1, /) -> bytes:
        size = self._size - self._at if length < 0 else min(length, self._size - self._at)
        if size <= 0:
            return b""
        query = f"SELECT substring({self._bytes} FROM CAST(? AS integer) FOR CAST(? AS integer)) {self._of}"
        found = self._connection.execute(query, (self._at + 1, size, *self._row)).fetchone()[0]
        self._at += size
        return bytes(found)
