"""The archive of past turns: `history.jsonl`, its cursors, the `HISTORY.md` of old releases. Writes no file."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import NOTHING, dump_line, records, unknown_keys
from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem

MARKS = ("permanent", "durable", "ephemeral", "correction", "skip", "SKILL")
RAW_PREFIX = "[RAW]"
TRUNCATED_SUFFIX = "\n... (truncated)"
MAX_CONTENT = 64_000
"""Characters of an entry that agents keep; a longer one is cut and says so."""

_KNOWN = frozenset({"cursor", "timestamp", "content", "session_key"})
_MARK_NAMES = {name.lower(): name for name in MARKS}


# Compiled when first needed: counting the entries needs none of them.
@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A bullet, a mark, and the stamp before an entry of `HISTORY.md`."""
    return (
        re.compile(r"[-*+•]\s+"),
        re.compile(r"\[([A-Za-z]+)\]\s*"),
        re.compile(r"\[(\d{4}-\d{2}-\d{2})(?:([ T])(\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?)?[^\]\n]*\][ \t]*"),
    )


@cache
def _plain() -> re.Pattern[bytes]:
    """A line as agents write it, with its cursor."""
    return re.compile(
        rb'^\{"cursor": (\d{1,15}), "timestamp": "[^"\\\n]{0,40}",'
        rb' "content": "[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"\}$',
        re.MULTILINE,
    )


class HistoryEntry(NamedTuple):
    """One summary: its cursor, the text, and the session it came from.

    `timestamp` is the agent's local naive minute, `YYYY-MM-DD HH:MM`. `line` is the line in the file from 1, 0 for a
    new entry, `start` the byte in that line where it begins; `extra` holds unknown keys (and a `session_key` of null).
    """

    cursor: int
    timestamp: str
    content: str
    session_key: str | None = None
    line: int = 0
    extra: Mapping[str, Any] = NOTHING
    start: int = 0

    @property
    def raw(self) -> bool:
        """Whether the text is a dump of messages, kept because no summary could be made."""
        return self.content.startswith(RAW_PREFIX)


def parse_history(data: bytes, where: str) -> tuple[tuple[HistoryEntry, ...], tuple[Problem, ...]]:
    """The entries that an agent accepts, in file order, and a problem for each line that costs it something.

    A cursor that comes twice, or goes back, is a warning: two writers met.
    """
    entries: list[HistoryEntry] = []
    problems: list[Problem] = []
    seen: set[int] = set()
    highest = -1
    for record in records(files.as_utf8(data), where):
        if record.problem is not None:
            problems.append(record.problem)
        if record.value is None:
            continue
        entry = _entry(record.value, record.number, record.start)
        if isinstance(entry, str):
            problems.append(Problem(entry, where, record.number, "the agent skips this line"))
            continue
        if entry.cursor in seen:
            problems.append(Problem(f"cursor {entry.cursor} comes twice", where, record.number, severity="warning"))
        elif entry.cursor < highest:
            problems.append(Problem(f"cursor {entry.cursor} after {highest}", where, record.number, severity="warning"))
        seen.add(entry.cursor)
        highest = max(highest, entry.cursor)
        entries.append(entry)
    return tuple(entries), tuple(problems)


def plain_cursors(data: bytes) -> list[int] | None:
    """Return the cursors of whole lines that all have an agent's usual form; None where one has another."""
    found = [*map(int, _plain().findall(data))]
    return found if data.endswith(b"\n") and len(found) == data.count(b"\n") else None


def dump_entry(entry: HistoryEntry) -> bytes:
    """`entry` as its line, byte for byte as an agent writes it. Raises BadInput on text that is no UTF-8."""
    value: dict[str, Any] = {"cursor": entry.cursor, "timestamp": entry.timestamp, "content": entry.content}
    if entry.session_key is not None:
        value["session_key"] = entry.session_key
    return dump_line({**value, **entry.extra})


def cap_content(content: str, limit: int = MAX_CONTENT) -> str:
    """`content` as agents cap it: `limit` characters, and behind them that it was cut."""
    return content if len(content) <= limit else content[:limit] + TRUNCATED_SUFFIX


