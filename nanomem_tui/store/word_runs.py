"""Texts as runs of words: what search and gate of `forget` both take for the same, and where a text holds one.

Case, width, accents' form, invisible characters and whatever stands between words make no difference; a word is met as
a whole, in writings without spaces each character is one. A text that begins or ends with a sign (`C++`) is its words
and signs. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Writings that put no spaces between words."""
_MARKS = "\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufeff"
"""What is part of the word that it stands in: accents of their own, and what nobody sees."""
_ONE = f"[{UNSPACED}][\u3099\u309a]*"
"""A character of a writing without spaces, with the sound marks that may follow a kana."""
_PUNCTUATION = (
    "\\s.,;:!?\"'`()\\[\\]{}<>_*\u2026\u2010-\u2015\u2018-\u201f"
    "\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f\u00ab\u00bb\u00a1\u00bf-"
)
"""What may stand around the words of a sentence, and is no part of a name."""
TELLS = 8
"""Characters of the beginning of a text by which it is known where the rest was cut off."""
_LOOKED_BACK = 400
"""Characters before such a cut in which the beginning is looked for: labels and excerpts are shorter."""


@cache
def _word() -> re.Pattern[str]:
    """A word, or a character of a writing without spaces."""
    return re.compile(rf"{_ONE}|(?:[^\W_{UNSPACED}]|[{_MARKS}])+")


@cache
def _signed() -> re.Pattern[str]:
    """The same, and each sign."""
    return re.compile(rf"{_ONE}|(?:[^\W_{UNSPACED}]|[{_MARKS}])+|\S")


@cache
def _unseen() -> re.Pattern[str]:
    """What nobody sees."""
    return re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


@cache
def _edges() -> re.Pattern[str]:
    """What stands around the words of a text."""
    return re.compile(f"^[{_PUNCTUATION}]+|[{_PUNCTUATION}]+$")


@cache
def _cut() -> re.Pattern[str]:
    """Where a text was cut off."""
    return re.compile(r"\s*(?:…|\.\.\.)")


class Run(NamedTuple):
    """A text as it is compared. `signed`: signs count as words do."""

    signed: bool
    words: tuple[str, ...]


class Spans(NamedTuple):
    """A text as words, with the place of each in it."""

    words: list[str]
    places: list[tuple[int, int]]


def flat(text: str) -> str:
    """A text in one case, one width and without what nobody sees."""
    if text.isascii():
        return text.lower()
    return _unseen().sub("", unicodedata.normalize("NFKC", text).casefold())


def run_of(text: str) -> Run:
    """A text as it is looked for."""
    core = _edges().sub("", unicodedata.normalize("NFKC", text))
    if not core or not (_word().match(core[0]) and _word().match(core[-1])):
        return Run(True, tuple(_signed().findall(flat(core or text))))
    return Run(False, tuple(_word().findall(flat(core))))


def words_of(text: str, *, signed: bool = False) -> list[str]:
    """The words of a text, in their order."""
    return (_signed() if signed else _word()).findall(flat(text))


def spans(text: str, *, signed: bool = False) -> Spans:
    """The words of a text and where they stand in it."""
    pattern = _signed() if signed else _word()
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for found in pattern.finditer(text):
        word = found[0]
        if word.isascii():
            words.append(word.lower())
            places.append(found.span())
            continue
        for part in pattern.findall(flat(word)):  # in another width it may be several
            words.append(part)
            places.append(found.span())
    return Spans(words, places)


def apart(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in their order, those that overlap as one."""
    kept: list[tuple[int, int]] = []
    for begin, end in sorted(places):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end))
        elif end > kept[-1][1]:
            kept[-1] = (kept[-1][0], end)
    return kept


def with_mark(mark: str, text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with a mark in the places of it."""
    if not places:
        return text
    ends = [0, *(end for _, end in places)]
    parts = [text[after:begin] for after, (begin, _) in zip(ends, places, strict=False)]
    return mark.join([*parts, text[ends[-1] :]])


class Runs:
    """Many runs, looked for at once: the time does not grow with their number."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._by_first: dict[bool, dict[str, list[tuple[str, ...]]]] = {False: {}, True: {}}
        every = {run for run in runs if run.words}
        for run in sorted(every, key=lambda one: -len(one.words)):
            self._by_first[run.signed].setdefault(run.words[0], []).append(run.words)
        self._rare = [max(run.words, key=len) for run in every] if len(every) <= 64 else []
        self._any = bool(every)

    def __bool__(self) -> bool:
        return self._any

    def found_in(self, text: str) -> list[tuple[int, int]]:
        """Where a text holds one of them: places that do not overlap, in their order."""
        if not self._may_be_in(text):
            return []
        found = [place for signed, firsts in self._by_first.items() if firsts for place in _met(text, firsts, signed)]
        return apart(found)

    def cut_in(self, text: str) -> list[tuple[int, int]]:
        """Where the beginning of one of them stands before the dots by which a label or an excerpt was cut off."""
        firsts = self._by_first[False]
        if not firsts or ("…" not in text and "..." not in text):
            return []
        return [place for cut in _cut().finditer(text) if (place := _begun(text, cut, firsts)) is not None]

    def _may_be_in(self, text: str) -> bool:
        if not self._any:
            return False
        plain = flat(text)
        if self._rare:
            return any(word in plain for word in self._rare)
        return any(
            firsts and not firsts.keys().isdisjoint((_signed() if signed else _word()).findall(plain))
            for signed, firsts in self._by_first.items()
        )


def _met(text: str, firsts: dict[str, list[tuple[str, ...]]], signed: bool) -> Iterator[tuple[int, int]]:
    words, places = spans(text, signed=signed)
    for at, word in enumerate(words):
        for run in firsts.get(word, ()):
            end = at + len(run)
            if run[-1] == words[min(end, len(words)) - 1] and tuple(words[at:end]) == run:
                yield places[at][0], places[end - 1][1]
                break  # the longest of those that begin here


def _begun(text: str, cut: re.Match[str], firsts: dict[str, list[tuple[str, ...]]]) -> tuple[int, int] | None:
    start = max(0, cut.start() - _LOOKED_BACK)
    words, places = spans(text[start : cut.start()])
    if not words or start + places[-1][1] != cut.start():
        return None
    for at in range(len(words)):
        rest = words[at:]
        if len(" ".join(rest)) < TELLS:
            return None
        last = len(rest) - 1
        runs = firsts.get(rest[0], ()) if last else [run for one in firsts.values() for run in one]
        if any(
            len(run) > last and run[last].startswith(rest[last]) and list(run[:last]) == rest[:last] for run in runs
        ):
            return start + places[at][0], cut.end()
    return None


# -- texts that stand inside longer words: `kayak` in `kayaks`, a number behind its country code ----------------------


def parts_pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """What finds them in a text that is flat; None for no text."""
    runs = sorted({run_of(text) for text in texts}, key=lambda run: -len(run.words))
    every = [r"[\W_]*".join(map(re.escape, run.words)) for run in runs if run.words]
    return re.compile("|".join(every)) if every else None


def parts_found_in(text: str, parts: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The places of the words that hold one."""
    plain = flat(text)
    if not parts.search(plain):
        return
    places = range(len(text)) if len(plain) == len(text) else _places(text)
    if len(places) != len(plain):
        plain = "".join(map(flat, text))
    for found in parts.finditer(plain):
        begin, end = places[found.start()], places[found.end() - 1] + 1
        while begin and text[begin - 1].isalnum():
            begin -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        yield begin, end


def _places(text: str) -> list[int]:
    """Where each character of the flat text is from."""
    return [place for place, char in enumerate(text) for _ in flat(char)]
