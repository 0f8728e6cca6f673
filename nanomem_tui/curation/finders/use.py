"""How much a memory is used, by the memory's own time: a month in which nobody talked makes nothing stale.

Owns what counts as use, as time that passed, and as words that no disuse makes worthless. Pure functions over rows.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui import clock
from nanomem_tui.store.values import Item, Lesson

ENOUGH = 5
"""Items recalled since: before that nobody knows what recall would have found."""
_IDLE = timedelta(days=7)


class Clock(NamedTuple):
    """The time by which an item is old: `now` (UTC), at most a week after the last sign of life; when items were
    recalled, in order; how many were, where nobody wrote down when."""

    now: datetime
    recalled: tuple[str, ...]
    counted: int

    def limit(self, days: float) -> str:
        """The moment so many days ago (UTC ISO): what happened before it is older."""
        return _limit(self.now, round(days))

    def recalled_since(self, moment: str) -> int:
        """How many items were recalled after that moment."""
        return len(self.recalled) - bisect_left(self.recalled, moment) if self.recalled else self.counted


def clock_of(items: Sequence[Item], lessons: Sequence[Lesson] = ()) -> Clock:
    """The time of these items and lessons."""
    recalled = sorted(row.last_accessed_at for row in items if row.last_accessed_at)
    last_ones = [*recalled[-1:], *(max(row.updated_at, row.last_applied_at or "") for row in lessons)]
    newest = max([row.updated_at for row in items] + last_ones, default="")
    now, last = clock.now(), clock.parse(newest)
    counted = 0 if recalled else sum(row.hits > 1 for row in items)
    return Clock(min(now, last + _IDLE) if last is not None else now, tuple(recalled), counted)


def was_recalled(row: Item) -> bool:
    """Whether recall gave it; a capture begins with one hit, which is no recall."""
    return bool(row.last_accessed_at) or row.hits > 1


def last_use(row: Item) -> str:
    """The last sign of life: recalled, confirmed, edited, made (UTC ISO)."""
    return max(row.last_accessed_at or "", row.updated_at, row.created_at)


def is_fact(row: Item) -> bool:
    """Whether it is a fact with a key: these are looked up by key, and nobody counts that."""
    return '"fact"' in row.meta_json


def expires(row: Item) -> bool:
    """Whether its time ends by itself within the kind's usual time: the hygiene takes it away."""
    return row.kind == "episodic" and row.expires_at is not None


def lasts(text: str) -> bool:
    """Whether a text tells what stays true and matters when it is needed once: health, birth, family, emergencies."""
    return _lasting().search(text) is not None


def is_ahead(text: str, today: str) -> bool:
    """Whether a text names a day that is still to come (`today`: YYYY-MM-DD)."""
    return any(day > today for day in re.findall(r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)", text))


@lru_cache(256)
def _limit(now: datetime, days: int) -> str:
    return clock.iso(now - timedelta(days=days))


@lru_cache(1)
def _lasting() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:allerg\w*|anaphyla\w*|intoleran\w*|diabet\w*|asthma\w*|epilep\w*|celiac|coeliac|medication|penicillin|insulin|"
        r"blood (?:type|group)|pregnan\w*|birthdays?|born (?:on|in)|anniversary|passport|emergency|next of kin|"
        r"(?:is|are) (?:called|named)|(?:my|user'?s?|his|her) (?:full )?names?\b|pronouns?|"
        r"(?:wife|husband|partner|spouse|son|daughter|mother|father|sister|brother)\b|vegetarian|vegan|halal|kosher|"
        r"disabilit\w*|wheelchair|deaf|blind|backups?|disaster|restore procedure|recovery)\b|"
        r"过敏|忌口|不能吃|血型|糖尿病|哮喘|怀孕|生日|出生|纪念日|护照|紧急联系|名字叫|叫做|妻子|老婆|丈夫|老公|女儿|儿子|妈妈|母亲|"
        r"爸爸|父亲|姐姐|妹妹|哥哥|弟弟|素食|清真|アレルギー|誕生日|血液型|แพ้|วันเกิด",
        re.IGNORECASE,
    )
