"""The changes that one console or program made to a workspace, and what of them undo and redo take next.

Holds no values: an operation is kept without what it touched. What others undid or redid since is read from the log.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from nanomem_tui.operations import Operation
from nanomem_tui.store import oplog
from nanomem_tui.store.oplog import LogEntry

MOST = 10_000
"""Changes that are kept; older ones are undone by their id."""

Find = Callable[[str], LogEntry | None]
"""How an operation of the log is found by its id."""


class OwnChanges:
    """What a person did here, oldest first; what runs beside (schedules, an agent's turns) is not theirs."""

    def __init__(self) -> None:
        self._done: deque[Operation] = deque(maxlen=MOST)
        self._standing = oplog.Standing()
        self._lock = threading.Lock()

    def add(self, operation: Operation) -> None:
        """Keep an operation that was performed, unless it is nobody's."""
        if oplog.started_by_person(operation) or operation.kind in oplog.BOOKKEEPING:
            bare = operation._replace(changes=())
            with self._lock:
                self._done.append(bare)
                self._standing.then(bare)

    def next_undo(self, find: Find) -> LogEntry | None:
        """The newest change that stands."""
        with self._lock:
            ids = [
                operation.id
                for operation in reversed(self._done)
                if operation.kind not in oplog.BOOKKEEPING and not self._standing.is_undone(operation.id)
            ]
        return next((entry for entry in map(find, ids) if entry is not None and not entry.undone), None)

    def next_redo(self, find: Find) -> Operation | None:
        """The newest undo made here, unless something was changed here since or somebody else redid it."""
        with self._lock:
            done = [LogEntry(operation, False, 0) for operation in reversed(self._done)]
        undo = oplog.redo_target(done)
        target = find(undo.undoes) if undo is not None and undo.undoes else None
        if undo is None or target is None or (oplog.takes_back_all(undo) and not target.undone):
            return None
        recorded = find(undo.id)  # with what it touched
        return None if recorded is None else recorded.operation
