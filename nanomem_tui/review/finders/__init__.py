"""Finders: who looks for what needs a person's decision, a class for each kind of finding.

Owns which finders there are, in the order of `findings.KINDS`. Must not decide anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from nanomem_tui.review.parts import ReviewedMemory

if TYPE_CHECKING:
    from nanomem_tui.review.conflicts import Conflicts
    from nanomem_tui.review.duplicates import Duplicates
    from nanomem_tui.review.findings import Finder
    from nanomem_tui.review.leaks import Scopes
    from nanomem_tui.review.quarantine import Quarantine


class FoundMemory(ReviewedMemory, Protocol):
    """One agent's memory with the parts that findings come from."""

    @property
    def quarantine(self) -> Quarantine:
        """What is quarantined."""

    @property
    def scopes(self) -> Scopes:
        """Who sees what, and what leaks."""

    @property
    def conflicts(self) -> Conflicts:
        """Memories that contradict each other."""

    @property
    def duplicates(self) -> Duplicates:
        """Items that say what another one says."""


def finders(ws: FoundMemory) -> Sequence[Finder]:
    """Return the finders of one workspace, each new; what they need of it they read when they are asked to find."""
    from nanomem_tui.review.finders.held import ContradictsAnother, Quarantined, SaysTheSame, WrittenByTwo
    from nanomem_tui.review.finders.rows import FromGoneSession, LeaksElsewhere, Rows
    from nanomem_tui.review.finders.stale import NeverRecalled, Stale
    from nanomem_tui.review.finders.texts import DateHasPassed, HoldsSecret, ReadsLikeOrder, Restated, TooLong

    rows = Rows(ws)
    restated, dated = Restated(rows), DateHasPassed(rows)

    def asked_already() -> frozenset[str]:
        return restated.ids() | dated.ids()

    return [
        Quarantined(ws.quarantine),
        HoldsSecret(rows),
        ReadsLikeOrder(rows),
        LeaksElsewhere(rows, ws.scopes),
        WrittenByTwo(rows),
        ContradictsAnother(ws.conflicts),
        SaysTheSame(ws.duplicates),
        restated,
        dated,
        Stale(rows, asked_already),
        NeverRecalled(rows, asked_already),
        TooLong(rows),
        FromGoneSession(rows),
    ]
