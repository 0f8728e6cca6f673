"""The Sessions screen: the agent's conversations, what is not archived yet, and which memories came from each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work

from nanomem_tui.agents.session_file import flat_text
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NothingToDo
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.sessions import files
from nanomem_tui.memory.sessions import sessions as sessions_sessions
from nanomem_tui.screens.base.console import Running, show_filtered, show_led_to
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.base.parts_screen import DetailParts, PartsScreen
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.find import FoundScreen
from nanomem_tui.widgets.bars import say, say_error
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.dialogs import AskScreen, ConfirmScreen, typed_number
from nanomem_tui.widgets.parts_view import Part, Preface
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Line, Span, Spans, lay_out

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.agents.session_file import Message, Session, ToolCall
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.session_archive import Consolidation
    from nanomem_tui.memory.sessions.sessions import SessionCompaction, SessionInfo
    from nanomem_tui.workspace import Workspace


# Consolidating sessions from their list: what would be archived as a preview, then one operation for each.

SHOWN = 20  # things left out


class Consolidating(WorkspaceScreen["SessionInfo"]):
    """A list of sessions that can be consolidated."""

    def do_consolidate(self) -> None:
        """Show what archiving the oldest part of each session would do, then do it."""
        self.none_runs()
        self._plan(self.targets())

    @work(group="dream", exit_on_error=False)
    async def _plan(self, rows: Sequence[SessionInfo]) -> None:
        """Beside the keys: a language model takes its time."""

        async def plan(run: Running) -> list[Consolidation]:
            def plans(ws: Workspace) -> list[Consolidation]:
                ws.consolidator.recover()
                return [ws.consolidator.plan(row.key, watch=run.step) for row in rows]

            return await self.console.in_thread(plans)

        try:
            found = await self.beside_the_keys(plan, Running("reading", "Summarising", "the summary"))
        except NanomemError as error:
            say_error(self, error)
            return
        self.app.clear_notifications()  # what was at work is done
        self._ask_about(found)

    def _ask_about(self, plans: Sequence[Consolidation]) -> None:
        can = [plan for plan in plans if not plan.refused and not plan.nothing]
        first = plans[0]
        refused = "" if can else first.refused or f"There is nothing to archive: {first.nothing}."

        async def consolidate(_yes: bool) -> None:
            left: list[NanomemError] = []

            def each(ws: Workspace) -> list[Operation]:
                done = []
                for plan in can:
                    try:
                        done.append(ws.consolidator.apply(plan)[0])
                    except NanomemError as error:
                        left.append(error)
                return done

            for operation in await self.change(each):
                say(self, f"{operation.label} (u undoes it)")
            for error in left:
                say_error(self, error)

        title = f"Consolidate {first.key}" if len(plans) == 1 else f"Consolidate {len(can)} of {len(plans)} sessions"
        self.confirm(title, [block for plan in plans for block in blocks_of(plan)], consolidate, refused=refused)


def blocks_of(plan: Consolidation) -> list[Block]:
    """What consolidating one session would do."""
    blocks: list[Block] = [Spans(((plan.key, "heading"),))]
    if plan.refused:
        blocks.append(Body(f"Not now: {plan.refused}", "bad"))
    if plan.nothing:
        return [*blocks, Body(f"{plan.nothing}, {plan.tokens:,} of {plan.budget:,} tokens", "dim")]
    blocks += [
        Field("archived", f"messages {plan.start:,} to {plan.end:,} of {plan.messages:,}; the transcript keeps them"),
        Field("tokens", f"{plan.tokens:,} → {plan.left:,} in the prompt, the budget is {plan.budget:,}"),
        Field("by", plan.dreamer),
    ]
    if plan.note:
        blocks.append(Body(plan.note, "warn"))
    for entry in plan.entries:
        blocks += [Spans(((entry.timestamp, "dim"),)), Body(entry.content, indent=2)]
    for one in plan.left_out[:SHOWN]:
        blocks.append(Spans(((f"left out (#{one.message}, {one.why}): ", "dim"), (one_line(one.text, 120), "")), 2))
    if len(plan.left_out) > SHOWN:
        blocks.append(Body(f"… and {counted(len(plan.left_out) - SHOWN, 'more line')}", "dim"))
    return blocks


# -- A transcript as parts of a long text: who said what and when, tool calls folded, thinking left out ---------------

SHOWN_CHARACTERS = 2_000  # of one text before it is unfolded
ONE_LINE = 160  # characters of a tool's arguments or result while they are folded
TONES = {"user": "accent", "assistant": "good", "system": "warn"}

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_THINKING_KEYS = ("reasoning_content", "thinking_blocks")


@dataclass(frozen=True, slots=True)
class Rule:
    """A line between parts: a new day, the end of what is archived."""

    key: str
    text: str
    tone: str = "dim"
    stops: bool = False

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The one line."""
        return [((one_line(f"-- {self.text} --", width), self.tone),)]

    def plain(self) -> str:
        """The words of it."""
        return self.text


