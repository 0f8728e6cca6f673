"""The earlier values of many facts at once, for an export: the log is read once, not once a fact. Reads only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from nanomem_tui.core.operations import Change
from nanomem_tui.facts.value_history import values_of
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.operations import LogEntry
from nanomem_tui.store.values import Item

FEW = 20
"""Facts whose operations are asked for one by one."""
MOST = 1_000_000
_TOLD = ("value", "since", "until", "actor", "session_key", "source_message_id")


def earlier(store: MemoryStore, facts: Iterable[Item]) -> dict[str, list[dict[str, Any]]]:
    """What each of these facts was before, newest first, by its id; those that were never anything else are left out.

    Each value: what, since and until when, who gave it, and the session and message that it is from.
    """
    rows = store.load().items
    wanted = [row for row in facts if '"fact"' in row.meta_json and _may_have(row)]
    by_key: Mapping[str, list[LogEntry]] | None = _by_key(store) if len(wanted) > FEW else None

    def log_of(key: str) -> list[LogEntry]:
        return by_key.get(key, []) if by_key is not None else store.journal.log(10_000, key=key)

    found: dict[str, list[dict[str, Any]]] = {}
    for row in wanted:
        values = [one.to_json() for one in values_of(row, log_of, rows) if one.until]
        if values:
            found[row.id] = [{name: one[name] for name in _TOLD if one[name]} for one in values]
    return found


def _may_have(row: Item) -> bool:
    return row.updated_at != row.created_at or '"merged"' in row.meta_json or '"earlier"' in row.meta_json


def _by_key(store: MemoryStore) -> Mapping[str, list[LogEntry]]:
    """The operations on each fact, newest first, each with its changes of that fact alone."""
    found: dict[str, list[LogEntry]] = defaultdict(list)
    rows = store.load().items
    for entry in store.journal.log(MOST):
        changes: dict[str, list[Change]] = defaultdict(list)
        for change in entry.operation.changes:
            if change.layer == "item" and change.key in rows and '"fact"' in rows[change.key].meta_json:
                changes[change.key].append(change)
        for key, own in changes.items():
            found[key].append(entry._replace(operation=entry.operation._replace(changes=own)))
    return found
