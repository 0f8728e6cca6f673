"""Secrets and personal numbers in a text: where they are, what they are, and a fingerprint, never the value.

The patterns are those of `secret_tokens` and `secret_shapes`: shaped like values (a prefix and a length, a checksum, a
name with a value beside it), so that talk about passwords is none. Numbers that prove who somebody is, or that pay
(cards, IBAN, US social security numbers, Chinese resident ids), count as secrets. E-mail addresses and telephone
numbers do not, unless `personal` asks for them: they are what people want an agent to remember, and a quarantine of
each would teach people to accept without reading.

A fingerprint is a hash cut so short that it cannot be turned back by trying: 8 hexadecimal digits of a random token, 4
of anything a person could have chosen or counted.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from nanomem_tui.memory.secret_shapes import PERSONAL, SHAPES
from nanomem_tui.memory.secret_tokens import Shape
from nanomem_tui.text import FORGOTTEN


class Secret(NamedTuple):
    """One secret: what it is, where it stands in the text (`[start:end]`), its fingerprint."""

    kind: str
    start: int
    end: int
    fingerprint: str


KINDS: tuple[str, ...] = tuple(dict.fromkeys(shape.kind for shape in (*SHAPES, *PERSONAL)))
"""Every kind that is known, the personal ones last."""

MASK = re.compile(
    rf"\[(?P<name>(?P<kind>{'|'.join(map(re.escape, KINDS))}) #[0-9a-f]{{4}}(?:[0-9a-f]{{4}})?)(?:\.\d+)?\]"
)
"""What stands where a secret was; with a number where a text has several of one fingerprint."""

START = 24_000
"""Characters of a text that `mask_start` looks at: more than the longest secret has."""

_TAKEN_OUT = re.compile(rf"{MASK.pattern}|{re.escape(FORGOTTEN)}")
_GONE = "\ufdd0"
"""Stands for what was taken out, where a text is looked at: no sign of any text, and no part of any value."""
_INVISIBLE = re.compile("[\ufdd0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]")


_NUMBER = re.compile(r"\d\d", re.ASCII)
"""What every shape without words has."""


class _Ready(NamedTuple):
    """A shape as it is looked for: its words, its pattern, and whether a group is the value."""

    shape: Shape
    words: frozenset[str]
    pattern: re.Pattern[str]
    group: str | int


@lru_cache(2)
def _ready(personal: bool) -> tuple[tuple[str, ...], tuple[_Ready, ...]]:
    """The words of all shapes, each once; and the shapes."""
    found = []
    for shape in (*SHAPES, *PERSONAL) if personal else SHAPES:
        pattern, words = re.compile(shape.pattern, re.ASCII), frozenset(filter(None, shape.words.split("|")))
        found.append(_Ready(shape, words, pattern, "v" if "v" in pattern.groupindex else 0))
    return tuple(sorted(frozenset().union(*(one.words for one in found)))), tuple(found)


@lru_cache(1024)
def _fitting(held: tuple[str, ...], *, numbers: bool, personal: bool) -> tuple[_Ready, ...]:
    """The shapes that a text may have: by the words that it holds; those without words are numbers."""
    return tuple(one for one in _ready(personal)[1] if (not one.words.isdisjoint(held) if one.words else numbers))


def find(text: str, *, personal: bool = False) -> list[Secret]:
    """The secrets of `text`, in order, none inside another; with `personal` also addresses and telephone numbers.

    What was taken out is none, and beside what is taken out now none is left: of a text that `mask` made nothing is
    found.
    """
    looked_at, places = _visible(text)
    found: list[Secret] = []
    while spans := _look(looked_at, personal=personal):
        where = places or range(len(looked_at))
        found += [Secret(kind, where[start], where[end - 1] + 1, told) for kind, start, end, told in spans]
        looked_at, places = _without(looked_at, where, [(start, end) for _, start, end, _ in spans])
    return sorted(found, key=lambda secret: secret.start)


def _look(text: str, *, personal: bool) -> list[Secret]:
    """The secrets that one look at a text finds, in order."""
    found: list[Secret] = []
    taken: list[tuple[int, int]] = []  # in order; none overlaps another
    held = tuple(word for word in _ready(personal)[0] if word in text)
    numbers = _NUMBER.search(text) is not None
    for shape, _, pattern, group in _fitting(held, numbers=numbers, personal=personal):
        behind = 0
        while match := pattern.search(text, behind):
            value, (start, end) = match[group], match.span(group)
            behind = start if start > match.start() else match.end()  # what is no value may be the name of one
            if value[0] == value[-1] and value[0] in "\"'`":  # what holds the text stays, so that a file still parses
                start, end = start + 1, end - 1
            at = bisect_left(taken, (end, end))  # of those that begin before this one ends only the last can reach it
            if (at and taken[at - 1][1] > start) or (shape.valid is not None and not shape.valid(value)):
                continue
            if _GONE in value or (shape.unless and re.search(shape.unless, text[max(0, start - 32) : start])):
                continue
            behind = match.end()
            taken.insert(at, (start, end))
            found.append(Secret(shape.kind, start, end, fingerprint(value, guessable=shape.guessable)))
    return sorted(found, key=lambda secret: secret.start)


def _without(text: str, places: Sequence[int], spans: Sequence[tuple[int, int]]) -> tuple[str, list[int]]:
    """The text with one sign in place of each span, and where each of its signs stood."""
    parts: list[str] = []
    stood: list[int] = []
    last = 0
    for start, end in spans:
        parts += [text[last:start], _GONE]
        stood += [*places[last:start], places[start]]
        last = end
    return "".join((*parts, text[last:])), [*stood, *places[last:]]


def mask(text: str, *, personal: bool = False) -> str:
    """`text` with `[kind #fingerprint]` in place of each secret."""
    parts, last = [], 0
    for secret in find(text, personal=personal):
        parts += [text[last : secret.start], f"[{secret.kind} #{secret.fingerprint}]"]
        last = secret.end
    return "".join((*parts, text[last:]))


def mask_value(value: Any) -> Any:
    """The same of a JSON value: of each text in it, none cut, however deep."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {name: mask_value(part) for name, part in value.items()}
    return [mask_value(part) for part in value] if isinstance(value, list | tuple) else value


