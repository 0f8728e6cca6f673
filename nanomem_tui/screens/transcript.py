"""A transcript as parts of a long text: who said what and when, tool calls folded, thinking left out.

Makes parts of a session's messages, and lines of a part. Texts are untrusted; the layout makes them safe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nanomem_tui.agents.transcripts import flat_text
from nanomem_tui.core import clock
from nanomem_tui.core.text import one_line
from nanomem_tui.widgets.document import Block, Body, Document, Line, Span, Spans, lay_out

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message, Session, ToolCall
    from nanomem_tui.widgets.parts_view import Part

SHOWN_CHARACTERS = 2_000  # of one text before it is unfolded
ONE_LINE = 160  # characters of a tool's arguments or result while they are folded
TONES = {"user": "accent", "assistant": "good", "system": "warn"}

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_THINKING_KEYS = ("reasoning_content", "thinking_blocks")


@dataclass(frozen=True, slots=True)
class Preface:
    """What there is to say about a text before it begins."""

    blocks: tuple[Block, ...]
    key: str = "preface"
    stops: bool = True

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The blocks."""
        return lay_out(self.blocks, width, wrapped)

    def plain(self) -> str:
        """The blocks as text."""
        return Document(self.blocks).plain()


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
