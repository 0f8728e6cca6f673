"""What was held back, as findings: items and lessons that wait, and edits of Dreams.

To keep one is to accept it. Must not judge a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from nanomem_tui.review.findings import Decision, Evidence, Finding

if TYPE_CHECKING:
    from nanomem_tui.memory.inbox import Waiting
    from nanomem_tui.review.waiting import WaitingEdit, Waits
    from nanomem_tui.store.values import Row


OFFERS: tuple[Decision, ...] = ("keep", "reject", "edit", "snooze")
WITHOUT_WORDS: tuple[Decision, ...] = ("keep", "reject", "snooze")


class HeldBack:
    """Finds what waits in the inbox and among the edits of Dreams."""

    kinds = ("waiting", "edit")

    def __init__(self, waits: Waits) -> None:
        self._waits = waits

    def find(self) -> Iterable[Finding]:
        """All that waits, the newest first."""
        return [finding_of(one) for one in self._waits.list()]

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who said it where; of an edit the lines that go and come, and the entries that ask for it."""
        one = self._waits.get(finding.ids[0])
        if finding.kind != "edit":
            return _of_row(cast("Waiting", one))
        edit = cast("WaitingEdit", one)
        lines = [Evidence(label, text, origin=edit.place) for label, text in _lines(edit) if text]
        asking = [
            Evidence(f"entry #{entry.cursor}", entry.text, entry.timestamp or "", entry.session_key or "")
            for entry in self._waits.evidence(edit)
        ]
        return [*lines, *asking]


def finding_of(one: Waiting | WaitingEdit) -> Finding:
    """What waits as a finding: `waiting:` or `edit:`, and its id."""
    from nanomem_tui.memory.retention import target_of
    from nanomem_tui.review.waiting import EDIT

    if one.layer == EDIT:
        edit = cast("WaitingEdit", one)
        offers = OFFERS if edit.hunk.edit.new else WITHOUT_WORDS
        ids: tuple[str, ...] = (one.id,)
        source, scope = f"dream ({edit.hunk.dreamer})", edit.hunk.edit.file
    else:
        row = cast("Waiting", one).row
        target = target_of(row)
        offers = WITHOUT_WORDS if target else OFFERS
        ids = (one.id, target) if target else (one.id,)
        source, scope = row.source, _scope(row)
    kind = "edit" if one.layer == EDIT else "waiting"
    print_ = hashlib.blake2b(f"{one.text}\n{one.why}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return Finding(
        f"{kind}:{one.id}", kind, one.layer, ids, one.text, one.why, one.since, 1.0, print_, offers, scope, source
    )


def _scope(row: Row) -> str:
    return str(getattr(row, "scope_key", "") or getattr(row, "session_key", "") or "")


def _of_row(one: Waiting) -> Sequence[Evidence]:
    held = one.row.meta.get("inbox")
    said = str(held.get("evidence") or "") if isinstance(held, dict) else ""
    found = [Evidence("said there", said, one.since, one.origin)] if said else []
    return found or [Evidence("from", one.origin, one.since)]


def _lines(edit: WaitingEdit) -> Iterable[tuple[str, str]]:
    return ("the line that goes", edit.old), ("the line that comes", edit.new)