def is_masked(text: str) -> bool:
    """Whether `text` holds what `mask` puts in the place of a secret: the words themselves are not known any more."""
    return MASK.search(text) is not None


def mask_start(text: str) -> str:
    """As `mask`, of the beginning of a text that is cut anyway: a long message must not hold up a turn."""
    return mask(text[:START])


def fingerprint(value: str, *, guessable: bool) -> str:
    """How a secret is named in a report; the same value gives the same name, and the name does not give the value."""
    bare = re.sub(r"[\s\"'`-]", "", value)
    return hashlib.sha256(f"nanomem:{bare}".encode("utf-8", "surrogatepass")).hexdigest()[: 4 if guessable else 8]


def _visible(text: str) -> tuple[str, list[int] | None]:
    """The text as it is looked at: full-width letters made plain, invisible ones left out, one sign for each thing that
    was taken out, and where each stood.

    None for the places: nothing was changed.
    """
    shown, places = text, None
    if not text.isascii() and not (unicodedata.is_normalized("NFKC", text) and _INVISIBLE.search(text) is None):
        shown, places = _plain(text)
    spans = [found.span() for found in _TAKEN_OUT.finditer(shown)] if "[" in shown else []
    return _without(shown, places or range(len(shown)), spans) if spans else (shown, places)


def _plain(text: str) -> tuple[str, list[int]]:
    shown: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        plain = "" if _INVISIBLE.match(char) else unicodedata.normalize("NFKC", char)
        shown.append(plain)
        places.extend([place] * len(plain))
    return "".join(shown), places
