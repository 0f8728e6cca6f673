"""Plan an import: whether each row is new, present, in conflict, or was deleted here. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nanomem_tui.core.text import normalised, one_line
from nanomem_tui.memory.transfer.crystallized import COUNTS, with_earlier_of
from nanomem_tui.memory.transfer.import_plan import DOES, TWICE, Choices, Entry, Reading, describe_differing, layer_of
from nanomem_tui.memory.transfer.work import PresentRecords, WorkPlanner
from nanomem_tui.store.forgotten import WHY
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import (
    ROW_TYPES,
    AnyRow,
    Fact,
    Item,
    Record,
    Row,
    fact_of,
    identity_of_item,
    text_of,
    with_fields,
    with_value,
)
from nanomem_tui.store.work.values import TierRecord

# -- What an import would do with each record that a reader found. Pure -----------------------------------------------

COMPARED = ("about", "text", "at")
"""Fields in which a record that is here may differ from theirs; the others are in its id, or of no matter."""
Key = tuple[object, ...]


class RecordPlanner:
    """Decides over the records of one reading, in its order."""

    def __init__(
        self, ours: Mapping[str, Record], choices: Choices, reading: Reading, standing: Mapping[str, str]
    ) -> None:
        self._ours = ours
        self._choices = choices
        self._reading = reading
        self._standing = standing
        self._equal: dict[Key, list[Record]] = defaultdict(list)
        self._gone: dict[Key, list[Record]] = defaultdict(list)
        theirs = {found.row.id for found in reading.rows if isinstance(found.row, Record)}
        for row in ours.values() if theirs else ():
            if row.id not in theirs and not (row.is_deleted and row.id in choices.undone):
                (self._gone if row.is_deleted else self._equal)[self._key(row)].append(row)

    def entry(self, row: Record, place: str) -> Entry:
        """Return the verdict on one record, whose id has not come before."""
        present = self._ours.get(row.id)
        if present is not None and not present.is_deleted:
            return self._met(row, place, present)
        why = "" if present is None else self._choices.reason_back(row.id)
        if why is None:
            return Entry("deleted", row, place, "it was deleted here", present)
        if row.id in self._standing:
            return Entry("same", row, place, f"it stands in the session {self._standing[row.id]}")
        key = self._key(row) if self._equal or self._gone else ()
        duplicate = self._duplicate(row, self._equal.get(key, []))
        if duplicate is not None:
            return Entry("same", row, place, f"the same is here as {duplicate.id}", duplicate)
        deleted = self._gone.get(key)
        if deleted and not self._choices.restore:
            gone = deleted.pop()
            return Entry("deleted", row, place, f"the same was deleted here as {gone.id}", gone)
        return Entry("new", row, place, why, present)

    def _duplicate(self, row: Record, same: list[Record]) -> Record | None:
        """Return a record of ours that says the same under another id, each once; token use by its sum."""
        if row.kind != "usage":
            return same.pop() if same else None
        sums = [sum(_count(one, name) for one in same) for name in COUNTS]
        return same[0] if same and sums == [_count(row, name) for name in COUNTS] else None

    def _met(self, row: Record, place: str, present: Record) -> Entry:
        """Return the verdict on a record whose id is here."""
        names = [name for name in COMPARED if getattr(row, name) != getattr(present, name)]
        times = self._reading.times
        names = [name for name in names if name != "at" or times(row.at) != times(present.at)]
        counted = row.kind == "usage" and any(_count(row, name) != _count(present, name) for name in COUNTS)
        newer = row.updated_at > present.updated_at
        if counted and newer:
            taken = present._replace(meta_json=row.meta_json, at=row.at, updated_at=row.updated_at)
            return Entry("update", taken, place, "it went on counting", present)
        if row.kind == "usage":
            names = ["counts"] if counted else []
        if not names:
            return Entry("same", row, place, "it is here", present)
        what = describe_differing(names)
        if self._choices.takes_theirs(newer=newer):
            taken = present._replace(about=row.about, text=row.text, at=row.at)
            taken = taken._replace(meta_json=row.meta_json) if row.kind == "usage" else taken
            return Entry("update", taken, place, f"{what}: theirs is taken", present)
        return Entry("conflict", row, place, f"{what}: ours stays", present)

    def _key(self, row: Record) -> Key:
        """Return what two equal records have in common."""
        meta = row.meta
        if row.kind == "usage":
            return row.kind, row.about, meta.get("model")
        said = tuple(str(meta.get(name) or "") for name in ("role", "args", "error"))
        return row.kind, row.about, row.text, self._reading.times(row.at), *said


def _count(row: Record, name: str) -> int:
    value = row.meta.get(name)
    return value if isinstance(value, int) else 0


COUNTED = frozenset({"hits", "last_accessed_at", "last_applied_at", "updated_at", "expires_at", "revision"})
"""Fields that move by use: a difference in them alone is no conflict."""
NAMES = ("domain", "category", "key")
"""By what a fact is known."""
Flag = Callable[[Row], str]
"""Why a row should wait for a person; empty when it need not."""


class Planner:
    """Decides row by row over one or more readings; what an earlier row brings counts as there for a later one."""

    def __init__(self, snapshot: Snapshot, choices: Choices, work: PresentRecords) -> None:
        """`work`: what is here of the records of an agent's work that come."""
        self._snapshot = snapshot
        self._tables = [(kind, snapshot.table(layer)) for layer, kind in ROW_TYPES.items()]
        self._choices = choices
        self._work = WorkPlanner(work, choices)
        self._texts: dict[tuple[str, ...], Row] = {}
        self._gone: dict[tuple[str, ...], Row] = {}
        self._coming: dict[str, AnyRow] = {}
        for table in (snapshot.items, snapshot.lessons):
            for row in table.values():
                if not row.is_deleted:
                    for key in (key_of(row), identity_of(row)):
                        self._texts.setdefault(key, row)
                elif row.id not in choices.undone:
                    self._gone.update(dict.fromkeys((key_of(row), identity_of(row)), row))

    def entries(self, reading: Reading, flag: Flag, standing: Mapping[str, str]) -> Iterable[Entry]:
        """Yield verdicts in order; `flag`: why a row waits, `standing`: messages in the agent's transcripts."""
        words: dict[str, tuple[str, ...]] = {}
        records = RecordPlanner(self._snapshot.records, self._choices, reading, standing)
        for found in reading.rows:
            row = found.row
            if isinstance(row, TierRecord):
                entry = self._work.entry(row, found.place, found.given)
            elif isinstance(row, Record):
                entry = self._record(row, found.place, records)
            else:
                entry = self._entry(row, found.place, reading, flag)
                if words.setdefault(row.id, key_of(row)) != key_of(row):
                    why = "that id comes twice, with other words: the first is taken"
                    entry = Entry("conflict", mask_row(row), found.place, why, entry.present)
            if found.note:
                entry = entry._replace(why="; ".join(filter(None, (entry.why, found.note))))
            if self._choices.forgotten and entry.verdict in DOES and self._choices.forgotten.row(row.to_json()):
                entry = Entry("deleted", row, found.place, WHY, entry.present)
            self._comes(entry)
            yield entry

    def _comes(self, entry: Entry) -> None:
        """What a row brings counts as there for a later one."""
        row = entry.row
        if entry.verdict not in DOES or isinstance(row, TierRecord):
            return
        self._coming[row.id] = row
        if not isinstance(row, Record):
            for key in (key_of(row), identity_of(row)):
                self._texts.setdefault(key, row)

    def _record(self, row: Record, place: str, records: RecordPlanner) -> Entry:
        if row.id in self._coming:
            return Entry("same", row, place, TWICE, self._coming[row.id])
        return self._taken(row, place) or records.entry(row, place)

    def _taken(self, row: AnyRow, place: str) -> Entry | None:
        """Return the verdict on a row whose id another kind of row has here; None when none has."""
        own = type(row)
        if any(kind is not own and row.id in table for kind, table in self._tables):
            return Entry("conflict", row, place, "that id is taken by another kind of row")
        return None

    def _entry(self, row: Row, place: str, reading: Reading, flag: Flag) -> Entry:
        if row.id in self._coming:
            return Entry("same", row, place, TWICE, self._coming[row.id])
        present: Any = self._fact(row) or self._snapshot.table(layer_of(row)).get(row.id)
        if present is None and (taken := self._taken(row, place)):
            return taken
        if present is not None and not present.is_deleted:
            return self._met(row._replace(id=present.id), place, present, reading, flag)
        why = "" if present is None else self._choices.reason_back(row.id)
        if why is None:
            return Entry("deleted", row, place, "it was deleted here", present)
        duplicate = self._texts.get(identity_of(row))
        if duplicate is not None and (not reading.ours or duplicate.id not in self._coming):
            return _duplicate(row, place, duplicate)
        reason = flag(row) if row.enabled else ""
        shown = mask_row(row) if reason else row
        duplicate = duplicate or self._texts.get(identity_of(shown))
        if duplicate is not None and (not reading.ours or duplicate.id not in self._coming):
            return _duplicate(row, place, duplicate)
        gone = self._gone.get(identity_of(row)) or self._gone.get(identity_of(shown))
        gone = None if reading.ours or present is not None else gone
        if gone is not None and not self._choices.restore:
            return Entry("deleted", shown, place, f"the same text was deleted here as {gone.id}", gone)
        if gone is not None:
            why = self._choices.reason_back(gone.id) or ""
            present, row, shown = gone, row._replace(id=gone.id), shown._replace(id=gone.id)
        if reason:
            return Entry("inbox", shown, place, "; ".join(filter(None, (why, reason))), present)
        return Entry("new", row, place, why, present)

    def _fact(self, row: Row) -> Row | None:
        """Return the row of ours that holds the fact that a row is: its names may have come to it later than its id."""
        if not isinstance(row, Item) or fact_of(row) is None:
            return None
        known = self._texts.get(identity_of(row))
        return known if known is not None and known.id not in self._coming else None

    def _met(self, row: Row, place: str, present: Row, reading: Reading, flag: Flag) -> Entry:
        """Return the verdict on a row whose id is here. What should wait for a person replaces nothing."""
        if isinstance(row, Item) and isinstance(present, Item):
            row = with_earlier_of(row, present)  # what ours was before is in its own history
        theirs, row = row, _named_as(row, present)
        fields = reading.fields or frozenset(row._fields)
        changed = (name for name in row._fields if getattr(row, name) != getattr(present, name))
        names = [name for name in changed if name in fields and name != "id"]
        names = [name for name in names if not _same_time(row, present, name, reading.times)]
        renamed = _renamed(row, present)
        if not names and not renamed:
            return Entry("same", row, place, "it is here", present)
        if set(names) <= COUNTED and not renamed:
            return Entry("same", row, place, f"it is here; used since ({', '.join(names)})", present)
        what = describe_differing(list(dict.fromkeys((*names, *renamed))))
        if reason := flag(row) if row.enabled else "":
            if present.waits and not present.enabled:
                return Entry("same", mask_row(row), place, "it waits in the inbox", present)
            return Entry("conflict", mask_row(row), place, f"{what}: ours stays, theirs: {reason}", present)
        duplicate = self._texts.get(identity_of(theirs), present) if renamed else present
        if duplicate.id != present.id:
            return Entry("conflict", row, place, f"{what}: {duplicate.id} has these names", present)
        if self._choices.takes_theirs(newer=row.updated_at > present.updated_at):
            taken: Any = present._replace(**{name: getattr(row, name) for name in names})
            return Entry("update", _as_theirs(taken, theirs, present), place, f"{what}: theirs is taken", present)
        return Entry("conflict", row, place, f"{what}: ours stays", present)


