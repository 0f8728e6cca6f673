"""A workspace for `--dry-run`: changes are checked and seen as if they were made, and none is recorded or written.

Owns what must differ from the real thing, and nothing else: a change that would be refused is refused here too.
"""

from __future__ import annotations

import os

from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import AccessDenied
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.store import forgotten, operations, snapshot
from nanomem_tui.store.memory_store import CheckpointResult
from nanomem_tui.store.operations import Journal, LogEntry
from nanomem_tui.store.values import ROW_LAYERS
from nanomem_tui.workspace import Workspace


class Rehearsal(Workspace):
    """One agent's memory, of which nothing is changed. Rows change in RAM, so that a second change meets the first."""

    def __init__(self, found: paths.Paths, loaded: config.Loaded) -> None:
        super().__init__(found, loaded)
        self.done: list[Operation] = []
        self.store.journal = _rehearsed(self.store.journal, self.done)

    def perform(self, operation: Operation) -> Operation:
        """Check an operation and make its rows true in RAM. Raises what the real one raises before it writes."""
        operation = forgotten.allowed(self.paths, operation, forgotten.stamp(self.paths))
        by_layer: dict[str, list[Change]] = {}
        for change in operation.changes:
            self._register(change.layer)
            by_layer.setdefault(change.layer, []).append(change)
        if by_layer.keys() & set(ROW_LAYERS):
            self.store.load()
            snapshot.refuse_unaccepted(operation, list(by_layer.items()), self.store.snapshot)
        self._writable()
        for name, changes in by_layer.items():
            if name in ROW_LAYERS:
                self.store.layers[name].check(changes)
                self.store.layers[name].apply(operation, changes)
            else:
                self.store.layers[name].check(self._as_on_disk(changes))
        self.done.append(operation)
        return operation

    def _writable(self) -> None:
        """Raise AccessDenied where a change could not be written."""
        folder = self.paths.data
        while not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise AccessDenied("no permission while recording a change", str(folder), "check its owner and mode")

    def _as_on_disk(self, changes: list[Change]) -> list[Change]:
        """Of changes to files those that begin with what lies there: not with what an earlier change would leave."""
        touched = {(change.layer, change.key) for operation in self.done for change in operation.changes}
        return [change for change in changes if (change.layer, change.key) not in touched]

    def flush(self) -> CheckpointResult:
        """Nothing waits: nothing was changed."""
        return CheckpointResult(0, 0, 0.0, ())


def _rehearsed(real: Journal, done: list[Operation]) -> Journal:
    """Return the log with the rehearsed operations on top."""

    class Rehearsed(type(real)):  # type: ignore[misc]
        def log(self, limit: int, *, offset: int = 0, key: str | None = None) -> list[LogEntry]:
            entries = _on_top(real.log(limit + offset, key=key), done)
            if key is not None:
                entries = [entry for entry in entries if entry.operation.of(key)]
            return entries[offset : offset + limit]

        def standing(self, entry: LogEntry) -> list[str]:
            op_id = entry.operation.id
            stands = [*entry.operation.keys()] if any(one.id == op_id for one in done) else real.standing(entry)
            for one in done:
                touched = one.keys()
                if one.undoes == op_id:
                    stands = [key for key in stands if key not in touched]
                elif one.redoes == op_id:
                    stands += [key for key in touched if key not in stands]
            return stands

    made = Rehearsed.__new__(Rehearsed)
    made.__dict__.update(real.__dict__)  # it reads what the real one reads
    return made


def _on_top(stored: list[LogEntry], done: list[Operation]) -> list[LogEntry]:
    """Return the entries, newest first, with these operations on top, oldest first."""
    entries = {one.id: LogEntry(one, False, 0) for one in reversed(done)} | {e.operation.id: e for e in stored}
    for one in done:
        target = one.undoes if one.undoes and operations.takes_back_all(one) else one.redoes
        if target in entries:
            entries[target] = entries[target]._replace(undone=bool(one.undoes))
    return list(entries.values())
