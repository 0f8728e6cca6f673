"""The list-and-detail screen: list left, detail right, filter, status and keys.

Owns loading, filtering and sorting in threads, the panes, the detail, and doing actions of the registry. It knows no
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from nanomem_tui.actions import BY_NAME, SCREENS, Context, actions_on, first_key, key_text, keys_of
from nanomem_tui.core.errors import shown_error
from nanomem_tui.core.text import one_line, wrap
from nanomem_tui.memory.filters import FIELDS, Filter, Found, Kind, Search, fold, parse, rank_matches, unknown_value
from nanomem_tui.tabs import tab_of
from nanomem_tui.widgets.bars import ActionFooter, FilterBar, Status, StatusBar, TitleBar, say, say_error
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.key_queue import key_names, moved_keys, screen_bindings
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Document, Preview, TextView
from nanomem_tui.widgets.theme import RowLine, content
from nanomem_tui.widgets.tour import TourBar

if TYPE_CHECKING:
    from nanomem_tui.widgets.help import Choice

Row = TypeVar("Row")

# -- The rows behind a list: all of them, the filter, the order, and the view that comes of them ----------------------

STEP = 10_000  # rows looked at between two looks at whether the wish has changed
FIRST_ROWS = 100  # found rows that are shown before the search is done
AT_ONCE = 2_000  # rows looked at while a key waits: a few milliseconds


@dataclass(frozen=True)
class View(Generic[Row]):
    """Rows to show for the wish of `turn`; `done` is False when more are being looked for.

    `hint` is why there are none, where a field was asked for a value that no row has.
    """

    turn: int
    rows: Sequence[Row]
    found: Found
    done: bool
    hint: str = ""


class Listing(Generic[Row]):
    """All rows of a list and what is wanted of them. Only `views` may run in a thread."""

    def __init__(
        self,
        row_id: Callable[[Row], str],
        text: Callable[[Row], str],
        field: Callable[[Row, str], Any],
        fields: Mapping[str, Kind],
    ) -> None:
        self._row_id = row_id
        self._text = text
        self._field = field
        self._fields = fields
        self._data: tuple[Sequence[Row], list[str]] = ((), [])  # the rows, and their folded texts as far as made
        self._folding = Lock()
        self.filter = Filter()
        self.sorted_by = ""
        self.fuzzy = False
        self._sort: Callable[[Row], Any] | None = None
        self._descending = False
        self._turn = 0
        self._shown_turn = 0
        self._last: Found | None = None

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in the order they came."""
        return self._data[0]

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Other rows, or the same ones read again."""
        self._data = (rows, [])
        self._last = None

    def set_query(self, query: str) -> bool:
        """Another filter; False when it is the one already set."""
        if query == self.filter.source:
            return False
        self.filter = parse(query, self._fields)
        return True

    def set_order(self, key: str, sort: Callable[[Row], Any] | None, descending: bool) -> None:
        """Another order; `key` names it, None as `sort` means the order they came in."""
        self.sorted_by, self._sort, self._descending = key, sort, descending

    def next_turn(self) -> int:
        """A new wish: views of earlier turns are no longer of interest."""
        self._turn += 1
        return self._turn

    def accept(self, view: View[Row]) -> bool:
        """Take a view that is still wanted, and remember it for narrowing; False when it was overtaken."""
        if view.turn != self._turn:
            return False
        self.fuzzy = view.found.fuzzy and bool(view.rows)
        if view.done:
            self._last, self._shown_turn = view.found, view.turn
        return True

    @property
    def view_to_come(self) -> bool:
        """Whether the rows that are wanted are still looked for."""
        return self._shown_turn != self._turn

    def fold(self) -> None:
        """Make the texts that words are searched in, so that the first letter of a filter need not wait for them."""
        self._folded(self._data, self._turn, whole=True)

    def first_view(self, turn: int) -> View[Row] | None:
        """What can be shown for `turn` while the key waits: all, or the first rows; None where that is not known yet,
        `views` finds out."""
        (rows, texts), wanted = self._data, self.filter
        if self._sort is not None:
            return None
        if not wanted:
            return View(turn, rows, Found(wanted, range(len(rows))), True)
        last = self._last
        if len(texts) < len(rows):
            texts, last = [fold(self._text(row)) for row in rows[:AT_ONCE]], None
        search = self._search(rows, texts, last, guess=False)
        is_all = search.step(AT_ONCE) and len(texts) == len(rows)
        found = search.found
        if is_all and found.indexes:
            return View(turn, [rows[index] for index in rank_matches(texts, found)], found, True)
        if len(found.indexes) < FIRST_ROWS:
            return None
        return View(turn, [rows[index] for index in found.indexes], found, False)

    def _search(self, rows: Sequence[Row], texts: list[str], last: Found | None, *, guess: bool = True) -> Search:
        field_of = self.filter.predicate(self._field)
        accept = None if field_of is None else lambda index: field_of(rows[index])
        return Search(texts, self.filter, accept, last, fuzzy=guess)

    def _folded(self, data: tuple[Sequence[Row], list[str]], turn: int, *, whole: bool = False) -> bool:
        """Make the folded texts of all rows; False when the wish changed meanwhile and they are not `whole`."""
        rows, texts = data
        with self._folding:
            while len(texts) < len(rows):
                if (turn != self._turn and not whole) or data is not self._data:
                    return False
                texts.extend([fold(self._text(row)) for row in rows[len(texts) : len(texts) + STEP]])
        return True

    def views(self, turn: int) -> Iterator[View[Row]]:
        """The rows to show for `turn`: perhaps the first ones early, then all. Stops when the wish has changed."""
        data, wanted, last = self._data, self.filter, self._last
        rows, texts = data
        sort, descending = self._sort, self._descending
        if not wanted:
            yield View(turn, _ordered(rows, sort, descending), Found(wanted, range(len(rows))), True)
            return
        if not self._folded(data, turn):
            return
        search = self._search(rows, texts, last)
        early = False
        while not search.step(STEP):
            if turn != self._turn:
                return
            if early:
                continue
            so_far = search.found
            if search.guessing or (sort is None and len(so_far.indexes) >= FIRST_ROWS):
                early = True
                yield View(turn, [rows[index] for index in so_far.indexes], so_far, False)
        found = search.found
        order = found.indexes if sort is not None else rank_matches(texts, found)
        hint = "" if order else unknown_value(wanted, rows, self._field)
        yield View(turn, _ordered([rows[index] for index in order], sort, descending), found, True, hint)


def _ordered(rows: Sequence[Row], sort: Callable[[Row], Any] | None, descending: bool) -> Sequence[Row]:
    return rows if sort is None else sorted(rows, key=sort, reverse=descending)


# The list of a screen: its rows are read, filtered and sorted in threads, and it says honestly how many there are.

INLINE_ROWS = 2_000  # a list this long is filtered at once; a longer one in a thread
AFTER_FIRST = 0.02  # seconds: the first rows are drawn before a thread takes the processor to find the rest
HINT = 'words  kind:fact  age:>30d  hits:0  "exact"  -not'
NAMES = 44  # cells for the fields that a hint names
DOCTOR = "D on the Status screen (0) runs the doctor"


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


class ListDetailScreen(Screen[None], Generic[Row]):
    """A list, the detail of its row, a filter, and the keys of the registry. See the module for how to subclass.

    The list is a `LineTable` with the id "list".
    """

    SCREEN: ClassVar[str] = ""
    EMPTY: ClassVar[str] = "Nothing here yet."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = FIELDS
    FLASHES: ClassVar[bool] = True  # whether rows that others changed stand out for a moment
    TELLS_GONE: ClassVar[bool] = True  # whether it is said, too, that the row at the cursor went away
    EACH_PAGE: ClassVar[bool] = False  # whether the first load shows each of its pages, not the first alone
    HELP: ClassVar[str] = ""
    _keys_here: frozenset[str] = frozenset()
    counts = ""
    """The text at the lower edge of the list: number of rows, selection, order."""
    DETAIL: ClassVar[str] = "Detail"
    """The name of the pane beside the list."""
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
        self._pane = "list"
        self._zoomed = False
        self._detail_of: str | None = None
        self._detail_timer: Timer | None = None

    # What a subclass says

    def columns(self) -> Sequence[Column[Row]]:
        """The columns of the list, of its copies and of its sorting. Asked before the workspace is open: what depends
        on a setting reads `self.console.opening.loaded.settings`."""
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
        error = shown_error(event.error)
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
        self.say_counts(" · ".join(parts))
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

    # The detail: what a subclass says of it

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

    # The detail, the status and the keys

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
        table, detail = self.make_table(), self.make_detail()
        table.border_title, detail.border_title = self._list_title(), content(self.DETAIL)
        with Horizontal(id="panes"):
            yield table
            yield detail
        yield RowLine()
        yield Static(id="too-small")
        yield FilterBar(self.filter_hint())
        yield TourBar()
        yield StatusBar()
        yield ActionFooter(self.SCREEN)

    def _list_title(self) -> Content:
        """The lists of this tab, the one shown standing out."""
        tab = tab_of(self.SCREEN)
        if tab is None or len(tab.lists) == 1:
            return content(SCREENS.get(self.SCREEN, self.SCREEN) if tab is None else tab.lists[0].title)
        between = " - " if self.has_class("-ascii") else " · "
        return Content(between).join(
            Content.styled(
                one.title,
                Style.parse("bold underline" if one.screen == self.SCREEN else "dim")
                + Style.from_meta({"@click": f"screen.do('go_{one.screen}')"}),
            )
            for one in tab.lists
        )

    def say_counts(self, text: str) -> None:
        """Show the number of rows, the selection and the order at the lower edge of the list."""
        said = one_line(text)
        self.counts = said.replace("·", "-") if self.has_class("-ascii") else said
        self.table.border_subtitle = content(self.counts)

    def on_mount(self) -> None:
        """Show the list and start to read."""
        moved = moved_keys(self)
        self._keys_here = key_names(key for action in actions_on(self.SCREEN) for key in keys_of(action, moved))
        self._arrange()
        self.table.focus()
        self.reload()

    def on_key(self, event: events.Key) -> None:
        """Say so where a key does nothing here."""
        if event.key not in self._keys_here and event.key not in self.active_bindings:
            key = event.character if event.is_printable and event.character else event.key
            say(self, f"{key_text(key)}: not here, {first_key('help', moved_keys(self))} for keys")

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
        handler = self.handler_of(name)
        if handler is None:
            say(self, f"{action.label_on(self.SCREEN)}: not on this screen", "warning")
            return
        try:
            result = handler()
            if inspect.isawaitable(result):
                await result
        except Exception as error:  # noqa: BLE001 - one action did not work: that is said, and the rest goes on
            say_error(self, error)

    def handler_of(self, name: str) -> Callable[[], Any] | None:
        """Return what does an action: the method `do_<name>` of this screen, or of the app."""
        found: Callable[[], Any] | None = getattr(self, f"do_{name}", None) or getattr(self.app, f"do_{name}", None)
        return found

    def do_filter(self) -> None:
        """Type a filter."""
        if self._pane == "detail":
            self._pane = "list"
            self._arrange()
        self.query_one(FilterBar).open()
        self.make_ready_to_filter()

    def do_help(self) -> None:
        """Show the keys."""
        from nanomem_tui.widgets.help import HelpScreen  # dialogs are no part of the start

        self.app.push_screen(HelpScreen(self.context(), self.HELP))

    def do_palette(self) -> None:
        """Choose an action by name, of any screen."""
        from nanomem_tui.widgets.help import PaletteScreen

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
