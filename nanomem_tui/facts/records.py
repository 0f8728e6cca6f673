"""Records of one kind as a person works with them: what the journal, reflections and the use of tokens stand on.

Every change is one operation. Must not know what the fields of a kind mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.operations import Actor, Change, Operation, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory.labels import told
from nanomem_tui.store import reading
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.operations import LogEntry
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record


class Records:
    """The records of one kind. `noun`: what a person calls one of them."""

    def __init__(
        self, store: MemoryStore, perform: Callable[[Operation], Operation], kind: str, noun: str, command: str
    ) -> None:
        self._store = store
        self._perform = perform
        self._kind = kind
        self._noun = noun
        self._command = command
        self._sorted: tuple[int, list[Record]] = (-1, [])

    def all(self) -> list[Record]:
        """Those that are not deleted, newest first by the time of the thing; the list must not be altered."""
        store, snapshot = self._store, self._store.snapshot
        if not store.loaded or self._sorted[0] != snapshot.counter:
            with snapshot.lock:
                rows = sorted(reading.records(store, self._kind), key=lambda row: (row.at, row.id), reverse=True)
                self._sorted = (snapshot.counter if store.loaded else -1, rows)
        return self._sorted[1]

    def get(self, record_id: str) -> Record:
        """The record of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        rows = self._store.load("record").records
        row = rows.get(record_id)
        if row is None or row.kind != self._kind:
            near = [one for one in self.all() if record_id and one.id.startswith(record_id)]
            if len(near) > 1:
                raise BadInput(f"{len(near)} of them begin with that id", record_id, "give more of it")
            row = near[0] if near else None
        if row is None or row.is_deleted:
            raise NotFound(f"no such {self._noun}", record_id, f"see `{self._command}`")
        return row

    def history(self, record_id: str) -> list[LogEntry]:
        """Every operation that touched the record, newest first."""
        return self._store.journal.log(10_000, key=record_id)

    def add(
        self, records: Sequence[Record], label: str = "", actor: Actor = "human", beside: Sequence[Change] = ()
    ) -> Operation:
        """Keep new records as one operation. `beside`: changes of other layers that belong to it."""
        label = label or self._label("add", records)
        changes = [*(change_of("record", None, row) for row in records), *beside]
        return self._perform(new_operation(f"{self._kind}.add", label, changes, actor=actor))

    def change(
        self, before: Record, fields: dict[str, Any], actor: Actor = "human", beside: Sequence[Change] = ()
    ) -> Operation:
        """Change fields of a record. Raises NothingToDo."""
        if all(getattr(before, name) == value for name, value in fields.items()) and not beside:
            raise NothingToDo("nothing to change", before.id)
        after = before._replace(**fields, updated_at=clock.iso(clock.now()))
        changes = [change_of("record", before, after), *beside]
        label = self._label("edit", [after])
        return self._perform(new_operation(f"{self._kind}.edit", label, changes, actor=actor))

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete records; `undo` brings them back. Raises NotFound."""
        rows = list({row.id: row for row in map(self.get, ids)}.values())
        changes = [change_of("record", row, row._replace(is_deleted=True)) for row in rows]
        return self._perform(new_operation(f"{self._kind}.delete", self._label("delete", rows), changes))

    def _label(self, verb: str, rows: Sequence[Record]) -> str:
        noun = self._noun
        plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
        what = f"{noun} {told(rows[0].text)}" if len(rows) == 1 else counted(len(rows), noun, plural)
        return f"{verb} {what}"
