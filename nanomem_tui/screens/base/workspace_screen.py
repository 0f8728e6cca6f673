"""The base of every main screen: the workspace, changes in a thread, dialogs, drafts, and the cursor after an undo.

A main screen is a subclass that the registry of screens names. It reads in ``load`` and ``detail`` (threads) through
``self.ws``, changes through ``await self.change(...)``, and is reloaded by the app when a layer that it shows
changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from textual import on
from textual.screen import ModalScreen, Screen

from nanomem_tui.actions import BY_NAME, Context, keys_of
from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.screens.base.console import Console, Running, show_last_turn
from nanomem_tui.screens.base.list_screen import ListDetailScreen, View
from nanomem_tui.screens.registry import shared_action
from nanomem_tui.store.files.user import Drafts
from nanomem_tui.tabs import list_after, tab_of
from nanomem_tui.widgets.bars import FilterBar, say, say_error
from nanomem_tui.widgets.key_queue import RowsToCome

if TYPE_CHECKING:
    from nanomem_tui.opening import Opening
    from nanomem_tui.widgets.text_view import Block
    from nanomem_tui.workspace import Workspace


# What is being written when the console is ended from outside, or a merge is put away, is kept, and offered where the
# same is edited again.


def keep_drafts(console: Console) -> None:
    """Keep what every open editor holds and nobody saved; where nothing can be written that is lost."""
    from nanomem_tui.screens.merge_dialog import MergeScreen
    from nanomem_tui.widgets.dialogs import EditScreen  # dialogs are no part of the start

    for shown in console.screen_stack:
        if isinstance(shown, EditScreen | MergeScreen) and (text := shown.draft) is not None:
            with contextlib.suppress(OSError, NanomemError):
                Drafts(console.opening.paths).save(*shown.draft_of, text)


def offer_draft(console: Console, dialog: Screen[Any]) -> None:
    """Begin an editor with the draft that belongs to it."""
    from nanomem_tui.widgets.dialogs import EditScreen

    if isinstance(dialog, EditScreen) and (text := Drafts(console.opening.paths).load(*dialog.draft_of)) is not None:
        dialog.take_draft(text)


def close_draft(console: Console, dialog: Screen[Any], answer: object) -> None:
    """An editor was saved or left by who saw its draft: it goes. A merge that was put away is kept as one."""
    from nanomem_tui.screens.merge_dialog import MergeScreen
    from nanomem_tui.widgets.dialogs import EditScreen

    if isinstance(dialog, EditScreen):
        Drafts(console.opening.paths).drop(*dialog.draft_of)
    elif isinstance(dialog, MergeScreen) and answer is None:
        Drafts(console.opening.paths).save(*dialog.draft_of, dialog.draft)
        say(console.main_screen, "Not saved, and kept: edit the file again to go on with both sides of it", "warning")


def announce_drafts(console: Console) -> None:
    """Say that there are some."""
    if number := Drafts(console.opening.paths).count():
        text = f"{counted(number, 'text')} not saved yet: edit the same again, it is kept there"
        say(console.main_screen, text, "warning")


NAME = 20  # cells of the name of a workspace in the title

Row = TypeVar("Row")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


class RowsBack(NamedTuple):
    """What tells which rows an undo brought back: the ids that were shown before, and the keys that it touched (None
    until it is done)."""

    before: frozenset[str]
    keys: frozenset[str] | None = None


class WorkspaceScreen(RowsToCome, ListDetailScreen[Row], Generic[Row]):
    """A list-and-detail screen on the app's workspace."""

    def __init__(self) -> None:
        super().__init__()
        self._made_for: Opening | None = None
        self._wanted_row: str | None = None
        self._rows_back: RowsBack | None = None
        self._doing = ""  # the action that a key began last
        self._under_way: Running | None = None  # what runs beside the keys

    @property
    def console(self) -> Console:
        """The app, as what it is."""
        return cast("Console", self.app)

    @property
    def ws(self) -> Workspace:
        """The workspace. The first use opens it: ask in a thread, as ``load`` and ``detail`` are.

        It stays the one that the screen was made for, also in a thread that goes on when the console is on another.
        """
        return (self._made_for or self.console.opening).workspace()

    def on_mount(self) -> None:
        """Belong to the workspace of now."""
        self._made_for = self.console.opening

    def _compositor_refresh(self) -> None:
        """Textual paints after each of the layouts of a start; what the terminal shows by then is as good as these."""
        if not self.console.frames_wait:
            super()._compositor_refresh()

    @property
    def reading(self) -> bool:
        """Whether rows or the detail of the row at the cursor are still to come."""
        if self._loading or not self.is_mounted:
            return True
        row = self.table.cursor_row
        return row is not None and bool(self.detail_pane.display) and self._detail_of != self.row_id(row)

    @property
    def rows_to_come(self) -> bool:
        """Whether a key would meet no rows yet, or those of the filter or of the question before."""
        old = self._loading and (not self.table.rows or self._from_top)
        return not self.is_mounted or old or self.listing.view_to_come

    def do_next_list(self) -> None:
        """To the next list of this tab."""
        self.console.go(list_after(self.SCREEN))

    def do_previous_list(self) -> None:
        """To the list before in this tab."""
        self.console.go(list_after(self.SCREEN, -1))

    def workspace_context(self) -> Context:
        """Dirty, undo, agent: as the app last saw them."""
        return self.console.context_for(self.SCREEN)

    def key_of(self, action: str) -> str:
        """The key that does an action, as the settings have it; "" for one of the palette only."""
        return next(iter(keys_of(BY_NAME[action], self.console.moved_keys)), "")

    async def action_do(self, name: str) -> None:
        """Do an action. Back first stops what runs beside the keys, as is said on every screen; where it leads nowhere
        else it ends a tour."""
        if name == "back" and self.console.stop_running():
            self.app.clear_notifications()
            return
        if name == "back" and self.at_rest and self.console.toured(self.SCREEN, name):
            return
        self._doing = name
        await super().action_do(name)
        if name == "reload":
            self.console.paint_anew()
        if name != "back" and not isinstance(self.app.screen, ModalScreen):  # else it is done when that is answered
            self.console.toured(self.SCREEN, name)

    def handler_of(self, name: str) -> Callable[[], Any] | None:
        """Return what does an action: `do_<name>` of this screen or the app, or one of `registry.SHARED_ACTIONS`."""
        own = super().handler_of(name)
        shared = None if own is not None else shared_action(name)
        return own if shared is None else partial(shared, self)

    async def change(self, work: Callable[[Workspace], Operation | Sequence[Operation]]) -> list[Operation]:
        """Do `work` in a thread and show what became of it. Raises the errors of the tree; nothing is shown then.

        The keys typed meanwhile wait their turn, so that each acts on what the one before it left.
        """
        self.console.still_on(self._made_for or self.console.opening)
        return await self.console.change(work)

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """Operations were done that touch what this screen shows: show it. Reads everything again unless overridden."""
        self.reload()

    def drop_rows(self, decided: Callable[[Row], bool]) -> None:
        """Take decided rows out at once, so that the next key means the next row; then read everything again."""
        rows = [row for row in self.listing.rows if not decided(row)]
        if len(rows) < len(self.listing.rows):
            self.listing.set_rows(rows)
            self._make_view()
        self.reload()

    def is_about(self, row: Row, keys: frozenset[str]) -> bool:
        """Whether a row is, or is about, one of the things with these keys."""
        return self.row_id(row) in keys

    def expect_rows_back(self) -> None:
        """An undo or a redo begins: remember which rows are shown."""
        self._rows_back = RowsBack(frozenset(map(self.row_id, self.table.rows)))

    def rows_stay(self) -> None:
        """It failed."""
        self._rows_back = None

    def go_to_rows_back(self, operations: Sequence[Operation]) -> None:
        """It is done: put the cursor on the first row that came back, at once or when it has been read."""
        if self._rows_back is None:
            return
        keys = {change.key for one in operations for change in one.changes if change.after is not None}
        keys |= {key for one in operations for key in (one.undoes, one.redoes) if key}
        self._rows_back = self._rows_back._replace(keys=frozenset(keys))
        if self.is_mounted and not self._loading and not self.listing.view_to_come:
            self._go_to_rows_back()

    def _go_to_rows_back(self) -> None:
        if self._rows_back is None or self._rows_back.keys is None:
            return
        before, keys = self._rows_back.before, self._rows_back.keys
        self._rows_back = None
        shown = {self.row_id(row): row for row in self.table.rows}
        new = [name for name in shown if name not in before]
        found = next((name for name in new if self.is_about(shown[name], keys)), None)
        found = found or next((name for name in shown if name in keys), None)
        found = found or next((name for row in self.listing.rows if (name := self.row_id(row)) in keys), None)
        found = found or next(iter(new), None)
        if found is not None:
            self.show_row(found)

    def ask(self, dialog: ModalScreen[Answer], then: Callable[[Answer], Awaitable[None]]) -> None:
        """Show `dialog`; do `then` with its answer unless it is None or False. Errors of the tree become toasts."""
        doing = self._doing

        async def answered(answer: Answer | None) -> None:
            try:
                close_draft(self.console, dialog, answer)
                if answer is None or answer is False:
                    return
                await then(answer)
                self.console.toured(self.SCREEN, doing)
            except Exception as error:  # noqa: BLE001 - as for any action: said in words
                say_error(self, error)

        self.app.clear_notifications()  # they would lie over its keys
        offer_draft(self.console, dialog)
        self.app.push_screen(dialog, answered)

    def edit_outside(self, text: str) -> str:
        """What the person's own editor makes of `text`. Raises what the editor does; the console is back then."""
        from nanomem_tui.terminal import editor

        editor.editor_command()  # without one the terminal is not given away
        with self.app.suspend():
            try:
                edited: str | Exception = editor.edit_text(text)
            except Exception as error:  # noqa: BLE001 - raised when the terminal is ours again
                edited = error
        if isinstance(edited, Exception):
            raise edited
        return edited

    def confirm(
        self, title: str, blocks: Sequence[Block], then: Callable[[bool], Awaitable[None]], **options: str
    ) -> None:
        """Show what will change and do `then` after a yes; `options` are those of `ConfirmScreen`."""
        from nanomem_tui.widgets.dialogs import ConfirmScreen  # dialogs are no part of the start

        self.ask(ConfirmScreen(title, blocks, **options), then)

    def do_last_turn(self) -> None:
        """To the turn that ran last."""
        show_last_turn(self.console)

    def do_tour(self) -> None:
        """The lines for who is here for the first time, or a walk where it was left."""
        from nanomem_tui.widgets.tour import FIRST, Tour

        left = self.console.tour
        again = left is not None and left.go_on()
        self.console.begin_tour(left if again else Tour(FIRST, self.console.moved_keys, self.console.ascii_only))

    def say_totals(self) -> None:
        """Say again how many rows there are."""
        self._say_totals()

    def also_said(self) -> list[str]:
        """Which workspace this is, where several are known."""
        name = self.console.state.name
        return [f"in {one_line(name, NAME)}"] if name else []

    def do_elsewhere(self, screen: str, name: str, row: str = "") -> None:
        """Go to another screen and, when its rows are there, do an action; `row`: on those whose id holds that."""
        self.console.do_elsewhere(screen, name, row)

    def do_back(self) -> None:
        """One step back; from the list, with nothing to clear, to the first list of the tab."""
        filtered = self.listing.filter.source or self.query_one(FilterBar).is_open
        clear = not (self.table.selected or filtered or self._zoomed)
        if not (self._pane == "list" and clear and self.leave()):
            super().do_back()

    def leave(self) -> bool:
        """Go back to the first list of this tab; False where this is the first."""
        tab = tab_of(self.SCREEN)
        first = tab.lists[0].screen if tab is not None else self.SCREEN
        if first != self.SCREEN:
            self.console.go(first)
        return first != self.SCREEN

    # Work of minutes, beside the keys, with what it is at and a key that stops it

    async def beside_the_keys(self, work: Callable[[Running], Awaitable[Result]], run: Running) -> Result:
        """Do `work`, in a worker of the group "dream", while what `run` is at is said each second and esc stops it.

        Raises what `work` raises.
        """
        self._under_way = run
        self.console.under_way.append(run)

        def tell() -> None:
            self.say_progress(run.words())

        tell()
        timer = self.set_interval(1, tell)
        try:
            return await work(run)
        finally:
            timer.stop()
            self._under_way = None
            self.console.under_way.remove(run)

    def say_progress(self, words: str) -> None:
        """Say what it is at."""
        say(self, words)

    def none_runs(self) -> None:
        """Raise Refused while one runs."""
        if self._under_way is not None:
            raise Refused(f"{self._under_way.what} runs already", "", "esc stops it")

    def on_unmount(self) -> None:
        """The console ends: so does a Dream, before it writes."""
        if self._under_way is not None:
            self._under_way.stopped.set()

    # The cursor

    def show_row(self, row_id: str) -> None:
        """Put the cursor on a row, at once or when it has been read; says so when there is none."""
        self._wanted_row = row_id
        if self.is_mounted and not self._loading:
            self._go_to_wanted()

    def _go_to_wanted(self) -> None:
        wanted, self._wanted_row = self._wanted_row, None
        if wanted is None or self.table.move_to_id(wanted):
            return
        if self.listing.filter and any(self.row_id(row) == wanted for row in self.listing.rows):
            self._wanted_row = wanted
            self.filter_by("")
        else:
            say(self, f"{wanted} is not here", "warning")

    def _show_view(self, view: View[Row]) -> None:
        super()._show_view(view)
        self.console.rows_came.set()
        if view.rows or not self._loading:
            self.console.release_keys()
        if self._wanted_row is not None and view.done and not self._loading:
            self._go_to_wanted()
        if view.done and not self._loading:
            self._go_to_rows_back()

    @on(ListDetailScreen.LoadFailed)
    def _keys_after_failure(self) -> None:
        self.rows_stay()
        self.console.rows_came.set()
        self.console.release_keys()

    def on_screen_resume(self, event: Any) -> None:
        """Shown again: show the state of the workspace now, and what changed meanwhile."""
        self.console.screen_shown(self)
