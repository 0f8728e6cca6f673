"""The store of one workspace: snapshot, ledger, database and shared files as one thing that changes and remembers.

Owns the order of every change (check, record, apply) and of every checkpoint (adopt, merge, commit, export).
Imports the writing side of the database only when something is written.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nanomem_tui import clock
from nanomem_tui.config import Settings
from nanomem_tui.errors import NanomemError, Problem, StoreError
from nanomem_tui.operations import Change, Layer, Operation, new_operation
from nanomem_tui.paths import Paths
from nanomem_tui.store import ledger as ledger_files
from nanomem_tui.store import oplog, reader, search
from nanomem_tui.store.agent_files import AgentFiles, row_tables
from nanomem_tui.store.exchange import Raw
from nanomem_tui.store.ledger import Ledger
from nanomem_tui.store.oplog import LogEntry
from nanomem_tui.store.snapshot import DirtyRow, RowKey, RowLayer, Snapshot
from nanomem_tui.store.values import Item, Lesson
from nanomem_tui.tokens import VERSION as TOKENS_VERSION
from nanomem_tui.tokens import query_tokens

if TYPE_CHECKING:
    from nanomem_tui.store.checkpoint import Written
    from nanomem_tui.store.database import Database

ROW_LAYERS = ("item", "lesson")


@dataclass(frozen=True, slots=True)
class CheckpointResult:
    """What a checkpoint did: operations and rows moved, milliseconds taken, the agent's files written."""

    operations: int
    rows: int
    ms: float
    exported: tuple[str, ...]


