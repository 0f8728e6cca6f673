"""What of a tier is due to leave it, and one batch of that at a time: moved, averaged or deleted, and the way back.

Owns the statements, and what a batch keeps so that it can be taken back. Every function works within the transaction of
its caller. Must not know how old anything may get, nor when anybody looks.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from nanomem_tui.store import sql, tier_rows
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import ENDED, KINDS, Kind, Tier
from nanomem_tui.store.tier_tables import columns, is_whole, quoted, record_of
from nanomem_tui.store.tier_values import TierRecord

What = Literal["moved", "averaged", "deleted"]
Place = tuple[str, int]
"""Time and number of a row: how far a table was looked through."""
START: Place = ("", 0)
_IN_ENDED = f"({', '.join(map(repr, sorted(ENDED)))})"
_ITS_GOAL = "WHERE g.workspace_id = t.workspace_id AND g.id = t.goal_id"
_LEAVES: Mapping[str, str] = {
    "goal": f"lower(t.status) IN {_IN_ENDED}",
    "task": (
        f"(lower(t.status) IN {_IN_ENDED} OR EXISTS (SELECT 1 FROM goals g {_ITS_GOAL})"
        f" OR EXISTS (SELECT 1 FROM archived_goals g {_ITS_GOAL}))"
        f" AND NOT EXISTS (SELECT 1 FROM goals g {_ITS_GOAL} AND lower(g.status) NOT IN {_IN_ENDED})"
    ),
    "decision": "t.important = 0 AND lower(coalesce(t.intelligence_level, '')) <> 'strategic'",
}
"""Which rows of a kind leave when they are old enough: a goal that has ended, a task that has or whose goal has (and
none of a goal that has not), a decision that is not important. Of the other kinds all do."""
_GOAL_ENDED = (
    f"(SELECT max(g.completed_at) FROM goals g {_ITS_GOAL})",
    f"(SELECT max(g.completed_at) FROM archived_goals g {_ITS_GOAL})",
)
_ENDED_AT: Mapping[str, str] = {
    "goal": "coalesce(t.completed_at, t.at)",
    "task": f"coalesce(t.completed_at, {', '.join(_GOAL_ENDED)}, t.at)",
}
"""From when a row of a kind is old: a goal and a task from their end (a task that was never ended from the end of its
goal), or where none is recorded from its own time, as all others."""
_PART = 500
"""Values that one statement names."""


class Due(NamedTuple):
    """Rows of a kind that are due when they are from `before` (UTC ISO), or older, and what is to become of them."""

    kind: Kind
    what: What
    before: str

    @property
    def table(self) -> str:
        """Where these rows lie: the first tier of their kind."""
        return self.kind.table


class Counted(NamedTuple):
    """How many rows are due, when the oldest was (UTC ISO, empty for none), and how many stay although they are as
    old."""

    rows: int
    oldest: str
    stay: int


class Batch(NamedTuple):
    """What was done at once: how many rows, and what it takes to take that back."""

    kind: str
    what: What
    rows: int
    packed: bytes


def count(connection: Connection, workspace_id: str, due: Due) -> Counted:
    """How much is due. Reads every row that is old enough."""
    old = f"FROM {due.table} t WHERE t.workspace_id = ? AND {_is_old(due)}"
    leaves = _LEAVES.get(due.kind.name, "1 = 1")
    sums = f"coalesce(sum(CASE WHEN {leaves} THEN 1 ELSE 0 END), 0), min(CASE WHEN {leaves} THEN t.at END)"
    query = f"SELECT count(*), {sums} {old}"
    every, rows, oldest = connection.execute(query, (workspace_id, due.before, due.before)).fetchone()
    return Counted(int(rows), oldest or "", every - int(rows))


def following(connection: Connection, workspace_id: str, due: Due, after: Place, most: int) -> list[Place]:
    """The next rows that are due, oldest first, behind a place."""
    query = (
        f"SELECT t.at, t.number FROM {due.table} t WHERE t.workspace_id = ? AND t.at >= ? AND {_is_old(due)}"
        f" AND (t.at > ? OR t.number > ?) AND {_LEAVES.get(due.kind.name, '1 = 1')} ORDER BY t.at, t.number LIMIT ?"
    )
    at, number = after
    return connection.execute(query, (workspace_id, at, due.before, due.before, at, number, most)).fetchall()


def _is_old(due: Due) -> str:
    """Whether a row is old enough, as SQL that takes `due.before` twice: no row ends before its own time."""
    return f"t.at <= ? AND {_ENDED_AT.get(due.kind.name, 't.at')} <= ?"


def carry_out(connection: Connection, workspace_id: str, due: Due, places: Sequence[Place], now: str) -> Batch | None:
    """Do to these rows what is due, as far as it still is; `now`: the time, UTC ISO. None: to none of them."""
    numbers = _still(connection, workspace_id, due, [number for _, number in places])
    if due.what == "moved":
        moved = tier_rows.move(connection, workspace_id, due.kind, "longterm", numbers)
        ids = [record.id for record in moved.values()]
        return _batch(due, len(moved), {"ids": ids, "numbers": [*moved]}) if moved else None
    records = _whole(connection, workspace_id, due.kind, due.table, numbers)
    if not records:
        return None
    hours = _averaged(connection, workspace_id, records, now) if due.what == "averaged" else []
    tier_rows.delete_from(connection, workspace_id, due.kind, due.kind.tier, records)
    rows = [_plain(record) for record in records]
    return _batch(due, len(records), {"rows": rows, "hours": hours})


def take_back(connection: Connection, workspace_id: str, batch: Batch) -> None:
    """Undo a batch; what somebody deleted, or brought back, since stays so. The newest batch is taken back first."""
    kind = KINDS[batch.kind]
    kept = _unpacked(batch)
    if batch.what == "moved":
        table = kind.tables["longterm"]
        had = dict(zip(kept["ids"], kept.get("numbers", ()), strict=False))  # none in what older releases kept
        there = _numbers(connection, workspace_id, table, kept["ids"])
        places = {number: had[key] for number, key in there if key in had}
        tier_rows.move(connection, workspace_id, kind, kind.tier, [number for number, _ in there], places)
        return
    hour = KINDS["metric-hour"]
    for record_id, before, _ in reversed(kept["hours"]):
        if before is None:
            tier_rows.delete(connection, workspace_id, hour, [record_id])
        else:
            tier_rows.put(connection, workspace_id, [_record(hour, hour.tier, before)])
    records = [_record(kind, kind.tier, row) for row in kept["rows"]]
    known = {key for _, key in _numbers(connection, workspace_id, kind.table, [record.id for record in records])}
    tier_rows.put(connection, workspace_id, [record for record in records if record.id not in known])


def moved_on(connection: Connection, workspace_id: str, newest_first: Iterable[Batch]) -> str:
    """An hour whose average is no longer as these batches left it, as a person names it; empty: there is none."""
    hour = KINDS["metric-hour"]
    seen: set[str] = set()
    for batch in newest_first:
        kept = _unpacked(batch)
        if batch.kind == hour.name:  # deleted by the same run: it comes back first
            seen |= {row[0] for row in kept["rows"]}
        for record_id, _, after in reversed(kept.get("hours", ())):
            if record_id not in seen:
                seen.add(record_id)
                found = tier_rows.get(connection, workspace_id, hour, record_id)
                left = _record(hour, hour.tier, after)
                if found is None or dict(found.fields) != dict(left.fields):
                    return f"{left.fields['name']} at {left.fields['hour']}"
    return ""


def between(
    connection: Connection, workspace_id: str, kind: Kind, table: str, since: str, until: str
) -> Iterator[TierRecord]:
    """The whole records of a table from `since` on and before `until` (UTC ISO), one at a time, oldest first."""
    names = ", ".join(map(quoted, columns(kind, table)))
    query = f"SELECT {names} FROM {table} WHERE workspace_id = ? AND at >= ? AND at < ? ORDER BY at, number"
    for row in sql.each(connection, query, (workspace_id, since, until)):
        if is_whole(row):
            yield record_of(kind, table, row)


def damaged(
    connection: Connection, workspace_id: str, kind: Kind, table: str, enough: Callable[[], bool]
) -> Iterator[str]:
    """The ids of the rows of a table that are not as they were written, newest first, until `enough` says so."""
    names = ", ".join(map(quoted, columns(kind, table)))
    every, own = sql.whole(connection, workspace_id)
    query = f"SELECT {names} FROM {table}{every} ORDER BY number DESC"
    for number, row in enumerate(sql.each(connection, query, own)):
        if not is_whole(row):
            yield str(row[1])
        if number % 100 == 0 and enough():
            return


def last_stored(connection: Connection, workspace_id: str) -> str:
    """When a record came last (UTC ISO), by the last row of each table; empty where there is none. Averages of hours
    are made by a run, and say nothing."""
    found = []
    every, own = sql.whole(connection, workspace_id)
    for kind in (kind for kind in KINDS.values() if kind.name != "metric-hour"):
        query = f"SELECT stored_at FROM {kind.table}{every} ORDER BY number DESC LIMIT 1"
        found += [stored_at for (stored_at,) in connection.execute(query, own)]
    return max(found, default="")


def hour_id(name: str, unit: str | None, hour: str) -> str:
    """The id of an hour's average: the same whoever averages it."""
    digest = hashlib.blake2b(json.dumps([name, unit]).encode("utf-8", "surrogatepass"), digest_size=8)
    return f"hour_{digest.hexdigest()}_{hour[:13]}"


