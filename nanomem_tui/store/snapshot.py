"""The RAM snapshot (seed 000 §Architecture): items, lessons and records, a re-entrant lock, and what is dirty.

Owns the rows in memory. Must not read or write a disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple

from nanomem_tui.operations import Change, Value
from nanomem_tui.store.merge_rows import kept_in_conflict, merge_row, noted
from nanomem_tui.store.values import ROW_TYPES, AnyRow, Item, Lesson, Record

COUNTERS = frozenset({"hits", "last_accessed_at", "last_applied_at", "updated_at", "revision"})
"""Fields that turns move by themselves: they never make an undo conflict."""

_PLACES = {kind: {name: place for place, name in enumerate(kind._fields)} for kind in ROW_TYPES.values()}
_FIELDS = {kind: frozenset(kind._fields) for kind in ROW_TYPES.values()}

RowKey = tuple[str, str]
"""Layer name and row id."""


class Step(NamedTuple):
    """A change to make again: another process's operation that it is of ("": it is ours), whether that takes up one,
    and whether a person made it."""

    operation: str
    change: Change
    again: bool
    person: bool


class DirtyRow(NamedTuple):
    """A row that a checkpoint has to write: what our changes started from, and what it is.

    `effects`: the operations of other processes that it shows and that they have yet to write: it is written with
    them.
    """

    layer: str
    base: AnyRow | None
    row: AnyRow
    effects: frozenset[str] = frozenset()


def patch_of(before: AnyRow | None, after: AnyRow) -> tuple[Value | None, Value]:
    """The changed fields of a row before and after, as an operation records them; None for a row that is new."""
    if before is None:
        return None, {name: value for name, value in after._asdict().items() if name != "revision"}
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    names = after._fields
    for place in compress(range(len(names) - 1), map(is_not, before, after)):  # the last one is the revision
        was, value = before[place], after[place]
        if was != value:
            old[names[place]], new[names[place]] = was, value
    if new.get("is_deleted"):  # what was deleted is told by its time: who meets an edit that was not seen notices
        old["updated_at"], new["updated_at"] = before.updated_at, after.updated_at
    return old, new


def change_of(layer: str, before: AnyRow | None, after: AnyRow) -> Change:
    """The change that turns `before` into `after`."""
    old, new = patch_of(before, after)
    return Change(layer, after.id, old, new)


class Snapshot:
    """Items, lessons and records by id. Every access that must be consistent holds `lock`.

    `counter` grows with every change, so that a view can tell whether what it shows is still true.
    """

    def __init__(
        self, items: Iterable[Item] = (), lessons: Iterable[Lesson] = (), records: Iterable[Record] = ()
    ) -> None:
        self.lock = threading.RLock()
        self.items: dict[str, Item] = {item.id: item for item in items}
        self.lessons: dict[str, Lesson] = {lesson.id: lesson for lesson in lessons}
        self.records: dict[str, Record] = {record.id: record for record in records}
        self.counter = 0
        self._base: dict[RowKey, AnyRow | None] = {}
        self._effects: dict[RowKey, set[str]] = {}
        self._watches: list[set[str]] = []

    def watch(self) -> set[str]:
        """A set that gets the id of every item that changes from now on; its owner empties it, holding `lock`."""
        with self.lock:
            self._watches.append(set())
            return self._watches[-1]

    def _changed(self, layer: str, keys: Iterable[str]) -> None:
        self.counter += 1
        if layer == "item":
            for watch in self._watches:
                watch.update(keys)

    def table(self, layer: str) -> dict[str, AnyRow]:
        """The rows of one layer."""
        return self.items if layer == "item" else self.lessons if layer == "lesson" else self.records  # type: ignore[return-value]

    @property
    def dirty(self) -> int:
        """How many rows differ from the database and are ours to write."""
        return len(self._base)

    def dirty_rows(self) -> list[DirtyRow]:
        """What a checkpoint has to write."""
        with self.lock:
            return [self._dirty_row(place, base) for place, base in self._base.items()]

    def _dirty_row(self, place: RowKey, base: AnyRow | None) -> DirtyRow:
        effects = frozenset(self._effects.get(place, ()))
        return DirtyRow(place[0], base, self.table(place[0])[place[1]], effects)

    def all_rows(self) -> list[DirtyRow]:
        """Every row as a checkpoint has to write it that finds none in the database; not what others will write."""
        with self.lock:
            places = [(layer, key) for layer in ROW_TYPES for key in self.table(layer)]
            written = [place for place in places if place in self._base or place not in self._effects]
            return [self._dirty_row(place, self._base.get(place, self.table(place[0])[place[1]])) for place in written]

    def unwritten(self) -> set[RowKey]:
        """The rows that the database does not have as they are here: dirty ones, and those that others will write."""
        with self.lock:
            return {*self._base, *self._effects}

    def put(self, layer: str, row: AnyRow, *, dirty: bool = True) -> None:
        """Set a row; `dirty` rows are written by the next checkpoint."""
        with self.lock:
            table = self.table(layer)
            if dirty:
                self._base.setdefault((layer, row.id), table.get(row.id))
            table[row.id] = row
            self._changed(layer, (row.id,))

    def patch(self, change: Change) -> None:
        """Make one change true; a patch of a row that is not there is left out (another process removed it)."""
        with self.lock:
            table = self.table(change.layer)
            present = table.get(change.key)
            row = patched(present, change)
            if row is not None:
                self._base.setdefault((change.layer, row.id), present)
                table[row.id] = row
                self._changed(change.layer, (row.id,))

    def show(self, operation_id: str, change: Change, *, again: bool = False, person: bool = False) -> None:
        """Let a change be seen that is another process's to write. `again`: it undoes or redoes another one; `person`:
        a person made it."""
        with self.lock:
            key = (change.layer, change.key)
            table = self.table(change.layer)
            present = table.get(change.key)
            row = _on_top(present, change, again=again, person=person)
            if row is None or operation_id in self._effects.get(key, ()):
                return
            if key in self._base:
                self._base[key] = _on_top(self._base[key], change, again=again, person=person)
            self._effects.setdefault(key, set()).add(operation_id)
            table[change.key] = row
            self._changed(change.layer, (change.key,))

    def rebase(self, layer: str, key: str, row: AnyRow | None, steps: Iterable[Step]) -> None:
        """Begin a row anew from what the database has of it (None: nothing), and make again what was recorded since, in
        order: our own changes, and to be seen on it those of others."""
        place, table = (layer, key), self.table(layer)
        with self.lock:
            for known in (self._base, self._effects):
                known.pop(place, None)
            if row is None:
                table.pop(key, None)
            else:
                table[key] = row
            for operation, change, again, person in steps:
                if operation:
                    self.show(operation, change, again=again, person=person)
                    continue
                present = table.get(key)
                made = _on_top(present, change, again=again, person=person, unseen=noted(present) != noted(row))
                if made is not None:
                    self._base.setdefault(place, present)
                    table[key] = made
            self._changed(layer, (key,))

    def retract(self, change: Change) -> None:
        """Take back a change of the agent's that another process has noticed and written too."""
        with self.lock:
            key, table = (change.layer, change.key), self.table(change.layer)
            row = table.get(change.key)
            if row is None or change.after is None:
                return
            if change.before is None:
                if all(getattr(row, name) == value for name, value in change.after.items() if name not in COUNTERS):
                    del table[change.key]
                    self._base.pop(key, None)
            else:
                fields = {n: change.before[n] for n, value in change.after.items() if getattr(row, n) == value}
                if "hits" in change.after and not isinstance(row, Record):
                    fields["hits"] = max(0, row.hits + change.before["hits"] - change.after["hits"])
                table[change.key] = row._replace(**fields)
                if self._base.get(key) == table[change.key]:
                    del self._base[key]
            self._changed(change.layer, (change.key,))

    def settle(self, written: Sequence[DirtyRow], rows: Iterable[tuple[str, AnyRow]]) -> list[RowKey]:
        """After a checkpoint: take the rows as the database has them now; what changed meanwhile stays dirty, and is
        named: what of it is another process's to write is told by the ledgers alone."""
        changed: list[RowKey] = []
        with self.lock:
            sent = {(entry.layer, entry.row.id): entry.row for entry in written}
            for layer, row in rows:
                key = (layer, row.id)
                table = self.table(layer)
                present = table.get(row.id)
                self._effects.pop(key, None)  # what others have yet to write is seen anew on the row as it is now
                if present is None or present is sent.get(key):
                    table[row.id] = row
                    self._base.pop(key, None)
                else:
                    table[row.id] = merge_row(sent.get(key), present, row)
                    self._base[key] = row
                    changed.append(key)
                self._changed(layer, (row.id,))
        return changed

    def take(self, layer: str, rows: Iterable[AnyRow]) -> list[AnyRow]:
        """Take rows that another process committed; those that are dirty here are given back, to be rebased."""
        dirty: list[AnyRow] = []
        table = self.table(layer)
        with self.lock:
            for row in rows:
                key = (layer, row.id)
                if key in self._base:
                    dirty.append(row)
                    continue
                self._effects.pop(key, None)
                if table.get(row.id) != row:
                    table[row.id] = row
                    self._changed(layer, (row.id,))
        return dirty

    def clear(self) -> None:
        """Forget everything, also what is dirty."""
        with self.lock:
            self._changed("item", self.items)
            for known in (self.items, self.lessons, self.records, self._base, self._effects):
                known.clear()

    def replace_all(
        self, items: Iterable[Item], lessons: Iterable[Lesson], records: Iterable[Record] = ()
    ) -> list[tuple[str, AnyRow]]:
        """Exchange everything that is not dirty; of what is dirty, the rows that there are now, to be rebased."""
        with self.lock:
            kept = {(layer, key): self.table(layer)[key] for layer, key in self._base}
            self._changed("item", self.items)
            self.items = {item.id: item for item in items}
            self.lessons = {lesson.id: lesson for lesson in lessons}
            self.records = {record.id: record for record in records}
            self._effects = {place: ids for place, ids in self._effects.items() if place in self._base}
            there: list[tuple[str, AnyRow]] = []
            for (layer, key), row in kept.items():
                table = self.table(layer)
                there += [(layer, table[key])] if key in table else []
                table[key] = row
            self._changed("item", self.items)
            return there


