"""The answers in a conversation to who is forgotten: they say again what was asked, and name who asked. The lines stay,
as an agent knows by their number what it archived; a call of a tool stays with its result, without what it says. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nanomem_tui.purge.texts import Found, Sought
from nanomem_tui.purge.wanted_words import Words, sender_of
from nanomem_tui.text import FORGOTTEN

_KEPT = ("role", "timestamp", "tool_call_id", "name")


def without(data: bytes, sought: Sought, found: Found) -> bytes:
    """A transcript with `[forgotten]` in place of what they said and of the answers, without who asked."""
    changed = _changed(data, sought)
    if not changed:
        return data
    answers = sum(1 for _, value in changed.values() if value["role"] != "user")
    found.update({name: number for name, number in (("line", len(changed) - answers), ("answer", answers)) if number})
    lines = data.split(b"\n")
    for number, (before, value) in changed.items():
        told = json.dumps(value, ensure_ascii=before.isascii())
        lines[number - 1] = told.encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def lines_gone(data: bytes, sought: Sought) -> set[int]:
    """The numbers of the lines that are answers to them, from 1."""
    return {number for number, (_, value) in _changed(data, sought).items() if value["role"] != "user"}


def _changed(data: bytes, sought: Sought) -> dict[int, tuple[bytes, dict[str, Any]]]:
    """By its number the line as it is, and the message as it is to be."""
    if not isinstance(sought, Words) or not sought.marks.senders or b'"sender' not in data:
        return {}
    changed: dict[int, tuple[bytes, dict[str, Any]]] = {}
    theirs = False
    for number, line in enumerate(data.split(b"\n"), 1):
        message = _message(line)
        role = message.get("role")
        if role == "user":
            theirs = sought.takes({"sender_id": sender_of(message)})
            if theirs:
                changed[number] = line, {name: message[name] for name in _KEPT if name in message} | _SAID
        elif theirs and role in ("assistant", "tool"):
            left = _answer(message)
            changed |= {number: (line, left)} if left != message else {}
    return changed


_SAID = {"content": FORGOTTEN}


def _message(line: bytes) -> dict[str, Any]:
    if b'"role"' not in line:
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _answer(message: Mapping[str, Any]) -> dict[str, Any]:
    left = {name: message[name] for name in _KEPT if name in message} | _SAID
    calls = message.get("tool_calls")
    return {**left, "tool_calls": [_call(one) for one in calls]} if isinstance(calls, list) else left


def _call(call: Any) -> Any:
    """A call with its id and its tool: a result without its call stops an agent."""
    if not isinstance(call, Mapping):
        return {}
    told = call.get("function")
    left = {name: call[name] for name in ("id", "type") if name in call}
    return (
        {**left, "function": {"name": told.get("name", ""), "arguments": "{}"}} if isinstance(told, Mapping) else left
    )
