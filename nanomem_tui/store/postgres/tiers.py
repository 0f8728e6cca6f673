"""The records of an agent's work and the knowledge base of one workspace on a server, with the face of `TierStore`.

Owns who writes when: one process at a time for each workspace, by a row of its own, so that neither the memory nor
another workspace waits. Must not know what the tables hold.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nanomem_tui.errors import NanomemError
from nanomem_tui.store import moved, tier_meta
from nanomem_tui.store.postgres import leases, schema, word_bits
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_store import TierStore

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server

T = TypeVar("T")
WRITES = "writes"
"""Under which name `tier_meta` counts how often a workspace was written; who writes holds that row."""
LOOK = 5.0
"""Seconds between two looks whether anybody wrote."""


class PgTiers(TierStore):
    """The tables of one workspace; they are made at the first write."""

    is_remote = True

    def __init__(self, server: Server, path: Path, synced_every: float = 120.0) -> None:
        """`path`: where an SQLite file of it would lie, by which our folder is known."""
        super().__init__(synced_every)
        self.path = path
        self.where = server.where
        self._server = server
        self._written = self._made = False
        self._looked = -float("inf")
        self._seen: int | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever written here. Raises the errors of `Server.told`, and NewerDatabase."""
        if not self._written:
            self._written = self.writes() > 0
        return self._written

    def writes(self) -> int:
        """How often this was written, by anybody. Raises the errors of `Server.told`, and NewerDatabase."""
        with self._server.reading() as connection:
            if not self._written:
                found = schema.found_in(connection) or 0
                schema.check(found, self._server.where)
                if found < schema.TIERS:
                    return 0
            return int(tier_meta.get(connection, self._server.workspace_id, WRITES) or 0)

    def has_news(self) -> bool:
        """Whether anybody wrote since the last look, of which there is one in `LOOK` seconds at most."""
        if time.monotonic() - self._looked < LOOK:
            return False
        self._looked = time.monotonic()
        with contextlib.suppress(NanomemError):  # a server that is away wrote nothing
            before, self._seen = self._seen, self.writes()
            return before is not None and before != self._seen
        return False

    def read(self, ask: Callable[[Connection], T]) -> T:
        """The answer to `ask`, all of one moment. Raises the errors of `Server.told`."""
        with self._server.reading() as connection:
            return ask(connection)

    def hold(self) -> None:
        """Connections are kept open anyway."""

    @contextlib.contextmanager
    def alone(self, name: str, wait: float) -> Iterator[bool]:
        """Whether work of that name is ours alone now, of all machines that write here; asked for until `wait` seconds
        are over. Raises the errors of `Server.told`."""
        with leases.held(self._server, name, leases.HELD, wait) as held:
            yield held

    @contextlib.contextmanager
    def _writing(self, *, durable: bool) -> Iterator[Connection]:
        if not self._made:
            schema.make(self._server)
            self._made = True
        with self._server.writing(durable=durable) as connection:
            hold(connection, self._server)
            moved.refuse_work(connection, self._server.workspace_id, self.where)
            yield connection

    def _complete(self, connection: Connection) -> None:
        word_bits.write(connection, self._server.workspace_id)

    def _rolled_back(self, connection: Connection) -> None:
        word_bits.drop(connection)

    def _wrote(self) -> None:
        self._written = True

    def _mark_synced(self, connection: Connection) -> None:
        tier_meta.put(connection, self._server.workspace_id, "synced_at", str(time.time_ns()))

    def close(self) -> None:
        """Let everything survive a power cut. Raises the errors of `sync`."""
        self.sync()


def hold(connection: Connection, server: Server) -> None:
    """Keep every other writer of the workspace out until the transaction ends. Raises NewerDatabase where another
    release brought the tables to a schema that this one does not know, while it ran."""
    query = (
        'INSERT INTO tier_meta (workspace_id, "key", value) VALUES (?, ?, \'1\') ON CONFLICT (workspace_id, "key")'
        " DO UPDATE SET value = CAST(CAST(tier_meta.value AS bigint) + 1 AS text)"
        " RETURNING (SELECT version FROM nanomem_schema)"
    )
    found = connection.execute(query, (server.workspace_id, WRITES)).fetchone()[0]
    schema.check(int(found), server.where)
