"""Which rows of another system's database are its own again: those whose import was taken back.

Reads the log only. Must not know a database or a screen.
"""

from __future__ import annotations

from collections.abc import Sequence

from nanomem_tui.store.journal import Journal
from nanomem_tui.store.oplog import LogEntry


def taken_back(journal: Journal, ids: set[str]) -> set[str]:
    """Those of the deleted items that went because what brought them was undone; not those that somebody deleted.

    Reads no more of the log than it must; nothing of it when there are no `ids`.
    """
    found: dict[str, bool] = {}

    def all_told(entries: Sequence[LogEntry]) -> bool | None:
        found.clear()
        for key, by_undo in _last_words(entries):
            if key in ids:
                found.setdefault(key, by_undo)
        return True if len(found) == len(ids) else None

    if ids:
        journal.look(all_told)
    return {key for key, by_undo in found.items() if by_undo}


def _last_words(entries: Sequence[LogEntry]) -> list[tuple[str, bool]]:
    """(item, whether an undo made it as if it had never been) of every change that was done, newest first."""
    void = {entry.operation.undoes for entry in entries if entry.operation.kind == "void"}
    return [
        (change.key, entry.operation.kind == "undo" and change.after is None)
        for entry in entries
        if entry.operation.id not in void
        for change in entry.operation.changes
        if change.layer == "item"
    ]
