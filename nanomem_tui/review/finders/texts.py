"""A relative date whose day is over: `tomorrow` of three weeks ago tells the model a wrong day.

What spoke of a time to come is over and may go; what still holds keeps its words, with the dates that they meant. Must
not read a date itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from nanomem_tui.core import clock
from nanomem_tui.language import dates
from nanomem_tui.memory.safety import LONGEST
from nanomem_tui.review.finders.rows import Rows
from nanomem_tui.review.finders.sources import said
from nanomem_tui.review.finders.sources import said as who_said
from nanomem_tui.review.findings import Decision, Evidence, Finding, How
from nanomem_tui.store.values import Item, Row

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change


GRACE = timedelta(days=1)
"""How long over a day has to be: nobody is asked at midnight."""
RULES = frozenset(("decision",))
"""Kinds in which `on Friday` is every Friday. A preference holds whenever it is asked for: its `today` is that day."""
GO: tuple[Decision, ...] = ("delete", "edit", "keep", "disable")
STAY: tuple[Decision, ...] = ("edit", "delete", "keep", "disable")


class DateHasPassed:
    """Finds items with relative dates that no longer read right; to edit one without giving words writes the dates."""

    kinds = ("dated",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._looked = -1
        self._seen: dict[str, Item] = {}
        self._told: dict[str, tuple[dates.Told, ...]] = {}

    def find(self) -> Iterable[Finding]:
        """All of them."""
        counter, found = self._rows.counter, list(self._found())
        self._looked = counter
        return found

    def ids(self) -> frozenset[str]:
        """The items with a relative date: they are asked about here once it is over, and nowhere else before."""
        if self._looked != self._rows.counter:
            self.find()
        return frozenset(self._told)

    def _found(self) -> Iterator[Finding]:
        today = _today()
        for row in self._rows.unpinned():
            if passed := self._passed(row, today):
                last = max(passed, key=lambda one: one.until)
                gone = all(one.ahead and not one.lasting for one in passed)
                why = f"“{last.words}” was said on {_said(row)}" + (f", and meant {last.until}" if gone else "")
                days = (today - last.until).days
                weight = min(0.9, 0.6 + days / 100)
                yield self._rows.finding("dated", row, why, GO if gone else STAY, weight, _said(row))

    def _passed(self, row: Item, today: date) -> Sequence[dates.Told]:
        """The relative dates of an item, where the last of them is over."""
        found = self._of(row)
        if not found or max(one.until for one in found) + GRACE >= today:
            return ()
        return found

    def _of(self, row: Item) -> tuple[dates.Told, ...]:
        seen = self._seen.get(row.id)
        if seen is not row and (seen is None or _judged_on(seen) != _judged_on(row)):
            moment = max(row.created_at, row.updated_at)
            may_tell = row.kind != "preference" and dates.may_tell(row.text)
            day = _day(moment[:19]) if may_tell else None
            found = dates.told(row.text, day, of_rule=row.kind in RULES) if day else ()
            if found:
                self._told[row.id] = found
            else:
                self._told.pop(row.id, None)
        if seen is not row:
            self._seen[row.id] = row
        return self._told.get(row.id, ())

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """What each date meant, the words with their dates, and who said them when."""
        row = self._rows.row(finding)
        if not isinstance(row, Item):
            return ()
        meant = [
            Evidence(f"“{one.words}”", f"{'until' if one.ahead else 'read right until'} {one.until}")
            for one in self._of(row)
        ]
        words = absolute(row)
        with_dates = [Evidence("with its dates", words)] if words != row.text else []
        return [*meant, *with_dates, *who_said(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """To edit without words writes the dates in place of the relative ones; all else is as usual."""
        row = self._rows.row(finding)
        if decision != "edit" or how.text or not isinstance(row, Item):
            return None
        from nanomem_tui.store import values
        from nanomem_tui.store.snapshot import change_of

        words = absolute(row)
        if words == row.text:
            return None
        after = row._replace(text=words, updated_at=clock.iso(clock.now()))
        return [change_of("item", row, values.with_value(after))]


def _judged_on(row: Item) -> tuple[str, str, str]:
    return row.text, max(row.created_at, row.updated_at), row.kind


def absolute(row: Item) -> str:
    """The words of an item with dates in place of the relative ones, as far as each is sure."""
    from nanomem_tui.memory.recall import times

    return dates.absolute(row.text, times.day_said(row))


def _said(row: Item) -> str:
    day = _day(max(row.created_at, row.updated_at)[:19])
    return day.isoformat() if day else ""


@lru_cache(4096)
def _day(moment: str) -> date | None:
    """The day of a UTC time as people there call it."""
    try:
        return datetime.fromisoformat(f"{moment}+00:00").astimezone().date()
    except ValueError:
        parsed = clock.parse(moment)
        return parsed.astimezone().date() if parsed else None


def _today() -> date:
    return clock.now().astimezone().date()


# -- What is longer than recall can give: it never reaches the model, or pushes all else out --------------------------

MUCH = 0.4
"""Share of the budget from which one memory pushes out too many others."""
WIDEST = 8
"""Characters that one hidden character takes at most when it is made visible."""
OFFERS: tuple[Decision, ...] = ("edit", "delete", "disable", "keep")
PASTED: tuple[Decision, ...] = ("delete", "edit", "disable", "keep")


class TooLong:
    """Finds items and lessons that take most of what recall may give, or more than all."""

    kinds = ("long",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """All of them."""
        return list(self._found())

    def _found(self) -> Iterator[Finding]:
        from nanomem_tui.memory.turns.prompt import SHARES, item_line, lesson_line

        budget = self._rows.ws.settings.recall_max_prompt_chars
        least = max(LONGEST, int(budget * MUCH / WIDEST))
        for row in self._rows.unpinned():
            if len(row.text) > least:
                yield from self._judged(row, len(item_line(row)) + 1, budget)
        share = int(self._rows.ws.settings.recall_context_chars * SHARES["lessons"])
        for lesson in self._rows.lessons():
            if len(lesson.trigger) + len(lesson.better_action) + len(lesson.bad_action) > LONGEST:
                yield from self._judged(lesson, len(lesson_line(lesson)) + 1, share)

    def _judged(self, row: Row, takes: int, budget: int) -> Iterator[Finding]:
        """`takes` and `budget`: characters."""
        if takes <= LONGEST or takes <= budget * MUCH:
            return
        if takes > budget:
            why = f"it takes {takes:,} characters, recall gives {budget:,} at most: the model never sees it"
        else:
            why = f"it alone takes {takes / budget:.0%} of what recall gives ({takes:,} of {budget:,} characters)"
        offers = PASTED if _is_pasted(row) else OFFERS
        yield self._rows.finding("long", row, why, offers, 0.9 if takes > budget else 0.5)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who said it, where and when."""
        row = self._rows.row(finding)
        return () if row is None else said(self._rows, row)


def _is_pasted(row: Row) -> bool:
    """Whether it is code or the output of a program: nobody will put that in words."""
    from nanomem_tui.memory import safety
    from nanomem_tui.review.finders.rows import words

    return any(found.kind in ("code", "command", "recalled") for found in safety.check(words(row)))
