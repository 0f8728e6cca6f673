"""The list of the records of one kind, however many there are: read in pages, filtered in the database.

Owns what is in memory of it and what is said of the rest. What a record tells, and how it is changed, is elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from textual import on, work
from textual.message import Message

from nanomem_tui.core.errors import shown_error
from nanomem_tui.screens import tiers_detail
from nanomem_tui.screens.base.list_screen import DOCTOR, Listing
from nanomem_tui.screens.base.parts_screen import PartsScreen
from nanomem_tui.screens.base.rows import RowsScreen
from nanomem_tui.screens.tiers_rows import (
    TITLES,
    Beginning,
    Pages,
    Sought,
    begin,
    columns_of,
    field_of,
    filter_fields,
    more,
    seek,
    sign_of,
    unread,
    words_of,
)
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import Stretch, TierRecord
from nanomem_tui.widgets.bars import TitleBar, say
from nanomem_tui.widgets.filter_bar import FilterBar, LineInput
from nanomem_tui.widgets.paged_table import PAGE, PagedRows, PagedTable
from nanomem_tui.widgets.table import Column, LineTable

_RECORDED = (
    "Agents store them over gRPC (nanomem serve grpc) or with the Python library; `nanomem memory import` takes over "
    "those of another system."
)
_AVERAGED = "The lifecycle makes them of metrics that are old enough (`nanomem lifecycle plan`)."
AT_ONCE = 4  # pages that are read together, those nearest to the cursor first


def origin_of(kind: str) -> str:
    """Where records of a kind come from, for who has none."""
    return _AVERAGED if kind == "metric-hour" else _RECORDED


class RecordList(RowsScreen[TierRecord], PartsScreen[TierRecord]):
    """Records of one kind."""

    class Began(Message):
        """From the loading thread: how many there are, and the first pages; where there is none, how many of now."""

        def __init__(self, turn: int, beginning: Beginning, near: str, now: int) -> None:
            super().__init__()
            self.turn = turn
            self.beginning = beginning
            self.near = near
            self.now = now

    class Filtered(Message):
        """From the loading thread: what the filter let through so far, of how many."""

        def __init__(self, turn: int, sought: Sought, whole: int) -> None:
            super().__init__()
            self.turn = turn
            self.sought = sought
            self.whole = whole

    class PagesRead(Message):
        """From the thread that reads pages."""

        def __init__(self, turn: int, pages: Pages) -> None:
            super().__init__()
            self.turn = turn
            self.pages = pages

    class NotRead(Message):
        """From either thread: why there are no rows."""

        def __init__(self, turn: int, error: Exception) -> None:
            super().__init__()
            self.turn = turn
            self.error = error

    def __init__(self) -> None:
        super().__init__()
        self.kind = "goal"
        self._oldest_first = False
        self._whole = 0
        self._note = ""
        self._gone = ""
        self._of_now = 0
        self._missing: set[int] = set()
        self._reading_pages = False
        self._set_listing()

    def _set_listing(self) -> None:
        self.listing = Listing(self.row_id, self.search_text, self.field, filter_fields(self.kind))

    @property
    def stretch(self) -> Stretch:
        """What the list shows without its filter."""
        return Stretch(KINDS[self.kind], oldest_first=self._oldest_first)

    # The list

    def make_table(self) -> LineTable[TierRecord]:
        """A table of pages."""
        return PagedTable(self.columns(), self.row_id, sign=self.sign, id="list")

    @property
    def paged(self) -> PagedTable[TierRecord]:
        """The list, as what it is."""
        return self.query_one("#list", PagedTable)

    def columns(self) -> Sequence[Column[TierRecord]]:
        """Those of the kind."""
        return columns_of(self.kind)

    def row_id(self, row: TierRecord) -> str:
        """The id of the record."""
        return row.id

    def search_text(self, row: TierRecord) -> str:
        """The row as one line."""
        return words_of(row)

    def field(self, row: TierRecord, name: str) -> Any:
        """The fields of the filter language."""
        return field_of(row, name)

    def sign(self, row: TierRecord) -> str:
        """It failed, or is important."""
        return sign_of(row)

    def filter_hint(self) -> str:
        """The fields of the kind."""
        names = " ".join(f"{name}:" for name in filter_fields(self.kind))
        return f'words  {names}  "exact"  -not'

    def choose_kind(self, kind: str) -> None:
        """Show the records of another kind, from the first."""
        self.kind, self._oldest_first, self._whole = kind, False, 0
        self._set_listing()
        if self.is_mounted:
            bar = self.query_one(FilterBar)
            if bar.is_open:
                bar.clear()
            bar.query_one(LineInput).placeholder = self.filter_hint()
            self.table.clear_selection()
            self.table.set_sorted("", descending=False)
            self.table.set_columns(self.columns())
            self._start_over()

    def _start_over(self) -> None:
        """Rows of before are none of these."""
        self._from_top = True
        self.table.set_rows((), empty="")
        self.reload()

    # Reading

    @property
    def rows_to_come(self) -> bool:
        """Whether a key would meet no rows yet, or those of the filter before."""
        return not self.is_mounted or (self._loading and (not self.table.rows or self._from_top))

    def reload(self) -> None:
        """Read the rows again; the cursor stays on its record, records that changed flash."""
        self._load_turn += 1
        self._loading = True
        self.table.show_loading()
        self._say_totals()
        wanted, at = self._wanted_row, 0 if self._from_top else self.table.cursor
        near = wanted or (
            "" if self._from_top or not self.paged.is_read(self.table.cursor_id) else self.table.cursor_id
        )
        self._read_list(self._load_turn, near or "", at)

    @work(thread=True, exclusive=True, group="load", exit_on_error=False)
    def _read_list(self, turn: int, near: str, at: int) -> None:
        wanted, by = self.stretch, self.listing.filter
        try:
            records = self.ws.records
            if not by:
                beginning = begin(records, wanted, near, at)
                now = 0 if beginning.total else tiers_detail.count(self.ws, wanted.kind.name)
                self.post_message(self.Began(turn, beginning, near, now))
                return
            whole = records.count_within(wanted)
            for sought in seek(records, wanted, by):
                if turn != self._load_turn:
                    return
                self.post_message(self.Filtered(turn, sought, whole))
        except Exception as error:  # noqa: BLE001 - whatever went wrong is shown in place of the list
            self.post_message(self.NotRead(turn, error))

    @on(Began)
    def _began(self, event: Began) -> None:
        if event.turn != self._load_turn:
            return
        total, pages, place = event.beginning
        before = self.table.rows
        rows = PagedRows(total, unread(self.kind), self._is_missing)
        for number, page in pages.items():
            rows.put(number, page)
        self._loading, self._whole, self._note = False, total, ""
        self._gone, self._of_now = event.near if place is None else "", event.now
        self._show(rows, _changed(before, rows))

    @on(Filtered)
    def _filtered(self, event: Filtered) -> None:
        if event.turn != self._load_turn:
            return
        sought = event.sought
        self._loading, self._whole = not sought.done, event.whole
        self._note = sought.note if sought.done else f"{sought.looked:,} of {sought.total:,} looked at"
        if sought.rows or sought.done:
            self._show(sought.rows, ())
        else:
            self.table.show_loading("Looking …")
            self._say_totals()

    def _show(self, rows: Sequence[TierRecord], changed: Collection[str]) -> None:
        self.table.set_rows(rows, changed, self.why_none(), from_top=self._from_top)
        self._from_top = False
        if changed:
            self.forget_detail()
        self._say_totals()
        self.console.rows_came.set()
        self.console.release_keys()
        if self._wanted_row is not None and not self._loading:
            self._go_to_wanted()

    @on(NotRead)
    def _not_read(self, event: NotRead) -> None:
        if event.turn != self._load_turn:
            return
        self._loading = self._reading_pages = False
        error = shown_error(event.error)
        self.table.show_error(error.what, error.where, error.fix or DOCTOR)
        self._say_totals()
        self.console.rows_came.set()
        self.console.release_keys()

    # Pages that are looked at

    def _is_missing(self, number: int) -> None:
        self._missing.add(number)
        if not self._reading_pages:
            self._reading_pages = True
            self.call_later(self._read_missing)

    def _read_missing(self) -> None:
        rows = self.table.rows
        missing, self._missing = self._missing, set()
        if isinstance(rows, PagedRows) and (missing := missing - rows.pages):
            near = self.table.cursor // PAGE
            first = sorted(missing, key=lambda number: abs(number - near))[:AT_ONCE]
            self._read_pages(self._load_turn, len(rows), first)
        else:
            self._reading_pages = False

    @work(thread=True, group="view", exit_on_error=False)
    def _read_pages(self, turn: int, total: int, numbers: Sequence[int]) -> None:
        try:
            self.post_message(self.PagesRead(turn, more(self.ws.records, self.stretch, total, numbers)))
        except Exception as error:  # noqa: BLE001 - as above
            self.post_message(self.NotRead(turn, error))

    @on(PagesRead)
    def _pages_read(self, event: PagesRead) -> None:
        self._reading_pages = False
        rows = self.table.rows
        if event.turn == self._load_turn and isinstance(rows, PagedRows):
            for number, page in event.pages.items():
                rows.put(number, page)
            self.paged.rows_came()
        elif self._missing:
            self._is_missing(min(self._missing))

    # What is said of it

    def nothing(self) -> str:
        """Where records of the kind come from, or where those are that were told just now."""
        named = TITLES[self.kind].lower()
        if self._of_now:
            are = "is" if self._of_now == 1 else "are"
            return f"No {named} are kept yet; {self._of_now:,} {are} among what happens now: esc, then tab."
        return f"No {named} yet. {origin_of(self.kind)}"

    def _say_totals(self) -> None:
        shown, table = len(self.table.rows), self.table
        total = f"{shown:,} of {self._whole:,}" if self.listing.filter else f"{self._whole:,}"
        parts = [f"{TITLES[self.kind]} {total}"]
        if self._note and self.listing.filter:
            parts.append(self._note)
        if table.selected:
            parts.append(f"{len(table.selected):,} selected")
        if self._loading:
            parts.append("loading")
        self.query_one(TitleBar).set_right(" · ".join(parts))
        self._say_problem()
        self.refresh_context()

    def is_gone(self, row_id: str) -> bool:
        """A row that is not in memory is not gone."""
        return row_id == self._gone

    @on(PagedTable.TooMany)
    def _too_many(self, event: PagedTable.TooMany) -> None:
        say(self, f"At most {event.most:,} rows are selected at once: filter first", "warning")

    # Filter, order, places

    def asked_for(self, query: str) -> None:
        """Another filter was typed: look for what it lets through."""
        if self.listing.set_query(query):
            self._from_top = True
            self.reload()

    def do_sort(self) -> None:
        """The newest first, or the oldest: any other order would have to read every record."""
        self._oldest_first = not self._oldest_first
        self._from_top = True
        self.table.set_sorted("age" if self._oldest_first else "", descending=True)
        say(self, f"The {'oldest' if self._oldest_first else 'newest'} first; records are sorted by their time only")
        self.reload()

    def show_row(self, row_id: str) -> None:
        """Put the cursor on a record, wherever in the list it is."""
        self._wanted_row = row_id
        if not self.is_mounted:
            return
        if self.listing.filter and not self.table.move_to_id(row_id):
            self.query_one(FilterBar).clear()
        elif self._loading or not self.table.move_to_id(row_id):
            self.reload()
        else:
            self._wanted_row = None

    def _go_to_wanted(self) -> None:
        wanted, self._wanted_row = self._wanted_row, None
        if wanted is not None and not self.table.move_to_id(wanted):
            say(self, f"{wanted} is not here: it was never recorded, or is deleted", "warning")

    def targets(self) -> list[TierRecord]:
        """The selected records, else the one at the cursor; of those that are not in memory any more only the id."""
        selected = self.table.selected
        rows = self.table.rows
        there = [row for _, row in rows.read()] if isinstance(rows, PagedRows) else list(rows)
        known: Mapping[str, TierRecord] = {row.id: row for row in there}
        if selected:
            return [known.get(one) or unread(self.kind)(0)._replace(id=one) for one in sorted(selected)]
        row = self.table.cursor_row
        return [row] if row is not None and self.paged.is_read(row.id) else []


def _changed(before: Sequence[TierRecord], now: PagedRows[TierRecord]) -> frozenset[str]:
    """The records in memory that are others than they were, or came where rows had been read."""
    if not isinstance(before, PagedRows) or not before.pages:
        return frozenset()
    was = {row.id: row for _, row in before.read()}
    return frozenset(
        row.id
        for index, row in now.read()
        if was.get(row.id) != row and (row.id in was or index // PAGE in before.pages)
    )
