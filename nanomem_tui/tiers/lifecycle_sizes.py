"""How large each tier is, how fast it grows, and when it reaches the size that a person set.

Owns these estimates: the bytes of the file are shared out by how many rows a table has and how long the newest of them
are. Reads counts from indexes, and a few hundred rows; nothing is ever deleted because of a size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS, TIERS, Kind, Tier
from nanomem_tui.store.tier_tables import columns, quoted

GROWTH_DAYS = 28
"""Days of which the growth is taken."""
SAMPLED = 200
"""Rows, the newest, whose length is measured."""
HORIZON_DAYS = 3650
"""Days that are looked ahead."""
GB = 1_000_000_000
_OVERHEAD = 120
"""Bytes of a row in its indexes and its page, in proportion to its own."""
MOST = 4.0
"""Times the bytes that a row was reckoned to have: in a small file most pages belong to no row."""
DAY = timedelta(days=1)


class Table(NamedTuple):
    """A table of a kind: its rows, those that are of the last weeks, and the bytes of one, indexes included."""

    kind: str
    tier: Tier
    rows: int
    recent: int
    row_bytes: float


class Forecast(NamedTuple):
    """A tier: its bytes and its growth now, the size that was set (0: none), and when it gets there.

    `reached`: the day (ISO), empty for none within ten years; `days` until then. Estimates, all of them.
    """

    tier: Tier
    bytes: int
    cap: int
    rows_per_day: float
    bytes_per_day: float
    reached: str
    days: int | None


class Sizes(NamedTuple):
    """The bytes of the file, of each table, and what becomes of each tier."""

    file_bytes: int
    tables: tuple[Table, ...]
    forecasts: tuple[Forecast, ...]

    def rows(self) -> dict[str, dict[str, int]]:
        """How many rows of each kind there are in each tier."""
        found: dict[str, dict[str, int]] = {}
        for table in self.tables:
            found.setdefault(table.kind, {})[table.tier] = table.rows
        return found

    def row_bytes(self, kind: str) -> float:
        """Bytes of a row of a kind where it lies first."""
        return next((table.row_bytes for table in self.tables if table.kind == kind), 0.0)


def measure(
    connection: Connection,
    workspace_id: str,
    kept_days: Mapping[str, int],
    caps_gb: Mapping[str, float],
    now: datetime,
) -> Sizes:
    """How large everything is. `kept_days`: days after which a kind leaves its first tier, where it does."""
    file = _file(connection)
    since = clock.iso(now - GROWTH_DAYS * DAY)
    found = [
        _table(connection, workspace_id, kind, tier, table, since)
        for kind in KINDS.values()
        for tier, table in kind.tables.items()
    ]
    others = _others(connection, workspace_id)
    reckoned = sum(table.rows * table.row_bytes for table in found) + others
    share = min(file.used / reckoned, MOST) if reckoned and file is not None else 1.0
    tables = tuple(table._replace(row_bytes=table.row_bytes * share) for table in found)
    forecasts = tuple(_forecast(tier, tables, kept_days, caps_gb.get(tier, 0.0), now) for tier in TIERS)
    return Sizes(file.bytes if file is not None else int(reckoned), tables, forecasts)


class _File(NamedTuple):
    """The bytes of the file, and those of them that hold something."""

    bytes: int
    used: int


def _file(connection: Connection) -> _File | None:
    """None on a server: what it uses for us alone is reckoned."""
    if not sql.is_sqlite(connection):
        return None
    page, pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count")
    )
    return _File(pages * page, (pages - free) * page)


def forecast_line(one: Forecast, size: Callable[[int], str]) -> str:
    """A tier in a sentence: how large it is, how it grows, and when it gets to the size that was set. `size` writes
    bytes as they are written where the sentence stands."""
    name = {"working": "Working memory", "longterm": "Long-term memory"}[one.tier]
    grows = f"{'+' if one.bytes_per_day >= 0 else '-'}{size(int(abs(one.bytes_per_day)))} a day"
    if not one.cap:
        return f"{name}: about {size(one.bytes)}, {grows}."
    of = f"about {size(one.bytes)} of {size(one.cap)}, {grows}"
    if one.days is None:
        return f"{name}: {of}; not full within ten years."
    return f"{name}: {of}; " + (f"full about {one.reached}." if one.days else "over its size; nothing is deleted.")


def _table(connection: Connection, workspace_id: str, kind: Kind, tier: Tier, table: str, since: str) -> Table:
    where = f"FROM {table} WHERE workspace_id = ?"
    rows = connection.execute(f"SELECT count(*) {where}", (workspace_id,)).fetchone()[0]
    recent = connection.execute(f"SELECT count(*) {where} AND at >= ?", (workspace_id, since)).fetchone()[0]
    length = " + ".join(sql.size(connection, quoted(name), is_blob=name == "packed") for name in columns(kind, table))
    mean = _mean(connection, workspace_id, table, length, "number")
    return Table(kind.name, tier, rows, recent, mean + _OVERHEAD)


def _others(connection: Connection, workspace_id: str) -> float:
    """Bytes of what is no record: the knowledge base, vectors, what agents overwrote, what undoes a run."""
    total = 0.0
    every, own = sql.whole(connection, workspace_id)
    for table, number, length in (
        ("knowledge_chunks", "number", "2 * length(text)"),
        ("record_vectors", "number", sql.size(connection, "vector", is_blob=True)),
        ("record_changes", "seq", "length(before) + length(after)"),
        ("lifecycle_batches", "seq", sql.size(connection, "packed", is_blob=True)),
    ):
        rows = connection.execute(f"SELECT count(*) FROM {table}{every}", own).fetchone()[0]
        total += rows * (_mean(connection, workspace_id, table, length, number) + _OVERHEAD)
    return total


def _mean(connection: Connection, workspace_id: str, table: str, length: str, number: str) -> float:
    """The mean length of the newest rows of a table."""
    every, own = sql.whole(connection, workspace_id)
    newest = f"SELECT {length} AS bytes FROM {table}{every} ORDER BY {number} DESC LIMIT {SAMPLED}"
    return float(connection.execute(f"SELECT avg(bytes) FROM ({newest}) AS newest", own).fetchone()[0] or 0.0)


def _forecast(
    tier: Tier, tables: tuple[Table, ...], kept_days: Mapping[str, int], cap_gb: float, now: datetime
) -> Forecast:
    def at(day: int) -> float:
        return sum(_bytes_at(day, tier, kind, tables, kept_days.get(kind.name, 0)) for kind in KINDS.values())

    cap = int(cap_gb * GB)
    grown = at(1) - at(0)
    arrives = sum(_rate(table.kind, tables) for table in tables if table.tier == KINDS[table.kind].tier == tier)
    days = (
        _reached(at, sorted({0, HORIZON_DAYS, *(day for day in kept_days.values() if day < HORIZON_DAYS)}), cap)
        if cap
        else None
    )
    reached = clock.iso(now + days * DAY)[:10] if days is not None else ""
    return Forecast(tier, int(at(0)), cap, round(arrives, 1), round(grown, 1), reached, days)


def _reached(at: Callable[[int], float], days: Sequence[int], cap: int) -> int | None:
    """The first day on which there are so many bytes; between two of `days` they grow, or shrink, evenly."""
    for first, last in pairwise(days):
        begin, end = at(first), at(last)
        if begin >= cap:
            return first
        if end >= cap:
            return first + ceil((last - first) * (cap - begin) / (end - begin))
    return None


def _bytes_at(day: int, tier: Tier, kind: Kind, tables: tuple[Table, ...], kept: int) -> float:
    """The bytes that a kind has in a tier so many days from now, if as much comes a day as in the last weeks.

    What is there now leaves evenly within the days that its kind is kept; averages of hours are few, and no part of it.
    """
    own = {table.tier: table for table in tables if table.kind == kind.name}
    first = own[kind.tier]
    rate = _rate(kind.name, tables)
    left = min(1.0, day / kept) if kept else 0.0
    if tier == kind.tier:
        return (first.rows * (1 - left) + rate * (min(day, kept) if kept else day)) * first.row_bytes
    if tier not in own:
        return 0.0
    return (own[tier].rows + first.rows * left + rate * max(0, day - kept)) * own[tier].row_bytes


def _rate(kind: str, tables: tuple[Table, ...]) -> float:
    """Rows of a kind that come in a day: those of the last weeks, wherever they lie by now."""
    return sum(table.recent for table in tables if table.kind == kind) / GROWTH_DAYS


def to_json(sizes: Sizes) -> dict[str, Any]:
    """The sizes as the command line prints them."""
    return {"file_bytes": sizes.file_bytes, "forecast": [one._asdict() for one in sizes.forecasts]}
