"""The rows of one workspace in RAM: loaded from the database, the ledger files and the agent's files, and kept in step.

Reads only. Where changes come from and go to is `memory_store`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.config import Settings
from nanomem_tui.errors import AccessDenied, CorruptDatabase, DiskFull, Problem, StoreError
from nanomem_tui.operations import Operation, new_operation
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic, reader
from nanomem_tui.store import ledger as ledger_files
from nanomem_tui.store.agent_files import AgentFiles, row_tables
from nanomem_tui.store.journal import Journal
from nanomem_tui.store.ledger import Ledger
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item, Lesson, Row
from nanomem_tui.text import counted

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
        self._noticed: list[Operation] = []
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

    def load(self, layer: str | None = None) -> Snapshot:
        """The snapshot with everything in it. Raises the store's errors.

        With a `layer` also AccessDenied when its rows lie in a file that cannot be read: they are not none.
        """
        with self._lock:
            if not self._loaded:
                self._load()
                self._loaded = True
            problem = self.files.unreadable(layer) if layer else None
            if problem is not None and not self._adopted:
                raise AccessDenied(problem.what, problem.where, "check its owner and mode")
            return self.snapshot

    def _load(self) -> None:
        waiting = ledger_files.read_all(self.ledger.folder)
        self._ledger_problems = [problem for file in waiting for problem in file.problems]
        self.files.read()
        operations = ledger_files.in_order(file.operations for file in waiting)
        if self.has_database:
            self._read_database()
        if self._adopted:
            self._notice_agent(wait=2.0)
        else:
            self._adopt_files()
        done = ledger_files.voided(operations) | self._known(operations)
        for operation in operations:
            for change in operation.changes if operation.id not in done else ():
                if change.layer in ROW_LAYERS:
                    self.snapshot.show(operation.id, change)

    def _known(self, operations: Sequence[Operation]) -> set[str]:
        """Which of these operations the database has."""
        if not operations or not self.has_database:
            return set()
        with reader.open_database(self.paths.database) as connection:
            return reader.known_operations(connection, [operation.id for operation in operations])

    def _read_database(self) -> None:
        """Take every row. Read again when somebody wrote meanwhile."""
        for _ in range(READS):
            before = _stat(self.paths.database)
            try:
                self._read_once()
            except CorruptDatabase:
                if _stat(self.paths.database) == before:
                    raise
            else:
                if _stat(self.paths.database) == before:
                    return
        self._read_once()

    def _read_once(self) -> None:
        with reader.open_database(self.paths.database) as connection:
            meta = reader.meta(connection, self.workspace_id)
            self._revision = int(meta.get("revision", 0))
            if self._adopted:
                self._recall(connection, meta)
                items = reader.items(connection, self.workspace_id)
                lessons = reader.lessons(connection, self.workspace_id)
                self.snapshot.replace_all(items, lessons)
                self._export_due = meta.get("exported") != meta.get("revision")

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

    def _notice_agent(self, *, wait: float | None) -> None:
        """Put what the agent changed in its files into RAM; its files keep it until a checkpoint writes it.

        Waits for a process that writes the files and has yet to remember what it wrote: that is no agent's doing. When
        it takes longer than `wait` seconds, the files are noticed another time; None: the caller holds the lock.
        """
        if not self.files.has_new():
            return
        with contextlib.nullcontext(True) if wait is None else self._exports_held(wait) as held:
            if not held:
                return
            self.files.read()
            self._refresh_rows()
            changes, wrote = self.files.notice(self._tables())
        self._export_due = self._export_due or wrote
        for change in changes:
            self.snapshot.patch(change)
        if changes:
            names = sorted({"LTM_SNAPSHOT.json" if c.layer == "item" else "LESSONS.jsonl" for c in changes})
            label = f"the agent changed {counted(len(changes), 'row')} in {' and '.join(names)}"
            self._noticed.append(new_operation("agent.changed", label, changes, actor="agent"))
            self._touch()

    @contextlib.contextmanager
    def _exports_held(self, wait: float) -> Iterator[bool]:
        """Keep other processes from exporting meanwhile; makes no file, and does without where there is no lock."""
        try:
            handle = os.open(self.paths.database.with_name("store.lock"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            yield True
            return
        try:
            deadline = time.monotonic() + wait
            held = atomic.try_lock(handle)
            while not held and time.monotonic() < deadline:
                time.sleep(0.01)
                held = atomic.try_lock(handle)
            yield held
        finally:
            os.close(handle)

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
                self._notice_agent(wait=0.0)
            elif wrote:
                self._load()  # what others did and have yet to write is shown on top
            return self.snapshot.counter != counter

    def _refresh_rows(self) -> None:
        """Take the rows that others committed since, and what they remembered of the agent's files.

        What we noticed of those files, and have not written, they may have written: it is noticed again from there.
        """
        if not self.has_database:
            return
        with reader.open_database(self.paths.database) as connection:
            meta = reader.meta(connection, self.workspace_id)
            revision = int(meta.get("revision", 0))
            if self._adopted and not revision:  # somebody removed the database: what is in RAM is all there is
                self._revision = 0
                self.files.forget()
            if revision and self.files.is_behind(meta):
                for change in [change for operation in self._noticed for change in operation.changes][::-1]:
                    self.snapshot.retract(change)
                self._noticed = []
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
