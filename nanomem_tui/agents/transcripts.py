"""Transcripts of sessions without parsing them: messages counted, and a transcript cut to its last or its good lines.

Bytes in, bytes out. `messages` parses; files, locks and sidecars are the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import (
    Record,
    count_shared_lines,
    dump_line_as_read,
    parse_jsonl,
    parse_object,
)
from nanomem_tui.core import files
from nanomem_tui.core.errors import BadInput

# -- Counting the messages of a long transcript without reading them out. Opens no file -------------------------------

_BEGIN = b'{"role": "'
"""What a message begins with as agents write it; in what it says, quotation marks are escaped."""


def plain_messages(data: bytes) -> int | None:
    """How many messages whole lines hold that all have the form in which agents write one, and are not read out; None
    where one has not, or may be about the session.

    A line that another is glued to, one with NUL bytes or with what is no UTF-8 has not. Damage between two quotation
    marks is not seen.
    """
    if not data.startswith(_BEGIN) or not data.endswith(b"}\n"):
        return None
    lines = data.count(b"\n")
    if not lines == data.count(b"}\n" + _BEGIN) + 1 == data.count(_BEGIN):
        return None
    if b'"_type"' in data or b'{"role": ""' in data or b"\0" in data:
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return lines


# Cutting a session transcript down to its last messages, or to the lines that can be read, and putting messages back.
# Bytes in, bytes out; opens no file.

BOUNDARY_TEXT = "Continue the active task from the working-memory checkpoint above."
OFFSET_KEYS = ("last_archived", "last_consolidated")


class Compacted(NamedTuple):
    """A shorter transcript and what was taken out of it.

    `removed` holds the exact lines, in order. `boundary_at` is the place among them from which the boundary message was
    moved to the head of what is kept, None when it stayed. `removed_unarchived` counts removed messages that no summary
    covers. The offsets are those written; an offset that the file does not have is None, as is `before` for it.
    """

    data: bytes
    removed: bytes
    removed_messages: int
    kept_messages: int
    last_archived: int | None
    last_consolidated: int | None
    removed_unarchived: int = 0
    boundary_at: int | None = None
    before: tuple[int | None, int | None] = (None, None)


class Repaired(NamedTuple):
    """A transcript without the lines that cannot be read: its bytes, how many such lines it had, and its messages.
    `shared`: lines that held several objects, each of which has a line of its own now."""

    data: bytes
    lines: int
    messages: int
    shared: int = 0


def is_metadata(value: Mapping[str, Any]) -> bool:
    """Whether this line describes the session."""
    return value.get("_type") == "metadata"


def is_provider_state(value: Mapping[str, Any]) -> bool:
    """Whether this line is the model provider's private state: never shown, never edited."""
    return value.get("_type") == "provider_state"


def offset_fault(value: object, count: int) -> str:
    """Why an agent refuses this offset into `count` messages, or nothing."""
    if isinstance(value, bool) or not isinstance(value, int):
        return "not a whole number"
    if value < 0:
        return "negative"
    return f"there are {count} messages" if value > count else ""


def compact(data: bytes, keep: int) -> Compacted:
    """The transcript with its last `keep` messages, a few more where a tool's call and result would be parted.

    Unreadable lines stay with the messages after them. Raises BadInput for a negative `keep`.
    """
    if keep < 0:
        raise BadInput("cannot keep a negative number of messages", str(keep))
    head, body = _split(parse_jsonl(data, ""))
    readable = [place for place, record in enumerate(body) if record.value is not None]
    cut = _cut([body[place].value or {} for place in readable], keep)
    offsets = offsets_of(head, len(body))
    if cut == 0:
        return Compacted(data, b"", 0, len(readable), *offsets, before=offsets)
    place = readable[cut - 1] + 1
    boundary = _boundary(body, place, offsets)
    moved_to_head = [] if boundary is None else [boundary]
    kept = moved_to_head + list(range(place, len(body)))
    gone = [body[at] for at in range(place) if at != boundary]
    archived, consolidated = (_shifted(body, kept, offset) for offset in offsets)
    covered = offsets[0] if offsets[0] is not None else offsets[1] or 0
    return Compacted(
        data=b"".join((*_head_lines(head, (archived, consolidated)), *(_line(body[at]) for at in kept))),
        removed=b"".join(_line(record) for record in gone),
        removed_messages=sum(record.value is not None for record in gone),
        kept_messages=sum(body[at].value is not None for at in kept),
        last_archived=archived,
        last_consolidated=consolidated,
        removed_unarchived=sum(covered <= at < place and at != boundary for at in readable),
        boundary_at=boundary,
        before=offsets,
    )


