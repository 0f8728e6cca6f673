"""The Archive and Notes screens, behind Sessions: the summaries of conversations, which of them a Dream has read, and
the daily notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.agents.archive import marked_lines
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.sessions.archive_changes import KEEP
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.find import FoundScreen
from nanomem_tui.screens.sessions import size_text
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.dialogs import AskScreen, typed_number
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.notes import Note
    from nanomem_tui.memory.sessions.archive_changes import HistoryCompaction, Migration
    from nanomem_tui.workspace import Workspace


DIGITS = 6  # cells of the number of a summary, at the least
LARGEST = 2**63  # a larger number is cut: the words need the room


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """A summary, and whether a Dream has read it."""

    entry: HistoryEntry
    dreamt: bool


class ArchiveScreen(FoundScreen[ArchiveRow]):
    """Summaries."""

    SCREEN = "archive"
    EMPTY = "No summaries yet: the agent has archived no conversation."
    HELP = "Summaries of conversations, the newest first. Signs: + no Dream has read it yet. o opens the conversation."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "cursor": "number", "session": "text", "channel": "text", "age": "age", "dreamt": "switch", "mark": "text",
    }  # fmt: skip

    def columns(self) -> Sequence[Column[ArchiveRow]]:
        """When, of which conversation, what."""
        return (
            Column("cursor", "#", lambda row: str(row.entry.cursor), width=self._digits, priority=2, align="right",
                   tone="dim", sort=lambda row: row.entry.cursor),
            aged("Age", _at, priority=1, align="right", tone="dim"),
            Column("session", "Session", lambda row: row.entry.session_key or "", width=18, priority=3, tone="accent",
                   sort=lambda row: row.entry.session_key or ""),
            Column("text", "Summary", lambda row: row.entry.content, min_width=24),
            Column("dreamt", "Dream", lambda row: "" if row.dreamt else "waits", width=6, priority=4, tone="warn",
                   sort=lambda row: row.dreamt),
        )  # fmt: skip

    def row_id(self, row: ArchiveRow) -> str:
        """Cursor and line: two writers may give one cursor twice."""
        return f"{row.entry.cursor}:{row.entry.line}"

    _digits = DIGITS  # of the largest number in the list
    older = 0
    """Summaries of a long archive that are not in the list."""

    def load(self) -> Iterable[Sequence[ArchiveRow]]:
        """All of them, the newest first; of a long archive the newest."""
        history = self.ws.history
        dreamt = history.count()["dream_cursor"]
        self.older = history.older
        entries = history.entries()
        self.call_later(self._make_room, max((entry.cursor for entry in entries), default=0))
        yield [ArchiveRow(entry, entry.cursor <= dreamt) for entry in entries]

    def _make_room(self, largest: int) -> None:
        """Before the rows come: room for the largest number, as far as an agent counts."""
        digits = max(len(str(min(largest, LARGEST))), DIGITS)
        if digits != self._digits:
            self._digits = digits
            self.table.set_columns(self.columns())

    def also_said(self) -> list[str]:
        """How many are older than those."""
        older = [f"{self.older:,} older: F finds in them"] if self.older else []
        return [*older, *super().also_said()]

    def search_text(self, row: ArchiveRow) -> str:
        """Words are searched in the summary."""
        return row.entry.content

    def field(self, row: ArchiveRow, name: str) -> Any:
        """The fields of the filter language."""
        session = row.entry.session_key or ""
        if name == "mark":
            return {mark for mark, _ in marked_lines(row.entry.content) if mark}
        values = {"cursor": row.entry.cursor, "session": session, "age": _at(row), "dreamt": row.dreamt}
        return values[name] if name in values else session.partition(":")[0]

    def sign(self, row: ArchiveRow) -> str:
        """Not read by a Dream yet."""
        return "" if row.dreamt else "+"

    def facts(self, row: ArchiveRow) -> frozenset[str]:
        """Whether it is known of which conversation."""
        return frozenset({"source"}) if row.entry.session_key else frozenset()

    def copy_text(self) -> str:
        """The text of the summaries."""
        return "\n".join(row.entry.content for row in self.targets())

    def detail(self, row: ArchiveRow) -> Document:
        """The summary with all its fields."""
        entry = row.entry
        said = "a Dream has read it" if row.dreamt else "waits for a Dream"
        blocks: list[Block] = [
            Field("cursor", f"{entry.cursor}, {said}", "" if row.dreamt else "warn"),
            Field("when", entry.timestamp),
            Field("session", entry.session_key or "(not known)"),
            *(Field(name, str(value)) for name, value in entry.extra.items()),
            Heading("Summary"),
            Body(entry.content),
        ]
        return Document(tuple(blocks), copy=entry.content)

    def do_compact(self) -> None:
        """Ask how many summaries stay, show what that means, then do it."""

        async def preview(answer: str | None) -> None:
            await self._preview(typed_number(answer) or 0)

        def wrong(answer: str) -> str:
            return "Type a number: how many stay at least" if typed_number(answer) is None else ""

        count = len(self.listing.rows) + self.older
        self.ask(AskScreen(f"Keep how many of {count:,} summaries", str(KEEP), wrong=wrong), preview)

    async def _preview(self, keep: int) -> None:
        plan = await self.console.in_thread(lambda ws: ws.history_changes.compaction(keep))
        held = counted(plan.entries, "summary", "summaries")
        nothing = f"Nothing to compact: {held}, and {plan.kept:,} would be kept" if plan.nothing else ""

        async def compact(_yes: bool) -> None:
            await self._do(lambda ws: ws.history_changes.compact(keep))

        self.confirm("Compact the archive", compaction_blocks(plan), compact, opened_by=self.key_of("compact"),
                     refused=nothing or _not_now(plan.refused))  # fmt: skip

    async def do_migrate_history(self) -> None:
        """Show what migrating HISTORY.md would do, then do it."""
        plan = await self.console.in_thread(lambda ws: ws.history_changes.migration())

        async def migrate(_yes: bool) -> None:
            await self._do(lambda ws: ws.history_changes.migrate())

        self.confirm("Migrate HISTORY.md", migration_blocks(plan), migrate, refused=_not_now(plan.refused))

    async def _do(self, change: Callable[[Workspace], Operation]) -> None:
        for operation in await self.change(change):
            say(self, f"{operation.label} (u undoes it)")

    def do_source(self) -> None:
        """The conversation that it sums up."""
        row = self.table.cursor_row
        if row is not None and row.entry.session_key:
            self.console.go("sessions", row.entry.session_key)


def compaction_blocks(plan: HistoryCompaction) -> list[Block]:
    """What compacting the archive would do."""
    span = f", #{plan.first} to #{plan.last}" if plan.removed else ""
    blocks: list[Block] = [
        Field("summaries", f"{plan.entries:,} → {plan.kept:,}  ({plan.removed:,} go{span})"),
        Field("bytes", f"{plan.bytes_before:,} → {plan.bytes_after:,}"),
    ]
    if plan.unreadable:
        blocks.append(Field("unreadable", f"{counted(plan.unreadable, 'line')} to the quarantine", "warn"))
    return [*blocks, *(Body(note, "warn") for note in plan.notes)]


def migration_blocks(plan: Migration) -> list[Block]:
    """What migrating would do."""
    blocks: list[Block] = [
        Field("summaries", f"{plan.entries:,}, {plan.first} to {plan.last}"),
        Field("kept as", plan.backup),
        Body("Dream takes all of them as read.", "dim"),
    ]
    if plan.undated:
        blocks.append(Field("undated", f"{plan.undated:,}, dated by the file's time", "warn"))
    if plan.unreadable:
        blocks.append(Field("unreadable", f"{counted(plan.unreadable, 'line')}, shown with \ufffd", "warn"))
    return blocks


def _not_now(refused: str) -> str:
    return f"Not now: {refused}" if refused else ""


def _at(row: ArchiveRow) -> str:
    moment = clock.parse(row.entry.timestamp)
    return clock.iso(moment) if moment else ""


# -- The Notes screen, behind Sessions: the agent's daily notes and Markdown mirrors, to read and search --------------


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note with its text."""

    note: Note
    text: str


