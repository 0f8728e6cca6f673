"""What recall never gave, though it had time and cause: nobody asks about what is new, or where recall is not used.

Small talk need not wait as long. What a person asked to remember waits longest. Must not ask about what is pinned, a
fact with a key, or what matters when it is needed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from nanomem_tui.core import clock
from nanomem_tui.core.text import counted
from nanomem_tui.curation.finders import use
from nanomem_tui.curation.finders.chatter import is_chatter
from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import ASKED_FOR, Rows
from nanomem_tui.curation.values import Decision, Evidence, Finding
from nanomem_tui.memory import lessons as memory_lessons
from nanomem_tui.store.values import Item, Lesson

CHATTER_DAYS, TAKEN_DAYS, ASKED_DAYS, LESSON_DAYS = 3, 21, 120, 60
"""Days until somebody is asked: about small talk, what was taken from talk, what a person asked for, a lesson."""
MATTERS = 0.9
"""Importance from which disuse says nothing."""
GO: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")
MAYBE: tuple[Decision, ...] = ("disable", "keep", "delete", "edit")


class NeverRecalled:
    """Finds items that recall never gave, and lessons that never applied."""

    kinds = ("unused",)

    def __init__(self, rows: Rows, asked_already: Callable[[], frozenset[str]]) -> None:
        self._rows = rows
        self._asked_already = asked_already

    def find(self) -> Iterable[Finding]:
        """All of them, small talk first."""
        return sorted((*self._items(), *self._lessons()), key=lambda one: -one.weight)

    def _items(self) -> Iterator[Finding]:
        items = self._rows.items()
        time = self._rows.time()
        asked: frozenset[str] | None = None
        today = clock.iso(clock.now())[:10]
        youngest, taken, told = (time.limit(days) for days in (CHATTER_DAYS, TAKEN_DAYS, ASKED_DAYS))
        for row in items:
            if row.hits > 1 or row.last_accessed_at or row.pinned or row.updated_at >= youngest:
                continue
            old = use.last_use(row) < (told if row.source in ASKED_FOR else taken)
            chatter = row.source not in ASKED_FOR and is_chatter(row.text)
            if not (chatter or (old and self._is_idle(row, time, today))):
                continue
            asked = self._asked_already() if asked is None else asked
            if row.id not in asked:
                yield self._finding(row, time, chatter=chatter)

    def _is_idle(self, row: Item, time: use.Clock, today: str) -> bool:
        """Whether it was passed over again and again, and is nothing that matters once."""
        if use.is_fact(row) or time.recalled_since(row.created_at) < use.ENOUGH:
            return False
        if row.importance >= MATTERS or self._rows.lasts(row):
            return False
        return not use.is_ahead(row.text, today)

    def _finding(self, row: Item, time: use.Clock, *, chatter: bool) -> Finding:
        age = clock.age_text(clock.parse(row.created_at))
        if chatter:
            return self._rows.finding("unused", row, f"small talk, never recalled in {age}", GO, 0.9)
        others = counted(time.recalled_since(row.created_at), "other item")
        why = f"never recalled in {age}, while {others} {'was' if others.startswith('1 ') else 'were'}"
        asked = row.source in ASKED_FOR
        return self._rows.finding("unused", row, why, MAYBE if asked else GO, 0.3 if asked else 0.6)

    def _lessons(self) -> Iterator[Finding]:
        lessons = self._rows.lessons()
        applied = sum(1 for row in lessons if row.last_applied_at)
        limit = self._rows.time().limit(LESSON_DAYS)
        for row in lessons if applied >= use.ENOUGH else ():
            if memory_lessons.is_weak(row, self._rows.ws.settings, clock.now()):
                continue  # it is not given any more: that it never applied is no news
            if not row.last_applied_at and row.hits <= 1 and row.updated_at < limit and row.source not in ASKED_FOR:
                yield self._of_lesson(row)

    def _of_lesson(self, row: Lesson) -> Finding:
        age = clock.age_text(clock.parse(row.created_at))
        return self._rows.finding("unused", row, f"it never applied in {age}", MAYBE, 0.3)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who said it where and when."""
        row = self._rows.row(finding)
        return () if row is None else said(self._rows, row)
