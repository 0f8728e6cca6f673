"""The messages of a session transcript of every release: a metadata line, at times an opaque provider state, messages.

Parses; files, locks and sidecars are the caller's. `transcripts` counts and cuts without parsing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nanomem_tui.agents.jsonl import (
    BOM,
    Record,
    parse_object,
    records,
    text_of,
)
from nanomem_tui.agents.transcripts import (
    BOUNDARY_TEXT,
    OFFSET_KEYS,
    is_metadata,
    is_provider_state,
    offset_fault,
    plain_messages,
)
from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem

_WIDE = "this file is {}, not UTF-8: agents read nothing of it"
_WIDE_FIX = "`nanomem doctor --fix` makes it UTF-8"
_META_START = b'{"_type"'


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool; `arguments` is JSON text, as the model sent it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `index` counts readable messages from 0, as agents count them; `content` is flattened to text.

    `hidden` messages are the agent's own notes to itself, `command` ones are left out of replay and archive.
    """

    index: int
    role: str
    content: str
    timestamp: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    hidden: bool = False
    command: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    line: int = 0

    @property
    def boundary(self) -> bool:
        """Whether this is the hidden message that continues after a consolidation."""
        return self.hidden and self.content == BOUNDARY_TEXT


@dataclass(frozen=True, slots=True)
class Session:
    """One transcript; times are naive local ISO.

    `last_archived` and `last_consolidated` are indices into `messages` as an agent would use them: an offset that it
    would refuse is 0 here, with a problem. `unreadable` counts lines that cost a message.
    """

    key: str
    created_at: str
    updated_at: str
    metadata: Mapping[str, Any]
    last_archived: int
    last_consolidated: int
    has_provider_state: bool
    messages: tuple[Message, ...]
    problems: tuple[Problem, ...]
    has_metadata: bool = True
    unreadable: int = 0

    @property
    def title(self) -> str:
        """The title a person or the agent gave it, or nothing."""
        return text_of(self.metadata.get("title"))


def parse_session(data: bytes, where: str, fallback_key: str) -> Session:
    """The session in `data`; `fallback_key` comes from the file's name and is used when the file names none."""
    header: dict[str, Any] | None = None
    provider_state, unreadable = False, 0
    messages: list[Message] = []
    problems: list[Problem] = []
    if files.is_wide(data):
        problems.append(Problem(_WIDE.format(files.encoding_of(data)[:6].upper()), where, 1, _WIDE_FIX))
    for record in records(files.as_utf8(data), where):
        if record.problem is not None:
            problems.append(record.problem)
        if record.value is None:
            unreadable += 1
        elif is_metadata(record.value):
            if header is not None:
                problems.append(Problem("a second metadata line, which agents obey", where, record.number))
            header = record.value
        elif is_provider_state(record.value):
            provider_state = True
        else:
            messages.append(_message(len(messages), record))
            if not messages[-1].role:
                problems.append(Problem("a message without a role", where, record.number, severity="warning"))
    if header is None:
        what = "no metadata line: the agent loads this session and does not list it"
        fix = "nothing is lost: let the agent write to it once, it then begins with one"
        problems.append(Problem(what, where, None, fix, "warning"))
    head = header or {}
    archived, consolidated = (_offset(head, name, len(messages), where, problems) for name in OFFSET_KEYS)
    metadata = head.get("metadata")
    return Session(
        key=text_of(head.get("key")) or fallback_key,
        created_at=text_of(head.get("created_at")),
        updated_at=text_of(head.get("updated_at")),
        metadata=metadata if isinstance(metadata, dict) else {},
        last_archived=archived if OFFSET_KEYS[0] in head else consolidated,
        last_consolidated=consolidated if OFFSET_KEYS[1] in head else archived,
        has_provider_state=provider_state,
        messages=tuple(messages),
        problems=tuple(problems),
        has_metadata=header is not None,
        unreadable=unreadable,
    )


def session_header(first_bytes: bytes, where: str) -> dict[str, Any] | None:  # noqa: ARG001 - shaped as all parsers
    """The metadata object out of the first bytes of a file, for cheap listing; None when the first line is none.

    `first_bytes` must reach past the first newline: a longer metadata line is not readable from its beginning.
    """
    line = first_bytes.removeprefix(BOM).split(b"\n", 1)[0].strip(b"\0 \t\r")
    if not line.startswith(b"{"):
        return None
    try:
        value = parse_object(line)
    except ValueError:
        return None
    return value if is_metadata(value) else None


def count_messages(data: bytes) -> int:
    """How many messages a file holds, by its newlines: cheap, and as exact as every line is one readable message."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    at = 0
    while data.startswith(_META_START, at):
        lines -= 1
        at = data.find(b"\n", at) + 1
        if at == 0:
            break
    return max(0, lines)


def messages_in(data: bytes) -> int:
    """How many messages these lines hold, without what each of them is made of."""
    if (plain := plain_messages(data)) is not None:
        return plain
    return sum(
        record.value is not None and not is_metadata(record.value) and not is_provider_state(record.value)
        for record in records(data, "")
    )


def flat_text(content: object) -> str:
    """The text of a message's content: a text, or blocks of which those without text are named in brackets."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False)
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return json.dumps(block, ensure_ascii=False)
    for key in ("text", "thinking", "content"):
        if isinstance(block.get(key), str):
            return str(block[key])
    return f"[{text_of(block.get('type')) or 'block'}]"


def _message(index: int, record: Record) -> Message:
    value = record.value or {}
    return Message(
        index=index,
        role=text_of(value.get("role")),
        content=flat_text(value.get("content")),
        timestamp=text_of(value.get("timestamp")),
        tool_calls=_tool_calls(value["tool_calls"]) if "tool_calls" in value else (),
        tool_call_id=text_of(value.get("tool_call_id")),
        name=text_of(value.get("name")),
        hidden=value.get("_hidden_history") is True,
        command=value.get("_command") is True,
        raw=value,
        line=record.number,
    )


def _tool_calls(value: object) -> tuple[ToolCall, ...]:
    calls = []
    for call in value if isinstance(value, list) else ():
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        inner = function if isinstance(function, dict) else call
        arguments = inner.get("arguments", "")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        calls.append(ToolCall(text_of(call.get("id")), text_of(inner.get("name")), text))
    return tuple(calls)


def _offset(head: Mapping[str, Any], name: str, count: int, where: str, problems: list[Problem]) -> int:
    value = head.get(name, 0)
    if why := offset_fault(value, count):
        fix = "the agent starts from 0 and replays the whole transcript"
        problems.append(Problem(f"{name} is {value!r:.40}: {why}", where, 1, fix))
        return 0
    return int(value)
