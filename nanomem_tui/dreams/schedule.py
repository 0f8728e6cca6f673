"""Run Dreams (`DreamSchedule`) and look for facts (`CrystallizeSchedule`) on a schedule: when each is due, and retries.

Owns the state of each schedule (one small file) and the lock that lets one process at a time look at it. A failed Dream
is retried later each time, over fewer entries each time, until one entry is left: that one is read by rules or skipped,
so that no entry blocks the others. Whoever has a clock calls `step`; starts no thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from nanomem_tui.agents import releases as agents_layout
from nanomem_tui.agents.releases import zone_of
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.clock import cron_next
from nanomem_tui.core.errors import (
    ModelError,
    ModelUnavailable,
    NanomemError,
    NothingToDo,
    Refused,
    StoreError,
    shown_error,
)
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import OFF, cron_trouble
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.agents.releases import Layout
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.dreams.log import Queue
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.dreams.service import Dreams
    from nanomem_tui.memory.facts.crystallize import Crystallized, Crystallizer
    from nanomem_tui.store.files.presence import Presence

RETRY = timedelta(minutes=1)
"""How long after a first failure the next try is; twice as long after each more, up to a limit of the schedule."""
LATEST_CRYSTALLIZE = timedelta(hours=1)
"""That limit for facts; for Dreams it is their interval."""
BUSY = timedelta(minutes=1)
_ALONE = 2  # failures over a single entry, until it is read by rules, or passed over
_KEPT = 20  # entries that were passed over, as they are told
_SAID = 300  # characters of an error
_NOTHING = "nothing new to dream about"
_HELD = "a person took back the last Dream; none by itself until somebody runs one (`nanomem dream run`)"
_FIRST_WITH_DREAM, _FIRST_WITH_SWITCH = (0, 1, 5), (0, 2, 1)

Kind = Literal["off", "waiting", "busy", "nothing", "dreamt", "passed", "crystallized", "failed", "stopped"]


class Host(Protocol):
    """What every schedule asks of a workspace."""

    @property
    def paths(self) -> Paths:
        """Where things are."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""


class DreamHost(Host, Protocol):
    """What the schedule of Dreams asks of a workspace."""

    @property
    def layout(self) -> Layout:
        """Which agent wrote this home."""

    @property
    def dream(self) -> Dreams:
        """The Dreams."""

    def agent(self) -> Presence:
        """Return the agent that runs here."""

    def leading(self, work: str) -> AbstractContextManager[bool]:
        """Return whether this process does a piece of work for all that share the memory; held until the end."""


class CrystallizeHost(Host, Protocol):
    """What the schedule of facts asks of a workspace."""

    @property
    def crystallizer(self) -> Crystallizer:
        """Who finds facts."""


class Plan(NamedTuple):
    """Whether Dreams run by themselves, and why; `every`, or at the times of the `cron` expression.

    `trouble` says what is wrong with a cron expression that was set and is not used, "" for nothing.
    """

    on: bool
    why: str
    every: timedelta
    cron: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class LastTry:
    """The last try of a schedule: when (UTC ISO), how often it failed since the last success, and why.

    Of Dreams, `size`: entries to read next time, 0 as many as set. `alone`: how often the single entry behind `cursor`
    failed. `passed`: cursors of the entries that were passed over.
    """

    at: str = ""
    failures: int = 0
    error: str = ""
    size: int = 0
    alone: int = 0
    cursor: int = -1
    passed: tuple[int, ...] = ()


