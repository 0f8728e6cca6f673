"""The records of a kind as a long list shows them: any stretch of it in the order of time, however far down it is.

Owns these statements. What lies before a stretch is counted in an index and not read, and of each field the beginning
alone: the whole record is `tier_rows.get`. Both tiers are one list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import Field, Kind, Tier
from nanomem_tui.store.tier_tables import quoted
from nanomem_tui.store.tier_values import TierRecord

SHOWN = 240
"""Characters of a field that are read."""
_OURS = ("origin", "stored_at", "changed_at")


class Among(NamedTuple):
    """What a field has to hold: a text like one of `patterns` (GLOB, in small letters), or a number from `low` to
    `high`. Texts that are not ASCII pass: who asks looks at them again."""

    field: str
    patterns: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def condition(self, connection: Connection) -> tuple[str, list[Any]]:
        """The same as SQL."""
        name = quoted(self.field)
        if self.patterns:
            return sql.globbed(connection, name, self.patterns)
        bounds = [(sign, bound) for sign, bound in ((">=", self.low), ("<=", self.high)) if bound is not None]
        return " AND ".join(f"{name} {sign} ?" for sign, _ in bounds) or "1 = 1", [bound for _, bound in bounds]


class Stretch(NamedTuple):
    """Which records of a kind: of one tier or of both, of times from `since` on and up to `until` (UTC ISO, both
    included), whose fields hold what is asked for; the newest first unless `oldest_first`."""

    kind: Kind
    tier: Tier | None = None
    since: str = ""
    until: str = ""
    oldest_first: bool = False
    among: tuple[Among, ...] = ()

    @property
    def tables(self) -> list[str]:
        """The tables that it is read from."""
        return [table for name, table in self.kind.tables.items() if self.tier in (None, name)]


def page(connection: Connection, workspace_id: str, wanted: Stretch, limit: int, offset: int = 0) -> list[TierRecord]:
    """So many records from a place on, with the beginnings of their fields; what is kept compressed is left out."""
    way = "ASC" if wanted.oldest_first else "DESC"
    parts: list[str] = []
    values: list[Any] = []
    for place, table in enumerate(wanted.tables):
        condition, given = _condition(connection, workspace_id, wanted)
        parts.append(f"SELECT {place} AS place, number, at FROM {table} WHERE {condition}")
        values += given
    query = f"{' UNION ALL '.join(parts)} ORDER BY at {way}, number {way} LIMIT ? OFFSET ?"
    rows = connection.execute(query, (*values, sql.most(connection, limit), offset))
    order = [(place, number) for place, number, _ in rows]
    found: dict[tuple[int, int], TierRecord] = {}
    for place, table in enumerate(wanted.tables):
        numbers = [number for where, number in order if where == place]
        for number, record in _beginnings(connection, workspace_id, wanted.kind, table, numbers):
            found[place, number] = record
    return [found[key] for key in order if key in found]


def count(connection: Connection, workspace_id: str, wanted: Stretch) -> int:
    """How many records that are."""
    total = 0
    for table in wanted.tables:
        condition, values = _condition(connection, workspace_id, wanted)
        total += connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}", values).fetchone()[0]
    return total


def place_of(connection: Connection, workspace_id: str, wanted: Stretch, record_id: str) -> int | None:
    """How many records come before that one; None when it is not among them."""
    sign = "<" if wanted.oldest_first else ">"
    for table in wanted.tables:
        query = f"SELECT at, number FROM {table} WHERE workspace_id = ? AND id = ?"
        row = connection.execute(query, (workspace_id, record_id)).fetchone()
        if row is not None:
            break
    else:
        return None
    before = 0
    for table in wanted.tables:
        condition, values = _condition(connection, workspace_id, wanted)
        query = f"SELECT count(*) FROM {table} WHERE {condition} AND (at, number) {sign} (?, ?)"
        before += connection.execute(query, (*values, *row)).fetchone()[0]
    return before


def _condition(connection: Connection, workspace_id: str, wanted: Stretch) -> tuple[str, list[Any]]:
    parts: list[str] = ["workspace_id = ?"]
    values: list[Any] = [workspace_id]
    for sign, moment in ((">=", wanted.since), ("<=", wanted.until)):
        if moment:
            parts.append(f"at {sign} ?")
            values.append(moment)
    for among in wanted.among:
        condition, given = among.condition(connection)
        parts.append(condition)
        values += given
    return " AND ".join(parts), values


def _beginnings(
    connection: Connection, workspace_id: str, kind: Kind, table: str, numbers: Sequence[int]
) -> list[tuple[int, TierRecord]]:
    if not numbers:
        return []
    columns = ", ".join((*map(_column, kind.fields), *_OURS))
    marks = ", ".join("?" * len(numbers))
    tier: Tier = kind.tier if table == kind.table else "longterm"
    own = sql.beside_number(connection)
    query = f"SELECT number, id, {columns} FROM {table} WHERE number IN ({marks}) AND {own} = ?"
    found = []
    for number, record_id, *row in connection.execute(query, (*numbers, workspace_id)):
        fields = dict(zip((field.name for field in kind.fields), map(_read, kind.fields, row), strict=False))
        found.append((number, TierRecord(kind.name, record_id, fields, tier, *row[len(kind.fields) :])))
    return found


def _column(field: Field) -> str:
    name = quoted(field.name)
    return f"substr({name}, 1, {SHOWN})" if field.type in ("text", "json") else name


def _read(field: Field, value: Any) -> Any:
    return bool(value) if field.type == "bool" and value is not None else value
