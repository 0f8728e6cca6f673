"""A finding, the evidence beside it, and the decisions that a person can take on it. Values only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from nanomem_tui.core import clock
from nanomem_tui.core.operations import Change
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.memory.filters import Kind
from nanomem_tui.store import lookup
from nanomem_tui.store.database.operation_log import Journal, LogEntry
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import NOT_COMPARED, change_of
from nanomem_tui.store.values import ROW_TYPES, AnyRow, Record, dumped

if TYPE_CHECKING:
    from nanomem_tui.memory.parts import Memory


Decision = Literal["keep", "reject", "merge", "edit", "disable", "delete", "split", "snooze"]

KINDS: Mapping[str, str] = {
    "waiting": "held back for a person",
    "edit": "edit of a Dream that waits",
    "secret": "holds a secret",
    "injection": "reads like an order to the model",
    "leak": "tells one chat of another",
    "unsettled": "changed by two at the same time",
    "conflict": "contradicts another",
    "duplicate": "says what another says",
    "restated": "stands in a boot file already",
    "dated": "a relative date that has passed",
    "stale": "old, and not used",
    "unused": "never recalled",
    "long": "too long",
    "orphan": "from a session that is gone",
}
"""Why a thing wants a person, in the order in which the queue asks: what is dangerous first."""


class Evidence(NamedTuple):
    """One thing that stands beside a finding: what it is (`the other item`, `USER.md, line 12`), its words, when it
    was said (UTC ISO, or empty), where it is from, and its id where it has one."""

    label: str
    text: str
    at: str = ""
    origin: str = ""
    id: str = ""


class Finding(NamedTuple):
    """One thing that wants a person.

    `id` is the same each time the same thing is found (`duplicate:ltm_1+ltm_2`); `ids` are those that a decision
    touches, the one that is proposed to go first; `why` is the reason in words; `weight` from 0 to 1 is how sure it
    is; `print_` changes when what was judged changes, so that what a person kept is asked again only then;
    `offers` are the decisions that make sense, the proposed one first. `scope_key` and `source` are those of the
    first, for filters and rules.
    """

    id: str
    kind: str
    layer: str
    ids: tuple[str, ...]
    text: str
    why: str
    since: str = ""
    weight: float = 0.5
    print_: str = ""
    offers: tuple[Decision, ...] = ("keep", "delete")
    scope_key: str = ""
    source: str = ""


class DecisionDetails(NamedTuple):
    """What a decision needs beside its name: the words of an edit, the scope (`global`, `telegram:42`,
    `telegram:@ana`) of a split, until when (UTC ISO) to snooze, the id into which to merge."""

    text: str | None = None
    scope: str | None = None
    until: str | None = None
    into: str | None = None


class Finder(Protocol):
    """Looks for findings of one or more kinds."""

    @property
    def kinds(self) -> Sequence[str]:
        """Of which kinds its findings are."""

    def find(self) -> Iterable[Finding]:
        """Return all findings there are; quick ones come first. Reads only; may be asked in any thread."""

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return what stands beside one of its findings."""


@runtime_checkable
class Decider(Protocol):
    """A finder that knows better than the queue what a decision about one of its findings changes."""

    def changes(self, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change] | None:
        """Return the changes of a decision, which the queue performs; None: the usual ones."""


# -- The filter language on findings: its fields, and what each means of a finding ------------------------------------

FINDING_FIELDS: Mapping[str, Kind] = {
    "is": "text", "why": "text", "scope": "text", "source": "text", "age": "age", "kind": "text", "sure": "number",
    "id": "text",
}  # fmt: skip
_VALUES: Mapping[str, Callable[[Finding], Any]] = {
    "is": lambda row: {row.kind, row.layer}, "kind": lambda row: row.kind, "why": lambda row: row.why,
    "age": lambda row: row.since, "scope": lambda row: row.scope_key, "source": lambda row: row.source,
    "sure": lambda row: row.weight, "id": lambda row: {row.id, *row.ids},
}  # fmt: skip


