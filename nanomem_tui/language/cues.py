"""What a text shows beside its words: that it asks, that it tells a time; and what a question waits for: a time, a day.

Small general tables of English and Chinese, written by hand. Pure functions over text; knows no index and no weight.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

QUESTION, TIME, TIMES = 1, 2, 4
"""The bits of a shape: the text ends as a question, tells a time, tells more than one."""

SHAPES = 8
"""How many shapes there are."""

MONTHS = tuple(
    "january february march april may june july august september october november december".split()
)  # fmt: skip
_MONTH_NUMBERS = {name: number for number, month in enumerate(MONTHS, 1) for name in (month, month[:3])}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_TIME_WORDS = frozenset(
    f"{_DAYS} {' '.join(MONTHS)} yesterday today tonight tomorrow week weeks weekend weekends month months year years "
    "day days ago last next recently soon just now earlier later since morning afternoon evening night summer winter "
    "spring fall autumn birthday few".split()
)
_CHINESE_TIME = re.compile(
    r"[昨今明前后]天|[上下这][个]?(?:周|月|星期|礼拜)|[去今明前]年|\d+\s*[年月日号点]|早上|晚上|上午|下午|刚才|最近"
)
_ATTACHMENT = re.compile(r"\s*\[[^\[\]]*\]\s*$")
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

_ASKS_TIME = re.compile(
    r"^\s*(?:when|how long|since when|what (?:date|day|month|year|time)|"
    r"(?:in |on |at |during )?which (?:date|day|month|year))\b|什么时候|何时|几点|几号|哪[一]?[年天日]|多久",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b|((?:19|20)\d\d)\s*年")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_NAMED_MONTH = re.compile(r"[a-z]+")
_CHINESE_MONTH = re.compile(r"(\d{1,2})\s*月(?:\s*(\d{1,2})\s*[日号])?")


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
        plain = _ATTACHMENT.sub("", text).rstrip()
        found = QUESTION if plain.endswith(("?", "？")) else 0
    words = _WORD.findall(text.lower())
    times = sum(1 for word in words if word in _TIME_WORDS)
    if not text.isascii():
        times += len(_CHINESE_TIME.findall(text))
    return found | (TIMES if times > 1 else TIME if times else 0)


def waits_for(question: str) -> Waits:
    """What a question waits for."""
    text = question.lower()
    months, days, years = _dates(text)
    return Waits(_ASKS_TIME.search(text) is not None, months, days, years)


def _dates(text: str) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    months = set()
    if any(letters in text for letters in _MONTH_STARTS):
        for found in _NAMED_MONTH.finditer(text):
            number = _MONTH_NUMBERS.get(found.group())
            if number is not None and _is_month(text, found.start(), found.end(), found.group()):
                months.add(number)
    named_days = set()
    if "月" in text:
        for month, day in _CHINESE_MONTH.findall(text):
            months.add(int(month))
            named_days |= {int(day)} if day else set()
    if not months:
        return frozenset(), frozenset(), frozenset()
    years = {int(one or other) for one, other in _YEAR.findall(text)}
    return frozenset(months), frozenset(named_days or map(int, _DAY.findall(text))), frozenset(years)


_MONTH_STARTS = tuple(month[:3] for month in MONTHS)
_BEFORE_MONTH = re.compile(
    r"(?:\bin|\bof|\bon|\bsince|\buntil|\bby|\bduring|\bearly|\blate|\bmid|\d|\dst|\dnd|\drd|\dth)\s*$"
)
_AFTER_MONTH = re.compile(r",?\s*\d")


def _is_month(text: str, start: int, end: int, word: str) -> bool:
    """Whether `may` and `march` are months here: behind a preposition or beside a number."""
    if word not in ("may", "march", "mar", "sep", "dec", "jan"):
        return True
    return _BEFORE_MONTH.search(text, 0, start) is not None or _AFTER_MONTH.match(text, end) is not None


_BY_USER = re.compile(
    r"\b(?:did|do|does|have|has|had|was|am) (?:i|we|the user)\b"
    r"|\b(?:i|we) (?:said|told|asked|mentioned|wrote|wanted|decided)\b"
    r"|我们?(?:之前|以前|上次|曾经?|当时)*(?:说|问|提|告诉|要求|决定)",
    re.IGNORECASE,
)
_BY_ASSISTANT = re.compile(
    r"\b(?:did|have|had) (?:you|the (?:assistant|agent|bot))\b"
    r"|\byou (?:said|told|suggested|recommended|answered|advised|wrote)\b"
    r"|你(?:之前|以前|上次|曾经?|当时)*(?:说|建议|推荐|告诉|回答)",
    re.IGNORECASE,
)


def asked_speaker(query: str) -> str:
    """Whose words a question asks for, as a role; empty when it does not tell."""
    by_user, by_assistant = _BY_USER.search(query), _BY_ASSISTANT.search(query)
    if bool(by_user) == bool(by_assistant):
        return ""
    return "user" if by_user else "assistant"
