"""The writing side of the database: one engine, its pragmas, its lock, its backup (SQLModel and SQLAlchemy Core).

Imported only where something is written. Must not know operations or rows.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from nanomem_tui import clock
from nanomem_tui.errors import from_os_error
from nanomem_tui.store import atomic, migrations, reader

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

LOCK_WAIT = 30.0
"""Seconds that a writer waits for another one."""
FOLD_AT = 4_000_000
"""Bytes of the WAL beyond which it is folded into the database after a commit."""


class Database:
    """The SQLite database of one workspace, made at the first write.

    All writers hold the flock of `store.lock` for the length of a transaction: that also keeps the WAL from being
    folded in while somebody writes, which SQLite before 3.51.3 pays for with a lost commit now and then.
    """

    def __init__(self, path: Path, backups: Path) -> None:
        self.path = path
        self._backups = backups
        self._engine: Engine | None = None

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """One immediate transaction, committed at the end.

        Raises the errors of `reader.database_error` and of `from_os_error`.
        """
        with self._translated():
            atomic.make_folder(self.path.parent)
            with atomic.locked(self.path.with_name("store.lock"), wait=LOCK_WAIT):
                engine = self._opened()
                with engine.begin() as connection:
                    yield connection
                if self._wal_size() > FOLD_AT:
                    self._fold_wal(engine)

    def close(self) -> None:
        """Fold the WAL into the file and let go of it."""
        if self._engine is None:
            return
        with contextlib.suppress(Exception), atomic.locked(self.path.with_name("store.lock"), wait=1.0):
            self._fold_wal(self._engine)
        self._engine.dispose()
        self._engine = None

    def backup(self, label: str) -> Path:
        """A consistent copy in `backups/`, named by time and label."""
        atomic.make_folder(self._backups)
        target = self._backups / f"nanomem-{clock.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}-{label}.db"
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.execute("VACUUM INTO ?", (str(target),))
        os.chmod(target, atomic.PRIVATE_FILE)
        return target

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = self._open()
        return self._engine

    def _open(self) -> Engine:
        if not self.path.exists():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, atomic.PRIVATE_FILE))
            atomic.sync_folder(self.path.parent)
        engine = create_engine(f"sqlite:///{self.path}", poolclass=QueuePool, pool_size=1, max_overflow=1)
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin_immediate)
        try:
            with engine.connect() as connection:
                found = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
            if found != reader.SCHEMA_VERSION:
                if 0 < found < reader.SCHEMA_VERSION:
                    self.backup(f"before-schema-{reader.SCHEMA_VERSION}")
                with engine.begin() as connection:
                    migrations.migrate(connection, found, str(self.path))
        except BaseException:
            engine.dispose()
            raise
        return engine

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            cause = error.orig if isinstance(error.orig, sqlite3.Error) else sqlite3.Error(str(error))
            raise reader.database_error(cause, self.path) from error
        except sqlite3.Error as error:
            raise reader.database_error(error, self.path) from error
        except OSError as error:
            raise from_os_error(error, "writing the database") from error

    def _wal_size(self) -> int:
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def _fold_wal(self, engine: Engine) -> None:
        raw = engine.raw_connection()
        try:
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            raw.close()


def _prepare(connection: Any, _record: object) -> None:
    connection.text_factory = reader.tolerant
    connection.isolation_level = None  # SQLAlchemy's own BEGIN below is the only one
    cursor = connection.cursor()
    for pragma in (
        "busy_timeout = 10000",
        "journal_mode = WAL",
        "synchronous = FULL",
        "wal_autocheckpoint = 0",
        "foreign_keys = ON",
        "trusted_schema = OFF",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