def _entry(value: dict[str, Any], line: int, start: int) -> HistoryEntry | str:
    """The entry, or what is wrong with it."""
    cursor, timestamp, content = value.get("cursor"), value.get("timestamp"), value.get("content")
    session_key = value.get("session_key")
    if not isinstance(cursor, int) or isinstance(cursor, bool) or cursor < 0:
        return "no cursor" if cursor is None else f"cursor is {cursor!r:.40}, not a whole number from 0"
    if not isinstance(timestamp, str):
        return "no timestamp" if timestamp is None else "timestamp is no text"
    if not isinstance(content, str):
        return "no content" if content is None else "content is no text"
    if session_key is not None and not isinstance(session_key, str):
        return "session_key is no text"
    extra = unknown_keys(value, _KNOWN)
    if session_key is None and "session_key" in value:
        extra["session_key"] = None
    return HistoryEntry(cursor, timestamp, content, session_key, line, extra, start)


def parse_cursor(data: bytes | None) -> int | None:
    """The number in `.cursor` or `.dream_cursor` as an agent reads it (it may be negative); None when there is none."""
    try:
        return int(data.decode("utf-8").strip()) if data else None
    except ValueError:
        return None


def clamp_cursor(value: int | None, latest: int) -> int:
    """The cursor that keeps Dream working: within 0 and `latest`; a missing one is 0, as agents take it."""
    return max(0, min(value or 0, latest))


class ReadTo(NamedTuple):
    """Up to where a Dream of ours read: the cursor that it left, and the last entry in file order."""

    left: int
    cursor: int
    timestamp: str
    checksum: int

    @classmethod
    def from_entry(cls, left: int, entry: HistoryEntry) -> ReadTo:
        """Return the mark of a Dream that ended with `entry` and left the cursor `left`."""
        return cls(left, entry.cursor, entry.timestamp, zlib.crc32(entry.content.encode("utf-8", "replace")))

    def is_at(self, entry: HistoryEntry) -> bool:
        """Return whether `entry` is the one that it ended with."""
        return self == ReadTo.from_entry(self.left, entry)


def not_dreamt(
    entries: Sequence[HistoryEntry], cursor: int, read_to: Callable[[], ReadTo | None] = lambda: None
) -> list[HistoryEntry]:
    """Return the entries that no Dream has read, in file order, where the cursor of Dreams is `cursor`.

    As long as cursors only rise they tell. Where one is out of order, the place in the file tells as well: what stands
    behind the entry that Dreams have read to waits, whatever its number; `read_to` says which one that is, else it is
    the last one that has the number `cursor`.
    """
    rising = all(one.cursor < other.cursor for one, other in pairwise(entries))
    if rising and (not entries or cursor <= entries[-1].cursor):
        return [entry for entry in entries if entry.cursor > cursor]
    mark, at = read_to(), None
    if mark is not None and mark.left == cursor:
        at = next((place for place in reversed(range(len(entries))) if mark.is_at(entries[place])), None)
    if at is not None:
        return list(entries[at + 1 :])
    last = max((place for place, entry in enumerate(entries) if entry.cursor == cursor), default=len(entries))
    return [entry for place, entry in enumerate(entries) if entry.cursor > cursor or place > last]


def count_skipped(stated: int, latest: int, given: int) -> int:
    """How many entries to come a cursor passes over already; 0 when it is not beyond the last entry and the last cursor
    that the agent gave, whose entry may be gone."""
    return max(0, stated - max(latest, given))


def marked_lines(content: str) -> list[tuple[str | None, str]]:
    """Each line of a summary that is not blank: its mark (of MARKS, or None) and its text without bullet and mark."""
    bullet_at, mark_at, _ = _patterns()
    result: list[tuple[str | None, str]] = []
    for line in content.split("\n"):
        text = line.strip()
        if not text:
            continue
        bullet = bullet_at.match(text)
        body = text[bullet.end() :] if bullet else text
        mark = mark_at.match(body)
        name = _MARK_NAMES.get(mark[1].lower()) if mark else None
        result.append((name, body[mark.end() :] if mark and name else body))
    return result


