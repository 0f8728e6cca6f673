"""How much a memory is used, by the memory's own time: a month in which nobody talked makes nothing stale.

Owns what counts as use, time that passed, and as words that no disuse makes worthless. Pure functions over rows.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise

from nanomem_tui.core import clock
from nanomem_tui.store.values import Item, Lesson

ENOUGH = 5
"""Items recalled since: before that nobody knows what recall would have found."""
_IDLE = 7.0
"""Days that count as passed after the last sign of life."""
_ORIGIN = datetime(1, 1, 1, tzinfo=UTC)


class Clock:
    """The time by which an item is old: it stands still a week after each sign of life, until the next one."""

    def __init__(self, days: Iterable[str], recalled: Sequence[str], counted: int) -> None:
        """`days`: those on which anything happened (YYYY-MM-DD); `recalled`: when items were recalled, in order;
        `counted`: how many items were, where nobody wrote down when."""
        self._recalled, self._counted = recalled, counted
        self._now = _number(clock.now())
        moments = sorted(
            {day.toordinal() for day in map(_date, days) if day is not None and day.toordinal() < self._now}
        )
        self._days: list[float] = [float(day) for day in moments] or [self._now]
        gaps = (min(_IDLE, later - earlier) for earlier, later in pairwise(self._days))
        self._passed = list(accumulate(gaps, initial=0.0))
        self._total = self._passed[-1] + min(_IDLE, self._now - self._days[-1])
        self._limits: dict[int, str] = {}

    def limit(self, days: float) -> str:
        """The moment so many days ago (UTC ISO): what happened before it is older."""
        whole = round(days)
        if whole not in self._limits:
            then = self._total - whole
            place = max(0, bisect_right(self._passed, then) - 1)
            self._limits[whole] = clock.iso(_moment(self._days[place] + then - self._passed[place]))
        return self._limits[whole]

    def age(self, moment: datetime) -> timedelta:
        """How long ago something was."""
        number = _number(moment)
        place = bisect_right(self._days, number) - 1
        if place < 0:
            return timedelta(days=self._total + self._days[0] - number)
        return timedelta(days=self._total - self._passed[place] - min(_IDLE, number - self._days[place]))

    def recalled_since(self, moment: str) -> int:
        """How many items were recalled after that moment."""
        return len(self._recalled) - bisect_left(self._recalled, moment) if self._recalled else self._counted


def clock_of(items: Sequence[Item], lessons: Sequence[Lesson] = ()) -> Clock:
    """The time of these items and lessons."""
    recalled = sorted(row.last_accessed_at for row in items if row.last_accessed_at)
    days = {moment[:10] for moment in recalled}
    days.update(row.created_at[:10] for row in items)
    days.update(row.updated_at[:10] for row in items)
    days.update(max(row.updated_at, row.last_applied_at or "")[:10] for row in lessons)
    return Clock(days, recalled, 0 if recalled else sum(row.hits > 1 for row in items))


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _number(moment: datetime) -> float:
    """A moment in days."""
    return moment.toordinal() + (moment.hour * 3600 + moment.minute * 60 + moment.second) / 86400


def _moment(number: float) -> datetime:
    return _ORIGIN + timedelta(days=max(1.0, number) - 1)


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


def is_ahead(text: str, today: str) -> bool:
    """Whether a text names a day that is still to come (`today`: YYYY-MM-DD)."""
    return "20" in text and any(day > today for day in re.findall(r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)", text))
