"""The two places that a memory can lie in, as a move meets them: a file of our own, a database of a server.

Owns how each is opened, read and written without the store's own guard. Must not know what moves.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from nanomem_tui.errors import CorruptDatabase, NanomemError
from nanomem_tui.paths import Paths
from nanomem_tui.store import reader, stored_operations, tier_schema
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.database import Database
from nanomem_tui.store.tier_database import LOCK

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

SQLITE = "sqlite"
LOOKS, PAUSE = 5, 0.3
"""Looks at whether the database has what was kept beside it, and the seconds between them."""


class Place(Protocol):
    """Where the rows of one workspace lie, or will."""

    label: str
    """As it is named on a command line."""
    where: str
    """For a person."""
    on_server: bool

    def look(self) -> bool:
        """Whether anything was ever written there, by anybody. Raises what keeps it from being used."""

    def reading(self) -> contextlib.AbstractContextManager[Connection]:
        """A connection on which every answer is of one moment."""

    def writing(self, *, durable: bool = True) -> contextlib.AbstractContextManager[Connection]:
        """A transaction that keeps every other writer of the workspace out; the tables are made before."""

    def examine(self) -> None:
        """Raise CorruptDatabase where not all that was ever written can be read."""

    def settle(self) -> None:
        """Do what the place does once a memory was brought there."""

    def close(self) -> None:
        """Let go of it."""


class _File:
    """A database of our own in a file; `newest`: the schema of it that we know."""

    label = SQLITE
    on_server = False

    def __init__(self, where: str, database: Database, newest: int) -> None:
        self.where = where
        self._database = database
        self._newest = newest
        self.close = database.close

    def look(self) -> bool:
        path = self._database.path
        if not reader.is_made(path, self._newest):
            return False
        with reader.open_database(path, self._newest):  # raises for one of a newer release, or that cannot be read
            return True

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with reader.open_database(self._database.path, self._newest) as connection:
            connection.text_factory = reader.tolerant
            connection.execute("BEGIN")
            yield connection

    def writing(self, *, durable: bool = True) -> contextlib.AbstractContextManager[Connection]:
        return self._database.writing(durable=durable)


class FilePlace(_File):
    """`nanomem.db` of a workspace."""

    def __init__(self, paths: Paths, workspace_id: str) -> None:
        database = Database(paths.database, paths.backups)
        super().__init__(paths.relative(paths.database), database, reader.SCHEMA_VERSION)
        self._id = workspace_id
        self._copies = Copies(paths.backups, paths.ledger, workspace_id)

    def examine(self) -> None:
        with self.reading() as connection:
            told = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        if told != "ok":
            raise CorruptDatabase(f"the database is damaged ({told})", self.where, "`nanomem doctor` says what to do")
        for _ in range(LOOKS):  # what is written just now is kept before the database has it
            if not self._copies.lost(self._known):
                return
            time.sleep(PAUSE)
        what, fix = "its newest operations are kept beside it alone", "the next change writes them; move it then"
        raise CorruptDatabase(what, self.where, fix)

    def _known(self, ids: list[str]) -> set[str]:
        with self.reading() as connection:
            return stored_operations.known_operations(connection, self._id, ids)

    def settle(self) -> None:
        """A copy of it: older ones know nothing of what was done elsewhere."""
        with contextlib.suppress(NanomemError, OSError), self._database.locked():
            self._copies.make(self._database.path)


class WorkFile(_File):
    """`tiers.db` of a workspace."""

    def __init__(self, paths: Paths) -> None:
        database = Database(paths.tiers_database, paths.backups, LOCK, tier_schema.schema)
        super().__init__(paths.relative(paths.tiers_database), database, tier_schema.VERSION)

    def examine(self) -> None:
        """Rows say by their hashes what a bit did to them; they move as they are."""

    def settle(self) -> None:
        """Say in the lock that there are records: a file that is gone later is no new beginning."""
        lock = self._database.path.with_name(LOCK)
        if lock.stat().st_size == 0:
            with lock.open("ab") as file:
                file.write(b"tiers.db\n")
                file.flush()
                os.fsync(file.fileno())


class ServerPlace:
    """The rows of a workspace in a PostgreSQL database."""

    on_server = True

    def __init__(self, url: str, paths: Paths, workspace_id: str) -> None:
        """Raises MissingExtra, or InvalidConfig for the address."""
        from nanomem_tui.store.postgres.database import PgDatabase
        from nanomem_tui.store.postgres.server import Server

        self.label = url
        self.server = Server(url, workspace_id)
        self.where = self.server.where
        self._database = PgDatabase(self.server, paths.database)
        self.close = self.server.close

    def look(self) -> bool:
        from nanomem_tui.store.postgres import schema

        with self.server.alone() as raw:
            schema.refuse_old(raw, self.where)
            schema.refuse_encoding(raw, self.where)
            found = schema.found_in(raw)
            schema.check(found or 0, self.where)
            return bool(found)

    def reading(self) -> contextlib.AbstractContextManager[Connection]:
        return self.server.reading()

    def writing(self, *, durable: bool = True) -> contextlib.AbstractContextManager[Connection]:
        return self._database.writing(durable=durable)

    def examine(self) -> None:
        """A server looks after its own."""

    def settle(self) -> None:
        """And keeps its own copies."""


class WorkOnServer(ServerPlace):
    """The work of an agent in a PostgreSQL database."""

    def look(self) -> bool:
        from nanomem_tui.store.postgres import schema

        with self.server.alone() as raw:
            return (schema.found_in(raw) or 0) >= schema.TIERS

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        from nanomem_tui.store.postgres import tiers, word_bits

        with self._database.locked(), self.server.writing(durable=durable) as connection:
            tiers.hold(connection, self.server)  # and not the row of the memory, which has a writer of its own
            try:
                yield connection
                word_bits.write(connection, self.server.workspace_id)
            finally:
                word_bits.drop(connection)


def work_of(label: str, paths: Paths, workspace_id: str) -> WorkFile | WorkOnServer:
    """Where the work of an agent lies in the place that a person names."""
    return WorkFile(paths) if label == SQLITE else WorkOnServer(label, paths, workspace_id)


def place_of(label: str, paths: Paths, workspace_id: str) -> FilePlace | ServerPlace:
    """The place that a person names: `sqlite`, or an address. Raises MissingExtra, or InvalidConfig."""
    return FilePlace(paths, workspace_id) if label == SQLITE else ServerPlace(label, paths, workspace_id)


def same(one: str, other: str) -> bool:
    """Whether two names are of the same place, however they are written."""
    if SQLITE in (one, other):
        return one == other
    from nanomem_tui.store.postgres.server import address

    return address(one) == address(other)
