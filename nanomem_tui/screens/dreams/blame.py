"""The Blame screen, behind Dream and Files: who wrote each line of the memory files, why, and from which words.

A line leads to its commit, to the history entry that asked for it, and to the message that the entry came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nanomem_tui.dreams.edits import is_statement
from nanomem_tui.dreams.log import BlamedLine, EntryEvidence, MessageEvidence
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.console import show_message
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.base.list_screen import View
from nanomem_tui.screens.base.parts_screen import DetailParts, PartsScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.parts_view import Part, Preface
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Line, Spans, lay_out

if TYPE_CHECKING:
    from nanomem_tui.dreams.log import Writer

SAYS: Mapping[str, str] = {
    "nanomem dream": "a Dream of nanomem",
    "agent dream": "a Dream of the agent",
    "person": "a person, through nanomem",
    "accepted": "a person, who accepted what a Dream proposed",
    "outside": "another program, outside nanomem",
    "agent": "the agent itself",
    "before": "somebody, before versions were kept",
    "uncommitted": "not committed yet",
}
FOLDED = 600  # characters of an entry or a message before it is unfolded


@dataclass(frozen=True, slots=True)
class WriterPart:
    """The commit of a line, as a part to go on from."""

    writer: Writer
    title: str
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among those of the line."""
        return f"{self.title} {self.writer.sha}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Which commit, whose, when."""
        writer = self.writer
        head = Spans(
            ((f"{self.title}  ", "accent"), (SAYS[writer.role], ""), (f", {format_time(writer.at)}", "dim")), 2
        )
        named = Spans(((f"  {writer.short} ", "dim"), (writer.subject, "dim")), 4)
        return [*lay_out((head, named), width, wrapped), ()]

    def plain(self) -> str:
        """The id, as commands take it."""
        return self.writer.sha


@dataclass(frozen=True, slots=True)
class EntryPart:
    """A history entry that asked for a line."""

    entry: EntryEvidence
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among those of the line."""
        return f"entry {self.entry.cursor}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Which entry, how sure, what it says."""
        entry = self.entry
        how = "named by the Dream" if entry.recorded else f"a guess: shares {entry.score:.0%} of the words"
        head = Spans(((f"entry #{entry.cursor}  ", "accent"), (f"{entry.timestamp}, {how}", "dim")), 2)
        said = entry.text or "(no longer in the archive)"
        blocks: list[Block] = [head, Body(said if unfolded else said[:FOLDED], "" if entry.text else "warn", indent=2)]
        return [*lay_out(blocks, width, wrapped), ()]

    def plain(self) -> str:
        """What it says."""
        return self.entry.text


@dataclass(frozen=True, slots=True)
class MessagePart:
    """A message of a session that a line came from."""

    message: MessageEvidence
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among those of the line."""
        return f"message {self.message.index} {self.message.session_key}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Who said it where and when, and the words."""
        message = self.message
        where = f"{message.session_key}, message {message.index}, {format_time(message.timestamp)}"
        text = message.text if unfolded else message.text[:FOLDED]
        head = Spans(((f"{message.role}  ", "good" if message.role == "assistant" else "accent"), (where, "dim")), 2)
        return [*lay_out((head, Body(text, indent=2)), width, wrapped), ()]

    def plain(self) -> str:
        """The words."""
        return self.message.text


class BlameTarget(NamedTuple):
    """What is to be shown: the lines of a file, the cursor on the one of that text; or those that a commit wrote; or
    the rows that a message led to, by their ids."""

    file: str = ""
    text: str = ""
    commit: str = ""
    message: str = ""
    rows: frozenset[str] = frozenset()


