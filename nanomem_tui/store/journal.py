"""The log of operations as one: those in the database and, on top, those that wait in ledger files. Reads only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from nanomem_tui.store import ledger, oplog, reader
from nanomem_tui.store.oplog import LogEntry

T = TypeVar("T")
WINDOWS = (50, 1_000, 50_000, 10_000_000)
"""How many of the newest operations are looked through, step by step, for what undo and redo take next."""


class Journal:
    """The operations of one workspace; `has_database` says whether its database was ever made."""

    def __init__(self, workspace_id: str, database: Path, folder: Path, has_database: Callable[[], bool]) -> None:
        self.workspace_id = workspace_id
        self.database = database
        self.folder = folder
        self.has_database = has_database

    def log(self, limit: int, *, key: str | None = None) -> list[LogEntry]:
        """The newest operations, those in ledger files included; `key`: only those that touched that thing."""
        files = ledger.read_all(self.folder)
        stored: list[LogEntry] = []
        known: set[str] = set()
        if self.has_database():
            with reader.open_database(self.database) as connection:
                found = reader.operations(connection, self.workspace_id, limit=limit, key=key)
                stored = [_entry(operation) for operation in found]
                in_files = [operation.id for file in files for operation in file.operations]
                known = reader.known_operations(connection, in_files)
        waiting = ledger.in_order(file.operations for file in files)
        entries = oplog.overlay(stored, [operation for operation in waiting if operation.id not in known])
        if key is not None:
            entries = [e for e in entries if any(change.key == key for change in e.operation.changes)]
        return entries[:limit]

    def look(self, search: Callable[[list[LogEntry]], T | None]) -> T | None:
        """The first answer that `search` finds among the newest operations, in windows that grow to all of them."""
        for limit in WINDOWS:
            entries = self.log(limit)
            answer = search(entries)
            if answer is not None or len(entries) < limit:
                return answer
        return None

    def find(self, op_id: str) -> LogEntry | None:
        """One operation by id, wherever it is."""
        for entry in self.log(WINDOWS[0]):
            if entry.operation.id == op_id:
                return entry
        if self.has_database():
            with reader.open_database(self.database) as connection:
                stored = reader.operation(connection, self.workspace_id, op_id)
            return _entry(stored) if stored is not None else None
        return None

    def after(self, seq: int) -> list[LogEntry]:
        """What the database has behind that place in its order, oldest first."""
        if not self.has_database():
            return []
        with reader.open_database(self.database) as connection:
            return [_entry(stored) for stored in reader.operations_after(connection, self.workspace_id, seq)]

    def newest(self, kind: str, actor: str) -> LogEntry | None:
        """The newest operation of a kind by an actor."""
        for entry in self.log(WINDOWS[0]):
            if (entry.operation.kind, entry.operation.actor) == (kind, actor):
                return entry
        if not self.has_database():
            return None
        with reader.open_database(self.database) as connection:
            stored = reader.newest_of_kind(connection, self.workspace_id, kind, actor)
        return _entry(stored) if stored is not None else None


def _entry(stored: reader.StoredOperation) -> LogEntry:
    return LogEntry(stored.operation, stored.undone, stored.seq)
