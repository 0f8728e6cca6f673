"""What an agent records of its work, kept as it comes: goals, tasks, tool calls, decisions, patterns and the rest.

Owns what follows from a record: the counts of a procedure whose task ended, the rate of a pattern that was used. Each
call is committed when it returns. What a person changes is `records`' matter.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NotFound
from nanomem_tui.core.operations import new_key
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work import search
from nanomem_tui.store.work.kinds import ACTIVE, FINAL, KINDS, Kind, kind_of
from nanomem_tui.store.work.records import WorkStore
from nanomem_tui.store.work.values import TierRecord, Where, check_given, checked, checked_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_CALLS = 50_000
"""Newest calls of a tool among which one with the same input is looked for."""
CACHED_SECONDS = 3600.0
"""How old the result of a tool call may be that is given again (seed 004: operational memory holds one hour)."""


class Stored(NamedTuple):
    """A record to keep: its kind, its fields, its id (empty: a new one)."""

    kind: str
    fields: Mapping[str, Any]
    id: str = ""


class Trail:
    """The records of one workspace, as agents write them."""

    def __init__(self, database: WorkStore) -> None:
        self.database = database

    # -- keeping ------------------------------------------------------------------------------------------------------

    def store(
        self, kind: str, fields: Mapping[str, Any], record_id: str = "", *, origin: str = "agent", durable: bool = False
    ) -> TierRecord:
        """Keep a record; of one that is there the fields that are given are replaced. Raises BadInput."""
        return self.store_many([Stored(kind, fields, record_id)], origin=origin, durable=durable)[0]

    def store_many(
        self, records: Iterable[Stored], *, origin: str = "agent", durable: bool = False, overheard: bool = False
    ) -> list[TierRecord]:
        """Keep records in one transaction: all of them, or none. `overheard`: put together from what was said, in words
        of whoever said it. Raises BadInput."""
        known = [self._named(record) for record in records]

        def write(connection: Connection) -> list[TierRecord]:
            return [self.keep(connection, *named, origin, overheard=overheard) for named in known]

        return self.database.write(write, durable=durable)

    def _named(self, record: Stored) -> tuple[Kind, str, Mapping[str, Any]]:
        """The record with an id; what can be known to be wrong without a look is refused here."""
        kind = kind_of(record.kind)
        checked(kind, record.fields, whole=False)
        record_id = record.id
        if kind.name == "agent-state":
            record_id = record_id or str(record.fields.get("agent_name") or "")
        return kind, checked_id(record_id) if record_id else new_key(kind.name.replace("-", "_")), record.fields

    def keep(
        self,
        connection: Connection,
        kind: Kind,
        record_id: str,
        given: Mapping[str, Any],
        origin: str,
        *,
        overheard: bool = False,
    ) -> TierRecord:
        before = work_records.get(connection, kind, record_id)
        after = self._made(kind, record_id, before, given, origin, overheard=overheard)
        work_records.put(connection, [after], at=after.changed_at)
        work_records.put(connection, self.followed(connection, before, after))
        return after

    def _made(
        self,
        kind: Kind,
        record_id: str,
        before: TierRecord | None,
        given: Mapping[str, Any],
        origin: str,
        *,
        overheard: bool = False,
    ) -> TierRecord:
        now = clock.iso(clock.now())
        fields = checked(kind, {**(before.fields if before else {}), **given})
        if not overheard:
            check_given(kind, given, before.fields if before else {}, fields)
        if kind.name == "agent-state" and not given.get("updated_at"):
            fields["updated_at"] = now
        if kind.name in ("goal", "task") and fields["status"] in FINAL and fields["completed_at"] is None:
            if before is not None and before.fields["status"] == fields["status"]:
                fields["completed_at"] = before.fields["completed_at"]
            elif before is not None or not given.get(kind.when):
                fields["completed_at"] = now  # of one that is told when it is over, nobody says when it ended
        if before is not None:
            lives = kind.name == "agent-state" or (kind.name in ("goal", "task") and fields["status"] not in FINAL)
            tier = kind.tier if lives else before.tier  # what is at work again is in working memory again
            return before._replace(fields=fields, tier=tier, origin=origin, changed_at=now)
        return TierRecord(kind.name, record_id, fields, kind.tier, origin, now, now)

    def followed(self, connection: Connection, before: TierRecord | None, after: TierRecord | None) -> list[TierRecord]:
        """The procedures whose counts move because a task ended, or did otherwise than was recorded before."""
        runs = [(run, way) for run, way in ((_run_of(before), -1), (_run_of(after), 1)) if run is not None]
        if len(runs) == 2 and runs[0][0] == runs[1][0]:
            return []
        found: dict[str, TierRecord] = {}
        for run, way in runs:
            procedure = found.get(run.procedure_id) or work_records.get(
                connection, KINDS["procedure"], run.procedure_id
            )
            if procedure is not None:  # one that nobody keeps has no counts
                found[run.procedure_id] = procedure._replace(fields=_counted(procedure.fields, run, way))
        return list(found.values())

    # -- what changes of a record ---------------------------------------------------------------------------------

    def update(self, kind: str, record_id: str, fields: Mapping[str, Any], *, origin: str = "agent") -> TierRecord:
        """Replace fields of a record that is there. Raises NotFound or BadInput."""
        known = kind_of(kind)
        checked(known, fields, whole=False)
        return self._change(
            known, record_id, lambda connection, _: self.keep(connection, known, record_id, fields, origin)
        )

    def pattern_used(self, pattern_id: str, success: bool) -> TierRecord:
        """A pattern was used: its number of uses and its success rate follow. Raises NotFound."""

        def used(connection: Connection, before: TierRecord) -> TierRecord:
            uses, rate = before.fields["uses"], before.fields["success_rate"]
            now = clock.iso(clock.now())
            fields = {"uses": uses + 1, "success_rate": (rate * uses + bool(success)) / (uses + 1), "last_used": now}
            after = before._replace(fields={**before.fields, **fields}, changed_at=now)
            work_records.put(connection, [after])
            return after

        return self._change(KINDS["pattern"], pattern_id, used)

    def _change(self, kind: Kind, record_id: str, change: Callable[[Connection, TierRecord], TierRecord]) -> TierRecord:
        def write(connection: Connection) -> TierRecord:
            before = work_records.get(connection, kind, record_id)
            if before is None:
                raise not_there(kind, record_id)
            return change(connection, before)

        if not self.database.exists:
            raise not_there(kind, record_id)
        return self.database.write(write)

    # -- what an agent asks ---------------------------------------------------------------------------------------

    def goals(self, statuses: Sequence[str] = ACTIVE, limit: int | None = None) -> list[TierRecord]:
        """The goals in one of these states: the most urgent first (0 is), then the oldest. `limit`: of each state, the
        newest."""

        def look(connection: Connection) -> list[TierRecord]:
            kind = KINDS["goal"]
            return [
                record
                for status in statuses
                for record in work_records.rows(connection, kind, "working", Where({"status": status}), limit)
            ]

        none: list[TierRecord] = []
        return sorted(self.database.ask(look, none), key=lambda goal: (int(goal.fields["priority"]), goal.at, goal.id))

    def tasks_of(self, goal_id: str, limit: int | None = None, offset: int = 0) -> list[TierRecord]:
        """The tasks of a goal, of both tiers, oldest first."""
        where = Where({"goal_id": goal_id})
        return self.database.ask(
            lambda connection: work_records.rows(
                connection, KINDS["task"], None, where, limit, offset, oldest_first=True
            ),
            [],
        )

    def find_pattern(self, trigger: str, least_success: float = 0.0) -> TierRecord | None:
        """The pattern for a situation: one of just that trigger, else among those that fit about as well as any the
        one with the best record. None where none fits: what shares one word of many does not."""
        return self.database.ask(lambda connection: search.best_pattern(connection, trigger, least_success), None)

    def cached_result(self, tool: str, given: Any, within: float = CACHED_SECONDS) -> TierRecord | None:
        """The newest successful call of a tool with just that input, not older than `within` seconds."""
        since = clock.iso(clock.now() - timedelta(seconds=within))
        where = Where({"tool_name": tool, "success": True}, since)

        def look(connection: Connection) -> TierRecord | None:
            calls = work_records.each(connection, KINDS["tool-call"], "working", where, MOST_CALLS, oldest_first=False)
            with contextlib.closing(calls):
                return next((call for call in calls if call.fields["input"] == given), None)

        return self.database.ask(look, None)


class _Run(NamedTuple):
    """How a task that followed a procedure ended."""

    procedure_id: str
    success: bool
    duration_ms: int | None


def _run_of(task: TierRecord | None) -> _Run | None:
    """None for a task that follows none, or has not ended."""
    if task is None or task.kind != "task" or not task.fields.get("procedure_id"):
        return None
    if task.fields["status"] not in ("completed", "failed"):
        return None
    return _Run(task.fields["procedure_id"], task.fields["status"] == "completed", task.fields["duration_ms"])


def _counted(fields: Mapping[str, Any], run: _Run, way: int) -> dict[str, Any]:
    """The counts of a procedure with one run more (`way` 1) or less (-1); one without a duration leaves the mean."""
    name = "success_count" if run.success else "fail_count"
    runs = fields["success_count"] + fields["fail_count"]
    mean = fields["avg_duration_ms"]
    changed: dict[str, Any] = {name: max(0, fields[name] + way)}
    if run.duration_ms is not None and runs + way > 0:
        total = (mean if mean is not None else run.duration_ms) * runs
        changed["avg_duration_ms"] = max(0, round((total + way * run.duration_ms) / (runs + way)))
    if way > 0:
        changed["last_used"] = clock.iso(clock.now())
    return {**fields, **changed}


def not_there(kind: Kind, record_id: str) -> NotFound:
    """The error for a record that is not there."""
    return NotFound(f"no such {kind.name}", record_id, f"see `nanomem record {kind.name} list`")