def patched(row: AnyRow | None, change: Change) -> AnyRow | None:
    """The row with one change made; None when it is, or stays, absent.

    Counts move by the difference, and times that moved on meanwhile stay: an undo takes back nothing that a turn did,
    and a row that is added once more keeps what was counted before.
    """
    if change.after is None:
        return row._replace(is_deleted=True) if row is not None else None
    if row is None:
        return row_from(change.layer, change.after) if change.before is None else None
    kind: Any = type(row)
    places, values, before = _PLACES[kind], list(row), change.before
    for name, value in change.after.items():
        place = places.get(name)
        if place is None:
            continue
        if name in COUNTERS:
            now = values[place]
            values[place] = _moved(name, before.get(name), now, value) if before is not None else _most(now, value)
        else:
            values[place] = value
    made: AnyRow = kind._make(values)
    return made


def _moved(name: str, was: Any, now: Any, value: Any) -> Any:
    """A field that turns move by themselves, moved from `now` as it was from `was` to `value`."""
    if name == "hits":
        return max(0, now + value - (was or 0))
    return value if now == was else _most(now, value)


def _most(now: Any, value: Any) -> Any:
    """The larger count or the later time, of which either may be missing."""
    return max(filter(None, (now, value)), default=now)


def _on_top(
    row: AnyRow | None, change: Change, *, again: bool, person: bool, unseen: bool = False
) -> AnyRow | None:
    """The row with a change made that did not know it; merged with what became of the row meanwhile.

    A row that it added may be here already, with what a third process did to it, also when that was a delete. An edit
    and a delete that did not know of each other leave the row, marked for a person to settle; that of an agent does not
    bring back what is deleted.
    """
    if row is not None and change.before is None and not again and _is_of(row, change):
        return row
    made = _merged(row, change)
    if row is None or made is None:
        return made
    if made.is_deleted and not row.is_deleted:
        return kept_in_conflict(row) if unseen or _overlooks(row, change) else made
    return kept_in_conflict(made) if row.is_deleted and made.is_deleted and person and _edits(change) else made


