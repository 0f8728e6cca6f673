"""What a person kept or put off: a finding that is marked is not asked about again until what it is about changes.

Owns the marks as records of the kind `triage`. Must not look for findings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.operations import Change
from nanomem_tui.curation.values import Finding
from nanomem_tui.store import reading
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record, dumped

KIND = "triage"
SNOOZED = timedelta(days=7)
"""How long a finding is put off where nobody says how long."""


def snoozed_until() -> str:
    """Until when a finding is put off that is put off now (UTC ISO)."""
    return clock.iso(clock.now() + SNOOZED)


class Mark(NamedTuple):
    """What was decided about a finding that stays: its id and print, `keep`, `disable` or `snooze`, when, and until
    when (UTC ISO; empty: for good)."""

    finding: str
    print_: str
    decision: str
    at: str
    until: str = ""

    def hides(self, finding: Finding, now: str) -> bool:
        """Whether the finding is the one that was decided on, and is not due again."""
        return self.stands(finding.print_, now)

    def stands(self, print_: str, now: str) -> bool:
        """Whether what has that print is still as it was decided on, and not due again."""
        return self.print_ == print_ and (not self.until or now < self.until)


class Marks:
    """The marks of one workspace."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._read: dict[str, tuple[Record, Mark]] = {}
        self._seen = -1
        self._marks: Mapping[str, Mark] = {}

    def all(self) -> Mapping[str, Mark]:
        """The marks by the id of their finding; must not be altered."""
        counter = self._store.snapshot.counter if self._store.loaded else -1
        if counter < 0 or counter != self._seen:
            rows = reading.records(self._store, KIND)
            self._marks = {mark.finding: mark for mark in map(self._mark, rows)}
            self._seen = counter
        return self._marks

    def standing(self) -> frozenset[Mark]:
        """Those that are not due again."""
        now = clock.iso(clock.now())
        return frozenset(mark for mark in self.all().values() if not mark.until or now < mark.until)

    def hidden(self, findings: Iterable[Finding]) -> list[Finding]:
        """Those that are kept or put off."""
        marks, now = self.all(), clock.iso(clock.now())
        return [one for one in findings if (mark := marks.get(one.id)) is not None and mark.hides(one, now)]

    def changes(self, findings: Sequence[Finding], decision: str, until: str = "") -> list[Change]:
        """What marks these findings, each once."""
        rows = self._store.load("record").records
        now = clock.iso(clock.now())
        return [
            change_of("record", rows.get(key := _key(one.id)), _record(key, one, decision, now, until, rows.get(key)))
            for one in {one.id: one for one in findings}.values()
        ]

    def _mark(self, row: Record) -> Mark:
        known = self._read.get(row.id)
        if known is None or known[0] is not row:
            meta = row.meta
            names = ("print", "decision", "until")
            print_, decision, until = (str(meta.get(name) or "") for name in names)
            known = self._read[row.id] = row, Mark(row.about, print_, decision, row.at, until)
        return known[1]


def _key(finding: str) -> str:
    """The id of the record of a finding's mark: one a finding, so that two people's marks meet."""
    return f"{KIND}_{hashlib.blake2b(finding.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def _record(key: str, finding: Finding, decision: str, now: str, until: str, before: Record | None) -> Record:
    meta = {"print": finding.print_, "decision": decision, **({"until": until} if until else {})}
    row = before or Record(key, kind=KIND, created_at=now)
    return row._replace(
        about=finding.id, text=finding.kind, at=now, meta_json=dumped(meta), updated_at=now, is_deleted=False
    )
