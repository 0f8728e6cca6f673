"""The memory of one workspace as the product uses it: its rows, its log, the agent's files that hold the same rows.

Owns what comes before a change (what was forgotten stays out, what waits in the inbox needs a person, the agent's own
edits are taken over first) and what comes after it: counters, exports, copies. The change itself is one transaction of
`store`. Opening and reading change nothing on disk: what an agent changed in its files is seen in RAM until something
is written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import atomic, clock
from nanomem_tui.core.clock import Repeating
from nanomem_tui.core.errors import (
    AccessDenied,
    BadInput,
    Conflict,
    CorruptDatabase,
    DiskFull,
    NanomemError,
    NotFound,
    Problem,
    Refused,
    StoreError,
    Unsaved,
    from_os_error,
)
from nanomem_tui.core.operations import SIGNED, Change, Layer, Operation, Value, new_operation
from nanomem_tui.core.paths import Paths, read_id, usual_name
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.store import forgotten, snapshot, storage
from nanomem_tui.store.database import full_text
from nanomem_tui.store.database import reading as read
from nanomem_tui.store.database.full_text import IndexState
from nanomem_tui.store.database.operation_log import Journal, LogEntry
from nanomem_tui.store.database.reading import COUNTERS, OlderSchema, Reading, SqliteReading
from nanomem_tui.store.files.agent import AgentFiles, Memo, row_tables
from nanomem_tui.store.processes import Deciding
from nanomem_tui.store.snapshot import RowLayer, Snapshot, refuse_lone_surrogates
from nanomem_tui.store.storage import Storage
from nanomem_tui.store.values import ROW_LAYERS, Row

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.store.first_edition.takeover import TakenOver
    from nanomem_tui.store.transactions import Store

EXPORTED, AUDITED, LAST_AT, LAST_MS = "exported", "audit_seq", "last_at", "last_ms"
"""Named values: up to which commit the agent's files have everything, up to which its audit logs, and the last
checkpoint."""
_LOCK = "files.lock"
FILES_SECONDS = 30.0
"""How long to wait for another process that writes the agent's files."""
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM)
_TRIES = 5
SETTLED = frozenset({"file", "hunk", "tier", "lifecycle", "knowledge"})
"""Layers of files: before one of them changes, what a killed process left half done of them is finished."""


class CheckpointResult(NamedTuple):
    """What a checkpoint did: operations and counters saved, milliseconds taken, the agent's files written."""

    operations: int
    rows: int
    ms: float
    exported: tuple[str, ...]


