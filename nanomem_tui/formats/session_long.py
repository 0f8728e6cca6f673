"""Cutting a long transcript down without holding it: its last part and the lines about the session make a short one,
which is cut as any other. Opens no file.

What is written is what `session_compaction.compact` makes of the whole. Lines before the last part are counted and not
read: one that is no JSON counts as a message there.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from nanomem_tui.formats.jsonl import Record, parse_jsonl
from nanomem_tui.formats.session_compaction import (
    Compacted,
    compact,
    is_about,
    is_boundary,
    metadata_of,
    offsets_of,
    with_offsets,
)
from nanomem_tui.formats.session_plain import plain_messages

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
            return _told(short, cut)
    return None


def _lines(pieces: Iterable[bytes], most: int) -> Iterator[bytes | int]:
    """The lines of a transcript. Of messages in the form that agents write, which at least `most` of the same follow,
    only how many there are."""
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


def _told(short: _Short, cut: Compacted) -> Compacted:
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