@dataclass(frozen=True, slots=True)
class Said:
    """One message."""

    message: Message

    @property
    def key(self) -> str:
        """The number of the message."""
        return message_key(self.message.index)

    @property
    def stops(self) -> bool:
        """Every message is worth a stop."""
        return True

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Who and when, the text, and each tool call in a line of its own."""
        message = self.message
        text, thought = spoken(message)
        if message.role == "tool":
            return lay_out(_result(message, text, unfolded), width, wrapped)
        blocks: list[Block] = [Spans(_who(message, bool(thought) and not unfolded))]
        if thought and unfolded:
            blocks += [Spans((("  thinking:", "label"),)), *_long(thought, unfolded, "dim", 4)]
        if text.strip() or not message.tool_calls:
            blocks += _long(text.strip("\n") or "(empty)", unfolded, "dim" if message.hidden else "", 2)
        for call in message.tool_calls:
            blocks += _call(call, unfolded)
        blocks += [Spans((("  media: ", "label"), (str(path), "")), 4) for path in _media(message)]
        return lay_out(blocks, width, wrapped)

    def plain(self) -> str:
        """What was said, and the calls with all their arguments."""
        calls = [f"{call.name} {call.arguments}" for call in self.message.tool_calls]
        return "\n".join(part for part in (self.message.content, *calls) if part)


def message_key(index: int) -> str:
    """The key of the part that holds the message of that number."""
    return f"m{index}"


def parts_of(session: Session, preface: Sequence[Block], total: int) -> list[Part]:
    """The conversation: preface, a rule for each day, one where the archive ends, every message. `total`: how many it
    has, also where only a part of them is here."""
    parts: list[Part] = [Preface(tuple(preface))]
    day = ""
    for message in session.messages:
        if message.index == session.last_archived and message.index:
            rest = total - message.index
            parts.append(Rule("archived", f"archived up to here; {rest:,} of {total:,} messages are not yet", "warn"))
        today = _local(message.timestamp)[:10]
        if today and today != day:
            day = today
            parts.append(Rule(f"day{message.index}", today))
        parts.append(Said(message))
    return parts


def spoken(message: Message) -> tuple[str, str]:
    """(what a message says, what was only thought): thinking is in blocks, in keys of its own or between tags."""
    content: object = message.raw.get("content")
    thoughts = [flat_text(message.raw[key]) for key in _THINKING_KEYS if message.raw.get(key)]
    if isinstance(content, list):
        thinking = [block for block in content if _is_thinking(block)]
        thoughts += [flat_text([block]) for block in thinking]
        text = flat_text([block for block in content if not _is_thinking(block)])
    else:
        text = message.content
    if "<" in text:
        thoughts += [match[0] for match in _THOUGHT.finditer(text)]
        text = _THOUGHT.sub("", text)
    return text, "\n".join(thoughts)


def _is_thinking(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") in _THINKING_BLOCKS


def _local(timestamp: str) -> str:
    """A message's time as local ``YYYY-MM-DD HH:MM``; empty when it is none."""
    moment = clock.parse(timestamp)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""