def finding_field(row: Finding, name: str) -> Any:
    """A field of a finding; `is` is its kind, or item, lesson or edit."""
    return _VALUES[name](row)


def finding_text(row: Finding) -> str:
    """Return what words are searched in: the text, the reason and what it is."""
    return f"{row.text}\n{row.why}\n{row.kind}"


# What a person kept or put off: a finding that is marked is not asked about again until what it is about changes.

KIND = "triage"
SNOOZED = timedelta(days=7)
"""How long a finding is put off where nobody says how long."""


def snooze_end() -> str:
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
        """Return whether the finding is the one that was decided on, and is not due again."""
        return self.stands(finding.print_, now)

    def stands(self, print_: str, now: str) -> bool:
        """Return whether what has that print is still as it was decided on, and not due again."""
        return self.print_ == print_ and (not self.until or now < self.until)


class Marks:
    """The marks of one workspace."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._read: dict[str, tuple[Record, Mark]] = {}
        self._seen = -1
        self._marks: Mapping[str, Mark] = {}

    def all(self) -> Mapping[str, Mark]:
        """Return the marks by the id of their finding; must not be altered."""
        counter = self._store.snapshot.counter if self._store.loaded else -1
        if counter < 0 or counter != self._seen:
            rows = lookup.records(self._store, KIND)
            self._marks = {mark.finding: mark for mark in map(self._mark, rows)}
            self._seen = counter
        return self._marks

    def standing(self) -> frozenset[Mark]:
        """Return those that are not due again."""
        now = clock.iso(clock.now())
        return frozenset(mark for mark in self.all().values() if not mark.until or now < mark.until)

    def hidden(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return those that are kept or put off."""
        marks, now = self.all(), clock.iso(clock.now())
        return [one for one in findings if (mark := marks.get(one.id)) is not None and mark.hides(one, now)]

    def changes(self, findings: Sequence[Finding], decision: str, until: str = "") -> list[Change]:
        """Return what marks these findings, each once."""
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
    return f"{KIND}_{hashlib.blake2b(finding.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def _record(key: str, finding: Finding, decision: str, now: str, until: str, before: Record | None) -> Record:
    meta = {"print": finding.print_, "decision": decision, **({"until": until} if until else {})}
    row = before or Record(key, kind=KIND, created_at=now)
    return row._replace(
        about=finding.id, text=finding.kind, at=now, meta_json=dumped(meta), updated_at=now, is_deleted=False
    )


# What findings were judged on: the rows and files as they were when somebody looked, and whether they still are so.

OF_USE = frozenset({"stale", "unused"})
"""Kinds of findings that no longer hold once the row was recalled."""
LAYERS = ("item", "lesson")
"""Where a new row wants a new look."""
STANDING = (*LAYERS, "record")
_JUDGED = {kind: attrgetter(*(f for f in kind._fields if f not in NOT_COMPARED)) for kind in ROW_TYPES.values()}

Stamp = tuple[tuple[int, int], ...]


class JudgedState(NamedTuple):
    """The rows by layer and id, and the files' stamps, at one moment."""

    rows: Mapping[str, Mapping[str, AnyRow]]
    files: Stamp


def take_basis(ws: Memory) -> JudgedState:
    """Return all that findings are judged on, as it is now; of 100,000 rows only the references are kept."""
    snapshot = ws.store.load()
    with snapshot.lock:
        rows = {name: dict(snapshot.table(name)) for name in STANDING}
    return JudgedState(rows, files_of(ws))


def files_of(ws: Memory) -> Stamp:
    """Return what tells whether the memory files or the list of sessions changed."""
    places = [ws.paths.workspace / name for name in TRACKED_FILES]
    return tuple(map(_stamp, (*places, *filter(None, (ws.layout.sessions_dir,)))))


