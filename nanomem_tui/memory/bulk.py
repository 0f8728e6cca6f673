"""Editing several items at once, as one operation that one undo takes back.

Owns nothing of what an edit may be: `Items.edit` checks each row. Must not write by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.operations import Operation, Perform, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory.items import Items
from nanomem_tui.memory.labels import told
from nanomem_tui.memory.recall import Recall
from nanomem_tui.store.memory_store import MemoryStore


def edit_items(store: MemoryStore, perform: Perform, ids: Sequence[str], fields: Mapping[str, Any]) -> Operation:
    """Set `fields` of every item of `ids`; rows that are so already stay. Raises what `Items.edit` does."""
    parts: list[Operation] = []

    def keep(operation: Operation) -> Operation:
        parts.append(operation)
        return operation

    items = Items(store, (), keep, lambda: Recall(store, store.settings))
    for item_id in ids:
        try:
            items.edit(item_id, **fields)
        except NothingToDo:
            continue
    if not parts:
        raise NothingToDo("nothing to change", ", ".join(ids))
    if len(parts) == 1:
        return perform(parts[0])
    values = {name: told(str(value)) if name == "text" else value for name, value in fields.items()}
    label = f"edit {counted(len(parts), 'item')}: {', '.join(f'{name} {value}' for name, value in values.items())}"
    return perform(new_operation("items.edit", label, [change for part in parts for change in part.changes]))
