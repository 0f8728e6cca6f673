"""Finding words in long texts: the query language of the filters, where in the original text each hit lies, and what
stands around it.

Must not know a file: transcripts, history and notes are searched by their own modules with this.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import NamedTuple, TypeVar

from nanomem_tui.memory import filters

Range = tuple[int, int]
"""Start and end of a hit in characters of a text, end excluded."""

_PLAIN = re.compile(r"[a-z0-9]+")
EXCERPT = 240
"""Characters of an excerpt, so that a message of megabytes costs a search no memory."""


AROUND = 2
"""Neighbours on each side of a hit."""

Value = TypeVar("Value")


class Neighbour(NamedTuple):
    """What stands beside a hit: its id in its source, who said it (or ""), when, and its text."""

    id: str
    role: str
    timestamp: str
    text: str


class Matcher(NamedTuple):
    """A query made ready: all `needles` must occur and none of `excluded`, without regard to case or width.

    `precise`: it says exactly what is looked for, by a phrase or by what must not be there.
    """

    needles: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    precise: bool = False

    def __bool__(self) -> bool:
        """Whether the query asks for anything; an empty one finds nothing."""
        return bool(self.needles)

    def matches(self, text: str) -> bool:
        """Whether `text` holds what the query asks for."""
        folded = filters.fold(text)
        return all(needle in folded for needle in self.needles) and not any(word in folded for word in self.excluded)

    def may_be_in(self, line: bytes) -> bool:
        """Whether a line of JSON may hold it: false only where it is all ASCII and has not every plain word of it."""
        if not line.isascii() or b"\\u" in line:  # other letters may be the same without case and width
            return True
        folded = line.lower()
        return all(needle.encode() in folded for needle in self.needles if _PLAIN.fullmatch(needle))

    def ranges(self, text: str) -> tuple[Range, ...]:
        """Where the needles lie in `text`, in order, overlaps joined; empty where folding moved letters about."""
        folded, origin = _folded_with_origin(text)
        found: list[Range] = []
        for needle in self.needles:
            at = folded.find(needle)
            while at >= 0:
                found.append((origin[at], origin[at + len(needle) - 1] + 1))
                at = folded.find(needle, at + len(needle))
        joined: list[Range] = []
        for start, end in sorted(found):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return tuple(joined)

    def excerpt(self, text: str, width: int = EXCERPT) -> tuple[str, tuple[Range, ...]]:
        """The part of `text` around its first hit, at most `width` characters and two ellipses, and the hits in it."""
        ranges = self.ranges(text)
        if len(text) <= width:
            return text, ranges
        start = max(0, min((ranges[0][0] if ranges else 0) - width // 4, len(text) - width))
        end = start + width
        shift = start - 1 if start else 0
        part = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
        inside = [(max(a, start), min(b, end)) for a, b in ranges if a < end and b > start]
        return part, tuple((a - shift, b - shift) for a, b in inside)


def matcher(query: str) -> Matcher:
    """The matcher of a query as people type it: words, `"exact phrases"`, `-without`."""
    parsed = filters.parse(query, {})
    precise = bool(parsed.phrases or parsed.excluded)
    return Matcher(parsed.words + parsed.phrases, parsed.excluded, precise)


def around(stream: Iterable[Value], many: int = AROUND) -> Iterator[tuple[Value, deque[Value | None]]]:
    """Each value of a stream with the window that it is in the middle of; None where the stream ends.

    The window is one object that moves on: read it before the next value.
    """
    window: deque[Value | None] = deque(repeat(None, 2 * many + 1), maxlen=2 * many + 1)
    for value in chain(stream, repeat(None, many)):
        window.append(value)
        middle = window[many]
        if middle is not None:
            yield middle, window


def _folded_with_origin(text: str) -> tuple[str, range | list[int]]:
    """`text` folded character by character, and for each folded character the place it came from."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded: list[str] = []
    origin: list[int] = []
    for place, character in enumerate(text):
        pieces = unicodedata.normalize("NFKC", character).casefold()
        folded.append(pieces)
        origin.extend([place] * len(pieces))
    return "".join(folded), origin