def is_judged_alike(one: AnyRow | None, other: AnyRow | None) -> bool:
    """Return whether two states of a row are judged alike."""
    if one is other:
        return True
    if one is None or other is None or type(one) is not type(other):
        return False
    look = _JUDGED[type(one)]
    return bool(look(one) == look(other))


def is_current(finding: Finding, then: JudgedState, now: Mapping[str, Mapping[str, AnyRow]]) -> bool:
    """Return whether the rows that a finding is about are as they were."""
    if finding.layer not in STANDING:
        return True
    before, after = then.rows[finding.layer], now[finding.layer]
    for key in finding.ids:
        old, new = before.get(key), after.get(key)
        if old is new:
            continue
        if not is_judged_alike(old, new) or (finding.kind in OF_USE and _hits(old) != _hits(new)):
            return False
    return True


def is_new(
    then: JudgedState, now: Mapping[str, Mapping[str, AnyRow]], settled: Mapping[tuple[str, str], AnyRow]
) -> bool:
    """Return whether a row is new or changed since; `settled`: what a decision left is not."""
    for layer in LAYERS:
        before = then.rows[layer]
        for key, row in list(now[layer].items()):  # the agent may add one meanwhile
            old = before.get(key)
            if old is row or row.is_deleted or not getattr(row, "enabled", True):
                continue
            if not is_judged_alike(old, row) and not is_judged_alike(settled.get((layer, key)), row):
                return True
    return False


def _hits(row: Any) -> int:
    return int(getattr(row, "hits", 0) or 0)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


# -- How far a person has come with the queue, from the operations of the ledger. Reads only --------------------------

PAUSE = timedelta(minutes=10)
"""A longer pause between two decisions ends a sitting."""
WINDOWS = (250, 1_000, 4_000, 16_000, 64_000)
"""How many of the newest operations are looked at, step by step, until one is there that was before this sitting."""
LEAST = 20.0
"""Seconds that a sitting counts at least: nobody is told 600 a minute after one key."""


class Progress(NamedTuple):
    """How many things were decided on in this sitting, how many a minute, how many are left, and at which finding the
    next decision is to be made ("" where that is not known)."""

    decided: int
    a_minute: float
    left: int
    next: str = ""

    def words(self) -> str:
        """`12 done, 14 a minute, 488 left`; nothing done is not told."""
        done = f"{self.decided:,} done, {self.a_minute:,.0f} a minute, " if self.decided else ""
        return f"{done}{self.left:,} left"


def progress(journal: Journal, left: int) -> Progress:
    """Return how far the person has come who decided last; what was taken back does not count."""
    entries: list[LogEntry] = []
    sitting: list[LogEntry] = []
    for window in WINDOWS:
        found = journal.log(window)
        entries = [entry for entry in found if _decisions(entry) and not entry.undone]
        sitting = _sitting(entries)
        if len(found) < window or len(sitting) < len(entries):
            break
    if not entries:
        return Progress(0, 0.0, left)
    decided = sum(map(_decisions, sitting))
    place = str(entries[0].operation.meta.get("next") or "")
    if not sitting:
        return Progress(0, 0.0, left, place)
    first, last = _at(sitting[-1]), _at(sitting[0])
    took = max((last - first).total_seconds() if first and last else 0.0, LEAST)
    return Progress(decided, decided * 60 / took, left, place)


def _sitting(entries: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the newest decisions that no long pause parts from now, or from each other; newest first."""
    found: list[LogEntry] = []
    after: datetime = clock.now()
    for entry in entries:
        at = _at(entry)
        if at is None or after - at > PAUSE:
            break
        found.append(entry)
        after = at
    return found


def _decisions(entry: LogEntry) -> int:
    number = entry.operation.meta.get("decided")
    return number if isinstance(number, int) and number > 0 else 0


def _at(entry: LogEntry) -> datetime | None:
    return clock.parse(entry.operation.at)


def fingerprint(*judged: object) -> str:
    """Return what changes when one of the things that were judged does."""
    body = "\n".join(map(str, judged))
    return hashlib.blake2b(body.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
