"""The store of one workspace: snapshot, ledger, database and shared files as one thing that changes and remembers.

Owns the order of every change (check, record, apply) and of every checkpoint (adopt, merge, commit, export).
Imports the writing side of the database only when something is written.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import CorruptDatabase, NanomemError, Problem, StoreError, from_os_error
from nanomem_tui.operations import Change, Layer, Operation, dated_after
from nanomem_tui.paths import Paths, kept_id
from nanomem_tui.settings import Settings
from nanomem_tui.store import (
    atomic,
    driver_errors,
    flush_request,
    forgotten,
    ledger_order,
    moved,
    provenance,
    signing,
    unfinished,
    where_kept,
)
from nanomem_tui.store.deciding import Deciding
from nanomem_tui.store.exports import ExportedRows
from nanomem_tui.store.row_layer import RowLayer
from nanomem_tui.store.values import ROW_LAYERS

if TYPE_CHECKING:
    from nanomem_tui.store.checkpoint import Batch, Written
    from nanomem_tui.store.database import Database
    from nanomem_tui.store.postgres.behind import Behind
    from nanomem_tui.store.postgres.database import PgDatabase
    from nanomem_tui.store.sql import Connection


ByLayer = Sequence[tuple[str, Sequence[Change]]]
AGAIN = 5.0
"""Seconds after which a server that did not answer is tried again, where changes wait for it."""


class CheckpointResult(NamedTuple):
    """What a checkpoint did: operations and rows moved, milliseconds taken, the agent's files written."""

    operations: int
    rows: int
    ms: float
    exported: tuple[str, ...]


