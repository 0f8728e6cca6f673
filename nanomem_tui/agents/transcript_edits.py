"""A transcript after its oldest part was archived: the same file with its offsets moved, as few splices of its bytes.

All messages stay. In the form of recent releases (a metadata line with `last_archived`) a hidden message marks the
boundary and the metadata holds the summary that replaces what lies before it; older forms have the offset alone. The
provider's opaque state, which describes another context, goes. Opens no file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import RAW_PREFIX, cap_content, marked_lines
from nanomem_tui.agents.jsonl import Record, dump_line, dump_line_as_read, parse_jsonl
from nanomem_tui.agents.transcripts import (
    BOUNDARY_TEXT,
    OFFSET_KEYS,
    Compacted,
    compact,
    is_about,
    is_boundary,
    is_metadata,
    is_provider_state,
    metadata_of,
    offsets_of,
    plain_messages,
    with_offsets,
)
from nanomem_tui.core.errors import BadInput

if TYPE_CHECKING:
    from nanomem_tui.agents.session_file import Message

MAX_SUMMARY = 12_000
"""Characters of the summary that an agent carries along in each prompt."""


class Splice(NamedTuple):
    """Bytes `start` to `end` of a file (not included) replaced by `data`."""

    start: int
    end: int
    data: bytes


def apply_splices(data: bytes, splices: Sequence[Splice]) -> bytes:
    """`data` with the splices made, which are in order and apart. Raises BadInput where they do not fit."""
    parts: list[bytes] = []
    at = 0
    for splice in splices:
        if not at <= splice.start <= splice.end <= len(data):
            raise BadInput("a change that does not fit its file", f"bytes {splice.start} to {splice.end}")
        parts += [data[at : splice.start], splice.data]
        at = splice.end
    return b"".join((*parts, data[at:]))


def inverse_splices(data: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """The splices that make `data` again of what the given ones made of it."""
    back: list[Splice] = []
    moved = 0
    for splice in splices:
        start = splice.start + moved
        back.append(Splice(start, start + len(splice.data), data[splice.start : splice.end]))
        moved += len(splice.data) - (splice.end - splice.start)
    return tuple(back)


def consolidation_splices(data: bytes, end: int, summary: str, now: str) -> tuple[Splice, ...]:
    """What changes in the file when its first `end` messages are archived, `summary` being what replaces them.

    `end` counts readable messages; `now` is local naive ISO, as an agent stamps messages. Raises BadInput for a file
    without a metadata line, or with fewer messages.
    """
    records = parse_jsonl(data, "")
    starts = _starts(data, records)
    head = next((r for r in reversed(records) if r.value is not None and is_metadata(r.value)), None)
    if head is None or head.value is None:
        raise BadInput("no metadata line: there is no place to note what was archived", "")
    messages = [r for r in records if r.value is not None and not _about(r.value)]
    if not 0 < end <= len(messages):
        raise BadInput(f"there are {len(messages)} messages", str(end))
    recent = OFFSET_KEYS[0] in head.value
    splices = [_replaced(data, starts, head, dump_line_as_read(_metadata(head.value, end, summary if recent else "")))]
    splices += [_replaced(data, starts, r, b"") for r in records if r.value is not None and is_provider_state(r.value)]
    if recent:
        line = {"role": "user", "content": BOUNDARY_TEXT, "_hidden_history": True, "timestamp": now}
        splices.append(_inserted(data, starts, messages, end, dump_line(line)))
    return tuple(sorted(splices))


def _metadata(value: Mapping[str, Any], end: int, summary: str) -> dict[str, Any]:
    known = [name for name in OFFSET_KEYS if name in value] or [OFFSET_KEYS[1]]
    new = {**value, **dict.fromkeys(known, end)}
    if summary:
        metadata = value.get("metadata")
        more = dict(metadata) if isinstance(metadata, dict) else {}
        active = value.get("updated_at")
        new["metadata"] = {**more, "_last_summary": {"text": summary, "last_active": active or ""}}
    return new


def last_summary(metadata: Mapping[str, Any]) -> str:
    """The summary that a session's metadata holds, "" when it has none."""
    found = metadata.get("_last_summary")
    text = found.get("text") if isinstance(found, dict) else None
    return text if isinstance(text, str) else ""


