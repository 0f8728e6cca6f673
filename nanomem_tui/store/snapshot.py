"""The RAM snapshot (seed 000 §Architecture): items and lessons, a re-entrant lock, and what is dirty.

Owns the rows in memory and the two row layers of operations. Must not read or write a disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple

from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.operations import Change, Operation, Value
from nanomem_tui.store.merge_rows import merge_row
from nanomem_tui.store.values import Item, Lesson, Row

ROW_TYPES: dict[str, type[Item | Lesson]] = {"item": Item, "lesson": Lesson}
COUNTERS = frozenset({"hits", "last_accessed_at", "last_applied_at", "updated_at", "revision"})
"""Fields that turns move by themselves: they never make an undo conflict."""

_PLACES = {kind: {name: place for place, name in enumerate(kind._fields)} for kind in ROW_TYPES.values()}
_FIELDS = {kind: frozenset(kind._fields) for kind in ROW_TYPES.values()}

RowKey = tuple[str, str]
"""Layer name and row id."""


class DirtyRow(NamedTuple):
    """A row that a checkpoint has to write: what our changes started from, and what it is.

    `beneath`: the row as the database had it, where our changes started from one that shows what another process did
    and has yet to write; that stays the other's to write.
    """

    layer: str
    base: Row | None
    row: Row
    beneath: Row | None = None


def patch_of(before: Row | None, after: Row) -> tuple[Value | None, Value]:
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
    return old, new


def change_of(layer: str, before: Row | None, after: Row) -> Change:
    """The change that turns `before` into `after`."""
    old, new = patch_of(before, after)
    return Change(layer, after.id, old, new)


class Snapshot:
    """Items and lessons by id. Every access that must be consistent holds `lock`.

    `counter` grows with every change, so that a view can tell whether what it shows is still true.
    """

    def __init__(self, items: Iterable[Item] = (), lessons: Iterable[Lesson] = ()) -> None:
        self.lock = threading.RLock()
        self.items: dict[str, Item] = {item.id: item for item in items}
        self.lessons: dict[str, Lesson] = {lesson.id: lesson for lesson in lessons}
        self.counter = 0
        self._base: dict[RowKey, Row | None] = {}
        self._shown: dict[RowKey, Row | None] = {}
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

    def table(self, layer: str) -> dict[str, Row]:
        """The rows of one layer."""
        return self.items if layer == "item" else self.lessons  # type: ignore[return-value]

    @property
    def dirty(self) -> int:
        """How many rows differ from the database and are ours to write."""
        return len(self._base)

    def dirty_rows(self) -> list[DirtyRow]:
        """What a checkpoint has to write."""
        with self.lock:
            return [
                DirtyRow(layer, base, self.table(layer)[key], self._shown.get((layer, key)))
                for (layer, key), base in self._base.items()
            ]

    def beneath(self, layer: str, key: str) -> Row | None:
        """The row without what others have yet to write; None where it shows nothing of the kind."""
        return self._shown.get((layer, key))

    def unwritten(self) -> set[RowKey]:
        """The rows that the database does not have as they are here: dirty ones, and those that others will write."""
        with self.lock:
            return {*self._base, *self._shown}

    def put(self, layer: str, row: Row, *, dirty: bool = True) -> None:
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

    def show(self, operation_id: str, change: Change) -> None:
        """Let a change be seen that is another process's to write."""
        with self.lock:
            key = (change.layer, change.key)
            table = self.table(change.layer)
            present = table.get(change.key)
            row = _on_top(present, change)
            if row is None or operation_id in self._effects.get(key, ()):
                return
            self._shown.setdefault(key, self._base.get(key, present))
            if key in self._base:
                self._base[key] = _on_top(self._base[key], change)
            self._effects.setdefault(key, set()).add(operation_id)
            table[change.key] = row
            self._changed(change.layer, (change.key,))

    def adopt(self, operation_id: str, change: Change) -> None:
        """Make a change ours to write: that of a process that ended before it wrote it.

        What was shown already is not applied again; where the row moved on meanwhile the two are merged.
        """
        with self.lock:
            key = (change.layer, change.key)
            if operation_id in self._effects.get(key, ()):
                if key in self._shown:
                    self._base[key] = self._shown.pop(key)
                return
            present = self.table(change.layer).get(change.key)
            row = _on_top(present, change)
            if row is not None and row != present:
                self.put(change.layer, row)

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
                if "hits" in change.after:
                    fields["hits"] = max(0, row.hits + change.before["hits"] - change.after["hits"])
                table[change.key] = row._replace(**fields)
                if self._base.get(key) == table[change.key]:
                    del self._base[key]
            self._changed(change.layer, (change.key,))

    def settle(self, written: Sequence[DirtyRow], rows: Iterable[tuple[str, Row]]) -> None:
        """After a checkpoint: take the rows as the database has them now; what changed meanwhile stays dirty."""
        with self.lock:
            sent = {(entry.layer, entry.row.id): entry.row for entry in written}
            for layer, row in rows:
                key = (layer, row.id)
                table = self.table(layer)
                present = table.get(row.id)
                self._shown.pop(key, None)
                if present is None or present is sent.get(key):
                    table[row.id] = row
                    self._base.pop(key, None)
                else:
                    table[row.id] = merge_row(sent.get(key), present, row)
                    self._base[key] = row
                self._changed(layer, (row.id,))

    def take(self, layer: str, rows: Iterable[Row]) -> int:
        """Take rows that another process committed; rows that are dirty here keep waiting for the merge."""
        taken = 0
        with self.lock:
            for row in rows:
                key = (layer, row.id)
                if key in self._base:
                    continue
                self._shown.pop(key, None)
                self._effects.pop(key, None)
                if self.table(layer).get(row.id) != row:
                    self.table(layer)[row.id] = row
                    self._changed(layer, (row.id,))
                    taken += 1
        return taken

    def clear(self) -> None:
        """Forget everything, also what is dirty."""
        with self.lock:
            self._changed("item", self.items)
            for known in (self.items, self.lessons, self._base, self._shown, self._effects):
                known.clear()

    def replace_all(self, items: Iterable[Item], lessons: Iterable[Lesson]) -> None:
        """Exchange everything that is not dirty."""
        with self.lock:
            kept = [(layer, self.table(layer)[key]) for layer, key in self._base]
            self._changed("item", self.items)
            self.items = {item.id: item for item in items}
            self.lessons = {lesson.id: lesson for lesson in lessons}
            for layer, row in kept:
                self.table(layer)[row.id] = row
            self._effects = {key: ids for key, ids in self._effects.items() if key in self._base}
            self._shown = {key: row for key, row in self._shown.items() if key in self._base}
            self._changed("item", self.items)


