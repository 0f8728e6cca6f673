"""The Archive screen, behind Sessions: the summaries that the agent made of its conversations, and which a Dream has
read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui import clock
from nanomem_tui.formats.history import marks
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.found_screen import FoundScreen
from nanomem_tui.screens.rows import age_of
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading

if TYPE_CHECKING:
    from nanomem_tui.formats.history import HistoryEntry


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """A summary, and whether a Dream has read it."""

    entry: HistoryEntry
    dreamt: bool


class ArchiveScreen(FoundScreen[ArchiveRow]):
    """Summaries."""

    SCREEN = "archive"
    NEXT = "sessions"
    EMPTY = "No summaries yet: the agent has archived no conversation."
    HELP = "Summaries of conversations, the newest first. Signs: + no Dream has read it yet. o opens the conversation."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "cursor": "number", "session": "text", "channel": "text", "age": "age", "dreamt": "switch", "mark": "text",
    }  # fmt: skip

    def columns(self) -> Sequence[Column[ArchiveRow]]:
        """When, of which conversation, what."""
        return (
            Column("cursor", "#", lambda row: str(row.entry.cursor), width=6, priority=2, align="right", tone="dim",
                   sort=lambda row: row.entry.cursor),
            Column("age", "Age", lambda row: age_of(_at(row)), width=6, priority=1, align="right", tone="dim"),
            Column("session", "Session", lambda row: row.entry.session_key or "", width=18, priority=3, tone="accent",
                   sort=lambda row: row.entry.session_key or ""),
            Column("text", "Summary", lambda row: row.entry.content, min_width=24),
            Column("dreamt", "Dream", lambda row: "" if row.dreamt else "waits", width=6, priority=4, tone="warn",
                   sort=lambda row: row.dreamt),
        )  # fmt: skip

    def row_id(self, row: ArchiveRow) -> str:
        """Cursor and line: two writers may give one cursor twice."""
        return f"{row.entry.cursor}:{row.entry.line}"

    def load(self) -> Iterable[Sequence[ArchiveRow]]:
        """All of them, the newest first."""
        history = self.ws.history
        dreamt = history.count()["dream_cursor"]
        yield [ArchiveRow(entry, entry.cursor <= dreamt) for entry in history.entries()]

    def search_text(self, row: ArchiveRow) -> str:
        """Words are searched in the summary."""
        return row.entry.content

    def field(self, row: ArchiveRow, name: str) -> Any:
        """The fields of the filter language."""
        session = row.entry.session_key or ""
        if name == "mark":
            return {mark for mark, _ in marks(row.entry.content) if mark}
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

    def do_source(self) -> None:
        """The conversation that it sums up."""
        row = self.table.cursor_row
        if row is not None and row.entry.session_key:
            self.console.go("sessions", row.entry.session_key)


def _at(row: ArchiveRow) -> str:
    moment = clock.parse(row.entry.timestamp)
    return clock.iso(moment) if moment else ""