def _merged(row: AnyRow | None, change: Change) -> AnyRow | None:
    if row is None or first_difference(row, change) is None:
        return patched(row, change)
    base = row._replace(**_known(row, change.before)) if change.before is not None else None
    theirs = (base or row)._replace(**_known(row, change.after or {"is_deleted": True}))
    return merge_row(base, row, theirs)._replace(revision=row.revision)


def _overlooks(row: AnyRow, deleting: Change) -> bool:
    """Whether a delete is of a row as it was before somebody else edited it."""
    before = deleting.before or {}
    if deleting.after is None:  # an undo of what added it, which knows all that it was
        return first_difference(row, deleting) is not None
    return bool(before.get("updated_at", row.updated_at) != row.updated_at)


def _edits(change: Change) -> bool:
    """Whether it changes what a row says or how it is used, and does not only switch it off, count or bring it back."""
    if change.before is None or change.after is None or "is_deleted" in change.after:
        return False
    names = change.after.keys() - COUNTERS
    if change.layer == "record":  # marks and counts are records too
        return "text" in names
    return bool(names - {"enabled"}) and bool(change.after.get("enabled", True))


def _is_of(row: AnyRow, added: Change) -> bool:
    """Whether a row is the one that a change added, and not another of the same id."""
    return added.after is not None and added.after.get("created_at") == row.created_at


def first_difference(row: AnyRow, change: Change) -> str | None:
    """The first field in which a row is not what a change starts from, counters aside; None when it fits."""
    if change.before is None:
        return None if row.is_deleted else "is_deleted"
    for name, value in change.before.items():
        if name not in COUNTERS and getattr(row, name, value) != value:
            return name
    return None


def _known(row: AnyRow, fields: Mapping[str, Any]) -> dict[str, Any]:
    known = _FIELDS[type(row)]
    if known.issuperset(fields):
        return dict(fields)
    return {name: value for name, value in fields.items() if name in known}


def row_from(layer: str, fields: Mapping[str, Any]) -> AnyRow:
    """A row from recorded fields; unknown names are ignored, missing ones get their default."""
    kind = ROW_TYPES[layer]
    return kind(**{name: value for name, value in fields.items() if name in kind._fields})


def added_first(steps: Sequence[Step]) -> list[Step]:
    """What adds a row before what was done to it: what an agent added is noticed anew, and later, by each process."""
    added = next((at for at, step in enumerate(steps) if step.change.before is None and not step.again), 0)
    return [*steps[added : added + 1], *steps[:added], *steps[added + 1 :]]


def without_counts(change: Change) -> Change:
    """What an agent changed of a row but its hits: they are noticed again from its file, and are to be added once."""
    if change.before is None or change.after is None:
        return change
    return change._replace(after={name: value for name, value in change.after.items() if name != "hits"})