def _averaged(
    connection: Connection, workspace_id: str, metrics: Sequence[TierRecord], now: str
) -> list[tuple[str, list[Any] | None, list[Any]]]:
    """Add metrics to the averages of their hours: of each the id, what it was before, and what it is."""
    kind = KINDS["metric-hour"]
    groups: dict[tuple[str, str | None, str], list[float]] = {}
    for record in metrics:
        hour = f"{record.at[:13]}:00:00+00:00"
        groups.setdefault((record.fields["name"], record.fields["unit"], hour), []).append(record.fields["value"])
    done = []
    for (name, unit, hour), values in groups.items():
        record_id = hour_id(name, unit, hour)
        before = tier_rows.get(connection, workspace_id, kind, record_id)
        none: dict[str, Any] = {"count": 0, "mean": 0.0, "least": math.inf, "most": -math.inf}
        was = before.fields if before is not None else none
        number = was["count"] + len(values)
        fields = {
            "name": name,
            "hour": hour,
            "count": number,
            "mean": _mean(values, was["mean"], was["count"]),
            "least": min(was["least"], *values),
            "most": max(was["most"], *values),
            "unit": unit,
        }
        stored_at = before.stored_at if before is not None else now
        after = TierRecord(kind.name, record_id, fields, kind.tier, "lifecycle", stored_at, now)
        tier_rows.put(connection, workspace_id, [after])
        done.append((record_id, None if before is None else _plain(before), _plain(after)))
    return done


