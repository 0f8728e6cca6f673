"""Work records as a person browses and corrects them: listed, searched, linked, each change undoable.

Owns what a person may do, how records link (goal, task, tool call), and search by words and meaning at once:

    score = lexical + (1 - lexical) * nearness

`lexical` is the share of the question's words that a record holds, `nearness` what its distance in meaning leaves of
the distance where nothing is near. Neither depends on the other hits, so scores compare between collections, indexes
and questions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, new_key, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.language.tokens import query_weights
from nanomem_tui.memory.edit_conflicts import quote_start
from nanomem_tui.memory.recall.scoring import FAR, nearness
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.work import layer, search
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work import search as work_search
from nanomem_tui.store.work.kinds import ACTIVE, FINAL, KINDS, RECORD_KINDS, TIERS, Kind, Tier, kind_of
from nanomem_tui.store.work.search import MOST_WORDS
from nanomem_tui.store.work.values import (
    Stretch,
    TierHit,
    TierRecord,
    Where,
    check_given,
    checked,
    checked_id,
    differing,
)
from nanomem_tui.store.work.work_store import WorkStore

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.vectors.records import NearRecord, RecordMeaning


# What an agent records of its work, kept as it comes: goals, tasks, tool calls, decisions, patterns and the rest.

MOST_CALLS = 50_000
"""Newest calls of a tool among which one with the same input is looked for."""
CACHED_SECONDS = 3600.0
"""How old the result of a tool call may be that is given again (seed 004: operational memory holds one hour)."""


class NewRecord(NamedTuple):
    """A record to keep: its kind, its fields, its id (empty: a new one)."""

    kind: str
    fields: Mapping[str, Any]
    id: str = ""


class RecordTrail:
    """The records of one workspace, as agents write them."""

    def __init__(self, database: WorkStore) -> None:
        self.database = database

    # -- keeping ------------------------------------------------------------------------------------------------------

    def store(
        self, kind: str, fields: Mapping[str, Any], record_id: str = "", *, origin: str = "agent", durable: bool = False
    ) -> TierRecord:
        """Keep a record; of one that is there the fields that are given are replaced. Raises BadInput."""
        return self.store_many([NewRecord(kind, fields, record_id)], origin=origin, durable=durable)[0]

    def store_many(
        self, records: Iterable[NewRecord], *, origin: str = "agent", durable: bool = False, overheard: bool = False
    ) -> list[TierRecord]:
        """Keep records in one transaction: all of them, or none. `overheard`: put together from what was said, in words
        of whoever said it. Raises BadInput."""
        known = [self._named(record) for record in records]

        def write(connection: Connection) -> list[TierRecord]:
            return [self.write_record(connection, *named, origin, overheard=overheard) for named in known]

        return self.database.write(write, durable=durable)

    def _named(self, record: NewRecord) -> tuple[Kind, str, Mapping[str, Any]]:
        """Return the record with an id; what can be known to be wrong without a look is refused here."""
        kind = kind_of(record.kind)
        checked(kind, record.fields, whole=False)
        record_id = record.id
        if kind.name == "agent-state":
            record_id = record_id or str(record.fields.get("agent_name") or "")
        return kind, checked_id(record_id) if record_id else new_key(kind.name.replace("-", "_")), record.fields

    def write_record(
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
        """Return the procedures whose counts move because a task ended, or did otherwise than was recorded before."""
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
            known, record_id, lambda connection, _: self.write_record(connection, known, record_id, fields, origin)
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
                raise missing_record(kind, record_id)
            return change(connection, before)

        if not self.database.exists:
            raise missing_record(kind, record_id)
        return self.database.write(write)

    # -- what an agent asks ---------------------------------------------------------------------------------------

    def goals(self, statuses: Sequence[str] = ACTIVE, limit: int | None = None) -> list[TierRecord]:
        """Return the goals in these states, most urgent (0) first, then oldest; the newest `limit` of each state."""

        def read(connection: Connection) -> list[TierRecord]:
            kind = KINDS["goal"]
            return [
                record
                for status in statuses
                for record in work_records.rows(connection, kind, "working", Where({"status": status}), limit)
            ]

        none: list[TierRecord] = []
        return sorted(self.database.ask(read, none), key=lambda goal: (int(goal.fields["priority"]), goal.at, goal.id))

    def tasks_of(self, goal_id: str, limit: int | None = None, offset: int = 0) -> list[TierRecord]:
        """Return the tasks of a goal, of both tiers, oldest first."""
        where = Where({"goal_id": goal_id})
        return self.database.ask(
            lambda connection: work_records.rows(
                connection, KINDS["task"], None, where, limit, offset, oldest_first=True
            ),
            [],
        )

    def find_pattern(self, trigger: str, least_success: float = 0.0) -> TierRecord | None:
        """Return the pattern for a situation: one of just that trigger, else among those that fit about as well as any
        the one with the best record. None where none fits: what shares one word of many does not."""
        return self.database.ask(lambda connection: search.best_pattern(connection, trigger, least_success), None)

    def cached_result(self, tool: str, given: Any, within: float = CACHED_SECONDS) -> TierRecord | None:
        """Return the newest successful call of a tool with just that input, not older than `within` seconds."""
        since = clock.iso(clock.now() - timedelta(seconds=within))
        where = Where({"tool_name": tool, "success": True}, since)

        def read(connection: Connection) -> TierRecord | None:
            calls = work_records.each(connection, KINDS["tool-call"], "working", where, MOST_CALLS, oldest_first=False)
            with contextlib.closing(calls):
                return next((call for call in calls if call.fields["input"] == given), None)

        return self.database.ask(read, None)


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
    """Return a procedure's counts with one run more (`way` 1) or less (-1); without a duration the mean stays."""
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


