"""The memory of one workspace: rows in RAM over one database, and every change as one transaction.

Owns the order of a change: the turn of the writers first, then what others committed, then compare, rows, index and
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
from typing import TypeVar

from sqlalchemy import Connection, delete, insert, inspect

from nanomem_tui import clock
from nanomem_tui.database import foreign, migrations, models, operations, rows, search, views
from nanomem_tui.database.engine import Database, SqliteDatabase
from nanomem_tui.database.operations import DONE, PLANNED, STUCK, Entry
from nanomem_tui.database.reading import CoreReading, Turn, refuse_moved, within
from nanomem_tui.database.recovery import Line, Recovery
from nanomem_tui.database.snapshot import Counts, Snapshot, difference, patched
from nanomem_tui.database.writers import Writers
from nanomem_tui.errors import Conflict, NanomemError, NotFound, NothingToDo, ServerAway, StoreError
from nanomem_tui.operations import Change, Layer, Operation, new_operation
from nanomem_tui.store.values import AnyRow

BATCHES = models.table(models.UsageBatch)
NAMES = {"item": "memory", "lesson": "lesson", "record": "record"}
_BATCH_DAYS = 7
LOOKUP_SECONDS = 10.0
"""How long to ask whether a commit went through, where the server went away before it answered."""

Beside = Callable[[Connection, int], None]
"""What else a transaction writes; gets the number of the commit."""
Write = Callable[[Connection, Turn], Operation]
"""What a transaction does; returns the operation that it recorded."""


T = TypeVar("T")


class _OtherEpoch(Exception):
    """The database was replaced since it was loaded."""


def make(database: Database, workspace_id: str) -> None:
    """Make the tables of a workspace where there are none, or bring those of an older release to the newest schema.
    Raises StoreError, and NewerDatabase where a later release made them."""
    with database.making() as connection:
        there = inspect(connection)
        is_old = False
        if there.has_table("meta"):
            is_old = migrations.is_due(connection, database.where)
        elif there.has_table("memory_entries"):
            raise StoreError("a database of the first edition", database.where, "any command that writes takes it over")
        else:
            models.METADATA.create_all(connection)
            search.make_index(connection)
            views.make_views(connection)
            migrations.stamp(connection)
            connection.execute(
                insert(operations.META).values(
                    one=1, revision=0, epoch=secrets.token_hex(8), workspace_id=workspace_id,
                    channel=f"nanomem_{secrets.token_hex(12)}",
                )
            )  # fmt: skip
    if is_old:
        migrations.migrate(database)


class Store:
    """The rows and operations of one workspace. Thread-safe; several processes may have one each."""

    def __init__(
        self,
        database: Database,
        writers: Writers,
        recovery: Recovery | None = None,
        layer_of: Callable[[str], Layer] | None = None,
        snapshot: Snapshot | None = None,
    ) -> None:
        """`recovery`: the copies and the log beside a file of SQLite; a server has backups of its own. `layer_of`:
        what changes the files of an agent, by the name of a layer; raises NotFound. `snapshot`: the rows in RAM, where
        they were read already."""
        self.database = database
        self.snapshot = snapshot if snapshot is not None else Snapshot()
        self._reading = CoreReading(database.reading, database.where)
        self._writers = writers
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

    def refresh(self) -> bool:
        """Read what other processes committed since the last look; return whether rows changed. Raises StoreError."""
        if self.snapshot.revision >= 0 and not self.database.changed():
            return False
        return self.snapshot.read(self._reading)

    # -- changing -----------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, *, durable: bool = True, beside: Beside | None = None) -> Operation:
        """Make a change and record it, in one transaction.

        `durable`: acknowledged once it survives a power cut, else once it survives a kill. `beside`: what else is
        written in the same transaction. A person's change is refused where a row was written since he saw it, that of
        an agent where a field is not what it starts from. Raises Conflict where a row or a file is not what the change
        starts from, StoreError where the database cannot be written, or what a file cannot be written for; nothing is
        changed then.
        """

        def write(connection: Connection, turn: Turn) -> Operation:
            self._record(connection, turn, operation, known=known)
            if beside is not None:
                beside(connection, turn.revision)
            return operation

        with self.snapshot.lock:
            self.load()
            known = self.snapshot.revision if operation.actor == "human" and not operation.takes_up else None
            return self._commit(write, durable=durable)

    def undo(self, op_id: str | None = None, keys: Sequence[str] | None = None) -> Operation:
        """Take back an operation, or what it did to the things of `keys`; without an id, what a person did last.

        Only the fields that it changed are compared and restored. Raises NothingToDo, NotFound, or Conflict where
        somebody changed one of them since.
        """

        def write(connection: Connection, turn: Turn) -> Operation:
            entry = self._to_undo(connection, op_id)
            stands = operations.standing(connection, entry.seq)
            wanted = [part for part in stands if keys is None or part[1] in keys]
            if not wanted:
                raise NothingToDo("nothing to undo", entry.operation.id, "it is undone already")
            chosen = set(wanted)
            changes = [change for change in entry.operation.inverse() if (change.layer, change.key) in chosen]
            label = f"undo: {entry.operation.label}"
            operation = new_operation("undo", label, changes, undoes=entry.operation.id)
            self._record(connection, turn, operation)
            return operation

        with self.snapshot.lock:
            return self._commit(write, durable=True)

    def redo(self) -> Operation:
        """Do again what was undone last. Raises NothingToDo or Conflict."""

        def write(connection: Connection, turn: Turn) -> Operation:
            undo = operations.newest_undo(connection)
            if undo is None or undo.operation.undoes is None:
                raise NothingToDo("nothing to redo", "", "redo follows an undo")
            label = f"redo: {undo.operation.label.removeprefix('undo: ')}"
            meta = {"undo": undo.operation.id}
            operation = new_operation("redo", label, undo.operation.inverse(), redoes=undo.operation.undoes, meta=meta)
            self._record(connection, turn, operation)
            return operation

        with self.snapshot.lock:
            return self._commit(write, durable=True)

    def log(self, limit: int = 50, offset: int = 0, key: str | None = None) -> list[Entry]:
        """List operations, newest commit first. `key`: those that touched the thing of that id."""
        with self.database.reading() as connection:
            return operations.log(connection, limit, offset, key)

    def take_in(self, taken: Mapping[str, Sequence[AnyRow]], beside: Beside) -> None:
        """Insert rows, by layer, that are no change of anybody: those of an agent's files, before the first change. In
        the same transaction, `beside` writes more. Raises StoreError."""
        with self.snapshot.lock:
            with self._turn(durable=True) as (connection, turn):
                for layer, some in taken.items():
                    rows.insert_rows(connection, layer, [row._replace(revision=turn.revision) for row in some])
                beside(connection, turn.revision)
            for layer, some in taken.items():
                self.snapshot.put(layer, [row._replace(revision=turn.revision) for row in some])
            self.snapshot.revision = turn.revision

    def remember(self, write: Callable[[Connection], None]) -> None:
        """Write, durably, what is no change of a row: what is known of an agent's files. Raises StoreError."""
        with self.database.writing(durable=True) as connection:
            write(connection)

    def set_markers(self, values: Mapping[str, str]) -> None:
        """Set named values, durably. Raises StoreError."""
        self.remember(lambda connection: foreign.set_markers(connection, values))

    # -- files of others ----------------------------------------------------------------------------------------

    def settle(self) -> list[Entry]:
        """Finish what killed processes left planned; return what cannot be finished, for `doctor` to name.

        Of each file: what is done already stays, what is as before is written, and where a file is neither, it is left
        and the operation is stuck. Others go on.
        """
        for entry in self.unfinished():
            if entry.state == PLANNED:
                self._set_state(entry.operation.id, DONE if self._finish(entry.operation) else STUCK)
        return [entry for entry in self.unfinished() if entry.state == STUCK]

    def unfinished(self) -> list[Entry]:
        """List the operations whose files are not all written: those that a process which ended left planned, and those
        that are stuck."""
        with self.database.reading() as connection:
            left = operations.planned(connection)
        return [entry for entry in left if entry.state == STUCK or not self._writers.is_alive(entry.writer)]

    def _finish(self, operation: Operation) -> bool:
        """Write what is left of the files of an operation; whether all of them are as it wants them."""
        for name, changes in _of_files(operation).items():
            try:
                layer = self._layer_of(name)
                for change in changes:
                    if not layer.begun([change]):
                        layer.check([change])
                        layer.apply(operation, [change])
            except NanomemError:
                return False
        return True

    def _write_files(self, operation: Operation) -> None:
        """Write the files of an operation that was committed as planned, and note that it is done. Takes everything
        back and raises where one of them cannot be written."""
        begun: list[tuple[Layer, Change]] = []
        try:
            for name, changes in _of_files(operation).items():
                layer = self._layer_of(name)
                begun += [(layer, change) for change in changes]
                layer.apply(operation, changes)
        except (Exception, KeyboardInterrupt) as error:
            self._take_back(operation, begun, error)
            raise
        with contextlib.suppress(ServerAway):  # the files are written; `settle` notes it when the server is back
            self._set_state(operation.id, DONE)

    def _take_back(self, operation: Operation, begun: list[tuple[Layer, Change]], error: BaseException) -> None:
        """Undo what was done of an operation whose files could not be written, and say so in the log."""
        for layer, change in reversed(begun):
            with contextlib.suppress(NanomemError, OSError):
                if layer.begun([change]):
                    layer.apply(operation, [change.inverse()])
        why = error.line() if isinstance(error, NanomemError) else str(error) or type(error).__name__
        on_rows = [change for change in operation.inverse() if change.layer in rows.TABLES]

        def write(connection: Connection, turn: Turn) -> Operation:
            void = new_operation("void", f"not done: {operation.label} ({why})", on_rows, undoes=operation.id)
            self._write_rows(connection, on_rows, turn.revision)
            operations.write(connection, turn.revision, void)
            operations.set_state(connection, operation.id, DONE)
            operations.mark(connection, operation.id, operations.parts_of(operation), undone=True)
            if operation.undoes:
                operations.mark(connection, operation.undoes, operations.parts_of(operation), undone=False)
            if operation.redoes:
                operations.mark(connection, operation.redoes, operations.parts_of(operation), undone=True)
            return void

        self._commit(write, durable=True)

    def _set_state(self, op_id: str, state: str) -> None:
        with self.database.writing(durable=True) as connection:
            operations.set_state(connection, op_id, state)

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
        with self._turn(durable=True, notify=False) as (connection, turn):
            if operations.is_new_batch(connection, batch):
                rows.add_counts(connection, turn.revision, counts)
            connection.execute(delete(BATCHES).where(BATCHES.c.at < clock.iso(clock.days_ago(_BATCH_DAYS))))
        return turn.revision

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
            self._writers.close()

    # -- one transaction ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _turn(self, *, durable: bool, notify: bool = True) -> Iterator[tuple[Connection, Turn]]:
        """A transaction in this process's turn; the snapshot has everything that was committed before it."""
        self.load()
        if self.recovery is not None and not self._wrote_before:
            self.recovery.make_lost_commits_again()
        self._wrote_before = True
        with self.database.writing(durable=durable) as connection:
            turn = operations.take_turn(connection, notify=notify)
            if turn.epoch != self.snapshot.epoch:
                raise _OtherEpoch
            refuse_moved(turn)
            if turn.revision > self.snapshot.revision + 1:
                self.snapshot.read_up_to(within(connection), turn.revision - 1)
            if not self._index_is_new:
                search.renew(connection)
            yield connection, turn
        self._index_is_new = True

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
        self._written = {layer: {} for layer in rows.TABLES}
        try:
            with self._turn(durable=durable) as (connection, turn):
                result = write(connection, turn)
        except StoreError:
            if result is None or not self._is_there(result.id):
                raise
        for layer, changed in self._written.items():
            self.snapshot.put(layer, changed.values())
        self.snapshot.revision = turn.revision
        if self.recovery is not None:
            self.recovery.append(Line(turn.revision, result))
        return result

    def _is_there(self, op_id: str) -> bool:
        """Whether a commit went through whose answer was lost; asked until the server answers again, for a while."""
        until = time.monotonic() + LOOKUP_SECONDS
        while True:
            try:
                with self.database.writing(durable=True) as connection:
                    operations.wait_for_writers(connection)  # the server may still be at that commit
                    return operations.find(connection, op_id) is not None
            except ServerAway as error:
                if time.monotonic() > until:
                    what = "the server went away while it saved the change; whether it did is not known yet"
                    raise ServerAway(what, self.database.where, "see `nanomem log` when it answers") from error
            time.sleep(0.2)

    def _record(self, connection: Connection, turn: Turn, operation: Operation, *, known: int | None = None) -> None:
        """Check everything that an operation touches, write its rows, and record it: planned where it has files."""
        files = _of_files(operation)
        for name, changes in files.items():
            self._layer_of(name).check(changes)
        by_agent = operation.kind == "agent.changed"
        self._write_rows(connection, operation.changes, turn.revision, known=known, to_deleted=by_agent)
        writer = self._writers.begin() if files else ""
        operations.write(connection, turn.revision, operation, state=PLANNED if files else DONE, writer=writer)
        if operation.undoes is not None:
            self._refuse_undone(connection, operation)
        operations.mark_taken_up(connection, operation)

    def _refuse_undone(self, connection: Connection, undo: Operation) -> None:
        """Raise NothingToDo where another undo was quicker, NotFound where there is nothing of that id."""
        entry = operations.find(connection, undo.undoes or "")
        if entry is None:
            raise NotFound("no such operation", undo.undoes or "", "see `nanomem log`")
        stands = operations.standing(connection, entry.seq)
        keys = {change.key for change in undo.changes}
        if entry.undone or (stands and not any(key in keys for _, key in stands)):
            raise NothingToDo("nothing to undo", entry.operation.id, "it is undone already")

    def _write_rows(
        self, connection: Connection, changes: Sequence[Change], revision: int, *,
        known: int | None = None, to_deleted: bool = False,
    ) -> None:  # fmt: skip
        """Check every change of rows against the database and write it. Raises Conflict.

        `known`: the last commit that whoever made the changes had seen. What is added may be there as a row that was
        deleted: it comes back. `to_deleted`: a deleted row may change and stays deleted, as an agent may still use it.
        """
        for layer in rows.TABLES:
            part = [change for change in changes if change.layer == layer]
            if not part:
                continue
            there = {row.id: row for row in rows.read(connection, layer, ids=[change.key for change in part])}
            new: list[AnyRow] = []
            for change in part:
                row = there.get(change.key)
                self._check(connection, change, row, known=known, to_deleted=to_deleted)
                made = patched(row, change, revision)
                if row is None:
                    new.append(made)
                else:
                    fields = {name for name in made._fields if getattr(made, name) != getattr(row, name)}
                    rows.update_row(connection, layer, made, fields)
                there[change.key] = made
                self._written[layer][change.key] = made
            rows.insert_rows(connection, layer, new)

    def _check(
        self, connection: Connection, change: Change, row: AnyRow | None, *, known: int | None, to_deleted: bool
    ) -> None:
        name = NAMES[change.layer]
        if change.before is None:
            if row is not None and not row.is_deleted:
                raise Conflict(f"a {name} of this id is there already", change.key, "nothing was changed")
            return
        if row is None:
            raise NotFound(f"no such {name}", change.key, "nothing was changed")
        if row.is_deleted and not change.before.get("is_deleted") and not to_deleted:
            raise Conflict(f"the {name} was deleted since{_by(connection, change)}", change.key, "undo that first")
        if difference(row, change) or (known is not None and row.revision > known):
            what = f"the {name} was changed since{_by(connection, change)}"
            raise Conflict(what, change.key, "look at it again, or undo that first: see `nanomem log`")

    def _to_undo(self, connection: Connection, op_id: str | None) -> Entry:
        entry = operations.find(connection, op_id) if op_id else operations.newest_of_person(connection)
        if entry is None:
            if op_id:
                raise NotFound("no such operation", op_id, "see `nanomem log`")
            raise NothingToDo("nothing to undo", "", "see `nanomem log` for what others did")
        if entry.operation.kind in operations.FINAL:
            raise NothingToDo(f"a {entry.operation.kind} cannot be undone", entry.operation.id, "see `nanomem log`")
        if entry.operation.kind in operations.BOOKKEEPING:
            raise NotFound("that operation only undoes another one", entry.operation.id, "`nanomem redo` repeats it")
        if entry.state != DONE:
            raise Conflict("the operation is not finished", entry.operation.id, "run `nanomem doctor --fix`")
        return entry


def _of_files(operation: Operation) -> Mapping[str, list[Change]]:
    """The changes of an operation that are not of rows, by layer."""
    found: dict[str, list[Change]] = {}
    for change in operation.changes:
        if change.layer not in rows.TABLES:
            found.setdefault(change.layer, []).append(change)
    return found


def _by(connection: Connection, change: Change) -> str:
    """In words: what changed the thing last."""
    entry = operations.last_of(connection, change.layer, change.key)
    return f" by {entry.operation.who}: {entry.operation.label}" if entry is not None else ""


def _no_layer(name: str) -> Layer:
    raise NotFound("no such kind of thing", name, "it was written by a newer nanomem")
