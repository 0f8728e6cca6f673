"""The list of a screen: its rows are read, filtered and sorted in threads, and it says honestly how many there are.

Owns loading and the filter and order of the list; `base.py` adds the detail, the panes and the actions. It knows no
workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import sleep
from typing import Any, ClassVar, Generic, TypeVar

from textual import on, work
from textual.message import Message
from textual.screen import Screen

from nanomem_tui.core.errors import in_words
from nanomem_tui.core.text import one_line
from nanomem_tui.keymap import first_key
from nanomem_tui.memory.filters import FIELDS, Kind
from nanomem_tui.screens.listing import Listing, View
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.bindings import moved_keys
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.filter_bar import FilterBar
from nanomem_tui.widgets.line_table import LineTable
from nanomem_tui.widgets.toast import say

Row = TypeVar("Row")

INLINE_ROWS = 2_000  # a list this long is filtered at once; a longer one in a thread
AFTER_FIRST = 0.02  # seconds: the first rows are drawn before a thread takes the processor to find the rest
HINT = 'words  kind:fact  age:>30d  hits:0  "exact"  -not'
NAMES = 44  # cells for the fields that a hint names
DOCTOR = "D on the Status screen (0) runs the doctor"


class ListScreen(Screen[None], Generic[Row]):
    """A screen with a list of rows: `LineTable` with the id "list", a `TitleBar` and a `FilterBar`."""

    SCREEN: ClassVar[str] = ""
    EMPTY: ClassVar[str] = "Nothing here yet."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = FIELDS
    FLASHES: ClassVar[bool] = True  # whether rows that others changed stand out for a moment
    TELLS_GONE: ClassVar[bool] = True  # whether it is said, too, that the row at the cursor went away
    EACH_PAGE: ClassVar[bool] = False  # whether the first load shows each of its pages, not the first alone

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

    def __init__(self) -> None:
        super().__init__(name=self.SCREEN)
        self.listing: Listing[Row] = Listing(self.row_id, self.search_text, self.field, self.FILTER_FIELDS)
        self._load_turn = 0
        self._loading = False
        self._changed: frozenset[str] = frozenset()
        self._from_top = False

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

    def nothing(self) -> str:
        """What is said when there are no rows at all."""
        return self.EMPTY

    def sign(self, row: Row) -> str:
        """One character before the row that tells its state; "" for none."""
        return ""

    def dimmed(self, row: Row) -> bool:
        """Whether the row is switched off."""
        return False

    def arranged(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows that are wanted, as the list shows them: a tree puts headings between them."""
        return rows

    def shown(self) -> int:
        """How many of all rows the list shows."""
        return len(self.table.rows)

    def filter_hint(self) -> str:
        """What may be typed as a filter: the first fields that there are here."""
        if self.FILTER_FIELDS is FIELDS:
            return HINT
        names = " ".join(f"{name}:" for name in self.FILTER_FIELDS)
        if len(names) > NAMES:
            names = f"{names[:NAMES].rpartition(' ')[0]} …"
        return f'words  {names}  "exact"  -not'

    def is_gone(self, row_id: str) -> bool:
        """Whether a row that is not shown any more is not there either."""
        return all(self.row_id(row) != row_id for row in self.listing.rows)

    def refresh_context(self) -> None:
        """What can be done may have changed: look again which keys to offer."""
        raise NotImplementedError

    def forget_detail(self) -> None:
        """Rows changed: what is shown of the one at the cursor may be old."""

    # What a subclass uses

    @property
    def table(self) -> LineTable[Row]:
        """The list."""
        return self.query_one("#list", LineTable)

    def targets(self) -> list[Row]:
        """The rows that an action means: the selected ones (also hidden ones), else the one at the cursor."""
        if self.table.selected:
            wanted = self.table.selected
            return [row for row in self.listing.rows if self.row_id(row) in wanted]
        row = self.table.cursor_row
        return [] if row is None else [row]

    def export_rows(self) -> Sequence[Row]:
        """The selected rows, else all that are shown, in their order."""
        selected = self.table.selected
        return [row for row in self.table.rows if not selected or self.row_id(row) in selected]

    def reload(self) -> None:
        """Read the rows again; cursor, selection, filter and order stay, rows that changed flash."""
        self._load_turn += 1
        self._loading = True
        self.table.show_loading()
        self._say_totals()
        self._load_in_thread(self._load_turn)

    def filter_by(self, query: str) -> None:
        """Filter the list as if `query` had been typed."""
        self.query_one(FilterBar).set_query(query)

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
                if first or (self.EACH_PAGE and page and not before):
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
        self._changed = event.changed if self.FLASHES else frozenset()
        self.listing.set_rows(event.rows)
        if event.done:
            self.table.keep_selected(event.ids.__contains__)
        if event.changed:
            self.forget_detail()
        self._make_view()

    @on(LoadFailed)
    def _load_failed(self, event: LoadFailed) -> None:
        if event.turn != self._load_turn:
            return
        self._loading = False
        self.listing.set_rows([])
        error = in_words(event.error)
        self.table.show_error(error.what, error.where, error.fix or DOCTOR)
        self._say_totals()

    # Filter and order

    def make_ready_to_filter(self) -> None:
        """A filter is about to be typed: make what it searches in, behind."""
        if len(self.listing.rows) > INLINE_ROWS:
            self._fold_in_thread()

    @work(thread=True, exclusive=True, group="fold", exit_on_error=False)
    def _fold_in_thread(self) -> None:
        self.listing.fold()

    def _make_view(self) -> None:
        turn = self.listing.next_turn()
        if len(self.listing.rows) <= INLINE_ROWS:
            for view in self.listing.views(turn):
                self._show_view(view)
            return
        first = self.listing.first_view(turn)
        if first is not None:
            self._show_view(first)
        if first is None or not first.done:
            self._view_in_thread(turn, 0.0 if first is None else AFTER_FIRST)

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _view_in_thread(self, turn: int, wait: float) -> None:
        sleep(wait)  # what is typed meanwhile overtakes it
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
            empty = self.why_none(view.hint, done=view.done)
            self.table.set_rows(self.arranged(view.rows), self._changed, empty, from_top=self._from_top)
        if view.done:
            self._changed = frozenset()
            self._from_top = False
        self._say_totals()

    def _say_totals(self) -> None:
        shown, total = self.shown(), len(self.listing.rows)
        more = "+" if self.listing.filter and self.listing.view_to_come else ""
        parts = [f"{shown:,}{more} of {total:,}" if shown != total or self.listing.filter else f"{total:,}"]
        if self.listing.fuzzy:
            parts[0] = f"similar: {parts[0]}"
        if self.table.selected:
            parts.append(f"{len(self.table.selected):,} selected")
        if self._loading:
            parts.append("loading")
        parts += self.also_said()
        self.query_one(TitleBar).set_right(" · ".join(parts))
        self._say_problem()
        self.refresh_context()

    def also_said(self) -> list[str]:
        """What else is said beside the totals."""
        return []

    def why_none(self, hint: str = "", *, done: bool = True) -> str:
        """What is said where no row is shown. `hint`: why the filter finds none, where that is known; `done`: whether
        it was looked for everywhere."""
        if not self.listing.filter:
            return self.nothing()
        nothing = f"Nothing matches {one_line(self.listing.filter.source, 200)}"
        why = f"{hint[:1].upper()}{hint[1:]}" if hint else nothing
        clears = f"; {first_key('back', moved_keys(self))} clears the filter"
        return why + self._problem() + (clears if done else "; looking for something similar …")

    def _problem(self) -> str:
        """What of the filter was not understood, to end a sentence that says that there are no rows."""
        problems = self.listing.filter.problems
        return f": {problems[0]}" if problems else ""

    def _say_problem(self) -> None:
        """Say that beside the filter, unless it stands in place of the rows."""
        self.query_one(FilterBar).say(self._problem()[2:] if self.table.state != "empty" else "", "warn")

    @on(FilterBar.FilterChanged)
    def _filter_changed(self, event: FilterBar.FilterChanged) -> None:
        self.asked_for(event.query)

    def asked_for(self, query: str) -> None:
        """Another filter was typed: show what it lets through."""
        if self.listing.set_query(query):
            self._from_top = bool(query)
            self._make_view()

    @on(LineTable.SelectionChanged)
    def _selection_changed(self) -> None:
        self._say_totals()

    @on(LineTable.RowGone)
    def _row_gone(self, event: LineTable.RowGone) -> None:
        if self.FLASHES and self.TELLS_GONE and not self.listing.filter and self.is_gone(event.row_id):
            say(self, "The row at the cursor is gone: it was deleted or merged.")

    # Actions of a list

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
        if column is not None and not self.table.shows_column(column.key):
            say(self, f"Sorted by {column.title.lower()}{', the largest first' if descending else ''}")

    def sort_by(self, column: Column[Row] | None, descending: bool = False) -> None:
        """Sort by `column`; None: as the rows came."""
        self.listing.set_order(column.key if column else "", column.sort if column else None, descending)
        self.table.set_sorted(self.listing.sorted_by, descending)
        self._make_view()
