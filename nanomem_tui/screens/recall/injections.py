"""The Injections screen, behind Recall: each turn of the agent, what it was given and what it saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NotFound
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.turns.traces import InjectedPart, find_injected
from nanomem_tui.screens.base.console import ask_recall, show_message, show_turn
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.base.parts_screen import DetailParts, PartsScreen
from nanomem_tui.screens.recall.answer import audience_words
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.diff_view import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.parts_view import Preface
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Line, Span, Spans, lay_out

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.traces import Injected
    from nanomem_tui.workspace import Workspace

NEAR = 600.0  # seconds between a turn and its message at most
NO_WORDS = "(no words are kept: the session state is off)"
TONES = {"given": "accent", "held": "warn"}
"""How the parts of a turn are painted; what came of it is good."""


@dataclass(frozen=True, slots=True)
class GivenPart:
    """An item or a lesson of a turn: the words that the model had, and what became of them."""

    of: InjectedPart
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among those of the turn."""
        return f"{self.of.how} {self.of.what} {self.of.id}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """What it is, its words then and, where they are others, now."""
        of = self.of
        head = f"{of.how} {of.what}{', near in meaning' if of.near else ''}  "
        known = of.then or of.text
        text = (known, "") if known else ("(its words are not known any more)", "warn")
        reworded = bool(of.then and of.text)
        blocks: list[Block] = [Spans(((head, TONES.get(of.how, "good")), ("", "") if reworded else text), 2)]
        if of.since:
            blocks.append(Body(f"({of.since})", "warn", indent=2))
        if reworded:
            blocks += [Spans(((sign, tone), *spans), 4) for sign, tone, spans in _reworded(of)]
        return [*lay_out((*blocks, Body(of.id, "dim", indent=2)), width, wrapped), ()]

    def plain(self) -> str:
        """The text as the model had it."""
        return self.of.then or self.of.text or self.of.id


class InjectionsScreen(PartsScreen["Injected"]):
    """What real turns were given."""

    SCREEN = "injections"
    EMPTY = "No turn yet: the log begins with the first turn that an agent takes with our memory (nanomem attach)."
    HELP = (
        "Each real turn with the items and lessons that were put before the model, and what the turn saved, without "
        "what it put into the inbox; the newest first. The words are those that the model had; what was edited, "
        "switched off or deleted since says so. enter goes to its items, enter there to the item; o to what was said, "
        "A to what the same words would bring back now. Signs: ! a turn without an end."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "session": "text", "channel": "text", "sender": "text", "age": "age", "item": "text", "lesson": "text",
        "items": "number", "chars": "number", "open": "switch",
    }  # fmt: skip

    # The list

    def columns(self) -> Sequence[Column[Injected]]:
        """When, where, what was said, how much was given."""
        return (
            aged("Age", lambda row: row.at, align="right", tone="dim",
                   sort=lambda row: row.at),
            Column("session", "Session", lambda row: row.session_key, width=18, priority=2, tone="accent",
                   sort=lambda row: row.session_key),
            Column("user", "What was said", lambda row: row.user or NO_WORDS, min_width=20),
            Column("items", "Items", lambda row: str(len(row.items)), width=5, align="right",
                   sort=lambda row: len(row.items)),
            Column("lessons", "Less.", lambda row: str(len(row.lessons) or ""), width=5, priority=4, align="right",
                   sort=lambda row: len(row.lessons)),
            Column("chars", "Chars", lambda row: f"{row.chars:,}" if row.chars else "", width=6, priority=3,
                   align="right", sort=lambda row: row.chars),
            Column("saved", "Saved", lambda row: str(len(row.saved) or ""), width=5, priority=1, align="right",
                   tone="good", sort=lambda row: len(row.saved)),
        )  # fmt: skip

    def row_id(self, row: Injected) -> str:
        """The id of the turn."""
        return row.turn

    def load(self) -> Iterable[Sequence[Injected]]:
        """All that the log holds, the newest first."""
        yield self.ws.traces.injections.turns()

    def search_text(self, row: Injected) -> str:
        """Words are searched in what was said."""
        return row.user

    def field(self, row: Injected, name: str) -> Any:
        """The fields of the filter language; `item` and `lesson` are those given and those saved."""
        values: dict[str, Any] = {
            "session": row.session_key, "channel": row.channel or "", "sender": row.sender_id or "", "age": row.at,
            "item": {*row.items, *row.saved, *row.held}, "lesson": {*row.lessons, *row.learned, *row.held},
            "items": len(row.items),
            "chars": row.chars, "open": row.is_open,
        }  # fmt: skip
        return values[name]

    def sign(self, row: Injected) -> str:
        """A turn that never ended."""
        return "!" if row.is_open else ""

    def facts(self, row: Injected) -> frozenset[str]:
        """Whether it is known where the turn was."""
        return frozenset({"source"}) if row.session_key else frozenset()

    # The detail

    def detail(self, row: Injected) -> DetailParts:
        """The turn, then each item and lesson as it is now."""
        given = map(GivenPart, find_injected(self.ws.store, row))
        return DetailParts(row.turn, (Preface(tuple(_facts(row))), *given))

    def show_detail(self, detail: Any) -> None:
        """From its beginning."""
        if isinstance(detail, DetailParts):
            self.view.show(detail.parts)
            self.view.move_to_part(detail.parts[0].key)
        elif isinstance(detail, Document):
            self.view.show((), empty="No turn is chosen.")

    # Actions

    def show_newest(self) -> None:
        """The turn that ran last, whatever the filter and wherever the cursor is."""
        newest = self.ws.traces.injections.turns(1)
        if newest:
            self.reload()
            self.show_row(newest[0].turn)

    def do_asker(self) -> None:
        """Ask Recall what the same person would be given for the same words now."""
        from nanomem_tui.memory.scopes import Audience

        row = self.table.cursor_row
        if row is None:
            return
        ask_recall(self.console, Audience(row.channel or "", row.chat_id, row.sender_id), row.user)

    def open_row(self, row: Injected) -> None:
        """Enter: to the first item of the turn."""
        super().open_row(row)
        self.call_after_refresh(self.view.action_next_hunk)

    def do_open(self) -> None:
        """Enter on an item or a lesson: to where it is."""
        part = self.view.current
        if not isinstance(part, GivenPart):
            return
        of = part.of
        if of.text and _waits(self.ws, of):
            self.console.go("inbox", of.id)
        elif of.text:
            self.console.go(f"{of.what}s", of.id)
        else:
            say(self, "It was deleted since; U is the ledger, which can bring it back", "warning")

    async def do_source(self) -> None:
        """To what was said: in the transcript where there is one, else in the log of its session."""
        row = self.table.cursor_row
        if row is None:
            return
        index = await self.console.in_thread(lambda ws: message_of_turn(ws, row))
        if index is not None:
            show_message(self.console, row.session_key, index)
            return
        number = await self.console.in_thread(lambda ws: number_in_log(ws, row))
        if number is not None:
            show_turn(self.console, row.session_key, number)
        else:
            say(self, "Neither a transcript nor a log of that session is here any more", "warning")


def _waits(ws: Workspace, part: InjectedPart) -> bool:
    """Whether it still waits in the inbox."""
    table = ws.store.snapshot.items if part.what == "item" else ws.store.snapshot.lessons
    row = table.get(part.id)
    return row is not None and not row.is_deleted and row.waits


def _reworded(of: InjectedPart) -> Iterable[tuple[str, str, Sequence[Span]]]:
    """The words of then and of now, what differs marked."""
    lines = (DiffLine("-", of.then), DiffLine("+", of.text))
    for line, spans in spans_of(Hunk(lines)):
        yield f"{line.sign} ", "added" if line.sign == "+" else "removed", spans


def message_of_turn(ws: Workspace, turn: Injected) -> int | None:
    """The number of the turn's message in its session: by its id, else by its words, the nearest in time."""
    try:
        messages = ws.sessions.get(turn.session_key).messages
    except NotFound:
        return None
    began = clock.parse(turn.at)
    same: list[tuple[float, int]] = []
    for message in messages:
        if turn.message_id and turn.message_id in map(str, map(message.raw.get, ("message_id", "id"))):
            return message.index
        said = clock.parse(message.timestamp)
        apart = abs((said - began).total_seconds()) if said is not None and began is not None else NEAR
        words = bool(turn.user) and message.content.strip().startswith(turn.user.strip())
        if message.role == "user" and words and apart <= NEAR:
            same.append((apart, message.index))
    return min(same)[1] if same else None


