"""Items that an earlier release kept for every chat although the agent's file names their session: they become those of
the session's chat, as one operation that can be undone. Reads only; the store performs the operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nanomem_tui.operations import Change, Operation, new_operation
from nanomem_tui.store.fact_fields import fact_of
from nanomem_tui.store.scope_keys import placed_in_session
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.journal import Journal

KIND = "items.sessions"
"""The kind of that operation."""


def operation(items: Iterable[Item], journal: Journal) -> Operation | None:
    """Return the operation that gives such items to their chats, None where there are none.

    What a person made, moved, merged or accepted by hand, or took back with `undo`, stays as it is. Raises the store's
    errors.
    """
    rows = {row.id: row for row in items if _is_left_global(row)}
    if not rows:
        return None
    decided = {
        change.key
        for entry in journal.touching(list(rows), "human")
        for change in entry.changes
        if change.layer == "item" and change.key in rows and _decides(change)
    }
    changes = [
        change_of("item", row, placed_in_session(row, row.session_key or ""))
        for key, row in rows.items()
        if key not in decided
    ]
    if not changes:
        return None
    belongs, were = ("belongs", "it was") if len(changes) == 1 else ("belong", "they were")
    label = f"{counted(len(changes), 'item')} now {belongs} only to the chat where {were} said"
    return new_operation(KIND, label, changes, actor="import", meta={"started_by": "human"})


def _is_left_global(row: Item) -> bool:
    if row.scope_type != "global" or row.scope_key.startswith("channel:") or row.is_deleted or not row.session_key:
        return False
    if row.channel or row.chat_id or row.sender_id or row.kind != "fact":
        return False  # captured here, for every chat as the settings say
    return fact_of(row) is None and not {"merged_from", "copied_from"} & row.meta.keys()


def _decides(change: Change) -> bool:
    """Whether a person's change says to whom an item belongs."""
    if change.before is None or change.after is None:
        return True
    accepted = not change.before.get("enabled", True) and '"inbox":' in str(change.before.get("meta_json", ""))
    return "scope_key" in change.after or "scope_type" in change.after or accepted