class BlameScreen(PartsScreen[BlamedLine]):
    """The lines of the memory files."""

    SCREEN = "blame"
    EMPTY = "There is no SOUL.md, USER.md or MEMORY.md here yet."
    HELP = (
        "Each line of SOUL, USER and MEMORY with the commit that wrote it, the history entries that asked for it and "
        "the messages they came from. enter goes to these, enter there to the thing itself; o straight to what was "
        "said. Signs: < brought back by an undo, + not committed yet; ~ entries that share the words, a guess."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "file": "text", "who": "text", "commit": "text", "entry": "text", "session": "text", "age": "age",
        "message": "text",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._wanted: BlameTarget | None = None
        self._led_to: dict[str, frozenset[str]] = {}  # by message that was asked about
        self._traced: DetailParts | None = None

    # The list

    def columns(self) -> Sequence[Column[BlamedLine]]:
        """Where, when, who, why, and what it says."""
        return (
            Column("line", "Line", lambda row: str(row.number), width=4, align="right", tone="dim"),
            aged("Age", lambda row: row.at, align="right", tone="dim", priority=3,
                   sort=lambda row: row.at),
            Column("who", "Who", lambda row: row.role, width=13, priority=2, tone="accent", sort=lambda row: row.role),
            Column("entries", "Entries", lambda row: " ".join(row.named.split()[:2]), width=10, priority=1,
                   tone="good", sort=lambda row: row.cursors),
            Column("text", "Text", lambda row: row.text, min_width=38),
            Column("file", "File", lambda row: _short(row.file), width=9, priority=4, tone="dim",
                   sort=lambda row: row.file),
            Column("sha", "Commit", lambda row: row.writer.short if row.writer else "", width=8, priority=5,
                   tone="dim"),
        )  # fmt: skip

    def row_id(self, row: BlamedLine) -> str:
        """The file and the line, as the command takes it."""
        return f"{row.file}:{row.number}"

    def load(self) -> Iterable[Sequence[BlamedLine]]:
        """All lines of the files that are there, in their order."""
        ws = self.ws
        for name in ws.documents.names():
            yield ws.dream.blames.blame(name)

    def search_text(self, row: BlamedLine) -> str:
        """Words are searched in the line."""
        return row.text

    def field(self, row: BlamedLine, name: str) -> Any:
        """The fields of the filter language; `commit` also finds who wrote the line first."""
        values: dict[str, Any] = {
            "file": {row.file, _short(row.file)},
            "who": {row.who, row.role},
            "commit": _commits(row),
            "entry": {part for cursor in row.cursors for part in (str(cursor), f"#{cursor}")},
            "session": row.session_key or "",
            "message": {said.replace('"', "") for said, rows in self._led_to.items() if self.row_id(row) in rows},
        }
        return values.get(name, row.at)

    def sign(self, row: BlamedLine) -> str:
        """Brought back, or in no commit."""
        return "+" if row.writer is None else "<" if row.first else ""

    def dimmed(self, row: BlamedLine) -> bool:
        """What says nothing: blank lines and headings."""
        return not is_statement(row.text)

    def facts(self, row: BlamedLine) -> frozenset[str]:
        """Whether anything asked for it."""
        return frozenset({"source"}) if row.entries else frozenset()

    # The detail

    def detail(self, row: BlamedLine) -> DetailParts:
        """The line, its commit, its entries, and what was said."""
        (line,) = self.ws.dream.blames.with_messages([row])
        parts: list[Part] = [Preface(tuple(_facts(line)))]
        if line.writer is not None:
            parts.append(WriterPart(line.writer, "brought back by" if line.first else "written by"))
        if line.first is not None:
            parts.append(WriterPart(line.first, "first written by"))
        parts += [EntryPart(entry) for entry in line.entries]
        parts += [MessagePart(message) for message in line.messages]
        return DetailParts(self.row_id(row), tuple(parts))

    def show_detail(self, detail: Any) -> None:
        """From its beginning; the place stays when it is the same line, read again."""
        if isinstance(detail, DetailParts):
            same = self._traced is not None and detail.row_id == self._traced.row_id
            self._traced = detail
            self.view.show(detail.parts, keep_place=same)
            if not same:
                self._to_part(int(self.view.has_focus))
        elif isinstance(detail, Document):
            self._traced = None
            self.view.show((), empty="No line is chosen.")

    def copy_rows(self) -> str:
        """The lines."""
        return "\n".join(row.text for row in self.targets())

    # Actions

    def show_lines(self, file: str, text: str, commit: str) -> None:
        """Show the lines of a file, the cursor on the one of that text; or those that a commit wrote."""
        self.show_only(BlameTarget(file, text, commit))

    def show_led_to(self, message: str, lines: Sequence[BlamedLine]) -> None:
        """Show the lines that a message led to."""
        self.show_only(BlameTarget(message=message, rows=frozenset(map(self.row_id, lines))))

    def show_only(self, wanted: BlameTarget) -> None:
        """Show what is wanted, at once or when the lines have been read."""
        if self._loading or not self.is_mounted:
            self._wanted = wanted
            return
        self.show_pane("list")
        if wanted.commit and all(wanted.commit not in _commits(row) for row in self.listing.rows):
            say(self, f"Nothing that {wanted.commit} wrote stands any more: these are all lines", "warning")
            self.filter_by("")
            return
        if wanted.message:
            self._led_to[wanted.message] = wanted.rows
        message = wanted.message.replace('"', "")
        self.filter_by(
            f'message:"{message}"' if message
            else f"commit:{wanted.commit}" if wanted.commit else f"file:{_short(wanted.file)}"
        )  # fmt: skip
        row = next((row for row in self.listing.rows if wanted.text and (row.file, row.text) == wanted[:2]), None)
        if row is not None:
            self.show_row(self.row_id(row))

    def _show_view(self, view: View[BlamedLine]) -> None:
        super()._show_view(view)
        if self._wanted is not None and view.done and not self._loading:
            wanted, self._wanted = self._wanted, None
            self.show_only(wanted)

    def open_row(self, row: BlamedLine) -> None:
        """Enter: to the first thing that the line came from."""
        super().open_row(row)
        if self._traced is not None and self._traced.row_id == self.row_id(row):
            self.call_after_refresh(self._to_part, 1)

    def _to_part(self, number: int) -> None:
        parts = self._traced.parts if self._traced else ()
        if parts:
            self.view.move_to_part(parts[min(number, len(parts) - 1)].key)

    def do_open(self) -> None:
        """Enter on a commit, an entry or a message: to where it is."""
        part = self.view.current
        if isinstance(part, WriterPart):
            self.console.go("dream", part.writer.sha)
        elif isinstance(part, EntryPart):
            self._go_to_entry(part.entry)
        elif isinstance(part, MessagePart):
            self._go_to_message(part.message)

    async def do_source(self) -> None:
        """To what was said; where that is not known, to the best entry."""
        row = self.table.cursor_row
        if row is None:
            return
        (line,) = await self.console.in_thread(lambda ws: ws.dream.blames.with_messages([row]))
        if line.messages:
            self._go_to_message(line.messages[0])
        elif line.entries:
            self._go_to_entry(line.entries[0])

    def _go_to_entry(self, entry: EntryEvidence) -> None:
        if entry.text:
            self.console.go("archive", f"{entry.cursor}:{entry.line}")
        else:
            say(self, f"Entry #{entry.cursor} is no longer in the archive", "warning")

    def _go_to_message(self, message: MessageEvidence) -> None:

        show_message(self.console, message.session_key, message.index)


def _commits(row: BlamedLine) -> set[str]:
    return {writer.short for writer in (row.writer, row.first) if writer is not None}


def _short(file: str) -> str:
    return file.rpartition("/")[2]


def _facts(line: BlamedLine) -> Iterable[Block]:
    yield Spans(((line.text or "(a blank line)", "" if line.text else "dim"),), 2)
    yield Field("line", f"{line.number} of {line.file}")
    if line.writer is None:
        yield Body("Not committed yet: the next Dream or edit through nanomem commits it.", "warn")
        return
    if line.entries:
        yield Field("session", line.session_key or "(not known)")
        if not line.messages:
            yield Body("No message of a session shares enough words with it.", "dim")
    if line.doubt and is_statement(line.text):
        yield Body(line.doubt, "dim")
    yield Heading("Where it came from")
