"""The app's workspace: which one it is on, how that one's settings look, and going to another in the same process.

Owns what is kept apart between two workspaces: whatever was read of one, or chosen in it, ends with it. What runs is
waited for or refused, what waits is saved, screens begin anew. Must not know what a screen shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from textual.filter import Monochrome, NoColor
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender

from nanomem_tui.core.errors import NanomemError, Refused, in_words
from nanomem_tui.core.paths import usual_name
from nanomem_tui.keymap import remap, staying_keys
from nanomem_tui.looking import State
from nanomem_tui.screens import drafting
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.terminal.display import Display, wants_thin
from nanomem_tui.widgets.bindings import as_keymap, key_names
from nanomem_tui.widgets.key_order import KeysInOrder, caught_up
from nanomem_tui.widgets.look import PlainBars, choose_theme
from nanomem_tui.widgets.real_cursor import RealCursor
from nanomem_tui.widgets.toast import say, say_error
from nanomem_tui.widgets.touring import Touring

if TYPE_CHECKING:
    from nanomem_tui.dreaming import Dreaming
    from nanomem_tui.known import Known
    from nanomem_tui.opening import Opening
    from nanomem_tui.screens.dreaming import Running
    from nanomem_tui.store.operations import OwnChanges
    from nanomem_tui.workspace import Workspace

PATIENCE = 5.0  # seconds that a look, or a Dream by schedule that was told to stop, may take to end
STEP = 0.01
REST = 1.0  # seconds after which nothing that ended with the workspace before is still on its way
AT_WORK = frozenset({"dream", "transfer", "elsewhere"})  # groups of workers that change something
FIRST = "items"
"""The screen that another workspace begins with."""

Result = TypeVar("Result")


class Switching(Touring, KeysInOrder, Display, RealCursor):
    """An app on one workspace at a time."""

    state: State
    opening: Opening
    visited: Mapping[Path, str] = MappingProxyType({})
    """The workspaces that it was on, the last one last, and what those that are made up are called."""
    own_changes: Mapping[Path, OwnChanges] = MappingProxyType({})
    """What was changed in this console, of each workspace that it was on."""
    under_way: list[Running]  # what runs beside the keys, on whatever screen it was begun
    schedule: Dreaming
    changing: asyncio.Lock
    first_screen: str
    ascii_asked: bool  # on the command line: that holds for each workspace
    _looking = False  # whether a look at the workspace is under way
    _switched: asyncio.Event | None = None  # while another workspace is being opened

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
            raise in_words(error) from error

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
        self.look()
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
            drafting.keep_drafts(self)
            trouble, _ = await asyncio.gather(asyncio.to_thread(before.close), asyncio.to_thread(opening.read))
            self.take_opening(opening, known.name)
            self.begin_anew()
            await self._new_screens()
        if trouble is not None:
            what = f"every change is saved; the agent's files are written later: {trouble.what}"
            say(self.main_screen, what, "warning", f"{usual_name(before.paths)} was not saved")
        drafting.tell_drafts(self)

    def begin_anew(self) -> None:
        """Forget what the app itself holds of the workspace before."""
        raise NotImplementedError

    def look(self) -> None:
        """Look at the workspace in a thread."""
        raise NotImplementedError

    def still_on(self, opening: Opening) -> None:
        """Raise Refused where the console is on another workspace than that by now: nothing meant for one reaches the
        other."""
        if self.opening is not opening:
            raise Refused("the console is on another workspace now", "", "nothing was changed")

    async def _end_work(self) -> None:
        """Wait for what ends by itself. Raises Refused where something goes on that a person began."""
        for run in self.under_way:
            raise Refused(f"{run.what} runs here", "", "esc stops it")
        if self.app in WorkspaceScreen.RECORDERS:
            raise Refused("a macro is recorded here", "", "# ends it")
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

    async def keys_done(self) -> None:
        """A key that led to another workspace has done all when that is there."""
        await super().keys_done()
        if self._switched is not None:
            with contextlib.suppress(TimeoutError):  # a disk that hangs keeps nobody from leaving
                await asyncio.wait_for(self._switched.wait(), 2 * PATIENCE)
            await super().keys_done()


def let_go_of_garbage() -> None:
    """What was held of the workspace before goes; the rows of long lists are kept out of the usual search for that."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _located(known: Known, visited: Mapping[Path, str]) -> Opening:
    """The other workspace, with its settings; nothing of it is read yet. Raises why it cannot be opened."""
    from nanomem_tui.core import config, paths
    from nanomem_tui.opening import Opening

    found = paths.locate(known.place)
    return Opening(found, config.load(found), made_up=visited.get(found.workspace, ""))
