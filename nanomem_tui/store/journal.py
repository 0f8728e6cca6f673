"""The log of operations as one: those in the database and, on top, those that wait in ledger files. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nanomem_tui.errors import StoreError
from nanomem_tui.operations import Operation
from nanomem_tui.store import oplog, stored_operations
from nanomem_tui.store.oplog import LogEntry
from nanomem_tui.store.stored_operations import StoredOperation

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

T = TypeVar("T")


class Rows(Protocol):
    """What the journal asks of the store."""

    workspace_id: str

    @property
    def server(self) -> object | None:
        """Where the database lies, if it is no file."""

    @property
    def has_database(self) -> bool:
        """Whether a database was ever made."""

    def read(self, ask: Callable[[Connection], Any]) -> Any:
        """The answer of the database, or of what stands in for it."""

    def waiting(self) -> Sequence[Operation]:
        """The operations that lie in ledger files, in order, known to the database or not."""


class Journal:
    """The operations of one workspace."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._id = rows.workspace_id

    def log(self, limit: int, *, offset: int = 0, key: str | None = None) -> list[LogEntry]:
        """The newest operations but the first `offset`, those in ledger files included; `key`: only those that touched
        that thing. Reads no more of the database than it gives back, and of a large operation not what it touched."""
        waiting = self._rows.waiting()
        if not self._rows.has_database:
            return _of_key(oplog.overlay((), waiting), key)[offset : offset + limit]

        def ask(connection: Connection) -> list[LogEntry]:
            known = stored_operations.known(connection, self._id, waiting)
            fresh = [operation for operation in waiting if operation.id not in known]
            on_top = len(_of_key(oplog.overlay((), fresh), key))
            skipped = max(0, offset - on_top)
            found = stored_operations.operations(connection, self._id, limit=limit, offset=skipped, key=key)
            on_disk = [self._entry(stored) for stored in found]
            ids = {entry.operation.id for entry in on_disk}  # those touched the key, as the database knows
            entries = [
                entry
                for entry in oplog.overlay(on_disk, fresh)
                if key is None or entry.operation.id in ids or entry.operation.of(key)
            ]
            return entries[offset - skipped : offset - skipped + limit]

        entries: list[LogEntry] = self._rows.read(ask)
        return entries

    def look(self, search: Callable[[list[LogEntry]], T | None]) -> T | None:
        """The first answer that `search` finds among the newest operations, in windows that grow to all of them; where
        a server is away, among those that wait to be written, which are the newest of this home."""
        for limit in oplog.WINDOWS:
            try:
                entries = self.log(limit)
            except StoreError:
                answer = search(oplog.overlay((), self._rows.waiting())) if self._rows.server is not None else None
                if answer is None:
                    raise
                return answer
            answer = search(entries)
            if answer is not None or len(entries) < limit:
                return answer
        return None

    def find(self, op_id: str) -> LogEntry | None:
        """One operation by id, wherever it is."""
        return self._one(
            lambda operation: operation.id == op_id,
            lambda connection: stored_operations.operation(connection, self._id, op_id),
        )

    def logged(self, op_id: str) -> LogEntry | None:
        """One recent operation by id, and whether it stands by all that is recorded: also by what another process did
        with it before it was written here."""
        return self.look(lambda entries: next((one for one in entries if one.operation.id == op_id), None))

    def after(self, seq: int) -> list[LogEntry]:
        """What the database has behind that place in its order, oldest first."""
        if not self._rows.has_database:
            return []
        found = self._rows.read(lambda connection: stored_operations.operations_after(connection, self._id, seq))
        return [self._entry(stored) for stored in found]

    def end(self) -> int:
        """The place of the newest operation in the database's order, 0 when it has none."""
        if not self._rows.has_database:
            return 0
        return int(self._rows.read(lambda connection: stored_operations.last_position(connection, self._id)))

    def touching(self, keys: Sequence[str], actor: str) -> list[Operation]:
        """The operations of an actor that touched one of these things, those in ledger files included."""
        found = [one for one in self._rows.waiting() if one.actor == actor and any(map(one.of, keys))]
        if self._rows.has_database:
            stored = self._rows.read(lambda it: stored_operations.touching(it, self._id, keys, actor))
            found += [self._entry(one).operation for one in stored]
        return found

    def taken_back(self, kind: str) -> frozenset[str]:
        """The ids of the things that operations of a kind made and that were taken back with them: nobody deleted them
        one by one. Of the newest thousand operations."""
        return oplog.made_and_undone(self.log(1_000), kind)

    def taken_away(self, layer: str) -> frozenset[str]:
        """The things of a layer that somebody deleted and that did not come back by an operation. Of the newest
        thousand operations."""
        return oplog.deleted(self.log(1_000), layer)

    def newest(self, kind: str, actor: str) -> LogEntry | None:
        """The newest operation of a kind by an actor."""
        return self._one(
            lambda operation: (operation.kind, operation.actor) == (kind, actor),
            lambda connection: stored_operations.newest_of_kind(connection, self._id, kind, actor),
        )

    def _one(
        self, fits: Callable[[Operation], bool], ask: Callable[[Connection], StoredOperation | None]
    ) -> LogEntry | None:
        """The newest operation that fits; no other is read from the database."""
        waiting = self._rows.waiting()

        def look(connection: Connection) -> list[LogEntry]:
            known = stored_operations.known(connection, self._id, waiting)
            stored = ask(connection)
            fresh = [operation for operation in waiting if operation.id not in known]
            return oplog.overlay([self._entry(stored)] if stored is not None else (), fresh)

        entries = self._rows.read(look) if self._rows.has_database else oplog.overlay((), waiting)
        return next((entry for entry in entries if fits(entry.operation)), None)

    def _entry(self, stored: StoredOperation) -> LogEntry:
        operation = stored.operation
        if stored.later:
            changes = stored_operations.later(self._rows.read, self._id, stored.seq, stored.later)
            operation = operation._replace(changes=changes)
        return LogEntry(operation, stored.undone, stored.seq)


def _of_key(entries: list[LogEntry], key: str | None) -> list[LogEntry]:
    return entries if key is None else [entry for entry in entries if entry.operation.of(key)]
