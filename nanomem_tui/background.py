"""What the console does beside the keys: checkpoints, looking for what others changed, and work by schedule.

Everything here but the values runs in a thread and touches no screen.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.worker import get_current_worker

from nanomem_tui.actions import Context
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, Refused, shown_error
from nanomem_tui.core.text import counted
from nanomem_tui.widgets.bars import Status, say

if TYPE_CHECKING:
    from textual.app import App

    from nanomem_tui.dreams.schedule import CrystallizeSchedule, DreamSchedule
    from nanomem_tui.opening import Opening
    from nanomem_tui.store.files.presence import Presence
    from nanomem_tui.store.memory_store import CheckpointResult
    from nanomem_tui.workspace import Workspace


PRESENCE_LOOKS = 3  # looks between two looks for an agent's process
LONGEST_TURN = timedelta(minutes=30)
"""A turn that is open for longer has no end that the agent will write."""


class State(NamedTuple):
    """The workspace as it was at the last look."""

    agent: str = ""
    agent_alive: bool = False
    dirty: int = 0
    saved_at: str = ""
    saved_ms: float | None = None
    problems: int = 0
    inbox: int | None = None  # None: not counted yet
    degraded: str = ""
    only_exports: bool = False
    read_only: str = ""
    can_undo: bool = False
    can_redo: bool = False
    greeting: str = ""
    name: str = ""  # of the workspace, where more than one is known
    called: str = ""  # what it is called if nobody named it


def saving_state(state: State) -> tuple[object, ...]:
    """The part of it that says what is saved, for the Status screen to follow."""
    return state.dirty, state.saved_at, state.degraded, state.only_exports, state.agent


def saved_words(result: CheckpointResult) -> str:
    """What a checkpoint saved, as a sentence."""
    wrote = f"; wrote {', '.join(result.exported)}" if result.exported else ""
    if not (result.operations or result.rows):
        return f"Everything was saved already{wrote}"
    what = f"{counted(result.operations, 'change')}, {counted(result.rows, 'row')}"
    return f"Saved {what} in {result.ms:,.0f} ms{wrote}"


def action_context(state: State, screen: str) -> Context:
    """What actions on `screen` may know of the workspace."""
    return Context(
        screen,
        dirty=state.dirty,
        agent_alive=state.agent_alive,
        can_undo=state.can_undo,
        can_redo=state.can_redo,
        read_only=state.read_only,
    )


def waiting_words(dirty: int, only_exports: bool) -> str:
    """What is not where it belongs yet, for bar and screen alike; "" when all is.

    No change is at risk: each is in the database before it is shown. `only_exports`: what waits are the agent's files.
    """
    if only_exports:
        return "writing agent files"
    return f"{dirty:,} unsaved" if dirty else ""


def status_line(state: State, workspace: str, notice: str, screen: str = "") -> Status:
    """What the status bar of a screen says."""
    return Status(
        workspace=f"{state.name} {workspace}".strip(),
        agent=state.agent,
        checkpoint=state.saved_at,
        cost_ms=state.saved_ms,
        problems=state.problems,
        at_problems=screen == "status",
        inbox=state.inbox or 0,
        busy=notice,
        waiting=waiting_words(state.dirty, state.only_exports),
        degraded=f"not saving: {state.degraded}" if state.degraded else "",
    )


def look_at_workspace(ws: Workspace, before: State, look: int) -> tuple[State, frozenset[str]]:
    """A checkpoint when one is due, the layers that others changed, and the state after it. Never raises."""
    changed: frozenset[str] = frozenset()
    try:
        trouble = ""
        try:
            if look == 1:
                ws.start_collecting()
            ws.checkpoint_if_due()
            changed = frozenset(ws.refresh())
        except (NanomemError, OSError) as error:
            trouble = shown_error(error, "saving").line()
        return _see(ws, before, look, trouble, everything=bool(changed)), changed
    except Exception as error:  # noqa: BLE001 - said in the status bar; the next look tries again
        return before._replace(degraded=shown_error(error).line()), changed


def _see(ws: Workspace, before: State, look: int, trouble: str, everything: bool) -> State:
    saved = ws.checkpoint_state()
    moment = clock.parse(saved["last_at"])
    state = before._replace(
        dirty=saved["dirty"],
        saved_at=f"{moment.astimezone():%H:%M:%S}" if moment else "",
        saved_ms=saved["last_ms"],
        degraded=ws.degraded or trouble,
        only_exports=ws.store.only_exports_wait,
    )
    if ws.store.loaded and (everything or state.inbox is None or state != before):  # counting loads nothing
        from nanomem_tui.review.quarantine import Quarantine

        state = state._replace(inbox=Quarantine(ws).count())
    if everything or look == 1 or state != before:
        can_undo, can_redo = undo_state(ws)
        state = state._replace(problems=count_problems(ws), can_undo=can_undo, can_redo=can_redo)
    if look == 1 and not state.name:
        state = state._replace(name=_name_of(ws, state.called))
    if look == 1 and not ws.store.has_database:
        state = state._replace(greeting=_greeting(ws))
    if look % PRESENCE_LOOKS == 1:
        agent = ws.agent()
        state = state._replace(agent=agent_words(ws, agent), agent_alive=agent.running)
    return state


def _name_of(ws: Workspace, called: str) -> str:
    """The name of the workspace where more than one is known, so that it has to be said which this is."""
    from nanomem_tui.workspaces import list_workspaces

    listed = list_workspaces({ws.paths.workspace: called})
    here = listed.at(ws.paths.workspace)
    return here.name if here is not None and len(listed.workspaces) > 1 else ""


def agent_words(ws: Workspace, agent: Presence) -> str:
    """What the agent does now: whether a turn that it began is still open, where its turn logs tell, else that it
    lives."""
    if not agent.running or agent.dreaming:
        return "dreaming" if agent.running else "no agent"
    from nanomem_tui.memory.turns.wal_states import may_go_on
    from nanomem_tui.store.files.presence import running_since

    try:
        if not ws.wal.counts()["turns"]:
            return "agent alive"
        recent, began = clock.now() - LONGEST_TURN, running_since(ws.paths, agent)
        times = [clock.parse(turn.at) for turn in ws.wal.check() if may_go_on(turn, began)]
    except (NanomemError, OSError):  # told where problems are told
        return "agent alive"
    return "agent in a turn" if any(at is not None and at >= recent for at in times) else "agent idle"


def count_problems(ws: Workspace) -> int:
    """How many problems want attention."""
    return sum(problem.severity != "note" for problem in ws.problems())


def undo_state(ws: Workspace) -> tuple[bool, bool]:
    """Whether something that was done here is there to undo and to redo."""
    find = ws.store.journal.find
    return ws.own_changes.next_undo(find) is not None, ws.own_changes.next_redo(find) is not None


def _greeting(ws: Workspace) -> str:
    """What was found in a home that nanomem has never changed, in one line."""
    counts = (
        (ws.items.count()["total"] + len(ws.items.foreign()), "items"),
        (ws.lessons.count()["total"], "lessons"),
        (len(ws.sessions.list()), "sessions"),
        (ws.dream.status()["runs"], "Dreams"),
        (ws.wal.counts()["turns"], "turns in the WAL"),
    )
    found = ", ".join(f"{number:,} {what}" for number, what in counts if number) or "nothing yet"
    return f"{ws.layout.release}: {found}. ? shows the keys"


# Dreams, facts and the lifecycle by schedule while the console is open: beside the checkpoints, in a thread.

SCHEDULE_SECONDS = 30.0  # between two looks at the schedule
BEFORE_DREAMING = timedelta(minutes=5)
"""How long a console is open before the first Dream by schedule: who only has a look changes nothing."""


class Scheduler:
    """Does what is due by schedule while the console is open."""

    def __init__(self, app: App[Any], opening: Opening, opened: datetime | None = None) -> None:
        self._app = app
        self._opening = opening
        self._opened = opened or clock.now()
        self._said: set[str] = set()
        self._stopped = self.busy = False

    def check_schedule(self) -> None:
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
                    self._app.call_from_thread(
                        say, self._app.screen_stack[0], said, "warning" if wrong else "information"
                    )
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
        return f"Consolidation: {shown_error(error).line()}", True
    return (f"Consolidation: {'; '.join(operation.label for operation, _ in done)}" if done else ""), False


def dream_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """A Dream when the schedule asks for one: what is to be said of it, "" for nothing, and whether it went wrong.

    `opened`: when the console was. `stopped` is asked between the steps of a Dream. Never raises.
    """
    from nanomem_tui.dreams.schedule import DreamSchedule

    return _step(DreamSchedule(ws), "Dream", opened, stopped)


def crystallize_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """Facts looked for when the schedule asks for it: as `dream_if_due`. Never raises."""
    if not ws.settings.crystallize_schedule:
        return "", False
    from nanomem_tui.dreams.schedule import CrystallizeSchedule

    return _step(CrystallizeSchedule(ws), "Facts", opened, stopped)


def _step(
    schedule: DreamSchedule | CrystallizeSchedule, name: str, opened: datetime, stopped: Callable[[], bool]
) -> tuple[str, bool]:
    try:
        outcome = schedule.step(stopped=stopped, not_before=opened + BEFORE_DREAMING)
    except Exception as error:  # noqa: BLE001 - said in a notice; the next look tries again
        return f"{name} by schedule: {shown_error(error).line()}", True
    if outcome.kind in ("dreamt", "passed", "crystallized", "failed"):
        return f"{name} by schedule: {outcome.said}", outcome.kind in ("passed", "failed")
    return "", False


def move_if_due(ws: Workspace, opened: datetime, stopped: Callable[[], bool]) -> tuple[str, bool]:
    """Old records moved to long-term memory, once a day: as `dream_if_due`. Never raises."""
    outcome = ws.lifecycle.step(stopped=stopped, not_before=opened + BEFORE_DREAMING)
    if outcome.kind in ("ran", "failed"):
        return f"Lifecycle: {outcome.said}", outcome.kind == "failed"
    return "", False
