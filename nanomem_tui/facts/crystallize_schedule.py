"""Facts that are looked for by themselves, at the times of `crystallize_schedule`: whether one is due, and what it did.

Owns the schedule's own memory (one small file). A run that fails is tried again, later each time, over the same
messages: how far sessions were read moves only with a run that kept what it found. Whoever has a clock calls `step`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import Refused, in_words
from nanomem_tui.core.schedule import cron_next, zone_of
from nanomem_tui.core.settings import OFF
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.facts.crystallize import Crystallized, Crystallizer

RETRY, LATEST = timedelta(minutes=1), timedelta(hours=1)
"""How long after a first failure the next try is; twice as long after each more, and never longer than the second."""
BUSY = timedelta(minutes=1)
_SAID = 300  # characters of an error

Kind = Literal["off", "waiting", "busy", "nothing", "crystallized", "failed", "stopped"]


class Host(Protocol):
    """What the schedule asks of a workspace."""

    @property
    def paths(self) -> Paths:
        """Where things are."""

    @property
    def settings(self) -> Settings:
        """The settings in force."""

    @property
    def crystallizer(self) -> Crystallizer:
        """Who finds facts."""


class Outcome(NamedTuple):
    """What a step came to, in words too; `next_at` is when the next one is worth a look (None: when it is off)."""

    kind: Kind
    said: str
    next_at: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as the command line prints it."""
        return {"kind": self.kind, "said": self.said, "next_at": clock.iso(self.next_at) if self.next_at else None}


class _Stopped(Refused):
    """Whoever runs the schedule wants it to end."""


class _Memory(NamedTuple):
    """The last try: when (UTC ISO), how often it failed since the last success, and why."""

    at: str = ""
    failures: int = 0
    error: str = ""


class CrystallizeSchedule:
    """The schedule of one workspace."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._file = host.paths.data / "crystallize-schedule.json"

    def why_off(self) -> str:
        """Why nothing is looked for by itself; "" when something is."""
        settings = self._host.settings
        if not settings.crystallize_schedule:
            return "crystallize_schedule is not set"
        return OFF if not settings.memory_enabled else ""

    def next_at(self) -> datetime:
        """When the next run is due; a time that is over when it is due now."""
        memory, now = self._read(), clock.now()
        last = min(clock.parse(memory.at) or now, now)  # clocks are put back
        due = cron_next(self._host.settings.crystallize_schedule, last, zone_of(self._host.paths))
        if memory.failures:
            return min(due, last + min(RETRY * (1 << min(memory.failures - 1, 20)), LATEST))
        return due

    def status(self) -> dict[str, Any]:
        """`on`, `why`, `cron`, `next_at` and `last_at` (UTC ISO or None), `failures`, `error`."""
        why, memory = self.why_off(), self._read()
        return {
            "on": not why,
            "why": why or "crystallize_schedule is set",
            "cron": self._host.settings.crystallize_schedule or None,
            "next_at": None if why else clock.iso(self.next_at()),
            "last_at": memory.at or None,
            "failures": memory.failures,
            "error": memory.error or None,
        }

    def step(self, *, stopped: Callable[[], bool] = lambda: False, not_before: datetime | None = None) -> Outcome:
        """Look for facts when it is due. Never raises for a run that fails: that is told, and tried again later.

        `stopped` is asked while sessions are read and a model is asked: then nothing was changed. The first look sets
        the clock, so that a schedule begins with its next time. Raises the errors of the file system.
        """
        if why := self.why_off():
            return Outcome("off", why)
        if not self._read().at:
            atomic.make_folder(self._host.paths.data)
            self._write(_Memory(clock.iso(clock.now())))
        due = max(filter(None, (self.next_at(), not_before)))
        if clock.now() < due:
            return self._waiting(due)
        try:
            with self._host.crystallizer.alone():
                due = self.next_at()  # another schedule may have been quicker
                return self._waiting(due) if clock.now() < due else self._run(stopped)
        except Refused as error:
            return Outcome("busy", error.what, clock.now() + BUSY)

    def _waiting(self, due: datetime) -> Outcome:
        return Outcome("waiting", f"facts: not due before {clock.local_naive(due)[:16].replace('T', ' ')}", due)

    def _run(self, stopped: Callable[[], bool]) -> Outcome:
        def watch(_what: str) -> None:
            if stopped():
                raise _Stopped("it was stopped", "", "nothing was changed")

        memory = self._read()
        crystallizer = self._host.crystallizer
        try:
            done = crystallizer.by_itself(crystallizer.plan(new_only=crystallizer.places() is not None, watch=watch))
        except _Stopped as error:
            return Outcome("stopped", error.what)
        except Exception as error:  # noqa: BLE001 - what somebody said may break an extractor in any way
            known = in_words(error)
            self._write(_Memory(clock.iso(clock.now()), memory.failures + 1, one_line(known.line(), _SAID)))
            due = self.next_at()
            return Outcome(
                "failed", f"{known.line()}; tried again at {clock.local_naive(due)[:16].replace('T', ' ')}", due
            )
        self._write(_Memory(clock.iso(clock.now())))
        return Outcome("crystallized" if done.operation else "nothing", told(done), self.next_at())

    def _read(self) -> _Memory:
        """What was written last; of a file that is broken, nothing: the schedule begins anew."""
        try:
            found = json.loads(files.read(self._file))
            at, failures, error = found["at"], found["failures"], found["error"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return _Memory()
        fits = isinstance(at, str) and isinstance(failures, int) and isinstance(error, str)
        return _Memory(at, max(0, failures), error) if fits else _Memory()

    def _write(self, memory: _Memory) -> None:
        atomic.write_atomic(self._file, json.dumps(memory._asdict(), ensure_ascii=False).encode("utf-8", "replace"))


def told(done: Crystallized) -> str:
    """What a run did, in a sentence."""
    read = f"read {counted(done.plan.dialogue.messages, 'message')}"
    if done.operation is None:
        return f"{read}: no new fact"
    return f"{read}: {done.operation.label.removeprefix('crystallize: ')}"
