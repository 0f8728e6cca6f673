"""Contradictions as findings, and what the decisions of the queue make of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.curation.conflicts import Contradiction, finding_of, scope_words
from nanomem_tui.curation.values import Decision, Evidence, Finding, How
from nanomem_tui.memory.superseded import text_of

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.curation.conflicts import Conflicts
    from nanomem_tui.store.values import Row


class ContradictsAnother:
    """Finds what cannot both be so."""

    kinds = ("conflict",)

    def __init__(self, conflicts: Conflicts) -> None:
        self._conflicts = conflicts

    def find(self) -> Iterable[Finding]:
        """A finding for each pair, the older proposed to give way."""
        return [finding_of(one) for one in self._conflicts.found()]

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """The newer, and the older with its date."""
        try:
            pair = self._conflicts.get(finding.id)
        except NanomemError:
            return ()
        return [_evidence("the newer", pair.newer), _evidence("the older, as shown", pair.older)]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """`merge`: the newer stands; `reject`: the older stands; `disable`: the older was never so; `split`: the older
        moves, and both stay."""
        if decision not in ("merge", "reject", "disable", "split"):
            return None
        pair: Contradiction = self._conflicts.get(finding.id)
        if decision == "split":
            return self._conflicts.split_changes(pair, how.scope or "")
        if how.into is not None and how.into not in pair.ids:
            raise BadInput("that is none of the two", how.into, f"one of {', '.join(pair.ids)}")
        older_stays = decision == "reject" or how.into == pair.older.id
        why = "outdated" if decision == "merge" and not older_stays else "wrong"
        return self._conflicts.changes([pair], "newer" if older_stays else "older", why)  # type: ignore[arg-type]


def _evidence(label: str, row: Row) -> Evidence:
    from nanomem_tui.memory.inbox import origin

    told = ", ".join(filter(None, (scope_words(row), origin(row), row.source, f"{row.hits:,} hits")))
    return Evidence(label, text_of(row), row.updated_at, told, row.id)