def number_in_log(ws: Workspace, turn: Injected) -> int | None:
    """The number of the turn in the log of its session; None when it is not there."""
    try:
        turns = ws.wal.get(turn.session_key).turns
    except NotFound:
        return None
    began = clock.parse(turn.at)
    return next((one.number for one in turns if began is not None and clock.parse(one.at_pre) == began), None)


def _facts(row: Injected) -> Iterable[Block]:
    from nanomem_tui.memory.scopes import Audience

    yield Spans((("user  ", "accent"), (row.user or NO_WORDS, "" if row.user else "dim")), 6)
    yield Field("when", format_time(row.at))
    if row.declined_at:
        yield Field("declined", format_time(row.declined_at))
    elif row.ended_at:
        yield Field("ended", format_time(row.ended_at))
    else:
        yield Field("ended", "not yet, or never", "warn")
    yield Field("asked as", audience_words(Audience(row.channel, row.chat_id, row.sender_id)))
    yield Field("session", row.session_key)
    yield Field("block", f"{row.chars:,} characters")
    if row.older:
        yield Field("earlier turns", ", ".join(row.older))
    yield Field("id", row.turn)
    count = len(row.items) + len(row.lessons)
    held = f", in the inbox {len(row.held):,}" if row.held else ""
    yield Heading(f"Given {count:,}, saved or learned {len(row.saved) + len(row.learned):,}{held}")
