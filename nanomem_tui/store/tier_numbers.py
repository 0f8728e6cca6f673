"""The numbers of rows: who comes gets the one behind the last, which is the order of coming and the place in an index.

Owns how a row gets its number: from SQLite itself, or on a server, of each workspace for itself, from what is there
while its other writers wait. Every function works within the transaction of its caller.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS

ONCE = frozenset({table for kind in KINDS.values() if kind.embedded for table in kind.tables.values()} | {
    "record_vectors"
})  # fmt: skip
"""Tables of which no number is given twice: what has a vector, or was looked at, is known by it."""
_IN = {"record_changes": "seq", "lifecycle_batches": "seq"}
"""How the number is called where it is not `number`."""


def add(
    connection: Connection, workspace_id: str, table: str, columns: Sequence[str], row: Sequence[Any],
    number: int | None = None, tail: str = "",
) -> int:  # fmt: skip
    """Add a row, with the next number unless one is given; its number. `tail`: what follows in the statement."""
    name = _IN.get(table, "number")
    begin = f"INSERT INTO {table} ({name}, {', '.join(columns)}) VALUES"
    marks = ", ".join("?" * len(row))
    if isinstance(connection, sqlite3.Connection):
        return connection.execute(f"{begin} (?, {marks}){tail}", (number, *row)).lastrowid or 0
    if number is not None:
        connection.execute(f"{begin} (?, {marks}){tail}", (number, *row))
        return number
    following, values = _following(workspace_id, table)
    query = f"{begin} ({following}, {marks}){tail} RETURNING {name}"
    return int(connection.execute(query, (*values, *row)).fetchone()[0])


def add_many(
    connection: Connection, workspace_id: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Add rows, in their order."""
    begin = f"INSERT INTO {table} ({', '.join(columns)}"
    marks = ", ".join("?" * len(columns))
    if isinstance(connection, sqlite3.Connection):
        connection.executemany(f"{begin}) VALUES ({marks})", rows)
    elif rows:
        following, values = _following(workspace_id, table)
        first = int(connection.execute(f"SELECT {following}", values).fetchone()[0])
        numbered = [(*row, number) for number, row in enumerate(rows, first)]
        connection.executemany(f"{begin}, {_IN.get(table, 'number')}) VALUES ({marks}, ?)", numbered)
        gone(connection, workspace_id, table, first + len(rows) - 1)


def following(connection: Connection, workspace_id: str, table: str) -> int:
    """The number of the next row."""
    name = _IN.get(table, "number")
    if not isinstance(connection, sqlite3.Connection):
        query, values = _following(workspace_id, table)
        return int(connection.execute(f"SELECT {query}", values).fetchone()[0])
    last = int(connection.execute(f"SELECT coalesce(max({name}), 0) FROM {table}").fetchone()[0])
    was = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return max(last, int(was[0]) if was is not None else 0) + 1


def gone(connection: Connection, workspace_id: str, table: str, number: int) -> None:
    """Note that a row goes, so that its number stays its own; SQLite does it by itself."""
    if table in ONCE and not isinstance(connection, sqlite3.Connection):
        connection.execute(
            'INSERT INTO tier_meta (workspace_id, "key", value) VALUES (?, ?, ?) ON CONFLICT (workspace_id, "key")'
            " DO UPDATE SET value ="
            " CAST(greatest(CAST(tier_meta.value AS bigint), CAST(excluded.value AS bigint)) AS text)",
            (workspace_id, f"numbers {table}", str(number)),
        )


def _following(workspace_id: str, table: str) -> tuple[str, tuple[str, ...]]:
    """The number behind every one that is, or was, in a table, as SQL, and its values."""
    last = f"(SELECT coalesce(max({_IN.get(table, 'number')}), 0) FROM {table} WHERE workspace_id = ?)"
    if table not in ONCE:
        return f"({last} + 1)", (workspace_id,)
    was = '(SELECT CAST(value AS bigint) FROM tier_meta WHERE workspace_id = ? AND "key" = ?)'
    return f"(greatest({last}, {was}) + 1)", (workspace_id, workspace_id, f"numbers {table}")