def without_unreadable(data: bytes) -> Repaired:
    """The transcript without the lines that cannot be read and with one object a line, its offsets at the messages that
    they pointed at, in UTF-8; the same bytes where there is no such line and no other encoding."""
    plain = files.as_utf8(data)
    records = parse_jsonl(plain, "")
    shared = count_shared_lines(records)
    head, body = _split(records)
    kept = [place for place, record in enumerate(body) if record.value is not None]
    lines = len(body) - len(kept)
    if not lines and not shared:
        return Repaired(plain, 0, len(kept))
    offsets = [_shifted(body, kept, offset) for offset in offsets_of(head, len(body))]
    whole = (*_head_lines(head, (offsets[0], offsets[1])), *(_line(body[place]) for place in kept))
    return Repaired(b"".join(whole), lines, len(kept), shared)


def uncompact(
    data: bytes,
    removed: bytes,
    last_archived: int | None = None,
    last_consolidated: int | None = None,
    boundary_at: int | None = None,
) -> bytes:
    """`data` with the `removed` lines of a compaction in front of its messages again, also when it has grown since.

    The two offsets are those from before (`Compacted.before`), None to leave one alone; when the agent has moved an
    offset on since, the farther one wins.
    """
    head, body = _split(parse_jsonl(data, ""))
    lines = [line + b"\n" for line in removed.split(b"\n")[:-1]]
    rest = [_line(record) for record in body]
    added = sum(record.value is not None for record in parse_jsonl(removed, ""))
    if boundary_at is not None and body and is_boundary(body[0]):
        lines.insert(boundary_at, rest.pop(0))
    current = offsets_of(head, len(body))
    floor = 0 if boundary_at is None else 1
    archived = _restored(last_archived, current[0], added, floor)
    consolidated = _restored(last_consolidated, current[1], added, floor)
    return b"".join((*_head_lines(head, (archived, consolidated)), *lines, *rest))


def prepend_messages(data: bytes, earlier: bytes) -> bytes:
    """`data` with the messages of an `earlier` transcript in front of its own. Its metadata stays; an offset that it
    has not moved yet is that of the earlier one, any other points at the message that it pointed at."""
    head, body = _split(parse_jsonl(earlier, ""))
    archived, consolidated = offsets_of(head, len(body))
    old = (archived or consolidated or 0, consolidated or archived or 0)
    return uncompact(data, b"".join(map(_line, body)), *old)


def is_about(record: Record) -> bool:
    """Whether this line says something about the session, and is no message."""
    return record.value is not None and (is_metadata(record.value) or is_provider_state(record.value))


