"""What a Dream clears away in the files themselves: copies of a line, and lines that say they are over.

Owns finding them. Careful by intent: two lines are copies when they say the same words in the same order, and stand
under one heading or say enough to mean the same anywhere. Lines that only resemble each other are for a person. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.dream import dates, details
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.formats import markdown
from nanomem_tui.formats.history import HistoryEntry
from nanomem_tui.tokens import fold

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENOUGH = 4  # words with a meaning, and a line means the same under any heading; `- see below` does not


class _Line(NamedTuple):
    number: int
    whole: str
    text: str
    section: int


def day_of(entries: Sequence[HistoryEntry]) -> str:
    """The newest day (`YYYY-MM-DD`) that `entries` tell, "" when none does: the clock of a Dream."""
    days = (entry.timestamp[:10] for entry in entries)
    return max((day for day in days if _DAY.fullmatch(day)), default="")


def tidied(files: Mapping[str, str], cursor: int, today: str) -> Iterator[LineEdit]:
    """Removals of copies and of lines that ended before `today` (`YYYY-MM-DD`; "": no day is known), line by line.

    `cursor` is the entry that tells the day. The first of two copies stays."""
    for name, text in files.items():
        seen: dict[tuple[int | None, str], _Line] = {}
        for line in _lines(text):
            if today and dates.is_over(line.text, today):
                why = f"over since before {today}"
            elif (first := _copied(seen, line)) is not None:
                why = f"a copy of line {first.number}"
            else:
                continue
            yield LineEdit("remove", name, line=line.number, old=line.whole, evidence=(cursor,), why=why)


def has_copy(text: str, old: str) -> bool:
    """Whether a list line of `text` says what the line `old` said, which is no longer in it."""
    said, raw = _said(_bare(old)), text.split("\n")
    near = [at for at, line in enumerate(raw) if said in _plain(line)]
    if near and markdown.has_blocks(text):
        return any(_said(line.text) == said for line in _lines(text))
    found = (bullet._replace(line=at + 1) for at in near for bullet in markdown.bullets(raw[at]))
    return any(_said(bullet.text) == said and _alone(bullet, raw) for bullet in found)


def _copied(seen: dict[tuple[int | None, str], _Line], line: _Line) -> _Line | None:
    said = _said(line.text)
    anywhere = len(details.words(line.text)) >= _ENOUGH
    for key in ((line.section, said), (None, said)) if anywhere else ((line.section, said),):
        if key in seen:
            return seen[key]
    seen[line.section, said] = line
    if anywhere:
        seen[None, said] = line
    return None


def _said(text: str) -> str:
    """What makes two lines the same: the words in their order, whatever their case, width and emphasis."""
    return _plain(text).strip(" .。")


@lru_cache(maxsize=16384)
def _plain(text: str) -> str:
    return fold(text.replace("*", ""))


def _bare(whole: str) -> str:
    found = markdown.bullets(whole)
    return found[0].text if found else whole.strip()


def _lines(text: str) -> list[_Line]:
    """The list lines that stand alone: no check boxes, none that has lines of its own below."""
    found, raw = markdown.bullets(text), text.split("\n")
    heads = [section.start_line for section in markdown.sections(text) if section.level]
    result = []
    for bullet in found:
        if _alone(bullet, raw):
            section = heads[at - 1] if (at := bisect(heads, bullet.line)) else 0
            result.append(_Line(bullet.line, raw[bullet.line - 1].removesuffix("\r"), bullet.text, section))
    return result


def _alone(bullet: markdown.Bullet, raw: Sequence[str]) -> bool:
    """Whether the list line is neither a check box nor one that has lines of its own below."""
    below = raw[bullet.line].expandtabs(4) if bullet.line < len(raw) else ""
    leads = below.strip() and len(below) - len(below.lstrip()) > bullet.indent
    return bool(bullet.text) and not leads and not bullet.text.startswith(("[ ]", "[x]", "[X]"))
