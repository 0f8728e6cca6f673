"""The Reflections screen, behind Knowledge: tools that failed, with what, and what follows from it; from there to the
lesson that it became.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from nanomem_tui.core.operations import Operation
from nanomem_tui.memory import edits
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.records import RecordsScreen
from nanomem_tui.screens.rows import when
from nanomem_tui.screens.text_form import TextForm
from nanomem_tui.store.values import Record
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading
from nanomem_tui.widgets.toast import say


class ReflectionsScreen(RecordsScreen):
    """What failed tools taught."""

    SCREEN = "reflections"
    BEHIND = "knowledge"
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

    def part(self) -> Any:
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
        blocks += [Body(line, "bad") for line in edits.unsettled_lines(row)]
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
            ("at", when(row.at)),
            ("source", row.source),
            ("session", row.session_key),
            ("updated", when(row.updated_at)),
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
        self.said(warnings)
        return operation

    def do_add(self) -> None:
        """Write one down."""
        row = self.table.cursor_row
        self.ask_new("A new reflection", {"tool": row.about if row else "", "args": "", "error": "", "insight": ""})

    def keep_new(self, fields: dict[str, str]) -> Operation:
        """A new reflection."""
        given = (fields[name] for name in ("tool", "args", "error", "insight"))
        operation, _, warnings = self.ws.reflections.add(*given)
        self.said(warnings)
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

    def do_next_list(self) -> None:
        """To the use of tokens."""
        self.console.go("usage")


def _meta(row: Record, name: str) -> str:
    return str(row.meta.get(name) or "")
