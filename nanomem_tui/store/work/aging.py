"""What of working memory is due to leave it, one batch of that at a time and the way back, and the runs of it.

Owns the tables `lifecycle_runs` and `lifecycle_batches`. Every function works inside the transaction of its caller.
Must not know how old anything may get, nor when anybody looks.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, case, delete, exists, func, insert, select, update

from nanomem_tui.core import files
from nanomem_tui.store.work import models
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.kinds import ENDED, KINDS, Kind
from nanomem_tui.store.work.models import TABLES
from nanomem_tui.store.work.values import TierRecord

What = Literal["moved", "averaged", "deleted"]
State = Literal["open", "done", "undoing", "undone", "redoing", "final"]
"""open: begun, and not in the log yet; final: what it takes to undo it is no longer kept."""
Place = tuple[str, int]
"""Time and number of a row: how far a kind was looked through."""
START: Place = ("", 0)
_RUNS = models.table(models.RunRow)
_BATCHES = models.table(models.BatchRow)
_FEW = 10
"""Batches of a run that are read at once."""
_HOUR = KINDS["metric-hour"]


class Due(NamedTuple):
    """Rows of a kind that are due when they are from `before` (UTC ISO), or older, and what is to become of them."""

    kind: Kind
    what: What
    before: str


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
    kept: Mapping[str, Any]


class Run(NamedTuple):
    """A run: when it began (UTC ISO), and how far it is."""

    id: str
    began_at: str
    state: State


# -- what is due ------------------------------------------------------------------------------------------------------


def count(connection: Connection, due: Due) -> Counted:
    """Return how much is due. Reads every row that is old enough."""
    leaves, at = _leaves(due.kind), TABLES[due.kind.name].c.at
    rows = func.coalesce(func.sum(case((leaves, 1), else_=0)), 0)
    asked = select(func.count(), rows, func.min(case((leaves, at)))).where(*_is_old(due))
    every, leaving, oldest = connection.execute(asked).one()
    return Counted(int(leaving), oldest or "", every - int(leaving))


def following(connection: Connection, due: Due, after: Place, most: int) -> list[Place]:
    """Return the next rows that are due, oldest first, behind a place."""
    table, (at, number) = TABLES[due.kind.name].c, after
    behind = (table.at > at) | ((table.at == at) & (table.number > number))
    asked = select(table.at, table.number).where(table.at >= at, behind, *_is_old(due), _leaves(due.kind))
    return [(one, two) for one, two in connection.execute(asked.order_by(table.at, table.number).limit(most))]


def _leaves(kind: Kind) -> ColumnElement[bool]:
    """Which rows of a kind leave when they are old enough: a goal that has ended, a task that has or whose goal has
    (and none of a goal that has not), a decision that is not important. Of the other kinds all do."""
    columns = TABLES[kind.name].c
    if kind.name == "goal":
        return func.lower(columns.status).in_(sorted(ENDED))
    if kind.name == "task":
        goals = TABLES["goal"].c
        its_goal = exists().where(goals.id == columns.goal_id)
        has_ended = func.lower(columns.status).in_(sorted(ENDED))
        return (has_ended | its_goal) & ~its_goal.where(func.lower(goals.status).not_in(sorted(ENDED)))
    if kind.name == "decision":
        return (columns.important == 0) & (func.lower(func.coalesce(columns.intelligence_level, "")) != "strategic")
    return columns.number == columns.number


def _is_old(due: Due) -> tuple[ColumnElement[bool], ...]:
    """Which rows are old enough: a goal and a task from their end (a task that was never ended from the end of its
    goal), or where none is recorded from their own time, as all others. No row ends before its own time."""
    columns = TABLES[due.kind.name].c
    ended: list[ColumnElement[Any]] = []
    if due.kind.name in ("goal", "task"):
        ended.append(columns.completed_at)
    if due.kind.name == "task":
        goals = TABLES["goal"].c
        ended.append(select(goals.completed_at).where(goals.id == columns.goal_id).scalar_subquery())
    old = func.coalesce(*ended, columns.at) <= due.before if ended else columns.at <= due.before
    return columns.tier == due.kind.tier, columns.at <= due.before, old


def last_stored(connection: Connection) -> str:
    """Return when a record came last (UTC ISO), by the last row of each kind; empty where there is none. Averages of
    hours are made by a run, and say nothing."""
    tables = [TABLES[name].c for name in KINDS if name != _HOUR.name]
    newest = (select(columns.stored_at).order_by(columns.number.desc()).limit(1) for columns in tables)
    return max((connection.execute(one).scalar() or "" for one in newest), default="")


# -- a batch, and back ------------------------------------------------------------------------------------------------


def carry_out(connection: Connection, due: Due, places: Sequence[Place], now: str) -> Batch | None:
    """Do to these rows what is due, as far as it still is; `now`: the time, UTC ISO. None: to none of them."""
    table = TABLES[due.kind.name].c
    still = (table.number.in_([number for _, number in places]), *_is_old(due), _leaves(due.kind))
    numbers = list(connection.execute(select(table.number).where(*still)).scalars())
    if not numbers:
        return None
    if due.what == "moved":
        moved = work_records.move(connection, due.kind, numbers, "longterm")
        return Batch(due.kind.name, due.what, len(moved), {"numbers": moved})
    records = sorted(work_records.by_numbers(connection, due.kind, numbers).values(), key=lambda record: record.at)
    hours = _averaged(connection, records, now) if due.what == "averaged" else []
    work_records.remove(connection, due.kind, [record.id for record in records])
    return Batch(due.kind.name, due.what, len(records), {"rows": [*map(_plain, records)], "hours": hours})


def take_back(connection: Connection, batch: Batch) -> None:
    """Undo a batch; what somebody deleted, or brought back, since stays so. The newest batch is taken back first."""
    kind = KINDS[batch.kind]
    if batch.what == "moved":
        work_records.move(connection, kind, batch.kept["numbers"], kind.tier)
        return
    for record_id, before, _ in reversed(batch.kept["hours"]):
        if before is None:
            work_records.remove(connection, _HOUR, [record_id])
        else:
            work_records.put(connection, [_record(_HOUR, before)])
    work_records.put_new(connection, (_record(kind, row) for row in batch.kept["rows"]))


def moved_on(connection: Connection, run: str) -> str:
    """Return an hour whose average is no longer as a run left it, as a person names it; empty: there is none."""
    seen: set[str] = set()
    for _, batch in newest_first(connection, run):
        if batch.kind == _HOUR.name:  # deleted by the same run: it comes back first
            seen |= {row[0] for row in batch.kept["rows"]}
        for record_id, _, after in reversed(batch.kept.get("hours", ())):
            if record_id not in seen:
                seen.add(record_id)
                found = work_records.get(connection, _HOUR, record_id)
                left = _record(_HOUR, after)
                if found is None or dict(found.fields) != dict(left.fields):
                    return f"{left.fields['name']} at {left.fields['hour']}"
    return ""


def hour_id(name: str, unit: str | None, hour: str) -> str:
    """Return the id of an hour's average: the same whoever averages it."""
    digest = hashlib.blake2b(json.dumps([name, unit]).encode("utf-8", "surrogatepass"), digest_size=8)
    return f"hour_{digest.hexdigest()}_{hour[:13]}"


