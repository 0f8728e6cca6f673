"""The log of operations in the database: writing one in its transaction, and asking what was done, undone, and by whom.

Owns the tables `operations`, `operation_keys` and the turn of the writers in `meta`. Every function works inside the
transaction of its caller. Must not know rows: `store` checks and writes those.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.sql.expression import ColumnElement

from nanomem_tui import clock
from nanomem_tui.database import models
from nanomem_tui.database.reading import Turn, escaped, operation_of
from nanomem_tui.operations import Operation

OPERATIONS = models.table(models.OperationRow)
KEYS = models.table(models.OperationKey)
META = models.table(models.MetaRow)
BATCHES = models.table(models.UsageBatch)

BOOKKEEPING = ("undo", "redo", "void")
"""Kinds that only say something about another operation."""
FINAL = ("forget", "scrub")
"""Kinds that nothing undoes: they took texts out for good."""
DONE, PLANNED, STUCK = "done", "planned", "stuck"

OF_PERSON = ((OPERATIONS.c.actor == "human") | OPERATIONS.c.meta_json.contains('"started_by":"human"')) & (
    OPERATIONS.c.kind.not_in(BOOKKEEPING)
)
"""The condition that a person did it, or started it."""
STANDS = (OPERATIONS.c.undone == 0) | OPERATIONS.c.kind.in_(FINAL)
"""The condition that it is not undone, or was done for good."""
TURN = select(META.c.revision, META.c.epoch, META.c.moved_to, META.c.workspace_id)
_TAKE_TURN = update(META).values(revision=META.c.revision + 1).returning(*TURN.selected_columns, META.c.channel)
_WAIT = select(META.c.one).with_for_update()
_INSERT, _INSERT_KEYS = insert(OPERATIONS), insert(KEYS)


class Entry(NamedTuple):
    """An operation in the log; `undone`: nothing of it stands at present; `seq`: the order of commits; `writer`: the
    process that planned it, "" where no files of others are written."""

    operation: Operation
    undone: bool
    seq: int
    state: str = DONE
    writer: str = ""


def parts_of(operation: Operation) -> list[tuple[str, str]]:
    """Return (layer, key) of each thing that an operation touched, once."""
    return list(dict.fromkeys((change.layer, change.key) for change in operation.changes))


def take_turn(connection: Connection, *, notify: bool = True) -> Turn:
    """Take the next number; every writer does this first, and its lock makes the order of numbers that of commits.

    `notify`: a server tells the number to who listens, once it is committed; such commits wait for each other, in all
    of its workspaces.
    """
    *turn, channel = connection.execute(_TAKE_TURN).one()
    if notify and connection.dialect.name != "sqlite":
        # A statement of its own: Citus refuses such a function in one that writes rows.
        connection.execute(select(func.pg_notify(channel, str(turn[0]))))
    return Turn(*turn)


def wait_for_writers(connection: Connection) -> None:
    """Wait until no other writer is in its turn, and keep them out until the transaction ends."""
    connection.execute(_WAIT).one()


def turn_of(connection: Connection) -> Turn:
    """Return the number of the last commit, the epoch, and where the memory moved to."""
    return Turn(*connection.execute(TURN).one())


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


def mark_taken_up(connection: Connection, operation: Operation) -> None:
    """Note what an undo or a redo makes of the operations that it names."""
    if operation.undoes is not None:
        mark(connection, operation.undoes, parts_of(operation), undone=True)
    elif operation.redoes is not None:
        mark(connection, operation.redoes, parts_of(operation), undone=False)
        mark(connection, str(operation.meta["undo"]), parts_of(operation), undone=True)


def set_state(connection: Connection, op_id: str, state: str) -> None:
    """Note that a planned operation is done or stuck."""
    connection.execute(update(OPERATIONS).where(OPERATIONS.c.id == op_id).values(state=state))


def standing(connection: Connection, seq: int) -> list[tuple[str, str]]:
    """Return (layer, key) of each part of an operation that is not undone."""
    asked = select(KEYS.c.layer, KEYS.c.key).where(KEYS.c.seq == seq, KEYS.c.undone == 0)
    return [(layer, key) for layer, key in connection.execute(asked)]


def find(connection: Connection, op_id: str) -> Entry | None:
    """Find an operation by its id."""
    return _first(connection, OPERATIONS.c.id == op_id)


def log(connection: Connection, limit: int, offset: int = 0, key: str | None = None) -> list[Entry]:
    """List operations, newest commit first. `key`: those that touched the thing of that id."""
    asked = select(OPERATIONS).order_by(OPERATIONS.c.seq.desc()).limit(limit).offset(offset)
    if key is not None:
        asked = asked.where(OPERATIONS.c.seq.in_(select(KEYS.c.seq).where(KEYS.c.key == key)))
    return [entry_of(row) for row in connection.execute(asked)]


def newest_of_person(connection: Connection) -> Entry | None:
    """Find what a person did last and what stands: undo without an id takes it back."""
    return _first(connection, OF_PERSON & STANDS)


def newest_undo(connection: Connection) -> Entry | None:
    """Find the undo that a redo takes back: the last one that stands, unless a person did something new since."""
    last = _first(connection, OF_PERSON | ((OPERATIONS.c.kind == "undo") & (OPERATIONS.c.undone == 0)))
    return last if last is not None and last.operation.kind == "undo" else None


def planned(connection: Connection) -> list[Entry]:
    """List operations whose files are still to be written, or could not be, oldest first."""
    asked = select(OPERATIONS).where(OPERATIONS.c.state != DONE).order_by(OPERATIONS.c.seq)
    return [entry_of(row) for row in connection.execute(asked)]


def is_new_batch(connection: Connection, batch: str) -> bool:
    """Note a batch of counters; return whether it was not noted before."""
    if connection.execute(select(BATCHES.c.id).where(BATCHES.c.id == batch)).first() is not None:
        return False
    connection.execute(insert(BATCHES), {"id": batch, "at": clock.iso(clock.now())})
    return True


def last_of(connection: Connection, layer: str, key: str) -> Entry | None:
    """Find the operation that touched a thing last."""
    asked = select(KEYS.c.seq).where(KEYS.c.layer == layer, KEYS.c.key == key).order_by(KEYS.c.seq.desc()).limit(1)
    seq = connection.execute(asked).scalar()
    return _first(connection, OPERATIONS.c.seq == seq) if seq is not None else None


def _first(connection: Connection, condition: ColumnElement[bool]) -> Entry | None:
    row = connection.execute(select(OPERATIONS).where(condition).order_by(OPERATIONS.c.seq.desc()).limit(1)).first()
    return entry_of(row) if row is not None else None


def entry_of(row: Any) -> Entry:
    """Return a row of the log as a value."""
    return Entry(operation_of(row), bool(row.undone), row.seq, row.state, row.writer)


def dumped(value: Sequence[Any] | dict[str, Any]) -> str:
    """Return values as the log keeps them: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