def patched(row: Row | None, change: Change) -> Row | None:
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
    made: Row = kind._make(values)
    return made


def _moved(name: str, was: Any, now: Any, value: Any) -> Any:
    """A field that turns move by themselves, moved from `now` as it was from `was` to `value`."""
    if name == "hits":
        return max(0, now + value - (was or 0))
    return value if now == was else _most(now, value)


def _most(now: Any, value: Any) -> Any:
    """The larger count or the later time, of which either may be missing."""
    return max(filter(None, (now, value)), default=now)


def _on_top(row: Row | None, change: Change) -> Row | None:
    """The row with another process's change made; merged with what became of the row meanwhile."""
    if row is None or first_difference(row, change) is None:
        return patched(row, change)
    base = row._replace(**_known(row, change.before)) if change.before is not None else None
    theirs = (base or row)._replace(**_known(row, change.after or {"is_deleted": True}))
    return merge_row(base, row, theirs)._replace(revision=row.revision)


def first_difference(row: Row, change: Change) -> str | None:
    """The first field in which a row is not what a change starts from, counters aside; None when it fits."""
    if change.before is None:
        return None if row.is_deleted else "is_deleted"
    for name, value in change.before.items():
        if name not in COUNTERS and getattr(row, name, value) != value:
            return name
    return None


def _known(row: Row, fields: Mapping[str, Any]) -> dict[str, Any]:
    known = _FIELDS[type(row)]
    if known.issuperset(fields):
        return dict(fields)
    return {name: value for name, value in fields.items() if name in known}


def row_from(layer: str, fields: Mapping[str, Any]) -> Row:
    """A row from recorded fields; unknown names are ignored, missing ones get their default."""
    kind = ROW_TYPES[layer]
    return kind(**{name: value for name, value in fields.items() if name in kind._fields})


class RowLayer:
    """The "item" or "lesson" layer of operations over a snapshot."""

    def __init__(self, name: str, snapshot: Snapshot) -> None:
        self.name = name
        self._snapshot = snapshot

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when a row is not what a change starts from (counters may have moved), BadInput when a text
        is none that UTF-8 can hold."""
        table = self._snapshot.table(self.name)
        for change in changes:
            row = table.get(change.key)
            if row is None and change.before is not None:
                raise Conflict(f"{self.name} is gone", change.key, "nothing was changed")
            field = first_difference(row, change) if row is not None else None
            if field is not None and change.before is None:
                raise Conflict(f"{self.name} already there", change.key, "nothing was changed")
            if field is not None:
                what = f"{self.name} was changed since ({field})"
                raise Conflict(what, change.key, "undo the later change first; see `nanomem log`")
            for name, value in (change.after or {}).items():
                if isinstance(value, str) and not value.isascii() and not _is_utf8(value):
                    raise BadInput("text with a lone surrogate, which is no UTF-8", name, "remove it")

    def begun(self, changes: Sequence[Change]) -> bool:
        """False: rows are made from the ledger itself."""
        return False

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make the changes in RAM; the next checkpoint writes them."""
        with self._snapshot.lock:
            for change in changes:
                self._snapshot.patch(change)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
