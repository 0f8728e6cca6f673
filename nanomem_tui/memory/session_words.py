"""What of a message is searched, and shown beside one that was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message
    from nanomem_tui.memory.matching import Matcher, Neighbour


def searched(message: Message, wanted: Matcher) -> str | None:
    """The text of a message that matches: what was said, else the tool calls; None when neither does."""
    if wanted.matches(message.content):
        return message.content
    calls = _calls(message)
    return calls if calls and wanted.matches(calls) else None


def _calls(message: Message) -> str:
    return "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)


def neighbour(key: str, index: int, message: Message) -> Neighbour:
    """A message beside one that matches, as much of it as is shown."""
    from nanomem_tui.memory.matching import EXCERPT, Neighbour

    text = (message.content or _calls(message))[:EXCERPT]
    return Neighbour(f"{key}#{index}", message.role, message.timestamp, text)
