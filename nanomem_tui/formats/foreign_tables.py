"""Reading tables of databases that somebody else made: a damaged page, a wrong type or a bad byte costs its row.

The file is opened without a trace (`foreign_databases`). Knows tables and columns, not what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.core.errors import Problem
from nanomem_tui.formats import foreign_databases

if TYPE_CHECKING:
    import sqlite3

MAX_CELL = 1_000_001
"""Characters of a cell that are read: one more than any text may have."""

Raw = dict[str, Any]


class Tables:
    """The tables of a database that is open. `problems` says what of the tables asked so far could not be read."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        self._where = where
        self.problems: list[Problem] = []
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.names = frozenset(str(name) for (name,) in named)

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none where there is no such table."""
        return frozenset(str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")'))

    def rows(self, table: str, wanted: Sequence[str]) -> Iterator[tuple[int, Raw]]:
        """(number, fields) of each row of a table that can be read, those of the asked columns that it has.

        What lies behind a damaged page is read from the other end; what lies between two is lost, and said.
        """
        import sqlite3

        if table not in self.names:
            return
        names = [name for name in wanted if name in self.columns(table)]
        if not names:
            what = f"the table {table} has none of the columns that are known"
            self.problems.append(Problem(what, self._where))
            return
        number, last = 0, None
        try:
            for place, raw in self._read(table, names, "ASC"):
                number, last = number + 1, place
                yield number, raw
        except sqlite3.DatabaseError as error:
            beyond = self._from_the_end(table, names, last)
            what = f"the table {table} cannot be read beyond row {number} ({error})"
            rest = f", but for the last {len(beyond):,}" if beyond else ""
            self.problems.append(Problem(what + rest, self._where, fix="what can be read of it is read"))
            yield from ((number + 1 + more, raw) for more, raw in enumerate(beyond, 1))

    def _from_the_end(self, table: str, names: Sequence[str], last: Any) -> list[Raw]:
        """The rows behind the damage, in their order."""
        import sqlite3

        found: list[Raw] = []
        try:
            for place, raw in self._read(table, names, "DESC"):
                if last is not None and place <= last:
                    break
                found.append(raw)
        except sqlite3.DatabaseError:
            pass  # the other side of the damage
        return found[::-1]

    def _read(self, table: str, names: Sequence[str], order: str) -> Iterator[tuple[Any, Raw]]:
        # Only a text can be long; a number stays a number. What `substr` cuts ends at the first NUL as well.
        cells = [
            f"CASE WHEN length(CAST({name} AS BLOB)) > {MAX_CELL} AND typeof({name}) IN ('text', 'blob') "
            f"THEN substr({name}, 1, {MAX_CELL}) ELSE {name} END"
            for name in (f'"{name}"' for name in names)
        ]
        sql = f'SELECT rowid, {", ".join(cells)} FROM "{table}" ORDER BY rowid {order}'
        for place, *values in self._connection.execute(sql):
            yield place, dict(zip(names, values, strict=True))


@contextmanager
def tables(path: Path, where: str) -> Iterator[Tables]:
    """The tables of the database at `path`, as long as the context lasts. `where` is how problems name the file.

    Raises like `foreign_databases.open_read_only`.
    """
    with foreign_databases.open_read_only(path) as connection:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.text_factory = _tolerant
        yield Tables(connection, where)


def _tolerant(data: bytes) -> str:
    """A text of a foreign table: what is no UTF-8 costs a character, a lone surrogate stays, to be refused."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
