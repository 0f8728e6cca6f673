"""The Notes screen, behind Sessions: the agent's daily notes and Markdown mirrors, to read and search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.found_screen import FoundScreen
from nanomem_tui.screens.rows import when
from nanomem_tui.screens.sessions import size_text
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading

if TYPE_CHECKING:
    from nanomem_tui.memory.notes import Note


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note with its text."""

    note: Note
    text: str


class NotesScreen(FoundScreen[NoteRow]):
    """Daily notes."""

    SCREEN = "notes"
    NEXT = "archive"
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
            Field("changed", f"{when(row.note.updated_at)}, {row.note.size:,} bytes"),
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
