"""NanomemApp: wiring only. Screens by key, changes in a thread, undo, checkpoints, switching workspaces.

Screens do the work; the workspace does the reading and writing. What the app knows of the workspace between two looks
is the `State`, so that no key waits for a disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial, partialmethod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual import events, on, work
from textual.binding import Binding, BindingType
from textual.filter import Monochrome, NoColor
from textual.message import Message
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.worker import get_current_worker

from nanomem_tui.actions import Context, first_key, in_one, remap, staying_keys
from nanomem_tui.background import (
    SCHEDULE_SECONDS,
    Scheduler,
    State,
    action_context,
    look_at_workspace,
    saved_words,
    saving_state,
    status_line,
    undo_state,
)
from nanomem_tui.core.errors import NanomemError, Refused, shown_error
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.paths import usual_name
from nanomem_tui.core.text import one_line, safe_text
from nanomem_tui.opening import Opening
from nanomem_tui.screens.base import workspace_screen
from nanomem_tui.screens.base.list_screen import ListDetailScreen
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.registry import LAYER_OF_CHANGE, PLACES, make_screen
from nanomem_tui.store.database.operation_log import OwnChanges
from nanomem_tui.terminal import SIGNALS
from nanomem_tui.terminal.frames import Display, wants_thin
from nanomem_tui.widgets.bars import say, say_error
from nanomem_tui.widgets.key_queue import KeysInOrder, RowsToCome, as_keymap, caught_up, key_names
from nanomem_tui.widgets.real_cursor import RealCursor
from nanomem_tui.widgets.theme import THEME_NAMES, THEMES, PlainBars, choose_theme
from nanomem_tui.widgets.tour import Touring

if TYPE_CHECKING:
    from textual.driver import Driver

    from nanomem_tui.screens.base.console import Running
    from nanomem_tui.widgets.bars import Status
    from nanomem_tui.workspace import Workspace
    from nanomem_tui.workspaces import Known


PATIENCE = 5.0  # seconds that a look, or a Dream by schedule that was told to stop, may take to end
STEP = 0.01
REST = 1.0  # seconds after which nothing that ended with the workspace before is still on its way
AT_WORK = frozenset({"dream", "transfer", "elsewhere"})  # groups of workers that change something
FIRST = "items"
"""The screen that another workspace begins with."""


def let_go_of_garbage() -> None:
    """What was held of the workspace before goes; the rows of long lists are kept out of the usual search for that."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _located(known: Known, visited: Mapping[Path, str]) -> Opening:
    """The other workspace, with its settings; nothing of it is read yet. Raises why it cannot be opened."""
    from nanomem_tui.core import config, paths

    found = paths.find_workspace(known.folder)
    return Opening(found, config.load(found), made_up=visited.get(found.workspace, ""))


LOOK_SECONDS = 1.0
FRAME_SECONDS = 0.1  # the longest that the first frame waits for the first rows
HOLD_SECONDS = 3.0  # the longest that keys typed before the first rows wait for them
ROWS_PATIENCE = 1.0  # seconds that a key waits for rows that the one before it asked for
ROWS_LOOK = 0.005  # seconds between two looks whether a dialog has them
SAID = 46  # cells of what was done, so that the way back is to be seen beside it
READING = frozenset({"load", "view", "detail", "look", "elsewhere", "dream", "counts"})  # groups of workers

Result = TypeVar("Result")


