"""Findings that other parts know: quarantined, duplicates, conflicts, changed by two at the same time.

A decision on a conflict or on what two changed is made here (`changes`); one on a duplicate by `review.inbox`, one on
what is quarantined by `review.quarantine`. Must not judge a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.operations import Change
from nanomem_tui.language import secrets
from nanomem_tui.memory import edit_conflicts
from nanomem_tui.memory.retention import row_text
from nanomem_tui.review.conflicts import Contradiction, scope_words
from nanomem_tui.review.conflicts import finding_of as conflicts_finding_of
from nanomem_tui.review.duplicates import Cluster
from nanomem_tui.review.duplicates import finding_of as duplicates_finding_of
from nanomem_tui.review.finders.rows import RowFinder
from nanomem_tui.review.findings import Decision, DecisionDetails, Evidence, Finding, fingerprint
from nanomem_tui.review.inbox import plan_changes
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import AnyRow, Item, Lesson

if TYPE_CHECKING:
    from nanomem_tui.memory.quarantined_rows import Waiting
    from nanomem_tui.review.conflicts import Conflicts
    from nanomem_tui.review.duplicates import Duplicates
    from nanomem_tui.review.quarantine import Quarantine, WaitingEdit
    from nanomem_tui.store.values import Row


OFFERS: tuple[Decision, ...] = ("keep", "reject", "edit", "snooze")
WITHOUT_WORDS: tuple[Decision, ...] = ("keep", "reject", "snooze")


class Quarantined:
    """Finds what is quarantined: items, lessons and edits of Dreams."""

    kinds = ("waiting", "edit")

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine

    def find(self) -> Iterable[Finding]:
        """Return all that waits, the newest first."""
        return [finding_of(one) for one in self._quarantine.list()]

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return who said it where; of an edit the lines that go and come, and the entries that ask for it."""
        one = self._quarantine.get(finding.ids[0])
        if finding.kind != "edit":
            return _of_row(cast("Waiting", one))
        edit = cast("WaitingEdit", one)
        told = ("the line that goes", edit.old), ("the line that comes", edit.new)
        lines = [Evidence(label, text, origin=edit.where) for label, text in told if text]
        asking = [
            Evidence(f"entry #{entry.cursor}", entry.text, entry.timestamp or "", entry.session_key or "")
            for entry in self._quarantine.evidence(edit)
        ]
        return [*lines, *asking]


def finding_of(one: Waiting | WaitingEdit) -> Finding:
    """Return what waits as a finding: `waiting:` or `edit:`, and its id."""
    from nanomem_tui.memory.retention import forget_target
    from nanomem_tui.review.quarantine import EDIT

    if one.layer == EDIT:
        edit = cast("WaitingEdit", one)
        offers = OFFERS if edit.hunk.edit.new else WITHOUT_WORDS
        ids: tuple[str, ...] = (one.id,)
        source, scope = f"dream ({edit.hunk.dreamer})", edit.hunk.edit.file
    else:
        row = cast("Waiting", one).row
        target = forget_target(row)
        offers = WITHOUT_WORDS if target else OFFERS
        ids = (one.id, target) if target else (one.id,)
        source, scope = row.source, str(getattr(row, "scope_key", "") or getattr(row, "session_key", "") or "")
    kind = "edit" if one.layer == EDIT else "waiting"
    print_ = fingerprint(one.text, one.why)
    return Finding(
        f"{kind}:{one.id}", kind, one.layer, ids, one.text, one.why, one.since, 1.0, print_, offers, scope, source
    )


def _of_row(one: Waiting) -> Sequence[Evidence]:
    held = one.row.meta.get("inbox")
    said = str(held.get("evidence") or "") if isinstance(held, dict) else ""
    found = [Evidence("said there", said, one.since, one.origin)] if said else []
    return found or [Evidence("from", one.origin, one.since)]


# -- Contradictions as findings, and what the decisions of the queue make of them -------------------------------------