def _averaged(
    connection: Connection, metrics: Sequence[TierRecord], now: str
) -> list[tuple[str, list[Any] | None, list[Any]]]:
    """Add metrics to the averages of their hours: of each the id, what it was before, and what it is."""
    groups: dict[tuple[str, str | None, str], list[float]] = {}
    for record in metrics:
        hour = f"{record.at[:13]}:00:00+00:00"
        groups.setdefault((record.fields["name"], record.fields["unit"], hour), []).append(record.fields["value"])
    done = []
    for (name, unit, hour), values in groups.items():
        record_id = hour_id(name, unit, hour)
        before = work_records.get(connection, _HOUR, record_id)
        none: dict[str, Any] = {"count": 0, "mean": 0.0, "least": math.inf, "most": -math.inf}
        was = before.fields if before is not None else none
        fields = {
            "name": name, "hour": hour, "count": was["count"] + len(values),
            "mean": _mean(values, was["mean"], was["count"]),
            "least": min(was["least"], *values), "most": max(was["most"], *values), "unit": unit,
        }  # fmt: skip
        stored_at = before.stored_at if before is not None else now
        after = TierRecord(_HOUR.name, record_id, fields, _HOUR.tier, "lifecycle", stored_at, now)
        work_records.put(connection, [after])
        done.append((record_id, None if before is None else _plain(before), _plain(after)))
    return done


