"""Edits of rows: the label of an operation, and conflicts between edits of the same field.

Labels quote a memory with its secrets masked, because a label outlives the row: it is shown in the log, by undo and in
commit messages. An edit checks that the row is as it was shown; where two programs changed one field, both values are
kept in the row until a person settles it; `memory/undo.py` undoes one beside later edits. Pure functions over rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.text import quoted
from nanomem_tui.store.values import AnyRow, dumped


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
