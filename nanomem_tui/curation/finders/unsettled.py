"""What two wrote at the same time without knowing of each other: which of the two stands is for a person to say.

Must not decide which was first; what is noted at the row is all that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.operations import Change
from nanomem_tui.curation.decisions import planned
from nanomem_tui.curation.finders.rows import Rows
from nanomem_tui.curation.values import Decision, Evidence, Finding, How
from nanomem_tui.language import secrets
from nanomem_tui.memory import edits
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import AnyRow, Item, Lesson

OFFERS: tuple[Decision, ...] = ("keep", "reject", "edit")
OF_NOTES: tuple[Decision, ...] = ("keep", "reject")


class WrittenByTwo:
    """Finds items, lessons and notes that hold what somebody else made of them at the same time."""

    kinds = ("unsettled",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """All of them, also what is switched off."""
        return list(self._found())

    def _found(self) -> Iterator[Finding]:
        rows: Iterable[AnyRow] = chain(
            self._rows.items(), self._rows.lessons(), self._rows.switched_off(), self._rows.notes()
        )
        for row in rows:
            if noted := edits.others(row):
                offers = OFFERS if isinstance(row, Item | Lesson) else OF_NOTES
                yield self._rows.finding("unsettled", row, _why(noted), offers, 1.0, row.meta_json)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """The other one's words of each field."""
        row = self._rows.any_row(finding)
        noted = edits.others(row) if row is not None else {}
        return [
            Evidence("the other one", "deleted it")
            if name == edits.GONE
            else Evidence("the other one's words" if name == "text" else f"the other one's {name}", _shown(theirs))
            for name, theirs in noted.items()
        ]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """`keep`: what stands stays; `reject`: what the other one made of it; nothing is to be settled then."""
        row = self._rows.any_row(finding)
        if decision not in ("keep", "reject") or row is None:
            return None
        if decision == "keep":
            return [change_of(finding.layer, row, row._replace(meta_json=edits.settled(row)))]
        texts = {name: theirs for name, theirs in edits.others(row).items() if name != edits.GONE}
        if not texts:
            return [change_of(finding.layer, row, row._replace(is_deleted=True))]
        if isinstance(row, Item):
            return planned(self._rows.ws, lambda items, _: items.edit(row.id, **texts))
        if isinstance(row, Lesson):
            return planned(self._rows.ws, lambda _, lessons: lessons.edit(row.id, **texts))
        at = clock.iso(clock.now())
        after = row._replace(**texts, meta_json=edits.settled(row), updated_at=at)
        return [change_of(finding.layer, row, after)]


def _why(noted: dict[str, Any]) -> str:
    if noted.keys() == {edits.GONE}:
        return "another one deleted it, and neither knew of the other: keep lets it stay, reject deletes it"
    deleted = ", and deleted it" if edits.GONE in noted else ""
    return f"another one wrote other words{deleted}: keep lets these stand, reject takes the others"


def _shown(theirs: object) -> str:
    return secrets.mask(str(theirs))