class ContradictsAnother:
    """Finds what cannot both be so."""

    kinds = ("conflict",)

    def __init__(self, conflicts: Conflicts) -> None:
        self._conflicts = conflicts

    def find(self) -> Iterable[Finding]:
        """A finding for each pair, the older proposed to give way."""
        return [conflicts_finding_of(one) for one in self._conflicts.found()]

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return the newer, and the older with its date."""
        try:
            pair = self._conflicts.get(finding.id)
        except NanomemError:
            return ()
        return [_evidence("the newer", pair.newer), _evidence("the older, as shown", pair.older)]

    def changes(self, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change] | None:
        """`merge`: keep the newer; `reject`: keep the older; `disable`: the older was wrong; `split`: it moves."""
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
    from nanomem_tui.memory.quarantined_rows import describe_origin

    told = ", ".join(filter(None, (scope_words(row), describe_origin(row), row.source, f"{row.hits:,} hits")))
    return Evidence(label, row_text(row), row.updated_at, told, row.id)


# -- Duplicates as findings. What is sure comes first; the rest a person has to look at -------------------------------

SHOWN = 12
"""Members of a cluster that stand beside a finding."""


class SaysTheSame:
    """Finds items that say what another one says."""

    kinds = ("duplicate",)

    def __init__(self, duplicates: Duplicates) -> None:
        self._duplicates = duplicates

    def find(self) -> Iterable[Finding]:
        """A finding for each cluster."""
        return [duplicates_finding_of(one) for one in self._duplicates.clusters()]

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return the members of its cluster, the one that is to stay first, each with its hits and where it is from."""
        try:
            cluster = self._duplicates.cluster_of([finding.ids[-1], *finding.ids[:-1]])
        except NanomemError:
            return ()
        return [_duplicate_evidence(cluster, item) for item in cluster.items[:SHOWN]]


def _duplicate_evidence(cluster: Cluster, item: Item) -> Evidence:
    from nanomem_tui.memory.quarantined_rows import describe_origin

    label = "stays" if item.id == cluster.kept.id else "says the same"
    from_where = ", ".join(filter(None, (describe_origin(item), item.source, f"{item.hits:,} hits")))
    return Evidence(label, item.text, item.created_at, from_where, item.id)


# What two wrote at the same time without knowing of each other: which of the two stands is for a person to say.

DISAGREEING_OFFERS: tuple[Decision, ...] = ("keep", "reject", "edit")
OF_NOTES: tuple[Decision, ...] = ("keep", "reject")


class WrittenByTwo(RowFinder):
    """Finds items, lessons and notes that hold what somebody else made of them at the same time."""

    kinds = ("unsettled",)

    def _found(self) -> Iterator[Finding]:
        rows: Iterable[AnyRow] = chain(
            self._rows.items(), self._rows.lessons(), self._rows.switched_off(), self._rows.notes()
        )
        for row in rows:
            if noted := edit_conflicts.conflicting_values(row):
                offers = DISAGREEING_OFFERS if isinstance(row, Item | Lesson) else OF_NOTES
                yield self._rows.finding("unsettled", row, _why(noted), offers, 1.0, row.meta_json)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return the other one's words of each field."""
        row = self._rows.any_row(finding)
        noted = edit_conflicts.conflicting_values(row) if row is not None else {}
        return [
            Evidence("the other one", "deleted it")
            if name == edit_conflicts.GONE
            else Evidence(f"the other one's {'words' if name == 'text' else name}", secrets.mask(str(theirs)))
            for name, theirs in noted.items()
        ]

    def changes(self, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change] | None:
        """`keep`: what stands stays; `reject`: what the other one made of it; nothing is to be settled then."""
        row = self._rows.any_row(finding)
        if decision not in ("keep", "reject") or row is None:
            return None
        if decision == "keep":
            return [change_of(finding.layer, row, row._replace(meta_json=edit_conflicts.settle_conflict(row)))]
        texts = {
            name: theirs
            for name, theirs in edit_conflicts.conflicting_values(row).items()
            if name != edit_conflicts.GONE
        }
        if not texts:
            return [change_of(finding.layer, row, row._replace(is_deleted=True))]
        if isinstance(row, Item):
            return plan_changes(self._rows.ws, lambda items, _: items.edit(row.id, **texts))
        if isinstance(row, Lesson):
            return plan_changes(self._rows.ws, lambda _, lessons: lessons.edit(row.id, **texts))
        at = clock.iso(clock.now())
        after = row._replace(**texts, meta_json=edit_conflicts.settle_conflict(row), updated_at=at)
        return [change_of(finding.layer, row, after)]


def _why(noted: dict[str, Any]) -> str:
    if noted.keys() == {edit_conflicts.GONE}:
        return "another one deleted it, and neither knew of the other: keep lets it stay, reject deletes it"
    deleted = ", and deleted it" if edit_conflicts.GONE in noted else ""
    return f"another one wrote other words{deleted}: keep lets these stand, reject takes the others"
