"""What is longer than recall can give: it never reaches the model, or pushes all else out.

Must not know how recall ranks; the budget is that of the settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import Rows
from nanomem_tui.curation.values import Decision, Evidence, Finding
from nanomem_tui.memory.safety import LONGEST
from nanomem_tui.store.values import Row

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
    from nanomem_tui.curation.finders.rows import words
    from nanomem_tui.memory import safety

    return any(found.kind in ("code", "command", "recalled") for found in safety.check(words(row)))
