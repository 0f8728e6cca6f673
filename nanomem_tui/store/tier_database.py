"""The file `tiers.db`: written through one connection, read without waiting for anybody.

Owns connections and transactions. Must not know what the tables hold.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from nanomem_tui import regular
from nanomem_tui.errors import CorruptDatabase
from nanomem_tui.paths import Paths, workspace_id
from nanomem_tui.store import driver_errors, moved, reader, tier_meta, tier_schema
from nanomem_tui.store.database import Database
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_store import TierStore

T = TypeVar("T")
LOCK = "tiers.lock"
"""The file, beside the database, whose flock every writer holds."""


class TierDatabase(TierStore):
    """The records of an agent's work and the knowledge base, in one SQLite file, made at the first write."""

    def __init__(self, paths: Paths, synced_every: float = 120.0) -> None:
        super().__init__(synced_every)
        self.path = paths.tiers_database
        self.where = str(self.path)
        self._database = Database(self.path, paths.backups, LOCK, tier_schema.schema, self._refuse_moved)
        self._paths = paths
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
            lock = self.path.with_name(LOCK)
            return lock.is_file() and lock.stat().st_size > 0
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

    def _refuse_moved(self, connection: Connection) -> None:
        moved.refuse_work(connection, workspace_id(self._paths), self.where)

    @contextlib.contextmanager
    def _writing(self, *, durable: bool) -> Iterator[Connection]:
        with self._database.writing(durable=durable) as connection:
            self._held = True
            yield connection

    def _wrote(self) -> None:
        if not self._made:
            self._mark()

    def _mark_synced(self, connection: Connection) -> None:
        tier_meta.put(connection, "", "synced_at", str(time.time_ns()))

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(self, ask: Callable[[Connection], T]) -> T:
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


def _answer(ask: Callable[[Connection], T], connection: sqlite3.Connection) -> T:
    connection.execute("BEGIN")
    try:
        return ask(connection)
    finally:
        connection.execute("ROLLBACK")
