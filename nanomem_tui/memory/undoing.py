"""What an undo takes back where two changed one thing at the same time: to what stood before it in the row as it was
merged, not to what its maker saw.

Must not perform anything. Reads the rows, and the history of those that hold what another one wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.memory import unsettled
from nanomem_tui.store.operations import LogEntry
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Record

History = Callable[[str], Sequence[LogEntry]]
"""The operations that touched a key, newest first."""


def as_merged(operation: Operation, back: Sequence[Change], rows: Snapshot, history: History) -> Sequence[Change]:
    """The changes `back`, which take the operation back, as fits rows that hold what another one made of them.

    Raises Conflict where a row was deleted since: nobody would see what is taken back in it."""
    for change in back:
        row = rows.table(change.layer).get(change.key) if change.layer in ROW_LAYERS else None
        values = {**(change.before or {}), **(change.after or {})}
        is_edit = bool(change.before and change.after) and "is_deleted" not in values
        if row is not None and row.is_deleted and is_edit:
            raise Conflict("it was deleted since", change.key, "undo the deletion first")
    return [_fitted(operation, change, rows, history) for change in back]


def _fitted(operation: Operation, back: Change, rows: Snapshot, history: History) -> Change:
    row = rows.table(back.layer).get(back.key) if back.layer in ROW_LAYERS else None
    if row is None or row.is_deleted or back.before is None or back.after is None or "meta_json" in back.before:
        return back
    noted = unsettled.others(row)
    if not noted:
        return back
    if back.before.get("is_deleted"):  # it never was: who wrote at the same time kept it
        return _settling(back._replace(before={}, after={}), row, [unsettled.GONE]) if unsettled.GONE in noted else back
    before = _older(operation, history(back.key))
    if unsettled.GONE in noted and before and _sets(before[0], back.key, unsettled.GONE, True):
        return _settling(_with(back, row, {unsettled.GONE: True}), row, [unsettled.GONE])
    if not isinstance(row, Item | Record):  # a lesson has a key made of its words
        return back
    stood = {name: noted[name] for name in noted.keys() & back.after.keys() if getattr(row, name) == back.before[name]}
    stood = {name: theirs for name, theirs in stood.items() if _met(before, back, name, theirs)}
    return _settling(_with(back, row, stood), row, list(stood)) if stood else back


def _older(operation: Operation, entries: Sequence[LogEntry]) -> list[LogEntry]:
    """What stands and was done before it, newest first."""
    ids = [entry.operation.id for entry in entries]
    at = ids.index(operation.id) + 1 if operation.id in ids else len(ids)
    return [entry for entry in entries[at:] if not entry.undone and not entry.operation.undoes]


def _met(before: Sequence[LogEntry], back: Change, name: str, theirs: Any) -> bool:
    """Whether the operation met the other one's value: written after what its maker saw."""
    assert back.after is not None
    for entry in before:
        if _sets(entry, back.key, name, theirs):
            return True
        if _sets(entry, back.key, name, back.after[name]):
            return False
    return False


def _sets(entry: LogEntry, key: str, name: str, value: Any) -> bool:
    return any((change.after or {}).get(name) == value for change in entry.operation.of(key))


def _with(back: Change, row: AnyRow, fields: dict[str, Any]) -> Change:
    old = {name: getattr(row, name) for name in fields}
    return back._replace(before={**(back.before or {}), **old}, after={**(back.after or {}), **fields})


def _settling(back: Change, row: AnyRow, names: Sequence[str]) -> Change:
    return _with(back, row, {"meta_json": unsettled.without(row, names)})