def merged_summary(before: str, added: str, limit: int = MAX_SUMMARY) -> str:
    """What replaces all that is archived: the lines of both, each once, the newest last.

    Beyond `limit` characters the oldest lines go, those marked ephemeral before the rest: the archive has all of them.
    """
    lines = [line for line in f"{before}\n{added}".split("\n") if line.strip()]
    kept = list(reversed(dict.fromkeys(reversed(lines))))
    size = sum(len(line) + 1 for line in kept)
    for passing in (True, False):
        for line in list(kept[:-1]):
            if size <= limit:
                break
            if not passing or any(mark == "ephemeral" for mark, _ in marked_lines(line)):
                kept.remove(line)
                size -= len(line) + 1
    return "\n".join(kept)


def _about(value: Mapping[str, Any]) -> bool:
    return is_metadata(value) or is_provider_state(value)


def _starts(data: bytes, records: Sequence[Record]) -> dict[int, int]:
    """Where each line with a record begins, and at 0 where the last one ends."""
    wanted = {record.number for record in records}
    found: dict[int, int] = {}
    at = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if number in wanted:
            found[number] = at
        at += len(line) + 1
    found[0] = len(data)
    return found


def _replaced(data: bytes, starts: Mapping[int, int], record: Record, line: bytes) -> Splice:
    start = starts[record.number] + record.start
    end = start + len(record.raw)
    newline = not record.start and data[end : end + 1] == b"\n"  # else others are on its line
    return Splice(start, end + newline, line)


def _inserted(data: bytes, starts: Mapping[int, int], messages: Sequence[Record], end: int, line: bytes) -> Splice:
    """The line in front of message `end`, or behind the last one."""
    if end < len(messages):
        place = starts[messages[end].number] + messages[end].start
        return Splice(place, place, (b"\n" if messages[end].start else b"") + line)
    guard = b"" if data.endswith(b"\n") else b"\n"
    return Splice(len(data), len(data), guard + line)


# Cutting a long transcript down without holding it: its last part and the lines about the session make a short one,
# which is cut as any other. Opens no file.

MARGIN = 200
"""Lines more than are kept that are read, for calls and results that must not be parted."""
WIDER = 4
_HIDDEN = b'"_hidden_history"'
_TELLING = (b'"_type"', _HIDDEN)
_WHITE = b" \t\r\f\v"
_SHARED = re.compile(rb'(?<=[^:,\[\s])\{\s*"|\}\s+\{')
"""What a line may have that holds two objects; in what a message says, quotation marks are escaped."""


class _Short(NamedTuple):
    """The short transcript that stands for a long one: its bytes, the lines of messages left out of it, the place among
    those of the boundary message that it has all the same, and the offsets of the long one."""

    data: bytes
    left_out: int
    boundary: int | None
    offsets: tuple[int | None, int | None]


def compact_long(pieces: Callable[[], Iterable[bytes]], keep: int) -> Compacted | None:
    """What `compact` makes of the transcript whose bytes `pieces` gives anew at each call, each piece whole lines.

    None where its last part does not tell: when a call lies before all of it, or it is not longer than what is kept.
    `removed`, `boundary_at` and `before`, which only an undo needs, are not told. Raises BadInput as `compact`.
    """
    for most in (keep + MARGIN, (keep + MARGIN) * WIDER):
        short = _short(_lines(pieces(), most), most)
        if short.left_out == 0:
            return None
        cut = compact(short.data, keep)
        inside = cut.removed_messages - (short.boundary is not None)  # else lines before the last part may stay
        if inside > 0 and _holds_its_calls(short.data, cut):
            return _with_counts(short, cut)
    return None


def _lines(pieces: Iterable[bytes], most: int) -> Iterator[bytes | int]:
    """Yield a transcript's lines; for messages in an agent's form before the last `most`, only their number."""
    waiting: deque[tuple[bytes, int]] = deque()
    for piece in pieces:
        plain = None if _HIDDEN in piece else plain_messages(piece)
        if plain is None:
            for one, _ in waiting:
                yield from _split(one)
            waiting.clear()
            yield from _split(piece)
            continue
        waiting.append((piece, plain))
        while sum(count for _, count in waiting) - waiting[0][1] >= most:
            yield waiting.popleft()[1]
    for one, _ in waiting:
        yield from _split(one)


