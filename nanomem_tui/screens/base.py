"""The screen that every list-and-detail screen is made from: list left, detail right, filter, status and keys.

Owns the panes, the detail and doing actions of the registry; the list itself is in `list_screen.py`. It knows no
workspace: a subclass says what the rows are and what one row has to tell.

A screen is a subclass with `SCREEN` set to its name in the registry of actions and these methods:

* ``columns()``, ``row_id(row)``: what the list shows.
* ``load()``: pages of rows; runs in a thread. The first page is shown at once, the rest when all is there.
* ``search_text(row)``, ``field(row, name)``: what ``/`` searches and judges.
* ``detail(row)``: the `Document` of a row; runs in a thread.
* ``do_<name>()``: an action of the registry, plain or async; looked for here, then in the app. `targets()` gives the
  rows that it means. An action that can't be done now says why and is not called.

Optional: ``sign``, ``dimmed``, ``facts`` (what `Context.has` holds for a row), ``open_row``, ``make_detail`` and
``show_detail`` (another widget on the right), ``workspace_context`` (dirty, undo, agent …), ``HELP``, ``EMPTY``,
``FILTER_FIELDS``. A style sheet of its own goes into ``CSS_PATH = "own.tcss"``.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from nanomem_tui.actions import BY_NAME, Context
from nanomem_tui.core.text import wrap
from nanomem_tui.keymap import first_key
from nanomem_tui.screens.list_screen import ListScreen
from nanomem_tui.widgets.bars import ActionFooter, Status, StatusBar, TitleBar
from nanomem_tui.widgets.bindings import moved_keys, screen_bindings
from nanomem_tui.widgets.cells import content
from nanomem_tui.widgets.document import Document
from nanomem_tui.widgets.filter_bar import FilterBar
from nanomem_tui.widgets.help import Choice, HelpScreen, PaletteScreen
from nanomem_tui.widgets.line_table import LineTable
from nanomem_tui.widgets.preview import Preview
from nanomem_tui.widgets.row_line import RowLine
from nanomem_tui.widgets.text_view import TextView
from nanomem_tui.widgets.toast import say, say_error
from nanomem_tui.widgets.touring import TourBar

Row = TypeVar("Row")

WIDE = 100  # columns from which both panes are shown
WIDEST = 140  # columns from which a list may have more than the detail needs
SMALLEST = (60, 20)
BARS = 3  # lines at the edges: title, status, keys
DETAIL_DELAY = 0.03  # seconds the cursor rests before the detail is read, so that holding a key reads nothing


def _too_small(width: int, height: int, key: str) -> str:
    """Why nothing is shown, in as many words as there is room for."""
    room = max(height - BARS, 1)
    needed = f"{SMALLEST[0]}x{SMALLEST[1]}"
    long = f"nanomem needs {needed} characters; this is {width}x{height}. {key} leaves."
    return next(
        (text for text in (long, f"{needed} needed, {key} leaves") if len(wrap(text, width)) <= room), "too small"
    )


class ListDetailScreen(ListScreen[Row], Generic[Row]):
    """A list, the detail of its row, a filter, and the keys of the registry. See the module for how to subclass."""

    HELP: ClassVar[str] = ""
    TELLS_BENEATH: ClassVar[bool] = False  # whether a line beneath the list belongs to it: `beneath`
    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")  # inherited, whatever CSS_PATH a subclass has

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the subclass the bindings of its screen."""
        if cls.__dict__.get("SCREEN"):
            cls.BINDINGS = list(screen_bindings(cls.SCREEN))
        super().__init_subclass__(**options)

    class DetailReady(Message):
        """From the detail thread: what a row has to tell."""

        def __init__(self, row_id: str, detail: Any) -> None:
            super().__init__()
            self.row_id = row_id
            self.detail = detail

    def __init__(self) -> None:
        super().__init__()
        self._pane = "list"
        self._zoomed = False
        self._detail_of: str | None = None
        self._detail_timer: Timer | None = None

    # What a subclass says

    def detail(self, row: Row) -> Any:
        """What the right pane shows for a row: a `Document`; called in a thread."""
        raise NotImplementedError

    def facts(self, row: Row) -> frozenset[str]:
        """What is true of the row under the cursor, for `Context.has`. Must be quick: no file, no database."""
        return frozenset()

    def row_read_only(self, row: Row) -> str:
        """Why this one row can't be changed; "" when it can. As quick as `facts`."""
        return ""

    def workspace_context(self) -> Context:
        """The part of the context that is not of the list: dirty, undo, agent. Must be quick."""
        return Context(self.SCREEN)

    def beneath(self, row: Row) -> str:
        """What stands beneath the list of a row while there is no room for its detail. As quick as `facts`."""
        return ""

    def open_row(self, row: Row) -> None:
        """Enter on a row: to its detail."""
        self.show_pane("detail")

    def make_table(self) -> LineTable[Row]:
        """The list on the left, with the id "list"."""
        return LineTable(self.columns(), self.row_id, sign=self.sign, dimmed=self.dimmed, id="list")

    def make_detail(self) -> Widget:
        """The widget on the right."""
        return Preview(id="detail")

    def show_detail(self, detail: Any) -> None:
        """Put what `detail` returned into the widget on the right."""
        pane = self.detail_pane
        if isinstance(pane, Preview) and isinstance(detail, Document):
            pane.show(detail)

    # What a subclass uses

    @property
    def detail_pane(self) -> Widget:
        """The widget on the right."""
        return self.query_one("#detail")

    def set_status(self, status: Status) -> None:
        """Show `status` in the status bar, and what a tour says; writes nothing when it is the same."""
        self.query_one(StatusBar).show(status)
        self.query_one(TourBar).show(getattr(self.app, "tour_lines", ()))
        self.refresh_context()

    def refresh_context(self) -> None:
        """What can be done may have changed: look again which keys to offer."""
        self.query_one(ActionFooter).show(self.context())

    def context(self) -> Context:
        """What actions may look at now."""
        row = self.table.cursor_row
        shared = self.workspace_context()
        has = shared.has | (self.facts(row) if row is not None else frozenset())
        if self.detail_pane.display:
            has |= {"detail", "in detail"} if self._pane == "detail" else {"detail"}
        rows, selected = len(self.table.rows), len(self.table.selected)
        held = self.row_read_only(row) if row is not None and not selected else ""
        return replace(shared, screen=self.SCREEN, rows=rows, selected=selected, has=has, row_read_only=held)

    def forget_detail(self) -> None:
        """The detail shown may be old: the next look reads it again."""
        self._detail_of = None

    def refresh_detail(self) -> None:
        """Read the detail again, as after an edit."""
        self.forget_detail()
        self._read_detail()

    def show_pane(self, pane: str) -> None:
        """Go to the pane "list" or "detail"; on a narrow screen it takes the place of the other."""
        self._pane = pane
        self._arrange()
        (self.table if pane == "list" else self.detail_pane).focus()
        self._read_detail()

    # The frame

    def compose(self) -> ComposeResult:
        """Title, panes, filter, status, keys."""
        self.set_class(bool(getattr(self.app, "ascii_only", False)), "-ascii")
        self._class_by_size()  # while there is nothing in it that would be styled again
        yield TitleBar(self.SCREEN)
        with Horizontal(id="panes"):
            yield self.make_table()
            yield self.make_detail()
        yield RowLine()
        yield Static(id="too-small")
        yield FilterBar(self.filter_hint())
        yield TourBar()
        yield StatusBar()
        yield ActionFooter(self.SCREEN)

    def on_mount(self) -> None:
        """Show the list and start to read."""
        self._arrange()
        self.table.focus()
        self.reload()

    def on_resize(self) -> None:
        """One pane or two."""
        self._arrange()
        self._read_detail()

    def _arrange(self) -> None:
        both, small = self._class_by_size()
        self.table.display = both or self._pane == "list"
        self.detail_pane.display = both or self._pane == "detail"
        self.query_one(RowLine).give(self.TELLS_BENEATH and not self.detail_pane.display and not small)
        self.refresh_context()
        if small:
            self.query_one("#too-small", Static).update(
                content(_too_small(*self.app.size, first_key("quit", moved_keys(self))))
            )

    def _class_by_size(self) -> tuple[bool, bool]:
        """Whether both panes are shown, and whether the terminal is too small."""
        width, height = self.app.size
        both, small = width >= WIDE and not self._zoomed, width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(both, "-wide")
        self.set_class(both and width >= WIDEST, "-widest")
        self.set_class(small, "-small")
        return both, small

    # List and detail

    @on(FilterBar.FilterLeft)
    def _filter_left(self) -> None:
        self.show_pane("list")

    @on(LineTable.RowHighlighted)
    def _highlighted(self) -> None:
        self.refresh_context()
        if not (self.detail_pane.display or self.TELLS_BENEATH):
            return
        if self._detail_timer is None:
            self._detail_timer = self.set_interval(DETAIL_DELAY, self._cursor_rests, pause=True)
        self._detail_timer.reset()
        self._detail_timer.resume()

    def _cursor_rests(self) -> None:
        if self._detail_timer is not None:
            self._detail_timer.pause()
        self._read_detail()

    @on(LineTable.RowActivated)
    def _activated(self) -> None:
        row = self.table.cursor_row
        if row is not None:
            self.open_row(row)

    def _read_detail(self) -> None:
        row = self.table.cursor_row
        if not self.detail_pane.display:
            self.query_one(RowLine).show(self.beneath(row) if row is not None else "")
            return
        if row is None:
            self._detail_of = None
            self.show_detail(Document())
        elif self._detail_of != self.row_id(row):
            self._detail_of = self.row_id(row)
            self._detail_in_thread(self._detail_of, row)

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _detail_in_thread(self, row_id: str, row: Row) -> None:
        try:
            self.post_message(self.DetailReady(row_id, self.detail(row)))
        except Exception as error:  # noqa: BLE001 - the pane says what went wrong; the list stays usable
            self.post_message(self.DetailReady(row_id, error))

    @on(DetailReady)
    def _detail_ready(self, event: DetailReady) -> None:
        if event.row_id != self._detail_of:
            return
        if isinstance(event.detail, Exception):
            say_error(self, event.detail)
        else:
            self.show_detail(event.detail)

    # Actions of every screen

    async def action_do(self, name: str) -> None:
        """Do an action of the registry, or say why it can't be done now."""
        action = BY_NAME[name]
        if self.has_class("-small") and name != "quit":  # nothing is changed that cannot be seen
            return
        if name == "back":
            self.app.clear_notifications()
        why = action.enabled(self.context())
        if why:
            sentence = why[:1].isupper()
            say(self, why if sentence else f"{action.label_on(self.SCREEN)}: {why}", "warning")
            return
        handler = getattr(self, f"do_{name}", None) or getattr(self.app, f"do_{name}", None)
        if handler is None:
            say(self, f"{action.label_on(self.SCREEN)}: not on this screen", "warning")
            return
        try:
            result = handler()
            if inspect.isawaitable(result):
                await result
        except Exception as error:  # noqa: BLE001 - one action did not work: that is said, and the rest goes on
            say_error(self, error)

    def do_filter(self) -> None:
        """Type a filter."""
        if self._pane == "detail":
            self._pane = "list"
            self._arrange()
        self.query_one(FilterBar).open()
        self.make_ready_to_filter()

    def do_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen(self.context(), self.HELP))

    def do_palette(self) -> None:
        """Choose an action by name, of any screen."""

        async def chosen(choice: Choice | None) -> None:
            if choice is not None and choice.screen == self.SCREEN and not choice.argument:
                await self.action_do(choice.action.name)
            elif choice is not None:
                self.do_elsewhere(choice.screen, choice.action.name, choice.argument)

        self.app.push_screen(PaletteScreen(self.context()), chosen)

    def do_elsewhere(self, screen: str, name: str, row: str = "") -> None:
        """Go to another screen and do an action there, on the rows whose id holds `row` when it is given."""

    def do_open(self) -> None:
        """Enter while the detail is in focus: nothing more to open, unless a subclass knows better."""

    @property
    def at_rest(self) -> bool:
        """Whether one step back would lead nowhere: the list is shown, nothing is filtered, selected or zoomed."""
        filtered = self.query_one(FilterBar).is_open
        return self._pane == "list" and not (self._zoomed or filtered or self.table.selected)

    def do_back(self) -> None:
        """One step back."""
        if self._pane == "detail":
            self.show_pane("list")
        elif self._zoomed:
            self.do_zoom()
        elif self.query_one(FilterBar).is_open:
            self.query_one(FilterBar).clear()
        else:
            self.table.clear_selection()

    def do_next_pane(self) -> None:
        """To the other pane."""
        self.show_pane("detail" if self._pane == "list" else "list")

    do_previous_pane = do_next_pane

    def do_zoom(self) -> None:
        """One pane over the whole width, or both again."""
        self._zoomed = not self._zoomed
        self._arrange()
        self._read_detail()

    def do_wrap(self) -> None:
        """Wrap the detail or not."""
        if isinstance(self.detail_pane, TextView):
            self.detail_pane.toggle_wrap()

    def copy_text(self) -> str:
        """What the copy key copies."""
        row = self.table.cursor_row
        return "" if row is None else self.search_text(row)
