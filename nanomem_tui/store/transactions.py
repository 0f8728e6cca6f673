"""The memory of one workspace: rows in RAM over one database, and every change as one transaction.

Owns the order of a change: the next revision first, then what others committed, then compare, rows, index and
operation, then commit. Who lost a race gets a `Conflict` that names what changed. Undo is the operation with before and
after swapped. There is no second log.

A change of an agent's files is committed as planned before the first file is touched, and as done after the last. What
a process left planned when it was killed is finished by the next writer, or named as stuck.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from sqlalchemy import Connection, delete, insert, inspect, select, update

from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict, NanomemError, NotFound, NothingToDo, Refused, ServerAway, StoreError
from nanomem_tui.core.operations import Change, Layer, Operation, new_operation
from nanomem_tui.store.database import bookkeeping, full_text, migrations, models, operation_log, rows
from nanomem_tui.store.database.engine import Database, SqliteDatabase
from nanomem_tui.store.database.models import KEYS, META, OPERATIONS
from nanomem_tui.store.database.operation_log import DONE, PLANNED, STUCK, LogEntry
from nanomem_tui.store.database.queries import CoreReading, within
from nanomem_tui.store.database.reading import Meta, escape_nul, refuse_moved, unescape_nul
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.recovery import DatabaseRecovery, Line
from nanomem_tui.store.snapshot import Counts, Snapshot, patched, refuse_unfit
from nanomem_tui.store.values import AnyRow

BATCHES = models.table(models.UsageBatch)
_BATCH_DAYS = 7
_FILES_OF = "files of "
"""Begins the name of the lease of a process that writes files of an agent."""
LOOKUP_SECONDS = 10.0
"""How long to ask whether a commit went through, where the server went away before it answered."""

Also = Callable[[Connection, int], None]
"""What else a transaction writes; gets the number of the commit."""
Write = Callable[[Connection, Meta], Operation]
"""What a transaction does; returns the operation that it recorded."""


T = TypeVar("T")


@runtime_checkable
class Resumed(Protocol):
    """A layer that finishes what is half done in a way of its own: of several files at once, as one commit of git."""

    def resume(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true that is not; what is done already is not somebody else's doing. Raises Conflict."""


class _OtherEpoch(Exception):
    """The database was replaced since it was loaded."""


def make_database(database: Database, workspace_id: str, fill: Also | None = None) -> bool:
    """Make the tables of a workspace where there are none, with what `fill` writes, or bring those of an older release
    to the newest schema; return whether they were made. Raises StoreError, and NewerDatabase where a later release made
    them."""
    with database.making() as connection:
        there = inspect(connection)
        is_made, is_old = False, False
        if there.has_table("meta"):
            is_old = migrations.is_due(connection, database.where)
        elif there.has_table("memory_entries"):
            raise StoreError("a database of the first edition", database.where, "any command that writes takes it over")
        else:
            create_tables(connection, workspace_id)
            is_made = True
            if fill is not None:
                fill(connection, bookkeeping.next_revision(connection).revision)
    if is_old:
        migrations.migrate(database)
    return is_made


def create_tables(connection: Connection, workspace_id: str) -> None:
    """Make the tables of a workspace, in the transaction of who knows that there are none."""
    models.METADATA.create_all(connection)  # on a server the work store may have made what both have
    full_text.make_index(connection)
    models.make_views(connection)
    migrations.stamp(connection)
    connection.execute(
        insert(models.META).values(
            one=1, revision=0, epoch=secrets.token_hex(8), workspace_id=workspace_id,
            channel=f"nanomem_{secrets.token_hex(12)}",
        )
    )  # fmt: skip


