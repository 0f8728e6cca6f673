"""The rows in RAM (seed 000 §Architecture): what every read of the memory is answered from.

Owns the rows by id, the counters that turns moved since the last checkpoint, one lock, and the rules of what a change
of rows must fit. `store.Store` writes rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress
from operator import is_not
from typing import Any

from nanomem_tui.core.errors import BadInput, Conflict, NotFound, Refused
from nanomem_tui.core.operations import Change, Operation, Value
from nanomem_tui.core.text import is_utf8
from nanomem_tui.store.database.reading import COUNTERS, Reading, counted_since, refuse_moved, refuse_other_schema
from nanomem_tui.store.database.reading import meta as meta_of
from nanomem_tui.store.database.reading import rows as rows_of
from nanomem_tui.store.values import ROW_LAYERS, ROW_TYPES, AnyRow, Item, Lesson, Record

RowKey = tuple[str, str]
"""Layer and id of a row."""
Counts = dict[RowKey, tuple[int, str]]
"""How many hits more, and the time of the last."""
NAMES = {"item": "memory", "lesson": "lesson", "record": "record"}
"""What a person calls a row of a layer."""
NOT_COMPARED = frozenset({"revision", "updated_at", "hits", "last_accessed_at", "last_applied_at"})
"""Fields that a change does not compare: the time of a change is compared where it deletes."""


class Snapshot:
    """Items, lessons and records by id. Hold `lock` for reads that must agree with each other.

    `counter` grows with every change, so that a view can tell whether what it shows is still true. `revision` is the
    number of the last commit that is here (-1: nothing was read yet), `epoch` that of the database it was read from.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.items: dict[str, Item] = {}
        self.lessons: dict[str, Lesson] = {}
        self.records: dict[str, Record] = {}
        self.counter = 0
        self.revision = -1
        self.epoch = ""
        self._counts: Counts = {}
        self._watches: list[set[str]] = []

    def table(self, layer: str) -> dict[str, Any]:
        """Return the rows of one layer by id."""
        tables: dict[str, dict[str, Any]] = {"item": self.items, "lesson": self.lessons, "record": self.records}
        return tables[layer]

    def watch(self) -> set[str]:
        """Return a set that gets the id of every item that changes from now on; its owner empties it under `lock`."""
        with self.lock:
            self._watches.append(set())
            return self._watches[-1]

    def unwatch(self, watch: set[str]) -> None:
        """Fill a set of `watch` no more."""
        with self.lock:
            self._watches = [one for one in self._watches if one is not watch]

    # -- what the database has --------------------------------------------------------------------------------------

    def read(self, reading: Reading) -> bool:
        """Read what was committed since the last look, at first everything; return whether rows changed. Raises
        StoreError."""
        with self.lock, reading.open():
            meta = meta_of(reading)
            refuse_moved(meta, on_server=reading.on_server)
            if meta.epoch != self.epoch:
                refuse_other_schema(reading)
            if meta.epoch != self.epoch or self.revision < 0:
                self.clear()
                for layer in ROW_LAYERS:
                    self.put(layer, rows_of(reading, layer))
                self.epoch, self.revision = meta.epoch, meta.revision
                return True
            return meta.revision != self.revision and self.read_up_to(reading, meta.revision) > 0

    def read_up_to(self, reading: Reading, revision: int) -> int:
        """Read the rows that were written since the last look, the newest by commit `revision`; return how many."""
        read = 0
        for layer in ROW_LAYERS:
            read += self.put(layer, rows_of(reading, layer, since=self.revision))
            counted = counted_since(reading, layer, self.revision)
            read += self.put(layer, rows_of(reading, layer, ids=counted)) if counted else 0
        self.revision = revision
        return read

    def read_again(self, reading: Reading, layer: str, keys: Collection[str]) -> None:
        """Read rows anew; those that the database does not have are no longer here. Raises StoreError."""
        if keys:
            found = list(rows_of(reading, layer, ids=list(keys)))
            with self.lock:
                for key in set(keys) - {row.id for row in found}:
                    self.table(layer).pop(key, None)
                    self._note(layer, key)
            self.put(layer, found)

    def put(self, layer: str, rows: Iterable[AnyRow]) -> int:
        """Take rows as the database has them now; return how many. Counters that are not saved yet stay added."""
        count = 0
        with self.lock:
            table = self.table(layer)
            for row in rows:
                table[row.id] = self._with_counts(layer, row)
                self._note(layer, row.id)
                count += 1
        return count

    def patch(self, change: Change) -> None:
        """Show a change that is not written: what an agent's file holds, or a rehearsal does."""
        with self.lock:
            row = self.table(change.layer).get(change.key)
            if row is not None or change.before is None:
                self.put(change.layer, [patched(row, change, row.revision if row is not None else 0)])

    def clear(self) -> None:
        """Forget every row, for who loads them anew; counters that are not saved yet stay."""
        with self.lock:
            for key in self.items:
                self._note("item", key)
            for table in (self.items, self.lessons, self.records):
                table.clear()
            self.counter += 1

    def count(self, layer: str, key: str, hits: int, at: str) -> None:
        """Add hits to a counter, the last one at a time (ISO, UTC). Saved by the next checkpoint."""
        with self.lock:
            if key not in self.table(layer):
                return
            known, last = self._counts.get((layer, key), (0, ""))
            self._counts[layer, key] = (known + hits, max(last, at))
            self.show_count(layer, key, hits, at)

    def show_count(self, layer: str, key: str, hits: int, at: str) -> None:
        """Show hits that nobody is to save: those that an agent's file has, before they are taken over."""
        with self.lock:
            row = self.table(layer).get(key)
            if row is not None:
                self.table(layer)[key] = _counted(layer, row, hits, at)
                self._note(layer, key)

    def unsaved_counts(self) -> Counts:
        """Return the counters that the database does not have yet."""
        with self.lock:
            return dict(self._counts)

    def saved(self, counts: Mapping[tuple[str, str], tuple[int, str]]) -> None:
        """Take these off the unsaved counters: the database has them now."""
        with self.lock:
            for key, (hits, _) in counts.items():
                known, last = self._counts.get(key, (0, ""))
                if known > hits:
                    self._counts[key] = (known - hits, last)
                else:
                    self._counts.pop(key, None)

    def _with_counts(self, layer: str, row: AnyRow) -> AnyRow:
        hits, last = self._counts.get((layer, row.id), (0, ""))
        return _counted(layer, row, hits, last) if hits or last else row

    def _note(self, layer: str, key: str) -> None:
        self.counter += 1
        if layer == "item":
            for watch in self._watches:
                watch.add(key)


