"""The Journal and Reflections screens, behind Knowledge: daily entries and what was learned from sessions; read,
write and correct them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory import edit_conflicts
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.editable_rows import EditableRowsScreen, format_time
from nanomem_tui.screens.base.forms import TextForm
from nanomem_tui.store.values import Record
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Spans

# -- What the Journal and the Reflections screen share: rows that happened at a time, edited as one text --------------


class RecordsScreen(EditableRowsScreen[Record]):
    """Records of one kind, newest first. A subclass says which, and what their form is."""

    LAYER = "record"
    FORM: ClassVar[TextForm]

    def headline(self, row: Record) -> str:
        """Its text."""
        return row.text

    def copy_text(self) -> str:
        """The text of the row, or of the selected ones."""
        return "\n\n".join(row.text for row in self.targets())

    def form_fields(self, row: Record) -> dict[str, str]:
        """What the form edits, by field."""
        raise NotImplementedError

    def edit_form(self, row: Record) -> str:
        """Its fields, each under the name of its part."""
        return self.FORM.text(self.form_fields(row))

    def again(self, row: Record, now: Record, text: str) -> str:
        """The fields that were edited as they were typed, the others as they are now."""
        return self.FORM.text({**self.form_fields(now), **self.FORM.edited(self.edit_form(row), text)})

    def show_warnings(self, warnings: Sequence[str]) -> None:
        """Say what a person should know of what was kept; from a thread."""
        for warning in warnings:
            self.app.call_later(say, self, warning, "warning")

    def ask_new(self, title: str, fields: dict[str, str]) -> None:
        """Let a person fill in a form, and keep it."""

        async def add(text: str) -> None:
            await self.done(await self.change(lambda ws: self.keep_new(self.FORM.read(text))))

        self.ask_text(title, self.FORM.text(fields), add)

    def keep_new(self, fields: dict[str, str]) -> Operation:
        """Keep a new row of these fields; in a thread."""
        raise NotImplementedError

    def _now(self, key: str) -> Record | None:
        try:
            found: Record = self.service().get(key)
        except NanomemError:
            return None
        return found

    def _place_of(self, row: Record, rows: Sequence[Record]) -> int:
        """Where a row that came (back) belongs: newest first."""
        for index, other in enumerate(rows):
            if self.order(other) < self.order(row):
                return index
        return len(rows)

    def order(self, row: Record) -> tuple[str, str]:
        """What rows are newest by."""
        return row.at, row.id


DAY_NAMED = 30  # entries of the same day that are shown below one


class JournalScreen(RecordsScreen):
    """Entries by day."""

    SCREEN = "journal"
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

    def service(self) -> Any:
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
        blocks += [Body(line, "bad") for line in edit_conflicts.conflict_lines(row)]
        same = [one for one in self.ws.journal.entries() if one.about == row.about and one.id != row.id]
        if same:
            blocks.append(Heading(f"The same day: {counted(len(same), 'more', 'more')}"))
            lines = [((f"{_time(one)}  ", "dim"), (one_line(one.text, 400), "")) for one in same[:DAY_NAMED]]
            blocks += [Spans(line, 7) for line in lines]
        named = (
            ("at", format_time(row.at)),
            ("source", row.source),
            ("session", row.session_key),
            ("written", format_time(row.created_at)),
            ("updated", format_time(row.updated_at)),
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
        self.show_warnings(warnings)
        return operation

    def do_source(self) -> None:
        """To the session in which it was noted."""
        row = self.table.cursor_row
        if row is not None:
            self.console.go("sessions", row.session_key)
            say(self, "The session in which it was noted")

    def order(self, row: Record) -> tuple[str, str]:
        """By day, within one by time."""
        return row.about, row.at


def _time(row: Record) -> str:
    moment = clock.parse(row.at)
    return f"{moment.astimezone():%H:%M}" if moment else ""


# The Reflections screen, behind Knowledge: tools that failed, with what, and what follows from it; from there to the
# lesson that it became.


class ReflectionsScreen(RecordsScreen):
    """What failed tools taught."""

    SCREEN = "reflections"
    NOUN = "reflection"
    FORM = TextForm(
        {"TOOL": "tool", "ARGUMENTS": "args", "ERROR": "error", "INSIGHT": "insight"}, "the edited reflection"
    )
    EMPTY = "No reflections yet. a writes down what a failed tool call taught."
    HELP = (
        "Tools that failed: with what arguments, what they said, and what follows from it. L makes it a lesson, which "
        "is what the agent is given; o goes to that lesson. Signs before a row: > it became a lesson."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "tool": "text", "source": "text", "session": "text", "age": "age", "lesson": "switch",
    }  # fmt: skip

    def service(self) -> Any:
        """The reflections of the workspace."""
        return self.ws.reflections

    # The list

    def columns(self) -> Sequence[Column[Record]]:
        """Which tool, what follows, what it said."""
        return (
            Column("tool", "Tool", lambda row: row.about, width=16, tone="accent",
                   sort=lambda row: row.about.casefold()),
            Column("insight", "Insight", lambda row: row.text, min_width=24, flex=2,
                   sort=lambda row: row.text.casefold()),
            Column("error", "Error", lambda row: _meta(row, "error"), min_width=16, priority=2, tone="bad"),
            aged("Age", lambda row: row.at, priority=1, align="right", tone="dim",
                   sort=lambda row: row.at),
        )  # fmt: skip

    def load(self) -> Iterable[Sequence[Record]]:
        """All of them."""
        yield self.ws.reflections.all()

    def search_text(self, row: Record) -> str:
        """Words are searched in all that it says."""
        return "\n".join((row.about, row.text, _meta(row, "error"), _meta(row, "args")))

    def field(self, row: Record, name: str) -> Any:
        """The fields of the filter language."""
        if name == "lesson":
            return bool(_meta(row, "lesson"))
        values = {"id": row.id, "tool": row.about, "source": row.source, "session": row.session_key, "age": row.at}
        return values[name]

    def sign(self, row: Record) -> str:
        """In conflict, or become a lesson."""
        meta = row.meta
        return "!" if "conflict" in meta else ">" if meta.get("lesson") else ""

    def facts(self, row: Record) -> frozenset[str]:
        """Whether it became a lesson."""
        return frozenset({"source"}) if _meta(row, "lesson") else frozenset()

    # The detail

    def detail(self, row: Record) -> Document:
        """What follows, what failed and how, the lesson, its fields, and what it has been through."""
        blocks: list[Block] = [Heading("Insight"), Body(row.text, "good")]
        blocks += [Body(line, "bad") for line in edit_conflicts.conflict_lines(row)]
        blocks += [Heading("Tool"), Body(row.about, "accent")]
        if args := _meta(row, "args"):
            blocks += [Heading("Arguments"), Body(args, keep=True)]
        if error := _meta(row, "error"):
            blocks += [Heading("Error"), Body(error, "bad")]
        lesson = self.ws.reflections.lesson_of(row)
        if lesson is not None:
            blocks += [Heading("The lesson that it became"), Body(f"{lesson.trigger}: {lesson.better_action}")]
            blocks.append(Body("o goes there.", "dim"))
        elif _meta(row, "lesson"):
            blocks.append(Body("The lesson that it became was deleted since; L makes it again.", "warn"))
        named = (
            ("at", format_time(row.at)),
            ("source", row.source),
            ("session", row.session_key),
            ("updated", format_time(row.updated_at)),
            ("id", row.id),
        )
        blocks += [Heading("Fields"), *(Field(name, value) for name, value in named if value)]
        told = {"args", "error", "lesson", "conflict"}
        blocks += [Field(name, str(value)) for name, value in row.meta.items() if name not in told and value]
        return Document(tuple(blocks + self.history_blocks(row)), copy=row.text)

    # Actions

    def form_fields(self, row: Record) -> dict[str, str]:
        """Tool, arguments, error, insight."""
        return {"tool": row.about, "args": _meta(row, "args"), "error": _meta(row, "error"), "insight": row.text}

    def save_form(self, row: Record, text: str) -> Operation:
        """Save what was edited of it."""
        edited = self.FORM.edited(self.edit_form(row), text)
        operation, _, warnings = self.ws.reflections.edit(row.id, expected=row, **edited)
        self.show_warnings(warnings)
        return operation

    def do_add(self) -> None:
        """Write one down."""
        row = self.table.cursor_row
        self.ask_new("A new reflection", {"tool": row.about if row else "", "args": "", "error": "", "insight": ""})

    def keep_new(self, fields: dict[str, str]) -> Operation:
        """A new reflection."""
        given = (fields[name] for name in ("tool", "args", "error", "insight"))
        operation, _, warnings = self.ws.reflections.add(*given)
        self.show_warnings(warnings)
        return operation

    async def do_make_lesson(self) -> None:
        """Make the lesson that follows from it."""
        row = self.table.cursor_row
        if row is not None:
            await self.done(await self.change(lambda ws: ws.reflections.lesson(row.id)[0]))

    async def do_source(self) -> None:
        """To the lesson that it became."""
        row = self.table.cursor_row
        if row is None:
            return
        lesson = await self.console.in_thread(lambda ws: ws.reflections.lesson_of(row))
        if lesson is None:
            say(self, "The lesson was deleted since; U is the ledger, which can bring it back", "warning")
        else:
            self.console.go("lessons", lesson.id)


def _meta(row: Record, name: str) -> str:
    return str(row.meta.get(name) or "")