def _who(message: Message, thinking: bool) -> tuple[Span, ...]:
    parts: list[Span] = [(message.role or "no role", TONES.get(message.role, "warn"))]
    sender = message.raw.get("sender_id")
    if isinstance(sender, str) and sender:
        parts.append((f" {sender}", ""))
    if message.timestamp:
        parts.append((f" {_local(message.timestamp)[11:] or message.timestamp[:20]}", "dim"))
    marks = {
        "continues after a consolidation": message.boundary,
        "a note to itself": message.hidden and not message.boundary,
        "a command, not replayed": message.command,
        "thinking hidden": thinking,
    }
    said = ", ".join(mark for mark, true in marks.items() if true)
    return (*parts, (f"  ({said})", "dim")) if said else tuple(parts)


def _long(text: str, unfolded: bool, tone: str, indent: int) -> list[Block]:
    if unfolded or len(text) <= SHOWN_CHARACTERS:
        return [Body(text, tone, indent)]
    rest = f"{' ' * indent}… {len(text) - SHOWN_CHARACTERS:,} more of {len(text):,} characters (enter)"
    return [Body(text[:SHOWN_CHARACTERS], tone, indent), Spans(((rest, "warn"),))]


def _call(call: ToolCall, unfolded: bool) -> list[Block]:
    name: list[Span] = [("  > ", "dim"), (call.name or "a tool", "accent")]
    if not unfolded:
        return [Spans((*name, (" " + one_line(call.arguments, ONE_LINE), "dim")), 4)]
    return [Spans(tuple(name)), Body(_pretty(call.arguments), "dim", 4)]


def _result(message: Message, text: str, unfolded: bool) -> list[Block]:
    name: list[Span] = [("  = ", "dim"), (message.name or "tool", "accent")]
    if not unfolded:
        more = f"  ({len(text):,} characters)" if len(text) > ONE_LINE else ""
        return [Spans((*name, (" " + (one_line(text, ONE_LINE) or "(nothing)") + more, "dim")), 4)]
    return [Spans((*name, (f" {_local(message.timestamp)[11:]}", "dim"))), Body(text, "", 4)]


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def _media(message: Message) -> list[object]:
    media = message.raw.get("media")
    return [path for path in media if isinstance(path, str)] if isinstance(media, list) else []


SHOWN_SUMMARIES = 3
SHOWN_PROBLEMS = 20
MORE = "F finds any; `nanomem session show KEY --offset N --limit N` prints any."


