"""Where an item came from: the message of its session that holds its words, or that was said when it was written.

Reads through the workspace only; it must not guess: a message that is merely near is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NotFound
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message
    from nanomem_tui.memory.parts import Memory

ID_KEYS = ("message_id", "id", "source_message_id")
AFTER = timedelta(minutes=10)  # an item is written that long after the message at most
EARLY = timedelta(seconds=5)  # clocks and roundings
WORDS = 12  # characters that are enough to know a text by


def message_of(ws: Memory, item: Item) -> int | None:
    """The number of the message in the item's session; None when it is not known. Raises the errors of reading."""
    try:
        session = ws.sessions.get(item.session_key or "")
    except NotFound:
        return None
    return origin(session.messages, item)


def origin(messages: Sequence[Message], item: Item) -> int | None:
    """By the message's id, else by the words of the item (the nearest in time), else by the time alone."""
    for message in messages:
        if item.source_message_id and item.source_message_id in map(str, map(message.raw.get, ID_KEYS)):
            return message.index
    written = clock.parse(item.created_at)
    spoken = [message for message in messages if message.role in {"user", "assistant"} and not message.hidden]
    words = _plain(item.text)
    if len(words) >= WORDS:
        same = [message for message in spoken if words in _plain(message.content)]
        if same:
            ranked = [(abs(_apart(message, item)), message.role != "user", message.index) for message in same]
            return min(ranked)[2]
    if written is None:
        return None
    before = [one for one in spoken if -EARLY.total_seconds() <= _apart(one, item) <= AFTER.total_seconds()]
    users = [one for one in before if one.role == "user"]
    return (users or before)[-1].index if before else None


def _apart(message: Message, item: Item) -> float:
    """Seconds from a message to the item; infinite when one of them has no time."""
    said, written = clock.parse(message.timestamp), clock.parse(item.created_at)
    return float("inf") if said is None or written is None else (written - said).total_seconds()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
