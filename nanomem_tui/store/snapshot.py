"""The RAM snapshot (seed 000 §Architecture): items and lessons, a re-entrant lock, and what is dirty.

Owns the rows in memory and the two row layers of operations. Must not read or write a disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from nanomem_tui.errors import Conflict
from nanomem_tui.operations import Change, Operation, Value
from nanomem_tui.store.values import Item, Lesson, Row

ROW_TYPES: dict[str, type[Item | Lesson]] = {"item": Item, "lesson": Lesson}
COUNTERS = frozenset({"hits", "last_accessed_at", "last_applied_at", "updated_at", "revision"})
"""Fields that turns move by themselves: they never make an undo conflict."""

RowKey = tuple[str, str]
"""Layer name and row id."""


@dataclass(frozen=True, slots=True)
class DirtyRow:
    """A row that a checkpoint has to write: what it was when it was last in step with the database, and what it is."""

    layer: str
    base: Row | None
    row: Row


def patch_of(before: Row | None, after: Row) -> tuple[Value | None, Value]:
    """The changed fields of a row before and after, as an operation records them; None for a row that is new."""
    full = after._asdict()
    if before is None:
        return None, {name: value for name, value in full.items() if name != "revision"}
    old = before._asdict()
    changed = [name for name, value in full.items() if name != "revision" and old[name] != value]
    return {name: old[name] for name in changed}, {name: full[name] for name in changed}


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

    def table(self, layer: str) -> dict[str, Row]:
        """The rows of one layer."""
        return cast("dict[str, Row]", self.items if layer == "item" else self.lessons)

    @property
    def dirty(self) -> int:
        """How many rows differ from the database."""
        return len(self._base)

    def dirty_rows(self) -> list[DirtyRow]:
        """What a checkpoint has to write."""
        with self.lock:
            return [DirtyRow(layer, base, self.table(layer)[key]) for (layer, key), base in self._base.items()]

    def put(self, layer: str, row: Row, *, dirty: bool = True) -> None:
        """Set a row; `dirty` rows are written by the next checkpoint."""
        with self.lock:
            table = self.table(layer)
            if dirty:
                self._base.setdefault((layer, row.id), table.get(row.id))
            table[row.id] = row
            self.counter += 1

    def settle_row(self, layer: str, key: str) -> None:
        """Take a row's present value as in step with the database: it is another process's to write."""
        with self.lock:
            self._base.pop((layer, key), None)

    def patch(self, change: Change) -> None:
        """Make one change true; a patch of a row that is not there is left out (another process removed it)."""
        with self.lock:
            current = self.table(change.layer).get(change.key)
            if change.after is None:
                if current is not None:
                    self.put(change.layer, current._replace(is_deleted=True))
            elif current is not None:
                self.put(change.layer, current._replace(**change.after))
            elif change.before is None:
                self.put(change.layer, row_from(change.layer, change.after))

    def settle(self, written: Sequence[DirtyRow], rows: Iterable[tuple[str, Row]]) -> None:
        """After a checkpoint: take the rows as the database has them now; what changed meanwhile stays dirty."""
        with self.lock:
            sent = {(entry.layer, entry.row.id): entry.row for entry in written}
            for layer, row in rows:
                key = (layer, row.id)
                table = self.table(layer)
                if key not in sent or table.get(row.id) is sent[key]:
                    table[row.id] = row
                    self._base.pop(key, None)
                else:
                    self._base[key] = row
                self.counter += 1

    def take(self, layer: str, rows: Iterable[Row]) -> int:
        """Take rows that another process committed; rows that are dirty here keep waiting for the merge."""
        taken = 0
        with self.lock:
            for row in rows:
                if (layer, row.id) in self._base:
                    continue
                if self.table(layer).get(row.id) != row:
                    self.table(layer)[row.id] = row
                    taken += 1
            self.counter += bool(taken)
        return taken

    def replace_all(self, items: Iterable[Item], lessons: Iterable[Lesson]) -> None:
        """Exchange everything that is not dirty."""
        with self.lock:
            kept = [(layer, self.table(layer)[key]) for layer, key in self._base]
            self.items = {item.id: item for item in items}
            self.lessons = {lesson.id: lesson for lesson in lessons}
            for layer, row in kept:
                self.table(layer)[row.id] = row
            self.counter += 1


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
        """Raise Conflict when a row is not what a change starts from; counters may have moved."""
        table = self._snapshot.table(self.name)
        for change in changes:
            row = table.get(change.key)
            if change.before is None:
                if row is not None and not row.is_deleted:
                    raise Conflict(f"{self.name} already there", change.key, "nothing was changed")
                continue
            if row is None:
                raise Conflict(f"{self.name} is gone", change.key, "nothing was changed")
            for field, value in change.before.items():
                if field not in COUNTERS and getattr(row, field, value) != value:
                    what = f"{self.name} was changed since ({field})"
                    raise Conflict(what, change.key, "undo the later change first; see `nanomem log`")

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make the changes in RAM; the next checkpoint writes them."""
        with self._snapshot.lock:
            for change in changes:
                self._snapshot.patch(change)
