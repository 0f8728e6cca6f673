"""Reading tables of databases that somebody else made: a damaged page, a wrong type or a bad byte costs its row.

The file is opened without a trace (`formats.foreign_databases`). Knows tables and columns, not what they mean.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nanomem_tui.errors import Problem
from nanomem_tui.formats import foreign_databases

MAX_CELL = 1_000_001
"""Characters of a cell that are read: one more than any text may have."""


class Table:
    """The rows of one table that can be read, as dictionaries of the asked columns that it has; `problems` says what
    could not be."""

    def __init__(self, path: Path, table: str, wanted: Sequence[str], where: str) -> None:
        self.problems: list[Problem] = []
        self.tables: frozenset[str] = frozenset()
        self.rows: list[tuple[int, dict[str, Any]]] = []
        with foreign_databases.open_read_only(path) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.text_factory = _tolerant
            named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            self.tables = frozenset(str(name) for (name,) in named)
            if table in self.tables:
                self.rows = list(self._read(connection, table, wanted, where))

    def _read(
        self, connection: sqlite3.Connection, table: str, wanted: Sequence[str], where: str
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """(row number, fields). Ends with a problem at the first page that cannot be read."""
        present = {str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')}
        names = [name for name in wanted if name in present]
        if not names:
            self.problems.append(Problem(f"the table {table} has none of the columns that are known", where))
            return
        # Only a text can be long; a number stays a number. What `substr` cuts ends at the first NUL as well.
        cells = [
            f"CASE WHEN length(CAST({name} AS BLOB)) > {MAX_CELL} AND typeof({name}) IN ('text', 'blob') "
            f"THEN substr({name}, 1, {MAX_CELL}) ELSE {name} END"
            for name in names
        ]
        number = 0
        try:
            for row in connection.execute(f'SELECT {", ".join(cells)} FROM "{table}" ORDER BY rowid'):
                number += 1
                yield number, dict(zip(names, row, strict=True))
        except sqlite3.DatabaseError as error:
            what = f"the table {table} cannot be read beyond row {number} ({error})"
            self.problems.append(Problem(what, where, fix="the rows before it are read"))


def _tolerant(data: bytes) -> str:
    return data.decode("utf-8", "replace")