class MemoryStore:
    """Rows in RAM over a ledger and a database. Thread-safe: the console's checkpoint runs beside its screens."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        self.paths = paths
        self.workspace_id = workspace_id
        self.settings = settings
        self.snapshot = Snapshot()
        self.ledger = Ledger(paths.ledger)
        self.files = AgentFiles(paths, workspace_id, settings)
        self.layers: dict[str, Layer] = {name: RowLayer(name, self.snapshot) for name in ROW_LAYERS}
        self.degraded = ""
        self.last_at = ""
        self.last_ms: float | None = None
        self._lock = self.snapshot.lock
        self._checkpointing = threading.Lock()
        self._loaded = False
        self._revision = 0
        self._base: dict[str, Mapping[str, Raw]] = {}
        self._unrecorded: Operation | None = None
        self._overlaid: set[RowKey] = set()
        self._ledger_problems: list[Problem] = []
        self._exported_at = time.monotonic()
        self._changed_at: float | None = None
        self._export_due = False
        self._performed = False
        self.before_checkpoint: Callable[[], None] = lambda: None
        self._database: Database | None = None

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def has_database(self) -> bool:
        """Whether something was ever written here."""
        return self.paths.database.exists()

    @property
    def loaded(self) -> bool:
        """Whether the rows are in RAM."""
        return self._loaded

    def load(self) -> Snapshot:
        """The snapshot with everything in it. Raises the store's errors; what could be read is there all the same."""
        with self._lock:
            if not self._loaded:
                self._load()
            return self.snapshot

    def _load(self) -> None:
        pending = ledger_files.read_all(self.paths.ledger)
        self._ledger_problems = [problem for file in pending for problem in file.problems]
        self.files.read()
        operations = [operation for file in pending for operation in file.operations]
        if self.has_database:
            with reader.open_database(self.paths.database) as connection:
                meta = reader.meta(connection, self.workspace_id)
                if meta:
                    self._revision = int(meta.get("revision", 0))
                    self.files.recall_orders(meta)
                    self.last_at, self.last_ms = meta.get("last_at", ""), _number(meta.get("last_ms"))
                    items = reader.items(connection, self.workspace_id)
                    lessons = reader.lessons(connection, self.workspace_id)
                    self.snapshot.replace_all(items, lessons)
                    for file in self.files.files:
                        name = file.source.name
                        self._base[name] = reader.foreign_rows(connection, self.workspace_id, name)
                    known = reader.known_operations(connection, [operation.id for operation in operations])
                    operations = [operation for operation in operations if operation.id not in known]
        if not self._adopted:
            self._adopt_files()
        for operation in operations:
            self._overlay(operation)
        if self._adopted:
            self._notice_agent()
        self._loaded = True

    @property
    def _adopted(self) -> bool:
        return self._revision > 0

    def _adopt_files(self) -> None:
        """Before the first checkpoint the agent's files are the rows; taking them over is no operation."""
        self._base = self.files.seen()
        for layer in ROW_LAYERS:
            for row in self.files.initial_rows(layer):
                self.snapshot.put(layer, row, dirty=False)

    def _overlay(self, operation: Operation) -> None:
        """Show what another process did and has yet to write."""
        for change in operation.changes:
            if change.layer in ROW_LAYERS:
                self.snapshot.patch(change)
                self.snapshot.settle_row(change.layer, change.key)
                self._overlaid.add((change.layer, change.key))

    def _notice_agent(self) -> bool:
        """Put what the agent changed in its files into RAM; recorded with the next change of ours, or checkpoint."""
        changes = self.files.changes(self._base, row_tables(self.snapshot.items, self.snapshot.lessons))
        self._base = {**self._base, **self.files.seen()}
        if not changes:
            return False
        if self._unrecorded is not None:
            changes = [*self._unrecorded.changes, *changes]
        names = sorted({"LTM_SNAPSHOT.json" if c.layer == "item" else "LESSONS.jsonl" for c in changes})
        label = f"the agent changed {len(changes)} rows in {' and '.join(names)}"
        self._unrecorded = new_operation("agent.changed", label, changes, actor="agent")
        for change in changes:
            self.snapshot.patch(change)
        self._touch()
        return True

    def refresh(self) -> bool:
        """Take what other processes and the agent did since; True when rows changed. Cheap when nothing did."""
        with self._lock:
            if not self._loaded:
                return False
            counter = self.snapshot.counter
            if self.files.read():
                if self._adopted or self.ledger.pending:
                    self._notice_agent()
                else:
                    self._base = self.files.seen()
                    items = [row for row in self.files.initial_rows("item") if isinstance(row, Item)]
                    lessons = [row for row in self.files.initial_rows("lesson") if isinstance(row, Lesson)]
                    self.snapshot.replace_all(items, lessons)
            self._refresh_rows()
            return self.snapshot.counter != counter

    def _refresh_rows(self) -> None:
        if not self.has_database:
            return
        with contextlib.suppress(StoreError), reader.open_database(self.paths.database) as connection:
            revision = reader.revision(connection, self.workspace_id)
            if revision > self._revision:
                for layer, read in (("item", reader.items), ("lesson", reader.lessons)):
                    rows = read(connection, self.workspace_id, after_revision=self._revision)
                    self.snapshot.take(layer, rows)
                self._revision = revision

    def item_groups(self) -> list[tuple[str, str, str, bool, int]]:
        """Counts of active items by (kind, scope type, source, enabled); from the database alone where that is all."""
        if not self._loaded and self._database_is_all():
            with reader.open_database(self.paths.database) as connection:
                return reader.item_counts(connection, self.workspace_id)
        counts: Counter[tuple[str, str, str, bool]] = Counter()
        snapshot = self.load()
        with snapshot.lock:
            for row in snapshot.items.values():
                if not row.is_deleted:
                    counts[row.kind, row.scope_type, row.source, bool(row.enabled)] += 1
        return [(*group, number) for group, number in counts.items()]

    def lesson_groups(self) -> list[tuple[str, bool, int]]:
        """Counts of active lessons by (scope, enabled), read like `item_groups`."""
        if not self._loaded and self._database_is_all():
            with reader.open_database(self.paths.database) as connection:
                return reader.lesson_counts(connection, self.workspace_id)
        snapshot = self.load()
        with snapshot.lock:
            rows = [row for row in snapshot.lessons.values() if not row.is_deleted]
        counts = Counter((row.scope, bool(row.enabled)) for row in rows)
        return [(*group, number) for group, number in counts.items()]

    def search_pool(self, query: str) -> Iterable[Item]:
        """The items that a search has to rank: the index's candidates as they are now, and what it does not know."""
        if not self._loaded and self._database_is_all():
            found = self._candidates(query)
            if found is not None:
                return found
        snapshot = self.load()
        found = self._candidates(query)
        with snapshot.lock:
            if found is None:
                return list(snapshot.items.values())
            keys = {item.id for item in found} | {key for layer, key in self._unwritten() if layer == "item"}
            return [snapshot.items[key] for key in keys if key in snapshot.items]

    def same_text(self, text: str) -> list[Item]:
        """The active items whose normalised text is that of `text`, by the database's index and what waits for it."""
        norm = " ".join(text.lower().split())
        snapshot = self.load()
        with snapshot.lock:
            keys: Iterable[str] = list(snapshot.items)
            if self._adopted:
                with reader.open_database(self.paths.database) as connection:
                    keys = set(reader.ids_of_text(connection, self.workspace_id, norm))
                keys |= {key for layer, key in self._unwritten() if layer == "item"}
            rows = [snapshot.items[key] for key in keys if key in snapshot.items]
        return [row for row in rows if not row.is_deleted and " ".join(row.text.lower().split()) == norm]

    def _candidates(self, query: str) -> list[Item] | None:
        """The full-text index's answer; None where there is no index made by this version's tokenizer."""
        if not self.has_database:
            return None
        with reader.open_database(self.paths.database) as connection:
            if reader.meta(connection, self.workspace_id).get("tokens") != str(TOKENS_VERSION):
                return None
            return search.candidates(connection, self.workspace_id, query_tokens(query))

    def _unwritten(self) -> set[RowKey]:
        """The rows in RAM that the database does not have as they are."""
        return self._overlaid | {(entry.layer, entry.row.id) for entry in self.snapshot.dirty_rows()}

    def _database_is_all(self) -> bool:
        """Whether the database is all there is: no ledger line waits, and the agent's files are as last seen."""
        if not self.has_database or any(file.operations for file in ledger_files.read_all(self.paths.ledger)):
            return False
        with reader.open_database(self.paths.database) as connection:
            meta = reader.meta(connection, self.workspace_id)
        return bool(meta) and all(meta.get(name) == stat for name, stat in self.files.stats().items())

    # -- changing -----------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, *, durable: bool = True) -> Operation:
        """Check, record, apply. `durable`: acknowledged only once it survives a power cut.

        Raises Conflict (nothing recorded), the errors of the ledger (nothing applied), or a layer's error when the
        change itself failed (a `void` operation says so in the log).
        """
        with self._lock:
            by_layer: dict[str, list[Change]] = {}
            for change in operation.changes:
                by_layer.setdefault(change.layer, []).append(change)
            if by_layer.keys() & set(ROW_LAYERS):
                self.load()
            for name, changes in by_layer.items():
                self.layers[name].check(changes)
            self._record_noticed()
            self._record(operation, durable=durable)
            try:
                for name, changes in by_layer.items():
                    self.layers[name].apply(operation, changes)
            except Exception as error:
                reason = error.line() if isinstance(error, NanomemError) else str(error)
                void = new_operation("void", f"not done: {reason}", (), actor=operation.actor, undoes=operation.id)
                self._record(void, durable=durable)
                raise
            self._touch()
            self._performed = True
            return operation

    def _record(self, operation: Operation, *, durable: bool) -> None:
        try:
            self.ledger.record(operation, durable=durable)
        except NanomemError as error:
            self.degraded = error.line()
            raise
        self.degraded = ""

    def _record_noticed(self) -> None:
        if self._unrecorded is not None:
            noticed, self._unrecorded = self._unrecorded, None
            try:
                self._record(noticed, durable=False)
            except NanomemError:
                self._unrecorded = noticed
                raise

    def _touch(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()
        self._export_due = True

    # -- checkpoints --------------------------------------------------------------------------------------------

    @property
    def dirty(self) -> int:
        """How many rows or operations wait for a checkpoint."""
        return max(self.snapshot.dirty, len(self.ledger.pending))

    def due(self) -> bool:
        """Whether one of seed 000's triggers asks for a checkpoint: enough changes, or enough time with changes."""
        if not self.dirty:
            return self._export_due and self._interval_over(self._exported_at)
        waited = self._changed_at is not None and self._interval_over(self._changed_at)
        return self.dirty >= self.settings.flush_every_updates or waited

    def _interval_over(self, since: float) -> bool:
        return time.monotonic() - since >= self.settings.flush_interval_seconds

    def checkpoint(self, *, final: bool = False) -> CheckpointResult:
        """Move what waits into the database; export at most once in a flush interval, or when `final`.

        Raises the store's errors and says so in `degraded`; RAM and ledger keep everything then.
        """
        with self._checkpointing:
            started = time.perf_counter()
            try:
                operations, rows = self._commit(started)
            except (NanomemError, OSError) as error:
                self.degraded = error.line() if isinstance(error, NanomemError) else str(error)
                raise
            exported: tuple[str, ...] = ()
            if self.settings.export and self._export_due and (final or self._interval_over(self._exported_at)):
                exported = self._export()
            self.degraded = ""
            return CheckpointResult(operations, rows, (time.perf_counter() - started) * 1000, exported)

    def _commit(self, started: float) -> tuple[int, int]:
        from nanomem_tui.store import checkpoint

        with self._lock:
            self.load()
            self._adopt_ledgers()
            if self.files.read() and self._adopted:
                self._notice_agent()
            self.before_checkpoint()
            self._record_noticed()
            operations, rows = list(self.ledger.pending), self.snapshot.dirty_rows()
            if not operations and not rows:
                return 0, 0
            if not self._adopted:
                rows = self._everything()
            foreign = dict(self._base)
        now, took = clock.iso(clock.now()), f"{(time.perf_counter() - started) * 1000:.1f}"
        marks = {"last_at": now, "last_ms": took, **self.files.read_stats(), **self.files.orders()}
        batch = checkpoint.Batch(operations, rows, foreign, marks)
        written = checkpoint.write(self.database, self.workspace_id, batch)
        self._settle(operations, rows, written, now, started)
        return len(operations), len(rows)

    def _settle(
        self, operations: Sequence[Operation], rows: Sequence[DirtyRow], written: Written, now: str, started: float
    ) -> None:
        with self._lock:
            self.snapshot.settle(rows, written.rows)
            self.ledger.moved(operations, self.paths.quarantine)
            if written.revision == self._revision + 1:
                self._revision = written.revision
            self._changed_at = None if not self.dirty else time.monotonic()
            self.last_at, self.last_ms = now, (time.perf_counter() - started) * 1000

    def _everything(self) -> list[DirtyRow]:
        bases = {(entry.layer, entry.row.id): entry.base for entry in self.snapshot.dirty_rows()}
        return [
            DirtyRow(layer, bases.get((layer, row.id)), row)
            for layer in ROW_LAYERS
            for row in self.snapshot.table(layer).values()
        ]

    def _adopt_ledgers(self) -> None:
        for file in self.ledger.adopt():
            known: set[str] = set()
            if self.has_database:
                with reader.open_database(self.paths.database) as connection:
                    known = reader.known_operations(connection, [operation.id for operation in file.operations])
            for operation in file.operations:
                if operation.id not in known:
                    for change in operation.changes:
                        if change.layer in ROW_LAYERS:
                            self.snapshot.patch(change)

    def _export(self) -> tuple[str, ...]:
        from nanomem_tui.store import checkpoint

        with self._lock:
            meta = self._meta()
            written = self.files.export(row_tables(self.snapshot.items, self.snapshot.lessons))
            marks: dict[str, str] = {}
            if self.settings.audit:
                done = int(meta.get("audit_seq", 0))
                entries = self._stored_after(done)
                if entries and self.files.append_audit(entries):
                    marks["audit_seq"] = str(entries[-1].position)
            self._base = {**self._base, **written}
            self._export_due, self._exported_at = False, time.monotonic()
        if written or marks:
            marks = {**marks, **self.files.read_stats(), **self.files.orders()}
            checkpoint.remember(self.database, self.workspace_id, written, marks)
        return tuple(written)

    def _meta(self) -> dict[str, str]:
        if not self.has_database:
            return {}
        with reader.open_database(self.paths.database) as connection:
            return reader.meta(connection, self.workspace_id)

    def _stored_after(self, seq: int) -> list[LogEntry]:
        if not self.has_database:
            return []
        with reader.open_database(self.paths.database) as connection:
            found = reader.operations(connection, self.workspace_id, limit=10_000)
        return [LogEntry(s.operation, s.undone, s.seq) for s in reversed(found) if s.seq > seq]

    @property
    def database(self) -> Database:
        """The writing side, opened at the first use."""
        if self._database is None:
            from nanomem_tui.store.database import Database

            self._database = Database(self.paths.database, self.paths.backups)
        return self._database

    # -- the log ------------------------------------------------------------------------------------------------

    def log(self, limit: int, *, key: str | None = None) -> list[LogEntry]:
        """The newest operations, those in ledger files included; `key`: only those that touched that thing."""
        files = ledger_files.read_all(self.paths.ledger)
        stored: list[LogEntry] = []
        if self.has_database:
            with reader.open_database(self.paths.database) as connection:
                found = reader.operations(connection, self.workspace_id, limit=limit, key=key)
                stored = [LogEntry(entry.operation, entry.undone, entry.seq) for entry in found]
                in_files = [operation.id for file in files for operation in file.operations]
                known = reader.known_operations(connection, in_files)
        else:
            known = set()
        pending = [o for file in files for o in file.operations if o.id not in known]
        entries = oplog.overlay(stored, _in_order(pending))
        if key is not None:
            entries = [e for e in entries if any(change.key == key for change in e.operation.changes)]
        return entries[:limit]

    def find_operation(self, op_id: str) -> LogEntry | None:
        """One operation by id, wherever it is."""
        for entry in self.log(1000):
            if entry.operation.id == op_id:
                return entry
        if self.has_database:
            with reader.open_database(self.paths.database) as connection:
                stored = reader.operation(connection, self.workspace_id, op_id)
                if stored is not None:
                    return LogEntry(stored.operation, stored.undone, stored.seq)
        return None

    def problems(self) -> list[Problem]:
        """What could not be read or written, here and in the shared files."""
        found = [*self._ledger_problems, *self.files.problems()]
        if self.degraded:
            found.append(
                Problem(f"degraded: {self.degraded}", "store", fix="changes are kept in RAM and in the ledger")
            )
        return found

    def close(self) -> None:
        """Let go of files and locks; checkpoint first if something waits. Raises when that fails."""
        try:
            if self._performed and (self.ledger.pending or self._export_due):
                self.checkpoint(final=True)
        finally:
            self.ledger.close()
            if self._database is not None:
                self._database.close()


def _in_order(operations: Iterable[Operation]) -> list[Operation]:
    return sorted(operations, key=lambda operation: operation.at)


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def active_items(rows: Mapping[str, Item]) -> list[Item]:
    """The items that are not deleted, newest first."""
    return sorted(
        (row for row in rows.values() if not row.is_deleted), key=lambda row: (row.updated_at, row.id), reverse=True
    )


def active_lessons(rows: Mapping[str, Lesson]) -> list[Lesson]:
    """The lessons that are not deleted, newest first."""
    return sorted(
        (row for row in rows.values() if not row.is_deleted), key=lambda row: (row.updated_at, row.id), reverse=True
    )
