"""What reads as an order to the model: it was taken for a memory, and would be put before the model again.

Must not know how an order looks. What a person accepted from the inbox was judged already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import ASKED_FOR, Rows, Verdicts, words
from nanomem_tui.curation.finders.sieve import HIDDEN, Sieve
from nanomem_tui.curation.values import Decision, Evidence, Finding
from nanomem_tui.language import injection
from nanomem_tui.store.values import AnyRow, Record

OFFERS: tuple[Decision, ...] = ("delete", "disable", "keep", "edit")
ASKED: tuple[Decision, ...] = ("disable", "delete", "keep", "edit")
"""Where a person asked to remember it: it may be a wish in strong words."""


OF_NOTE: tuple[Decision, ...] = ("delete", "keep")


class ReadsLikeOrder:
    """Finds items and lessons that read as orders to a model."""

    kinds = ("injection",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._sieve = Sieve()
        self._why: Verdicts[str] = Verdicts(self._reason)

    def _reason(self, text: str) -> str:
        may_hold = self._sieve.may_hold(text)
        return injection.reason(text, hidden=may_hold == HIDDEN) if may_hold else ""

    def find(self) -> Iterable[Finding]:
        """All of them, pinned ones too."""
        return list(self._found())

    def _found(self) -> Iterator[Finding]:
        rows: Sequence[AnyRow] = [*self._rows.items(), *self._rows.lessons(), *self._rows.notes()]
        self._why.forget(len(rows))
        for row in rows:
            if why := self._why.of(row.id, words(row)):
                asked = row.source in ASKED_FOR
                offers = OF_NOTE if isinstance(row, Record) else ASKED if asked else OFFERS
                yield self._rows.finding("injection", row, why, offers, 0.8 if asked else 1.0)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who said it, where and when: an order that came out of a page or a file is nobody's wish."""
        row = self._rows.any_row(finding)
        return () if row is None else said(self._rows, row)
