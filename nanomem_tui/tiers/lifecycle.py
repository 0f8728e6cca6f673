"""The lifecycle of records (seed 004): what is old leaves working memory for long-term memory, and nothing is lost.

Owns the table of how long what is kept (docs/decisions), when a run is due, and that a clock that jumped moves nothing.
How a run is carried out is `lifecycle_runs`' matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import BadInput, NanomemError, NothingToDo, Refused, in_words
from nanomem_tui.operations import Change, Operation, Perform, new_key, new_operation
from nanomem_tui.repeating import Repeating
from nanomem_tui.settings import Settings
from nanomem_tui.store import work, work_aging, year_archive
from nanomem_tui.store.oplog import LogEntry
from nanomem_tui.store.work import WorkStore
from nanomem_tui.store.work_aging import Due, Run, What
from nanomem_tui.store.work_kinds import KINDS, kind_of
from nanomem_tui.store.year_archive import Manifest
from nanomem_tui.text import counted
from nanomem_tui.tiers import lifecycle_sizes
from nanomem_tui.tiers.lifecycle_archives import Archives
from nanomem_tui.tiers.lifecycle_runs import WAIT, Room, Runs, busy
from nanomem_tui.tiers.records import TierHit

if TYPE_CHECKING:
    from sqlalchemy import Connection

EVERY = timedelta(days=1)
FAR = timedelta(days=366)
"""A time without any record, or run, after which a person is asked: it is the clock that jumped, more likely."""
RETRY = 600.0
"""Seconds without another try by itself after a run that failed."""
BUSY = timedelta(minutes=1)
LAST, LATEST = "lifecycle_last", "lifecycle_latest"
"""The marks that say when the last run was, and the latest time at which one ever was: a clock may be set back."""
KIND, ARCHIVE, RESTORE = "lifecycle.run", "lifecycle.archive", "lifecycle.restore"
_HELD = "a person took back the last run; none by itself until somebody runs one (`nanomem lifecycle run`)"
_ORDER: tuple[tuple[str, What], ...] = (
    ("task", "moved"),
    ("goal", "moved"),
    ("tool-call", "moved"),
    ("decision", "moved"),
    ("event", "moved"),
    ("agent-state", "moved"),
    ("metric", "averaged"),
    ("metric-hour", "deleted"),
)
_WORDS: Mapping[What, str] = {"moved": "to long-term memory", "averaged": "averaged by hour", "deleted": "deleted"}


class Step(NamedTuple):
    """What a run would do to a kind: how many rows, about how many bytes, the time (UTC ISO) up to which they are, the
    oldest of them, and how many as old stay (goals that have not ended, important decisions)."""

    kind: str
    what: What
    rows: int
    bytes: int
    before: str
    oldest: str
    stay: int


class LifecyclePlan(NamedTuple):
    """What a run would do now. `refused`: why it does nothing unless it is forced."""

    steps: tuple[Step, ...]
    sizes: lifecycle_sizes.Sizes | None
    refused: str = ""

    @property
    def rows(self) -> int:
        """How many rows it would deal with."""
        return sum(step.rows for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """The plan as the command line prints it."""
        sizes = lifecycle_sizes.to_json(self.sizes) if self.sizes is not None else {"file_bytes": 0, "forecast": []}
        return {"steps": [step._asdict() for step in self.steps], "refused": self.refused or None, **sizes}


class Ran(NamedTuple):
    """What a run did: rows per kind (`<kind>: <rows>`), the operation (None: nothing was due), and whether it was
    stopped before all was done."""

    operation: Operation | None
    rows: Mapping[str, int]
    stopped: bool = False

    def to_json(self) -> dict[str, Any]:
        """What was done, as the command line prints it."""
        return {"rows": dict(self.rows), "stopped": self.stopped}


class Outcome(NamedTuple):
    """What a look at the schedule came to, in words too; `next_at` is when the next one is worth a look."""

    kind: Literal["off", "waiting", "busy", "held", "nothing", "ran", "failed"]
    said: str = ""
    next_at: datetime | None = None


class Lifecycle:
    """The lifecycle of the records of one workspace."""

    def __init__(
        self,
        database: WorkStore,
        workspace_id: str,
        data: Path,
        settings: Settings,
        perform: Perform,
        settle: Callable[[], None],
        newest: Callable[[], LogEntry | None],
    ) -> None:
        """`settle` finishes what a killed process left half done; `newest` is the newest run in the ledger."""
        self._database = database
        self._settings = settings
        self._perform = perform
        self._settle = settle
        self._newest = newest
        self._failed_at = -float("inf")
        self.runs = Runs(database, data)
        self.archives = Archives(database, workspace_id, data)
        self.room = Room(database)
        self._looking: Looking | None = None

    @cached_property
    def layer(self) -> LifecycleLayer:
        """How operations run the lifecycle."""
        return LifecycleLayer(self.runs, self.archives)

    # -- what is due ------------------------------------------------------------------------------------------------

    def kept_days(self) -> dict[str, int]:
        """Days that rows of a kind stay where they are; kinds that are not in it stay for good."""
        settings = self._settings
        days = {kind: settings.tiers_record_days for kind, _ in _ORDER}
        days |= {"task": settings.tiers_goal_days, "goal": settings.tiers_goal_days}
        days |= {"metric": settings.tiers_metric_days, "metric-hour": settings.tiers_metric_hourly_days}
        return {kind: number for kind, number in days.items() if number}

    def dues(self, now: datetime | None = None) -> list[Due]:
        """What is due: rows from a time, or older. Metrics leave by whole hours."""
        now = now or clock.now()
        found = []
        for name, what in _ORDER:
            days = self.kept_days().get(name)
            before = _ago(now, days) if days else None
            if before is not None:
                if what == "averaged":
                    before = before.replace(minute=0, second=0, microsecond=0) - timedelta(microseconds=1)
                found.append(Due(KINDS[name], what, clock.iso(before)))
        return found

    def plan(self, now: datetime | None = None) -> LifecyclePlan:
        """What a run would do, how large everything is, and when it becomes too large. Changes nothing."""
        now = now or clock.now()
        if not self._database.exists:
            return LifecyclePlan((), None)

        def look(connection: Connection) -> LifecyclePlan:
            sizes = self._measured(connection, now)
            steps = []
            for due in self.dues(now):
                counted = work_aging.count(connection, due)
                size = int(counted.rows * sizes.row_bytes(due.kind.name))
                steps.append(
                    Step(due.kind.name, due.what, counted.rows, size, due.before, counted.oldest, counted.stay)
                )
            return LifecyclePlan(tuple(steps), sizes, self._clock_trouble(connection, now))

        return self._database.read(look)

    def sizes(self, now: datetime | None = None) -> lifecycle_sizes.Sizes | None:
        """How large every tier is, and what becomes of it; None where nothing was ever written."""
        if not self._database.exists:
            return None
        return self._database.read(partial(self._measured, now=now or clock.now()))

    def _measured(self, connection: Connection, now: datetime) -> lifecycle_sizes.Sizes:
        caps = {"working": self._settings.tiers_working_gb, "longterm": self._settings.tiers_longterm_gb}
        return lifecycle_sizes.measure(connection, self.kept_days(), caps, now)

    def clock_trouble(self) -> str:
        """Why a run by itself would be refused; empty: it would not."""
        if not self._database.exists:
            return ""
        return self._database.read(partial(self._clock_trouble, now=clock.now()))

    def _clock_trouble(self, connection: Connection, now: datetime) -> str:
        """Why the clock is not believed; empty: it is."""
        last = clock.parse(work.note(connection, LATEST) or "")
        if last is not None and now - last > FAR:
            return f"the clock says {now:%Y-%m-%d}, and the last run was on {last:%Y-%m-%d}"
        stored = clock.parse(work_aging.last_stored(connection))
        if stored is not None and now - stored > FAR:
            return f"the clock says {now:%Y-%m-%d}, and the last record came on {stored:%Y-%m-%d}"
        return ""

    # -- a run --------------------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        force: bool = False,
        now: datetime | None = None,
        started_by: str = "human",
        wait: float = 0.0,
        stopped: Callable[[], bool] = lambda: False,
        watch: Callable[[str, int], None] = lambda kind, rows: None,
    ) -> Ran:
        """Do what is due, as one operation; what a killed process began is part of it.

        Raises Refused when another run is under way, and for a clock that may have jumped unless `force`.
        """
        now = now or clock.now()
        if not self._database.exists:
            return Ran(None, {})
        self._settle()
        with self.runs.alone(wait):
            trouble = self._database.read(partial(self._clock_trouble, now=now))
            if trouble and not force:
                raise Refused(trouble, "", "nothing was moved: set the clock, or add --force if it is right")
            if (kept := _ago(now, self._settings.tiers_undo_days)) is not None:
                self.runs.let_go(clock.iso(kept))
            self.archives.go_on()
            run = self.runs.go_on() or Run(new_key("run"), clock.iso(now), "open")
            dues = self.dues(now)
            done = self.runs.carry_out(run, dues, clock.iso(now), stopped, watch)
            counts = self.runs.counts(run.id)
            operation = self._recorded(run, dues, counts, started_by) if counts else None
            if done:
                self._database.write(partial(self._note, now=clock.iso(now)), durable=True)
                self.room.tidy()
        return Ran(operation, {kind: rows for (kind, _), rows in counts.items()}, not done)

    def _recorded(
        self, run: Run, dues: Sequence[Due], counts: Mapping[tuple[str, What], int], started_by: str
    ) -> Operation:
        """The operation of a run that was carried out."""
        self._database.sync()  # the ledger tells nothing that a power cut could take back
        change = run_change(run, dues, {kind: rows for (kind, _), rows in counts.items()})
        meta = {"started_by": started_by, "rows": {kind: rows for (kind, _), rows in counts.items()}}
        return self._perform(new_operation(KIND, f"lifecycle: {told(counts)}", [change], actor="compaction", meta=meta))

    def _note(self, connection: Connection, now: str) -> None:
        """Note that a run ended."""
        work.set_note(connection, LAST, now)
        latest = max(now, work.note(connection, LATEST) or "")
        work.set_note(connection, LATEST, latest)

    def step(self, *, stopped: Callable[[], bool] = lambda: False, not_before: datetime | None = None) -> Outcome:
        """A run when one is due: once a day, by whoever looks first. Never raises."""
        if not self._settings.lifecycle_enabled:
            return Outcome("off", "lifecycle_enabled is off")
        try:
            due = max(filter(None, (self.next_at(), not_before)), default=None)
            if due is None or clock.now() < due or time.monotonic() - self._failed_at < RETRY:
                return Outcome("waiting", "", due)
            if self.held():
                return Outcome("held", _HELD)
            ran = self.run(started_by="schedule", stopped=stopped)
        except Exception as error:  # noqa: BLE001  whatever is wrong with a database must not end who has the clock
            if isinstance(error, NanomemError) and busy(error):
                return Outcome("busy", error.what, clock.now() + BUSY)
            self._failed_at = time.monotonic()
            return Outcome("failed", in_words(error).line())
        if ran.operation is None:
            return Outcome("nothing", "", self.next_at())
        return Outcome("ran", ran.operation.label.removeprefix("lifecycle: "), self.next_at())

    def start(self) -> None:
        """Look at the schedule in a thread until `close`, for a program that stays without a console."""
        if self._looking is None and self._settings.lifecycle_enabled:
            self._looking = Looking(self.step)
            self._looking.start()

    def close(self) -> None:
        """End that thread; a run that is under way ends after its batch."""
        if self._looking is not None:
            self._looking.stop()
            self._looking = None

    def held(self) -> bool:
        """Whether a person took back the last run, so that only a person begins the next one."""
        newest = self._newest()
        return newest is not None and newest.undone

    def last_at(self) -> datetime | None:
        """When the last run ended; a time to come counts as now: clocks are put back."""
        if not self._database.exists:
            return None
        text = self._database.read(lambda connection: work.note(connection, LAST))
        return clock.past(text) if text else None

    def next_at(self) -> datetime | None:
        """When the next run is due; None: there is nothing."""
        if not self._database.exists:
            return None
        last = self.last_at()
        return clock.now() if last is None else last + EVERY

    def state(self) -> dict[str, Any]:
        """`enabled`, `held` (why none runs by itself), `refused` (why a clock is not believed), `last_at`, `next_at`
        (UTC ISO or None), `last` (what the last run did), `half_done`, `rows` by kind and tier, `file_bytes`,
        `forecast` by tier, `archives`."""
        newest = self._newest()
        sizes, due = self.sizes(), self.next_at()
        last = self.last_at()
        told_sizes = lifecycle_sizes.to_json(sizes) if sizes is not None else {"file_bytes": 0, "forecast": []}
        return {
            "enabled": self._settings.lifecycle_enabled,
            "held": _HELD if newest is not None and newest.undone else None,
            "refused": self.clock_trouble() or None,
            "last_at": clock.iso(last) if last is not None else None,
            "next_at": clock.iso(due) if due is not None and self._settings.lifecycle_enabled else None,
            "last": newest.operation.label if newest is not None and not newest.undone else None,
            "half_done": len(self.runs.half_done()),
            "rows": sizes.rows() if sizes is not None else {},
            **told_sizes,
            "archives": [manifest.to_json() for manifest in self.archives.found()[0]],
        }

    # -- yearly archives ----------------------------------------------------------------------------------------------

    def archive_plan(self, year: int) -> dict[str, int]:
        """How many records of a year would leave for an archive, by kind. Raises Refused for a year that is not
        over."""
        if year >= clock.now().year:
            raise Refused(f"the year {year} is not over", "", "only the records of a closed year leave for an archive")
        return self.archives.counts(year)

    def archive(self, year: int) -> tuple[Operation, Manifest]:
        """Let the records of a closed year leave long-term memory for a file. Raises Refused or NothingToDo."""
        self.archive_plan(year)
        self._settle()
        with self.runs.alone():
            made = self.archives.make(year, clock.iso(clock.now()))
            file = f"{year_archive.FOLDER}/{made.name}{year_archive.SUFFIX}"
            label = f"archive {year}: {counted(made.records, 'record')} to {file}"
            value = {"sha256": made.sha256, "records": made.records, "counts": made.counts}
            change = Change(LAYER, f"archive/{made.name}", None, value)
            return self._perform(new_operation(ARCHIVE, label, [change])), made

    def archives_of(self, year: int) -> list[Manifest]:
        """The archives of a year that records lie in. Raises NothingToDo."""
        found = [one for one in self.archives.in_force() if one.year == year]
        if not found:
            back = any(one.year == year for one in self.archives.found()[0])
            what = f"the records of {year} are back already" if back else f"there is no archive of {year}"
            raise NothingToDo(what, "", "see `nanomem lifecycle plan`")
        return found

    def restore(self, year: int) -> Operation:
        """Bring the records of a year back from its archives. Raises NothingToDo, Refused for a damaged archive."""
        self._settle()
        with self.runs.alone():
            found = self.archives_of(year)
            changes = [
                Change(
                    LAYER,
                    f"archive/{one.name}",
                    {"sha256": one.sha256, "records": one.records, "counts": one.counts},
                    None,
                )
                for one in found
            ]
            label = f"restore {year}: {counted(sum(one.records for one in found), 'record')} from its archive"
            return self._perform(new_operation(RESTORE, label, changes))

    def search(self, question: str, limit: int = 20) -> list[TierHit]:
        """The records of archives that hold words of a question. What could not be read is told by the doctor."""
        return self.archives.search(question, limit)[0]


def told(counts: Mapping[tuple[str, What], int]) -> str:
    """What was done, in words: `3 goals, 120 tool calls to long-term memory; 5,040 metrics averaged by hour`."""
    parts = []
    for what, words in _WORDS.items():
        some = [counted(rows, kind.replace("-", " ")) for (kind, did), rows in counts.items() if did == what and rows]
        parts += [f"{', '.join(some)} {words}"] if some else []
    return "; ".join(parts)


def _ago(now: datetime, days: int) -> datetime | None:
    """So many days before; None where there is no such time."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return None


