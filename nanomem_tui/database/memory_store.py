"""The memory of one workspace as the product uses it: its rows, its log, the agent's files that hold the same rows.

Owns what comes before a change (what was forgotten stays out, what waits in the inbox needs a person, the agent's own
edits are taken over first) and what comes after it: counters, exports, copies. The change itself is one transaction of
`store`. Opening and reading change nothing on disk: what an agent changed in its files is seen in RAM until something
is written.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from nanomem_tui import clock
from nanomem_tui.database import first_edition, search
from nanomem_tui.database import reading as read
from nanomem_tui.database.journal import Journal
from nanomem_tui.database.reading import COUNTERS, Reading, SqliteReading
from nanomem_tui.database.search import IndexState
from nanomem_tui.database.snapshot import Snapshot
from nanomem_tui.errors import AccessDenied, Conflict, NanomemError, Problem, StoreError, from_os_error
from nanomem_tui.operations import Change, Layer, Operation, new_operation
from nanomem_tui.paths import Paths, kept_id
from nanomem_tui.settings import Settings
from nanomem_tui.store import atomic, forgotten, provenance, signing
from nanomem_tui.store.agent_files import AgentFiles, Memo, row_tables
from nanomem_tui.store.deciding import Deciding
from nanomem_tui.store.memory_store import CheckpointResult
from nanomem_tui.store.row_layer import RowLayer, refuse_lone_surrogates
from nanomem_tui.store.unfinished import SETTLED
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Row
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.database.operations import Entry
    from nanomem_tui.database.store import Store
    from nanomem_tui.database.takeover import TakenOver

EXPORTED, AUDITED, LAST_AT, LAST_MS = "exported", "audit_seq", "last_at", "last_ms"
"""Named values: up to which commit the agent's files have everything, up to which its audit logs, and the last
checkpoint."""


class MemoryStore:
    """Rows in RAM over the database of one workspace. Thread-safe: the console's checkpoint runs beside its screens."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        self.paths = paths
        self.workspace_id = workspace_id
        self.settings = settings
        self.server = None
        self.snapshot = Snapshot()
        self.files = AgentFiles(paths, workspace_id, settings)
        self.journal = Journal(lambda: self.reading)
        self.taken_over: TakenOver | None = None
        """What was done where a memory of the first edition lies here: shown from a private copy, or taken over."""
        self._reading: Reading | None = None
        self._shows_copy = False
        self._until_closed = contextlib.ExitStack()
        self.deciding = Deciding(paths.data, self.see_others)
        self.layers: dict[str, Layer] = {name: RowLayer(name, self.snapshot) for name in ROW_LAYERS}  # type: ignore[arg-type]
        self.register: Callable[[str], None] = lambda _layer: None
        self.before_checkpoint: Callable[[], None] = lambda: None
        self.after_checkpoint: Callable[[CheckpointResult], None] = lambda _done: None
        self.signature = signing.signature(settings, paths)
        self.moved = None
        self.source = SimpleNamespace(damage=None, repaired=(), stamps=lambda: None)  # until the old store is gone
        self.ledger = SimpleNamespace(pending=(), folder=paths.ledger / workspace_id, left=list, files=list)
        self.last_at = ""
        self.last_ms: float | None = None
        self._lock = self.snapshot.lock
        self._checkpointing = threading.Lock()
        self._loaded = False
        self._noticed: list[Change] = []
        self._trouble = {"recording": "", "checkpoint": ""}
        self._unexported = 0
        self._changed_at: float | None = None
        self._exported_at = time.monotonic()

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def reading(self) -> Reading:
        """The database to read; a private copy of it where it is of the first edition. Raises the store's errors."""
        if self._reading is None:
            file = self.paths.database
            if first_edition.is_due(self.paths, self.workspace_id):
                from nanomem_tui.database import takeover

                made = takeover.read_copy(self.paths, self.workspace_id, self._agents_rows())
                file, self.taken_over = self._until_closed.enter_context(made)
                self._shows_copy = True
            self._reading = SqliteReading(file)
        return self._reading

    def _agents_rows(self) -> list[AnyRow]:
        self.files.read()
        return [row for layer in ("item", "lesson") for row in self.files.initial_rows(layer)]

    @property
    def where(self) -> str:
        """Which database it is, for a person."""
        return self.paths.relative(self.paths.database)

    @property
    def has_database(self) -> bool:
        """Whether something was ever written here."""
        return self.reading.exists

    def kept_open(self) -> contextlib.AbstractContextManager[None]:
        """Answers within come over one connection, for a command that reads and ends."""
        return self.reading.kept_open() if self.has_database else contextlib.nullcontext()  # type: ignore[return-value]

    def last_checkpoint(self) -> tuple[str, float | None]:
        """Return when the last checkpoint was made (UTC ISO, "" for never) and how many milliseconds it took."""
        if not self._loaded and self.has_database:
            return _last_checkpoint(self._marks())
        return self.last_at, self.last_ms

    def described(self) -> dict[str, Any]:
        """Return what `memory status` says of the database: where it is, its schema, operations and index."""
        if not self.has_database:
            return {}
        with self.reading.open() as reading:
            return {
                "database": str(self.paths.database), "operations": read.operation_count(reading),
                "index": "current" if search.state(reading).current else "old",
            }  # fmt: skip

    @property
    def database_is_all(self) -> bool:
        """Whether the database has what the agent's files hold: none of them changed since it was last read."""
        if self._loaded:
            return not self._noticed
        if not self.has_database:
            return False
        marks = self._marks()
        return all(marks.get(name) == stat for name, stat in self.files.stats().items())

    def _marks(self) -> dict[str, str]:
        return read.markers(self.reading)

    @cached_property
    def writer(self) -> Store:
        """What changes the database; made at the first change, as it needs SQLAlchemy."""
        from nanomem_tui.database.engine import SqliteDatabase
        from nanomem_tui.database.recovery import Recovery
        from nanomem_tui.database.store import Store
        from nanomem_tui.database.writers import Writers

        database = SqliteDatabase(self.paths.database)
        recovery = Recovery(database, self.paths.copies, self.paths.quarantine)
        return Store(database, Writers(self.paths.data / "writers"), recovery, self._layer_of, self.snapshot)

    @property
    def loaded(self) -> bool:
        """Whether the rows are in RAM."""
        return self._loaded

    @property
    def degraded(self) -> str:
        """Why changes cannot be written now; empty when all is well."""
        return self._trouble["recording"] or self._trouble["checkpoint"]

    def load(self, layer: str | None = None) -> Snapshot:
        """Return the rows in RAM, read at the first call. Raises the store's errors, and with a `layer` AccessDenied
        when its rows lie in a file that cannot be read: they are not none."""
        with self._lock:
            if not self._loaded:
                self._load()
                self._loaded = True
            problem = self.files.unreadable(layer) if layer else None
            if problem is not None and not self.has_database:
                raise AccessDenied(problem.what, problem.where, problem.fix or "check its owner and mode")
            return self.snapshot

    def _load(self) -> None:
        self.files.read()
        if self.has_database:
            self.snapshot.read(self.reading)
            self._recall()
            self._notice()
        else:
            self._take_files()

    def _take_files(self) -> None:
        """Show the rows of the agent's files, where there is no database yet."""
        self.files.begin()
        self.snapshot.clear()
        for layer in ("item", "lesson"):
            self.snapshot.put(layer, self.files.initial_rows(layer))

    def refresh(self) -> bool:
        """Read what other processes and the agent did since; return whether rows changed. Where the database cannot be
        read now, what is in RAM stays."""
        with self._lock:
            if not self._loaded:
                return False
            counter = self.snapshot.counter
            with contextlib.suppress(NanomemError):
                self.see_others()
            return self.snapshot.counter != counter

    def see_others(self) -> None:
        """Read what other processes and the agent did since. Raises the store's errors."""
        with self._lock:
            if not self._loaded:
                self.load()
                return
            if not self.has_database:
                if self.files.read():
                    self._take_files()
                return
            if self.snapshot.revision < 0:  # another process made the database
                self.snapshot.clear()
                self._load()
                return
            turn = read.turn(self.reading)
            is_behind = (turn.epoch, turn.revision) != (self.snapshot.epoch, self.snapshot.revision)
            if self.files.read() or is_behind:
                self._read_anew()

    def _read_anew(self) -> None:
        """Read what others committed, and what the agent's files hold on top of it."""
        self._retract()
        self.snapshot.read(self.reading)
        self.files.read()
        self._recall()
        self._notice()

    write_again = see_others

    def _recall(self) -> None:
        """Read what the database remembers of the agent's files, and of the last checkpoint."""
        with self.reading.open() as reading:
            marks = read.markers(reading)
            self.files.recall(marks, lambda source: read.foreign_rows(reading, source))
        self.last_at, self.last_ms = _last_checkpoint(marks)
        self._unexported = 0 if marks.get(self.files.mark(EXPORTED)) == str(self.snapshot.revision) else 1

    def _notice(self) -> None:
        """Show what the agent changed in its files since they were read last; the next writer commits it."""
        if not self.files.has_new() or forgotten.trouble(self.paths) is not None:
            return
        found, wrote = self.files.notice(self._tables())
        changes = forgotten.remembered(self.paths, found)
        kept, counts = _without_counts(changes)
        for change in kept:
            self.snapshot.patch(change)
        for change, hits, at in counts:
            self.snapshot.show_count(change.layer, change.key, hits, at)
        self._noticed += changes
        if changes or wrote or len(changes) < len(found):
            self._unexported += 1
            self._touch()

    def _retract(self) -> None:
        """Show the rows as the database has them, without what was noticed of the agent's files: another process may
        have committed that."""
        self._show_without(self._noticed)
        self._noticed = []
        self.files.forget_known()

    def _show_without(self, noticed: Sequence[Change]) -> None:
        for layer in ROW_LAYERS:
            keys = {change.key for change in noticed if change.layer == layer}
            self.snapshot.read_again(self.reading, layer, keys)

    def marker(self, name: str) -> str | None:
        """Return a named value, None where it was never set. Raises the store's errors."""
        return self._marks().get(name) if self.has_database else None

    def set_marker(self, name: str, value: str) -> None:
        """Set a named value, durably. Raises the store's errors."""
        with self._lock:
            self.load()
            self._take_over()
            self.writer.set_markers({name: value})

    def _tables(self) -> dict[str, Mapping[str, Row]]:
        return row_tables(self.snapshot.items, self.snapshot.lessons)

    # -- changing -----------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, *, durable: bool = True) -> Operation:
        """Make a change and record it. `durable`: acknowledged once it survives a power cut, else once it survives a
        kill.

        How often a row was used is counted in RAM until the next checkpoint, and is no part of the change. Raises
        Conflict, Refused or BadInput (nothing is changed), or the store's errors.
        """
        looked = forgotten.stamp(self.paths)
        operation = signing.signed(forgotten.allowed(self.paths, operation, looked), self.signature)
        if any(change.layer in SETTLED for change in operation.changes):
            self.settle()
        with self._lock:
            self.load()
            self._take_over()
            by_layer = [(layer, [c for c in operation.changes if c.layer == layer]) for layer in ROW_LAYERS]
            provenance.check(operation, by_layer, self.snapshot)  # type: ignore[arg-type]
            for change in operation.changes:
                if change.layer in ROW_LAYERS:
                    refuse_lone_surrogates(change)
            changes, counts = _without_counts(operation.changes)
            if changes or not operation.changes:
                done = self._commit(operation._replace(changes=changes), durable=durable)
            else:
                done = operation
            for change, hits, at in counts if not operation.takes_up else ():
                self.snapshot.count(change.layer, change.key, hits, at)
            self._touch()
            return done

    def _commit(self, operation: Operation, *, durable: bool) -> Operation:
        try:
            done = self.writer.perform(operation, durable=durable)
        except StoreError as error:
            self._trouble["recording"] = error.line()
            raise
        self._trouble["recording"] = ""
        self._unexported += 1
        return done

    def _take_over(self) -> None:
        """Before anything is written: take over a memory of the first edition, or make the database where there is
        none, with the rows of the agent's files, and commit what the agent changed in them since."""
        if self._shows_copy:
            from nanomem_tui.database import takeover

            self.taken_over = takeover.take_over(self.paths, self.workspace_id, self._agents_rows())
            self._reading, self._shows_copy = SqliteReading(self.paths.database), False
            self.snapshot.revision = -1
            self.files.forget_known()
            self._load()
        if not self.has_database:
            from nanomem_tui.database.store import make

            self._keep_id()
            taken: dict[str, list[AnyRow]] = {layer: [*self.files.initial_rows(layer)] for layer in ("item", "lesson")}
            make(self.writer.database, self.workspace_id)
            memos = self.files.memo()
            self.writer.take_in(taken, lambda connection, _: _remember(connection, memos))
            self.files.remembered(memos)
            self._unexported += 1
        elif self._noticed:
            try:
                self._commit_noticed()
            except Conflict:
                self._read_anew()
                self._commit_noticed()

    def _commit_noticed(self) -> None:
        """Commit what the agent changed in its files."""
        changes = self._noticed
        if not changes:
            return
        self._show_without(changes)
        names = sorted({"LTM_SNAPSHOT.json" if c.layer == "item" else "LESSONS.jsonl" for c in changes})
        label = f"the agent changed {counted(len(changes), 'row')} in {' and '.join(names)}"
        noticed = new_operation("agent.changed", label, changes, actor="agent", meta=self.signature)
        kept, counts = _without_counts(changes)
        memos = self.files.memo()

        def beside(connection: Connection, revision: int) -> None:
            from nanomem_tui.database import rows

            rows.add_counts(connection, revision, {(c.layer, c.key): (more, at) for c, more, at in counts})
            _remember(connection, memos)

        if kept:
            self.writer.perform(noticed._replace(changes=kept), beside=beside)
        else:
            self.writer.take_in({}, beside)
        for change, hits, at in counts:
            self.snapshot.show_count(change.layer, change.key, hits, at)
        self.files.remembered(memos)
        self._noticed = []

    def _keep_id(self) -> None:
        """Before the first change: the id that all our rows go under (paths: `own_id`)."""
        try:
            if kept_id(self.paths.own_id) != self.workspace_id:
                atomic.make_folder(self.paths.own_id.parent)
                atomic.write_atomic(self.paths.own_id, self.workspace_id.encode())
        except OSError as error:
            raise from_os_error(error, "making nanomem's folder") from error

    def settle(self) -> None:
        """Finish what a killed process left half done of the files of others, before anything is built on it."""
        if self.has_database:
            self.writer.settle()

    def unfinished(self) -> list[Entry]:
        """List the operations whose files a process that ended did not write, or could not. Reads only."""
        if not self.has_database:
            return []
        self.load()
        return self.writer.unfinished()

    def _layer_of(self, name: str) -> Layer:
        self.register(name)
        return self.layers[name]

    def _touch(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()

    # -- checkpoints --------------------------------------------------------------------------------------------

    @property
    def dirty(self) -> int:
        """How much is not written yet: counters, what the agent changed, and operations that the agent's files lack."""
        return len(self.snapshot.unsaved_counts()) + len(self._noticed) + (self._unexported if self.export_due else 0)

    @property
    def export_due(self) -> bool:
        """Whether the agent's files do not hold yet what the database does."""
        return self.settings.export and self._unexported > 0 and any(file.stat for file in self.files.files)

    def due(self) -> bool:
        """Whether a checkpoint is to be made: enough changes, or enough time with changes (seed 000)."""
        if not self.dirty:
            return False
        waited = self._changed_at is not None and self._is_over(self._changed_at)
        return self.dirty >= self.settings.flush_every_updates or waited

    def _is_over(self, since: float) -> bool:
        return time.monotonic() - since >= self.settings.flush_interval_seconds

    def checkpoint(self, *, final: bool = False) -> CheckpointResult:
        """Save counters, take over what the agent changed, write the agent's files (at most once in a flush interval,
        or when `final`), and copy the database once a day. Raises the store's errors and says so in `degraded`."""
        with self._checkpointing:
            started = time.perf_counter()
            try:
                done = self._checkpoint(started, final=final)
            except (NanomemError, OSError) as error:
                trouble = error if isinstance(error, NanomemError) else from_os_error(error, "writing the database")
                self._trouble["checkpoint"] = trouble.line()
                raise trouble from error
            self._trouble["checkpoint"] = ""
            if done.operations or done.rows or done.exported:
                self.after_checkpoint(done)
            return done

    def _checkpoint(self, started: float, *, final: bool) -> CheckpointResult:
        with self._lock:
            self.see_others()
            if not (self.dirty or self._changed_at is not None or self._noticed):
                return CheckpointResult(0, 0, 0.0, ())
            self._take_over()
            self.before_checkpoint()
            operations = self._unexported
            saved = self.writer.checkpoint()
            exported = self._export() if self.export_due and (final or self._is_over(self._exported_at)) else ()
            if final and self.export_due:  # the agent wrote a file meanwhile: that is merged, then once more
                self.see_others()
                self._take_over()
                exported += self._export()
            ms = (time.perf_counter() - started) * 1000
            self.last_at, self.last_ms = clock.iso(clock.now()), ms
            marks = {LAST_AT: self.last_at, LAST_MS: f"{ms:.1f}"}
            self.writer.set_markers(marks)
            self._changed_at = None
            if not any(file.stat for file in self.files.files):
                self._unexported = 0
            return CheckpointResult(operations, saved, ms, exported)

    def _export(self) -> tuple[str, ...]:
        """Write the agent's files, and remember what they hold."""
        self.files.settle()
        if self.files.read() and self.files.has_new():
            return ()
        written, done = self.files.export(self._tables())
        since = int(self._marks().get(self.files.mark(AUDITED)) or 0)
        entries = self.journal.after(since) if self.files.keeps_audit() else []
        audited = self.files.append_audit(entries, self._tables()) if entries else True
        end = self.journal.end()
        marks = {self.files.mark(AUDITED): str(end)} if audited else {}
        if done and audited:
            marks[self.files.mark(EXPORTED)] = str(self.snapshot.revision)
            self._unexported = 0
        self._exported_at = time.monotonic()
        memos = self.files.memo()

        def write(connection: Connection) -> None:
            from nanomem_tui.database import foreign

            _remember(connection, memos)
            foreign.set_markers(connection, marks)

        self.writer.remember(write)
        self.files.remembered(memos)
        return written

    def spoiled_files(self) -> list[str]:
        """List the agent's files of items that cannot be read whole, where we write them."""
        self.load()
        return [
            file.name
            for file in self.files.files
            if file.source.layer == "item" and self.settings.export and file.error is None and not file.rows.complete
        ]

    def problems(self) -> list[Problem]:
        """List what could not be read or written, here and in the agent's files."""
        found = [*self.files.problems(), *(self.taken_over.problems if self.taken_over is not None else ())]
        trouble = forgotten.trouble(self.paths)
        found += [trouble] if trouble is not None else []
        if self.degraded:
            found.append(Problem(f"degraded: {self.degraded}", "store", fix="counters are kept in RAM"))
        return found

    def index_state(self) -> IndexState:
        """Return how the full-text index fits the rows."""
        return search.state(self.reading) if self.has_database else IndexState(0, 0, True)

    def make_index(self) -> IndexState:
        """Make the full-text index anew. Raises the store's errors."""
        if self.has_database:
            self.writer.remember(search.make_anew)
        return self.index_state()

    def damages(self) -> list[Problem]:
        """List what is wrong with the database: every page, index and row is looked at."""
        from nanomem_tui.database import health
        from nanomem_tui.database.engine import SqliteDatabase

        database, recovery = self.writer.database, self.writer.recovery
        if not self.has_database or recovery is None or not isinstance(database, SqliteDatabase):
            return []
        return list(health.problems(database, recovery.copies()))

    def leading(self, work: str) -> contextlib.AbstractContextManager[bool]:
        """Whether this process does a piece of work for all that share the store; on one machine, locks of files
        decide."""
        return contextlib.nullcontext(True)

    def close(self) -> None:
        """Save what is unsaved, and close the database. Raises when that fails."""
        try:
            if self._changed_at is not None:
                self.checkpoint(final=True)
        finally:
            self._until_closed.close()
            if "writer" in self.__dict__:
                self.writer.close()


def _last_checkpoint(marks: Mapping[str, str]) -> tuple[str, float | None]:
    return marks.get(LAST_AT, ""), float(marks[LAST_MS]) if marks.get(LAST_MS) else None


def _remember(connection: Connection, memos: Sequence[Memo]) -> None:
    """Write what is known of the agent's files."""
    from nanomem_tui.database import foreign

    for memo in memos:
        for source, known in memo.rows().items():
            foreign.set_foreign_rows(connection, source, known)
        foreign.set_markers(connection, memo.marks())


def _without_counts(changes: Sequence[Change]) -> tuple[tuple[Change, ...], list[tuple[Change, int, str]]]:
    """Return changes without the counters of rows that are there, and those: how many more, and when last."""
    kept: list[Change] = []
    counts: list[tuple[Change, int, str]] = []
    for change in changes:
        names = COUNTERS.get(change.layer, ())
        if not names or change.before is None or change.after is None or not {*names} & change.after.keys():
            kept.append(change)
            continue
        hits, last = names
        more = (change.after.get(hits) or 0) - (change.before.get(hits) or 0)
        counts.append((change, max(0, more), change.after.get(last) or ""))
        before, after = ({n: v for n, v in side.items() if n not in names} for side in (change.before, change.after))
        if after.keys() - {"updated_at"}:
            kept.append(Change(change.layer, change.key, before, after))
    return tuple(kept), counts