class MemoryStore:
    """Rows in RAM over the database of one workspace. Thread-safe: the console's checkpoint runs beside its screens."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        self.paths = paths
        self.workspace_id = workspace_id
        self.settings = settings
        self.place = choose_storage(paths, workspace_id, settings)
        self.server = self.place.server
        self.snapshot = Snapshot()
        self.files = AgentFiles(paths, workspace_id, settings)
        self.journal = Journal(lambda: self.reading)
        self.taken_over: TakenOver | None = None
        """What was done where a memory of the first edition, or of an older schema, lies here: shown from a private
        copy, or taken over."""
        self._reading: Reading | None = None
        self._index_is_whole = False
        self.shows_copy = False
        """Whether the memory is of the first edition or an older schema, and what is shown is a private copy's."""
        self._until_closed = contextlib.ExitStack()
        self.deciding = Deciding(paths.data, self.see_others)
        self.layers: dict[str, Layer] = {name: RowLayer(name, self.snapshot) for name in ROW_LAYERS}
        self.register: Callable[[str], None] = lambda _layer: None
        self.before_checkpoint: Callable[[], None] = lambda: None
        self.after_checkpoint: Callable[[CheckpointResult], None] = lambda _done: None
        self.signature = signature(settings, paths)
        self.last_at = ""
        self.last_ms: float | None = None
        self._lock = self.snapshot.lock
        self._checkpointing = threading.Lock()
        self._loaded = self._is_behind = False
        self._noticed: list[Change] = []
        self._trouble = {"recording": "", "checkpoint": "", "reading": ""}
        self._unexported = 0
        self._changed_at: float | None = None
        self._is_settled = False
        self.stays = False
        """Whether this process stays: what a turn could not write waits in RAM for the next checkpoint."""
        self._held: list[Operation] = []
        self._not_made: list[Problem] = []
        self._exported_at = time.monotonic()
        self._updates = 0
        self._has_written = False

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def reading(self) -> Reading:
        """The database to read; a private copy of it where it is of the first edition, or a file of an older schema.
        Raises the store's errors."""
        if self._reading is None:
            if self.place.is_first_edition() or (self.server is None and self.place.has_older_schema()):
                file, self.taken_over = self._until_closed.enter_context(self.place.read_copy(self.files.read_rows()))
                self._reading, self.shows_copy = SqliteReading(file), True
            else:
                self._reading = self.place.reading()
        return self._reading

    def bring_up_to_date(self) -> None:
        """Take over a memory of the first edition, or bring an older schema to the newest. Raises the store's
        errors."""
        self._load_to_write()
        if self.shows_copy:
            with self._lock:
                self._take_over()

    def _load_to_write(self) -> None:
        """As `load`; on a server an older schema is migrated first, a file shows a copy until `_take_over`."""
        try:
            self.load()
        except OlderSchema:
            self.place.take_over(())
            self.load()

    @property
    def where(self) -> str:
        """Which database it is, for a person."""
        return self.place.where

    @property
    def has_database(self) -> bool:
        """Whether something was ever written here."""
        return self.reading.exists

    def kept_open(self) -> contextlib.AbstractContextManager[object]:
        """Answers within come over one connection, for a command that reads and ends."""
        with contextlib.suppress(NanomemError):  # each question is told what is wrong
            if self.has_database:
                return self.reading.kept_open()
        return contextlib.nullcontext()

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
                **self.place.described(), "schema": int(reading.all("schema")[0][0]),
                "operations": self.journal.count(),
                "index": "current" if full_text.index_state(reading).current else "old",
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
        return self.place.writer(self._layer_of, self.snapshot)

    @property
    def loaded(self) -> bool:
        """Whether the rows are in RAM."""
        return self._loaded

    @property
    def degraded(self) -> str:
        """Why changes cannot be written now; empty when all is well."""
        return self._trouble["recording"] or self._trouble["checkpoint"] or self._trouble["reading"]

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
        with self._files_at_rest():
            if self.has_database:
                self._read_rows_and_markers()
                self.files.read()
                self._notice()
            else:
                self.files.read()
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
            try:
                if self._may_have_changed():
                    self._is_behind = True
                    self.see_others()
                    self._is_behind = False
                    if self._trouble["reading"]:  # a server that was away is back
                        self._trouble["reading"] = self._trouble["recording"] = ""
            except NanomemError as error:
                self._trouble["reading"] = error.line()
            return self.snapshot.counter != counter

    def _may_have_changed(self) -> bool:
        """Whether the database or a file may have what RAM lacks. A server is asked now and then only."""
        if self._is_behind or self.shows_copy or not self.has_database or self.snapshot.revision < 0:
            return True
        return self.place.may_have_changed() or self.files.is_changed()

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
            meta = read.meta(self.reading)
            is_behind = (meta.epoch, meta.revision) != (self.snapshot.epoch, self.snapshot.revision)
            if self.files.read() or self.files.has_new() or is_behind:
                self._read_anew()

    def _read_anew(self) -> None:
        """Read what others committed, and what the agent's files hold on top of it."""
        self._drop_noticed()
        with self._files_at_rest():
            self._read_rows_and_markers()
            self.files.read()
            self._notice()

    @contextlib.contextmanager
    def _files_at_rest(self, *, alone: bool = False) -> Iterator[None]:
        """While it lasts no other process is between writing the agent's files and remembering what it wrote, which
        would be taken for the agent's work. `alone`: nobody reads them either, for who writes them."""
        lock, flags = self.paths.store / _LOCK, os.O_CLOEXEC | os.O_NOFOLLOW
        with contextlib.ExitStack() as held:
            try:
                handle = atomic.open_owned(lock, flags | os.O_RDWR) if alone else os.open(lock, flags | os.O_RDONLY)
            except OSError as error:
                if alone or error.errno not in _NOT_THERE:
                    raise from_os_error(error, "locking the agent's files") from error
                handle = None  # nobody wrote them yet, or they are not ours to lock
            if handle is not None:
                held.callback(os.close, handle)
                atomic.wait_for_lock(handle, lock, FILES_SECONDS, shared=not alone)
            yield

    def _read_rows_and_markers(self) -> None:
        """Read the rows and what is remembered of the agent's files, as of one moment and before the files themselves:
        what is older than the rest would be taken for a change."""
        with self.reading.open():
            self.snapshot.read(self.reading)
            self._read_markers()

    def _read_markers(self) -> None:
        """Read what the database remembers of the agent's files, and of the last checkpoint."""
        with self.reading.open() as reading:
            marks = read.markers(reading)
            self.files.recall(marks, lambda source: read.foreign_rows(reading, source))
        self.last_at, self.last_ms = _last_checkpoint(marks)
        self._unexported = self._count_unexported(marks)

    def _count_unexported(self, marks: Mapping[str, str]) -> int:
        """Count the operations that the agent's files lack."""
        exported = marks.get(self.files.mark(EXPORTED))
        return self.journal.count(int(exported)) if exported is not None else 1

    def _notice(self) -> None:
        """Show what the agent changed in its files since they were read last; the next writer commits it."""
        if not self.files.has_new() or forgotten.read_problem(self.paths) is not None:
            return
        found, wrote = self.files.notice(self._tables())
        changes = forgotten.drop_forgotten(self.paths, found)
        kept, counts = _without_counts(changes)
        for change in kept:
            self.snapshot.patch(change)
        for change, hits, at in counts:
            self.snapshot.show_count(change.layer, change.key, hits, at)
        self._noticed += changes
        if changes or wrote or len(changes) < len(found):
            self._unexported += 1
            self._touch()

    def _drop_noticed(self) -> None:
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
            self._load_to_write()
            self._take_over()
            self.writer.set_markers({name: value})
            self._has_written = True

    def _tables(self) -> dict[str, Mapping[str, Row]]:
        return row_tables(self.snapshot.items, self.snapshot.lessons)

    # -- changing -----------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, *, durable: bool = True) -> Operation:
        """Make a change and record it. `durable`: acknowledged once it survives a power cut, else once it survives a
        kill.

        How often a row was used is counted in RAM until the next checkpoint, and is no part of the change: where there
        is nothing else, nothing is recorded, and what is returned has no id. Raises
        Conflict, Refused or BadInput (nothing is changed), or the store's errors.
        """
        looked = forgotten.stamp(self.paths)
        operation = signed(forgotten.without_forgotten(self.paths, operation, looked), self.signature)
        self._load_to_write()
        if not self._is_settled or any(change.layer in SETTLED for change in operation.changes):
            self.settle()
        with self._lock:
            with self._recording():
                self._take_over()
            by_layer = [(layer, [c for c in operation.changes if c.layer == layer]) for layer in ROW_LAYERS]
            snapshot.refuse_unaccepted(operation, by_layer, self.snapshot)
            for change in operation.changes:
                if change.layer in ROW_LAYERS:
                    refuse_lone_surrogates(change)
            changes, counts = _without_counts(operation.changes)
            if changes or not operation.changes:
                done = self._commit(operation._replace(changes=changes), durable=durable, looked=looked)
            else:
                done = operation._replace(id="")
            for change, hits, at in counts if not operation.is_reversal else ():
                self.snapshot.count(change.layer, change.key, hits, at)
            self._touch()
            self._has_written = True
            return done

    def _refuse_forgotten(self, looked: object) -> None:
        """Raise Conflict where texts were forgotten since the change was held against those that are."""
        if forgotten.stamp(self.paths) != looked:
            raise Conflict("texts were forgotten meanwhile", self.where, "do it again")

    def _commit(self, operation: Operation, *, durable: bool, looked: object) -> Operation:
        with self._recording():
            done = self.writer.perform(operation, durable=durable, also=lambda *_: self._refuse_forgotten(looked))
        self._trouble["recording"] = ""
        self._unexported += 1
        self._updates += 1
        return done

    def hold(self, operation: Operation) -> None:
        """Show a change that cannot be written now; the next checkpoint that can be written makes it."""
        with self._lock:
            self._held.append(operation)
            self._show(operation)
            self._touch()

    def _show(self, operation: Operation) -> None:
        for change in operation.changes:
            if change.layer in ROW_LAYERS:
                self.snapshot.patch(change)

    def _make_held(self) -> None:
        """Make the changes that could not be written before. One that no longer fits is named as a problem."""
        while self._held:
            operation = self._held[0]
            self._show_without(operation.changes)
            try:
                self.perform(operation, durable=False)
            except (Conflict, NotFound, Refused, BadInput) as error:
                what = f"not kept: {operation.label} ({error.what})"
                self._not_made.append(Problem(what, error.where, fix=error.fix))
            except NanomemError:
                self._show(operation)
                raise
            self._held.pop(0)

    @contextlib.contextmanager
    def _recording(self) -> Iterator[None]:
        """Keep the reason why a change could not be written, for `degraded`, until one is written."""
        try:
            yield
        except (StoreError, AccessDenied, DiskFull) as error:
            self._trouble["recording"] = error.line()
            raise

    def _take_over(self) -> None:
        """Before anything is written: keep the id of the workspace, take over a memory of the first edition, make the
        database where there is none, with the rows of the agent's files, and commit what the agent changed since."""
        if not self._has_written:
            self._keep_id()
        self.files.settle_here()
        if self.shows_copy:
            self.taken_over = self.place.take_over(self.files.read_rows())
            self._reading, self.shows_copy = self.place.reading(), False
            self.snapshot.revision = -1
            self.files.forget_known()
            self._load()
        if not self.has_database:
            self._make()
            self.snapshot.revision = -1
            self._load()
        if self._noticed:
            for left in reversed(range(_TRIES)):
                try:
                    self._commit_noticed()
                    break
                except Conflict:
                    if not left:
                        raise
                    self._read_anew()

    def _make(self) -> None:
        """Make the database with the rows of the agent's files; do nothing where another process was first."""
        from nanomem_tui.store.transactions import make_database

        atomic.make_folder(self.paths.store)
        with self._files_at_rest(alone=True):
            if self.has_database:
                return
            memos = self.files.memo()

            def fill(connection: Connection, revision: int) -> None:
                from nanomem_tui.store.database import bookkeeping, rows

                for layer in ("item", "lesson"):
                    taken = self.files.initial_rows(layer)
                    rows.insert_rows(connection, layer, [row._replace(revision=revision) for row in taken])
                _remember(connection, memos)
                bookkeeping.set_markers(connection, {self.files.mark(EXPORTED): str(revision)})

            if make_database(self.writer.database, self.workspace_id, fill):
                self.files.remembered(memos)
            else:
                self.files.forget_known()

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

        def also(connection: Connection, revision: int) -> None:
            from nanomem_tui.store.database import queries, rows

            if self.files.is_behind(read.markers(queries.within(connection))):
                raise Conflict("another process took that over", "", "look at it again")
            rows.add_counts(connection, revision, {(c.layer, c.key): (more, at) for c, more, at in counts})
            _remember(connection, memos)

        if kept:
            self.writer.perform(noticed._replace(changes=kept), also=also)
        else:
            self.writer.number(also)
        for change, hits, at in counts:
            self.snapshot.show_count(change.layer, change.key, hits, at)
        self.files.remembered(memos)
        self._noticed = []

    def _keep_id(self) -> None:
        """Before the first change: the id that all our rows go under (paths: `own_id`)."""
        try:
            if read_id(self.paths.own_id) != self.workspace_id:
                atomic.make_folder(self.paths.own_id.parent)
                atomic.write_atomic(self.paths.own_id, self.workspace_id.encode())
        except OSError as error:
            raise from_os_error(error, "making nanomem's folder") from error

    def settle(self) -> None:
        """Finish what a killed process left half done of the files of others, before anything is built on it."""
        if self.has_database and not self.shows_copy:  # in this order: who asks for it learns that it is a copy
            self.writer.settle()
            self._is_settled = True

    def unfinished(self) -> list[LogEntry]:
        """List the operations whose files a process that ended did not write, or could not. Reads only."""
        if not self.has_database or self.shows_copy:
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
        exports = self._unexported if self.export_due else 0
        return len(self.snapshot.unsaved_counts()) + len(self._noticed) + len(self._held) + exports

    def unwritten(self) -> int:
        """Count what is not written yet, as `dirty`, also where the rows are not in RAM. Raises the store's errors."""
        exports = self.settings.export and any(file.path.exists() for file in self.files.files)
        if self._loaded or not (exports and self.has_database):
            return self.dirty
        return self._count_unexported(self._marks())

    @property
    def export_due(self) -> bool:
        """Whether the agent's files do not hold yet what the database does."""
        return self.settings.export and self._unexported > 0 and any(file.stat for file in self.files.files)

    @property
    def only_exports_wait(self) -> bool:
        """Whether nothing waits but the agent's files."""
        return self.export_due and self._changed_at is None and self.dirty == self._unexported

    def due(self) -> bool:
        """Whether a checkpoint is to be made: enough changes, or enough time with changes (seed 000)."""
        if not self.dirty:
            return False
        updates = len(self.snapshot.unsaved_counts()) + len(self._noticed) + len(self._held) + self._updates
        waited = self._changed_at is not None and self._is_over(self._changed_at)
        is_due = updates >= self.settings.flush_every_updates or (waited and updates > 0)
        return is_due or (not updates and self.export_due and self._is_over(self._exported_at))

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
        if (final or self.dirty) and not self._is_settled:
            self.settle()
        with self._lock:
            self.see_others()
            if not (self.dirty or self._changed_at is not None):
                return CheckpointResult(0, 0, 0.0, ())
            self._take_over()
            self._make_held()
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
            self._changed_at, self._updates = None, 0
            if not any(file.stat for file in self.files.files):
                self._unexported = 0
            self._has_written = self._has_written and self.export_due
            return CheckpointResult(operations, saved, ms, exported)

    def _export(self) -> tuple[str, ...]:
        """Write the agent's files, and remember what they hold."""
        with self._files_at_rest(alone=True):
            return self._exported()

    def _exported(self) -> tuple[str, ...]:
        if self.files.read() and self.files.has_new():
            return ()
        planned = self.files.plan(self._tables())
        self._remember_files()  # first: who is killed between a file and this would leave his work for the agent's
        written, done = self.files.export(planned)
        since = int(self._marks().get(self.files.mark(AUDITED)) or 0)
        if self.files.keeps_audit():
            entries = self.journal.after(since)  # others may commit more meanwhile: the end is that of what was read
            audited = self.files.append_audit(entries, self._tables()) if entries else True
            end = entries[-1].position if entries else since
        else:
            audited, end = True, self.journal.end()
        marks = {self.files.mark(AUDITED): str(end)} if audited else {}
        if done and audited:
            marks[self.files.mark(EXPORTED)] = str(self.snapshot.revision)
            self._unexported = 0
        self._exported_at = time.monotonic()
        self._remember_files(marks)
        return written

    def _remember_files(self, marks: Mapping[str, str] = MappingProxyType({})) -> None:
        """Write what is known of the agent's files and is not written yet, and these named values."""
        memos = self.files.memo()
        if not memos and not marks:
            return

        def write(connection: Connection) -> None:
            from nanomem_tui.store.database import bookkeeping

            _remember(connection, memos)
            bookkeeping.set_markers(connection, marks)

        self.writer.remember(write)
        self.files.remembered(memos)

    def write_anew(self, name: str) -> None:
        """Write one of the agent's files from the rows, be they what it holds. Raises the store's errors, and Conflict
        where the agent writes it meanwhile."""
        with self._lock:
            self.load()
            self.files.anew.add(name)
            self._unexported += 1
            self._touch()
        self.checkpoint(final=True)
        if name in self.files.anew:
            problem = self.files.failures.get(name)
            raise Conflict("not written anew", name, problem.what if problem else "it changes meanwhile; ask again")

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
        found += storage.find_renamed_workspaces(self.paths)
        trouble = forgotten.read_problem(self.paths)
        found += [trouble] if trouble is not None else []
        found += self._not_made
        if self.paths.own_id.exists() and read_id(self.paths.own_id) != self.workspace_id:
            what = "the file that keeps the id of this workspace is damaged; its database tells the id"
            where = self.paths.relative(self.paths.own_id)
            found.append(Problem(what, where, None, "the next change writes it anew", "warning"))
        if self.degraded:
            found.append(Problem(f"degraded: {self.degraded}", "store", fix="counters are kept in RAM"))
        return found

    def index_state(self) -> IndexState:
        """Return how the full-text index fits the rows."""
        return full_text.index_state(self.reading) if self.has_database else IndexState(0, 0, True)

    def make_index(self) -> IndexState:
        """Make the full-text index anew. Raises the store's errors."""
        if self.has_database:
            self.bring_up_to_date()
            self.writer.remember(full_text.rebuild_index)
        return self.index_state()

    def renew_index(self) -> bool:
        """Go on with an index that another version's tokenizer made: a part of it, for a program that stays and asks
        again. Return whether nothing is left to do. Raises the store's errors."""
        if self._index_is_whole:
            return True
        with self._lock:
            is_ours = self.loaded and self.has_database and not self.shows_copy
            with self.reading.open() if is_ours else contextlib.nullcontext() as reading:
                waits = reading is not None and full_text.full_text(reading) is None
            self._index_is_whole = self.writer.renew_index() if waits else is_ours
            return self._index_is_whole or not is_ours

    def damages(self) -> list[Problem]:
        """List what is wrong with the database: every page, index and row is looked at."""
        with contextlib.suppress(CorruptDatabase):  # what is damaged is looked at all the same
            if self.server is None and (not self.has_database or self.shows_copy):
                return []
        found = self.place.damages(self.writer)
        state = self.index_state() if not found else IndexState(0, 0, True)
        if not state.current and full_text.is_of_another_version(self.reading):
            what = f"the search index ({counted(state.items, 'memory', 'memories')}) is of another release"
            fix = "it is made anew by itself, by the console, a service or a change; recall answers meanwhile"
            found.append(Problem(what, self.where, None, fix, "note"))
        elif not state.current:
            what = f"the search index holds {state.indexed} of {state.items}"
            found.append(Problem(what, self.where, None, "`nanomem doctor --fix` makes it anew"))
        return found

    def leading(self, work: str) -> contextlib.AbstractContextManager[bool]:
        """Whether this process does a piece of work for all that share the store."""
        return self.place.leading(work)

    def close(self) -> None:
        """Save what is unsaved, and close the database. Raises when that fails: Unsaved where changes are lost by it,
        else nothing is."""
        try:
            # What the agent changed in its files is taken over by the next command that writes.
            if self._has_written or self._held or self.snapshot.unsaved_counts():
                self.checkpoint(final=True)
        except NanomemError as error:
            if self._held:
                what = f"{counted(len(self._held), 'change')} of turns could not be saved: {error.what}"
                raise Unsaved(what, error.where, error.fix) from error
            raise
        finally:
            self._until_closed.close()
            if "writer" in self.__dict__:
                self.writer.close()
            elif self.server is not None:
                self.server.close()


