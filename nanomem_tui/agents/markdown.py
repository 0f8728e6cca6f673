"""Markdown as agents keep it: sections, bullets, daily notes, the mirrors of the scoped system. Changes no text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem

WIDE = "this file is {}, not UTF-8"
WIDE_FIX = "it is read here and stays so when it is edited; agents that read UTF-8 fail on it"
RECENT = 8
"""Texts of which what was told last is kept: each step of a Dream asks again of the file as it is before and after."""
# Texts, so that `re` compiles each at the first line that needs it: a list of notes needs one of the five.
_HEADING = r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*"
_FENCE = r"[ \t]*(`{3,}|~{3,})"
_COMMENT = r"[ \t]*(?:[-*+][ \t]+)?<!--"
_BULLET = r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(.*)"
_DAILY = r"(\d{4})([-_.]?)(\d{2})\2(\d{2})(?:(?:[-_ .]|T(?=\d))[^/\0]*)?\.md"


class Section(NamedTuple):
    """A heading and the lines under it up to the next heading. The text before the first one is titled "", level 0.

    `start_line` counts from 1 and is the heading's own line; `lines` are those under it, without line ends.
    """

    title: str
    level: int
    start_line: int
    lines: tuple[str, ...]


class Bullet(NamedTuple):
    """One list line: its number from 1, the width of its indent (a tab is 4), and its text."""

    line: int
    indent: int
    text: str


def decode(data: bytes, where: str) -> tuple[str, tuple[Problem, ...]]:
    """The text of a Markdown file, line ends and all, without its byte order mark. Bad bytes are shown as U+FFFD and
    reported line by line.

    The text of a file without problems encodes to the same bytes; one with errors must not be written from its text.
    """
    problems: list[Problem] = []
    name = files.encoding_of(data)
    if files.is_wide(data):
        problems.append(Problem(WIDE.format(name[:6].upper()), where, 1, WIDE_FIX, "warning"))
    elif name != files.UTF8:
        problems.append(Problem("begins with a byte order mark", where, 1, severity="warning"))
    try:
        text = files.decode(data)
    except UnicodeDecodeError:
        text = files.decode(data, "replace")
        whole = "the file ends in the middle of a character, or holds what is none, shown as \ufffd"
        problems.extend([Problem(whole, where)] if files.is_wide(data) else _bad_lines(data, where))
    if "\0" in text:
        number = text.count("\n", 0, text.index("\0")) + 1
        problems.append(Problem(f"{text.count(chr(0))} NUL bytes, as a power cut leaves them", where, number))
    return text, tuple(problems)


def sections(text: str) -> list[Section]:
    """The sections of `text` in order; `#` inside a block is no heading. Text before any heading comes first."""
    return list(_sections(text))


@lru_cache(maxsize=RECENT)
def _sections(text: str) -> tuple[Section, ...]:
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    within = blocks(text)
    starts = [at for at, line in enumerate(lines) if line[:1] == "#" and at not in within]
    found = [(at, match) for at in starts if (match := re.fullmatch(_HEADING, lines[at]))]
    result: list[Section] = []
    first = lines[: found[0][0] if found else len(lines)]
    if any(part.strip() for part in first):
        result.append(Section("", 0, 1, tuple(first)))
    ends = [at for at, _ in found[1:]] + [len(lines)]
    for (at, match), end in zip(found, ends, strict=False):
        result.append(Section((match[2] or "").strip(), len(match[1]), at + 1, tuple(lines[at + 1 : end])))
    return tuple(result)


@lru_cache(maxsize=RECENT)
def has_blocks(text: str) -> bool:
    """Whether what a line is may depend on the lines before it: fenced code or a comment is in `text`."""
    return "```" in text or "~~~" in text or "<!--" in text


def blocks(text: str) -> frozenset[int]:
    """The indexes of the lines inside fenced code or a comment of several lines, with the line that opens it.

    A comment that nothing closes is none."""
    if not has_blocks(text):
        return frozenset()
    found: set[int] = set()
    fence, comment = "", False
    lines = text.split("\n")
    last = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)
    for at, raw in enumerate(lines):
        line = raw.removesuffix("\r")
        if comment:
            found.add(at)
            comment = "-->" not in line
        elif not fence and "<!--" in line and at < last and re.match(_COMMENT, line):
            comment = "-->" not in line[line.index("<!--") :]
            found |= {at} if comment else set()
        else:
            fence = _fence_after(line, fence)
            found |= {at} if fence else set()
    return frozenset(found)


def bullets(text: str) -> list[Bullet]:
    """The list lines of `text`, outside fenced code and comments."""
    within = blocks(text)
    result: list[Bullet] = []
    for at, raw in enumerate(text.split("\n")):
        match = re.fullmatch(_BULLET, raw.removesuffix("\r")) if at not in within else None
        if match:
            result.append(Bullet(at + 1, len(match[1].expandtabs(4)), match[3].strip()))
    return result


def daily_note_name(name: str) -> date | None:
    """Return the day of a note named `YYYY-MM-DD.md` or `YYYY-MM-DD-slug.md`, with any separators; else None."""
    match = re.fullmatch(_DAILY, name)
    try:
        return date(int(match[1]), int(match[3]), int(match[4])) if match else None
    except ValueError:
        return None


def dump_mirror_line(at: datetime, text: str) -> bytes:
    """One entry as the scoped system appends it; `at` is aware, white space in `text` is collapsed."""
    return f"- [{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC] {' '.join(text.split())}\n".encode("utf-8", "replace")


def _bad_lines(data: bytes, where: str) -> list[Problem]:
    found = []
    for number, raw in enumerate(data.split(b"\n"), 1):
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            what = f"byte 0x{raw[error.start]:02X} at column {error.start + 1} is not UTF-8, shown as \ufffd"
            found.append(Problem(what, where, number, "the agent fails on this file until the byte is gone"))
    return found


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after `line` when `fence` was before; "" for none."""
    if "```" not in line and "~~~" not in line:  # almost every line
        return fence
    match = re.match(_FENCE, line)
    if not match:
        return fence
    if not fence:
        return match[1]
    closes = match[1][0] == fence[0] and len(match[1]) >= len(fence) and not line[match.end() :].strip()
    return "" if closes else fence