def parse_history_md(data: bytes, where: str, mtime: float) -> tuple[tuple[HistoryEntry, ...], tuple[Problem, ...]]:
    """The entries of a `HISTORY.md`, cursors 1 to n.

    An entry runs from its `[YYYY-MM-DD HH:MM]` to the next one, over as many paragraphs as it has, all of that date.
    Text before the first stamp is dated by `mtime`, seconds since the epoch. Unreadable bytes become U+FFFD, reported.
    A stamp that is no date is named: its entry gets the date of the one before (the first: that of the file), and the
    stamp stays in the text. One that goes back in time is named as well, and stands where it is.
    """
    lines, problems = _decoded_lines(files.as_utf8(data), where)
    entries: list[HistoryEntry] = []
    newest = ""
    for start, stamped, body in _md_blocks(lines):
        content, stamp = "\n".join(body).strip(), stamped
        if stamp is None and (not content or all(not line or line.startswith("#") for line in content.split("\n"))):
            continue
        if stamp is not None and not _is_date(stamp):
            said = lines[start - 1].removesuffix(body[0]).rstrip()
            problems.append(
                Problem(f"no date: {said[:40]!r}", where, start, "it gets that of the entry before", "warning")
            )
            content = f"{said} {content}".rstrip()
            stamp = entries[-1].timestamp if entries else None
        elif stamp is not None and stamp < newest:
            what = f"out of order: {stamp} after {newest}"
            problems.append(Problem(what, where, start, "it stays where it is", "warning"))
        timestamp = stamp or datetime.fromtimestamp(mtime).isoformat(" ", "minutes")
        newest = max(newest, stamp or "")
        entries.append(HistoryEntry(len(entries) + 1, timestamp, content, None, start))
    return tuple(entries), tuple(problems)


def lines_of_text(content: str) -> set[str]:
    """The lines of an entry that are not blank, each without the stamp before it and the space around it."""
    stamp_at = _patterns()[2]
    return {text for line in content.split("\n") if (text := stamp_at.sub("", line.strip(), count=1).strip())}


def _is_date(stamp: str) -> bool:
    try:
        datetime.fromisoformat(stamp)
    except ValueError:
        return False
    return True


def _decoded_lines(data: bytes, where: str) -> tuple[list[str], list[Problem]]:
    lines: list[str] = []
    problems: list[Problem] = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = raw.decode("utf-8", "replace").rstrip("\r")
        if "\ufffd" in line and b"\xef\xbf\xbd" not in raw:
            problems.append(Problem("bytes that are not UTF-8, shown as \ufffd", where, number))
        lines.append(line)
    return lines, problems


def _md_blocks(lines: list[str]) -> Iterator[tuple[int, str | None, list[str]]]:
    """(line number, stamp or None, lines of the text) of each entry.

    Dumped messages inside an entry are stamped `[…T…]`: such a stamp starts an entry only after a blank line.
    """
    stamp_at = _patterns()[2]
    start, stamp, body = 1, None, list[str]()
    for number, line in enumerate(lines, 1):
        match = stamp_at.match(line)
        if match and (match[2] != "T" or not body or not body[-1].strip()):
            yield start, stamp, body
            start, stamp, body = number, f"{match[1]} {match[3] or '00:00'}", [line[match.end() :]]
        else:
            body.append(line)
    yield start, stamp, body


# -- Commit ids as older agents printed them. Knows no repository -----------------------------------------------------


def decode_short_id(text: str) -> str:
    """The hex digits meant by a short commit id.

    Releases up to 0.3.0 printed the hex of the hex digits: `33353532` is ASCII `3552`, so four digits of the id.
    An id that is not of that form is returned as it is, lower case. One real id in 65,536 looks like the old form:
    look for a commit of the text itself first.
    """
    plain = text.strip().lower()
    try:
        inner = bytes.fromhex(plain).decode("ascii")
    except ValueError:
        return plain
    if len(plain) == 8 and all(digit in "0123456789abcdef" for digit in inner):
        return inner
    return plain