def _split(piece: bytes) -> Iterator[bytes]:
    for line in piece.split(b"\n"):
        if _SHARED.search(line):
            yield from (record.raw for record in parse_jsonl(line, ""))
        elif line.strip(_WHITE):
            yield line


def _short(lines: Iterator[bytes | int], most: int) -> _Short:
    """The last `most` lines of a transcript, and what says something about the session before them."""
    last: deque[tuple[bytes, Record | None]] = deque()
    head: list[Record] = []
    boundary: tuple[int, bytes] | None = None
    left_out = 0
    for line in lines:
        if isinstance(line, bytes):
            last.append((line, _told_by(line, first=not last and not left_out and not head)))
        while len(last) > (most if isinstance(line, bytes) else 0):
            old, record = last.popleft()
            if record is not None and is_about(record):
                head.append(record)
                continue
            if record is not None and is_boundary(record):
                boundary = left_out, old
            left_out += 1
        left_out += line if isinstance(line, int) else 0
    every = [*head, *(record for _, record in last if record is not None and is_about(record))]
    count = left_out + len(last) - (len(every) - len(head))
    offsets = offsets_of(every, count)
    mapped = [_mapped(offset, left_out, boundary[0] if boundary else None) for offset in offsets]
    obeyed = metadata_of(every)
    body = [boundary[1]] if boundary else []
    written = [_written(record, obeyed, mapped) for record in head]
    rest = [_written(record, obeyed, mapped) if record is not None else line for line, record in last]
    data = b"".join(line + b"\n" for line in (*written, *body, *rest))
    return _Short(data, left_out, boundary[0] if boundary else None, offsets)


def _told_by(line: bytes, *, first: bool) -> Record | None:
    """The line read, where it may say something about the session; the first may have a mark around it."""
    if not any(sign in line for sign in _TELLING):
        return None
    return parse_jsonl(line + b"\n" if first else b"\n" + line + b"\n", "")[0]


def _mapped(offset: int | None, left_out: int, boundary: int | None) -> int | None:
    """An offset of the long transcript in the short one."""
    if offset is None:
        return None
    if offset > left_out:
        return offset - left_out + (boundary is not None)
    return int(boundary is not None and offset > boundary)


def _written(record: Record, obeyed: object, offsets: Sequence[int | None]) -> bytes:
    if record.value is not obeyed:
        return record.raw
    return with_offsets(record, (offsets[0], offsets[1])).removesuffix(b"\n")


def _holds_its_calls(data: bytes, cut: Compacted) -> bool:
    """Whether every result that is kept has its call in front of it in the part that was looked at."""
    messages = [one.value for one in parse_jsonl(data, "") if one.value is not None and not is_about(one)]
    kept = len(messages) - cut.kept_messages + (cut.boundary_at is not None)
    called: set[str] = set()
    for at, message in enumerate(messages):
        made = message.get("tool_calls")
        calls = [one.get("id") for one in (made if isinstance(made, list) else ()) if isinstance(one, dict)]
        called.update(one for one in calls if isinstance(one, str))
        answered = message.get("tool_call_id")
        if at >= kept and isinstance(answered, str) and answered not in called:
            return False
    return True


def _with_counts(short: _Short, cut: Compacted) -> Compacted:
    """The cut of the short transcript with the counts of the long one."""
    others = short.left_out - (short.boundary is not None)
    covered = short.offsets[0] if short.offsets[0] is not None else short.offsets[1] or 0
    behind = max(0, short.left_out - covered)
    behind -= short.boundary is not None and short.boundary >= covered
    return cut._replace(
        removed=b"",
        removed_messages=cut.removed_messages + others,
        removed_unarchived=cut.removed_unarchived + behind,
        boundary_at=None,
        before=short.offsets,
    )


# -- Which part of a transcript may be archived, and its text as agents dump it. Values in, values out ----------------

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


def oldest_slice(messages: Sequence[Message], start: int, budget: int, chars_per_token: float) -> Slice | None:
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
    return cap_content(_whole_dump(messages), RAW_CHARS)


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
