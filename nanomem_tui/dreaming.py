"""Dreams, facts and the lifecycle by schedule while the console is open: beside the checkpoints, in a thread.

Owns when the schedule is looked at and what is said of it. What is due, and what a Dream does, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from textual.worker import get_current_worker

from nanomem_tui.core import clock
from nanomem_tui.core.errors import Refused, in_words
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.workspace import Workspace

SCHEDULE_SECONDS = 30.0  # between two looks at the schedule
BEFORE_DREAMING = timedelta(minutes=5)
"""How long a console is open before the first Dream by schedule: who only has a look changes nothing."""


class Dreaming:
    """The schedule of an open console."""

    def __init__(self, app: NanomemApp, opened: datetime | None = None) -> None:
        self._app = app
        self._opening = app.opening
        self._opened = opened or clock.now()
        self._said: set[str] = set()
        self._stopped = self.busy = False

    def look(self) -> None:
        """Look at the schedule in a thread, unless a look, or the Dream that came of it, is under way."""
        busy = any(worker.group == "schedule" and not worker.is_finished for worker in self._app.workers)
        if self._opening.opened is not None and not busy and not self._stopped:
            self.busy = True
            self._app.run_worker(self._in_thread, group="schedule", thread=True, exit_on_error=False)

    def stop(self) -> None:
        """The console goes to another workspace: look no more, and end what is under way at its next step."""
        self._stopped = True

    def go_on(self) -> None:
        """It stays."""
        self._stopped = False

    def _in_thread(self) -> None:
        worker = get_current_worker()

        def stopped() -> bool:
            return self._stopped or worker.is_cancelled

        try:
            for look in (consolidate_if_due, dream_if_due, crystallize_if_due, move_if_due):
                said, wrong = ("", False) if stopped() else look(self._opening.workspace(), self._opened, stopped)
                if said and said not in self._said and not stopped():
                    self._said = {*(one for one in self._said if one[:5] != said[:5]), said}
                    self._app.call_from_thread(say, self._app.main_screen, said, "warning" if wrong else "information")
        finally:
            self.busy = False


def consolidate_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """Archive the oldest part of sessions that are over their budget: as `dream_if_due`. Never raises."""
    if clock.now() < opened + BEFORE_DREAMING:
        return "", False
    try:
        done = ws.consolidator.consolidate_due(stopped=stopped)
    except Refused:  # another process is at it
        return "", False
    except Exception as error:  # noqa: BLE001 - said in a notice; the next look tries again
        return f"Consolidation: {in_words(error).line()}", True
    return (f"Consolidation: {'; '.join(operation.label for operation, _ in done)}" if done else ""), False


def dream_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """A Dream when the schedule asks for one: what is to be said of it, "" for nothing, and whether it went wrong.

    `opened`: when the console was. `stopped` is asked between the steps of a Dream. Never raises.
    """
    from nanomem_tui.dreams.schedule import Schedule

    try:
        outcome = Schedule(ws).step(stopped=stopped, not_before=opened + BEFORE_DREAMING)
    except Exception as error:  # noqa: BLE001 - said in a notice; the next look tries again
        return f"Dream by schedule: {in_words(error).line()}", True
    if outcome.kind in ("dreamt", "passed", "failed"):
        return f"Dream by schedule: {outcome.said}", outcome.kind != "dreamt"
    return "", False


def crystallize_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """Facts looked for when the schedule asks for it: as `dream_if_due`. Never raises."""
    if not ws.settings.crystallize_schedule:
        return "", False
    from nanomem_tui.memory.facts.crystallize import CrystallizeSchedule

    try:
        outcome = CrystallizeSchedule(ws).step(stopped=stopped, not_before=opened + BEFORE_DREAMING)
    except Exception as error:  # noqa: BLE001 - said in a notice; the next look tries again
        return f"Facts by schedule: {in_words(error).line()}", True
    if outcome.kind in ("crystallized", "failed"):
        return f"Facts by schedule: {outcome.said}", outcome.kind == "failed"
    return "", False


def move_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """Old records moved to long-term memory, once a day: as `dream_if_due`. Never raises."""
    outcome = ws.lifecycle.step(stopped=stopped, not_before=opened + BEFORE_DREAMING)
    if outcome.kind in ("ran", "failed"):
        return f"Lifecycle: {outcome.said}", outcome.kind == "failed"
    return "", False
