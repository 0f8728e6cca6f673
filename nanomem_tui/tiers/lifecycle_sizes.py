"""How large each tier is, how fast it grows, and when it reaches the size that a person set.

Owns these estimates: the bytes of the file are shared out by how many rows a table has and how long the newest of them
are. Reads counts from indexes, and a few hundred rows; nothing is ever deleted because of a size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.store.work import records
from nanomem_tui.store.work.kinds import KINDS, TIERS, Tier

if TYPE_CHECKING:
    from sqlalchemy import Connection

GROWTH_DAYS = 28
"""Days of which the growth is taken."""
HORIZON_DAYS = 3650
"""Days that are looked ahead."""
GB = 1_000_000_000
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
    kept_days: Mapping[str, int],
    caps_gb: Mapping[str, float],
    now: datetime,
) -> Sizes:
    """How large everything is. `kept_days`: days after which a kind leaves its first tier, where it does."""
    room = records.room(connection)
    since = clock.iso(now - GROWTH_DAYS * DAY)
    found = [Table(kind.name, *numbers) for kind, numbers in records.tables_of(connection, since)]
    others = records.bytes_beside(connection)
    reckoned = sum(table.rows * table.row_bytes for table in found) + others
    share = min((room[0] - room[1]) / reckoned, MOST) if reckoned and room is not None else 1.0
    tables = tuple(table._replace(row_bytes=table.row_bytes * share) for table in found)
    forecasts = tuple(_forecast(tier, tables, kept_days, caps_gb.get(tier, 0.0), now) for tier in TIERS)
    return Sizes(room[0] if room is not None else int(reckoned), tables, forecasts)


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


def _forecast(
    tier: Tier, tables: tuple[Table, ...], kept_days: Mapping[str, int], cap_gb: float, now: datetime
) -> Forecast:
    own = {(table.kind, table.tier): table for table in tables}
    kinds = [kind for kind in KINDS.values() if tier in kind.tiers]
    rates = {kind.name: sum(own[kind.name, one].recent for one in kind.tiers) / GROWTH_DAYS for kind in kinds}

    def at(day: int) -> float:
        """The bytes so many days from now, if as much comes a day as in the last weeks, and what is there now leaves
        evenly within the days that its kind is kept; averages of hours are few, and no part of it."""
        total = 0.0
        for kind in kinds:
            first, kept, rate = own[kind.name, kind.tier], kept_days.get(kind.name, 0), rates[kind.name]
            left = first.rows * min(1.0, day / kept) if kept else 0.0
            if tier == kind.tier:
                rows = first.rows - left + rate * (min(day, kept) if kept else day)
            else:
                rows = own[kind.name, tier].rows + left + rate * max(0, day - kept)
            total += rows * own[kind.name, tier].row_bytes
        return total

    cap = int(cap_gb * GB)
    now_bytes = at(0)
    arrives = sum(rates[kind.name] for kind in kinds if kind.tier == tier)
    days = next((day for day in range(HORIZON_DAYS + 1) if at(day) >= cap), None) if cap else None
    reached = clock.iso(now + days * DAY)[:10] if days is not None else ""
    return Forecast(tier, int(now_bytes), cap, round(arrives, 1), round(at(1) - now_bytes, 1), reached, days)


def to_json(sizes: Sizes | None) -> dict[str, Any]:
    """The sizes as the command line prints them."""
    if sizes is None:
        return {"file_bytes": 0, "forecast": []}
    return {"file_bytes": sizes.file_bytes, "forecast": [one._asdict() for one in sizes.forecasts]}