def _facts(row: Row, present: Row) -> tuple[Fact, Fact] | None:
    theirs, ours = (fact_of(one) if isinstance(one, Item) else None for one in (row, present))
    return (theirs, ours) if theirs is not None and ours is not None else None


def _renamed(row: Row, present: Row) -> list[str]:
    """Return the names of a fact that are others here than there, however they are written."""
    pair = _facts(row, present)
    if pair is None:
        return []
    theirs, ours = pair
    return [name for name in NAMES if normalised(getattr(theirs, name) or "") != normalised(getattr(ours, name) or "")]


def _named_as(row: Row, present: Row) -> Row:
    """A fact with the key that ours has, where it is the same: how it is written is no difference."""
    pair = _facts(row, present)
    if pair is None or not isinstance(row, Item) or pair[0].key == pair[1].key:
        return row
    if normalised(pair[0].key) != normalised(pair[1].key):
        return row
    return with_fields(row._replace(text=text_of(pair[1].key, pair[0].value)), {"key": pair[1].key})


def _as_theirs(taken: Row, theirs: Row, present: Row) -> Row:
    """Return a fact with their value and their other names; any other row as it is."""
    pair = _facts(theirs, present)
    if pair is None or not isinstance(taken, Item):
        return taken
    given, ours = pair
    names = {name: getattr(given if name in _renamed(theirs, present) else ours, name) for name in NAMES}
    fields = {**names, "value": given.value, **({"sub_category": given.sub_category} if given.sub_category else {})}
    return with_fields(taken._replace(text=text_of(str(names["key"]), given.value)), fields)


