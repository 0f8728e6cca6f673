"""Passwords in a column of a Markdown table whose head names them: the head and the value stand on different lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nanomem_tui.language.secrets.shapes import part

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*|[ \t]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*")
_VALUE = re.compile(r"[\s*_`]*([!-_a-{}~]{4,64}?)[\s*_`]*")


def passwords(text: str) -> Iterator[tuple[int, int]]:
    """The places of the values under a head that names a password."""
    if "|" not in text or "--" not in text:
        return
    from nanomem_tui.language.secrets.checks import is_told

    lines = text.split("\n")
    columns: list[int] = []
    at = 0
    for number, line in enumerate(lines):
        if _RULE.fullmatch(line) and number:
            columns = [place for place, (_, cell) in enumerate(_cells(lines[number - 1])) if _head().fullmatch(cell)]
        elif "|" not in line:
            columns = []
        elif columns:
            cells = list(_cells(line))
            for place in columns:
                value = _VALUE.fullmatch(cells[place][1]) if place < len(cells) else None
                if value and is_told(value[1]):
                    begin = at + cells[place][0]
                    yield begin + value.start(1), begin + value.end(1)
        at += len(line) + 1


@cache
def _head() -> re.Pattern[str]:
    """What stands in the head of a column of passwords."""
    return re.compile(rf"[\s*_`]*(?:[\w-]{{1,20}} )?(?:{part('named')}|(?i:pass|pw))[\s*_`]*")


def _cells(line: str) -> Iterator[tuple[int, str]]:
    """The cells of a row, and where each begins in it; those of a row that begins with a bar, behind it."""
    at = line.index("|") + 1 if line.lstrip().startswith("|") else 0
    for cell in line[at:].split("|"):
        yield at, cell
        at += len(cell) + 1