def _last_checkpoint(marks: Mapping[str, str]) -> tuple[str, float | None]:
    return marks.get(LAST_AT, ""), float(marks[LAST_MS]) if marks.get(LAST_MS) else None


def _remember(connection: Connection, memos: Sequence[Memo]) -> None:
    """Write what is known of the agent's files."""
    from nanomem_tui.store.database import bookkeeping

    for memo in memos:
        for source, known in memo.rows().items():
            bookkeeping.set_foreign_rows(connection, source, known)
        bookkeeping.set_markers(connection, memo.marks())


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


# -- which agent made an operation: the free field `agent` ------------------------------------------------------------

LONGEST = 60


def agent_name(settings: Settings, found: Paths) -> str:
    """What the agent of a workspace is called: as the settings or its own configuration say, else as its home."""
    return one_line(settings.agent_name or usual_name(found), LONGEST).strip()


def signature(settings: Settings, found: Paths) -> Value:
    """The field as each operation of that agent has it."""
    return MappingProxyType({SIGNED: agent_name(settings, found)})


def signed(operation: Operation, signature: Value) -> Operation:
    """The operation with the name of its agent; as it is where it is a person's, a Dream's, or names one already."""
    if operation.actor not in ("agent", "import") or SIGNED in operation.meta:
        return operation
    return operation._replace(meta={**operation.meta, **signature})