def missing_record(kind: Kind, record_id: str) -> NotFound:
    """Return the error for a record that is not there."""
    return NotFound(f"no such {kind.name}", record_id, f"see `nanomem record {kind.name} list`")


LINKED = 50
"""Records of one relation that are named, the newest."""
Link = tuple[str, TierRecord]
"""What a record is to another one, and that other one."""


_LEADS: Mapping[str, Sequence[tuple[str, str, Sequence[str]]]] = {
    "task": (("goal_id", "goal", ("goal",)), ("procedure_id", "procedure", ("procedure",))),
    "tool-call": (("task_id", "task", ("task",)),),
    "decision": (("task_id", "task", ("task",)),),
    "pattern": (("created_from", "made from", ("goal", "task")),),
}
"""Of a kind the fields that name another record: what that is to this one, and of which kinds it can be."""


class RecordChange(NamedTuple):
    """One change of a record: when, by whom, what it was called, and the fields that it changed, before and after.

    `undone`: it is taken back at present.
    """

    at: str
    actor: str
    label: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    operation: str = ""
    undone: bool = False


class TierRecords(RecordTrail):
    """The records of one workspace."""

    def __init__(
        self,
        database: WorkStore,
        perform: Perform,
        log: Callable[[str], Sequence[LogEntry]],
        meaning: Callable[[], RecordMeaning] | None = None,
    ) -> None:
        """`log`: the operations that touched the thing of a key, newest first; `meaning`: gives what finds by it."""
        super().__init__(database)
        self._perform = perform
        self._log = log
        self._meaning = meaning

    # -- looking --------------------------------------------------------------------------------------------------

    def get(self, kind: str, record_id: str) -> TierRecord:
        """Return the record of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        known = kind_of(kind)

        def read(connection: Connection) -> tuple[TierRecord | None, list[str]]:
            found = work_records.get(connection, known, record_id)
            near = [] if found or not record_id else work_records.begins(connection, known, record_id)
            if len(near) == 1:
                found = work_records.get(connection, known, near[0])
            return found, near

        nothing: tuple[TierRecord | None, list[str]] = (None, [])
        found, near = self.database.ask(read, nothing)
        if found is None and near:
            raise BadInput("more than one of them begins with that id", record_id, "give more of it")
        if found is None:
            raise missing_record(known, record_id)
        return found

    def list_records(
        self,
        kind: str,
        tier: Tier | None = None,
        where: Mapping[str, Any] | None = None,
        since: str = "",
        until: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[TierRecord]:
        """Records of a kind, newest first. `where`: fields that equal a value; `since`, `until`: times (ISO) or days,
        the second not included. Raises BadInput."""
        known = kind_of(kind)
        wanted = _where(known, where or {}, since, until)
        return self.database.ask(
            lambda connection: work_records.rows(connection, known, _tier(tier), wanted, limit, offset),
            [],
        )

    def count(
        self,
        kind: str,
        tier: Tier | None = None,
        where: Mapping[str, Any] | None = None,
        since: str = "",
        until: str = "",
    ) -> int:
        """Return how many there are, asked for as in `of`. Raises BadInput."""
        known = kind_of(kind)
        wanted = _where(known, where or {}, since, until)
        return self.database.ask(lambda connection: work_records.count(connection, known, _tier(tier), wanted), 0)

    def count_within(self, wanted: Stretch) -> int:
        """Return how many records a long list has."""
        return self.database.ask(lambda connection: work_records.count_within(connection, wanted), 0)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many of each kind there are in each tier that the kind has."""

        def read(connection: Connection) -> dict[str, dict[str, int]]:
            return {
                name: {tier: work_records.count(connection, kind, tier) for tier in kind.tiers}
                for name, kind in KINDS.items()
            }

        return self.database.ask(read, {name: dict.fromkeys(kind.tiers, 0) for name, kind in KINDS.items()})

    def search(
        self,
        question: str,
        kinds: Sequence[str] = (),
        tier: Tier | None = None,
        limit: int = 20,
        where: Mapping[str, Any] | None = None,
        since: str = "",
        until: str = "",
    ) -> list[TierHit]:
        """Return the records that hold words of a question, best first; equal ones newest first. `where`, `since`,
        `until`: of these alone, as in `of`. Raises BadInput."""
        wanted = [kind_of(name) for name in kinds or (*RECORD_KINDS, "event")]
        if where and len(wanted) > 1:
            raise BadInput("which fields there are depends on the kind", "where", "name one kind")
        narrowed, only = _where(wanted[0], where or {}, since, until), _tier(tier)
        asked = [
            work_search.Asked(kind, only if kind.ages else None, narrowed)
            for kind in wanted
            if only is None or only in kind.tiers
        ]
        none: list[TierHit] = []
        return self.database.ask(lambda connection: work_search.find(connection, asked, question, limit), none)

    def semantic_search(self, query: str, collections: Sequence[str] = (), n_results: int = 5) -> SemanticAnswer:
        """Return the records most like a question, by their words and their meaning at once (seed 004).

        `collections`: of these alone, by their names or those of their kinds; those that are not embedded, as patterns,
        are found by their words. Raises BadInput for a question that is empty, or no such collection or number.
        """
        kinds = list({kind.name: kind for kind in map(kind_of, collections or RECORD_KINDS)}.values())
        if not query.strip() or len(query) > MAX_QUERY:
            raise BadInput("no usable question", "query", f"give 1 to {MAX_QUERY:,} characters")
        if not 1 <= n_results <= MOST:
            raise BadInput("no such number of results", str(n_results), f"give 1 to {MOST}")
        by_words = self.search(query, [kind.name for kind in kinds], limit=BESIDE * n_results)
        near: Sequence[NearRecord] = ()
        note = "" if self._meaning is not None else "nothing here finds by meaning"
        if self._meaning is not None:
            try:
                embedded = [kind.name for kind in kinds if kind.embedded]
                near = self._meaning().nearest(query, embedded, BESIDE * n_results)
            except NanomemError as error:
                note = error.line()
        return SemanticAnswer(tuple(_joined(query, by_words, near)[:n_results]), note)

    def links(self, record: TierRecord) -> list[Link]:
        """Return what hangs together with a record: goal, tasks, tool calls, decisions, the procedure that a task
        followed, what a pattern was made from, the other states of a file."""
        return self.database.ask(lambda connection: list(self._links(connection, record)), [])

    def _links(self, connection: Connection, record: TierRecord) -> Iterable[Link]:
        fields = record.fields

        def up(relation: str, kind: str, key: Any) -> Iterable[Link]:
            found = work_records.get(connection, KINDS[kind], key) if key else None
            return [(relation, found)] if found else []

        def down(relation: str, kind: str, field: str, key: str) -> Iterable[Link]:
            rows = work_records.rows(connection, KINDS[kind], None, Where({field: key}), LINKED)
            return [(relation, row) for row in reversed(rows) if row.key != record.key]

        for field, relation, kinds in _LEADS.get(record.kind, ()):
            for kind in kinds:
                yield from up(relation, kind, fields[field])
        for kind, leads in _LEADS.items():
            for field, _, kinds in leads:
                if record.kind in kinds:
                    yield from down(kind.replace("-", " "), kind, field, record.id)
        if record.kind == "config-change":
            yield from down("same file", "config-change", "file_path", fields["file_path"])

    def missing(self, record: TierRecord) -> list[tuple[str, str, Sequence[str]]]:
        """Return (field, id, possible kinds) of each record that a record names and that does not exist."""
        leads = ((field, record.fields[field], kinds) for field, _, kinds in _LEADS.get(record.kind, ()))
        named = [lead for lead in leads if lead[1]]

        def read(connection: Connection) -> list[tuple[str, str, Sequence[str]]]:
            return [
                (field, key, kinds)
                for field, key, kinds in named
                if not any(work_records.get(connection, KINDS[kind], key) for kind in kinds)
            ]

        return self.database.ask(read, named) if named else []

    def _check_references(self, record: TierRecord, fields: Container[str]) -> None:
        """Raise NotFound for the first of these fields that refers to a record that does not exist."""
        for field, record_id, kinds in self.missing(record):
            if field in fields:
                fix = f"nanomem record {kinds[0]} list shows the ids; add the {kinds[0]} first, or leave `{field}` out"
                raise NotFound(f"no such {' or '.join(kinds)} (`{field}` of a {record.kind})", record_id, fix)

    def history(self, kind: str, record_id: str) -> list[RecordChange]:
        """Return every change of a record, newest first: operations, undone ones too, and what agents overwrote."""
        known = kind_of(kind)
        key = f"{known.name}/{record_id}"
        none: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = []
        overwritten = self.database.ask(
            lambda connection: work_records.changes(connection, known.name, record_id), none
        )
        past = [
            RecordChange(at, origin, f"change {', '.join(after)}", before, after)
            for at, origin, before, after in overwritten
        ]
        entries = self._log(key)
        taken_back = {entry.operation.undoes for entry in entries}
        for entry in entries:
            done = entry.operation
            if entry.undone and done.id not in taken_back:  # it never came about
                continue
            for change in done.changes_of(key):
                before, after = _fields(change.before), _fields(change.after)
                names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
                was, now = ({name: part.get(name) for name in names} for part in (before, after))
                past.append(RecordChange(done.at, done.actor, done.label, was, now, done.id, entry.undone))
        return sorted(past, key=lambda one: one.at, reverse=True)

    # -- changing -------------------------------------------------------------------------------------------------

    def add(
        self, kind: str, fields: Mapping[str, Any], record_id: str = "", *, actor: Actor = "human"
    ) -> tuple[Operation, TierRecord]:
        """Add a record. Raises BadInput, Conflict for a known id, NotFound for a reference to no record."""
        known = kind_of(kind)
        if known.name == "agent-state":
            record_id = record_id or str(fields.get("agent_name") or "")
        record_id = checked_id(record_id) if record_id else new_key(known.name.replace("-", "_"))
        record = self._made(known, record_id, None, fields, "manual")
        self._check_references(record, fields)
        changes = [layer.change(None, record), *self._followed_changes(None, record)]
        return self._do("add", changes, [record], actor), record

    def edit(
        self, kind: str, record_id: str, fields: Mapping[str, Any], *, expected: TierRecord | None = None
    ) -> Operation:
        """Change fields of a record. `expected`: the record as it was shown to who edits it.

        Raises NotFound (also for a record that a changed field refers to), BadInput, Conflict when a field of it was
        changed since, NothingToDo.
        """
        before = self.get(kind, record_id)
        known = KINDS[before.kind]
        given = checked(known, fields, whole=False)
        moved = [name for name in given if expected is not None and expected.fields[name] != before.fields[name]]
        if moved:
            raise Conflict(f"{known.name} was changed since ({moved[0]})", before.id, "look again")
        after = self._made(known, before.id, before, given, before.origin)
        if not differing(before, after):
            raise NothingToDo("nothing to change", before.id)
        self._check_references(after, [name for name in given if before.fields[name] != after.fields[name]])
        return self._do("edit", [layer.change(before, after), *self._followed_changes(before, after)], [after])

    def delete(self, kind: str, ids: Sequence[str]) -> Operation:
        """Take records away; `undo` brings them back. Raises NotFound."""
        records = list({record.id: record for record in (self.get(kind, one) for one in ids)}.values())
        changes = [
            change for one in records for change in (layer.change(one, None), *self._followed_changes(one, None))
        ]
        return self._do("delete", changes, records)

    def _followed_changes(self, before: TierRecord | None, after: TierRecord | None) -> list[Change]:
        def read(connection: Connection) -> list[Change]:
            return [
                layer.change(work_records.get(connection, KINDS[one.kind], one.id), one)
                for one in self.followed(connection, before, after)
            ]

        return self.database.ask(read, [])

    def _do(
        self, verb: str, changes: Sequence[Change], records: Sequence[TierRecord], actor: Actor = "human"
    ) -> Operation:
        noun = records[0].kind.replace("-", " ")
        what = f"{noun} {quote_start(records[0].title)}" if len(records) == 1 else counted(len(records), noun)
        return self._perform(new_operation(f"record.{verb}", f"{verb} {what}", changes, actor=actor))


