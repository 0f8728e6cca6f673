"""The pen that a terminal writes with, and the fewest bytes from one pen to the next.

Owns the SGR codes ("select graphic rendition", `ESC [ … m`). It must not know what is written.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_OFF = {
    "1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "8": "28", "9": "29", "21": "24",
    "51": "54", "52": "54", "53": "55",
}  # fmt: skip
_SEEN_ON_BLANKS = frozenset({"4", "5", "6", "7", "9", "21", "51", "52", "53"})


class Pen(NamedTuple):
    """How a cell is written: SGR codes of its ink, its paper and its marks (bold, reverse, …); "" is the terminal's."""

    ink: str = ""
    paper: str = ""
    marks: tuple[str, ...] = ()

    @property
    def on_blanks(self) -> bool:
        """Whether more than the paper is seen where nothing is written."""
        return not _SEEN_ON_BLANKS.isdisjoint(self.marks)


PLAIN = Pen()


@lru_cache(4096)
def pen_of(codes: str) -> Pen:
    """The pen of SGR codes as Textual and Rich put them, like "1;38;2;200;211;245;48;5;7"."""
    ink, paper = "", ""
    marks: list[str] = []
    parts = iter(codes.split(";") if codes else ())
    for code in parts:
        if code in {"38", "48"}:
            kind = next(parts)
            colour = ";".join((code, kind, *(next(parts) for _ in range(1 if kind == "5" else 3))))
            ink, paper = (colour, paper) if code == "38" else (ink, colour)
        elif code in _OFF:
            marks.append(code)
        elif code in {"39", "49"}:
            ink, paper = ("", paper) if code == "39" else (ink, "")
        elif (30 <= int(code) <= 37) or (90 <= int(code) <= 97):
            ink = code
        elif (40 <= int(code) <= 47) or (100 <= int(code) <= 107):
            paper = code
    return Pen(ink, paper, tuple(marks))


@lru_cache(4096)
def changed(old: Pen | None, new: Pen) -> str:
    """The shortest sequence from `old` (None: not known) to `new`; nothing where they are the same."""
    if old == new:
        return ""
    whole = ";".join(filter(None, (*new.marks, new.ink, new.paper)))
    afresh = f"\x1b[0;{whole}m" if whole else "\x1b[m"
    if old is None:
        return afresh
    off = {_OFF[mark] for mark in old.marks if mark not in new.marks}
    kept = {mark for mark in old.marks if mark in new.marks and _OFF[mark] not in off}
    codes = [*sorted(off), *(mark for mark in new.marks if mark not in kept)]
    if old.ink != new.ink:
        codes.append(new.ink or "39")
    if old.paper != new.paper:
        codes.append(new.paper or "49")
    return min(f"\x1b[{';'.join(codes)}m", afresh, key=len)