# -- the layer of operations ------------------------------------------------------------------------------------------

LAYER = "lifecycle"


def run_change(run: Run, dues: Sequence[Due], counts: Mapping[str, int]) -> Change:
    """The change of a run: what was due, and how many rows that were."""
    before = {due.kind.name: [due.what, due.before] for due in dues}
    return Change(LAYER, f"run/{run.id}", None, {"began_at": run.began_at, "due": before, "rows": dict(counts)})


class LifecycleLayer:
    """How operations run the lifecycle, and take runs back."""

    name = LAYER

    def __init__(self, runs: Runs, archives: Archives) -> None:
        self._runs = runs
        self._archives = archives

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict or Refused when a run, or an archive, is not what a change starts from."""
        for change in changes:
            what, key = _split(change.key)
            if what == "run":
                self._runs.check(key, back=change.after is None)
            else:
                self._archives.check(key, back=change.after is None)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any of it was begun."""
        for change in changes:
            what, key = _split(change.key)
            if what == "archive":
                begun = self._archives.state(key) in (
                    ("leaving", "archived") if change.after is not None else ("returning", "restored")
                )
            else:
                run = self._runs.get(key)
                states = ("open", "redoing", "done") if change.after is not None else ("undoing", "undone")
                begun = run is not None and run.state in states
            if begun:
                return True
        return False

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make it true; goes on where a killed process stopped."""
        for change in changes:
            what, key = _split(change.key)
            with self._runs.alone(WAIT):
                if what == "archive":
                    (self._archives.leave if change.after is not None else self._archives.bring_back)(key)
                elif change.after is not None:
                    self._do(key, change.after)
                elif (run := self._runs.get(key)) is not None:
                    self._runs.take_back(run)

    def resume(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Finish what a process began that was killed; a run that is still open is not done."""
        self.apply(operation, changes)

    def _do(self, key: str, value: Mapping[str, Any]) -> None:
        run = self._runs.get(key)
        if run is None or run.state in ("undoing", "undone", "redoing"):  # taken back, and to be done again
            run = Run(key, value["began_at"], "redoing")
            self._runs.keep(run, "redoing")
            dues = [Due(kind_of(name), what, before) for name, (what, before) in value["due"].items()]
            self._runs.carry_out(run, dues, clock.iso(clock.now()))
        self._runs.keep(run, "done")


def _split(key: str) -> tuple[str, str]:
    """Raises BadInput for what neither a run nor an archive is called."""
    what, slash, name = key.partition("/")
    if not slash or what not in ("run", "archive"):
        raise BadInput("no part of the lifecycle", key, "it was written by a newer nanomem")
    return what, name


# -- the thread that looks --------------------------------------------------------------------------------------------

LOOK = 60.0
"""Seconds between two looks."""
BEGIN = 300.0
"""Seconds before the first one: a program that is open for a moment moves nothing."""


class Looking(Repeating):
    """Looks whether a run is due, for a program that stays open without a console; ends once the batch that is under
    way is done. `step` looks, runs what it finds due, and never raises; it is given `stopped`."""

    def __init__(self, step: Callable[..., object], every: float = LOOK, first: float = BEGIN) -> None:
        super().__init__("nanomem-lifecycle", self._look, first)
        self._look_once = step
        self._every = every

    def _look(self, stopped: Callable[[], bool]) -> float:
        self._look_once(stopped=stopped)
        return self._every
