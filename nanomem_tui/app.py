"""NanomemApp: wiring only. Screens by key, changes in a thread, undo, the checkpoint task, the look for what changed.

Screens do the work; the workspace does the reading and writing. What the app knows of the workspace between two looks
is the `State`, so that no key waits for a disk.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, partialmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual import events, on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.worker import get_current_worker

from nanomem_tui import clock
from nanomem_tui.actions import Context, remap
from nanomem_tui.errors import NanomemError
from nanomem_tui.operations import Operation
from nanomem_tui.screens.base import ListDetailScreen
from nanomem_tui.screens.registry import LAYER_OF_CHANGE, PLACES, make_screen
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.text import safe_text
from nanomem_tui.widgets.bars import Status
from nanomem_tui.widgets.look import THEME_NAMES, THEMES, choose_theme
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from textual.driver import Driver

    from nanomem_tui.config import Loaded
    from nanomem_tui.paths import Paths
    from nanomem_tui.workspace import Workspace

LOOK_SECONDS = 1.0
PRESENCE_LOOKS = 3  # looks between two looks for an agent's process
HOLD_SECONDS = 3.0  # the longest that keys typed before the first rows wait for them
LOOKED_BACK = 50  # operations
READING = frozenset({"load", "view", "detail", "keys"})  # groups of workers

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class State:
    """The workspace as it was at the last look."""

    agent: str = ""
    agent_alive: bool = False
    dirty: int = 0
    saved_at: str = ""
    saved_ms: float | None = None
    problems: int = 0
    degraded: str = ""
    read_only: str = ""
    can_undo: bool = False
    can_redo: bool = False


class NanomemApp(App[int]):
    """The console of one workspace."""

    TITLE = "nanomem"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    SCREENS: ClassVar[dict[str, Callable[[], Screen[Any]]]] = {name: partial(make_screen, name) for name in PLACES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "quit", show=False, priority=True),
        Binding("ctrl+c", "leave_hint", "quit", show=False),
    ]

    class Looked(Message):
        """From the looking thread: the state, and the layers that changed on disk since the look before."""

        def __init__(self, state: State, changed: frozenset[str]) -> None:
            super().__init__()
            self.state = state
            self.changed = changed

    def __init__(
        self,
        found: Paths,
        loaded: Loaded,
        *,
        ascii_only: bool = False,
        first_screen: str = "items",
        driver_class: type[Driver] | None = None,
        on_signal: Callable[[int], None] = lambda number: None,
    ) -> None:
        super().__init__(driver_class=driver_class)
        self.ascii_only = ascii_only or loaded.settings.ascii
        self.state = State()
        self._on_signal = on_signal
        self._paths = found
        self._loaded = loaded
        self._first_screen = first_screen
        self._place = first_screen
        self._place_before = first_screen
        self._workspace: Workspace | None = None
        self._opening = threading.Lock()
        self._changing = asyncio.Lock()
        self._looks = 0
        self._looking = False
        self._stale: set[str] = set()
        self._held: list[events.Key] | None = []
        self._releasing = False
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._theme(choose_theme(loaded.settings.theme or "auto", os.environ))

    def _theme(self, name: str) -> str:
        return name if name in self.available_themes else choose_theme("auto", os.environ)

    # The workspace

    @property
    def ws(self) -> Workspace:
        """The workspace; the first use opens it and takes some 50 ms, so ask for it in a thread."""
        with self._opening:
            if self._workspace is None:
                from nanomem_tui.workspace import Workspace

                self._workspace = Workspace(self._paths, self._loaded)
            return self._workspace

    @property
    def opened(self) -> Workspace | None:
        """The workspace when it has been opened, else None."""
        return self._workspace

    def context_for(self, screen: str) -> Context:
        """What actions on `screen` may know of the workspace: as it was at the last look."""
        state = self.state
        return Context(
            screen,
            dirty=state.dirty,
            agent_alive=state.agent_alive,
            can_undo=state.can_undo,
            can_redo=state.can_redo,
            read_only=state.read_only,
        )

    async def change(self, work: Callable[[Workspace], Operation | Sequence[Operation]]) -> list[Operation]:
        """Do `work` in a thread and show what it changed. Raises errors of the tree only."""
        async with self._changing:
            done = await self.in_thread(work)
        operations = [done] if isinstance(done, Operation) else list(done)
        layers = {LAYER_OF_CHANGE[change.layer] for one in operations for change in one.changes}
        if self._place != "ledger":
            self._stale.add("ledger")
        for name, place in PLACES.items():
            if place.shows(frozenset(layers)) and name != self._place:
                self._stale.add(name)
        shown = self.main_screen
        if isinstance(shown, WorkspaceScreen) and PLACES[self._place].shows(frozenset({*layers, "ledger"})):
            shown.operations_done(operations)
        self._look()
        return operations

    # Looking: checkpoints, what changed on disk, the state

    def on_mount(self) -> None:
        """Keys, signals, and the first look after the first frame."""
        keymap, problems = remap(self._loaded.settings.keys)
        self.set_keymap(keymap)
        for problem in problems:
            say(self.main_screen, problem, "warning")
        self._catch_signals()
        self.set_interval(LOOK_SECONDS, self._look)
        self.set_timer(HOLD_SECONDS, self.release_keys)

    def _look(self) -> None:
        if not self._looking and self._workspace is not None:
            self._looking = True
            self._looks += 1
            self._look_in_thread(self._looks)

    @work(thread=True, group="look", exit_on_error=False)
    def _look_in_thread(self, look: int) -> None:
        """The background task: a checkpoint when one is due, then what others changed, then the state of it all."""
        changed: frozenset[str] = frozenset()
        try:
            ws, trouble = self.ws, ""
            try:
                ws.checkpoint_if_due()
                changed = frozenset(ws.refresh())
            except (NanomemError, OSError) as error:
                trouble = error.line() if isinstance(error, NanomemError) else str(error)
            state = self._see(ws, look, bool(changed), trouble)
        except Exception as error:  # noqa: BLE001 - said in the status bar; the next look tries again
            state = replace(self.state, degraded=f"{type(error).__name__}: {error}")
        if not get_current_worker().is_cancelled:
            self.post_message(self.Looked(state, changed))

    def _see(self, ws: Workspace, look: int, changed: bool, trouble: str) -> State:
        saved = ws.checkpoint_state()
        moment = clock.parse(saved["last_at"])
        state = replace(
            self.state,
            dirty=saved["dirty"],
            saved_at=f"{moment.astimezone():%H:%M:%S}" if moment else "",
            saved_ms=saved["last_ms"],
            degraded=ws.degraded or trouble,
        )
        if look == 1 or changed or state.dirty != self.state.dirty or state.degraded != self.state.degraded:
            can_undo, can_redo = _what_can_be_taken_back(ws)
            state = replace(state, problems=len(ws.problems()), can_undo=can_undo, can_redo=can_redo)
        if look % PRESENCE_LOOKS == 1:
            agent = ws.agent()
            words = "dreaming" if agent.dreaming else "agent alive" if agent.running else "no agent"
            state = replace(state, agent=words, agent_alive=agent.running)
        return state

    @on(Looked)
    def _looked(self, event: Looked) -> None:
        self._looking = False
        self.state = event.state
        if event.changed:
            self._stale |= {name for name, place in PLACES.items() if place.shows(event.changed)}
        self.screen_shown(self.main_screen)

    def screen_shown(self, screen: Screen[Any]) -> None:
        """Bring a main screen up to date: the state of the workspace, and what changed while it was not shown."""
        name = screen.name or ""
        if screen is not self.main_screen or not screen.is_mounted or not isinstance(screen, ListDetailScreen):
            return
        screen.set_status(self._status())
        if name in self._stale:
            self._stale.discard(name)
            screen.reload()

    def _status(self) -> Status:
        state = self.state
        return Status(
            workspace=str(self._paths.workspace),
            agent=state.agent,
            dirty=state.dirty,
            checkpoint=state.saved_at,
            cost_ms=state.saved_ms,
            problems=state.problems,
            degraded=f"not saving: {state.degraded}" if state.degraded else "",
        )

    # Screens

    @property
    def main_screen(self) -> Screen[Any]:
        """The main screen, also while a dialog is over it."""
        return self.screen_stack[0]

    def get_default_screen(self) -> Screen[Any]:
        """The first screen is a real one: no empty frame before it."""
        return self.get_screen(self._first_screen)

    def go(self, name: str, row_id: str | None = None) -> None:
        """Show the main screen `name`, with the cursor on `row_id` when it is given."""
        screen = self.get_screen(name)
        if name != self._place:
            self._place, self._place_before = name, self._place
            self.switch_screen(name)
        if row_id is not None and isinstance(screen, WorkspaceScreen):
            screen.show_row(row_id)

    def go_back(self) -> None:
        """Show the main screen that was shown before."""
        self.go(self._place_before)

    do_go_items = partialmethod(go, "items")
    do_go_lessons = partialmethod(go, "lessons")
    do_go_sessions = partialmethod(go, "sessions")
    do_go_wal = partialmethod(go, "wal")
    do_go_dream = partialmethod(go, "dream")
    do_go_status = partialmethod(go, "status")
    do_ledger = partialmethod(go, "ledger")

    # What works everywhere

    async def do_undo(self) -> None:
        """Take back the last change of a person."""
        for operation in await self.change(lambda ws: ws.undo()):
            say(self.main_screen, f"{operation.label} (^r does it again)")

    async def do_redo(self) -> None:
        """Do again what was taken back."""
        for operation in await self.change(lambda ws: ws.redo()):
            say(self.main_screen, f"{operation.label} (u takes it back)")

    async def do_flush(self) -> None:
        """A checkpoint now, with exports."""
        result = await self.in_thread(lambda ws: ws.flush())
        wrote = f"; wrote {', '.join(result.exported)}" if result.exported else ""
        if result.operations or result.rows:
            rows = f"{result.rows:,} row{'s' if result.rows != 1 else ''}"
            say(self.main_screen, f"Saved {result.operations:,} changes, {rows} in {result.ms:,.0f} ms{wrote}")
        else:
            say(self.main_screen, f"Everything was saved already{wrote}")
        self._look()

    def do_theme(self) -> None:
        """The next theme."""
        at = THEME_NAMES.index(self.theme) if self.theme in THEME_NAMES else -1
        self.theme = THEME_NAMES[(at + 1) % len(THEME_NAMES)]
        say(self.main_screen, f"Theme: {self.theme}; keep it with `nanomem config set theme {self.theme}`")

    def do_quit(self) -> None:
        """Leave; what waits is saved on the way out."""
        self.exit(0)

    def action_leave_hint(self) -> None:
        """ctrl+c leaves a shell's program, not this one."""
        say(self.main_screen, "q leaves; nothing is lost")

    async def in_thread(self, work: Callable[[Workspace], Result]) -> Result:
        """Do `work` in a thread. Raises errors of the tree only."""
        try:
            return await asyncio.to_thread(lambda: work(self.ws))
        except NanomemError:
            raise
        except Exception as error:
            raise NanomemError(f"that did not work ({type(error).__name__}: {error})") from error

    # Keys typed before there are rows

    async def on_event(self, event: events.Event) -> None:
        """Keep the keys that were typed before the first rows were there; they get them, in order."""
        if self._held is not None and isinstance(event, events.Key) and not event.is_forwarded:
            self._held.append(event)
        else:
            await super().on_event(event)

    def release_keys(self) -> None:
        """The first rows, or the reason why there are none, are shown: keys count from now."""
        if self._held is not None and not self._releasing:
            self._releasing = True
            self.run_worker(self._replay(), group="keys", exit_on_error=False)

    async def _replay(self) -> None:
        while self._held:
            await super().on_event(self._held.pop(0))
            await self._quiet()
        self._held = None

    async def _quiet(self) -> None:
        """Wait until a key has done what it does, so that the next one goes where the focus is then."""
        for _ in range(200):
            await asyncio.sleep(0.001)
            pumps = [self, self.screen, *([self.focused] if self.focused else [])]
            if not any(pump.message_queue_size for pump in pumps):
                return

    # Pictures of it

    async def settled(self) -> None:
        """Wait until every thread that reads for a screen is done: for pictures and tests."""
        await self._quiet()
        while any(worker.group in READING for worker in self.workers if not worker.is_finished):
            await asyncio.sleep(0.005)
            await self._quiet()

    def screen_text(self) -> str:
        """What is on the screen, as plain text."""
        strips = self.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    # Endings

    def _catch_signals(self) -> None:
        if not self.is_headless and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._asked_to_end, number)

    def _asked_to_end(self, number: int) -> None:
        self._on_signal(number)
        self.exit(128 + number, return_code=128 + number)

    def _fatal_error(self) -> None:
        """A mistake of ours: its trace after the screen is restored, without the values of variables (memory text)."""
        self.panic(Text(safe_text(traceback.format_exc())))


def _what_can_be_taken_back(ws: Workspace) -> tuple[bool, bool]:
    """Whether there is something to undo and to redo, as far as the newest operations tell."""
    from nanomem_tui.store import oplog

    entries = ws.log(limit=LOOKED_BACK)
    return oplog.undo_target(entries) is not None or len(entries) == LOOKED_BACK, oplog.redo_target(entries) is not None
