"""The Lessons screen: what the agent learned from failures and corrections, how confident it is, and whether it still
applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from nanomem_tui.actions import BY_NAME
from nanomem_tui.core.operations import Operation
from nanomem_tui.memory import edit_conflicts, lessons, retention
from nanomem_tui.memory.filters import LESSON_FIELDS, Kind, lesson_field, lesson_text
from nanomem_tui.memory.retention import get_superseded
from nanomem_tui.screens.base.editable_rows import EditableRowsScreen, format_time
from nanomem_tui.screens.base.forms import TextForm
from nanomem_tui.store.values import Lesson
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading

FORM = TextForm({"WHEN": "trigger", "DO": "better_action", "INSTEAD OF": "bad_action"}, "the edited lesson")
"""The parts of a lesson as a person edits them."""

#: The free fields that are told in words.
TOLD = frozenset({"conflict", "efficacy", retention.FIELD, retention.WINNER})


class LessonsScreen(EditableRowsScreen[Lesson]):
    """Self-improvement lessons."""

    SCREEN = "lessons"
    LAYER = "lesson"
    NOUN = "lesson"
    EMPTY = "No lessons yet. The agent writes one when it is corrected."
    HELP = (
        "What the agent learned to do otherwise. Sure: its confidence now, one less for each week without use. One "
        "that faded (~) is kept and not told to the agent any more; faded:yes finds those. < is superseded by another."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = LESSON_FIELDS

    def service(self) -> Any:
        """The lessons of the workspace."""
        return self.ws.lessons

    def cap(self) -> int:
        """The setting `max_lessons`."""
        return self.ws.settings.max_lessons

    # The list

    def columns(self) -> Sequence[Column[Lesson]]:
        """When, what to do, and how sure."""
        return (
            Column("trigger", "When", lambda row: row.trigger, min_width=18, sort=lambda row: row.trigger.casefold()),
            Column("action", "Do", lambda row: row.better_action, min_width=18, flex=2, priority=1),
            Column("sure", "Sure", self._sure, width=5, priority=2, align="right", sort=self._confidence),
            Column("hits", "Hits", lambda row: str(row.hits), width=5, priority=3, align="right",
                   sort=lambda row: row.hits),
            Column("on", "On", self._state, width=5, priority=5),
            Column("scope", "Scope", lambda row: row.scope, width=7, priority=6, tone="dim"),
            aged("Age", lambda row: row.updated_at, priority=4, align="right", tone="dim"),
        )  # fmt: skip

    def load(self) -> Iterable[Sequence[Lesson]]:
        """All of them; there are hundreds, not thousands."""
        yield self.ws.lessons.all()

    def _confidence(self, row: Lesson) -> float:
        return float(self.ws.lessons.effective(row))

    def _sure(self, row: Lesson) -> str:
        return f"{self._confidence(row):.1f}"

    def _is_faded(self, row: Lesson) -> bool:
        return row.id in self.ws.lessons.faded((row,))

    def _state(self, row: Lesson) -> str:
        return "off" if not row.enabled else "faded" if self._is_faded(row) else "on"

    def search_text(self, row: Lesson) -> str:
        """Words are searched in all three texts."""
        return lesson_text(row)

    def field(self, row: Lesson, name: str) -> Any:
        """The fields of the filter language."""
        return lesson_field(row, name, self._confidence, self._is_faded)

    def sign(self, row: Lesson) -> str:
        """The state of a row in one character."""
        if "conflict" in row.meta:
            return "!"
        if get_superseded(row) is not None:
            return "<"
        return {"off": "-", "faded": "~"}.get(self._state(row), "")

    def dimmed(self, row: Lesson) -> bool:
        """Disabled and faded lessons are not told to the agent."""
        return self._state(row) != "on"

    def facts(self, row: Lesson) -> frozenset[str]:
        """Whether it is known where the lesson was learned."""
        return frozenset({"source"}) if row.session_key or row.meta.get("reflection") else frozenset()

    # The detail

    def headline(self, row: Lesson) -> str:
        """When and what."""
        return f"{row.trigger} → {row.better_action}"

    def copy_text(self) -> str:
        """The texts of the lesson, or of the selected ones."""
        return "\n\n".join(self.edit_form(row) for row in self.targets())

    def detail(self, row: Lesson) -> Document:
        """Its texts, how sure it is and why, where it was learned, when it was applied, and its history."""
        blocks: list[Block] = [Heading("When"), Body(row.trigger), Heading("Do"), Body(row.better_action, "good")]
        if row.bad_action:
            blocks += [Heading("Instead of"), Body(row.bad_action, "bad")]
        known = retention.superseded_notes(
            row, {name: self.ws.store.snapshot.table(name) for name in ("item", "lesson")}
        )
        blocks += [Body(f"{name} {words}", "warn" if name == "Superseded" else "dim") for name, words in known]
        if not row.enabled:
            blocks.append(Body("Disabled: kept, never told to the agent (x enables it).", "warn"))
        elif self._is_faded(row):
            told = "Faded: not sure enough any more to be told to the agent. An edit (e) makes it as sure as it was."
            blocks.append(Body(told, "warn"))
        elif newer := self.ws.lessons.newer(row):
            told = f"Older: of {row.trigger} the agent is told “{newer.better_action}”, which is newer."
            blocks.append(Body(told, "warn"))
        blocks += [Body(line, "bad") for line in edit_conflicts.conflict_lines(row)]
        if row.meta.get("reflection"):
            blocks.append(Body("It follows from a reflection on a tool that failed; o goes there.", "dim"))
        sure, record = self._confidence(row), lessons.efficacy_of(row)
        named = (
            ("sure", f"{sure:.1f} of 10 now; {row.confidence} when it was last confirmed"),
            ("hits", f"{row.hits:,}"),
            ("scope", row.scope),
            ("session", row.session_key),
            ("actor", row.actor_key),
            ("source", row.source),
            ("learned", format_time(row.created_at)),
            ("updated", format_time(row.updated_at)),
            ("applied", format_time(row.last_applied_at) if row.last_applied_at else "never"),
            ("helps", lessons.describe_efficacy(row)),
            ("last shown", format_time(record.last_shown_at) if record.last_shown_at else ""),
            ("promoted", row.promoted_global_key),
            ("id", row.id),
        )
        blocks += [Heading("Fields"), *(Field(name, str(value)) for name, value in named if value)]
        blocks += [Field(name, str(value)) for name, value in row.meta.items() if name not in TOLD and value]
        return Document(tuple(blocks + self.history_blocks(row)), copy=self.edit_form(row))

    # Actions

    async def do_source(self) -> None:
        """To the reflection that it follows from, else to the session where it was learned."""
        row = self.table.cursor_row
        if row is None:
            return
        named = str(row.meta.get("reflection") or "")
        known = await self.console.in_thread(lambda ws: {one.id for one in ws.reflections.all()})
        if named in known:
            self.console.go("reflections", named)
        elif row.session_key:
            self.console.go("sessions", row.session_key)
        else:
            say(self, "The reflection was deleted since; U is the ledger, which can bring it back", "warning")

    def edit_form(self, row: Lesson) -> str:
        """Its three texts, each under the name of its part."""
        return FORM.text(row._asdict())

    def save_form(self, row: Lesson, text: str) -> Operation:
        """Save those of the three texts that were edited."""
        return self.ws.lessons.edit(row.id, expected=row, **FORM.edited(self.edit_form(row), text))

    def again(self, row: Lesson, now: Lesson, text: str) -> str:
        """The texts that were edited as they were typed, the others as they are now."""
        return FORM.text({**now._asdict(), **FORM.edited(self.edit_form(row), text)})

    def do_reset_lessons(self) -> None:
        """Forget every lesson, after a typed word."""
        rows = list(self.listing.rows)

        async def reset(_yes: bool) -> None:
            await self.done(await self.change(lambda ws: ws.lessons.reset()))

        reason = "Every lesson of this workspace is forgotten, also in the agent's own file. u brings them back."
        title = f"{BY_NAME['reset_lessons'].label_on('lessons').capitalize()}: {len(rows):,} would go"
        self.confirm(title, self.listed(rows), reset, reason=reason, word="reset")