class NanomemApp(Touring, KeysInOrder, Display, RealCursor):
    """The console of one workspace at a time."""

    TITLE = "nanomem"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    SCREENS: ClassVar[dict[str, Callable[[], Screen[Any]]]] = {name: partial(make_screen, name) for name in PLACES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "quit", show=False, priority=True),
        Binding("ctrl+c", "leave_hint", "quit", show=False),
    ]

    state: State
    opening: Opening
    visited: Mapping[Path, str] = MappingProxyType({})
    """The workspaces that it was on, the last one last, and what those that are made up are called."""
    own_changes: Mapping[Path, OwnChanges] = MappingProxyType({})
    """What was changed in this console, of each workspace that it was on."""
    under_way: list[Running]  # what runs beside the keys, on whatever screen it was begun
    schedule: Scheduler
    changing: asyncio.Lock
    first_screen: str
    ascii_asked: bool  # on the command line: that holds for each workspace
    frames_wait = True  # until the first rows, or a tenth of a second without: the terminal shows the launcher's frame
    _looking = False  # whether a look at the workspace is under way
    _switched: asyncio.Event | None = None  # while another workspace is being opened

    class Looked(Message):
        """From the looking thread: the state, and the layers that changed on disk since the look before."""

        def __init__(self, state: State, changed: frozenset[str]) -> None:
            super().__init__()
            self.state = state
            self.changed = changed

    def __init__(
        self,
        opening: Opening,
        *,
        ascii_only: bool = False,
        first_screen: str = "items",
        driver_class: type[Driver] | None = None,
        on_signal: Callable[[int], None] = lambda number: None,
    ) -> None:
        super().__init__(driver_class=driver_class)
        self.ascii_asked, self.first_screen = ascii_only, first_screen
        self.changing = asyncio.Lock()
        self._on_signal = on_signal
        self._leaving = False
        self._first_rows = threading.Event()
        self.rows_came = asyncio.Event()  # set by a screen when it shows other rows, or why there are none
        for theme in THEMES:
            self.register_theme(theme)
        self.hold_keys()
        self.take_opening(opening)
        self._start_on(first_screen)
        self.take_theme()

    def _start_on(self, first_screen: str) -> None:
        """Nothing was looked at yet, and nothing is shown but the first screen."""
        self._place = self._place_before = first_screen
        self._looks = 0
        self._looking = self._changed_meanwhile = False  # the second: a change was made while a look was under way
        self._stale: set[str] = set()
        self._wrong_looks = [one for one in self.opening.loaded.problems if one.severity == "error"]

    def begin_anew(self) -> None:
        """Forget what the app itself holds of the workspace before."""
        self.first_screen = FIRST
        self._start_on(FIRST)
        self._clipboard, self.tour = "", None
        self.schedule = Scheduler(self, self.opening)
        self.clear_notifications()
        self.notice = ""
        self.rows_came.clear()
        self._tell_wrong_looks()

    def context_for(self, screen: str) -> Context:
        """What actions on `screen` may know of the workspace: as it was at the last look."""
        return action_context(self.state, screen)

    async def change(self, work: Callable[[Workspace], Operation | Sequence[Operation]]) -> list[Operation]:
        """Do `work` in a thread and show what it changed. Raises errors of the tree only."""
        opening = self.opening
        async with self.changing:
            self.still_on(opening)
            done = await self.in_thread(work)
            try:
                can_undo, can_redo = await self.in_thread(undo_state)
            except NanomemError:  # the change is made all the same; who undoes it is told what is wrong with the log
                can_undo, can_redo = True, False
            self.state = self.state._replace(can_undo=can_undo, can_redo=can_redo)
            self._changed_meanwhile = self._looking
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
        if "documents" in layers:
            for problem in filter(None, map(self.ws.documents.uncommitted, operations)):
                say(shown, f"{problem.what} ({problem.fix})", "warning", "Made without a commit")
        self.check_workspace()
        return operations

    # Looking: checkpoints, what changed on disk, the state

    def on_mount(self) -> None:
        """Keys, signals, and the first look after the first frame."""
        self._tell_wrong_looks()
        workspace_screen.announce_drafts(self)
        self._catch_signals()
        self.set_interval(LOOK_SECONDS, self.check_workspace)
        self.schedule = Scheduler(self, self.opening)
        self.set_interval(SCHEDULE_SECONDS, self._look_at_schedule)
        self.set_timer(FRAME_SECONDS, self.show_frames)
        self.set_timer(HOLD_SECONDS, self.release_keys)

    def _look_at_schedule(self) -> None:
        self.schedule.check_schedule()

    def _tell_wrong_looks(self) -> None:
        if self._wrong_looks:
            say(self.main_screen, in_one(self._wrong_looks), "warning")

    def check_workspace(self) -> None:
        """Look at the workspace in a thread, unless a look is under way: that one is followed by another when it
        may have missed a change."""
        if not self._looking and self.opened is not None and self._switched is None:
            self._looking = True
            self._looks += 1
            self._look_in_thread(self._looks)

    @work(thread=True, group="look", exit_on_error=False)
    def _look_in_thread(self, look: int) -> None:
        """The background task: a checkpoint when one is due, then what others changed, then the state of it all."""
        state, changed = look_at_workspace(self.ws, self.state, look)
        if not get_current_worker().is_cancelled:
            self.post_message(self.Looked(state, changed))

    @on(Looked)
    def _looked(self, event: Looked) -> None:
        self._looking = False
        if saving_state(event.state) != saving_state(self.state):
            self._stale.add("status")
        if self._changed_meanwhile:  # the look may have come before the change
            event.state = event.state._replace(can_undo=self.state.can_undo, can_redo=self.state.can_redo)
        named = event.state.name != self.state.name
        self.state = event.state
        if named and isinstance(shown := self.main_screen, WorkspaceScreen) and shown.is_mounted:
            shown.say_totals()
        if self.state.greeting:
            say(self.main_screen, self.state.greeting)
            self.state = self.state._replace(greeting="")
        if event.changed:
            self._stale |= {name for name, place in PLACES.items() if place.shows(event.changed)}
        self.screen_shown(self.main_screen)
        if self._changed_meanwhile:
            self._changed_meanwhile = False
            self.check_workspace()

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
        workspace = str(self.opening.paths.workspace)
        return status_line(self.state, workspace, self.notice, self.main_screen.name or "")

    def notice_changed(self) -> None:
        """The status bar shows what was said last."""
        self.screen_shown(self.main_screen)

    # Screens

    def get_default_screen(self) -> Screen[Any]:
        """The first screen is a real one: no empty frame before it."""
        screen = self.get_screen(self.first_screen)
        screen._push_result_callback(self, None)  # as for a pushed screen, so that it can be switched from
        return screen

    def go(self, name: str, row_id: str | None = None) -> None:
        """Show the main screen `name`, with the cursor on `row_id` when it is given."""
        screen = self.get_screen(name)
        if name != self._place:
            self._place, self._place_before = name, self._place
            self.clear_notifications()
            self.switch_screen(name)
        if row_id is not None and isinstance(screen, WorkspaceScreen):
            screen.show_row(row_id)

    def go_back(self) -> None:
        """Show the main screen that was shown before."""
        self.go(self._place_before)

    @work(group="elsewhere", exit_on_error=False)
    async def do_elsewhere(self, name: str, action: str, row: str = "") -> None:
        """Show the main screen `name` and do an action there, on the row that its cursor is on (`row`: of that id)."""
        self.go(name)
        await self.keys_done()
        shown = self.main_screen
        if isinstance(shown, ListDetailScreen):
            if row:
                shown.filter_by(f"id:{row.split(maxsplit=1)[0]}*")
                await self.keys_done()
            await shown.action_do(action)

    do_ledger = partialmethod(go, "ledger")

    def stop_running(self) -> bool:
        """Stop what was begun last of what runs beside the keys; False where nothing runs that is not told to yet."""
        run = next((run for run in reversed(self.under_way) if not run.stopped.is_set()), None)
        if run is not None:
            run.stopped.set()
            self.say_busy(run.words())
        return run is not None

    # What works everywhere

    async def do_undo(self) -> None:
        """Undo the newest change that was made in this console; the cursor goes to the row that comes back."""
        from nanomem_tui.screens.base.diffs import announce_undo

        for operation in await self._back_or_forth(lambda ws: ws.undo(own=True)):
            announce_undo(self.main_screen, operation)

    async def do_redo(self) -> None:
        """Do again what was undone in this console."""
        for operation in await self._back_or_forth(lambda ws: ws.redo(own=True)):
            say(self.main_screen, f"{one_line(operation.label, SAID)} (u undoes it)")

    async def _back_or_forth(self, work: Callable[[Workspace], Sequence[Operation]]) -> list[Operation]:
        shown = self.main_screen
        if not isinstance(shown, WorkspaceScreen):
            return await self.change(work)
        shown.expect_rows_back()
        try:
            operations = await self.change(work)
        except BaseException:
            shown.rows_stay()
            raise
        shown.go_to_rows_back(operations)
        return operations

    async def do_flush(self) -> None:
        """A checkpoint now, with exports."""
        say(self.main_screen, saved_words(await self.in_thread(lambda ws: ws.flush())))
        self.check_workspace()

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
        say(self.main_screen, f"{first_key('quit', self.moved_keys)} quits; everything is saved")

    # Keys typed before there are rows

    def show_frames(self) -> None:
        """Paint from now on, all that there is to begin with."""
        if self.frames_wait:
            self.frames_wait = False
            self.screen.refresh()

    def release_keys(self) -> None:
        """The first rows, or the reason why there are none, are shown: keys count from now."""
        if not self._first_rows.is_set():
            self.show_frames()
            self.call_after_refresh(self._first_rows.set)
            self.give_out_keys()

    async def keys_done(self) -> None:
        """Wait until the last key has done what it does, and the rows or the workspace that it asked for are there."""
        await super().keys_done()
        if self._switched is not None:
            with contextlib.suppress(TimeoutError):  # a disk that hangs keeps nobody from leaving
                await asyncio.wait_for(self._switched.wait(), 2 * PATIENCE)
            await super().keys_done()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROWS_PATIENCE):
                while isinstance(self.screen, WorkspaceScreen) and self._rows_to_come():
                    self.rows_came.clear()
                    await self.rows_came.wait()

    def acts_ahead(self, key: events.Key | events.Paste) -> bool:
        """So does a key that means a row of a dialog, ahead of the rows that were asked for."""
        return super().acts_ahead(key) or (self._means_a_row(key) and (self._typed or self._rows_to_come()))

    async def typed_before(self, key: events.Key | events.Paste) -> None:
        """Wait until what was typed stands where it was, and for a key that means a row of a dialog, until the rows of
        that are there."""
        await super().typed_before(key)
        for _ in range(int(ROWS_PATIENCE / ROWS_LOOK)):
            if not (self._means_a_row(key) and self._rows_to_come()):
                return
            await asyncio.sleep(ROWS_LOOK)

    def _means_a_row(self, key: events.Key | events.Paste) -> bool:
        shown = self.screen
        return isinstance(shown, RowsToCome) and isinstance(key, events.Key) and key.key in shown.ROW_KEYS

    def _rows_to_come(self) -> bool:
        return isinstance(self.screen, RowsToCome) and self.screen.rows_to_come

    def wait_for_first_rows(self) -> None:
        """In a thread: wait until the first rows are painted (or a second is over)."""
        self._first_rows.wait(1.0)

    # Pictures of it

    def _busy(self) -> bool:
        return self.keys_wait or self._switched is not None or self._reading()

    async def settled(self, seconds: float = 20) -> None:
        """Wait until what the shown screen reads is on it: for pictures and tests. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self._busy():
                await self.keys_done()  # what was read last is on its way to the screen
                if not self._busy():
                    return
            await asyncio.sleep(0.005)
        raise TimeoutError("the screen still reads")

    def _reading(self) -> bool:
        shown = self.main_screen
        busy = self._looking or any(worker.group in READING and not worker.is_finished for worker in self.workers)
        return busy or (isinstance(shown, WorkspaceScreen) and shown.reading)

    def screen_text(self) -> str:
        """What is on the screen, as plain text."""
        strips = self.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    # The workspace that it is on, and going to another

    def take_opening(self, opening: Opening, name: str = "") -> None:
        """Be on a workspace: nothing is known of it yet, and the console looks as its settings say."""
        settings = opening.loaded.settings
        self.opening = opening
        self.own_changes = {**self.own_changes, opening.paths.workspace: opening.own_changes}
        others = {place: called for place, called in self.visited.items() if place != opening.paths.workspace}
        self.visited = {**others, opening.paths.workspace: opening.made_up}
        self.state = State(name=name, called=opening.made_up)
        self.under_way = []
        self.ascii_only = self.ascii_asked or settings.ascii
        self.write_thin(wants_thin(settings.thin_output, os.environ))
        ScrollBar.renderer = PlainBars if self.ascii_only else ScrollBarRender
        self.moved_keys, _ = remap(settings.keys)
        self.shows_cursor, self.reduced_motion = settings.real_cursor, settings.reduced_motion
        self.set_keymap(as_keymap(self.moved_keys))
        self.staying_keys = key_names(staying_keys(self.moved_keys))

    def take_theme(self) -> None:
        """Look as the settings say, or as this terminal needs."""
        wanted = choose_theme(self.opening.loaded.settings.theme or "auto", os.environ)
        self.theme = wanted if wanted in self.available_themes else choose_theme("auto", os.environ)
        if self.no_color:  # Textual chose its filter for the theme before, which turns "default" into black
            self._filters = [NoColor() if isinstance(one, Monochrome) else one for one in self._filters]

    @property
    def ws(self) -> Workspace:
        """The workspace; the first use opens it and takes some 50 ms, so ask for it in a thread."""
        return self.opening.workspace()

    @property
    def opened(self) -> Workspace | None:
        """The workspace when it has been opened, else None."""
        return self.opening.opened

    @property
    def main_screen(self) -> Screen[Any]:
        """The main screen, also while a dialog is over it."""
        return self.screen_stack[0]

    async def in_thread(self, work: Callable[[Workspace], Result]) -> Result:
        """Do `work` in a thread, on the workspace of now. Raises errors of the tree only."""
        opening = self.opening
        try:
            return await asyncio.to_thread(lambda: work(opening.workspace()))
        except NanomemError:
            raise
        except Exception as error:
            raise shown_error(error) from error

    # Going to another

    def switch_to(self, known: Known, then: Callable[[], None] | None = None) -> None:
        """Go to another workspace; `then` is done once its first screen is there. Why it cannot be is said."""
        if self._switched is None:
            self._switched = asyncio.Event()
            self.keep_keys()
            self.run_worker(self._switch(known, then), group="switch", exit_on_error=False)

    async def _switch(self, known: Known, then: Callable[[], None] | None) -> None:
        try:
            await self._leave_for(known)
            if then is not None:
                then()
        except Exception as error:  # noqa: BLE001 - the console stays where it is, and says why
            self.schedule.go_on()
            self.say_busy("")
            say_error(self.main_screen, error)
        finally:
            if self._switched is not None:
                self._switched.set()
            self._switched = None
        self.check_workspace()
        with contextlib.suppress(Refused):
            await self._until(lambda: not getattr(self.main_screen, "reading", False), "rows are read")
        await asyncio.sleep(REST)
        let_go_of_garbage()

    async def _leave_for(self, known: Known) -> None:
        """Refused or failed, nothing has changed; else the old workspace is saved and let go of before its screens are.

        Both happen at once: the first rows of the other are read while what waits here is written.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                opening = await asyncio.to_thread(_located, known, self.visited)
        except TimeoutError:
            raise Refused(f"{known.name} does not answer", known.path, "is its disk there?") from None
        opening.own_changes = self.own_changes.get(opening.paths.workspace, opening.own_changes)
        self.say_busy(f"Opening {known.name} …")
        await self._end_work()
        async with self.changing:
            before = self.opening
            workspace_screen.keep_drafts(self)
            trouble, _ = await asyncio.gather(asyncio.to_thread(before.close), asyncio.to_thread(opening.read))
            self.take_opening(opening, known.name)
            self.begin_anew()
            await self._new_screens()
        if trouble is not None:
            what = f"every change is saved; the agent's files are written later: {trouble.what}"
            say(self.main_screen, what, "warning", f"{usual_name(before.paths)} was not saved")
        workspace_screen.announce_drafts(self)

    def still_on(self, opening: Opening) -> None:
        """Raise Refused where the console is on another workspace than that by now: nothing meant for one reaches the
        other."""
        if self.opening is not opening:
            raise Refused("the console is on another workspace now", "", "nothing was changed")

    async def _end_work(self) -> None:
        """Wait for what ends by itself. Raises Refused where something goes on that a person began."""
        for run in self.under_way:
            raise Refused(f"{run.what} runs here", "", "esc stops it")
        busy = [worker for worker in self.workers if worker.group in AT_WORK and not worker.is_finished]
        if busy or not await caught_up(self.main_screen):
            raise Refused("what was begun here is not done yet", "", "wait for it")
        self.schedule.stop()
        await self._until(lambda: not self.schedule.busy, "a Dream by schedule is under way")
        await self._until(lambda: not self._looking, "a checkpoint is under way")

    async def _until(self, true: Callable[[], bool], why: str) -> None:
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                raise Refused(why, "", "wait for it")
            await asyncio.sleep(STEP)

    async def _new_screens(self) -> None:
        """Screens of this workspace in the place of all that there are."""
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        old = [screen for screen in self._installed_screens.values() if isinstance(screen, Screen)]
        self._installed_screens.clear()
        self._installed_screens.update(self.SCREENS)
        self.take_theme()
        await self.switch_screen(self.first_screen)
        for screen in old:
            if screen.is_attached:
                await screen.remove()

    # Endings

    def _catch_signals(self) -> None:
        if not self.is_headless and threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                asyncio.get_running_loop().add_signal_handler(number, self.asked_to_end, number)

    async def _shutdown(self) -> None:
        self._leaving = True
        await super()._shutdown()

    def _handle_exception(self, error: Exception) -> None:
        """A mistake of ours ends the app; but a thread that reports to a screen which is going away is none."""
        if not (self._leaving or self._exit):
            super()._handle_exception(error)

    def asked_to_end(self, number: int) -> None:
        """Save, keep what is being typed, and leave: a signal asked for it, or the tab of a browser closed."""
        self._on_signal(number)
        workspace_screen.keep_drafts(self)
        self.exit(128 + number, return_code=128 + number)

    def _fatal_error(self) -> None:
        """A mistake of ours: its trace after the screen is restored, without the values of variables (memory text)."""
        workspace_screen.keep_drafts(self)
        self.panic(Text(safe_text(traceback.format_exc())))


for _name in PLACES:  # the actions go_<name>
    setattr(NanomemApp, f"do_go_{_name}", partialmethod(NanomemApp.go, _name))