class Outcome(NamedTuple):
    """What a step came to, in words too; `next_at` is when the next one is worth a look (None: when it is off)."""

    kind: Kind
    said: str
    next_at: datetime | None = None
    result: DreamResult | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as the command line prints it, without the result."""
        return {"kind": self.kind, "said": self.said, "next_at": clock.iso(self.next_at) if self.next_at else None}


class _Stopped(Refused):
    """Whoever runs the schedule wants it to end."""


class Schedule:
    """What both schedules share: the file of the last try, and how an outcome is reported."""

    name: str
    """The file is called after it."""

    def __init__(self, host: Host) -> None:
        self._file = host.paths.data / f"{self.name}-schedule.json"

    def next_at(self) -> datetime:
        """Return when the next run is due; a time that is over when it is due now."""
        raise NotImplementedError

    def _status(self, why_off: str, why_on: str, cron: str) -> dict[str, Any]:
        last = self._read()
        return {
            "on": not why_off,
            "why": why_off or why_on,
            "cron": cron or None,
            "next_at": None if why_off else clock.iso(self.next_at()),
            "last_at": last.at or None,
            "failures": last.failures,
            "error": last.error or None,
        }

    def _failed(self, last: LastTry, error: Exception, fewer: str = "") -> Outcome:
        """Write one failure more, and say when it is tried again."""
        line = shown_error(error).line()
        at, failures = clock.iso(clock.now()), last.failures + 1
        self._write(replace(last, at=at, failures=failures, error=one_line(line, _SAID)))
        due = self.next_at()
        return Outcome("failed", f"{line}; tried again at {clock.local_minute(due)}{fewer}", due)

    def _read(self) -> LastTry:
        """Return the last try; an empty one where the file is missing or broken: the schedule begins anew."""
        try:
            found = json.loads(files.read(self._file))
            found["passed"] = tuple(n for n in found.get("passed", ()) if isinstance(n, int))
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return LastTry()
        kept = {field.name: found.get(field.name, field.default) for field in fields(LastTry)}
        fits = all(isinstance(kept[field.name], type(field.default)) for field in fields(LastTry))
        return LastTry(**kept) if fits else LastTry()

    def _write(self, last: LastTry) -> None:
        atomic.write_atomic(self._file, json.dumps(asdict(last), ensure_ascii=False).encode("utf-8", "replace"))


def _waiting(due: datetime, what: str = "") -> Outcome:
    return Outcome("waiting", f"{what}not due before {clock.local_minute(due)}", due)


def _stop_between_steps(stopped: Callable[[], bool], what: str) -> Callable[[str], None]:
    def watch(_step: str) -> None:
        if stopped():
            raise _Stopped(f"{what} was stopped", "", "nothing was changed")

    return watch


class DreamSchedule(Schedule):
    """The schedule of the Dreams of one workspace."""

    name = "dream"

    def __init__(self, host: DreamHost) -> None:
        super().__init__(host)
        self._host = host
        self._lock = host.paths.data / "dream-schedule.lock"

    def plan(self) -> Plan:
        """Return whether Dreams run by themselves here, as the settings and the agent's configuration say now."""
        settings, paths = self._host.settings, self._host.paths
        every, cron = timedelta(hours=settings.dream_interval_h), settings.dream_cron
        trouble = cron_trouble(cron)
        if trouble:
            cron, trouble = "", f"the cron line {cron!r} is not understood ({trouble}), the interval counts"
        also = f"; {trouble}" if trouble else ""
        if settings.dream_schedule == "off":
            return Plan(False, "dream_schedule is off", every, cron, trouble)
        if settings.dream_schedule == "on":
            return Plan(True, f"dream_schedule is on{also}", every, cron, trouble)
        own = reason_agent_dreams(paths, self._host.layout, self._host.agent())
        if own:
            why = f"{own}; `nanomem config set dream_schedule on` runs ours all the same"
            return Plan(False, why, every, cron, trouble)
        return Plan(True, f"no agent dreams here by itself{also}", every, cron, trouble)

    def next_at(self, plan: Plan | None = None) -> datetime:
        """Return when the next Dream is due; a time that is over when it is due now."""
        plan, last, now = plan or self.plan(), self._read(), clock.now()
        times = [min(at, now) for at in (clock.parse(last.at), self._last_dream()) if at]  # clocks are put back
        if last.failures and times:
            return times[0] + backoff(last.failures, plan.every)
        newest = max(times, default=None)
        if plan.cron:
            return cron_next(plan.cron, newest or now, zone_of(self._host.paths))
        return now if newest is None else newest + plan.every

    def status(self) -> dict[str, Any]:
        """`on`, `why`, `every_h`, `cron`, `next_at` and `last_at` (UTC ISO or None), `failures`, `error`, `passed`."""
        plan = self.plan()
        why_on = _HELD if plan.on and self._host.dream.taken_back() else plan.why
        found = self._status("" if plan.on else plan.why, why_on, plan.cron)
        return {**found, "every_h": plan.every / timedelta(hours=1), "passed": list(self._read().passed)}

    def step(self, *, stopped: Callable[[], bool] = lambda: False, not_before: datetime | None = None) -> Outcome:
        """A Dream when one is due. Never raises for a Dream that fails: that is reported, and tried again later.

        `stopped` is asked between the steps of a Dream, which then ends with nothing changed. Raises the errors of
        the file system, and of a history that cannot be read.
        """
        plan = self.plan()
        if not plan.on:
            return Outcome("off", plan.why)
        due = max(filter(None, (self.next_at(plan), not_before)))
        if clock.now() < due:
            return _waiting(due)
        if not self._file.exists() and not _worth_a_try(self._host.dream.queue()):
            return Outcome("nothing", _NOTHING, clock.now() + BUSY)  # a home without Dreams stays as it is
        atomic.make_folder(self._host.paths.data)
        try:
            with atomic.locked(self._lock, wait=0):
                due = self.next_at(plan)  # another schedule may have been quicker
                if clock.now() < due:
                    return _waiting(due)
                with self._host.leading("dream") as leads:
                    if not leads:
                        return Outcome("busy", "a process on another machine is at it", clock.now() + BUSY)
                    return self._dream(plan, stopped)
        except Refused as error:
            if error.where != str(self._lock):
                raise
            return Outcome("busy", "another schedule is at it", clock.now() + BUSY)
        except StoreError as error:  # a server that is away cannot say who leads
            return Outcome("busy", error.line(), clock.now() + BUSY)

    def _dream(self, plan: Plan, stopped: Callable[[], bool]) -> Outcome:
        queue, memory = self._host.dream.queue(), self._read()
        if memory.cursor != queue.cursor:
            memory = replace(memory, size=0, alone=0, cursor=queue.cursor)

        if not _worth_a_try(queue):
            return self._well(plan, memory, "nothing", _NOTHING)
        if self._host.dream.taken_back():  # it would write again what was taken back
            return self._well(plan, memory, "nothing", _HELD)
        if memory.alone > _ALONE and queue.waiting:
            return self._pass_over(plan, memory, queue)
        try:
            result = self._host.dream.run(
                started_by="schedule",
                watch=_stop_between_steps(stopped, "the Dream"),
                max_batch_size=memory.size or None,
                dreamer="rules" if memory.alone == _ALONE else None,
            )
        except _Stopped as error:
            return Outcome("stopped", error.what)
        except NothingToDo:
            return self._well(plan, memory, "nothing", _NOTHING)
        except Exception as error:  # noqa: BLE001 - an entry may break a Dreamer in any way: that must not end the schedule
            if isinstance(error, Refused) and self._host.dream.running():
                return Outcome("busy", error.what, clock.now() + BUSY)
            return self._dream_failed(memory, queue, error)
        by_rules = memory.alone == _ALONE and self._host.settings.dreamer == "model"
        why = "; by rules, since the model failed at this entry" if by_rules else ""
        return self._well(plan, memory, "dreamt", describe_dream(result) + why, result)

    def _well(self, plan: Plan, memory: LastTry, kind: Kind, said: str, result: DreamResult | None = None) -> Outcome:
        self._write(LastTry(at=clock.iso(clock.now()), passed=memory.passed))
        return Outcome(kind, said, self.next_at(plan), result)

    def _dream_failed(self, memory: LastTry, queue: Queue, error: Exception) -> Outcome:
        size, alone = memory.size, memory.alone
        by_entry = not isinstance(error, (NanomemError, OSError)) or _refused_by_model(error)
        if by_entry or isinstance(error, ModelUnavailable):  # too slow for so many, perhaps
            tried = min(size or self._host.settings.dream_max_batch_size, len(queue.waiting))
            size, alone = max(1, tried // 2), alone + (by_entry and tried == 1)
        fewer = f", over {counted(size, 'entry', 'entries')}" if size else ""
        return self._failed(replace(memory, size=size, alone=alone), error, fewer)

    def _pass_over(self, plan: Plan, memory: LastTry, queue: Queue) -> Outcome:
        """Pass over an entry that every Dreamer failed at: it stays in the history, and the next ones are read."""
        cursor = queue.waiting[0].cursor
        self._host.dream.runner.pass_over(cursor, memory.error, started_by="schedule")
        passed = (*memory.passed, cursor)[-_KEPT:]
        said = f"entry {cursor} was passed over, no Dreamer could read it: {memory.error}"
        return self._well(plan, replace(memory, passed=passed), "passed", said)

    def _last_dream(self) -> datetime | None:
        """Return when anybody's Dream moved the cursor last."""
        try:
            return datetime.fromtimestamp(self._host.paths.dream_cursor.stat().st_mtime).astimezone()
        except (OSError, ValueError, OverflowError):
            return None


class CrystallizeSchedule(Schedule):
    """The schedule of facts, at the times of `crystallize_schedule`."""

    name = "crystallize"

    def __init__(self, host: CrystallizeHost) -> None:
        super().__init__(host)
        self._host = host

    def why_off(self) -> str:
        """Return why nothing is looked for by itself; "" when something is."""
        settings = self._host.settings
        if not settings.crystallize_schedule:
            return "crystallize_schedule is not set"
        return OFF if not settings.memory_enabled else ""

    def next_at(self) -> datetime:
        """Return when the next run is due; a time that is over when it is due now."""
        memory, now = self._read(), clock.now()
        last = min(clock.parse(memory.at) or now, now)  # clocks are put back
        due = cron_next(self._host.settings.crystallize_schedule, last, zone_of(self._host.paths))
        return min(due, last + backoff(memory.failures, LATEST_CRYSTALLIZE)) if memory.failures else due

    def status(self) -> dict[str, Any]:
        """`on`, `why`, `cron`, `next_at` and `last_at` (UTC ISO or None), `failures`, `error`."""
        return self._status(self.why_off(), "crystallize_schedule is set", self._host.settings.crystallize_schedule)

    def step(self, *, stopped: Callable[[], bool] = lambda: False, not_before: datetime | None = None) -> Outcome:
        """Look for facts when it is due. Never raises for a run that fails: that is reported, and tried again later.

        `stopped` is asked while sessions are read and a model is asked: then nothing was changed. The first look sets
        the clock, so that a schedule begins with its next time. Raises the errors of the file system.
        """
        if why := self.why_off():
            return Outcome("off", why)
        if not self._read().at:
            atomic.make_folder(self._host.paths.data)
            self._write(LastTry(clock.iso(clock.now())))
        due = max(filter(None, (self.next_at(), not_before)))
        if clock.now() < due:
            return _waiting(due, "facts: ")
        try:
            with self._host.crystallizer.alone():
                due = self.next_at()  # another schedule may have been quicker
                return _waiting(due, "facts: ") if clock.now() < due else self._run(stopped)
        except Refused as error:
            return Outcome("busy", error.what, clock.now() + BUSY)

    def _run(self, stopped: Callable[[], bool]) -> Outcome:
        crystallizer = self._host.crystallizer
        watch = _stop_between_steps(stopped, "it")
        try:
            done = crystallizer.by_itself(crystallizer.plan(new_only=crystallizer.places() is not None, watch=watch))
        except _Stopped as error:
            return Outcome("stopped", error.what)
        except Exception as error:  # noqa: BLE001 - what somebody said may break an extractor in any way
            return self._failed(self._read(), error)
        self._write(LastTry(clock.iso(clock.now())))
        return Outcome("crystallized" if done.operation else "nothing", describe_crystallized(done), self.next_at())


def _worth_a_try(queue: Queue) -> bool:
    """Return whether there is something to read, or a cursor ahead of all entries, which a Dream reports."""
    return bool(queue.waiting or queue.ahead)


def _refused_by_model(error: Exception) -> bool:
    """Return whether it may be what an entry says that a model has no use for; nobody there is no fault of an entry."""
    return isinstance(error, ModelError) and not isinstance(error, ModelUnavailable)


def backoff(failures: int, most: timedelta) -> timedelta:
    """Return the wait after so many failures in a row: a minute, doubled each time, up to `most`."""
    return min(RETRY * (1 << min(max(failures, 1) - 1, 20)), most)


def describe_dream(result: DreamResult) -> str:
    """Return what a Dream did, in a sentence."""
    read = counted(result.read, "entry", "entries")
    changed = ", ".join(f"{name} +{added} -{removed}" for name, (added, removed) in result.files.items())
    more = f", {counted(len(result.refused), 'edit')} for you to judge" if result.refused else ""
    if result.unreadable:
        from nanomem_tui.dreams.run import describe_passed_over

        more += f"; {describe_passed_over(result.unreadable)}"
    if changed and result.unread:
        from nanomem_tui.dreams.rules import describe_unread as not_read

        more += f"; {not_read(result.unread)}"
    return f"dreamt over {read}: {changed or result.unchanged}{more}"


def describe_crystallized(done: Crystallized) -> str:
    """Return what a run did, in a sentence."""
    read = f"read {counted(done.plan.dialogue.messages, 'message')}"
    if done.operation is None:
        return f"{read}: no new fact"
    return f"{read}: {done.operation.label.removeprefix('crystallize: ')}"


def reason_agent_dreams(paths: Paths, layout: Layout, agent: Presence) -> str:
    """Return why the agent of this home dreams by itself here, in words; "" when none does."""
    version = _version(layout.release)
    if version < _FIRST_WITH_DREAM:
        return ""
    found, _ = agents_layout.agent_settings(paths)
    if not _uses(paths, found.get("defaults", {}).get("workspace")):
        if not (agent.running and agent.what.startswith("nanobot")):
            return ""
        return f"{agent.what} runs here, and dreams by itself"
    told_not_to = found.get("dream", {}).get("enabled", True) is False
    if version < _FIRST_WITH_SWITCH and told_not_to:
        return (
            f"these files are those of {layout.release} to 0.2.1, of which only 0.2.1 reads "
            "agents.defaults.dream.enabled: an older one dreams by itself all the same"
        )
    if version < _FIRST_WITH_SWITCH:
        return f"{layout.release} dreams by itself"
    if told_not_to:
        return ""
    if paths.agent_config is None:
        return f"{layout.release} dreams by itself, and no configuration of it says otherwise"
    return "the agent's own Dream is enabled (agents.defaults.dream.enabled)"


def _version(release: str) -> tuple[int, ...]:
    """Return the numbers of `nanobot 0.3.5`; () for another system."""
    name, _, number = release.partition(" ")
    parts = number.split(".")
    return tuple(map(int, parts)) if name == "nanobot" and all(part.isdecimal() for part in parts) else ()


def _uses(paths: Paths, configured: object) -> bool:
    """Return whether this agent works on this workspace: unless its configuration plainly names another."""
    if not isinstance(configured, str) or not configured or configured.startswith("~"):
        return True  # its own default, wherever the home was moved to
    from pathlib import Path

    place = Path(configured)
    try:
        return not place.exists() or place.samefile(paths.workspace)
    except OSError:
        return True
