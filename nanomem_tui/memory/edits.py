"""Edits of rows: the label of an operation, and conflicts between edits of the same field.

Labels quote a memory with its secrets masked, because a label outlives the row: it is shown in the log, by undo and in
commit messages. An edit checks that the row is as it was shown; where two programs changed one field, both values are
kept in the row until a person settles it, and an undo merges with later edits. Pure functions over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.text import quoted
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Record, dumped


def quote_start(text: str) -> str:
    """Return the beginning of a text between quotation marks, masked before it is cut."""
    from nanomem_tui.language import secrets  # a status makes no label: it reads no rules of words

    return quoted(secrets.mask_start(text))


# -- Whether a row is still what a person was shown when the edit began. Pure -----------------------------------------


def check_unchanged(row: AnyRow, shown: AnyRow | None, fields: Mapping[str, Any]) -> None:
    """Without `shown` nothing is expected."""
    for name, value in fields.items() if shown is not None else ():
        was, now = getattr(shown, name), getattr(row, name)
        if now not in (was, value):
            what = f"somebody changed the {name.replace('_', ' ')} meanwhile, from {quoted(str(was), 80)}"
            raise Conflict(f"{what} to {quoted(str(now), 80)}", row.id, "save again to replace it")


# What two wrote at the same time without knowing of each other: what the other one said, and how that is settled.

FIELD = "conflict"
"""The free field that holds the other one's value of each field."""
GONE = "is_deleted"
"""The field that is noted where the other one deleted it."""


def conflicting_values(row: AnyRow) -> dict[str, Any]:
    """Return what the other one made of each field; empty where nothing is to be settled."""
    found = row.meta.get(FIELD) if FIELD in row.meta_json else None
    return found if isinstance(found, dict) else {}


def conflict_lines(row: AnyRow) -> list[str]:
    """Return the same in sentences, for a detail."""
    return [
        "Conflict: someone else deleted it at the same time, and did not know what it says now."
        if name == GONE
        else f"Conflict: someone else changed the {name} at the same time. Theirs: {theirs}"
        for name, theirs in conflicting_values(row).items()
    ]


def settle_conflict(row: AnyRow, fields: Iterable[str] | None = None) -> str:
    """Return the free fields without the conflict on these fields; writing any field settles a deletion too."""
    return drop_conflict(row, conflicting_values(row) if fields is None else {*fields, GONE})


def drop_conflict(row: AnyRow, fields: Iterable[str]) -> str:
    """Return the free fields without what is noted of those fields."""
    noted, gone = conflicting_values(row), frozenset(fields)
    left = {name: theirs for name, theirs in noted.items() if name not in gone}
    if left == noted:
        return row.meta_json
    meta = {name: value for name, value in row.meta.items() if name != FIELD}
    return dumped({**meta, **({FIELD: left} if left else {})})


# What an undo takes back where two changed one thing at the same time: to what stood before it in the row as it was
# merged, not to what its maker saw.

History = Callable[[str], Sequence[LogEntry]]
"""The operations that touched a key, newest first."""


def merge_undo(operation: Operation, back: Sequence[Change], rows: Snapshot, history: History) -> Sequence[Change]:
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
    noted = conflicting_values(row)
    if not noted:
        return back
    if back.before.get("is_deleted"):  # it never was: who wrote at the same time kept it
        return _settling(back._replace(before={}, after={}), row, [GONE]) if GONE in noted else back
    before = _older(operation, history(back.key))
    if GONE in noted and before and _sets(before[0], back.key, GONE, True):
        return _settling(_with(back, row, {GONE: True}), row, [GONE])
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
    return any((change.after or {}).get(name) == value for change in entry.operation.of(key))


def _with(back: Change, row: AnyRow, fields: dict[str, Any]) -> Change:
    old = {name: getattr(row, name) for name in fields}
    return back._replace(before={**(back.before or {}), **old}, after={**(back.after or {}), **fields})


def _settling(back: Change, row: AnyRow, names: Sequence[str]) -> Change:
    return _with(back, row, {"meta_json": drop_conflict(row, names)})
