"""A transcript after its oldest part was archived: the same file with its offsets moved, as few splices of its bytes.

All messages stay. In the form of recent releases (a metadata line with `last_archived`) a hidden message marks the
boundary and the metadata holds the summary that replaces what lies before it; older forms have the offset alone. The
provider's opaque state, which describes another context, goes. Opens no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.formats.history import marks
from nanomem_tui.formats.jsonl import Record, dump_line, dump_line_as_read, parse_jsonl
from nanomem_tui.formats.session_compaction import BOUNDARY_TEXT, OFFSET_KEYS, is_metadata, is_provider_state

MAX_SUMMARY = 12_000
"""Characters of the summary that an agent carries along in each prompt."""


class Splice(NamedTuple):
    """Bytes `start` to `end` of a file (not included) replaced by `data`."""

    start: int
    end: int
    data: bytes


def spliced(data: bytes, splices: Sequence[Splice]) -> bytes:
    """`data` with the splices made, which are in order and apart. Raises BadInput where they do not fit."""
    parts: list[bytes] = []
    at = 0
    for splice in splices:
        if not at <= splice.start <= splice.end <= len(data):
            raise BadInput("a change that does not fit its file", f"bytes {splice.start} to {splice.end}")
        parts += [data[at : splice.start], splice.data]
        at = splice.end
    return b"".join((*parts, data[at:]))


def inverse(data: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """The splices that make `data` again of what the given ones made of it."""
    back: list[Splice] = []
    moved = 0
    for splice in splices:
        start = splice.start + moved
        back.append(Splice(start, start + len(splice.data), data[splice.start : splice.end]))
        moved += len(splice.data) - (splice.end - splice.start)
    return tuple(back)


def consolidated(data: bytes, end: int, summary: str, now: str) -> tuple[Splice, ...]:
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
            if not passing or any(mark == "ephemeral" for mark, _ in marks(line)):
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
