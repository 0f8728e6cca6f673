"""What the finders of one workspace look at, and what they share: the rows that live, and their words without secrets.

Owns how a row becomes a finding. Must not judge a row; reads only.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Generic, TypeVar

from nanomem_tui.core import clock
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.language.topics import is_needed_once
from nanomem_tui.review.findings import Decision, Finding
from nanomem_tui.store.values import AnyRow, Item, Lesson, Record, Row, layer_of

if TYPE_CHECKING:
    from nanomem_tui.language.secrets import Secret
    from nanomem_tui.review.parts import ReviewedMemory
    from nanomem_tui.store.snapshot import Snapshot


# How much a memory is used, by the memory's own time: a month in which nobody talked makes nothing stale.

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


T = TypeVar("T")
NOTES = frozenset({"journal", "reflection"})
"""Kinds of records that say something in words of their own."""
ASKED_FOR = frozenset({"explicit_user", "manual", "human", "user_feedback"})
"""Sources of what a person asked to remember; all else was taken from what was said."""


class Verdicts(Generic[T]):
    """What was judged of texts by the id of their row: a second look judges only texts that are new."""

    def __init__(self, judge: Callable[[str], T]) -> None:
        self._judge = judge
        self._seen: dict[str, str] = {}
        self._found: dict[str, T] = {}

    def of(self, key: str, text: str) -> T | None:
        """What was judged of this text; None where there is nothing to say of it."""
        seen = self._seen.get(key)
        if seen is not text and seen != text:
            found = self._judge(text)
            if found:
                self._found[key] = found
            else:
                self._found.pop(key, None)
            self._seen[key] = text
        return self._found.get(key)

    def forget(self, living: int) -> None:
        """Begin anew once most of what is known is of rows that are gone; `living`: how many there are."""
        if len(self._seen) > 2 * living + 1000:
            self._seen, self._found = {}, {}


class Rows:
    """The rows of one workspace that finders ask about."""

    def __init__(self, ws: ReviewedMemory) -> None:
        self.ws = ws
        self._secrets: Verdicts[list[Secret]] = Verdicts(_secrets)
        self._lasting: Verdicts[bool] = Verdicts(is_needed_once)
        self._time: tuple[tuple[int, str], Clock] | None = None
        self._items: tuple[int, list[Item]] = (-1, [])

    def items(self) -> Sequence[Item]:
        """The items that can be recalled; made once per change, and must not be altered."""
        snapshot, counter = self._snapshot()
        if self._items[0] != counter:
            with snapshot.lock:
                rows = [row for row in snapshot.items.values() if row.enabled and not row.is_deleted]
            self._secrets.forget(len(rows))
            self._lasting.forget(len(rows))
            self._items = counter, rows
        return self._items[1]

    def time(self) -> Clock:
        """The memory's own time; made once per change of a row, and anew each hour."""
        made = self.counter, clock.iso(clock.now())[:13]
        if self._time is None or self._time[0] != made:
            self._time = made, clock_of(self.items(), self.lessons())
        return self._time[1]

    def unpinned(self) -> Iterable[Item]:
        """Those that nobody pinned: what is pinned is there because a person wants it."""
        return (row for row in self.items() if not row.pinned)

    def lessons(self) -> Sequence[Lesson]:
        """The lessons that can be given."""
        snapshot, _ = self._snapshot()
        with snapshot.lock:
            return [row for row in snapshot.lessons.values() if row.enabled and not row.is_deleted]

    def switched_off(self) -> Sequence[Row]:
        """Items and lessons that are kept without use, and do not wait in the inbox."""
        snapshot, _ = self._snapshot()
        with snapshot.lock:
            rows: list[Row] = [*snapshot.items.values(), *snapshot.lessons.values()]
        return [row for row in rows if not row.enabled and not row.is_deleted and not row.waits]

    def notes(self) -> Sequence[Record]:
        """What was noted of days, and of tools that failed."""
        snapshot, _ = self._snapshot()
        with snapshot.lock:
            return [row for row in snapshot.records.values() if row.kind in NOTES and not row.is_deleted]

    def row(self, finding: Finding) -> Row | None:
        """The item or lesson that a finding is about; None when it is gone."""
        found = self.any_row(finding)
        return found if isinstance(found, Item | Lesson) else None

    def any_row(self, finding: Finding) -> AnyRow | None:
        """The row that a finding is about; None when it is gone."""
        snapshot, _ = self._snapshot()
        row: AnyRow | None = snapshot.table(finding.layer).get(finding.ids[0])
        return row if row is not None and not row.is_deleted else None

    def secrets(self, row: AnyRow) -> Sequence[Secret]:
        """The secrets in the words of a row."""
        return self._secrets.of(row.id, words(row)) or ()

    def shown(self, row: AnyRow) -> str:
        """The words of a row as a finding tells them: what is secret masked."""
        if not self.secrets(row):
            return told(row)
        from nanomem_tui.language import secrets

        return secrets.mask(told(row))

    def finding(
        self, kind: str, row: AnyRow, why: str, offers: Sequence[Decision], weight: float, *judged: object
    ) -> Finding:
        """A finding about one row; `judged`: what beside its words the finding was judged on."""
        scope = row.scope_key if isinstance(row, Item) else row.session_key or getattr(row, "scope", "")
        text = self.shown(row)
        return Finding(
            f"{kind}:{row.id}", kind, layer_of(row), (row.id,), text, why, row.created_at,
            weight, print_of(words(row), *judged), tuple(offers), scope, row.source,
        )  # fmt: skip

    def lasts(self, row: Item) -> bool:
        """Whether what it says matters when it is needed once (see `topics.is_needed_once`)."""
        return self._lasting.of(row.id, row.text) is not None

    @property
    def counter(self) -> int:
        """Grows with every change of a row."""
        return self._snapshot()[1]

    def _snapshot(self) -> tuple[Snapshot, int]:
        snapshot = self.ws.store.load()
        return snapshot, snapshot.counter


def words(row: AnyRow) -> str:
    """All that a row says."""
    return f"{row.trigger}\n{row.bad_action}\n{row.better_action}" if isinstance(row, Lesson) else row.text


def told(row: AnyRow) -> str:
    """A row on one line: of a lesson what triggers it, and what to do then."""
    return f"{row.trigger}: {row.better_action}" if isinstance(row, Lesson) else row.text


def _secrets(text: str) -> list[Secret]:
    if not secret_signs.may_hold(text):
        return []
    from nanomem_tui.language import secrets

    return secrets.find(text)


def print_of(*judged: object) -> str:
    """What changes when one of the things that were judged does."""
    body = "\n".join(map(str, judged))
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