def _mean(values: Sequence[float], mean: float, count: int) -> float:
    """The mean of values and of as many more as `count` says, whose mean is known."""
    number = len(values) + count
    try:
        total = math.fsum([*values, mean * count])
    except OverflowError:
        total = math.inf
    if math.isfinite(total):
        return total / number
    return math.fsum([*(value / number for value in values), mean * (count / number)])


def _still(connection: Connection, workspace_id: str, due: Due, numbers: Sequence[int]) -> list[int]:
    """Those of the rows that are still there, and still due: somebody may have changed them since they were found."""
    found: set[int] = set()
    for part in _parts(numbers):
        query = (
            f"SELECT t.number FROM {due.table} t WHERE t.number IN ({', '.join('?' * len(part))})"
            f" AND t.workspace_id = ? AND {_is_old(due)} AND {_LEAVES.get(due.kind.name, '1 = 1')}"
        )
        found |= {number for (number,) in connection.execute(query, (*part, workspace_id, due.before, due.before))}
    return [number for number in numbers if number in found]


def _whole(
    connection: Connection, workspace_id: str, kind: Kind, table: str, numbers: Sequence[int]
) -> list[TierRecord]:
    """The records of these rows; a damaged one stays where it is, and is told by the doctor."""
    names = ", ".join(map(quoted, columns(kind, table)))
    own = sql.beside_number(connection)
    found = []
    for part in _parts(numbers):
        fits = f"number IN ({', '.join('?' * len(part))}) AND {own} = ?"
        query = f"SELECT {names} FROM {table} WHERE {fits} ORDER BY at, number"
        rows = connection.execute(query, (*part, workspace_id))
        found += [record_of(kind, table, row) for row in rows if is_whole(row)]
    return found


def _numbers(connection: Connection, workspace_id: str, table: str, ids: Sequence[str]) -> list[tuple[int, str]]:
    """Number and id of the rows of these ids that there are, in their order."""
    found: dict[str, int] = {}
    for part in _parts(ids):
        query = f"SELECT id, number FROM {table} WHERE workspace_id = ? AND id IN ({', '.join('?' * len(part))})"
        found |= dict(connection.execute(query, (workspace_id, *part)).fetchall())
    return [(found[key], key) for key in ids if key in found]


def _parts(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[start : start + _PART] for start in range(0, len(values), _PART))


def _batch(due: Due, rows: int, kept: Mapping[str, Any]) -> Batch:
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return Batch(due.kind.name, due.what, rows, zlib.compress(text.encode("utf-8", "surrogatepass"), 6))


def _unpacked(batch: Batch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(batch.packed).decode("utf-8", "surrogatepass"))
    return found


def _plain(record: TierRecord) -> list[Any]:
    fields = [record.fields.get(field.name) for field in KINDS[record.kind].fields]
    return [record.id, *fields, record.origin, record.stored_at, record.changed_at]


def _record(kind: Kind, tier: Tier, row: Sequence[Any]) -> TierRecord:
    record_id, *values, origin, stored_at, changed_at = row
    fields = {field.name: value for field, value in zip(kind.fields, values, strict=True)}
    return TierRecord(kind.name, record_id, fields, tier, origin, stored_at, changed_at)
