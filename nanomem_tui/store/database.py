"""The writing side of the database: one connection of the driver, its pragmas, its lock, its backup.

Goes through the driver alone: to import SQLAlchemy costs 0.5 s, which a command that adds one item need not wait for.
Must not know operations or rows.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import clock, regular
from nanomem_tui.errors import Refused, from_os_error
from nanomem_tui.store import atomic, driver_errors, owners, reader
from nanomem_tui.store.undisturbed import undisturbed

LOCK = "store.lock"
"""The file, beside the database, whose flock every writer holds."""
LOCK_WAIT = 30.0
"""Seconds that a writer waits for another one."""
BUSY_WAIT = 1.5
"""Seconds that a transaction waits for a program that is none of ours: what waits is in the ledger until then."""
BUSY_PAUSE = 5.0
"""Seconds after a wait in vain in which the next one is a tenth of a second: a turn writes more than once."""
FOLD_AT = 16_000_000
"""Bytes of the WAL beyond which it is folded into the database after a commit."""


class Schema(NamedTuple):
    """The schema of a database: its version, and what brings a connection from an older one to it, in its
    transaction. `shrinks`: pages that became free can be given back a few at a time."""

    version: int
    migrate: Callable[[sqlite3.Connection, int, str], object]
    shrinks: bool = False


def _of_memory() -> Schema:
    from nanomem_tui.store import migrations

    return Schema(reader.SCHEMA_VERSION, migrations.migrate)


class Database:
    """An SQLite database of one workspace, made at the first write; that of its memory unless told otherwise.

    All writers hold the flock of `lock`, a file beside it, for the length of a transaction: that also keeps the WAL
    from being folded in while somebody writes, which SQLite before 3.51.3 pays for with a lost commit now and then.
    """

    def __init__(
        self, path: Path, backups: Path, lock: str = LOCK, schema: Callable[[], Schema] = _of_memory,
        guard: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:  # fmt: skip
        """`guard`: raises where nobody may write now; it is asked in each transaction."""
        self.path = path
        self._guard = guard
        self._backups = backups
        self._lock = path.with_name(lock)
        self._schema = schema
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._met_busy = -math.inf  # when somebody else's lock was waited for in vain, monotonic seconds

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other writer out. Raises Refused, and the errors of `driver_errors` and `from_os_error`
        for what goes wrong meanwhile."""
        try:
            atomic.make_folder(self.path.parent)
            with undisturbed, atomic.locked_once(self._lock, wait=LOCK_WAIT):
                yield
        except sqlite3.Error as error:
            raise driver_errors.in_our_words(error, self.path) from error
        except UnicodeDecodeError as error:
            raise driver_errors.in_our_words(sqlite3.DatabaseError("its schema is no text"), self.path) from error
        except OSError as error:
            raise from_os_error(error, "writing the database") from error

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One immediate transaction, committed at the end; not `durable`: it does not wait for the disk, and a power
        cut may cost it, whole, and nothing else. Raises the errors of `locked`."""
        with self.locked():
            connection = self.opened()
            if not durable:
                connection.execute("PRAGMA synchronous = NORMAL")
            try:
                self._begin(connection)
                if self._guard is not None:
                    self._guard(connection)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise
            finally:
                if not durable:
                    connection.execute("PRAGMA synchronous = FULL")
            self._tell()
            if self._wal_size() > FOLD_AT:
                _fold_wal(connection)

    def _tell(self) -> None:
        """Touch the WAL, for those who look at its time: SQLite writes it first, and lets others see what it holds
        after that; who looked in between would take it for known."""
        now = time.time_ns()
        with contextlib.suppress(OSError):
            os.utime(self.path.with_name(f"{self.path.name}-wal"), ns=(now, now))

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Wait for the lock of SQLite; who waited in vain just now does not wait again."""
        again = time.monotonic() - self._met_busy < BUSY_PAUSE
        connection.execute(f"PRAGMA busy_timeout = {100 if again else int(BUSY_WAIT * 1000)}")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            self._met_busy = time.monotonic()
            raise

    def close(self) -> None:
        """Fold the WAL into the file and let go of it."""
        if self._connection is None:
            return
        with contextlib.suppress(Exception), atomic.locked(self._lock, wait=1.0):
            self._connection.execute("PRAGMA busy_timeout = 100")  # what is not folded now is folded another time
            _fold_wal(self._connection)
        self.let_go()

    def let_go(self) -> None:
        """Close the connection as it is."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def backup(self, label: str) -> Path:
        """A consistent copy in `backups/`, named by time and label."""
        target = self._backups / f"{self.path.stem}-{clock.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}-{label}.db"
        copy_into(self.path, target)
        return target

    def opened(self) -> sqlite3.Connection:
        """The connection; a new one when the file was replaced or removed meanwhile."""
        if self._connection is not None and _inode(self.path) != self._inode:
            self.let_go()
        if self._connection is None:
            self._connection = self._open()
            self._inode = _inode(self.path)
        return self._connection

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            os.close(owners.opened(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW))
            atomic.sync_folder(self.path.parent)
        schema = self._schema()
        connection = connect(self.path, shrinks=schema.shrinks)
        try:
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if found != schema.version:
                if 0 < found < schema.version:
                    self.backup(f"before-schema-{schema.version}")
                make_schema(self.path, found, schema)
        except BaseException:
            connection.close()
            raise
        return connection

    def _wal_size(self) -> int:
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except FileNotFoundError:
            return 0


def connect(path: Path, *, shrinks: bool = False) -> sqlite3.Connection:
    """A connection that writes safely; transactions are begun and ended by hand. Raises the driver's errors."""
    regular.refuse_database(path)
    if path.is_symlink():
        raise Refused("a link in nanomem's own folder, which is not followed", str(path), "put the real file there")
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_WAIT)
    connection.text_factory = reader.tolerant
    for pragma in (
        *(["auto_vacuum = INCREMENTAL"] if shrinks else []),  # heard by an empty file alone
        "journal_mode = WAL",
        "synchronous = FULL",
        "wal_autocheckpoint = 0",
        "foreign_keys = ON",
        "trusted_schema = OFF",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def make_schema(path: Path, found: int, schema: Schema | None = None) -> None:
    """Bring the database from schema `found` to the present one, in one transaction. Raises NewerDatabase and the
    driver's errors."""
    schema = schema or _of_memory()
    with contextlib.closing(connect(path, shrinks=schema.shrinks)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        # Whoever made the schema while this waited for the lock must not meet it made twice.
        found = max(found, int(connection.execute("PRAGMA user_version").fetchone()[0]))
        schema.migrate(connection, found, str(path))
        connection.execute("COMMIT")


def copy_into(path: Path, target: Path) -> None:
    """A consistent, durable copy of a database, whatever others do meanwhile; there is none, or all of it."""
    atomic.make_folder(target.parent)
    temporary = target.with_name(f".{target.name}.nanomem-tmp")
    try:
        temporary.unlink(missing_ok=True)
        # Made empty, and private: SQLite writes into it, and gives its journal the same mode.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, atomic.PRIVATE_FILE))
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("VACUUM INTO ?", (str(temporary),))
        owners.inherit(temporary, target.parent)
        atomic.sync_file(temporary)
        os.replace(temporary, target)
        atomic.sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _fold_wal(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
