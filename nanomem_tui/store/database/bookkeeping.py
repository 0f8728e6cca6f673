"""Read and write the tables beside the rows: operations, `meta`, leases, named values, remembered rows of agent files.

Every function works inside the transaction of its caller, but for `held`. Must not know rows: `store` checks and writes
those.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, true, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.expression import ColumnElement

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.store.database.engine import Database
from nanomem_tui.store.database.models import BATCHES, FOREIGN, KEYS, LEASES, MARKERS, META, OPERATIONS
from nanomem_tui.store.database.operation_log import DONE, LogEntry, entry_of
from nanomem_tui.store.database.queries import READ_META, within
from nanomem_tui.store.database.reading import Meta, escape_nul, foreign_rows

LEASE_SECONDS = 60.0
"""How long a lease holds unless it is renewed."""


@contextlib.contextmanager
def lease(database: Database, work: str, seconds: float = LEASE_SECONDS) -> Iterator[bool]:
    """Whether this process got the lease for a piece of work; it is renewed until the end. Raises StoreError.

    Somebody else may get it before the end where this process sleeps, or does not reach the server, for `seconds`: what
    the work writes is compared in any case.
    """
    holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    if not _take(database, work, holder, seconds):
        yield False
        return
    over = threading.Event()

    def renew() -> None:
        while not over.wait(seconds / 3):
            with contextlib.suppress(NanomemError):  # asked again later
                _take(database, work, holder, seconds)

    renewing = threading.Thread(target=renew, name="nanomem-lease", daemon=True)
    renewing.start()
    try:
        yield True
    finally:
        over.set()
        renewing.join()
        mine = (LEASES.c.work == work) & (LEASES.c.holder == holder)
        with contextlib.suppress(NanomemError), database.writing(durable=False) as connection:  # it lapses by itself
            connection.execute(update(LEASES).where(mine).values(until=0.0))


def take_lease(connection: Connection, work: str, holder: str, seconds: float = LEASE_SECONDS) -> bool:
    """Take a lease that nobody holds, or renew one's own, in the transaction of the caller; whether that was done.
    Raises IntegrityError where another process makes it in this moment."""
    now = _now(connection)
    free = (LEASES.c.until <= now) | (LEASES.c.holder == holder)
    taken = update(LEASES).where(LEASES.c.work == work, free).values(holder=holder, until=now + seconds)
    if connection.execute(taken).rowcount:
        return True
    if connection.execute(select(LEASES.c.work).where(LEASES.c.work == work)).first() is not None:
        return False
    connection.execute(insert(LEASES).values(work=work, holder=holder, until=now + seconds))
    return True


def is_leased(connection: Connection, work: str) -> bool:
    """Whether anybody holds the lease for a piece of work."""
    asked = select(LEASES.c.work).where(LEASES.c.work == work, LEASES.c.until > _now(connection))
    return connection.execute(asked).first() is not None


def drop_lease(connection: Connection, work: str) -> None:
    """Let go of the lease for a piece of work that is done for good."""
    connection.execute(delete(LEASES).where(LEASES.c.work == work))


def _take(database: Database, work: str, holder: str, seconds: float) -> bool:
    try:
        with database.writing(durable=False) as connection:
            return take_lease(connection, work, holder, seconds)
    except IntegrityError:  # another process made the row in this moment
        return False


def _now(connection: Connection) -> float:
    """The time in seconds, by the clock that all who share the memory have in common."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())


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


def write_operation(
    connection: Connection, seq: int, operation: Operation, *, state: str = DONE, writer: str = ""
) -> None:
    """Insert an operation and what it touched. `writer`: the process that has still to finish one that is planned."""
    connection.execute(
        _INSERT,
        {
            "seq": seq, "id": operation.id, "at": operation.at, "actor": operation.actor, "kind": operation.kind,
            "label": escape_nul(operation.label), "state": state, "writer": writer, "undoes": operation.undoes,
            "redoes": operation.redoes, "meta_json": dump_json(dict(operation.meta)), "touched": len(operation.changes),
            "changes_json": dump_json(operation.to_json()["changes"]), "undone": 0,
        },
    )  # fmt: skip
    if touched := parts_of(operation):
        connection.execute(
            _INSERT_KEYS, [{"layer": layer, "key": key, "seq": seq, "undone": 0} for layer, key in touched]
        )


def mark_parts(connection: Connection, target: str, keys: Iterable[tuple[str, str]], *, undone: bool) -> None:
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
        mark_parts(connection, operation.undoes, parts_of(operation), undone=True)
    elif operation.redoes is not None:
        mark_parts(connection, operation.redoes, parts_of(operation), undone=False)
        mark_parts(connection, str(operation.meta["undo"]), parts_of(operation), undone=True)


