"""The lifecycle of work records (seed 004): old ones move from working memory to long-term memory, and none is lost.

Owns the table of how long each kind is kept (docs/decisions), when a run is due, and that a clock that jumped moves
nothing. `lifecycle_runs` carries a run out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.clock import Repeating
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo, Problem, Refused, shown_error
from nanomem_tui.core.operations import Change, Operation, Perform, new_key, new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.database.reading import OlderSchema
from nanomem_tui.store.work import aging, records, year_archive
from nanomem_tui.store.work.aging import Due, Run, What
from nanomem_tui.store.work.kinds import KINDS, TIERS, Tier, kind_of
from nanomem_tui.store.work.work_store import WorkStore
from nanomem_tui.store.work.year_archive import Manifest
from nanomem_tui.tiers import lifecycle_runs
from nanomem_tui.tiers.lifecycle_runs import UNDO_DAYS, WAIT, Archives, Runs, busy

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.core.paths import Paths


# -- How large each tier is, how fast it grows, and when it reaches the size that a person set ------------------------

GOAL_DAYS = 90
"""Days that goals and tasks that have ended stay in working memory."""
HOURLY_METRIC_DAYS = 365
"""Days that averages of an hour are kept."""
RECORD_DAYS, METRIC_DAYS = 30, 7
"""Days that records stay in working memory, and that metrics are kept as measured."""
CAPS_GB: Mapping[Tier, float] = {"working": 1.0, "longterm": 50.0}
"""Size of each tier beyond which a person is told; nothing is deleted because of it."""
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
        """Return how many rows of each kind there are in each tier."""
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
    now: datetime,
) -> Sizes:
    """Return how large everything is. `kept_days`: days after which a kind leaves its first tier, where it does."""
    room = records.room(connection)
    since = clock.iso(now - GROWTH_DAYS * DAY)
    found = [Table(kind.name, *numbers) for kind, numbers in records.tables_of(connection, since)]
    others = records.bytes_beside(connection)
    reckoned = sum(table.rows * table.row_bytes for table in found) + others
    share = min((room[0] - room[1]) / reckoned, MOST) if reckoned and room is not None else 1.0
    tables = tuple(table._replace(row_bytes=table.row_bytes * share) for table in found)
    forecasts = tuple(_forecast(tier, tables, kept_days, CAPS_GB[tier], now) for tier in TIERS)
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
        """Return the bytes so many days from now, if as much comes a day as in the last weeks, and what is there now
        leaves evenly within the days that its kind is kept; averages of hours are few, and no part of it."""
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
    """Return the sizes as the command line prints them."""
    if sizes is None:
        return {"file_bytes": 0, "forecast": []}
    return {"file_bytes": sizes.file_bytes, "forecast": [one._asdict() for one in sizes.forecasts]}


EVERY = timedelta(days=1)
LOOK, BEGIN = 60.0, 300.0
"""Seconds between two looks of a program without a console, and before the first: one that is open for a moment moves
nothing."""
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


class PlannedStep(NamedTuple):
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

    steps: tuple[PlannedStep, ...]
    sizes: Sizes | None
    refused: str = ""

    @property
    def rows(self) -> int:
        """How many rows it would deal with."""
        return sum(step.rows for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as the command line prints it."""
        steps = [step._asdict() for step in self.steps]
        return {"steps": steps, "refused": self.refused or None, **to_json(self.sizes)}