def _fields(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return value["fields"] if value else {}


def _tier(tier: str | None) -> Tier | None:
    """Raises BadInput for a tier that records do not lie in."""
    found = next((one for one in TIERS if one == tier), None)
    if tier and found is None:
        raise BadInput("no such tier of records", tier, f"one of {', '.join(TIERS)}")
    return found


def _where(kind: Kind, fields: Mapping[str, Any], since: str, until: str) -> Where:
    """Return what is asked for, checked. Raises BadInput."""
    given = checked(kind, {name: value for name, value in fields.items() if value is not None}, whole=False)
    wrong = [name for name in given if (field := kind.field(name)) is not None and field.type == "json"]
    if wrong:
        raise BadInput(f"`{wrong[0]}` of a {kind.name} cannot be compared", "", "name another field, or search")
    times = []
    for name, text in (("since", since), ("until", until)):
        moment = clock.parse(text) if text else None
        if text and moment is None:
            raise BadInput(f"{text[:40]!r} is no time", name, "give it like 2026-02-15 or 2026-02-15T09:30:00+00:00")
        times.append(clock.iso(moment) if moment else "")
    return Where({**given, **{name: None for name in fields if fields[name] is None}}, *times)


MOST = 100
"""Hits of one answer."""


BESIDE = 4
"""How many times as many as are wanted each way of finding is asked for."""


MAX_QUERY = 20_000


class SemanticAnswer(NamedTuple):
    """What was found, best first, with a score from 0 to 1; `note`: why meaning was not asked, empty when it was."""

    hits: tuple[TierHit, ...]
    note: str = ""

    @property
    def by(self) -> str:
        """How it was found."""
        return "words" if self.note else "words and meaning"


def _joined(query: str, by_words: Sequence[TierHit], near: Sequence[NearRecord]) -> list[TierHit]:
    """Return the records of both, best first; of equal ones those that hold rarer words, then the newest."""
    weights = query_weights(query, MOST_WORDS)
    whole = sum(weights.values())
    lexical = {hit.record.key: hit for hit in by_words}
    distances = {one.record.key: one.distance for one in near if one.distance < FAR}
    records = {one.record.key: one.record for one in near} | {one.record.key: one.record for one in by_words}
    hits = []
    for key in dict.fromkeys((*lexical, *distances)):
        words = list(lexical[key].parts["words"]) if key in lexical else []
        share = min(1.0, sum(weights.get(word, 0.0) for word in words) / whole) if words else 0.0
        meant = (1 - share) * nearness(distances.get(key))
        parts: dict[str, object] = {"lexical": round(share, 6), "meaning": round(meant, 6)}
        if key in distances:
            parts["distance"] = round(distances[key], 6)
        parts["words"] = words
        hits.append(TierHit(records[key], share + meant, parts))
    hits.sort(key=lambda hit: (hit.record.at, hit.record.key), reverse=True)
    rarity = {key: hit.score for key, hit in lexical.items()}
    return sorted(hits, key=lambda hit: (-hit.score, -rarity.get(hit.record.key, 0.0)))
