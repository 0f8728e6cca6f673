"""The Journal screen, behind Knowledge: what was noted of each day, to read, write and correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from nanomem_tui.core import clock
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory import edits
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.records import RecordsScreen
from nanomem_tui.screens.rows import when
from nanomem_tui.screens.text_form import TextForm
from nanomem_tui.store.values import Record
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.toast import say

DAY_NAMED = 30  # entries of the same day that are shown below one


class JournalScreen(RecordsScreen):
    """Entries by day."""

    SCREEN = "journal"
    BEHIND = "knowledge"
    NOUN = "journal entry"
    FORM = TextForm({"DAY": "day", "TEXT": "text"}, "the edited entry")
    EMPTY = "No journal yet. a writes an entry; `nanomem memory import` takes over that of another system."
    HELP = (
        "What was noted of each day, the newest first. a writes an entry for today or for the day that you give. / "
        "filters: day:2026-02-* source:import age:>30d."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "day": "text", "source": "text", "session": "text", "age": "age",
    }  # fmt: skip

    def part(self) -> Any:
        """The journal of the workspace."""
        return self.ws.journal

    # The list

    def columns(self) -> Sequence[Column[Record]]:
        """The day, and what was noted."""
        return (
            Column("day", "Day", lambda row: row.about, width=10, tone="accent", sort=lambda row: row.about),
            Column("time", "Time", _time, width=5, priority=2, tone="dim"),
            Column("text", "What was noted", lambda row: row.text, min_width=24, sort=lambda row: row.text.casefold()),
            Column("source", "Source", lambda row: row.source, width=10, priority=1, tone="dim",
                   sort=lambda row: row.source),
        )  # fmt: skip

    def load(self) -> Iterable[Sequence[Record]]:
        """All entries."""
        yield self.ws.journal.entries()

    def search_text(self, row: Record) -> str:
        """Words are searched in the text."""
        return row.text

    def field(self, row: Record, name: str) -> Any:
        """The fields of the filter language."""
        values = {"id": row.id, "day": row.about, "source": row.source, "session": row.session_key, "age": row.at}
        return values[name]

    def sign(self, row: Record) -> str:
        """A conflict."""
        return "!" if "conflict" in row.meta else ""

    def facts(self, row: Record) -> frozenset[str]:
        """Whether it is known in which session it was noted."""
        return frozenset({"source"}) if row.session_key else frozenset()

    # The detail

    def detail(self, row: Record) -> Document:
        """The entry, the others of its day, its fields, and what it has been through."""
        blocks: list[Block] = [Spans(((row.about, "heading"),)), Body(row.text)]
        blocks += [Body(line, "bad") for line in edits.unsettled_lines(row)]
        same = [one for one in self.ws.journal.entries() if one.about == row.about and one.id != row.id]
        if same:
            blocks.append(Heading(f"The same day: {counted(len(same), 'more', 'more')}"))
            lines = [((f"{_time(one)}  ", "dim"), (one_line(one.text, 400), "")) for one in same[:DAY_NAMED]]
            blocks += [Spans(line, 7) for line in lines]
        named = (
            ("at", when(row.at)),
            ("source", row.source),
            ("session", row.session_key),
            ("written", when(row.created_at)),
            ("updated", when(row.updated_at)),
            ("id", row.id),
        )
        blocks += [Heading("Fields"), *(Field(name, value) for name, value in named if value)]
        blocks += [Field(name, str(value)) for name, value in row.meta.items() if name != "conflict" and value]
        return Document(tuple(blocks + self.history_blocks(row)), copy=row.text)

    # Actions

    def form_fields(self, row: Record) -> dict[str, str]:
        """The day and the text."""
        return {"day": row.about, "text": row.text}

    def save_form(self, row: Record, text: str) -> Operation:
        """Save what was edited of it."""
        return self.ws.journal.edit(row.id, expected=row, **self.FORM.edited(self.edit_form(row), text))

    def do_add(self) -> None:
        """Write an entry."""
        self.ask_new("A new entry", {"day": clock.local_naive(clock.now())[:10], "text": ""})

    def keep_new(self, fields: dict[str, str]) -> Operation:
        """A new entry of its day."""
        operation, _, warnings = self.ws.journal.add(fields["text"], fields["day"])
        self.said(warnings)
        return operation

    def do_source(self) -> None:
        """To the session in which it was noted."""
        row = self.table.cursor_row
        if row is not None:
            self.console.go("sessions", row.session_key)
            say(self, "The session in which it was noted")

    def do_next_list(self) -> None:
        """To reflections."""
        self.console.go("reflections")

    def order(self, row: Record) -> tuple[str, str]:
        """By day, within one by time."""
        return row.about, row.at


def _time(row: Record) -> str:
    moment = clock.parse(row.at)
    return f"{moment.astimezone():%H:%M}" if moment else ""
