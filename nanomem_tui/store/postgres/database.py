"""The writing side of a store in PostgreSQL, with the face of `store.database.Database`.

Owns who writes when: one process at a time for each workspace, by the row that stands for it. Must not know operations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.errors import from_os_error
from nanomem_tui.store import atomic, sql
from nanomem_tui.store.database import LOCK, LOCK_WAIT
from nanomem_tui.store.postgres import schema
from nanomem_tui.store.postgres.pool import CHANNEL

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection


class PgDatabase:
    """The database of one workspace on a server; its tables are made at the first write."""

    def __init__(self, server: Server, path: Path, guard: Callable[[Connection], None] | None = None) -> None:
        """`path`: where an SQLite file of it would lie, by which a person knows our folder; `guard`: raises where
        nobody may write now; it is asked in each transaction."""
        self.path = path
        self._guard = guard
        self._server = server
        self._made = False

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """The tables, made or brought up to date. Raises the errors of `Server.told` and `schema.make`."""
        if not self._made:
            schema.make(self._server)
            self._made = True
        yield

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        """One transaction that keeps every other writer of this workspace out, committed at the end; not `durable`: it
        does not wait for the disk. Raises the errors of `locked`."""
        with self.locked(), self._of_this_home(), self._server.writing(durable=durable) as connection:
            hold(connection, self._server.workspace_id)
            if self._guard is not None:
                self._guard(connection)
            yield connection
            if durable:
                connection.execute("SELECT pg_notify(?, ?)", (CHANNEL, self._server.workspace_id))

    @contextlib.contextmanager
    def _of_this_home(self) -> Iterator[None]:
        """Keep other processes of this home out too: one that writes its agent's files remembers what it wrote in the
        same transaction, and nobody looks at them in between."""
        try:
            atomic.make_folder(self.path.parent)
            with atomic.locked_once(self.path.with_name(LOCK), wait=LOCK_WAIT):
                yield
        except OSError as error:
            raise from_os_error(error, "writing the database") from error

    def close(self) -> None:
        """Let go of the connections."""
        self._server.close()

    let_go = close


def hold(connection: Connection, workspace_id: str) -> None:
    """Keep every other writer of the workspace out until the transaction ends. Raises NewerDatabase where another
    release brought the tables to a schema that this one does not know, while it ran."""
    write = (
        "INSERT INTO nanomem_workspaces (workspace_id, writes) VALUES (?, 1)"
        " ON CONFLICT (workspace_id) DO UPDATE SET writes = nanomem_workspaces.writes + 1"
    )
    connection.execute(write, (workspace_id,))
    schema.check(sql.schema_version(connection), "the database")
