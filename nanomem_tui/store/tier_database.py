"""The file `tiers.db`: what is written to it at the same time is committed as one, and who reads waits for nobody.

Owns connections, transactions and what is acknowledged when. Must not know what the tables hold.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from nanomem_tui import regular
from nanomem_tui.errors import CorruptDatabase, NanomemError, StoreError
from nanomem_tui.paths import Paths
from nanomem_tui.store import driver_errors, reader, tier_schema
from nanomem_tui.store.database import Database

T = TypeVar("T")
LOCK = "tiers.lock"
"""The file, beside the database, whose flock every writer holds."""


class _Job(Generic[T]):
    """A piece of writing, and what became of it."""

    def __init__(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> None:
        self.work = work
        self.durable = durable
        self.done = False
        self.result: T | None = None
        self.error: BaseException | None = None


class TierDatabase:
    """The records of an agent's work and the knowledge base, in one SQLite file, made at the first write.

    Every method may be called from any thread. `synced_every`: seconds after which a commit waits for the disk again,
    whatever it holds: what a power cut may cost at most.
    """

    def __init__(self, paths: Paths, synced_every: float = 120.0) -> None:
        self.path = paths.tiers_database
        self._database = Database(self.path, paths.backups, LOCK, tier_schema.schema)
        self._synced_every = synced_every
        self._synced_at = -float("inf")
        self._unsynced = False
        self._queue: list[_Job[Any]] = []
        self._queue_lock = threading.Lock()
        self._turn = threading.Lock()
        self._made = False
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._held = False

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here. Raises CorruptDatabase where it was, and the file is gone."""
        if not self._made:
            self._made = reader.is_made(self.path, tier_schema.VERSION)
            if not self._made and self._was_made():
                fix = f"put a copy of it back; to begin anew, take {LOCK} away too"
                raise CorruptDatabase("the records of the agent's work are gone: no such file, or it is empty",
                                      str(self.path), fix)  # fmt: skip
        return self._made

    def _was_made(self) -> bool:
        """Whether the lock says that something was committed: it has a mark from then on."""
        try:
            return self.path.with_name(LOCK).stat().st_size > 0
        except OSError:
            return False

    def _mark(self) -> None:
        """Say in the lock that there are records: a file that is gone later is no new beginning."""
        self._made = True
        if not self._was_made():
            with contextlib.suppress(OSError), self.path.with_name(LOCK).open("ab") as lock:
                lock.write(b"tiers.db\n")
                lock.flush()
                os.fsync(lock.fileno())

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        """Do `work` in a transaction, and return what it does once that is committed: it survives a kill then, and if
        `durable` a power cut.

        Whoever comes while a transaction runs is done in the next one, all of them together; what fails is rolled back
        alone. Raises what `work` does, and the errors of `Database.writing`.
        """
        job = _Job(work, durable)
        with self._queue_lock:
            self._queue.append(job)
        with self._turn:
            if not job.done:
                with self._queue_lock:
                    jobs, self._queue = self._queue, []
                self._run(jobs)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def _run(self, jobs: list[_Job[Any]]) -> None:
        durable = any(job.durable for job in jobs) or time.monotonic() - self._synced_at >= self._synced_every
        trouble: BaseException | None = StoreError("the program was interrupted", str(self.path), "nothing was changed")
        try:
            _ = self.exists
            with self._database.writing(durable=durable) as connection:
                self._held = True
                for job in jobs:
                    _do(job, connection, alone=len(jobs) == 1)
            trouble = None
            if not self._made:
                self._mark()
            self._unsynced = not durable
            if durable:
                self._synced_at = time.monotonic()
        except (NanomemError, OSError) as error:
            trouble = error
        finally:
            for job in jobs:
                if trouble is not None and job.error is None:
                    job.error = copy.copy(trouble)
                job.done = True

    def sync(self) -> None:
        """Make what was committed survive a power cut. Raises the errors of `Database.writing`."""
        if self._unsynced:
            mark = "INSERT INTO tier_meta VALUES ('synced_at', ?) ON CONFLICT DO UPDATE SET value = excluded.value"
            self.write(lambda connection: connection.execute(mark, (str(time.time_ns()),)), durable=True)

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """The answer to `ask`, all of one moment. The caller looks at `exists` first. Raises the store's errors."""
        if not self._held:  # a look leaves no file behind
            with reader.open_database(self.path, tier_schema.VERSION) as connection:
                connection.execute("BEGIN")
                return ask(connection)
        try:
            return _answer(ask, self._reader())
        except sqlite3.OperationalError as error:
            if "decode" not in str(error).lower():
                raise driver_errors.in_our_words(error, self.path) from error
        except sqlite3.Error as error:
            raise driver_errors.in_our_words(error, self.path) from error
        connection = self._reader()
        connection.text_factory = reader.tolerant  # a bit flipped in a text: what can be read of it is shown
        try:
            return _answer(ask, connection)
        except sqlite3.Error as error:
            raise driver_errors.in_our_words(error, self.path) from error

    def hold(self) -> None:
        """Keep connections open from now on: for a process that answers many questions."""
        self._held = True

    def _reader(self) -> sqlite3.Connection:
        """The connection of this thread; another one when the file was replaced."""
        inode = self.path.stat().st_ino
        if getattr(self._local, "inode", None) != inode:
            uri = f"{self.path.as_uri()}?mode=ro"
            regular.refuse_database(self.path)
            made = sqlite3.connect(uri, uri=True, timeout=5, check_same_thread=False, isolation_level=None)
            self._local.connection, self._local.inode = made, inode
            with self._queue_lock:
                self._readers.append(made)
        connection: sqlite3.Connection = self._local.connection
        return connection

    def close(self) -> None:
        """Let everything survive a power cut, and let go of the file. Raises the errors of `sync`."""
        try:
            self.sync()
        finally:
            with self._turn:
                readers, self._readers, self._local = self._readers, [], threading.local()
                for connection in readers:
                    with contextlib.suppress(sqlite3.Error):
                        connection.close()
                self._held = False
                self._database.close()


def _answer(ask: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    connection.execute("BEGIN")
    try:
        return ask(connection)
    finally:
        connection.execute("ROLLBACK")


def _do(job: _Job[Any], connection: sqlite3.Connection, *, alone: bool) -> None:
    """Do one piece. Alone in its transaction it rolls that back when it fails; else only what it did itself."""
    if alone:
        job.result = job.work(connection)
        return
    connection.execute("SAVEPOINT job")
    try:
        job.result = job.work(connection)
    except (NanomemError, ValueError, TypeError, KeyError) as error:  # its own fault: the others go on
        connection.execute("ROLLBACK TO job")
        job.error = error
    connection.execute("RELEASE job")
