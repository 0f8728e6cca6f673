"""The Trail screen: the work records of one kind, read in pages and filtered in the database, and the links between
them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from textual import on, work
from textual.message import Message

from nanomem_tui.actions import Context
from nanomem_tui.core.errors import NanomemError, NotFound, shown_error
from nanomem_tui.core.operations import Operation
from nanomem_tui.screens.base.editable_rows import EditableRowsScreen
from nanomem_tui.screens.base.list_screen import DOCTOR, Listing
from nanomem_tui.screens.base.parts_screen import DetailParts, PartsScreen
from nanomem_tui.screens.work import record_detail
from nanomem_tui.screens.work.record_columns import (
    TITLES,
    Beginning,
    Pages,
    Sought,
    begin,
    columns_of,
    field_of,
    filter_fields,
    is_way_up,
    more,
    seek,
    sign_of,
    unread,
    words_of,
)
from nanomem_tui.screens.work.record_detail import Linked, parts_of
from nanomem_tui.store.work.kinds import KINDS, RECORD_KINDS
from nanomem_tui.store.work.values import Stretch, TierRecord
from nanomem_tui.widgets.bars import FilterBar, LineInput, say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.paged_table import PAGE, PagedRows, PagedTable
from nanomem_tui.widgets.parts_view import Preface
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Body, Document
from nanomem_tui.widgets.theme import glyphs

_RECORDED = (
    "Agents store them over gRPC (nanomem serve grpc) or with the Python library; `nanomem memory import` takes over "
    "those of another system."
)
_AVERAGED = "The lifecycle makes them of metrics that are old enough (`nanomem lifecycle plan`)."
AT_ONCE = 4  # pages that are read together, those nearest to the cursor first


def origin_of(kind: str) -> str:
    """Where records of a kind come from, for who has none."""
    return _AVERAGED if kind == "metric-hour" else _RECORDED


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


# The Records screen, behind Tiers: the records of an agent's work, kind by kind, with their links, to correct.

UP = {"tool-call": "task", "decision": "task", "task": "goal", "pattern": "made from"}
"""The link of a kind that leads to what a record belongs to."""


class Before(NamedTuple):
    """Where a person was before following a link."""

    kind: str
    row_id: str
    part: str


class TrailScreen(EditableRowsScreen[TierRecord], PartsScreen[TierRecord]):
    """Records, one kind at a time."""

    SCREEN = "trail"
    LAYER = "tier"
    NOUN = "record"
    OPENS = (Linked,)
    HELP = (
        "The records of an agent's work, one kind at a time: l shows the next kind, esc goes back to all of them. The "
        "newest first, s turns that round; there is no other order, for the list is read from the disk as you move. In "
        "the detail enter follows a link, along goal, task and tool call, and esc comes back; o goes up without "
        "looking for it. / filters: words find whole words, best first; status:failed agent:* tool:exec age:<2d "
        "tier:longterm look at one record after the other. Signs before a row: ! it failed, ^ an important decision."
    )

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
        self._told = ""  # the id of the record that the detail shows
        self._came: list[Before] = []
        self._taken_away: frozenset[str] = frozenset()
        self._wanted_part = ""

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
                now = 0 if beginning.total else record_detail.count_now(self.ws, wanted.kind.name)
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
        self.say_counts(" · ".join(parts))
        self._say_problem()
        self.refresh_context()

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

    def service(self) -> Any:
        """The records of the workspace."""
        return self.ws.records

    # The detail

    def detail(self, row: TierRecord) -> DetailParts:
        """All that is known of a record."""
        if not self.paged.is_read(row.id):
            return DetailParts(row.id, ())
        try:
            record = self.ws.records.get(row.kind, row.id)
        except NotFound:
            return DetailParts(row.id, (Preface((Body("This record is deleted; u brings it back.", "warn"),)),))
        return DetailParts(row.id, parts_of(self.ws, record, glyphs(self)))

    def show_detail(self, detail: Any) -> None:
        """From its beginning; where it is when it is the same record; at the link that was followed, coming back."""
        if isinstance(detail, DetailParts) and detail.parts:
            same = bool(self.view.parts) and self._told == detail.row_id
            self._told = detail.row_id
            self.view.show(detail.parts, keep_place=same)
            wanted, self._wanted_part = self._wanted_part, ""
            if not (wanted and self.view.move_to_part(wanted)) and not same:
                self.view.move_to_part(detail.parts[0].key)
        elif isinstance(detail, (Document, DetailParts)):
            self._told = ""
            self.view.show((), empty="Reading …" if isinstance(detail, DetailParts) else "No record is chosen.")
        self.refresh_context()

    def facts(self, row: TierRecord) -> frozenset[str]:
        """Whether it names what it belongs to, or a link is at the cursor."""
        linked = self._pane == "detail" and isinstance(self.view.current, Linked)
        return frozenset({"source"}) if linked or is_way_up(row) else frozenset()

    def context(self) -> Context:
        """What actions may look at now, also whether a person writes records of the kind."""
        context = super().context()
        told = frozenset() if self.kind in RECORD_KINDS else frozenset({"told by agents"})
        return replace(context, has=context.has | told)

    def copy_rows(self) -> str:
        """The record with all its fields, or the lines of the selected ones."""
        row = self.table.cursor_row
        if not self.table.selected and row is not None and self._told == row.id:
            return "\n".join(part.plain() for part in self.view.parts)
        return "\n".join(words_of(one) for one in self.targets())

    # Along the links

    def show_record(self, kind: str, record_id: str) -> None:
        """The list of a kind with the cursor on one of its records."""
        if kind != self.kind:
            self._wanted_row = record_id
            self.choose_kind(kind)
        else:
            self.show_row(record_id)

    def _follow(self, record: TierRecord) -> None:
        row, part = self.table.cursor_row, self.view.current
        if row is not None:
            self._came.append(Before(self.kind, row.id, part.key if part is not None else ""))
        self._pane = "detail"
        self._arrange()
        self.view.focus()
        self.show_record(record.kind, record.id)

    def show_pane(self, pane: str) -> None:
        """Who goes to the list starts from there."""
        if pane == "list":
            self._came.clear()
        super().show_pane(pane)

    def do_back(self) -> None:
        """Back along the links that were followed, then as everywhere."""
        if self._pane == "detail" and self._came:
            before = self._came.pop()
            self._wanted_part = before.part
            self.show_record(before.kind, before.row_id)
        else:
            super().do_back()

    def do_open(self) -> None:
        """Enter in the detail: along the link at the cursor."""
        part = self.view.current
        if isinstance(part, Linked):
            self._follow(part.record)

    async def do_source(self) -> None:
        """Along the link at the cursor, else up: to what the record belongs to."""
        row, part = self.table.cursor_row, self.view.current
        if self._pane == "detail" and isinstance(part, Linked):
            self._follow(part.record)
            return
        if row is None:
            return
        links = await self.console.in_thread(lambda ws: ws.records.links(ws.records.get(row.kind, row.id)))
        above = next((record for relation, record in links if relation == UP.get(row.kind)), None)
        if above is None:
            say(self, "What it belongs to is not here: it was never recorded, or is deleted", "warning")
        else:
            self._follow(above)

    def do_context(self) -> None:
        """To what would be known for a task."""
        self.console.go("context")

    def leave(self) -> bool:
        """Back to the kind whose records were shown."""
        self.console.go("tiers", self.kind)
        return True

    def do_next_part(self) -> None:
        """The next kind of records."""
        kinds = list(TITLES)
        self._came.clear()
        self.choose_kind(kinds[(kinds.index(self.kind) + 1) % len(kinds)])

    # Changes

    def headline(self, row: TierRecord) -> str:
        """It in one line."""
        return row.title

    def row_read_only(self, row: TierRecord) -> str:
        """What was measured, or happened, is no matter of opinion."""
        if row.kind in RECORD_KINDS:
            return ""
        return f"read-only: {TITLES[row.kind].lower()} are kept as they came"

    def edit_form(self, row: TierRecord) -> str:
        """All its fields as one text."""
        return record_detail.text_of(row.kind, record_detail.texts_of(row.kind, row.fields))

    def save_form(self, row: TierRecord, text: str) -> Operation:
        """Save those fields that were edited."""
        edited = record_detail.form_of(row.kind).edited(self.edit_form(row), text)
        return self.ws.records.edit(row.kind, row.id, record_detail.read_fields(row.kind, edited), expected=row)

    def again(self, row: TierRecord, now: TierRecord, text: str) -> str:
        """The fields that were edited as they were typed, the others as they are now."""
        form = record_detail.form_of(row.kind)
        edited = form.edited(self.edit_form(row), text)
        return record_detail.text_of(row.kind, {**record_detail.texts_of(row.kind, now.fields), **edited})

    async def do_edit(self) -> None:  # type: ignore[override]  # the whole record is read first
        """Edit the fields of the record here."""
        self._edit(await self._whole_record())

    async def do_edit_external(self) -> None:
        """Edit them in the person's own editor."""
        record = await self._whole_record()
        before = self.edit_form(record)
        after = self.edit_outside(before)
        if after == before:
            say(self, "Nothing was changed")
        else:
            await self.save(record, after)

    async def _whole_record(self) -> TierRecord:
        row = self._row_to_edit()
        return await self.console.in_thread(lambda ws: ws.records.get(row.kind, row.id))

    def do_add(self) -> None:
        """Write a new record of the kind."""
        kind = self.kind
        form = record_detail.form_of(kind)

        async def add(text: str) -> None:
            fields = record_detail.read_fields(kind, form.read(text), new=True)
            await self.done(await self.change(lambda ws: ws.records.add(kind, fields)[0]))

        self.ask_text(
            f"A new {kind.replace('-', ' ')}", record_detail.text_of(kind, record_detail.defaults_of(kind)), add
        )

    async def do_delete(self) -> None:
        """Delete one record at once, several after a look at them."""
        kind = self.kind
        await self.change_rows(
            "delete", "Delete", self.own_targets(), lambda ids: self.ws.records.delete(kind, ids), most=1
        )

    def expect_rows_back(self) -> None:
        """Most rows may not be in memory: what came is known by its key."""

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """Read again; to a record that came, or that an undo or a redo changed."""
        again = any(one.is_reversal for one in operations)
        keys = [one.key for operation in operations for one in operation.changes
                if one.layer == self.LAYER and one.key.startswith(f"{self.kind}/")
                and one.after is not None and (again or one.before is None)]  # fmt: skip
        self._taken_away = self._deleted(operations)
        self.table.keep_selected(lambda row_id: row_id not in self._taken_away)
        self.forget_detail()
        if len(keys) == 1 or (keys and again):
            self.show_row(keys[0].partition("/")[2])
        if again or len(keys) != 1:
            self.reload()

    def _deleted(self, operations: Sequence[Operation]) -> frozenset[str]:
        """The records of the kind that these operations took away."""
        taken = (one.key for operation in operations for one in operation.changes
                 if one.layer == self.LAYER and one.after is None)  # fmt: skip
        return frozenset(key.partition("/")[2] for key in taken if key.startswith(f"{self.kind}/"))

    def is_gone(self, row_id: str) -> bool:
        """Whether a row went away that was not deleted here; one that is not in memory is not gone."""
        return row_id not in self._taken_away and row_id == self._gone

    def _now(self, key: str) -> TierRecord | None:
        try:
            return self.ws.records.get(self.kind, key)
        except NanomemError:
            return None
