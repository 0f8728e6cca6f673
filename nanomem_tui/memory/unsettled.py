"""What two wrote at the same time without knowing of each other: what the other one said, and how that is settled.

Owns the words and what settles it. That it is noted is the merge's (`store.exchange`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nanomem_tui.store.values import AnyRow, dumped

FIELD = "conflict"
"""The free field that holds the other one's value of each field."""
GONE = "is_deleted"
"""The field that is noted where the other one deleted it."""


def others(row: AnyRow) -> dict[str, Any]:
    """What the other one made of each field; empty where nothing is to be settled."""
    found = row.meta.get(FIELD) if FIELD in row.meta_json else None
    return found if isinstance(found, dict) else {}


def unsettled_lines(row: AnyRow) -> list[str]:
    """The same in sentences, for a detail."""
    return [
        "Conflict: someone else deleted it at the same time, and did not know what it says now."
        if name == GONE
        else f"Conflict: someone else changed the {name} at the same time. Theirs: {theirs}"
        for name, theirs in others(row).items()
    ]


def settled(row: AnyRow, fields: Iterable[str] | None = None) -> str:
    """The free fields once a person wrote those fields, or decided on all that is noted: who writes anything of a thing
    says that it stays."""
    return without(row, others(row) if fields is None else {*fields, GONE})


def without(row: AnyRow, fields: Iterable[str]) -> str:
    """The free fields without what is noted of those fields."""
    noted, gone = others(row), frozenset(fields)
    left = {name: theirs for name, theirs in noted.items() if name not in gone}
    if left == noted:
        return row.meta_json
    meta = {name: value for name, value in row.meta.items() if name != FIELD}
    return dumped({**meta, **({FIELD: left} if left else {})})