def mark_void(connection: Connection, operation: Operation) -> None:
    """Note that nothing of an operation was done: of an undo or a redo too, whose targets are as they were."""
    parts = parts_of(operation)
    mark_parts(connection, operation.id, parts, undone=True)
    if operation.undoes:
        mark_parts(connection, operation.undoes, parts, undone=False)
    if operation.redoes:
        mark_parts(connection, operation.redoes, parts, undone=True)
        mark_parts(connection, str(operation.meta["undo"]), parts, undone=False)


def set_state(connection: Connection, op_id: str, state: str, *, of: str) -> None:
    """Note the new state of an operation that is in state `of`."""
    found = (OPERATIONS.c.id == op_id) & (OPERATIONS.c.state == of)
    connection.execute(update(OPERATIONS).where(found).values(state=state))


def find_operation(connection: Connection, op_id: str) -> LogEntry | None:
    """Find an operation by its id."""
    return _first(connection, OPERATIONS.c.id == op_id)


def planned_operations(connection: Connection) -> list[LogEntry]:
    """List operations whose files are still to be written, or could not be, oldest first."""
    asked = select(OPERATIONS).where(OPERATIONS.c.state != DONE).order_by(OPERATIONS.c.seq)
    return [entry_of(row) for row in connection.execute(asked)]


def is_new_batch(connection: Connection, batch: str) -> bool:
    """Note a batch of counters; return whether it was not noted before."""
    if connection.execute(select(BATCHES.c.id).where(BATCHES.c.id == batch)).first() is not None:
        return False
    connection.execute(insert(BATCHES), {"id": batch, "at": clock.iso(clock.now())})
    return True


def last_operation_on(connection: Connection, layer: str, key: str) -> LogEntry | None:
    """Find the operation that touched a thing last."""
    asked = select(KEYS.c.seq).where(KEYS.c.layer == layer, KEYS.c.key == key).order_by(KEYS.c.seq.desc()).limit(1)
    seq = connection.execute(asked).scalar()
    return _first(connection, OPERATIONS.c.seq == seq) if seq is not None else None


def _first(connection: Connection, condition: ColumnElement[bool]) -> LogEntry | None:
    row = connection.execute(select(OPERATIONS).where(condition).order_by(OPERATIONS.c.seq.desc()).limit(1)).first()
    return entry_of(row) if row is not None else None


def dump_json(value: Sequence[Any] | dict[str, Any]) -> str:
    """Return values as the log keeps them: compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_OF_FILES = ("exported", "audit_seq", "stat:", "order:")
"""Begin the names of markers of the agent's files."""


def set_markers(connection: Connection, values: Mapping[str, str]) -> None:
    """Set named values."""
    if values:
        connection.execute(delete(MARKERS).where(MARKERS.c.key == bindparam("name")), [{"name": key} for key in values])
        connection.execute(insert(MARKERS), [{"key": key, "value": value} for key, value in values.items()])


def set_foreign_rows(connection: Connection, source: str, rows: Mapping[str, Any]) -> None:
    """Remember these rows of a source, and no others."""
    known = foreign_rows(within(connection), source)
    gone = [key for key in known if key not in rows or rows[key] != known[key]]
    fresh = [key for key in rows if key not in known or rows[key] != known[key]]
    if gone:
        here = (FOREIGN.c.source == source) & (FOREIGN.c.id == bindparam("key"))
        connection.execute(delete(FOREIGN).where(here), [{"key": escape_nul(key)} for key in gone])
    if fresh:
        connection.execute(
            insert(FOREIGN),
            [{"source": source, "id": escape_nul(key), "raw_json": json.dumps(rows[key])} for key in fresh],
        )


def rename_for_storage(connection: Connection, home: str, *, on_server: bool) -> None:
    """Name what came from the other kind of place as this one does: a server has it for each home that shares the
    memory, by the id of the home; a file for the one home that it lies in, and nothing of others."""
    end = f"@{home}"
    is_of_files = or_(*(MARKERS.c.key.startswith(begin, autoescape=True) for begin in _OF_FILES))
    for column, chosen in ((MARKERS.c.key, is_of_files), (FOREIGN.c.source, true())):
        for name in connection.execute(select(column).distinct().where(chosen)).scalars().all():
            here = column == name
            if on_server:
                connection.execute(update(column.table).where(here).values({column: f"{name}{end}"}))
            elif name.endswith(end):
                connection.execute(update(column.table).where(here).values({column: name.removesuffix(end)}))
            else:
                connection.execute(delete(column.table).where(here))