class NotesScreen(FoundScreen[NoteRow]):
    """Daily notes."""

    SCREEN = "notes"
    EMPTY = "No daily notes here."
    HELP = "Daily notes (memory/YYYY-MM-DD.md) and the mirrors episodic/ and semantic/. The filter searches their text."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"name": "text", "date": "text", "age": "age", "size": "number"}

    def columns(self) -> Sequence[Column[NoteRow]]:
        """Which day, and how it begins."""
        return (
            Column("name", "Note", lambda row: row.note.name, width=24, sort=lambda row: row.note.name),
            Column("text", "Text", lambda row: _beginning(row.text), min_width=20),
            Column("size", "Size", lambda row: size_text(row.note.size), width=6, priority=2, align="right",
                   sort=lambda row: row.note.size),
            aged("Age", lambda row: row.note.updated_at, priority=1, align="right",
                   tone="dim", sort=lambda row: row.note.updated_at),
        )  # fmt: skip

    def row_id(self, row: NoteRow) -> str:
        """The path of the note below `memory/`."""
        return row.note.name

    def load(self) -> Iterable[Sequence[NoteRow]]:
        """All of them, the newest day first."""
        notes = self.ws.notes
        yield [NoteRow(note, _read(notes, note)) for note in notes.list()]

    def search_text(self, row: NoteRow) -> str:
        """Words are searched in the whole note."""
        return f"{row.note.name} {row.text}"

    def field(self, row: NoteRow, name: str) -> Any:
        """The fields of the filter language."""
        return row.note.updated_at if name == "age" else getattr(row.note, name)

    def copy_text(self) -> str:
        """The text of the notes."""
        return "\n".join(row.text for row in self.targets())

    def detail(self, row: NoteRow) -> Document:
        """The note as it is."""
        blocks: list[Block] = [
            Field("note", row.note.name),
            Field("changed", f"{format_time(row.note.updated_at)}, {row.note.size:,} bytes"),
            Heading("Text"),
            Body(row.text),
        ]
        return Document(tuple(blocks), copy=row.text)


def _read(notes: Any, note: Note) -> str:
    try:
        return str(notes.read(note.name))
    except NanomemError as error:
        return error.line()


def _beginning(text: str) -> str:
    """The first words of a note that are no heading."""
    lines = [line for line in text[:4_000].split("\n") if line.strip() and not line.startswith("#")]
    return one_line(" ".join(lines), 300)
