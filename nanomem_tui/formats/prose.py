"""Markdown and plain text as blocks: headings, paragraphs, lists, and code that stays in one piece. Changes no text."""

from __future__ import annotations

import re

from nanomem_tui.formats.blocks import Blocks, Reading
from nanomem_tui.formats.markdown import blocks as blocks_of_code

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,4}[.)])\s+\S")
_MARKS_IN_MARKDOWN = "=-"
_EMPHASIS = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}([^*_`]+)[*_`]{1,3}")
LONGEST_HEADING = 120
"""Characters of an underlined line that is a heading."""


def parse_markdown(text: str, name: str) -> Reading:
    """Markdown as blocks. Its title is its first heading of the first level, else `name`."""
    return _parse(text, name, markdown=True)


def parse_text(text: str, name: str) -> Reading:
    """Plain text as blocks; an underlined line between empty ones is a heading, as in reStructuredText."""
    return _parse(text, name, markdown=False)


def _parse(text: str, name: str, *, markdown: bool) -> Reading:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    code = blocks_of_code(text) if markdown else frozenset()
    made, title = Blocks(), ""
    levels: list[str] = []
    at = _after_front_matter(lines) if markdown else 0
    while at < len(lines):
        line = lines[at]
        if at in code:
            at = _code(lines, code, at, made)
            continue
        heading = _HEADING.fullmatch(line) if markdown else None
        if heading:
            shown = _plain(heading[2] or "")
            title = title or (shown if len(heading[1]) == 1 else "")
            made.heading(len(heading[1]), shown)
        elif (mark := _underlined(lines, at, markdown)) and at + 1 not in code:
            if mark not in levels:
                levels.append(mark)
            level = _MARKS_IN_MARKDOWN.index(mark) + 1 if markdown else levels.index(mark) + 1
            title = title or (line.strip() if level == 1 else "")
            made.heading(level, _plain(line) if markdown else line)
            at += 1
        elif not line.strip():
            made.end()
        elif markdown and line.lstrip().startswith("|"):
            made.row(line.strip(), at + 1)
        else:
            if _BULLET.match(line):
                made.end_piece()
            made.add(" ".join(line.split()), at + 1)
        at += 1
    made.end()
    return Reading(title or name, tuple(made.made))


def _after_front_matter(lines: list[str]) -> int:
    """Where a Markdown file begins: after the settings that some put before it."""
    if lines and lines[0].rstrip() == "---":
        for at, line in enumerate(lines[1:60], 1):
            if line.rstrip() in ("---", "..."):
                return at + 1
    return 0


def _code(lines: list[str], code: frozenset[int], at: int, made: Blocks) -> int:
    """The lines of fenced code as one block, its fences left out; where it ends."""
    made.end()
    while at < len(lines) and at in code:
        if lines[at].lstrip()[:3] not in ("```", "~~~"):
            made.row(lines[at], at + 1)
        at += 1
    if at < len(lines) and lines[at].lstrip()[:3] in ("```", "~~~"):
        at += 1
    made.end()
    return at


def _underlined(lines: list[str], at: int, markdown: bool) -> str:
    """The sign that a heading is underlined with; "" where the line is none."""
    line = lines[at]
    if not line.strip() or len(line) > LONGEST_HEADING or at + 1 >= len(lines) or line[:1] in " \t":
        return ""
    match = _UNDERLINE.fullmatch(lines[at + 1])
    if not match or (at and lines[at - 1].strip() and not _UNDERLINE.fullmatch(lines[at - 1])):
        return ""
    if _UNDERLINE.fullmatch(line):
        return ""
    if markdown:
        return match[1] if match[1] in _MARKS_IN_MARKDOWN else ""
    return match[1] if len(match[0].rstrip()) >= len(line.rstrip()) else ""


def _plain(title: str) -> str:
    """A heading without links and emphasis."""
    return _EMPHASIS.sub(lambda match: match[1] if match[1] is not None else match[2], title).strip()