# -- checkpoints for programs that hold a workspace open without a console --------------------------------------------

LOOK = 0.5
"""Seconds between two looks at whether a checkpoint is due."""
PAUSE = 10.0
"""Seconds without another try after one that failed; `degraded` says why until one succeeds."""


INDEX_PAUSE = 0.05
"""Seconds until the next look while an index is made anew: others write in between."""


class Checkpointer(Repeating):
    """The thread that makes them. The last checkpoint is the one that closing the store makes."""

    def __init__(self, store: MemoryStore, beside: Callable[[], object] = lambda: None) -> None:
        """`beside`: what else is to be looked at each time; it raises nothing."""
        super().__init__("nanomem-checkpoints", self._run_if_due, LOOK)
        self._store = store
        self._beside = beside

    def _run_if_due(self, _stopped: Callable[[], bool]) -> float:
        self._beside()
        try:
            self._store.see_others()
            if self._store.due():
                self._store.checkpoint()
            if not self._store.renew_index():
                return INDEX_PAUSE
        except NanomemError:
            return PAUSE
        return LOOK


def choose_storage(paths: Paths, workspace_id: str, settings: Settings) -> Storage:
    """Return where the settings say that the memory lies. Raises InvalidConfig for an address, and MissingExtra."""
    if not settings.database_url:
        return Storage(paths, workspace_id)
    from nanomem_tui.store.server_storage import ServerStorage

    return ServerStorage(paths, workspace_id, settings.database_url)
