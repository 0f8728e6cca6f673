"""What a decision about findings comes to, before it is performed: changes, each thing once, and what has to stay.

Owns how many decisions become one operation. Must not decide whether one can be made, or perform it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.core.operations import Change
from nanomem_tui.core.text import counted
from nanomem_tui.curation.values import Decision, Finding, How

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

HELD = frozenset({"waiting", "edit"})
"""The kinds that are not remembered yet: to keep one is to accept it."""


class Plan:
    """What a decision about several findings comes to: changes, each thing once, and what has to stay."""

    def __init__(self, decision: Decision, how: How, *, several: bool) -> None:
        self.decision = decision
        self.several = several
        self.changes: list[Change] = []
        self.of_held: list[Change] = []
        self.done: list[Finding] = []
        self.left: list[tuple[Finding, NanomemError]] = []
        self.meta: dict[str, Any] = {}
        self.kind = self.label = ""
        self._how = how
        self._touched: dict[tuple[str, str], Change] = {}
        self._held: dict[str, Finding] = {}

    def attempt(self, finding: Finding, plan: Callable[[], Sequence[Change]]) -> None:
        """Add what `plan` says of a finding, or leave the finding with the reason."""
        try:
            changes = plan()
            fresh = [change for change in changes if self._touched.get((change.layer, change.key)) != change]
            if any((change.layer, change.key) in self._touched for change in fresh):
                raise Refused("another of these touches the same thing", finding.id, "decide on it again")
        except NanomemError as error:
            self.left.append((finding, error))
            return
        if finding.kind in HELD and self.decision != "snooze":
            self._held[finding.ids[0]] = finding
            return
        self.done.append(finding)
        self.changes += fresh
        self._touched |= {(change.layer, change.key): change for change in fresh}

    def held(self, ws: Workspace) -> None:
        """Add what is held back: accepted or rejected, all together."""
        if not self._held:
            return
        verb = "reject" if self.decision == "reject" else "accept"
        try:
            planned = ws.waits.planned(verb, list(self._held), self._how.text)
        except NanomemError as error:
            self.left += [(one, error) for one in self._held.values()]
            return
        self.of_held, self.meta = planned.changes, planned.meta
        self.left += [(self._held[row.id], error) for row, error in planned.left]
        self.done += [self._held[row.id] for row in planned.rows]
        alone = len(planned.plans) == 1
        self.kind = planned.plans[0].kind if alone else f"inbox.{verb}"
        self.label = planned.plans[0].label if alone else f"{verb} {counted(len(planned.rows), 'thing')} of the inbox"
