"""What was of use once, and has not been for long: by its kind, how often it was used, and when last.

The more an item was used the longer it may rest. Lessons fade by themselves; one that faded so far that it is never
given is stale. Must not ask about what is pinned, a fact with a key, or what matters when it is needed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from nanomem_tui.core import clock
from nanomem_tui.core.text import counted
from nanomem_tui.curation.finders import use
from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import ASKED_FOR, Rows
from nanomem_tui.curation.values import Decision, Evidence, Finding
from nanomem_tui.memory import lessons as memory_lessons
from nanomem_tui.store.values import Item

DAYS: Mapping[str, int] = {"episodic": 45, "decision": 120, "fact": 180, "preference": 270}
"""Days without use after which an item of a kind is stale, had it been used once."""
FADED_FOR = timedelta(days=30)
"""How long a lesson has to be too weak to be given."""
ASKED_TIMES = 1.5
"""What a person asked to remember may rest longer."""
OVER: tuple[Decision, ...] = ("delete", "disable", "keep", "edit")
MAYBE: tuple[Decision, ...] = ("disable", "keep", "delete", "edit")
FADED: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")


class Stale:
    """Finds items that were recalled once and not for long, and lessons that faded."""

    kinds = ("stale",)

    def __init__(self, rows: Rows, asked_already: Callable[[], frozenset[str]]) -> None:
        self._rows = rows
        self._asked_already = asked_already

    def find(self) -> Iterable[Finding]:
        """All of them."""
        return [*self._items(), *self._lessons()]

    def _items(self) -> Iterator[Finding]:
        items = self._rows.items()
        time = self._rows.time()
        asked: frozenset[str] | None = None
        youngest, today = time.limit(min(DAYS.values())), clock.iso(clock.now())[:10]
        for row in items:
            if row.pinned or (row.last_accessed_at or row.updated_at) >= youngest or not use.was_recalled(row):
                continue
            last = use.last_use(row)
            if (
                last >= time.limit(rest(row))
                or use.is_fact(row)
                or self._rows.lasts(row)
                or use.is_ahead(row.text, today)
            ):
                continue
            asked = self._asked_already() if asked is None else asked
            if row.id not in asked:
                yield self._finding(row, last)

    def _finding(self, row: Item, last: str) -> Finding:
        moment = clock.parse(last)
        ago = clock.age_text(moment)
        why = f"{row.kind}, of use {counted(row.hits, 'time')}, last {ago} ago"
        over = row.kind == "episodic"
        return self._rows.finding("stale", row, why, OVER if over else MAYBE, 0.7 if over else 0.4, row.hits)

    def _lessons(self) -> Iterator[Finding]:
        lessons, settings = self._rows.lessons(), self._rows.ws.settings
        time = self._rows.time()
        for lesson in lessons:
            last = clock.parse(max(lesson.last_applied_at or "", lesson.updated_at))
            if last is None or not memory_lessons.is_weak(lesson, settings, last + time.age(last) - FADED_FOR):
                continue
            why = f"it has faded and is not given any more, last confirmed {clock.age_text(last)} ago"
            offers = MAYBE if lesson.source in ASKED_FOR else FADED
            yield self._rows.finding("stale", lesson, why, offers, 0.5, lesson.hits)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who said it when, and when it was of use last."""
        row = self._rows.row(finding)
        return () if row is None else said(self._rows, row)


def rest(row: Item) -> float:
    """Days that an item may go without use: twice as long for one that was of use sixteen times."""
    days = DAYS.get(row.kind, DAYS["fact"]) * (1 + math.log2(max(1, row.hits)) / 4)
    return days * (ASKED_TIMES if row.source in ASKED_FOR else 1)