def _split(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """The lines about the session, and the lines of its messages, readable or not."""
    head: list[Record] = []
    body: list[Record] = []
    for record in records:
        (head if is_about(record) else body).append(record)
    return head, body


def _cut(messages: Sequence[Mapping[str, Any]], keep: int) -> int:
    """How many messages go: all but `keep`, fewer where that would part a call from its result."""
    cut = max(0, len(messages) - keep)
    if cut == len(messages):
        return cut
    while cut and messages[cut].get("role") == "tool":
        cut -= 1
    for call, result in sorted(_pairs(messages), reverse=True):
        if call < cut <= result:
            cut = call
    return cut


def _pairs(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """(index of the call, index of its result) of every tool result whose call is there."""
    calls: dict[str, int] = {}
    pairs = []
    for index, message in enumerate(messages):
        made = message.get("tool_calls")
        for call in made if isinstance(made, list) else ():
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                calls[call["id"]] = index
        answered = message.get("tool_call_id")
        if isinstance(answered, str) and answered in calls:
            pairs.append((calls[answered], index))
    return pairs


def offsets_of(head: Sequence[Record], count: int) -> tuple[int | None, int | None]:
    """Both offsets as they stand for `count` lines: None where there is none, 0 where an agent would refuse it."""
    value = metadata_of(head)
    archived, consolidated = (value.get(name) for name in OFFSET_KEYS)
    return _session_compaction_offset(archived, count), _session_compaction_offset(consolidated, count)


def _session_compaction_offset(value: object, count: int) -> int | None:
    if value is None:
        return None
    return value if isinstance(value, int) and not offset_fault(value, count) else 0


def metadata_of(head: Sequence[Record]) -> dict[str, Any]:
    """The metadata that agents obey: the last."""
    return next((r.value for r in reversed(head) if r.value is not None and is_metadata(r.value)), {})


def is_boundary(record: Record) -> bool:
    """Whether this line is the hidden message that an agent puts where its archive ends."""
    value = record.value or {}
    return value.get("_hidden_history") is True and value.get("content") == BOUNDARY_TEXT


def _boundary(body: Sequence[Record], place: int, offsets: tuple[int | None, int | None]) -> int | None:
    """The place of the boundary message that is in force, when the cut at `place` would take it away."""
    last = next((at for at in range(len(body) - 1, -1, -1) if is_boundary(body[at])), None)
    in_force = last is not None and last < place and last >= (offsets[0] or 0)
    return last if in_force else None


def _shifted(body: Sequence[Record], kept: Sequence[int], offset: int | None) -> int | None:
    """The offset among the kept messages.

    An agent writes offsets with the whole file, so they count lines that became unreadable since; it reads them without
    such lines. What is written here is right for the reader.
    """
    return None if offset is None else sum(at < offset and body[at].value is not None for at in kept)


def _restored(old: int | None, now: int | None, added: int, floor: int) -> int | None:
    """The offset with `added` messages in front again; one up to `floor` has not moved since it was written."""
    return old if old is None or now is None or now <= floor else max(old, now + added)


def _line(record: Record) -> bytes:
    return record.raw + b"\n"


def _head_lines(head: Sequence[Record], offsets: tuple[int | None, int | None]) -> list[bytes]:
    """The lines about the session without provider state, with these offsets where it has any (None: left alone)."""
    lines = []
    obeyed = metadata_of(head)
    for record in head:
        if record.value is None or is_provider_state(record.value):
            continue
        lines.append(with_offsets(record, offsets) if record.value is obeyed else _line(record))
    return lines


def with_offsets(record: Record, offsets: tuple[int | None, int | None]) -> bytes:
    """A line of metadata with these offsets where it has any (None: left alone), else as it is."""
    value = record.value or {}
    pairs = zip(OFFSET_KEYS, offsets, strict=True)
    new = {name: offset for name, offset in pairs if offset is not None and name in value}
    wanted = {**value, **new}
    if all(repr(offset) == repr(value[name]) for name, offset in new.items()):
        return _line(record)
    raw = record.raw
    for name, offset in new.items():
        raw = re.sub(rb'("%s"\s*:\s*)[^,}\s]+' % name.encode(), rb"\g<1>%d" % offset, raw, count=1)
    try:
        same = parse_object(raw) == wanted
    except ValueError:
        same = False
    return raw + b"\n" if same else dump_line_as_read(wanted)
