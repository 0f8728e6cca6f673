"""The log of operations as the product asks for it: pages, one thing's history, what undo takes next. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from nanomem_tui.database import reading as read
from nanomem_tui.database.reading import Reading
from nanomem_tui.operations import Operation
from nanomem_tui.store import oplog
from nanomem_tui.store.oplog import LogEntry

T = TypeVar("T")


class Journal:
    """The operations of one workspace; empty where there is no database yet."""

    def __init__(self, reading: Callable[[], Reading]) -> None:
        """`reading`: gives the database, which a takeover replaces."""
        self._give = reading

    @property
    def _reading(self) -> Reading:
        return self._give()

    def log(self, limit: int, *, offset: int = 0, key: str | None = None) -> list[LogEntry]:
        """List the newest operations but the first `offset`. `key`: only those that touched that thing."""
        return read.log(self._reading, limit, offset, key) if self._reading.exists else []

    def look(self, search: Callable[[list[LogEntry]], T | None]) -> T | None:
        """Return the first answer of `search` among the newest operations, in windows that grow to all of them."""
        for limit in oplog.WINDOWS:
            entries = self.log(limit)
            answer = search(entries)
            if answer is not None or len(entries) < limit:
                return answer
        return None

    def find(self, op_id: str) -> LogEntry | None:
        """Find an operation by its id."""
        return read.find(self._reading, op_id) if self._reading.exists else None

    logged = find

    def after(self, seq: int) -> list[LogEntry]:
        """List what was committed after that place, oldest first."""
        return read.after(self._reading, seq) if self._reading.exists else []

    def end(self) -> int:
        """Return the place of the newest operation, 0 when there is none."""
        newest = self.log(1)
        return newest[0].position if newest else 0

    def touching(self, keys: Sequence[str], actor: str) -> list[Operation]:
        """List the operations of an actor that touched one of these things, newest first."""
        if not self._reading.exists:
            return []
        return [entry.operation for entry in read.touching(self._reading, keys, actor)]

    def newest(self, kind: str, actor: str) -> LogEntry | None:
        """Find the newest operation of a kind by an actor."""
        return read.newest(self._reading, kind, actor) if self._reading.exists else None

    def taken_back(self, kind: str) -> frozenset[str]:
        """Return the ids of the things that operations of a kind made and that were undone with them. Of the newest
        thousand operations."""
        return oplog.made_and_undone(self.log(1_000), kind)

    def taken_away(self, layer: str) -> frozenset[str]:
        """Return the things of a layer that somebody deleted and no operation brought back. Of the newest thousand
        operations."""
        return oplog.deleted(self.log(1_000), layer)