def patch_of(before: AnyRow | None, after: AnyRow) -> tuple[Value | None, Value]:
    """Return the changed fields of a row before and after, as an operation records them; None for a row that is new."""
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
    """Return the change that turns `before` into `after`."""
    old, new = patch_of(before, after)
    return Change(layer, after.id, old, new)


def difference(row: AnyRow, change: Change) -> str:
    """Return the first field in which a row is not what a change starts from; "" when it can be made.

    Only fields that the change touches are compared. A delete compares the time of the last change as well, so that to
    undo an older delete never brings back what was written after it.
    """
    before = change.before or {}
    deletes = "is_deleted" in before
    for name, value in before.items():
        if name in NOT_COMPARED and not (deletes and name == "updated_at"):
            continue
        if name in row._fields and getattr(row, name) != value:
            return name
    return ""


def refuse_unfit(
    change: Change,
    row: AnyRow | None,
    *,
    known: int | None = None,
    to_deleted: bool = False,
    by: Callable[[Change], str] = lambda _: "",
) -> None:
    """Raise Conflict, or NotFound, where a row is not what a change starts from.

    `known`: the last commit that whoever made the change had seen. `to_deleted`: a deleted row may change. `by`: what
    changed the row last, in words.
    """
    name = NAMES[change.layer]
    if change.before is None:
        if row is not None and not row.is_deleted:
            raise Conflict(f"a {name} of this id is there already", change.key, "nothing was changed")
        return
    if row is None:
        raise NotFound(f"no such {name}", change.key, "nothing was changed")
    if row.is_deleted and not change.before.get("is_deleted") and not to_deleted:
        raise Conflict(f"the {name} was deleted since{by(change)}", change.key, "undo that first")
    if difference(row, change) or (known is not None and row.revision > known):
        what = f"the {name} was changed since{by(change)}"
        raise Conflict(what, change.key, "look at it again, or undo that first: see `nanomem log`")