class FinishedRun(NamedTuple):
    """What a run did: rows per kind, the operation (None: nothing was due), and whether it was stopped early."""

    operation: Operation | None
    rows: Mapping[str, int]
    stopped: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what was done, as the command line prints it."""
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
        self.layer = LifecycleLayer(self.runs, self.archives)
        self._looking: Repeating | None = None

    # -- what is due ------------------------------------------------------------------------------------------------

    def kept_days(self) -> dict[str, int]:
        """Days that rows of a kind stay where they are; kinds that are not in it stay for good."""
        days = {kind: RECORD_DAYS for kind, _ in _ORDER}
        days |= {"task": GOAL_DAYS, "goal": GOAL_DAYS}
        days |= {"metric": METRIC_DAYS, "metric-hour": HOURLY_METRIC_DAYS}
        return {kind: number for kind, number in days.items() if number}

    def dues(self) -> list[Due]:
        """Return what is due: rows from a time, or older. Metrics leave by whole hours."""
        found = []
        for name, what in _ORDER:
            days = self.kept_days().get(name)
            before = _ago(clock.now(), days) if days else None
            if before is not None:
                if what == "averaged":
                    before = before.replace(minute=0, second=0, microsecond=0) - timedelta(microseconds=1)
                found.append(Due(KINDS[name], what, clock.iso(before)))
        return found

    def plan(self) -> LifecyclePlan:
        """Return what a run would do, how large everything is, and when it becomes too large. Changes nothing."""

        def read_plan(connection: Connection) -> LifecyclePlan:
            sizes = self._measured(connection)
            steps = []
            for due in self.dues():
                counted = aging.count(connection, due)
                size = int(counted.rows * sizes.row_bytes(due.kind.name))
                steps.append(
                    PlannedStep(due.kind.name, due.what, counted.rows, size, due.before, counted.oldest, counted.stay)
                )
            return LifecyclePlan(tuple(steps), sizes, _clock_trouble(connection))

        return self._database.ask(read_plan, LifecyclePlan((), None))

    def sizes(self) -> Sizes | None:
        """Return how large every tier is, and what becomes of it; None where nothing was ever written."""
        return self._database.ask(self._measured, None)

    def _measured(self, connection: Connection) -> Sizes:
        return measure(connection, self.kept_days(), clock.now())

    def clock_trouble(self) -> str:
        """Return why the clock is not believed, so that a run by itself would be refused; empty: it is."""
        return self._database.ask(_clock_trouble, "")

    # -- a run --------------------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        force: bool = False,
        started_by: str = "human",
        wait: float = 0.0,
        stopped: Callable[[], bool] = lambda: False,
        watch: Callable[[str, int], None] = lambda kind, rows: None,
    ) -> FinishedRun:
        """Do what is due, as one operation; what a killed process began is part of it.

        Raises Refused when another run is under way, and for a clock that may have jumped unless `force`.
        """
        if not self._database.exists:
            return FinishedRun(None, {})
        now = clock.iso(clock.now())
        self._settle()
        with self.runs.alone(wait):
            trouble = self.clock_trouble()
            if trouble and not force:
                raise Refused(trouble, "", "nothing was moved: set the clock, or add --force if it is right")
            if (kept := _ago(clock.now(), UNDO_DAYS)) is not None:
                self.runs.let_go(clock.iso(kept))  # first: a run that goes on began long ago, and can be undone
            self.archives.go_on()
            run = self.runs.go_on() or Run(new_key("run"), now, "open")
            dues = self.dues()
            done = self.runs.carry_out(run, dues, now, stopped, watch)
            counts = self._database.read(partial(aging.counts, run=run.id))
            rows = {kind: number for (kind, _), number in counts.items()}
            operation = None
            if counts:
                self._database.sync()  # the ledger tells nothing that a power cut could take back
                due = {due.kind.name: [due.what, due.before] for due in dues}
                change = Change(LAYER, f"run/{run.id}", None, {"began_at": run.began_at, "due": due, "rows": rows})
                meta = {"started_by": started_by, "rows": rows}
                label = f"lifecycle: {describe_outcome(counts)}"
                operation = self._perform(new_operation(KIND, label, [change], actor="compaction", meta=meta))
            if done:
                self._database.write(partial(self._end, now=now), durable=True)
                lifecycle_runs.tidy(self._database)
        return FinishedRun(operation, rows, not done)

    def _end(self, connection: Connection, now: str) -> None:
        """Note that a run ended."""
        records.set_note(connection, LAST, now)
        records.set_note(connection, LATEST, max(now, records.note(connection, LATEST) or ""))

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
            return Outcome("failed", shown_error(error).line())
        if ran.operation is None:
            return Outcome("nothing", "", self.next_at())
        return Outcome("ran", ran.operation.label.removeprefix("lifecycle: "), self.next_at())

    def start(self) -> None:
        """Look at the schedule in a thread until `close`, for a program that stays without a console."""
        if self._looking is None and self._settings.lifecycle_enabled:

            def read_plan(stopped: Callable[[], bool]) -> float:
                self.step(stopped=stopped)
                return LOOK

            self._looking = Repeating("nanomem-lifecycle", read_plan, BEGIN)
            self._looking.start()

    def close(self) -> None:
        """End that thread; a run that is under way ends after its batch."""
        if self._looking is not None:
            self._looking.stop()
            self._looking = None

    def held(self) -> bool:
        """Return whether a person took back the last run, so that only a person begins the next one."""
        newest = self._newest()
        return newest is not None and newest.undone

    def last_at(self) -> datetime | None:
        """Return when the last run ended; a time to come counts as now: clocks are put back."""
        noted = self._database.ask(lambda connection: records.note(connection, LAST), None)
        return clock.past_time(noted) if noted else None

    def next_at(self) -> datetime | None:
        """Return when the next run is due; None: there is nothing."""
        last = self.last_at()
        return last + EVERY if last is not None else clock.now() if self._database.exists else None

    def state(self) -> dict[str, Any]:
        """`enabled`, `held` (why none runs by itself), `refused` (why a clock is not believed), `last_at`, `next_at`
        (UTC ISO or None), `last` (what the last run did), `half_done`, `rows` by kind and tier, `file_bytes`,
        `forecast` by tier, `archives`."""
        newest = self._newest()
        held = newest is not None and newest.undone
        due = self.next_at() if self._settings.lifecycle_enabled else None
        last, sizes = self.last_at(), self.sizes()
        return {
            "enabled": self._settings.lifecycle_enabled,
            "held": _HELD if held else None,
            "refused": self.clock_trouble() or None,
            "last_at": clock.iso(last) if last is not None else None,
            "next_at": clock.iso(due) if due is not None else None,
            "last": newest.operation.label if newest is not None and not held else None,
            "half_done": len(self.runs.half_done()),
            "rows": sizes.rows() if sizes is not None else {},
            **to_json(sizes),
            "archives": [manifest.to_json() for manifest in self.archives.found()[0]],
        }

    # -- yearly archives ----------------------------------------------------------------------------------------------

    def archive_plan(self, year: int) -> dict[str, int]:
        """Count, by kind, the records of a year that an archive would take. Raises Refused for an open year."""
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
            change = Change(LAYER, f"archive/{made.name}", None, _value(made))
            return self._perform(new_operation(ARCHIVE, label, [change])), made

    def archives_of(self, year: int) -> list[Manifest]:
        """Return the archives of a year that records lie in. Raises NothingToDo."""
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
            changes = [Change(LAYER, f"archive/{one.name}", _value(one), None) for one in found]
            label = f"restore {year}: {counted(sum(one.records for one in found), 'record')} from its archive"
            return self._perform(new_operation(RESTORE, label, changes))


def _value(archive: Manifest) -> dict[str, Any]:
    return {"sha256": archive.sha256, "records": archive.records, "counts": archive.counts}


def _clock_trouble(connection: Connection) -> str:
    now = clock.now()
    last = clock.parse(records.note(connection, LATEST) or "")
    if last is not None and now - last > FAR:
        return f"the clock says {now:%Y-%m-%d}, and the last run was on {last:%Y-%m-%d}"
    stored = clock.parse(aging.last_stored(connection))
    if stored is not None and now - stored > FAR:
        return f"the clock says {now:%Y-%m-%d}, and the last record came on {stored:%Y-%m-%d}"
    return ""


def describe_outcome(counts: Mapping[tuple[str, What], int]) -> str:
    """Return what was done, in words: `3 goals, 120 tool calls to long-term memory; 5,040 metrics averaged by hour`."""
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
_BEGUN = {
    ("run", True): ("open", "redoing", "done"),
    ("run", False): ("undoing", "undone"),
    ("archive", True): ("leaving", "archived"),
    ("archive", False): ("returning", "restored"),
}
"""The states of a run or an archive in which it was begun to be done, or to be taken back."""


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
        """Return whether any of it was begun."""
        for change in changes:
            what, key = _split(change.key)
            run = self._runs.get(key) if what == "run" else None
            state = self._archives.state(key) if what == "archive" else run.state if run is not None else ""
            if state in _BEGUN[what, change.after is not None]:
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
            self._runs.save(run, "redoing")
            dues = [Due(kind_of(name), what, before) for name, (what, before) in value["due"].items()]
            self._runs.carry_out(run, dues, clock.iso(clock.now()))
        self._runs.save(run, "done")


def _split(key: str) -> tuple[str, str]:
    """Raises BadInput for what neither a run nor an archive is called."""
    what, slash, name = key.partition("/")
    if not slash or what not in ("run", "archive"):
        raise BadInput("no part of the lifecycle", key, "it was written by a newer nanomem")
    return what, name


# -- What the doctor says of the trail: damage of its file, archives, runs that were cut off, sizes -------------------

SECONDS = 5.0
"""How long the pages are looked at."""
SOON = 30
"""Days before a size is reached, in which that is told."""
LARGEST = 500_000_000
"""Bytes of an archive that is read whole."""
_KEPT = "it is kept as it is; an archive, a backup of nanomem's folder, or an import holds what is lost"


def problems(database: WorkStore, lifecycle: Lifecycle, paths: Paths) -> Iterator[Problem]:
    """Yield everything that is wrong with the records of a workspace."""
    where = database.where if database.is_remote else paths.relative(database.path)

    def read_plan(connection: Connection) -> list[Problem]:
        found, over = records.damages(connection, SECONDS)
        problems = [Problem(f"damaged: {one}", where, None, _KEPT) for one in found]
        if not over:
            what = f"its pages were looked at for {SECONDS:g} seconds, and not all of them"
            fix = f"`sqlite3 {database.path.name} 'PRAGMA quick_check'` looks at all"
            problems.append(Problem(what, where, None, fix, "note"))
        return problems

    if database.is_remote and database.path.exists():
        what = "records of before lie in this file, and database_url names a server: they are not shown"
        fix = "see `nanomem migrate-store --help`: it moves them, or left them behind"
        yield Problem(what, paths.relative(database.path), None, fix, "note")
    try:
        if database.is_of_first_edition:
            what, fix = "it is of the first edition", "the first command that writes takes it over and keeps a copy"
            yield Problem(what, "tiers.db", None, fix, "note")
        if not database.is_remote and database.path.exists() and not database.exists:
            yield Problem("it is empty: what it held is gone, or it was never filled", where, None, _KEPT, "warning")
        if database.exists:
            yield from database.read(read_plan)
            yield from _lifecycle(lifecycle, where)
    except OlderSchema as error:
        yield Problem(error.what, where, None, error.fix, "warning")
    except NanomemError as error:
        yield Problem(error.what, where, None, error.fix if "doctor" not in error.fix else _KEPT)
    yield from _archives(lifecycle)


def _lifecycle(lifecycle: Lifecycle, where: str) -> Iterator[Problem]:
    if left := lifecycle.runs.half_done():
        what = f"a run of the lifecycle of {left[0].began_at[:16]} was cut off"
        yield Problem(what, where, None, "`nanomem lifecycle run` goes on with it; no record is lost", "warning")
    found = lifecycle.clock_trouble()
    if found:
        yield Problem(found, where, None, "set the clock, or `nanomem lifecycle run --force` if it is right", "warning")
    sizes = lifecycle.sizes()
    for one in sizes.forecasts if sizes is not None else ():
        name = {"working": "working memory", "longterm": "long-term memory"}[one.tier]
        most = f"{CAPS_GB[one.tier]:g} GB"
        if one.days == 0:
            what = f"{name} has about {one.bytes / 1e9:.1f} GB, more than {most}; nothing is deleted because of that"
            yield Problem(what, where, None, "`nanomem lifecycle archive YEAR`", "warning")
        elif one.days is not None and one.days <= SOON:
            what = f"{name} reaches {most} about {one.reached}"
            yield Problem(what, where, None, "`nanomem lifecycle plan` tells how it grows", "note")


def _archives(lifecycle: Lifecycle) -> Iterator[Problem]:
    manifests, bad = lifecycle.archives.found()
    yield from bad
    folder = lifecycle.archives.folder
    for manifest in manifests:
        path = folder / f"{manifest.name}{year_archive.SUFFIX}"
        try:
            if manifest.state not in ("made", "restored"):
                year_archive.check(folder, manifest, whole=manifest.bytes <= LARGEST)
        except NanomemError as error:
            yield Problem(error.what, error.where, None, error.fix)
        if manifest.state in ("leaving", "returning"):
            what = f"a run that made the archive of {manifest.year}, or restored it, was cut off"
            yield Problem(
                what, str(path), None, "`nanomem lifecycle run` goes on with it; no record is lost", "warning"
            )
    known = {f"{name}{year_archive.SUFFIX}" for name in year_archive.names(folder)}
    for path in sorted(folder.glob(f"*{year_archive.SUFFIX}")):
        if path.name not in known:
            fix = "put its manifest (.json) back from a backup; it is kept as it is"
            yield Problem("an archive without its manifest", str(path), None, fix, "warning")
