"""Which part of a transcript may be archived, and its text as agents dump it. Values in, values out.

A slice begins where the last one ended and ends before a turn of a person, so that no tool's result is parted from its
call and no answer from its question; the newest turn always stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from nanomem_tui.formats.history import RAW_PREFIX, capped
from nanomem_tui.formats.sessions import Message

RAW_CHARS = 16_000
"""Characters of a dump of messages, as agents cap it."""
MESSAGE_TOKENS = 4
"""Tokens that a message takes beside its text."""
_THOUGHTS = re.compile(r"<(think|thinking|thought)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_UNSEEN_KEYS = ("reasoning_content", "thinking_blocks")


class Slice(NamedTuple):
    """Messages `start` to `end` (not included), by index; and the tokens of what stays, after the slice and now."""

    start: int
    end: int
    tokens: int
    left: int


def tokens(message: Message, chars_per_token: float) -> float:
    """About how many tokens a model counts in a message: its UTF-8 bytes, divided, so that no script counts too few."""
    if message.command:
        return 0.0
    texts = [message.content, *(f"{call.name}{call.arguments}" for call in message.tool_calls)]
    texts += [str(message.raw[key]) for key in _UNSEEN_KEYS if message.raw.get(key)]
    return MESSAGE_TOKENS + sum(_bytes(text) for text in texts) / chars_per_token


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def safe_ends(messages: Sequence[Message], start: int) -> list[int]:
    """Where a slice from `start` may end: before each turn of a person but the first, ascending."""
    ends: list[int] = []
    calls = {call.id: message.index for message in messages for call in message.tool_calls if call.id}
    last_result = _last_results(messages, calls)
    open_until = max((last for call, last in last_result.items() if call < start), default=-1)
    for message in messages[start:]:
        turn = message.role == "user" and not message.hidden and "injected_event" not in message.raw
        if turn and message.index > start and message.index > open_until:
            ends.append(message.index)
        open_until = max(open_until, last_result.get(message.index, -1))
    return ends


def _last_results(messages: Sequence[Message], calls: dict[str, int]) -> dict[int, int]:
    """The index of the last result of each message that calls tools."""
    found: dict[int, int] = {}
    for message in messages:
        call = calls.get(message.tool_call_id) if message.tool_call_id else None
        if call is not None:
            found[call] = max(found.get(call, -1), message.index)
    return found


def oldest(messages: Sequence[Message], start: int, budget: int, chars_per_token: float) -> Slice | None:
    """The oldest slice from `start` after which no more than half of `budget` tokens stay, so that there is room again.

    None when what is there fits into the budget. Where no end leaves so little, the last safe one is taken; an empty
    slice (`end` is `start`) says that there is none: it is all one turn.
    """
    costs = [tokens(message, chars_per_token) for message in messages[start:]]
    total = sum(costs)
    if total <= budget:
        return None
    end, left, passed = start, total, start
    for place in safe_ends(messages, start):
        left -= sum(costs[passed - start : place - start])
        end = passed = place
        if left <= budget / 2:
            break
    return Slice(start, end, round(total), round(left if end > start else total))


def archivable(messages: Sequence[Message]) -> list[Message]:
    """Those that belong into an archive: neither commands nor an agent's notes to itself."""
    return [message for message in messages if not message.command and not message.hidden]


def dump(messages: Sequence[Message]) -> str:
    """The messages as agents archive them when no summary can be made; cut at RAW_CHARS it says so."""
    return capped(_whole_dump(messages), RAW_CHARS)


def fits_dump(messages: Sequence[Message]) -> bool:
    """Whether `dump` would hold all of it."""
    return len(_whole_dump(messages)) <= RAW_CHARS


def _whole_dump(messages: Sequence[Message]) -> str:
    wanted = archivable(messages)
    lines = [f"{RAW_PREFIX} {len(wanted)} messages"]
    for message in wanted:
        if message.content.strip():
            used = message.raw.get("tools_used")
            names = [str(name) for name in used] if isinstance(used, list) else []
            tools = f" [tools: {', '.join(names)}]" if names else ""
            said = f"{message.role.upper() or 'UNKNOWN'}{tools}: {message.content}"
            lines.append(f"[{message.timestamp[:16] or '?'}] {said}")
    return without_thoughts("\n".join(lines)).rstrip()


def without_thoughts(text: str) -> str:
    """`text` without the blocks in which a model thought aloud."""
    return _THOUGHTS.sub("", text) if "</" in text else text