class MemoryStore(ExportedRows):
    """Rows in RAM over a ledger and a database. Thread-safe: the console's checkpoint runs beside its screens."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        super().__init__(paths, workspace_id, settings)
        self.layers: dict[str, Layer] = {name: RowLayer(name, self.snapshot) for name in ROW_LAYERS}
        self.before_checkpoint: Callable[[], None] = lambda: None
        self.after_checkpoint: Callable[[CheckpointResult], None] = lambda _done: None
        self.register: Callable[[str], None] = lambda _layer: None
        self._checkpointing = threading.Lock()
        self.deciding = Deciding(self.ledger.folder, self.refresh, self.source.deciding)
        self.behind = self._behind() if self.server is not None else None
        self._trouble = {"recording": "", "checkpoint": ""}
        self._tried_at = 0.0
        self._flush_asked = flush_request.stamp(self.ledger.folder)
        self._unfinished: dict[str, tuple[Operation, NanomemError]] = {}
        self._performed = self._id_kept = self._index_is_old = False
        self._database: Database | PgDatabase | None = None
        self._copy_problem: Problem | None = None

    @property
    def degraded(self) -> str:
        """Why changes cannot be recorded, or written to the database, now; empty when all is well."""
        elsewhere = self.moved.line() if self.moved is not None else ""
        return self._trouble["recording"] or self._trouble["checkpoint"] or elsewhere

    # -- changing -----------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, *, durable: bool = True) -> Operation:
        """Check, record, apply. `durable`: acknowledged only once it survives a power cut.

        Raises Conflict or BadInput (nothing recorded), the errors of the ledger (nothing applied), or a layer's error
        when the change itself failed (a `void` operation says so in the log).
        """
        looked = forgotten.stamp(self.paths)
        operation = signing.signed(forgotten.allowed(self.paths, operation, looked), self.signature)
        if self._loaded:
            with self._lock:
                self._forget_since(looked)
        if self.server is not None:
            from nanomem_tui.store.postgres.texts import without_nul

            operation = without_nul(operation)
        by_layer = _by_layer(operation.changes)
        if any(name in unfinished.SETTLED for name, _ in by_layer):
            self.settle()
        if operation.actor != "human":
            with self._lock:
                return self._perform(operation, by_layer, durable=durable)
        with contextlib.ExitStack() as decided:  # who made it has not seen what another process changed meanwhile
            decided.enter_context(self.deciding.alone())
            if self.server is not None:
                return self._write_through(operation, by_layer, durable=durable)
            with self._lock:
                return self._perform(operation, by_layer, durable=durable, recorded=decided.close)

    def _write_through(self, operation: Operation, by_layer: ByLayer, *, durable: bool) -> Operation:
        """What a person decides goes to the server at once, behind him; nobody on another machine, who sees no ledger
        of ours, decides before it is there. Where the server is away it waits in the ledger."""
        assert self.behind is not None
        with self._lock:
            done = self._perform(operation, by_layer, durable=durable, recorded=lambda: None)
        self.source.decided()
        self.behind.ask()
        return done

    def _perform(
        self, operation: Operation, by_layer: ByLayer, *, durable: bool, recorded: Callable[[], None] | None = None
    ) -> Operation:
        """Check, record and apply. `recorded`: a person made it; called once other processes can see it."""
        if not self._loaded and any(name in ROW_LAYERS for name, _ in by_layer):
            self.load()
        operation = dated_after(operation, self._newest_at())
        provenance.check(operation, by_layer, self.snapshot)
        for name, changes in by_layer:
            self.layers[name].check(changes)
        self._record(operation, durable=durable)
        if recorded is not None:
            recorded()
        self._apply(operation, by_layer, durable=durable)
        self._touch()
        return operation

    def _apply(self, operation: Operation, by_layer: ByLayer, *, durable: bool) -> None:
        begun: list[tuple[str, list[Change]]] = []
        try:
            for name, changes in by_layer:
                begun.append((name, list(changes)))
                self.layers[name].apply(operation, changes)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, Exception) or any(name not in ROW_LAYERS for name, _ in begun):
                trouble = error if isinstance(error, NanomemError) else StoreError(str(error) or "interrupted")
                self._unfinished[operation.id] = (operation, trouble)  # should this be interrupted too
                self._record(unfinished.take_back(operation, begun, self.layers, trouble), durable=durable)
                del self._unfinished[operation.id]
            raise
        finally:
            self._performed = True

    def _behind(self) -> Behind:
        from nanomem_tui.store.postgres.behind import Behind

        return Behind(self.checkpoint, self.source.written)

    def settle(self) -> None:
        """Finish, or take back, what a killed process left half done, before anything is built on it.

        Raises what keeps that from being done now.
        """
        if self._unfinished or self.ledger.abandoned():
            with contextlib.suppress(NanomemError):  # it is told in `degraded`
                self.checkpoint()
            for _, error in self._unfinished.values():
                raise error

    def see_others(self) -> None:
        """What others did since; raises the store's errors. What could not be written is tried again."""
        super().see_others()
        self.write_again()

    def write_again(self) -> None:
        """Behind who asks, now and then: write what waits since a server did not answer."""
        if self.behind is not None and self._trouble["checkpoint"] and time.monotonic() - self._tried_at >= AGAIN:
            self._tried_at = time.monotonic()
            self.behind.ask()

    def _record(self, operation: Operation, *, durable: bool) -> None:
        try:
            if not self._id_kept:
                self._keep_id()
            self.ledger.record(operation, durable=durable)
        except NanomemError as error:
            self._trouble["recording"] = error.line()
            raise
        self._trouble["recording"] = ""

    def _keep_id(self) -> None:
        """Before the first change: the id that all our rows go under (paths: `own_id`)."""
        try:
            if kept_id(self.paths.own_id) != self.workspace_id:
                atomic.make_folder(self.paths.own_id.parent)
                atomic.write_atomic(self.paths.own_id, self.workspace_id.encode())
        except OSError as error:
            raise from_os_error(error, "making nanomem's folder") from error
        self._id_kept = True

    def leading(self, work: str) -> contextlib.AbstractContextManager[bool]:
        """Whether this process does a piece of work for all that share the store; of one machine's, locks of files
        decide."""
        if self.server is None:
            return contextlib.nullcontext(True)
        from nanomem_tui.store.postgres import leases

        return leases.held(self.server, work)

    # -- checkpoints --------------------------------------------------------------------------------------------

    @property
    def dirty(self) -> int:
        """How many rows or operations wait for a checkpoint."""
        return max(self.snapshot.dirty, len(self.ledger.pending))

    def due(self) -> bool:
        """Whether a checkpoint is to be made: one of seed 000's triggers asks for it (enough changes, or enough time
        with changes), or another process."""
        if self._is_asked_to_flush():
            return True
        if not self.dirty:
            return self.settings.export and self._export_due and self._interval_over(self._exported_at)
        waited = self._changed_at is not None and self._interval_over(self._changed_at)
        return self.dirty >= self.settings.flush_every_updates or waited

    def _is_asked_to_flush(self) -> bool:
        return flush_request.stamp(self.ledger.folder) != self._flush_asked

    def checkpoint(self, *, final: bool = False) -> CheckpointResult:
        """Move what waits into the database; export at most once in a flush interval, or when `final`.

        Raises the store's errors and says so in `degraded`; RAM and ledger keep everything then.
        """
        with self._checkpointing:
            asked = flush_request.stamp(self.ledger.folder)
            final, self._flush_asked = final or asked != self._flush_asked, asked
            started = time.perf_counter()
            operations, rows = self._commit_or_tell(started)
            exported: tuple[str, ...] = ()
            if self.settings.export and self._export_due and (final or self._interval_over(self._exported_at)):
                exported = self._export()
                if final and self._export_due:  # somebody wrote a file meanwhile: merge that, then once more
                    more_operations, more_rows = self._commit_or_tell(started)
                    operations, rows = operations + more_operations, rows + more_rows
                    exported += self._export()
            done = CheckpointResult(operations, rows, (time.perf_counter() - started) * 1000, exported)
            if operations or rows:
                self.after_checkpoint(done)
            if self._index_is_old:
                self._make_index()
            return done

    def _make_index(self) -> None:
        """Make the full-text index of another version anew, once everything is written; a search does without it."""
        from nanomem_tui.store import reindex

        with contextlib.suppress(NanomemError):  # somebody else makes it, or the next checkpoint does
            reindex.make_anew(self)
        self._index_is_old = False

    def _commit_or_tell(self, started: float) -> tuple[int, int]:
        try:
            try:
                done = self._commit(started)
            except CorruptDatabase as error:
                if self.source.damage is not None or not self.source.fall_back(error):
                    raise
                done = self._commit_again(started)
        except (NanomemError, OSError) as error:
            trouble = error if isinstance(error, NanomemError) else from_os_error(error, "writing the database")
            self._trouble["checkpoint"] = trouble.line()
            raise trouble from error
        self._trouble["checkpoint"] = ""
        return done

    def _commit_again(self, started: float) -> tuple[int, int]:
        """The same over what stands in for a damaged database, which may be itself where every page can be read; when
        it cannot be written then either, it is a copy."""
        try:
            return self._commit(started)
        except CorruptDatabase as error:
            certain = driver_errors.is_certain(error) and self.source.damage is None
            if not certain or not self.source.fall_back(error, certain=True):
                raise
            return self._commit(started)

    def _commit(self, started: float) -> tuple[int, int]:
        """Under the lock of all writers: what others wrote meanwhile is merged in first, so nothing is taken twice."""
        from nanomem_tui.store import checkpoint, mending

        with self._lock:
            self.load()
            self._forget_since()
            self.files.settle_here()
            if self.source.damage is not None:
                self._repair()
            self._adopt_ledgers()
            self.files.read()
            if not (self.dirty or self._noticed or self._replayed or self.files.has_new()):
                return 0, 0
        try:
            with self.database.writing() as connection:
                with self._lock:
                    batch, noticed = self._batch(started)
                    self._writing = True
                if not batch.operations and not batch.rows:
                    return 0, 0
                self.copies.keep(batch.lines)
                if self._mended is not None:
                    mending.keep(self._mended, ((row.layer, row.row.id) for row in batch.rows), self.paths.quarantine)
                written = checkpoint.write(connection, self.workspace_id, batch)
            self.copies.note(written.operations)
            self._index_is_old = not written.indexed
            self._copy_if_due()
            self._settle(batch, written, noticed, started)
        finally:
            self._writing = False
            self._looked_in = ()  # what others have yet to write is seen on the rows as they are now
        return len(batch.operations), len(batch.rows)

    def _settle(self, batch: Batch, written: Written, noticed: int, started: float) -> None:
        """Take over what was committed."""
        with self._lock:
            self._replayed, self._mended = [], None
            changed = self.snapshot.settle(batch.rows, written.rows)
            self.files.remembered(batch.memos)
            self._noticed = self._noticed[noticed:]
            self.ledger.moved(batch.operations, self.paths.quarantine)
            self._revision = max(self._revision, written.revision)
            self._changed_at = None if not self.dirty else time.monotonic()
            self._written_at = max([self._written_at, *(operation.place for operation in batch.operations)])
            self.last_at, self.last_ms = batch.meta["last_at"], (time.perf_counter() - started) * 1000
            self._writing, self._looked_in = False, ()
            if changed:  # by us, or by another process that was looked at meanwhile: who writes it is told apart
                with contextlib.suppress(NanomemError):
                    self._begin_anew(changed)

    def _batch(self, started: float) -> tuple[Batch, int]:
        """What there is to write now, and how many notices of the agent's changes are in it."""
        from dataclasses import replace  # who only reads does without

        from nanomem_tui.store import checkpoint

        self._refresh_rows(self.ledger.files())
        if self._adopted:
            self._notice_agent(wait=None)
            self._place_in_sessions()
        self.before_checkpoint()
        pending = [operation for operation in self.ledger.pending if operation.id not in self._unfinished]
        operations = ledger_order.in_order([self._replayed, self._noticed, pending])
        rows = self.snapshot.dirty_rows() if self._adopted else self.snapshot.all_rows()
        took = f"{(time.perf_counter() - started) * 1000:.1f}"
        marks = {"last_at": clock.iso(clock.now()), "last_ms": took}
        lines = [self.ledger.line_of(operation) for operation in operations]
        batch = checkpoint.Batch(operations, rows, self.files.memo(), marks, lines)
        if (mended := self._mended) is not None:
            batch = replace(batch, back=mended.back, recount=mended.recount, anew=self.found_altered)
        return batch, len(self._noticed)

    def _repair(self) -> None:
        """Put what stands in for a damaged database in its place, and read everything anew from there."""
        with self.database.locked():
            self.database.let_go()
            self.source.put_back()
        self._reload()

    def _copy_if_due(self) -> None:
        """The first commit of a day leaves a copy behind. That there is none is a problem, and no failure."""
        if self._copy_problem is None and self.copies.is_due(self.paths.database):
            try:
                with self.database.locked():
                    self.copies.make(self.paths.database)
            except NanomemError as error:
                what = f"no copy of the database could be made ({error.what})"
                self._copy_problem = Problem(what, "nanomem.db", None, error.fix, "warning")

    def _adopt_ledgers(self) -> None:
        """Make the operations of processes that ended without a checkpoint ours to write. Raises Moved where they are
        for another store."""
        if self.ledger.abandoned() and self.has_database:
            self.read(self._refuse_moved)
        for operation, _ in list(self._unfinished.values()):
            self._finish(operation)
        files = self.ledger.adopt()
        operations = ledger_order.in_order(file.operations for file in files)
        done = self._known(operations) | ledger_order.voided([*operations, *self.ledger.pending])
        fresh = [operation for operation in operations if operation.id not in done]
        places = {(c.layer, c.key) for operation in fresh for c in operation.changes if c.layer in ROW_LAYERS}
        if places:
            self._begin_anew(places)
            self._export_due = True
        for last in (file.operations[-1] for file in files if file.operations):
            if last.id not in done:
                self._finish(last)

    def _finish(self, operation: Operation) -> None:
        """The last thing that a killed process recorded; what cannot be finished now is tried at every checkpoint."""
        try:
            void = unfinished.finish(operation, self.layers, self.register)
        except NanomemError as error:
            self._unfinished[operation.id] = (operation, error)
            return
        if void is not None:
            self._record(void, durable=True)
        self._unfinished.pop(operation.id, None)

    @property
    def database(self) -> Database | PgDatabase:
        """The writing side, opened at the first use."""
        if self._database is None:
            self._database = where_kept.written_to(self.paths, self.server, self._refuse_moved)
        return self._database

    def _refuse_moved(self, connection: Connection) -> None:
        moved.refuse(connection, self.workspace_id, self.where)

    def problems(self) -> list[Problem]:
        """What could not be read or written, here and in the shared files."""
        from nanomem_tui.store import beside, strayed

        found = [*self.source.repaired, *self._row_problems, *self._ledger_problems, *self.files.problems()]
        others = (self.source.damage, self._copy_problem, forgotten.trouble(self.paths), beside.gone(self))
        found += [problem for problem in others if problem is not None]
        if self.paths.own_id.exists() and kept_id(self.paths.own_id) != self.workspace_id:
            what = "the file that keeps the id of this workspace is damaged; its ledger tells the id"
            where = self.paths.relative(self.paths.own_id)
            found.append(Problem(what, where, fix="the next change writes it anew", severity="warning"))
        with contextlib.suppress(NanomemError):  # told where the rows are read
            found += strayed.problems(self)
        if self.degraded:
            fix = "changes are kept in RAM and in the ledger"
            found.append(Problem(f"degraded: {self.degraded}", "store", fix=fix))
        return found

    def close(self) -> None:
        """Let go of files and locks; checkpoint first if something waits. Raises when that fails."""
        if self.behind is not None:
            self.behind.end()
        try:
            if self._performed and (self.ledger.pending or self._export_due):
                self.checkpoint(final=True)
        finally:
            self.ledger.close()
            self.source.close()
            if self._database is not None:
                self._database.close()


def _by_layer(changes: Sequence[Change]) -> ByLayer:
    """The changes of each layer; rows last, because they cannot fail once checked."""
    if len(changes) == 1:
        return [(changes[0].layer, changes)]
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(change.layer, []).append(change)
    return sorted(found.items(), key=lambda entry: entry[0] in ROW_LAYERS)
