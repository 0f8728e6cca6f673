"""What a turn of the agent is to us: who spoke where, what was said, and whether it is ours to remember.

Reads the agent's values by name and believes none of them; imports nothing of the agent.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import TOOL
from .client import Answer, Client, Later

NOT_ASKED = ("dream:", "heartbeat", "cron:", "trigger:")
"""Beginnings of session keys in which nobody speaks: the agent talks to itself on a schedule."""
NOT_SPOKEN = frozenset({"cron", "trigger", "heartbeat", "subagent", "runtime", "system", "goal_continuation"})
"""Senders (before any colon) that are parts of the agent."""
MOST_TOOLS = 20
LONGEST_RESULT = 2000
"""Characters of a tool's result that are handed on: enough to see an error and its cause."""
LONGEST_TEXT = 200_000
LEFT_OUT = ["notes", "turns"]
"""Parts of the block that this agent puts before its model itself: MEMORY.md, and the session so far."""


class Place(NamedTuple):
    """Who speaks in which chat; names as the agent has them."""

    session_key: str
    channel: str | None
    chat_id: str | None
    sender_id: str | None
    message_id: str | None
    text: str
    reply_text: str = ""
    turn_id: str = ""

    @property
    def ours(self) -> bool:
        """Whether a person speaks here, in a chat that is known: only then is anything recalled or captured."""
        spoken = (self.sender_id or "").split(":", 1)[0].lower() not in NOT_SPOKEN
        return bool(self.channel and self.chat_id and self.text.strip()) and spoken and _asked(self.session_key)

    def begin(self) -> dict[str, Any]:
        """The fields with which a turn begins."""
        fields: dict[str, Any] = {
            "session_key": self.session_key,
            "channel": self.channel,
            "chat_id": self.chat_id,
            "sender_id": self.sender_id,
            "message_id": self.message_id,
            "text": self.text,
            "leave_out": LEFT_OUT,
        }
        if self.reply_text:
            fields["reply_to"] = {"text": self.reply_text}
        return {name: value for name, value in fields.items() if value is not None}


def current_request() -> Any:
    """The agent's own record of the message that it answers now, None outside of a turn."""
    try:
        found = importlib.import_module("nanobot.agent.tools.context").current_request_context()
    except (ImportError, AttributeError):
        return None
    return found


def place_of(request: Any, hook_context: Any = None) -> Place | None:
    """The place of a request; `hook_context` fills in what it leaves out. None when there is neither."""
    if request is None and hook_context is None:
        return None

    def read(name: str) -> Any:
        value = getattr(request, name, None)
        return value if value is not None else getattr(hook_context, name, None)

    metadata = read("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    channel, chat = _word(read("channel")), _word(read("chat_id"))
    return Place(
        session_key=_word(read("session_key")) or f"{channel}:{chat}",
        channel=channel,
        chat_id=chat,
        sender_id=_word(read("sender_id")),
        message_id=_word(read("message_id") or metadata.get("message_id")),
        text=_text(getattr(request, "original_user_text", "")),
        reply_text=_text(metadata.get("_webui_quote") or metadata.get("reply_to_text"))[:2000],
        turn_id=_word(read("turn_id")) or "",
    )


class Turn:
    """One turn on its way: what was asked of memory, and what the agent did."""

    def __init__(self, client: Client, place: Place) -> None:
        self.place = place
        self._client = client
        self._tools: list[dict[str, Any]] = []
        self._more: list[Place] = []
        self._begun: Later | None = None
        self._ended = False

    def begin(self) -> Later:
        """Ask for the block, once; the answer has `block` and `turn`."""
        if self._begun is None:
            request = {"do": "begin", **self.place.begin()}
            self._begun = self._client.send(lambda: request)
        return self._begun

    def follow(self, place: Place) -> None:
        """A message that came in while the agent worked: remembered like the first."""
        self._more.append(place)

    def tool(self, name: str, arguments: Any, result: Any, error: Any = None) -> None:
        """A tool was used. What our own tool brought is left out: what was recalled is not captured again."""
        if name == TOOL or len(self._tools) >= MOST_TOOLS:
            return
        used: dict[str, Any] = {"name": name, "arguments": arguments if isinstance(arguments, dict) else {}}
        used["arguments"] = {str(key): _text(value)[:LONGEST_RESULT] for key, value in used["arguments"].items()}
        if error is not None:
            used["error"] = _text(error)[:LONGEST_RESULT]
        else:
            used["result"] = _text(result)[:LONGEST_RESULT]
        self._tools.append(used)

    def end(self, assistant: str | None) -> Later | None:
        """Hand the finished turn over; the second call of a turn does nothing."""
        if self._ended or self._begun is None:
            return None
        self._ended = True
        begun, fields = self._begun, self.place.begin()
        fields["assistant"] = _text(assistant)
        fields["tools"] = self._tools

        def build() -> dict[str, Any]:
            # By now the begin before us was answered or failed: then the whole turn is told at once.
            answer: Answer = begun.result() if begun.done() else None
            turn = answer.get("turn") if answer else None
            return {"do": "turn", **fields} if turn is None else {"do": "end", **fields, "turn": turn}

        last = self._client.send(build)
        for place in self._more:
            whole = {"do": "turn", **place.begin(), "assistant": ""}
            last = self._client.send(lambda whole=whole: whole)  # type: ignore[misc]
        return last


def _asked(session_key: str) -> bool:
    return not session_key.startswith(NOT_ASKED)


def _word(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value) else None


def _text(value: Any) -> str:
    """Text of anything, cut, without halves of surrogate pairs."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