class Store:
    """The rows and operations of one workspace. Thread-safe; several processes may have one each."""

    def __init__(
        self,
        database: Database,
        writers: Writers,
        recovery: DatabaseRecovery | None = None,
        layer_of: Callable[[str], Layer] | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        """`recovery`: the copies and the log beside a file of SQLite; a server has backups of its own. `layer_of`:
        what changes the files of an agent, by the name of a layer; raises NotFound. `snapshot`: the rows in RAM, where
        they were read already."""
        self.database = database
        self.snapshot = snapshot if snapshot is not None else Snapshot()
        self._reading = CoreReading(database.reading, database.where)
        self.writers = writers
        self.recovery = recovery
        self._layer_of = layer_of or _no_layer
        self._wrote_before = False
        self._index_is_new = False
        self._written: dict[str, dict[str, AnyRow]] = {}
        self._batch: tuple[str, Counts] | None = None

    # -- opening ------------------------------------------------------------------------------------------------

    def load(self) -> Snapshot:
        """Read every row into RAM, once. Raises StoreError."""
        if self.snapshot.revision < 0:
            self.snapshot.read(self._reading)
        return self.snapshot

    # -- changing -----------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, *, durable: bool = True, also: Also | None = None) -> Operation:
        """Make a change and record it, in one transaction.

        `durable`: acknowledged once it survives a power cut, else once it survives a kill. `also`: what else is
        written in the same transaction. A person's change is refused where a row was written since he saw it, that of
        an agent where a field is not what it starts from. Raises Conflict where a row or a file is not what the change
        starts from, StoreError where the database cannot be written, or what a file cannot be written for; nothing is
        changed then.
        """

        def write(connection: Connection, meta: Meta) -> Operation:
            self._record(connection, meta, operation, known=known)
            if also is not None:
                also(connection, meta.revision)
            return operation

        with self.snapshot.lock:
            self.load()
            known = self.snapshot.revision if operation.actor == "human" and not operation.is_reversal else None
            return self._commit(write, durable=durable)

    def number(self, also: Also) -> None:
        """Write what is no change of anybody's rows (counters that came with an agent's file) under a number of its
        own. Raises StoreError."""

        def take() -> int:
            with self._transaction(durable=True) as (connection, meta):
                also(connection, meta.revision)
            return meta.revision

        with self.snapshot.lock:
            self.snapshot.revision = self._again(take)

    def remember(self, write: Callable[[Connection], None]) -> None:
        """Write, durably, what is no change of a row: what is known of an agent's files. Raises StoreError, and
        Conflict where the database was replaced since its rows were read."""
        with self.database.writing(durable=True) as connection:
            bookkeeping.wait_for_writers(connection)
            if self.snapshot.revision >= 0 and bookkeeping.meta_of(connection).epoch != self.snapshot.epoch:
                raise Conflict("the database was replaced meanwhile", self.database.where, "do it again")
            write(connection)

    def set_markers(self, values: Mapping[str, str]) -> None:
        """Set named values, durably. Raises StoreError."""
        self.remember(lambda connection: bookkeeping.set_markers(connection, values))

    # -- files of others ----------------------------------------------------------------------------------------

    def settle(self) -> list[LogEntry]:
        """Finish what killed processes left planned; return what cannot be finished, for `doctor` to name.

        Of each file: what is done already stays, what is as before is written, and where a file is neither, it is left
        and the operation is stuck. Others go on. What may not be done now (beside a running agent) stays planned.
        """
        for entry in self.unfinished():
            if entry.state == PLANNED and self.writers.is_of_here(entry.writer):
                state = self._finish(entry.operation)
                if state != PLANNED:
                    self._set_state(entry.operation.id, state, entry.writer)
        return [entry for entry in self.unfinished() if entry.state == STUCK]

    def unfinished(self) -> list[LogEntry]:
        """List the operations whose files are not all written: those that a process which ended left planned, and those
        that are stuck. Of a process of another home its lease says whether it ended; that home finishes its files."""
        with self.database.reading() as connection:
            left = bookkeeping.planned_operations(connection)
            return [entry for entry in left if entry.state == STUCK or not self._is_at_work(connection, entry.writer)]

    def is_of_here(self, entry: LogEntry) -> bool:
        """Whether the files of an operation lie in this home, which finishes it then; else in another that shares the
        memory."""
        return self.writers.is_of_here(entry.writer)

    def _is_at_work(self, connection: Connection, writer: str) -> bool:
        if self.writers.is_of_here(writer):
            return self.writers.is_alive(writer)
        return bookkeeping.is_leased(connection, _FILES_OF + writer)

    def leave_as_it_is(self, op_id: str) -> None:
        """Close a stuck operation: what it did stays, and so does what somebody else wrote into its other files."""
        with self.database.writing(durable=True) as connection:
            bookkeeping.set_state(connection, op_id, DONE, of=STUCK)

    def _finish(self, operation: Operation) -> str:
        """Write what is left of the files of an operation; return its state."""
        state = DONE
        for name, changes in _of_files(operation).items():
            try:
                layer = self._layer_of(name)
                if isinstance(layer, Resumed):
                    layer.resume(operation, changes)
                    continue
                for change in changes:
                    if not layer.begun([change]):
                        layer.check([change])
                        layer.apply(operation, [change])
            except Refused:
                state = PLANNED if state == DONE else state
            except Exception:  # noqa: BLE001  whatever a damaged file makes of it
                state = STUCK
        return state

    def _write_files(self, operation: Operation) -> None:
        """Write the files of an operation that was committed as planned, and note that it is done. Takes everything
        back and raises where one of them cannot be written."""
        begun: list[tuple[Layer, Sequence[Change]]] = []
        try:
            for name, changes in _of_files(operation).items():
                layer = self._layer_of(name)
                begun.append((layer, changes))
                layer.apply(operation, changes)
        except (Exception, KeyboardInterrupt) as error:
            self._take_back(operation, begun, error)
            raise
        with contextlib.suppress(ServerAway):  # the files are written; `settle` notes it when the server is back
            self._set_state(operation.id, DONE, self.writers.name)

    def _take_back(
        self, operation: Operation, begun: list[tuple[Layer, Sequence[Change]]], error: BaseException
    ) -> None:
        """Undo what was done of an operation whose files could not be written, and say so in the log."""
        is_left = False
        for layer, changes in reversed(begun):
            try:
                done = [change.inverse() for change in reversed(changes) if layer.begun([change])]
            except Exception:  # noqa: BLE001  whatever a damaged file makes of it
                is_left = True
                continue
            # Together first: a layer may know what a file was before all of them. Else what can be taken back is.
            for part in [done, *([one] for one in done)]:
                with contextlib.suppress(Exception):
                    layer.apply(operation, part)
                    if part is done:
                        break
            with contextlib.suppress(Exception):
                is_left |= any(layer.begun([change]) for change in changes)
        if is_left:  # it stays planned: the next process finishes it, or names it as stuck
            return
        why = error.line() if isinstance(error, NanomemError) else str(error) or type(error).__name__

        def write(connection: Connection, meta: Meta) -> Operation:
            on_rows = [one for one in operation.inverse() if one.layer in models.TABLES and self._fits(connection, one)]
            void = new_operation("void", f"not done: {operation.label} ({why})", on_rows, undoes=operation.id)
            self._write_rows(connection, on_rows, meta.revision)
            bookkeeping.write_operation(connection, meta.revision, void)
            bookkeeping.set_state(connection, operation.id, DONE, of=PLANNED)
            bookkeeping.drop_lease(connection, _FILES_OF + self.writers.name)
            bookkeeping.mark_void(connection, operation)
            return void

        self._commit(write, durable=True)

    def _set_state(self, op_id: str, state: str, writer: str) -> None:
        """Note what became of a planned operation; another process may have been quicker."""
        with self.database.writing(durable=True) as connection:
            bookkeeping.set_state(connection, op_id, state, of=PLANNED)
            bookkeeping.drop_lease(connection, _FILES_OF + writer)

    # -- counters and checkpoints -------------------------------------------------------------------------------

    def save_counts(self) -> int:
        """Save the counters that turns moved; return how many. A batch is added once, also where the answer to its
        commit was lost. Raises StoreError; the counters stay in RAM then."""
        with self.snapshot.lock:
            counts = self._batch[1] if self._batch is not None else self.snapshot.unsaved_counts()
            if not counts:
                return 0
            batch = self._batch[0] if self._batch is not None else secrets.token_hex(8)
            self._batch = (batch, counts)
            revision = self._again(lambda: self._add_counts(batch, counts))
            self._batch = None
            self.snapshot.saved(counts)
            self.snapshot.revision = revision
            return len(counts)

    def _add_counts(self, batch: str, counts: Counts) -> int:
        with self._transaction(durable=True, notify=False) as (connection, meta):
            if bookkeeping.is_new_batch(connection, batch):
                rows.add_counts(connection, meta.revision, counts)
            connection.execute(delete(BATCHES).where(BATCHES.c.at < clock.iso(clock.days_ago(_BATCH_DAYS))))
        return meta.revision

    def renew_index(self) -> bool:
        """Go on with an index that is being made anew, in a change of its own; return whether it is whole."""
        if not self._index_is_new:
            self._again(self._change_nothing)
        return self._index_is_new

    def _change_nothing(self) -> None:
        with self._transaction(durable=False, notify=False):
            pass  # every transaction goes on with the index

    def checkpoint(self) -> int:
        """Save the counters, complete the log beside the database, move the WAL into the file, and copy it once a day.
        Return how many counters were saved."""
        saved = self.save_counts()
        if self.recovery is not None:
            self.recovery.sync()
        if isinstance(self.database, SqliteDatabase):
            self.database.checkpoint()
        if self.recovery is not None:
            self.recovery.copy_if_due()
        return saved

    def close(self) -> None:
        """Save the counters and let go of the database."""
        try:
            self.save_counts()
        finally:
            self.database.close()
            self.writers.close()

    # -- one transaction ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self, *, durable: bool, notify: bool = True) -> Iterator[tuple[Connection, Meta]]:
        """A transaction under the next revision; the snapshot has everything that was committed before it."""
        self.load()
        if self.recovery is not None and not self._wrote_before:
            self.recovery.make_lost_commits_again()
        self._wrote_before = True
        with self.database.writing(durable=durable) as connection:
            meta = bookkeeping.next_revision(connection, notify=notify)
            if meta.epoch != self.snapshot.epoch:
                raise _OtherEpoch
            refuse_moved(meta, on_server=connection.dialect.name == "postgresql")
            if meta.revision > self.snapshot.revision + 1:
                self.snapshot.read_up_to(within(connection), meta.revision - 1)
            is_whole = self._index_is_new or full_text.renew_index(connection)
            yield connection, meta
        self._index_is_new = is_whole

    def _again(self, transact: Callable[[], T]) -> T:
        """Do a transaction; where the database was replaced since it was loaded, load it and do it once more."""
        try:
            return transact()
        except _OtherEpoch:
            self.snapshot.revision = -1
            return transact()

    def _commit(self, write: Write, *, durable: bool) -> Operation:
        """Do `write` in a transaction, and then what it planned of the files of others."""
        done = self._again(lambda: self._try(write, durable=durable))
        if done.kind != "void" and _of_files(done):
            self._write_files(done)
        return done

    def _try(self, write: Write, *, durable: bool) -> Operation:
        result: Operation | None = None
        self._written = {layer: {} for layer in models.TABLES}
        try:
            with self._transaction(durable=durable) as (connection, meta):
                result = write(connection, meta)
        except StoreError:
            if result is None or not self._is_there(result.id):
                raise
        for layer, changed in self._written.items():
            self.snapshot.put(layer, changed.values())
        self.snapshot.revision = meta.revision
        if self.recovery is not None:
            with contextlib.suppress(NanomemError):  # the commit stands; who commits next fills the log
                self.recovery.append(Line(meta.revision, result))
        return result

    def _is_there(self, op_id: str) -> bool:
        """Whether a commit went through whose answer was lost; asked until the server answers again, for a while."""
        until = time.monotonic() + LOOKUP_SECONDS
        while True:
            try:
                with self.database.writing(durable=True) as connection:
                    bookkeeping.wait_for_writers(connection)  # the server may still be at that commit
                    return bookkeeping.find_operation(connection, op_id) is not None
            except ServerAway as error:
                if time.monotonic() > until:
                    what = "the server went away while it saved the change; whether it did is not known yet"
                    raise ServerAway(what, self.database.where, "see `nanomem log` when it answers") from error
            time.sleep(0.2)

    def _record(self, connection: Connection, meta: Meta, operation: Operation, *, known: int | None = None) -> None:
        """Check everything that an operation touches, write its rows, and record it: planned where it has files."""
        if operation.undoes is not None:
            self._refuse_undo(connection, operation)
        files = _of_files(operation)
        for name, changes in files.items():
            self._layer_of(name).check(changes)
        by_agent = operation.kind == "agent.changed"
        self._write_rows(connection, operation.changes, meta.revision, known=known, to_deleted=by_agent)
        writer = self.writers.begin() if files else ""
        if not self.writers.is_alone and files:  # others do not see the lock of this process
            bookkeeping.take_lease(connection, _FILES_OF + writer, writer)
        bookkeeping.write_operation(
            connection, meta.revision, operation, state=PLANNED if files else DONE, writer=writer
        )
        bookkeeping.mark_reversed(connection, operation)

    def _refuse_undo(self, connection: Connection, undo: Operation) -> None:
        """Raise NothingToDo where another undo was quicker, NotFound where there is nothing of that id, Conflict where
        its files are not all written."""
        entry = bookkeeping.find_operation(connection, undo.undoes or "")
        if entry is None:
            raise NotFound("no such operation", undo.undoes or "", "see `nanomem log`")
        if entry.state != DONE:
            raise Conflict("its files are not all written", entry.operation.id, "wait, or see `nanomem doctor`")
        stands = {key for (key,) in within(connection).all("operation_standing", seq=entry.position)}
        if entry.undone or (stands and not stands & {change.key for change in undo.changes}):
            raise NothingToDo("nothing to undo", entry.operation.id, "it is undone already")

    def _write_rows(
        self, connection: Connection, changes: Sequence[Change], revision: int, *,
        known: int | None = None, to_deleted: bool = False,
    ) -> None:  # fmt: skip
        """Check every change of rows against the database and write it. Raises Conflict.

        `known`: the last commit that whoever made the changes had seen. What is added may be there as a row that was
        deleted: it comes back. `to_deleted`: a deleted row may change and stays deleted, as an agent may still use it.
        """
        for layer in models.TABLES:
            part = [change for change in changes if change.layer == layer]
            if not part:
                continue
            there = {row.id: row for row in rows.read(connection, layer, ids=[change.key for change in part])}
            new: list[AnyRow] = []
            for change in part:
                row = there.get(change.key)
                refuse_unfit(change, row, known=known, to_deleted=to_deleted, by=partial(_by, connection))
                made = patched(row, change, revision)
                if row is None:
                    new.append(made)
                else:
                    fields = {name for name in made._fields if getattr(made, name) != getattr(row, name)}
                    rows.update_row(connection, layer, made, fields)
                there[change.key] = made
                self._written[layer][change.key] = made
            rows.insert_rows(connection, layer, new)

    def _fits(self, connection: Connection, change: Change) -> bool:
        """Whether a row is as a change starts from it: nobody changed it meanwhile."""
        row = next(iter(rows.read(connection, change.layer, ids=[change.key])), None)
        with contextlib.suppress(NanomemError):
            refuse_unfit(change, row)
            return True
        return False


def _of_files(operation: Operation) -> Mapping[str, list[Change]]:
    """The changes of an operation that are not of rows, by layer."""
    found: dict[str, list[Change]] = {}
    for change in operation.changes:
        if change.layer not in models.TABLES:
            found.setdefault(change.layer, []).append(change)
    return found


def _by(connection: Connection, change: Change) -> str:
    """In words: what changed the thing last."""
    entry = bookkeeping.last_operation_on(connection, change.layer, change.key)
    return f" by {entry.operation.who}: {entry.operation.label}" if entry is not None else ""


def _no_layer(name: str) -> Layer:
    raise NotFound("no such kind of thing", name, "it was written by a newer nanomem")


# -- texts taken out of a database for good: rows, their index, what operations and others kept of them, and the log
# beside a file. What goes is decided by values alone; every other process that has the memory open loads it anew.

FOREIGN, MARKERS = models.table(models.ForeignRow), models.table(models.Marker)
_NEWEST_OPERATIONS = select(OPERATIONS).order_by(OPERATIONS.c.seq.desc())
_OPERATIONS_AT_ONCE = 100
"""Operations that are held at a time."""


class Cleaner(Protocol):
    """Decides what goes: each method returns the very value that it was given where all of it stays.

    Rows are asked first, then operations, newest first, then the others.
    """

    def row(self, layer: str, row: AnyRow) -> AnyRow | None:
        """Return what stays of a row; None: it goes as a whole."""

    def operation(self, operation: Operation) -> Operation:
        """Return what stays of an operation."""

    def seen(self, key: str, raw: str) -> str | None:
        """Return what stays of an agent's row as it was last read, in JSON; None: it goes."""

    def named_value(self, value: str) -> str:
        """Return what stays of a named value."""


class Purged(NamedTuple):
    """The (layer, id) of rows that went as a whole, and of rows that were cleaned."""

    gone: frozenset[tuple[str, str]]
    cleaned: frozenset[tuple[str, str]]


def clean_database(connection: Connection, cleaning: Cleaner, *, write: bool) -> Purged:
    """Ask about everything that a database holds, and with `write` take out what goes, in the transaction of the
    caller. A database that the memory has left may be cleaned too."""
    revision = bookkeeping.next_revision(connection).revision if write else 0
    gone: list[tuple[str, str]] = []
    cleaned: list[tuple[str, str]] = []
    for layer in models.TABLES:
        asked = [(row, cleaning.row(layer, row)) for row in rows.read(connection, layer)]
        lost = [row.id for row, left in asked if left is None]
        changed = [(row, left) for row, left in asked if left is not None and left is not row]
        if write:
            rows.delete_rows(connection, layer, lost)
            for row, left in changed:
                fields = {name for name in row._fields if getattr(row, name) != getattr(left, name)}
                rows.update_row(connection, layer, left._replace(revision=revision), fields)
        gone += [(layer, key) for key in lost]
        cleaned += [(layer, row.id) for row, _ in changed]
    _purge_operations(connection, cleaning, write=write)
    _purge_seen(connection, cleaning, write=write)
    _purge_named_values(connection, cleaning, write=write)
    if write:
        full_text.drop_removed(connection)
        connection.execute(update(META).values(epoch=secrets.token_hex(8)))
    return Purged(frozenset(gone), frozenset(cleaned))


def _purge_operations(connection: Connection, cleaning: Cleaner, *, write: bool) -> None:
    for found in _newest_first(connection):
        operation = operation_log.entry_of(found).operation
        left = cleaning.operation(operation)
        if left is operation or not write:
            continue
        values: dict[str, Any] = {"meta_json": bookkeeping.dump_json(dict(left.meta))}
        if left.label != operation.label:
            values["label"] = escape_nul(left.label)
        if len(left.changes) != len(operation.changes):
            values |= {"changes_json": bookkeeping.dump_json(left.to_json()["changes"]), "touched": len(left.changes)}
        connection.execute(update(OPERATIONS).where(OPERATIONS.c.seq == found.seq).values(values))
        stay = {(change.layer, change.key) for change in left.changes}
        for layer, key in {(change.layer, change.key) for change in operation.changes} - stay:
            part = (KEYS.c.layer == layer) & (KEYS.c.key == key) & (KEYS.c.seq == found.seq)
            connection.execute(delete(KEYS).where(part))


def _newest_first(connection: Connection) -> Iterator[Any]:
    """The rows of the log, which may be written meanwhile, some at a time: an import is one of many megabytes."""
    part = connection.execute(_NEWEST_OPERATIONS.limit(_OPERATIONS_AT_ONCE)).all()
    while part:
        yield from part
        part = connection.execute(
            _NEWEST_OPERATIONS.where(OPERATIONS.c.seq < part[-1].seq).limit(_OPERATIONS_AT_ONCE)
        ).all()


def _purge_seen(connection: Connection, cleaning: Cleaner, *, write: bool) -> None:
    for source, key, raw in connection.execute(select(FOREIGN.c.source, FOREIGN.c.id, FOREIGN.c.raw_json)).all():
        left = cleaning.seen(unescape_nul(key), unescape_nul(raw))
        here = (FOREIGN.c.source == source) & (FOREIGN.c.id == key)
        if write and left is None:
            connection.execute(delete(FOREIGN).where(here))
        elif write and left is not None and left != unescape_nul(raw):
            connection.execute(update(FOREIGN).where(here).values(raw_json=escape_nul(left)))


def _purge_named_values(connection: Connection, cleaning: Cleaner, *, write: bool) -> None:
    for key, value in connection.execute(select(MARKERS.c.key, MARKERS.c.value)).all():
        if (left := cleaning.named_value(value)) != value and write:
            connection.execute(update(MARKERS).where(MARKERS.c.key == key).values(value=left))


def changes_of(connection: Connection, layer: str) -> Iterator[Change]:
    """Every change that operations recorded of the things of a layer."""
    touched = select(KEYS.c.seq).where(KEYS.c.layer == layer)
    for found in connection.execute(select(OPERATIONS).where(OPERATIONS.c.seq.in_(touched))).all():
        yield from (change for change in operation_log.entry_of(found).operation.changes if change.layer == layer)


def purge_database(database: Database, recovery: DatabaseRecovery | None, cleaning: Cleaner) -> Purged:
    """Take texts out of a database and, of a file, of the log beside it. What an interrupted one left is done again.

    Their bytes are in freed pages and in the WAL until the database is compacted. Raises the store's errors.
    """
    if recovery is not None:
        recovery.make_lost_commits_again()
    with database.writing(durable=True) as connection:
        taken = clean_database(connection, cleaning, write=True)
    if recovery is not None:
        recovery.write_anew()
    return taken