def patched(row: AnyRow | None, change: Change, revision: int) -> AnyRow:
    """Return the row with a change made to it; `after` None deletes it. A new row has every field in `after`.

    Counters stay as they are, and a time of change that moved on since stays.
    """
    if change.after is None:
        assert row is not None
        return row._replace(is_deleted=True, revision=revision)
    kind = ROW_TYPES[change.layer]
    fields = {name: value for name, value in change.after.items() if name in kind._fields}
    if row is None:
        fields["source"] = fields.get("source") or UNKNOWN
        return kind(**{**fields, "revision": revision})
    for name in COUNTERS[change.layer]:
        fields.pop(name, None)
    before = change.before
    if before is not None and "updated_at" in before and row.updated_at != before["updated_at"]:
        fields.pop("updated_at", None)
    if before is None and "is_deleted" not in fields:
        fields["is_deleted"] = False
    return row._replace(**{**fields, "revision": revision})


def _counted(layer: str, row: Any, hits: int, at: str) -> Any:
    if not COUNTERS[layer]:
        return row
    name, last = COUNTERS[layer]
    newest = max(getattr(row, last) or "", at)
    return row._replace(**{name: row.hits + hits, last: newest or getattr(row, last)})


# -- changes of rows in RAM -------------------------------------------------------------------------------------------


class RowLayer:
    """One layer of rows over a snapshot."""

    def __init__(self, name: str, snapshot: Snapshot) -> None:
        self.name = name
        self._snapshot = snapshot

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict or NotFound when a row is not what a change starts from (counters may have moved), BadInput
        when a text is none that UTF-8 can hold."""
        table = self._snapshot.table(self.name)
        for change in changes:
            refuse_unfit(change, table.get(change.key))
            refuse_lone_surrogates(change)

    def begun(self, changes: Sequence[Change]) -> bool:
        """False: rows are written with the operation, or not at all."""
        return False

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make the changes in RAM alone."""
        with self._snapshot.lock:
            for change in changes:
                self._snapshot.patch(change)


def refuse_lone_surrogates(change: Change) -> None:
    """Raise BadInput when a text that a change writes is none that UTF-8 can hold."""
    for name, value in (change.after or {}).items():
        if isinstance(value, str) and not value.isascii() and not is_utf8(value):
            raise BadInput("text with a lone surrogate, which is no UTF-8", name, "remove it")


# -- what waits in the inbox becomes active by a person alone ---------------------------------------------------------

SAID_AGAIN = "said_again"
"""The free field of a row that tells in whose words it came out of the inbox."""
_MARK = '"inbox":'
"""What the free fields of a row that waits hold; the database looks for it as well, which may not parse them."""
UNKNOWN = "unknown"
"""The source of a row that names none."""


def refuse_unaccepted(operation: Operation, layers: Sequence[tuple[str, Sequence[Change]]], snapshot: Snapshot) -> None:
    """Raise Refused where an operation that no person made would enable a row of the inbox."""
    if operation.actor == "human":
        return
    for name, changes in layers:
        for change in changes if name in ROW_LAYERS else ():
            after = change.after or {}
            if not after.get("enabled") or after.get("is_deleted"):
                continue
            row = snapshot.table(name).get(change.key)
            if row is None or isinstance(row, Record) or row.enabled or row.is_deleted or _MARK not in row.meta_json:
                continue
            said = isinstance(meta := after.get("meta_json"), str) and f'"{SAID_AGAIN}":' in meta
            if operation.kind != "turn" or not said or _finding(row.meta) != "origin":
                what = f"it waits in the inbox, and a person decides: {operation.label}"
                raise Refused(what, change.key, f"`nanomem inbox accept {change.key}`, or reject it")


def _finding(meta: dict[str, object]) -> object:
    held = meta.get("inbox")
    return held.get("finding") if isinstance(held, dict) else None
