"""What an undo writes: the changes of an operation with before and after exchanged, as fits what stands there now.

`Workspace.undo` chooses the operation and performs what `undo_changes` returns. An expired memory begins its time
anew, and where two changed one thing at the same time, a row goes back to what stood before in the row as it was
merged, not to what the maker of the operation saw. Lines of the agent's files are put back by `dreams/edits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory import edit_conflicts, retention
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Record

History = Callable[[str], Sequence[LogEntry]]
"""The operations that touched a key, newest first."""


def undo_changes(operation: Operation, store: MemoryStore, history: History) -> Sequence[Change]:
    """Return the changes that undo an operation on the rows that the store holds now.

    Raises Conflict where a row was deleted since.
    """
    changes: Sequence[Change] = operation.inverse()
    if any(change.layer == "item" for change in changes):
        changes = _renew_expiry(operation, changes, store)
    if any(change.layer in ROW_LAYERS for change in changes):
        changes = _merge_later_edits(operation, changes, store.load(), history)
    return changes


def _renew_expiry(operation: Operation, changes: Sequence[Change], store: MemoryStore) -> Sequence[Change]:
    now, rows = clock.now(), store.load("item").items
    if operation.kind == retention.KIND:
        return [_anew(change, rows.get(change.key), now, store.settings) for change in changes]
    return [_gone(change, rows.get(change.key)) for change in changes]


def _gone(change: Change, row: Item | None) -> Change:
    """Return the undo of a new memory, whose expiry may have moved since."""
    if row is None or change.layer != "item" or change.before is None or change.after is not None:
        return change
    if change.before.get("expires_at") == row.expires_at:
        return change
    return change._replace(before={**change.before, "expires_at": row.expires_at})


def _anew(change: Change, row: Item | None, now: datetime, settings: Settings) -> Change:
    if row is None or change.before is None or change.after is None or not retention.is_expired(row, now):
        return change
    later = retention.expires_at(row.kind, now, settings)
    return change._replace(
        before={**change.before, "expires_at": row.expires_at}, after={**change.after, "expires_at": later}
    )


def _merge_later_edits(
    operation: Operation, back: Sequence[Change], rows: Snapshot, history: History
) -> Sequence[Change]:
    """Return the changes `back`, which take the operation back, as fits rows that hold what another one made of them.

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
    noted = edit_conflicts.conflicting_values(row)
    if not noted:
        return back
    if back.before.get("is_deleted"):  # it never was: who wrote at the same time kept it
        return (
            _settling(back._replace(before={}, after={}), row, [edit_conflicts.GONE])
            if edit_conflicts.GONE in noted
            else back
        )
    before = _older(operation, history(back.key))
    if edit_conflicts.GONE in noted and before and _sets(before[0], back.key, edit_conflicts.GONE, True):
        return _settling(_with(back, row, {edit_conflicts.GONE: True}), row, [edit_conflicts.GONE])
    if not isinstance(row, Item | Record):  # a lesson has a key made of its words
        return back
    stood = {name: noted[name] for name in noted.keys() & back.after.keys() if getattr(row, name) == back.before[name]}
    stood = {name: theirs for name, theirs in stood.items() if _met(before, back, name, theirs)}
    return _settling(_with(back, row, stood), row, list(stood)) if stood else back


def _older(operation: Operation, entries: Sequence[LogEntry]) -> list[LogEntry]:
    ids = [entry.operation.id for entry in entries]
    at = ids.index(operation.id) + 1 if operation.id in ids else len(ids)
    return [entry for entry in entries[at:] if not entry.undone and not entry.operation.undoes]


def _met(before: Sequence[LogEntry], back: Change, name: str, theirs: Any) -> bool:
    """Return whether the operation met the other one's value: written after what its maker saw."""
    assert back.after is not None
    for entry in before:
        if _sets(entry, back.key, name, theirs):
            return True
        if _sets(entry, back.key, name, back.after[name]):
            return False
    return False


def _sets(entry: LogEntry, key: str, name: str, value: Any) -> bool:
    return any((change.after or {}).get(name) == value for change in entry.operation.changes_of(key))


def _with(back: Change, row: AnyRow, fields: dict[str, Any]) -> Change:
    old = {name: getattr(row, name) for name in fields}
    return back._replace(before={**(back.before or {}), **old}, after={**(back.after or {}), **fields})


def _settling(back: Change, row: AnyRow, names: Sequence[str]) -> Change:
    return _with(back, row, {"meta_json": edit_conflicts.drop_conflict(row, names)})