class SessionsScreen(FoundScreen["SessionInfo"], Consolidating, PartsScreen["SessionInfo"]):
    """Transcripts."""

    SCREEN = "sessions"
    EMPTY = "No conversations here yet."
    HELP = (
        "The agent's conversations. Signs: ! hidden from the agent or damaged, ~ a turn is in flight, = imported. In "
        "the transcript enter unfolds tool calls, thinking and long texts; n and N go from message to message."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "session": "text", "channel": "text", "title": "text", "age": "age", "messages": "number", "size": "number",
        "new": "number", "hidden": "switch", "imported": "switch", "problems": "number",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""
        self._wanted_part: tuple[str, str] | None = None
        self._around = ("", 0)  # of a long conversation, what is shown of it

    # The list

    def columns(self) -> Sequence[Column[SessionInfo]]:
        """Which conversation, how long, how much of it is in no summary."""
        return (
            Column("session", "Session", lambda row: row.key, min_width=20, flex=3,
                   sort=lambda row: row.key.casefold()),
            Column("title", "Title", lambda row: row.title, min_width=12, flex=2, priority=5,
                   sort=lambda row: row.title.casefold()),
            Column("messages", "Msgs", lambda row: f"{row.messages:,}", width=6, align="right",
                   sort=lambda row: row.messages),
            Column("new", "New", lambda row: f"{row.unarchived:,}", width=6, priority=2, align="right", tone="warn",
                   sort=lambda row: row.unarchived),
            Column("size", "Size", lambda row: size_text(row.size), width=6, priority=4, align="right",
                   sort=lambda row: row.size),
            aged("Last", lambda row: row.updated_at, priority=1, align="right", tone="dim"),
            Column("state", "State", lambda row: ", ".join(short for short, _ in states(row)), width=12, priority=3,
                   tone="warn"),
        )  # fmt: skip

    def row_id(self, row: SessionInfo) -> str:
        """The key of the session; a file that the agent does not find has its path beside it: keys may be claimed
        twice."""
        return f"{row.key} ({row.path})" if row.hidden_reason and not row.imported else row.key

    def load(self) -> Iterable[Sequence[SessionInfo]]:
        """All of them, the newest first."""
        yield self.ws.sessions.list()

    def search_text(self, row: SessionInfo) -> str:
        """Words are searched in keys and titles; `F` searches the transcripts."""
        return f"{row.key} {row.title}"

    def field(self, row: SessionInfo, name: str) -> Any:
        """The fields of the filter language."""
        values: dict[str, Any] = {
            "session": row.key,
            "channel": row.key.partition(":")[0],
            "age": row.updated_at,
            "new": row.unarchived,
            "hidden": bool(row.hidden_reason) and not row.imported,
        }
        return values[name] if name in values else getattr(row, name)

    def sign(self, row: SessionInfo) -> str:
        """What needs a look."""
        wrong = row.problems or (row.hidden_reason and not row.imported)
        return "!" if wrong else "~" if row.checkpoint else "=" if row.imported else ""

    def dimmed(self, row: SessionInfo) -> bool:
        """The agent does not see it."""
        return bool(row.hidden_reason)

    def facts(self, row: SessionInfo) -> frozenset[str]:
        """Memories can be asked for by any session."""
        return frozenset({"source"})

    # The detail

    def detail(self, row: SessionInfo) -> DetailParts:
        """The conversation with what is known about it."""
        ws = self.ws
        blocks, memories = _facts(ws, row)
        title: list[Span] = [(row.title or row.key, "heading"), (counted(row.messages, "message"), "dim")]
        title += [(short, "warn") for short, _ in states(row)]
        if memories:
            title.append((f"{counted(memories, 'memory', 'memories')} (o)", "good"))
        try:
            start = self._start_of(row)
            many = sessions_sessions.AT_ONCE if start is not None else None
            session, total = ws.sessions.part(row.key, row.path, start, many)
        except NanomemError as error:
            said = Body(f"This transcript cannot be shown: {error.line()}", "bad")
            return DetailParts(self.row_id(row), [_preface([*blocks, said])], tuple(title))
        if session.problems:
            blocks.append(Heading(f"Problems ({len(session.problems)})"))
            blocks += [Body(problem.text(), "warn") for problem in session.problems[:SHOWN_PROBLEMS]]
        if len(session.messages) < total and session.messages:
            first, last = session.messages[0].index, session.messages[-1].index
            blocks.append(Body(f"A long one: #{first:,} to #{last:,} of {total:,} messages are here. {MORE}", "warn"))
        return DetailParts(self.row_id(row), parts_of(session, blocks, total), tuple(title))

    def _start_of(self, row: SessionInfo) -> int | None:
        """Where what is shown of a long conversation begins: at its end, unless a message before that is asked for."""
        key, index = self._around
        if row.size <= files.WHOLE or key != row.key or index >= row.messages - sessions_sessions.AT_ONCE:
            return None
        return max(0, index - sessions_sessions.AT_ONCE // 2)

    def show_detail(self, detail: Any) -> None:
        """From its end; the place stays when it is the same session that went on."""
        if isinstance(detail, DetailParts):
            same, self._shown = detail.row_id == self._shown, detail.row_id
            title = (*detail.title, ("following (f stops)", "good")) if self.view.follow else detail.title
            self.view.show(detail.parts, title, keep_place=same)
            if self._wanted_part is not None and self._wanted_part[0] == detail.row_id:
                self._go_to_part(self._wanted_part[1])
        elif isinstance(detail, Document):
            self._shown = ""
            self.view.show((), empty="No session is chosen.")

    def _go_to_part(self, key: str) -> None:
        self._wanted_part = None
        if not self.view.move_to_part(key):
            say(self, "That message is gone: the session was compacted", "warning")

    def show_message(self, key: str, index: int) -> None:
        """Show a session with the cursor on one message."""
        self._wanted_part, self._around = (key, message_key(index)), (key, index)
        self.show_row(key)
        self.show_pane("detail")
        if self._shown == key and self.table.cursor_id == key:
            if self.view.move_to_part(message_key(index)):
                self._wanted_part = None
            else:
                self.refresh_detail()

    # Actions

    def do_open(self) -> None:
        """Unfold the message at the cursor, or fold it again."""
        self.view.toggle()

    def do_follow(self) -> None:
        """Keep to the end of this conversation as the agent writes it, or not any more."""
        self.view.follow = not self.view.follow
        if self.view.follow:
            self.show_pane("detail")
            self.view.move_to_edge(last=True)
            say(self, "Following: new messages appear at the end")
        self.refresh_detail()

    def do_source(self) -> None:
        """The items that came from this session."""
        row = self.table.cursor_row
        if row is not None:
            show_filtered(self.console, "items", f'session:"{row.key}"')

    async def do_blame(self) -> None:
        """The lines of the memory files that the message at the cursor of the transcript led to."""
        row, part = self.table.cursor_row, self.view.current
        if row is None or not self.view.has_focus or not isinstance(part, Said):
            say(self, "Go to a message of the transcript first (enter)", "warning")
            return
        await show_led_to(self.console, row.key, part.message.index)

    def do_compact(self) -> None:
        """Ask how many messages stay, show what that means, then do it."""
        rows = [row for row in self.targets() if row.messages > 1 and not row.imported]
        if not rows:
            if any(row.imported for row in self.targets()):
                raise NothingToDo("an imported conversation is only read", "", "U has the import, and undoes it")
            raise NothingToDo("there is nothing to cut", "", "a session keeps at least one message")
        title = f"Keep how many messages of each of {len(rows)} sessions"
        if len(rows) == 1:
            title = f"Keep how many of the {rows[0].messages:,} messages of {rows[0].key}"

        async def preview(answer: str | None) -> None:
            await self._preview([row.key for row in rows], typed_number(answer) or 0)

        longest = max(row.messages for row in rows)
        offered = str(self.ws.settings.session_keep_messages)
        self.ask(AskScreen(title, offered, wrong=lambda answer: _no_number(answer, longest, len(rows))), preview)

    async def _preview(self, keys: Sequence[str], keep: int) -> None:
        plans = await self.console.in_thread(lambda ws: [ws.sessions.compact_preview(key, keep) for key in keys])
        can = [plan for plan in plans if plan.removed and not plan.refused]
        blocks: list[Block] = []
        for plan in plans:
            blocks += plan_blocks(plan)
            if plan.removed and len(plans) == 1:
                blocks += await self.console.in_thread(lambda ws, plan=plan: _first_kept(ws, plan))  # type: ignore[misc]
        held = counted(plans[0].messages, "message")
        refused = "" if can else plans[0].refused or f"Nothing to cut: {held}, and {keep:,} would be kept"

        async def compact(_yes: bool) -> None:
            done = await self.change(lambda ws: [ws.sessions.compact(plan.key, keep) for plan in can])
            for operation in done:
                say(self, f"{operation.label} (u undoes it)")

        title = f"Compact {plans[0].key}" if len(plans) == 1 else f"Compact {len(can)} of {len(plans)} sessions"
        self.ask(ConfirmScreen(title, blocks, opened_by=self.key_of("compact"), refused=refused), compact)


def states(row: SessionInfo) -> list[tuple[str, str]]:
    """What is special about a session: (short, in words)."""
    said: list[tuple[str, str]] = []
    if row.imported:
        said.append(("imported", "It came with an import, and is only read: it is nobody's session now."))
    elif row.hidden_reason:
        said.append(("hidden", f"The agent does not find it: {row.hidden_reason}."))
    if row.checkpoint:
        said.append(("in flight", "A turn is in flight, or was when the agent died: it is not compacted now."))
    if row.problems:
        count = counted(row.problems, "problem")
        said.append((count, f"{count} in the file; what can be read is shown."))
    if row.other_keys:
        said.append(("shared", f"Also written by {', '.join(row.other_keys)}: both names lead to this file."))
    return said


def size_text(size: int) -> str:
    """Bytes as people read them, in at most five characters: ``812``, ``27k``, ``1.4M``."""
    for unit, amount in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= amount:
            number = size / amount
            return f"{number:.1f}{unit}" if number < 10 else f"{number:.0f}{unit}"
    return str(size)


def _facts(ws: Workspace, row: SessionInfo) -> tuple[list[Block], int]:
    """What is known about a session beside what was said, and how many items came from it."""
    blocks: list[Block] = [Field("session", row.key)]
    if row.title:
        blocks.append(Field("title", row.title))
    blocks += [Body(words, "warn") for _, words in states(row)]
    archived = f"{row.last_archived:,} of {row.messages:,} messages are in summaries"
    archived += f", {row.unarchived:,} are not yet" if row.unarchived else ""
    times = [Field("first", format_time(row.created_at)), Field("last", format_time(row.updated_at))]
    place = f"{ws.paths.relative(Path(row.path))} ({row.size:,} bytes)"
    blocks += times if row.imported else [Field("archived", archived), *times, Field("file", place)]
    memories = 0
    try:
        memories = sum(1 for item in ws.items.all() if item.session_key == row.key)
        blocks.append(Field("memories", f"{memories:,} items came from it" + (" (o shows them)" if memories else "")))
    except NanomemError as error:
        blocks.append(Field("memories", error.line(), "warn"))
    summaries = [entry for entry in ws.history.entries() if entry.session_key == row.key]
    if summaries:
        blocks.append(Heading(f"Summaries in the archive ({len(summaries)}, the newest first)"))
        blocks += [_summary(entry) for entry in summaries[:SHOWN_SUMMARIES]]
    return blocks, memories


def _summary(entry: HistoryEntry) -> Spans:
    parts = ((f"{entry.timestamp} ", "dim"), (f"#{entry.cursor} ", "accent"), (one_line(entry.content, 300), ""))
    return Spans(parts, 2)


def _preface(blocks: Sequence[Block]) -> Part:

    return Preface(tuple(blocks))


def _no_number(answer: str, longest: int, sessions: int) -> str:
    """Why `answer` does not say how many messages to keep; "" when it does."""
    keep = typed_number(answer) or 0
    if keep < 1:
        return "Type a number: a session keeps at least one message"
    held = counted(longest, "message")
    whose = f"it has {held}" if sessions == 1 else f"the longest has {held}"
    return f"Nothing to cut: {whose}, and {keep:,} would be kept" if keep >= longest else ""


def plan_blocks(plan: SessionCompaction) -> list[Block]:
    """What compacting one session would do."""
    blocks: list[Block] = [Spans(((plan.key, "heading"),))]
    if plan.refused:
        blocks.append(Body(f"Not now: {plan.refused}", "bad"))
    blocks += [
        Field("messages", f"{plan.messages:,} → {plan.kept:,}  ({plan.removed:,} go)"),
        Field("bytes", f"{plan.bytes_before:,} → {plan.bytes_after:,}"),
    ]
    if plan.unarchived:
        blocks.append(Field("not archived", f"{plan.unarchived:,} of those that go are in no summary yet", "warn"))
    if plan.removed and plan.kept > plan.keep:
        blocks.append(Body(f"{plan.kept - plan.keep:,} more stay, so that no tool call loses its result.", "dim"))
    return blocks


def _first_kept(ws: Workspace, plan: SessionCompaction) -> list[Block]:
    """What the transcript begins with after the cut."""
    session, _ = ws.sessions.part(plan.key, start=plan.removed, many=1)
    if not session.messages:
        return []
    first = session.messages[0]
    at = f"{first.timestamp[:16].replace('T', ' ')} {first.role}: "
    return [
        Body("Metadata and unknown keys stay; every kept line stays byte for byte.", "dim"),
        Spans((("begins with  ", "label"), (at, "dim"), (one_line(first.content, 200), "")), 13),
    ]