def _duplicate(row: Row, place: str, duplicate: Row) -> Entry:
    return Entry("same", row, place, f"the same text is here as {duplicate.id}", duplicate)


def mask_row(row: Row) -> Row:
    """Return the row with a name in place of each secret in its words."""
    from nanomem_tui.language.secrets import mask

    if isinstance(row, Item):
        return with_value(row._replace(text=mask(row.text)))
    trigger, bad, better = map(mask, (row.trigger, row.bad_action, row.better_action))
    return row._replace(trigger=trigger, bad_action=bad, better_action=better)


def _same_time(one: Row, other: Row, name: str, times: Callable[[str], str]) -> bool:
    found, known = getattr(one, name), getattr(other, name)
    return name.endswith("_at") and bool(found and known) and times(found) == times(known)


def identity_of(row: Row) -> tuple[str, ...]:
    """By what a row is known: a fact by its names, whatever its value is, any other one by its words."""
    fact = identity_of_item(row) if isinstance(row, Item) else None
    return ("fact", *fact) if fact is not None else key_of(row)


def key_of(row: Row) -> tuple[str, ...]:
    """Return what makes two rows the same memory: scope and normalised words, as a file of lines can hold them."""
    if isinstance(row, Item):
        return ("item", row.scope_key, normalised(one_line(row.text)))
    scope = row.session_key if row.scope != "global" else ""
    return ("lesson", row.scope, scope, normalised(row.trigger), normalised(row.better_action))
