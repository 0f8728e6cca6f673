"""A store in PostgreSQL as a reader meets it, with the face of `store.source.Source`, and the moment others write it.

Owns when it is asked whether anybody wrote. A server keeps its own copies and mends itself: nothing is damaged here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nanomem_tui.errors import CorruptDatabase, NanomemError, Problem
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.postgres import leases, schema
from nanomem_tui.store.source import held

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection

T = TypeVar("T")


class PgSource:
    """Where the rows of one workspace are read from. `damage` is always None."""

    damage: Problem | None = None

    def __init__(self, server: Server, lock: Path) -> None:
        """`lock`: the file whose flock every writer of this home holds."""
        self._lock_file = lock
        self.repaired: list[Problem] = []
        self._server = server
        self._made = self._waits = False
        self._lock = threading.RLock()
        self._deciders = 0
        self._held: contextlib.ExitStack | None = None

    @property
    def exists(self) -> bool:
        """Whether something was ever written here. Raises the errors of `Server.told`, and NewerDatabase."""
        if not self._made:
            with self._server.alone() as raw:
                found = schema.found_in(raw)
                schema.check(found or 0, self._server.where)
                asked = "SELECT 1 FROM nanomem_workspaces WHERE workspace_id = %s"
                self._made = bool(found) and raw.execute(asked, (self._server.workspace_id,)).fetchone() is not None
        return self._made

    def read(self, ask: Callable[[Connection], T]) -> T:
        """The answer to `ask`, all of one moment. Raises the errors of `Server.told`."""
        with self._server.reading() as connection:
            return ask(connection)

    def kept_open(self) -> contextlib.AbstractContextManager[None]:
        """Connections are kept as it is."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def opened(self) -> Iterator[Connection]:
        """A connection, for who asks more than once."""
        with self._server.reading() as connection:
            yield connection

    def held(self, wait: float) -> contextlib.AbstractContextManager[bool]:
        """Keep other processes of this home from writing its agent's files meanwhile."""
        return held(self._lock_file, wait)

    @contextlib.contextmanager
    def deciding(self) -> Iterator[None]:
        """Keep processes of other machines from deciding meanwhile, where the server answers, and until what was
        decided is on the server; what they wrote before is told by the next `stamps`."""
        self._hold()
        try:
            yield
        finally:
            with self._lock:
                self._deciders -= 1
                if not self._waits:
                    self._let_go()

    def _hold(self) -> None:
        with self._lock:
            self._deciders += 1
            if self._held is not None:  # nobody else decided since
                return
            held = contextlib.ExitStack()
            with contextlib.suppress(NanomemError):
                if self.exists:
                    connection = held.enter_context(self._server.writing(durable=False))
                    with self._server.told():
                        leases.hold(connection, self._server.workspace_id, "deciding")
                    self._held = held
            self._server.pool.listener.ask(self._server.workspace_id)

    def decided(self) -> None:
        """Something was decided, and is yet to be written."""
        with self._lock:
            self._waits = True

    def written(self) -> None:
        """What was decided is on the server, or cannot be written now: others may decide."""
        with self._lock:
            self._waits = False
            if not self._deciders:
                self._let_go()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            with contextlib.suppress(NanomemError):  # a server that is away holds nothing for us
                held.close()

    def stamps(self) -> tuple[object, object]:
        """What tells that the database was written. Raises nothing: a server that is away wrote nothing."""
        return self._server.pool.listener.heard(self._server.workspace_id), None

    def fall_back(self, error: CorruptDatabase, *, certain: bool = False) -> bool:
        """False: there is nothing else to read from."""
        return False

    def put_back(self) -> None:
        """Nothing was damaged."""

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock:
            self._let_go()
        self._server.close()


class NoCopies(Copies):
    """The copies of a store on a server: none of ours. What lies here is of an SQLite file that was used before."""

    def found(self) -> list[Path]:
        """None."""
        return []

    def keep(self, lines: Sequence[bytes]) -> None:
        """What is committed is the server's to keep."""

    def note(self, operations: int | None) -> None:
        """So is how many there are."""

    def noted(self) -> int | None:
        """Nobody noted that."""
        return None

    def is_due(self, database: Path) -> bool:
        """Never."""
        return False

    def _files(self) -> list[Path]:
        return []
