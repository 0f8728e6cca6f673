"""The counters that a checkpoint leaves in the meta table, each judged as it is read: whether it is a value of its
kind, and whether the tables contradict it. What is to be believed instead is what these say.

Through the driver alone; owns the words for it. What other markers mean is known where they are used.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from nanomem_tui import clock, json_text
from nanomem_tui.store import sql
from nanomem_tui.store.row_queries import row_tables
from nanomem_tui.store.sql import Connection
from nanomem_tui.text import counted

AHEAD = 1_000
"""By how much the revision moves on where it was lost: no process that read later commits may take new ones for
known."""
FAR = 10**9
"""How far a counter may be ahead of the rows: each checkpoint without a row moves it on."""
_SHOWN = 30
_NAMES = {
    "revision": "count of checkpoints", "rows": "count of rows", "operations": "count of operations",
    "last_seq": "place of the newest operation", "last_at": "time of the last checkpoint",
    "last_ms": "length of the last checkpoint", "audit_seq": "place up to which the agent's logs are written",
}  # fmt: skip


class Wrong(NamedTuple):
    """A marker that is not to be believed: its name, its value, why, and what it becomes; None: it goes, and the next
    change makes it anew where it is needed. `more`: it counts more than there is, and some of that may be gone."""

    name: str
    found: Any
    why: str
    right: str | None = None
    more: bool = False

    def line(self) -> str:
        """In words, behind the name of the database."""
        kind = self.name.partition("@")[0]
        shown = self.found if isinstance(self.found, str) else repr(self.found)
        cut = f"{shown[:_SHOWN]}…" if len(shown) > _SHOWN else shown
        return f"its {_NAMES.get(kind, 'marker')} ({self.name}) is “{cut}”: {self.why}"


def judged(connection: Connection, workspace_id: str, found: Mapping[str, Any]) -> list[Wrong]:
    """The markers of a workspace that are not to be believed. Raises the driver's errors."""
    tables = _Tables(connection, workspace_id)
    return [one for name, value in found.items() if (one := _judge(tables, found, name, value)) is not None]


def believed(found: Mapping[str, Any], wrong: Iterable[Wrong]) -> dict[str, str]:
    """The markers with what the tables say where they are not to be believed."""
    result = dict(found)
    for one in wrong:
        if one.right is None:
            del result[one.name]
        else:
            result[one.name] = one.right
    return result


class _Tables:
    """What the tables of a database say, asked once."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self.connection, self.workspace_id = connection, workspace_id

    @cached_property
    def revision(self) -> int:
        """The highest revision of a row."""
        parts = [self._highest(table, "revision") for table in row_tables(self.connection)]
        return self._asked(" UNION ALL ".join(f"SELECT {part} AS n" for part in parts))

    @cached_property
    def seq(self) -> int:
        """The place of the newest operation."""
        return self._asked(f"SELECT {self._highest('operations', 'seq')} AS n")

    @cached_property
    def touched(self) -> int:
        """The same of those that were taken out, too, where what they touched is noted."""
        return max(self.seq, self._asked(f"SELECT {self._highest('operation_keys', 'seq')} AS n"))

    def _highest(self, table: str, column: str) -> str:  # a text is higher than any number
        return f"(SELECT coalesce(max({column}), 0) FROM {table} WHERE workspace_id = ? AND {column} < {sql.HIGHEST})"

    def _asked(self, query: str) -> int:
        values = (self.workspace_id,) * query.count("?")
        with contextlib.suppress(sqlite3.OperationalError):  # a table is not there: the doctor and all who read tell it
            return int(self.connection.execute(f"SELECT max(n) FROM ({query}) AS found", values).fetchone()[0])
        return 0

    def far(self, number: int | None, newest: Callable[[], int]) -> str:
        """Why a number is not how far something is, "" where it may be. Those of a server are not held against its
        rows: that would be one more way there for each look."""
        if number is None:
            return "no number"
        if not sql.is_sqlite(self.connection):
            return ""
        return "" if newest() <= number < newest() + FAR else f"the newest is {newest():,}"


def _judge(tables: _Tables, found: Mapping[str, Any], name: str, value: Any) -> Wrong | None:
    """`chain` is none of them: what it is worth is proven by the operations alone."""
    kind, number, why, right = name.partition("@")[0], whole(value), "", None
    if kind == "revision":
        why = tables.far(number or None, lambda: tables.revision)
        right = str(tables.revision + AHEAD) if why else None
    elif kind == "last_seq":
        why = tables.far(number, lambda: tables.seq)
        right = str(tables.touched if number is None or number > tables.seq else tables.seq) if why else None
    elif kind == "audit_seq":
        end = max(tables.seq, whole(found.get("last_seq")) or 0)
        far = number is not None and number > end and sql.is_sqlite(tables.connection)  # a server gives no place twice
        why = "no number" if number is None else f"the newest is {end:,}" if far else ""
        right = str(end)
    elif kind in ("rows", "operations"):
        why = "no number" if number is None else ""
        right = str(count(tables.connection, tables.workspace_id, kind)) if why else None
    elif not isinstance(value, str):
        why = "no text"
    elif kind == "last_at":
        why = "no time" if clock.parse(value) is None else ""
    elif kind == "last_ms":
        why = "" if value.replace(".", "", 1).isdecimal() else "no number"
    elif name.startswith("verdict:"):
        why = "" if value in ("undone", "stands") else "neither “undone” nor “stands”"
    elif name.startswith("seen:"):
        why = "" if _is_list(value) else "no list"
    return Wrong(name, value, why, right) if why else None


def whole(value: Any) -> int | None:
    """The number that a counter says; None where it says none that one of ours could have."""
    is_number = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < len(str(sql.HIGHEST))
    return int(value) if is_number else None


def count(connection: Connection, workspace_id: str, kind: str) -> int:
    """How many `rows` or `operations` there are. Raises the driver's errors."""
    tables = row_tables(connection) if kind == "rows" else ["operations"]
    query = "SELECT count(*) FROM {} WHERE workspace_id = ?"
    return sum(int(connection.execute(query.format(table), (workspace_id,)).fetchone()[0]) for table in tables)


def untrue(connection: Connection, workspace_id: str, found: Mapping[str, Any]) -> Iterator[Wrong]:
    """Counters of another number than there is, for who goes through all of it anyway. Raises the driver's errors."""
    for kind, one in (("rows", "row"), ("operations", "operation")):
        number, there = whole(found.get(kind)), count(connection, workspace_id, kind)
        if number is not None and number != there:
            why = f"there {'is' if there == 1 else 'are'} {counted(there, one)}"
            yield Wrong(kind, found[kind], why, str(there), more=number > there)


def mended(connection: Connection, workspace_id: str, found: Mapping[str, Any]) -> dict[str, str]:
    """What is to be believed, written where it is not what is there. Raises the driver's errors."""
    wrong = judged(connection, workspace_id, found)
    put_right(connection, workspace_id, wrong)
    return believed(found, wrong)


def put_right(connection: Connection, workspace_id: str, wrong: Iterable[Wrong]) -> None:
    """Write what is to be believed. Raises the driver's errors."""
    for one in wrong:
        key = f"{workspace_id}:{one.name}"
        if one.right is None:
            connection.execute("DELETE FROM memory_meta WHERE key = ?", (key,))
        else:
            connection.execute("UPDATE memory_meta SET value = ? WHERE key = ?", (one.right, key))


def _is_list(value: str) -> bool:
    try:
        return isinstance(json_text.loads(value), list)
    except ValueError:
        return False
