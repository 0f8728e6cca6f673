"""What a text shows beside its words: that it asks, that it tells a time; and what a question waits for: a time, a day.

Small general tables of English and Chinese, written by hand (`packs/questions.toml`). Pure functions over text; knows
no index and no weight.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import pack_files

QUESTION, TIME, TIMES = 1, 2, 4
"""The bits of a shape: the text ends as a question, tells a time, tells more than one."""

SHAPES = 8
"""How many shapes there are."""

LONGEST_GREETING = 80
"""Characters of a message that may be a greeting or a sum alone."""

_pattern = pack_files.patterns("questions")


class Waits(NamedTuple):
    """What a question waits for: that the answer tells a time; and the days that it is about."""

    time: bool
    months: frozenset[int]
    days: frozenset[int]
    years: frozenset[int]

    def fits(self, day: date) -> float:
        """How well a day fits those of the question: 0 not, 1 the month, 2 the day of the month too."""
        if day.month not in self.months or (self.years and day.year not in self.years):
            return 0.0
        return 2.0 if day.day in self.days else 1.0


def shape(text: str) -> int:
    """The shape of a text, as bits."""
    found = 0
    if "?" in text or "？" in text:
        attachment = _pattern("attachment").search(text)
        plain = text[: attachment.start()] if attachment else text
        found = QUESTION if plain.rstrip().endswith(("?", "？")) else 0
    time_words = pack_files.words("questions", "time_words")
    times = sum(1 for word in _pattern("word").findall(text.lower()) if word in time_words)
    if not text.isascii():
        times += len(_pattern("chinese_time").findall(text))
    return found | (TIMES if times > 1 else TIME if times else 0)


def waits_for(question: str) -> Waits:
    """What a question waits for."""
    text = question.lower()
    asks_time = _pattern("asks_time").search(text) is not None
    months = _months(text)
    named = _pattern("chinese_month").findall(text) if "月" in text else []
    months |= {int(month) for month, _ in named}
    if not months:
        return Waits(asks_time, frozenset(), frozenset(), frozenset())
    years = {int(one or other) for one, other in _pattern("year").findall(text)}
    days = {int(day) for _, day in named if day} or set(map(int, _pattern("day").findall(text)))
    return Waits(asks_time, frozenset(months), frozenset(days), frozenset(years))


_LIKE_A_MONTH = re.compile(r"\b(?:(?:jan|feb|sep|oct|nov|dec)[a-z]{3,7}|[a-z]{3,7}(?:ary|ber))\b")
_SHORT = 6
"""The letters of the longest of the short names of months."""


@lru_cache(1)
def _month_numbers() -> dict[str, int]:
    names = pack_files.meanings("dates", "months").items()
    return {name: int(number) for month, number in names for name in (month, month[:3])}


def _months(text: str) -> set[int]:
    """The English months of a text; `may` and `march` are months behind a preposition or beside a number."""
    found = set()
    for word in _pattern("month").finditer(text) if any(name in text for name in _month_numbers()) else ():
        number = _month_numbers().get(word[0])
        is_month = (
            word[0] not in pack_files.words("questions", "ambiguous")
            or _pattern("before_month").search(text, max(0, word.start() - 40), word.start())
            or _pattern("behind_month").match(text, word.end())
        )
        if number is not None and is_month:
            found.add(number)
    return found or {number for word in _LIKE_A_MONTH.findall(text) for number in _month_meant(word)}


def _month_meant(word: str) -> list[int]:
    """The month that a word is with one slip in it; none for the short names, to which other words are near.

    >>> _month_meant("novemqber"), _month_meant("embers")
    ([11], [])
    """
    from rapidfuzz.distance import OSA  # loaded only where a word is like a month

    months = _month_numbers().items()
    return [n for name, n in months if len(name) > _SHORT and OSA.distance(word, name, score_cutoff=1) == 1]


def asked_speaker(query: str) -> str:
    """Whose words a question asks for, as a role; empty when it does not tell. What one asks of oneself one told."""
    by_user, by_assistant = _pattern("by_user").search(query), _pattern("by_assistant").search(query)
    if by_user and by_assistant:
        return ""
    if by_assistant:
        return "assistant"
    return "user" if by_user or is_of_oneself(query) else ""


def needs_no_memory(text: str) -> bool:
    """Whether a message greets, thanks or takes leave, or is a sum, and says nothing else.

    >>> needs_no_memory("Good morning!"), needs_no_memory("good morning, what is on today?")
    (True, False)
    """
    return len(text) <= LONGEST_GREETING and _pattern("needs_none").fullmatch(text) is not None


def called(text: str) -> list[str]:
    """The names by which a text addresses somebody, as they are written: `Ana` of "Thanks, Ana!"."""
    return [name for one in _pattern("called").finditer(text) for name in one.groups() if name]


def introduced(text: str) -> list[str]:
    """The names that a speaker says are their own: `Ana` of "my name is Ana"."""
    return _pattern("introduced").findall(text)


def is_of_people(text: str) -> bool:
    """Whether a text speaks of who wrote it, or of somebody whom it does not name: `my`, `she`."""
    return is_of_oneself(text) or _pattern("of_others").search(text) is not None


def is_of_oneself(text: str) -> bool:
    """Whether a text speaks of who wrote it: `I`, `my`, `our`."""
    return _pattern("of_oneself").search(text) is not None
