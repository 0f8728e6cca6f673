"""What the store asks of a database, and the database of one workspace in a file of SQLite; `postgres` has the server.

Owns the engines of SQLAlchemy and what a transaction is: whoever writes holds `store.lock` shared, so that nobody
writes into a file that is being replaced. No session outlives its call. Must not know what the tables hold.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Dialect, Engine, create_engine, event, exc, make_url, pool

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import Refused, StoreError, from_os_error
from nanomem_tui.store.database.reading import BUSY, code_of, decode_text, error_from_driver, refuse_non_file

# What an error of SQLite means to a person: told by its code, not by words, which a damaged schema may hold too.


BUSY_SECONDS = 5.0
"""How long to wait for another writer before the change fails."""
LOCK = "store.lock"


class Database(Protocol):
    """What the store asks of a database, whichever it is."""

    @property
    def where(self) -> str:
        """What a person knows it by: the path of the file, or the server and schema."""

    def exists(self) -> bool:
        """Whether the tables were made. Raises StoreError and its kin."""

    def making(self) -> contextlib.AbstractContextManager[Connection]:
        """A transaction for who makes or migrates tables, one at a time; the file or the schema is there then."""

    def alone(self) -> contextlib.AbstractContextManager[Connection]:
        """A transaction beside which nobody writes, for who moves the memory. Raises Refused where another process has
        it open."""

    def reading(self) -> contextlib.AbstractContextManager[Connection]:
        """A transaction that sees one state of the database. Raises StoreError and its kin."""

    def writing(self, *, durable: bool) -> contextlib.AbstractContextManager[Connection]:
        """A transaction that commits at the end. `durable`: it survives a power cut; else only a kill. Raises
        StoreError and its kin; nothing is written then."""

    def changed(self) -> bool:
        """Whether another connection committed since the last call; True where that cannot be told."""

    def close(self) -> None:
        """Let go of every connection."""


_COMPILED: dict[Any, Any] = {}
"""Every statement that this process compiled: they are few, and each file has three engines."""


@functools.cache
def _dialect() -> Dialect:
    """SQLite as SQLAlchemy speaks it: one for all engines, for a statement is compiled for a dialect."""
    engine = create_engine("sqlite://")
    engine.connect().close()  # it asks the version of SQLite
    return engine.dialect


class SqliteDatabase:
    """One file of SQLite in WAL mode, and three ways to open it: read, full (fsync at commit), normal (no fsync).

    SQLite before 3.51.3 can lose a commit when one connection checkpoints the WAL while another begins it anew. So no
    connection ever checkpoints by itself; `checkpoint` does, while it keeps writers out.
    """

    def __init__(self, file: Path, lock: str = LOCK) -> None:
        """`lock`: the name of the file, in the same folder, by which who replaces the database keeps writers out."""
        self.file = file
        self._lock = file.with_name(lock)
        self._inode = _inode(file)
        self._read = self._engine("FULL", "ro", "BEGIN")
        self._full = self._engine("FULL", "rw", "BEGIN IMMEDIATE")
        self._normal = self._engine("NORMAL", "rw", "BEGIN IMMEDIATE")
        self._watching: sqlite3.Connection | None = None
        self._version = -1

    @property
    def where(self) -> str:
        return str(self.file)

    def exists(self) -> bool:
        """See `Database.exists`."""
        return self.file.exists()

    @contextlib.contextmanager
    def making(self) -> Iterator[Connection]:
        """See `Database.making`. The folder is for the user alone (0700), and so is the file (0600)."""
        atomic.make_folder(self.file.parent)
        with contextlib.suppress(FileExistsError):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            made = os.open(self.file, flags, atomic.PRIVATE_FILE)
            atomic.give_to_folder_owner(made, self.file.parent)
            os.close(made)
        with self.exclusive(), self._in_our_words(), self._full.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def alone(self) -> Iterator[Connection]:
        """See `Database.alone`."""
        with self.exclusive(), self._in_our_words():
            self.close()
            self._refuse_others()
            with self._full.begin() as connection:
                yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """See `Database.reading`. The file is opened read-only."""
        self._reopen_if_replaced()
        with self._in_our_words(), self._read.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self, *, durable: bool) -> Iterator[Connection]:
        """See `Database.writing`. Waits up to `BUSY_SECONDS` for another writer."""
        with self.shared():
            engine = self._full if durable else self._normal
            with self._in_our_words(), engine.begin() as connection:
                yield connection

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Keep the file from being replaced. Raises Refused when somebody is replacing it for too long."""
        with self._locked(fcntl.LOCK_SH):
            self._reopen_if_replaced()
            yield

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep every other process out: for who replaces the file, or cuts the WAL. Raises Refused after a wait."""
        with self._locked(fcntl.LOCK_EX):
            self._reopen_if_replaced()
            yield

    def changed(self) -> bool:
        """Whether another connection, of any process, committed since the last call."""
        if self._reopen_if_replaced() or self._watching is None:
            self._watching = self._connect("FULL", "ro")
        with self._in_our_words():
            version = int(self._watching.execute("PRAGMA data_version").fetchone()[0])
        changed, self._version = version != self._version, version
        return changed

    def checkpoint(self) -> None:
        """Move the WAL into the file, as far as no reader needs it, while no writer is at work."""
        with self.writing(durable=True), contextlib.closing(self._connect("FULL", "rw")) as moving:
            moving.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def compact(self) -> None:
        """Write the file anew without the pages that were freed, and cut the WAL, while everybody else is kept out.
        Raises Refused where somebody still reads what the WAL holds, and as `writing`."""
        with self.exclusive(), self._in_our_words(), contextlib.closing(self._connect("FULL", "rw")) as alone:
            alone.execute("VACUUM")
            (busy, *_) = alone.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise Refused("another process reads the database", self.where, "end it, then do this again")

    def close(self) -> None:
        """Let go of every connection; the last one of all processes checkpoints the WAL and removes it."""
        if self._watching is not None:
            self._watching.close()
            self._watching = None
        for engine in (self._read, self._full, self._normal):  # one that only reads cannot remove the WAL
            engine.dispose()

    def _engine(self, synchronous: str, mode: str, begin: str) -> Engine:
        """An engine whose connections are all made alike: `synchronous` cannot be changed inside a transaction."""
        connect: Any = functools.partial(self._connect, synchronous, mode)
        connections = pool.QueuePool(connect, pool_size=2, max_overflow=20)
        engine = Engine(connections, _dialect(), make_url("sqlite://"), execution_options={"compiled_cache": _COMPILED})
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return engine

    def _connect(self, synchronous: str, mode: str) -> sqlite3.Connection:
        refuse_non_file(self.file)
        made = sqlite3.connect(
            self._uri(mode), uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        made.text_factory = decode_text
        made.execute(f"PRAGMA synchronous={synchronous}")
        made.execute("PRAGMA wal_autocheckpoint=0")
        if mode == "ro":
            made.execute("PRAGMA query_only=1")
        else:
            made.execute("PRAGMA journal_mode=WAL")
            made.execute("PRAGMA secure_delete=1")
            made.execute("PRAGMA fullfsync=1")  # macOS: its fsync alone does not reach the disk
        return made

    def _refuse_others(self) -> None:
        """Raise Refused where another process has the file open: only who is alone can leave the WAL mode."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with contextlib.closing(self._connect("FULL", "rw")) as connection:
                    connection.execute("PRAGMA journal_mode=DELETE")
                    return
            except sqlite3.OperationalError as error:
                if code_of(error) not in BUSY:
                    raise
            if time.monotonic() > until:
                raise Refused("another process has the memory open", self.where, "end it, then try again")
            time.sleep(0.05)

    def _uri(self, mode: str) -> str:
        return f"{self.file.absolute().as_uri()}?mode={mode}"

    def _reopen_if_replaced(self) -> bool:
        """Let go of connections to a file that was replaced since."""
        inode = _inode(self.file)
        if inode == self._inode:
            return False
        self.close()
        self._inode, self._version = inode, -1
        return True

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        lock = self._lock
        refuse_non_file(self.file)
        try:
            handle = atomic.open_owned(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise from_os_error(error, "locking the database") from error
        try:
            _wait_for(handle, how, lock)
            yield
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            found = error.orig
            if isinstance(found, sqlite3.IntegrityError) or not isinstance(found, sqlite3.Error):
                raise
            raise error_from_driver(found, self.file) from error
        except sqlite3.Error as error:
            raise error_from_driver(error, self.file) from error


def copy_whole(file: Path, target: Path, check: Callable[[Path], None] = lambda _copy: None) -> None:
    """Copy a file of SQLite as one state of it into a private file, durable when this returns.

    `check` gets the copy before it has its name, and raises what keeps it from being kept; nothing is left of it then.
    """
    temporary = target.with_name(f".{target.name}.nanomem-tmp")
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, atomic.PRIVATE_FILE))
    atomic.give_to_folder_owner(temporary, target.parent)
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(temporary)) as copied,
        ):
            source.backup(copied, pages=-1)
            copied.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        temporary.unlink(missing_ok=True)
        raise error_from_driver(error, file) from error
    try:
        check(temporary)
    except StoreError:
        temporary.unlink()
        raise
    atomic.sync_file(temporary)
    os.replace(temporary, target)
    atomic.sync_folder(target.parent)


def fold_wal(file: Path) -> None:
    """Move the WAL of a database that nobody has open into its file, which can be renamed then."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def _inode(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _wait_for(handle: int, how: int, lock: Path) -> None:
    until = time.monotonic() + BUSY_SECONDS
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, how | fcntl.LOCK_NB)
            return
        if time.monotonic() > until:
            raise Refused("the database is being repaired or moved", str(lock), "try again in a moment")
        time.sleep(0.01)