def _mean(values: Sequence[float], mean: float, number: int) -> float:
    """The mean of values and of as many more as `number` says, whose mean is known."""
    every = len(values) + number
    try:
        total = math.fsum([*values, mean * number])
    except OverflowError:
        total = math.inf
    if math.isfinite(total):
        return total / every
    return math.fsum([*(value / every for value in values), mean * (number / every)])


def _plain(record: TierRecord) -> list[Any]:
    fields = [record.fields.get(field.name) for field in KINDS[record.kind].fields]
    return [record.id, *fields, record.origin, record.stored_at, record.changed_at]


def _record(kind: Kind, row: Sequence[Any]) -> TierRecord:
    record_id, *values, origin, stored_at, changed_at = row
    fields = {field.name: value for field, value in zip(kind.fields, values, strict=True)}
    return TierRecord(kind.name, record_id, fields, kind.tier, origin, stored_at, changed_at)


# -- runs -------------------------------------------------------------------------------------------------------------


def run_of(connection: Connection, run: str) -> Run | None:
    """Return the run of that id."""
    row = connection.execute(select(_RUNS).where(_RUNS.c.id == run)).first()
    return Run(*row) if row is not None else None


def half_done(connection: Connection) -> list[Run]:
    """List the runs of which something was begun and not ended, newest first."""
    begun = _RUNS.c.state.in_(("open", "undoing", "redoing"))
    return [Run(*row) for row in connection.execute(select(_RUNS).where(begun).order_by(_RUNS.c.began_at.desc()))]


def keep_run(connection: Connection, run: Run) -> None:
    """Write the state of a run."""
    connection.execute(delete(_RUNS).where(_RUNS.c.id == run.id))
    connection.execute(insert(_RUNS).values(run._asdict()))


def add_batch(connection: Connection, run: str, batch: Batch) -> None:
    """Keep what a batch did."""
    kept = json.dumps(batch.kept, separators=(",", ":"))
    connection.execute(
        insert(_BATCHES).values(run=run, kind=batch.kind, what=batch.what, rows=batch.rows, kept_json=kept)
    )


def newest_first(connection: Connection, run: str) -> Iterator[tuple[int, Batch]]:
    """Yield the batches of a run, each with its number; a few are read at a time, as one may be large."""
    asked = select(_BATCHES).where(_BATCHES.c.run == run).order_by(_BATCHES.c.seq.desc()).limit(_FEW)
    found = connection.execute(asked).all()
    while found:
        for row in found:
            yield row.seq, Batch(row.kind, row.what, row.rows, files.loads(row.kept_json))
        found = connection.execute(asked.where(_BATCHES.c.seq < found[-1].seq)).all()


def every_batch(connection: Connection) -> list[tuple[int, str, dict[str, Any]]]:
    """List what is kept of each batch: its number, its run, and what it takes to take it back."""
    found = connection.execute(select(_BATCHES.c.seq, _BATCHES.c.run, _BATCHES.c.kept_json))
    return [(seq, run, files.loads(kept)) for seq, run, kept in found]


def drop_batch(connection: Connection, seq: int) -> None:
    """Forget a batch that was taken back."""
    connection.execute(delete(_BATCHES).where(_BATCHES.c.seq == seq))


def counts(connection: Connection, run: str) -> dict[tuple[str, What], int]:
    """Return how many rows the batches of a run dealt with, by kind and what was done."""
    rows = func.sum(_BATCHES.c.rows)
    asked = select(_BATCHES.c.kind, _BATCHES.c.what, rows).where(_BATCHES.c.run == run)
    asked = asked.group_by(_BATCHES.c.kind, _BATCHES.c.what).order_by(func.min(_BATCHES.c.seq))
    return {(kind, what): int(number) for kind, what, number in connection.execute(asked)}


def let_go(connection: Connection, before: str, most: int) -> int:
    """Forget the batches of runs that began before a time (UTC ISO), at most `most` of them; return how many there
    were."""
    old = _RUNS.c.began_at < before, _RUNS.c.state.in_(("done", "final"))
    some = select(_BATCHES.c.seq).where(_BATCHES.c.run.in_(select(_RUNS.c.id).where(*old))).limit(most)
    gone = connection.execute(delete(_BATCHES).where(_BATCHES.c.seq.in_(some))).rowcount
    connection.execute(update(_RUNS).where(*old).values(state="final"))
    return gone
