"""What tells one chat of another: items that name somebody of elsewhere, something private that every chat sees, items
that no chat sees.

Must not know what leaks (`memory.leaks` does). To move one without saying where takes it where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import BadInput, NothingToDo, Refused
from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import Rows, print_of
from nanomem_tui.curation.values import Decision, Evidence, Finding, How
from nanomem_tui.memory.scopes import of_item
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.curation.scopes import Scopes
    from nanomem_tui.memory.leaks import Leak

HOME: tuple[Decision, ...] = ("split", "keep", "disable", "edit", "delete")
NO_HOME: tuple[Decision, ...] = ("disable", "keep", "edit", "delete", "split")
"""Where nobody knows whose it is."""


class LeaksElsewhere:
    """Finds items that leak."""

    kinds = ("leak",)

    def __init__(self, rows: Rows, scopes: Scopes) -> None:
        self._rows = rows
        self._scopes = scopes

    def find(self) -> Iterable[Finding]:
        """All of them, also those that a person keeps."""
        return [self._finding(one) for one in self._scopes.found_leaks()]

    def _finding(self, leak: Leak) -> Finding:
        offers = HOME if leak.belongs else NO_HOME
        return self._rows.finding("leak", leak.item, leak.why, offers, leak.sure, *judged(leak))

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who sees it, where it would belong, and who said it."""
        leak = self._scopes.leak_of(finding.ids[0])
        row = self._rows.row(finding)
        if leak is None or not isinstance(row, Item):
            return ()
        told = [Evidence("who sees it", of_item(row).words)]
        if leak.belongs:
            told.append(Evidence("where it would belong", self._scopes.named(leak.belongs).words))
        return [*told, *said(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
        """A move, by default to where it belongs; where the same words are there already, one item is made of them."""
        if decision != "split":
            return None
        leak = self._scopes.leak_of(finding.ids[0])
        scope = how.scope or (leak.belongs if leak is not None else "")
        if not scope:
            raise BadInput("nobody knows where it belongs", finding.id, "say it: `nanomem triage split ID --scope S`")
        try:
            return self._scopes.changes([finding.ids[0]], self._scopes.named(scope))
        except NothingToDo as error:
            raise Refused(error.what, finding.id, error.fix) from error


def id_of(leak: Leak) -> str:
    """The id of the finding of a leak."""
    return f"leak:{leak.item.id}"


def printed(leak: Leak) -> str:
    """What changes when the leak is another one."""
    return print_of(leak.item.text, *judged(leak))


def judged(leak: Leak) -> tuple[str, ...]:
    """What a leak is judged on beside its words."""
    return leak.kind, leak.item.scope_key, leak.belongs
