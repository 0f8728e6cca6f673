"""A store in PostgreSQL as a reader meets it, with the face of `store.source.Source`, and the moment others write it.

Owns when it is asked whether anybody wrote. A server keeps its own copies and mends itself: nothing is damaged here.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.errors import CorruptDatabase, NanomemError, Problem
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.postgres import leases, schema
from nanomem_tui.store.postgres.database import CHANNEL

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection

T = TypeVar("T")
LOOK = 5.0
"""Seconds after which the server is asked how often a workspace was written, whatever it told by itself."""
AWAY = 5.0
"""Seconds for which a server that did not answer is not asked again whether anybody wrote."""


class PgSource:
    """Where the rows of one workspace are read from. `damage` is always None."""

    damage: Problem | None = None

    def __init__(self, server: Server) -> None:
        self.repaired: list[Problem] = []
        self._server = server
        self._made = False
        self._listener = _Listener(server)

    @property
    def exists(self) -> bool:
        """Whether something was ever written here. Raises the errors of `Server.told`, and NewerDatabase."""
        if not self._made:
            with self._server.alone() as raw:
                found = schema.found_in(raw)
                schema.check(found or 0, self._server.where)
                raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (self._server.workspace_id,))
                asked = "SELECT 1 FROM memory_meta WHERE key = %s"
                key = f"{self._server.workspace_id}:revision"
                self._made = bool(found) and raw.execute(asked, (key,)).fetchone() is not None
        return self._made

    def read(self, ask: Callable[[Connection], T]) -> T:
        """The answer to `ask`, all of one moment. Raises the errors of `Server.told`."""
        with self._server.reading() as connection:
            return ask(connection)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Connection]:
        """A connection, for who asks more than once."""
        with self._server.reading() as connection:
            yield connection

    @contextlib.contextmanager
    def held(self, wait: float) -> Iterator[bool]:
        """Other processes of this machine that write the agent's files are kept out by who writes those."""
        yield True

    @contextlib.contextmanager
    def deciding(self) -> Iterator[None]:
        """Keep processes of other machines from deciding meanwhile, where the server answers; what they wrote before
        is told by the next `stamps`."""
        held = contextlib.ExitStack()
        with contextlib.suppress(NanomemError):
            if self.exists:
                connection = held.enter_context(self._server.writing(durable=False))
                with self._server.told():
                    leases.hold(connection, self._server.workspace_id, "deciding")
        self._listener.ask()
        try:
            yield
        finally:
            with contextlib.suppress(NanomemError):  # a server that is away holds nothing for us
                held.close()

    def stamps(self) -> tuple[object, object]:
        """What tells that the database was written. Raises nothing: a server that is away wrote nothing."""
        return self._listener.heard(), None

    def fall_back(self, error: CorruptDatabase) -> bool:
        """False: there is nothing else to read from."""
        return False

    def put_back(self) -> None:
        """Nothing was damaged."""

    def close(self) -> None:
        """Let go of the connections."""
        self._listener.close()
        self._server.close()


class NoCopies(Copies):
    """The copies of a store on a server: none of ours. What lies here is of an SQLite file that was used before."""

    def found(self) -> list[Path]:
        """None."""
        return []

    def keep(self, lines: Sequence[bytes]) -> None:
        """What is committed is the server's to keep."""

    def is_due(self, database: Path) -> bool:
        """Never."""
        return False

    def _files(self) -> list[Path]:
        return []


class _Listener:
    """Counts how often a workspace was written by anybody, as the server tells, or as it says when it is asked."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._raw: Any = None
        self._count = 0
        self._writes = -1
        self._asked = self._away = -float("inf")

    def heard(self) -> int:
        """A number that is another one after each write."""
        with self._lock:
            now = time.monotonic()
            if now - self._away < AWAY:
                return self._count
            try:
                with self._server.told():
                    self._listen(now)
            except NanomemError:
                self._away = now
                self._let_go()
                self._count += 1  # what was told meanwhile is not known
            return self._count

    def ask(self) -> None:
        """The next time, ask the server in any case."""
        with self._lock:
            self._asked = -float("inf")

    def _listen(self, now: float) -> None:
        if self._raw is None:
            self._raw = self._server.connect()
            self._raw.execute(f"LISTEN {CHANNEL}")
            self._raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (self._server.workspace_id,))
            self._asked = -float("inf")
        told = [note.payload for note in self._raw.notifies(timeout=0)]
        if self._server.workspace_id in told:
            self._count += 1
        if now - self._asked >= LOOK:
            query = "SELECT writes FROM nanomem_workspaces WHERE workspace_id = %s"
            row = self._raw.execute(query, (self._server.workspace_id,)).fetchone()
            writes = int(row[0]) if row is not None else 0
            self._count += writes != self._writes
            self._writes, self._asked = writes, now

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._raw is not None:
            with contextlib.suppress(Exception):
                self._raw.close()
            self._raw = None
