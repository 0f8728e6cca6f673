"""The screen that every list-and-detail screen is made from: list left, detail right, filter, status and keys.

Owns the panes, loading in a thread, filtering and sorting in a thread, and doing actions of the registry. It knows no
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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from nanomem_tui.actions import BY_NAME, Context
from nanomem_tui.errors import NanomemError
from nanomem_tui.memory.filters import FIELDS, Kind
from nanomem_tui.screens.listing import Listing, View
from nanomem_tui.text import safe_text
from nanomem_tui.widgets.bars import ActionFooter, Status, StatusBar, TitleBar
from nanomem_tui.widgets.bindings import screen_bindings
from nanomem_tui.widgets.cells import content
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Document
from nanomem_tui.widgets.filter_bar import FilterBar
from nanomem_tui.widgets.help import HelpScreen, PaletteScreen
from nanomem_tui.widgets.line_table import LineTable
from nanomem_tui.widgets.preview import Preview
from nanomem_tui.widgets.text_view import TextView
from nanomem_tui.widgets.toast import say, say_error

Row = TypeVar("Row")

WIDE = 100  # columns from which both panes are shown
SMALLEST = (60, 20)
INLINE_ROWS = 2_000  # a list this long is filtered at once; a longer one in a thread
DETAIL_DELAY = 0.03  # seconds the cursor rests before the detail is read, so that holding a key reads nothing


class ListDetailScreen(Screen[None], Generic[Row]):
    """A list, the detail of its row, a filter, and the keys of the registry. See the module for how to subclass."""

    SCREEN: ClassVar[str] = ""
    HELP: ClassVar[str] = ""
    EMPTY: ClassVar[str] = "Nothing here yet."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = FIELDS
    DEFAULT_CSS = Path(__file__).with_suffix(".tcss").read_text("utf-8")  # inherited, whatever CSS_PATH a subclass has

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the subclass the bindings of its screen."""
        if cls.__dict__.get("SCREEN"):
            cls.BINDINGS = list(screen_bindings(cls.SCREEN))
        super().__init_subclass__(**options)

    class RowsLoaded(Message):
        """From the loading thread: rows so far, and whether that is all."""

        def __init__(
            self, turn: int, rows: list[Any], done: bool, changed: frozenset[str], ids: frozenset[str]
        ) -> None:
            super().__init__()
            self.turn = turn
            self.rows = rows
            self.done = done
            self.changed = changed
            self.ids = ids

    class LoadFailed(Message):
        """From the loading thread: why there are no rows."""

        def __init__(self, turn: int, error: Exception) -> None:
            super().__init__()
            self.turn = turn
            self.error = error

    class ViewReady(Message):
        """From the filtering thread: the rows to show."""

        def __init__(self, view: View[Any]) -> None:
            super().__init__()
            self.view = view

    class DetailReady(Message):
        """From the detail thread: what a row has to tell."""

        def __init__(self, row_id: str, detail: Any) -> None:
            super().__init__()
            self.row_id = row_id
            self.detail = detail

    def __init__(self) -> None:
        super().__init__(name=self.SCREEN)
        self.listing: Listing[Row] = Listing(self.row_id, self.search_text, self.field, self.FILTER_FIELDS)
        self._pane = "list"
        self._zoomed = False
        self._load_turn = 0
        self._loading = False
        self._detail_of: str | None = None
        self._detail_timer: Timer | None = None
        self._changed: frozenset[str] = frozenset()

    # What a subclass says

    def columns(self) -> Sequence[Column[Row]]:
        """The columns of the list."""
        raise NotImplementedError

    def row_id(self, row: Row) -> str:
        """The lasting id of a row."""
        raise NotImplementedError

    def load(self) -> Iterable[Sequence[Row]]:
        """Pages of rows; called in a thread. An error it raises is shown instead of the list."""
        raise NotImplementedError

    def search_text(self, row: Row) -> str:
        """The text of a row that words are searched in."""
        raise NotImplementedError

    def field(self, row: Row, name: str) -> Any:
        """The value of a field of `FILTER_FIELDS`."""
        raise NotImplementedError

    def detail(self, row: Row) -> Any:
        """What the right pane shows for a row: a `Document`; called in a thread."""
        raise NotImplementedError

    def sign(self, row: Row) -> str:
        """One character before the row that tells its state; "" for none."""
        return ""

    def dimmed(self, row: Row) -> bool:
        """Whether the row is switched off."""
        return False

    def facts(self, row: Row) -> frozenset[str]:
        """What is true of the row under the cursor, for `Context.has`. Must be quick: no file, no database."""
        return frozenset()

    def workspace_context(self) -> Context:
        """The part of the context that is not of the list: dirty, undo, agent. Must be quick."""
        return Context(self.SCREEN)

    def open_row(self, row: Row) -> None:
        """Enter on a row: to its detail."""
        self.show_pane("detail")

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
    def table(self) -> LineTable[Row]:
        """The list."""
        return self.query_one("#list", LineTable)

    @property
    def detail_pane(self) -> Widget:
        """The widget on the right."""
        return self.query_one("#detail")

    def targets(self) -> list[Row]:
        """The rows that an action means: the selected ones (also hidden ones), else the one at the cursor."""
        if self.table.selected:
            wanted = self.table.selected
            return [row for row in self.listing.rows if self.row_id(row) in wanted]
        row = self.table.cursor_row
        return [] if row is None else [row]

    def reload(self) -> None:
        """Read the rows again; cursor, selection, filter and order stay, rows that changed flash."""
        self._load_turn += 1
        self._loading = True
        self.table.show_loading()
        self._say_totals()
        self._load_in_thread(self._load_turn)

    def set_status(self, status: Status) -> None:
        """Show `status` in the status bar; writes nothing when it is the same."""
        self.query_one(StatusBar).show(status)
        self.refresh_context()

    def refresh_context(self) -> None:
        """What can be done may have changed: look again which keys to offer."""
        self.query_one(ActionFooter).show(self.context())

    def context(self) -> Context:
        """What actions may look at now."""
        row = self.table.cursor_row
        shared = self.workspace_context()
        has = shared.has | (self.facts(row) if row is not None else frozenset())
        rows, selected = len(self.table.rows), len(self.table.selected)
        return replace(shared, screen=self.SCREEN, rows=rows, selected=selected, has=has)

    def filter_by(self, query: str) -> None:
        """Filter the list as if `query` had been typed."""
        self.query_one(FilterBar).set_query(query)

    def refresh_detail(self) -> None:
        """Read the detail again, as after an edit."""
        self._detail_of = None
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
        yield TitleBar(self.SCREEN)
        with Horizontal(id="panes"):
            yield LineTable(self.columns(), self.row_id, sign=self.sign, dimmed=self.dimmed, id="list")
            yield self.make_detail()
        yield Static(id="too-small")
        yield FilterBar()
        yield StatusBar()
        yield ActionFooter(self.SCREEN)

    def on_mount(self) -> None:
        """Show the list and start to read."""
        self.set_class(bool(getattr(self.app, "ascii_only", False)), "-ascii")
        self._arrange()
        self.table.focus()
        self.reload()

    def on_resize(self) -> None:
        """One pane or two."""
        self._arrange()
        self._read_detail()

    def _arrange(self) -> None:
        width, height = self.app.size
        both = width >= WIDE and not self._zoomed
        self.set_class(both, "-wide")
        self.table.display = both or self._pane == "list"
        self.detail_pane.display = both or self._pane == "detail"
        small = width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(small, "-small")
        if small:
            wanted = f"nanomem needs {SMALLEST[0]}x{SMALLEST[1]} characters; this is {width}x{height}. q leaves."
            self.query_one("#too-small", Static).update(content(wanted))

    # Loading

    @work(thread=True, exclusive=True, group="load", exit_on_error=False)
    def _load_in_thread(self, turn: int) -> None:
        before = {self.row_id(row): row for row in self.listing.rows}
        rows: list[Row] = []
        try:
            for page in self.load():
                if turn != self._load_turn:
                    return
                first = not rows and not before
                rows.extend(page)
                if first:
                    self.post_message(self.RowsLoaded(turn, list(rows), False, frozenset(), frozenset()))
            ids = frozenset(self.row_id(row) for row in rows)
            changed = {self.row_id(row) for row in rows if before and before.get(self.row_id(row)) != row}
            self.post_message(self.RowsLoaded(turn, rows, True, frozenset(changed), ids))
        except Exception as error:  # noqa: BLE001 - whatever went wrong is shown in place of the list
            self.post_message(self.LoadFailed(turn, error))

    @on(RowsLoaded)
    def _rows_loaded(self, event: RowsLoaded) -> None:
        if event.turn != self._load_turn:
            return
        self._loading = not event.done
        self._changed = event.changed
        self.listing.set_rows(event.rows)
        if event.done:
            self.table.keep_selected(event.ids.__contains__)
        if event.changed:
            self._detail_of = None
        self._make_view()

    @on(LoadFailed)
    def _load_failed(self, event: LoadFailed) -> None:
        if event.turn != self._load_turn:
            return
        self._loading = False
        self.listing.set_rows([])
        error = event.error
        if isinstance(error, NanomemError):
            self.table.show_error(error.what, error.where, error.fix or "D on the Status screen (0) runs the doctor")
        else:
            self.table.show_error(f"{type(error).__name__}: {error}", "", "D on the Status screen (0) runs the doctor")
        self._say_totals()

    # Filter and order

    def _make_view(self) -> None:
        turn = self.listing.next_turn()
        if len(self.listing.rows) <= INLINE_ROWS:
            for view in self.listing.views(turn):
                self._show_view(view)
        else:
            self._view_in_thread(turn)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _view_in_thread(self, turn: int) -> None:
        for view in self.listing.views(turn):
            self.post_message(self.ViewReady(view))

    @on(ViewReady)
    def _view_ready(self, event: ViewReady) -> None:
        self._show_view(event.view)

    def _show_view(self, view: View[Row]) -> None:
        if not self.listing.accept(view):
            return
        if self._loading and not view.rows and not self.listing.filter:
            self.table.show_loading()
        else:
            empty = self.EMPTY if not self.listing.filter else f"Nothing matches {self.listing.filter.source}"
            if not view.done:
                empty += "; looking for something similar …"
            self.table.set_rows(view.rows, self._changed, empty)
        if view.done:
            self._changed = frozenset()
        self._say_totals()

    def _say_totals(self) -> None:
        shown, total = len(self.table.rows), len(self.listing.rows)
        parts = [f"{shown:,} of {total:,}" if shown != total or self.listing.filter else f"{total:,}"]
        if self.listing.fuzzy:
            parts[0] = f"similar: {parts[0]}"
        if self.table.selected:
            parts.append(f"{len(self.table.selected):,} selected")
        if self._loading:
            parts.append("loading")
        self.query_one(TitleBar).set_right(" · ".join(parts))
        problems = self.listing.filter.problems
        self.query_one(FilterBar).say(problems[0] if problems else "", "warn")
        self.refresh_context()

    @on(FilterBar.FilterChanged)
    def _filter_changed(self, event: FilterBar.FilterChanged) -> None:
        if self.listing.set_query(event.query):
            self._make_view()

    @on(FilterBar.FilterLeft)
    def _filter_left(self) -> None:
        self.show_pane("list")

    # List and detail

    @on(LineTable.RowHighlighted)
    def _highlighted(self) -> None:
        self.refresh_context()
        if not self.detail_pane.display:
            return
        if self._detail_timer is None:
            self._detail_timer = self.set_interval(DETAIL_DELAY, self._cursor_rests, pause=True)
        self._detail_timer.reset()
        self._detail_timer.resume()

    def _cursor_rests(self) -> None:
        if self._detail_timer is not None:
            self._detail_timer.pause()
        self._read_detail()

    @on(LineTable.SelectionChanged)
    def _selection_changed(self) -> None:
        self._say_totals()

    @on(LineTable.RowActivated)
    def _activated(self) -> None:
        row = self.table.cursor_row
        if row is not None:
            self.open_row(row)

    @on(LineTable.RowGone)
    def _row_gone(self) -> None:
        if not self.listing.filter:
            say(self, "The row at the cursor is gone: it was deleted or merged.")

    def _read_detail(self) -> None:
        row = self.table.cursor_row
        if not self.detail_pane.display:
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
        why = action.enabled(self.context())
        if why:
            say(self, f"{action.label_on(self.SCREEN)}: {why}", "warning")
            return
        handler = getattr(self, f"do_{name}", None) or getattr(self.app, f"do_{name}", None)
        if handler is None:
            say(self, f"{action.label_on(self.SCREEN)}: not on this screen", "warning")
            return
        try:
            result = handler()
            if inspect.isawaitable(result):
                await result
        except NanomemError as error:
            say_error(self, error)

    def do_filter(self) -> None:
        """Type a filter."""
        if self._pane == "detail":
            self._pane = "list"
            self._arrange()
        self.query_one(FilterBar).open()

    def do_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen(self.context(), self.HELP))

    def do_palette(self) -> None:
        """Choose an action by name."""

        async def chosen(name: str | None) -> None:
            if name is not None:
                await self.action_do(name)

        self.app.push_screen(PaletteScreen(self.context()), chosen)

    def do_open(self) -> None:
        """Enter while the detail is in focus: nothing more to open, unless a subclass knows better."""

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

    def do_reload(self) -> None:
        """Read everything again."""
        self.reload()

    def do_sort(self) -> None:
        """Sort by the next column that can be sorted by; after the last, as they came."""
        ways: list[tuple[Column[Row] | None, bool]] = [(None, False)]
        ways += [(column, column.align == "right") for column in self.columns() if column.sort is not None]
        keys = [column.key if column else "" for column, _ in ways]
        column, descending = ways[(keys.index(self.listing.sorted_by) + 1) % len(ways)]
        self.sort_by(column, descending)

    def sort_by(self, column: Column[Row] | None, descending: bool = False) -> None:
        """Sort by `column`; None: as the rows came."""
        self.listing.set_order(column.key if column else "", column.sort if column else None, descending)
        self.table.set_sorted(self.listing.sorted_by, descending)
        self._make_view()

    def copy_text(self) -> str:
        """What the copy key copies."""
        row = self.table.cursor_row
        return "" if row is None else self.search_text(row)

    def do_copy(self) -> None:
        """Copy to the clipboard of the terminal that the person sits at (OSC 52)."""
        text = safe_text(self.copy_text())
        self.app.copy_to_clipboard(text)
        say(self, f"{len(text):,} characters sent to your terminal's clipboard (OSC 52)")
