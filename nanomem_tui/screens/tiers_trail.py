"""The Records screen, behind Tiers: the records of an agent's work, kind by kind, with their links, to correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from nanomem_tui.actions import Context
from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.operations import Operation
from nanomem_tui.screens import tiers_detail
from nanomem_tui.screens.tiers_detail import Linked, Shown, parts_of
from nanomem_tui.screens.tiers_list import RecordList
from nanomem_tui.screens.tiers_rows import TITLES, is_way_up, words_of
from nanomem_tui.store.work.kinds import RECORD_KINDS
from nanomem_tui.store.work.values import TierRecord
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.parts_view import Preface
from nanomem_tui.widgets.text_view import Body, Document

UP = {"tool-call": "task", "decision": "task", "task": "goal", "pattern": "made from"}
"""The link of a kind that leads to what a record belongs to."""


class Before(NamedTuple):
    """Where a person was before following a link."""

    kind: str
    row_id: str
    part: str


class TrailScreen(RecordList):
    """Records, one kind at a time."""

    SCREEN = "trail"
    BEHIND = "tiers"
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

    def __init__(self) -> None:
        super().__init__()
        self._told = ""  # the id of the record that the detail shows
        self._came: list[Before] = []
        self._taken_away: frozenset[str] = frozenset()
        self._wanted_part = ""

    def part(self) -> Any:
        """The records of the workspace."""
        return self.ws.records

    # The detail

    def detail(self, row: TierRecord) -> Shown:
        """All that is known of a record."""
        if not self.paged.is_read(row.id):
            return Shown(row.id, ())
        try:
            record = self.ws.records.get(row.kind, row.id)
        except NotFound:
            return Shown(row.id, (Preface((Body("This record is deleted; u brings it back.", "warn"),)),))
        return Shown(row.id, parts_of(self.ws, record, glyphs(self)))

    def show_detail(self, detail: Any) -> None:
        """From its beginning; where it is when it is the same record; at the link that was followed, coming back."""
        if isinstance(detail, Shown) and detail.parts:
            same = bool(self.view.parts) and self._told == detail.row_id
            self._told = detail.row_id
            self.view.show(detail.parts, keep_place=same)
            wanted, self._wanted_part = self._wanted_part, ""
            if not (wanted and self.view.move_to_part(wanted)) and not same:
                self.view.move_to_part(detail.parts[0].key)
        elif isinstance(detail, (Document, Shown)):
            self._told = ""
            self.view.show((), empty="Reading …" if isinstance(detail, Shown) else "No record is chosen.")
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
        self.console.go(self.BEHIND, self.kind)
        return True

    def do_next_list(self) -> None:
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
        return tiers_detail.text_of(row.kind, tiers_detail.texts_of(row.kind, row.fields))

    def save_form(self, row: TierRecord, text: str) -> Operation:
        """Save those fields that were edited."""
        edited = tiers_detail.form_of(row.kind).edited(self.edit_form(row), text)
        return self.ws.records.edit(row.kind, row.id, tiers_detail.read(row.kind, edited), expected=row)

    def again(self, row: TierRecord, now: TierRecord, text: str) -> str:
        """The fields that were edited as they were typed, the others as they are now."""
        form = tiers_detail.form_of(row.kind)
        edited = form.edited(self.edit_form(row), text)
        return tiers_detail.text_of(row.kind, {**tiers_detail.texts_of(row.kind, now.fields), **edited})

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
        form = tiers_detail.form_of(kind)

        async def add(text: str) -> None:
            fields = tiers_detail.read(kind, form.read(text), new=True)
            await self.done(await self.change(lambda ws: ws.records.add(kind, fields)[0]))

        self.ask_text(
            f"A new {kind.replace('-', ' ')}", tiers_detail.text_of(kind, tiers_detail.defaults_of(kind)), add
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
        """What a person deleted here was told when it was done."""
        return row_id not in self._taken_away and super().is_gone(row_id)

    def _now(self, key: str) -> TierRecord | None:
        try:
            return self.ws.records.get(self.kind, key)
        except NanomemError:
            return None
