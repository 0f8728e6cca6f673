"""Read and write the tables `operations`, `operation_keys`, `usage_batches` and the one row of `meta`.

Every function works inside the transaction of its caller. Must not know rows: `store` checks and writes those."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.sql.expression import ColumnElement

from nanomem_tui.core import clock
from nanomem_tui.core.operations import Operation
from nanomem_tui.store import models
from nanomem_tui.store.operations import DONE, LogEntry, entry_of
from nanomem_tui.store.reading import Meta, escaped

OPERATIONS = models.table(models.OperationRow)

KEYS = models.table(models.OperationKey)

META = models.table(models.MetaRow)

BATCHES = models.table(models.UsageBatch)

READ_META = select(META.c.revision, META.c.epoch, META.c.moved_to, META.c.workspace_id)

_NEXT = update(META).values(revision=META.c.revision + 1)

_NEXT_REVISION = _NEXT.returning(*READ_META.selected_columns, META.c.channel)

_WAIT = select(META.c.one).with_for_update()

_INSERT, _INSERT_KEYS = insert(OPERATIONS), insert(KEYS)


def parts_of(operation: Operation) -> list[tuple[str, str]]:
    """Return (layer, key) of each thing that an operation touched, once."""
    return list(dict.fromkeys((change.layer, change.key) for change in operation.changes))


def next_revision(connection: Connection, *, notify: bool = True) -> Meta:
    """Take the next number; every writer does this first, and its lock makes the order of numbers that of commits.

    `notify`: a server tells the number to who listens, once it is committed; such commits wait for each other, in all
    of its workspaces.
    """
    *meta, channel = connection.execute(_NEXT_REVISION).one()
    if notify and connection.dialect.name != "sqlite":
        # A statement of its own: Citus refuses such a function in one that writes rows.
        connection.execute(select(func.pg_notify(channel, str(meta[0]))))
    return Meta(*meta)


def wait_for_writers(connection: Connection) -> None:
    """Wait until no other writer is at work, and keep them out until the transaction ends (on SQLite `BEGIN
    IMMEDIATE` did so already)."""
    connection.execute(_WAIT).one()


def meta_of(connection: Connection) -> Meta:
    """Return the number of the last commit, the epoch, and where the memory moved to."""
    return Meta(*connection.execute(READ_META).one())


def write(connection: Connection, seq: int, operation: Operation, *, state: str = DONE, writer: str = "") -> None:
    """Insert an operation and what it touched. `writer`: the process that has still to finish one that is planned."""
    connection.execute(
        _INSERT,
        {
            "seq": seq, "id": operation.id, "at": operation.at, "actor": operation.actor, "kind": operation.kind,
            "label": escaped(operation.label), "state": state, "writer": writer, "undoes": operation.undoes,
            "redoes": operation.redoes, "meta_json": dumped(dict(operation.meta)), "touched": len(operation.changes),
            "changes_json": dumped(operation.to_json()["changes"]), "undone": 0,
        },
    )  # fmt: skip
    if touched := parts_of(operation):
        connection.execute(
            _INSERT_KEYS, [{"layer": layer, "key": key, "seq": seq, "undone": 0} for layer, key in touched]
        )


def mark(connection: Connection, target: str, keys: Iterable[tuple[str, str]], *, undone: bool) -> None:
    """Note which parts of an operation are undone, or stand again; it is undone when none of its parts stands."""
    seq = connection.execute(select(OPERATIONS.c.seq).where(OPERATIONS.c.id == target)).scalar_one()
    for layer, key in keys:
        found = (KEYS.c.layer == layer) & (KEYS.c.key == key) & (KEYS.c.seq == seq)
        connection.execute(update(KEYS).where(found).values(undone=int(undone)))
    stands = connection.execute(select(KEYS.c.seq).where(KEYS.c.seq == seq, KEYS.c.undone == 0).limit(1)).first()
    connection.execute(update(OPERATIONS).where(OPERATIONS.c.seq == seq).values(undone=int(stands is None)))


def mark_reversed(connection: Connection, operation: Operation) -> None:
    """Note what an undo or a redo makes of the operations that it names."""
    if operation.undoes is not None:
        mark(connection, operation.undoes, parts_of(operation), undone=True)
    elif operation.redoes is not None:
        mark(connection, operation.redoes, parts_of(operation), undone=False)
        mark(connection, str(operation.meta["undo"]), parts_of(operation), undone=True)


def mark_void(connection: Connection, operation: Operation) -> None:
    """Note that nothing of an operation was done: of an undo or a redo too, whose targets are as they were."""
    parts = parts_of(operation)
    mark(connection, operation.id, parts, undone=True)
    if operation.undoes:
        mark(connection, operation.undoes, parts, undone=False)
    if operation.redoes:
        mark(connection, operation.redoes, parts, undone=True)
        mark(connection, str(operation.meta["undo"]), parts, undone=False)


def set_state(connection: Connection, op_id: str, state: str, *, of: str) -> None:
    """Note the new state of an operation that is in state `of`."""
    found = (OPERATIONS.c.id == op_id) & (OPERATIONS.c.state == of)
    connection.execute(update(OPERATIONS).where(found).values(state=state))


def find(connection: Connection, op_id: str) -> LogEntry | None:
    """Find an operation by its id."""
    return _first(connection, OPERATIONS.c.id == op_id)


def planned(connection: Connection) -> list[LogEntry]:
    """List operations whose files are still to be written, or could not be, oldest first."""
    asked = select(OPERATIONS).where(OPERATIONS.c.state != DONE).order_by(OPERATIONS.c.seq)
    return [entry_of(row) for row in connection.execute(asked)]


def is_new_batch(connection: Connection, batch: str) -> bool:
    """Note a batch of counters; return whether it was not noted before."""
    if connection.execute(select(BATCHES.c.id).where(BATCHES.c.id == batch)).first() is not None:
        return False
    connection.execute(insert(BATCHES), {"id": batch, "at": clock.iso(clock.now())})
    return True


def last_of(connection: Connection, layer: str, key: str) -> LogEntry | None:
    """Find the operation that touched a thing last."""
    asked = select(KEYS.c.seq).where(KEYS.c.layer == layer, KEYS.c.key == key).order_by(KEYS.c.seq.desc()).limit(1)
    seq = connection.execute(asked).scalar()
    return _first(connection, OPERATIONS.c.seq == seq) if seq is not None else None


def _first(connection: Connection, condition: ColumnElement[bool]) -> LogEntry | None:
    row = connection.execute(select(OPERATIONS).where(condition).order_by(OPERATIONS.c.seq.desc()).limit(1)).first()
    return entry_of(row) if row is not None else None


def dumped(value: Sequence[Any] | dict[str, Any]) -> str:
    """Return values as the log keeps them: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
