"""What a Dream clears away in the files themselves: copies of a line, and lines that say they are over.

Owns finding them. Careful by intent: two lines are copies when they are the same, and entries of the same list: what
stands under another heading, another line or another name is said of another. Steps of a numbered list are never
cleared, and lines that only resemble each other are for a person. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.agents import markdown
from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.language import dates

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBERED = re.compile(r"\s*\d")


class _Line(NamedTuple):
    """A list line; `over` are the numbers of the lines that tell what it is an entry of."""

    number: int
    whole: str
    text: str
    over: tuple[int, ...]


def day_of(entries: Sequence[HistoryEntry]) -> str:
    """The newest day (`YYYY-MM-DD`) that `entries` tell, "" when none does: the clock of a Dream."""
    days = (entry.timestamp[:10] for entry in entries)
    return max((day for day in days if _DAY.fullmatch(day)), default="")


def tidied(files: Mapping[str, str], cursor: int, today: str) -> Iterator[LineEdit]:
    """Removals of copies and of lines that ended before `today` (`YYYY-MM-DD`; "": no day is known), line by line.

    `cursor` is the entry that tells the day. The first of two copies stays."""
    for name, text in files.items():
        seen: dict[tuple[tuple[int, ...], str], _Line] = {}
        for line in _lines(text):
            first = seen.setdefault((line.over, _said(line.text)), line)
            if today and dates.is_over(line.text, today):
                why = f"over since before {today}"
            elif first is not line:
                why = f"a copy of line {first.number}"
            else:
                continue
            yield LineEdit("remove", name, line=line.number, old=line.whole, evidence=(cursor,), why=why)


def has_copy(text: str, edit: LineEdit) -> bool:
    """Whether the line of `text` that `edit` removes stands another time in the same list."""
    said = _said(_bare(edit.old))
    if text.count(said) < 2:
        return False
    same = [line for line in _lines(text) if _said(line.text) == said]
    gone = min(same, key=lambda line: abs(line.number - (edit.line or 1)), default=None)
    return gone is not None and any(line.over == gone.over for line in same if line is not gone)


def _said(text: str) -> str:
    """What makes two lines the same: all of it but emphasis around it and a full stop."""
    return text.strip("*_ .。")


def _bare(whole: str) -> str:
    found = markdown.bullets(whole)
    return found[0].text if found else whole.strip()


def _lines(text: str) -> list[_Line]:
    """The list lines that stand alone: no steps, no check boxes, none that has lines of its own below."""
    raw = text.split("\n")
    bullets = {bullet.line: bullet for bullet in markdown.bullets(text)}
    result: list[_Line] = []
    opened, above = 0, list[markdown.Bullet]()
    for number, whole in enumerate(raw, 1):
        bullet = bullets.get(number)
        if bullet is None:
            if whole.strip() and not whole[:1].isspace():  # a heading, a name in bold: what comes is of that
                opened, above = number, []
            continue
        above = [one for one in above if one.indent < bullet.indent]
        if _alone(bullet, raw) and not _NUMBERED.match(whole):
            over = (opened, *(one.line for one in above))
            result.append(_Line(number, whole.removesuffix("\r"), bullet.text, over))
        above.append(bullet)
    return result


def _alone(bullet: markdown.Bullet, raw: Sequence[str]) -> bool:
    """Whether the list line is neither a check box nor one that has lines of its own below."""
    below = raw[bullet.line].expandtabs(4) if bullet.line < len(raw) else ""
    leads = below.strip() and len(below) - len(below.lstrip()) > bullet.indent
    return bool(bullet.text) and not leads and not bullet.text.startswith(("[ ]", "[x]", "[X]"))
