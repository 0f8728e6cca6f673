"""The rows of one workspace in RAM: loaded from the database, the ledger files and the agent's files, and kept in step.

Reads only. Where changes come from and go to is `memory_store`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.config import Settings
from nanomem_tui.errors import AccessDenied, CorruptDatabase, DiskFull, Problem, StoreError
from nanomem_tui.operations import Operation, new_operation
from nanomem_tui.paths import Paths
from nanomem_tui.store import ledger as ledger_files
from nanomem_tui.store import reader
from nanomem_tui.store.agent_files import AgentFiles, row_tables
from nanomem_tui.store.journal import Journal
from nanomem_tui.store.ledger import Ledger
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item, Lesson, Row

if TYPE_CHECKING:
    from sqlite3 import Connection

ROW_LAYERS = ("item", "lesson")
READS = 3
"""Times that the database is read anew when somebody writes it meanwhile."""


class RowStore:
    """The snapshot over a database, ledger files and shared files, as a reader needs it."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        self.paths = paths
        self.workspace_id = workspace_id
        self.settings = settings
        self.snapshot = Snapshot()
        self.ledger = Ledger(paths.ledger / workspace_id)
        self.files = AgentFiles(paths, workspace_id, settings)
        self.journal = Journal(workspace_id, paths.database, self.ledger.folder, lambda: self.has_database)
        self.last_at = ""
        self.last_ms: float | None = None
        self._lock = self.snapshot.lock
        self._loaded = False
        self._made = False
        self._revision = 0
        self._unrecorded: Operation | None = None
        self._ledger_problems: list[Problem] = []
        self._changed_at: float | None = None
        self._export_due = False
        self._looked: tuple[object, object] | None = None

    @property
    def has_database(self) -> bool:
        """Whether something was ever written here."""
        if not self._made:
            self._made = reader.is_made(self.paths.database)
        return self._made and self.paths.database.exists()

    @property
    def loaded(self) -> bool:
        """Whether the rows are in RAM."""
        return self._loaded

    def load(self) -> Snapshot:
        """The snapshot with everything in it. Raises the store's errors."""
        with self._lock:
            if not self._loaded:
                self._load()
                self._loaded = True
            return self.snapshot

    def _load(self) -> None:
        waiting = ledger_files.read_all(self.ledger.folder)
        self._ledger_problems = [problem for file in waiting for problem in file.problems]
        self.files.read()
        operations = ledger_files.in_order(file.operations for file in waiting)
        if self.has_database:
            known = self._read_database([operation.id for operation in operations])
            operations = [operation for operation in operations if operation.id not in known]
        if not self._adopted:
            self._adopt_files()
        void = ledger_files.voided(operations)
        for operation in operations:
            for change in operation.changes if operation.id not in void else ():
                if change.layer in ROW_LAYERS:
                    self.snapshot.show(operation.id, change)
        if self._adopted:
            self._notice_agent()

    def _read_database(self, ids: Sequence[str]) -> set[str]:
        """Take every row; which of these operations the database has. Read again when somebody wrote meanwhile."""
        for _ in range(READS):
            before = _stat(self.paths.database)
            try:
                known = self._read_once(ids)
            except CorruptDatabase:
                if _stat(self.paths.database) == before:
                    raise
            else:
                if _stat(self.paths.database) == before:
                    return known
        return self._read_once(ids)

    def _read_once(self, ids: Sequence[str]) -> set[str]:
        with reader.open_database(self.paths.database) as connection:
            meta = reader.meta(connection, self.workspace_id)
            self._revision = int(meta.get("revision", 0))
            if self._adopted:
                self._recall(connection, meta)
                items = reader.items(connection, self.workspace_id)
                lessons = reader.lessons(connection, self.workspace_id)
                self.snapshot.replace_all(items, lessons)
                self._export_due = meta.get("exported") != meta.get("revision")
            return reader.known_operations(connection, ids)

    def _recall(self, connection: Connection, meta: Mapping[str, str]) -> None:
        self.last_at, self.last_ms = meta.get("last_at", ""), _number(meta.get("last_ms"))
        self.files.recall(meta, lambda name: reader.foreign_rows(connection, self.workspace_id, name))

    @property
    def _adopted(self) -> bool:
        return self._revision > 0

    def _adopt_files(self) -> None:
        """Before the first checkpoint the agent's files are the rows; taking them over is no operation."""
        self.files.begin()
        items = [row for row in self.files.initial_rows("item") if isinstance(row, Item)]
        lessons = [row for row in self.files.initial_rows("lesson") if isinstance(row, Lesson)]
        self.snapshot.replace_all(items, lessons)

    def _tables(self) -> dict[str, Mapping[str, Row]]:
        return row_tables(self.snapshot.items, self.snapshot.lessons)

    def _notice_agent(self) -> None:
        """Put what the agent changed in its files into RAM; recorded with the next change of ours, or checkpoint."""
        changes, wrote = self.files.notice(self._tables())
        self._export_due = self._export_due or wrote
        for change in changes:
            self.snapshot.patch(change)
        if changes:
            waiting = self._unrecorded.changes if self._unrecorded is not None else ()
            changes = [*waiting, *changes]
            names = sorted({"LTM_SNAPSHOT.json" if c.layer == "item" else "LESSONS.jsonl" for c in changes})
            label = f"the agent changed {len(changes)} rows in {' and '.join(names)}"
            self._unrecorded = new_operation("agent.changed", label, changes, actor="agent")
            self._touch()

    def refresh(self) -> bool:
        """Take what other processes and the agent did since; True when rows changed. Cheap when nothing did."""
        with self._lock:
            if not self._loaded:
                return False
            counter = self.snapshot.counter
            wrote = self.files.read()
            now = (_stat(self.paths.database), _stat(self.paths.database.with_name("nanomem.db-wal")))
            if now != self._looked:
                with contextlib.suppress(StoreError, AccessDenied, DiskFull):
                    self._refresh_rows()
                    self._looked = now
            if self._adopted or self.ledger.pending:
                self._notice_agent()
            elif wrote:
                self._adopt_files()
            return self.snapshot.counter != counter

    def _refresh_rows(self) -> None:
        """Take the rows that others committed since, and what they remembered of the agent's files."""
        if not self.has_database:
            return
        with reader.open_database(self.paths.database) as connection:
            meta = reader.meta(connection, self.workspace_id)
            revision = int(meta.get("revision", 0))
            if revision > self._revision and not self._adopted:
                items = reader.items(connection, self.workspace_id)
                self.snapshot.replace_all(items, reader.lessons(connection, self.workspace_id))
            elif revision > self._revision:
                for layer, read in (("item", reader.items), ("lesson", reader.lessons)):
                    rows = read(connection, self.workspace_id, after_revision=self._revision)
                    self.snapshot.take(layer, rows)
            if revision:
                self._recall(connection, meta)
            self._revision = max(revision, self._revision)

    def _meta(self) -> dict[str, str]:
        if not self.has_database:
            return {}
        with reader.open_database(self.paths.database) as connection:
            return reader.meta(connection, self.workspace_id)

    def _touch(self) -> None:
        if self._changed_at is None:
            self._changed_at = time.monotonic()
        self._export_due = True


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
