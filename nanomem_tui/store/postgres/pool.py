"""The connections of one process to one database, shared by every workspace that it has open there, and what the server
tells on its own of who wrote.

Owns connections and the listener; a connection belongs to nobody between two transactions. Must not know what is asked.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

CHANNEL = "nanomem"
"""Where the server tells that a workspace was written; the message is its id."""
CONNECT, STATEMENT, LOCK = 5, 120_000, 30_000
"""Seconds to connect; milliseconds for a statement, and for a lock that another process holds."""
KEPT = 8
"""Connections that are kept open between questions."""
LOOK = 5.0
"""Seconds after which the server is asked how often a workspace was written, whatever it told by itself."""
AWAY = 5.0
"""Seconds for which a server that did not answer is not asked again whether anybody wrote."""
NO_TABLE = "42P01"
"""What the server says where nobody made the tables yet."""
_LIMITS = f"; SET LOCAL lock_timeout = {LOCK}; SET LOCAL statement_timeout = {STATEMENT}"
_WRITES = "SELECT writes FROM nanomem_workspaces WHERE workspace_id = %s"
_POOLS: dict[tuple[int, str], Pool] = {}
_LOCK = threading.Lock()


def connected(psycopg: Any, settings: Mapping[str, Any], statement: int = STATEMENT) -> Any:
    """A new connection of the driver, on which each statement is a transaction until one is begun.

    Where a pool stands between us and the server that hands out its connections by transaction (PgBouncer), another one
    may come at any time: nothing is prepared there, and nothing set beyond a transaction. Raises the driver's errors.
    """
    known = {"connect_timeout": CONNECT, "application_name": "nanomem", **settings}
    raw = psycopg.connect(autocommit=True, **known)
    try:
        asked = "SELECT pg_backend_pid(), current_setting('lock_timeout'), current_setting('statement_timeout')"
        process, lock, most = raw.execute(asked, prepare=False).fetchone()
        if process != raw.info.backend_pid:
            raw.prepare_threshold = None
        elif lock == most == "0":  # else the address says it
            raw.execute(f"SET lock_timeout = {LOCK}; SET statement_timeout = {statement}", prepare=False)
    except BaseException:
        raw.close()
        raise
    return raw


def is_shared(raw: Any) -> bool:
    """Whether other programs have the server's end of this connection between two transactions."""
    return raw.prepare_threshold is None


def pool_of(address: str, connect: Callable[[], Any], trouble: type[Exception]) -> Pool:
    """The pool of this process for an address, one user more of it. `trouble`: the errors of the driver."""
    with _LOCK:
        key = os.getpid(), address
        pool = _POOLS.setdefault(key, Pool(key, connect, trouble))
        pool.users += 1
        return pool


class Pool:
    """The connections to one database. Thread-safe."""

    def __init__(self, key: tuple[int, str], connect: Callable[[], Any], trouble: type[Exception]) -> None:
        self.users = 0
        self._key = key
        self._connect = connect
        self._trouble = trouble
        self._free: list[Any] = []
        self._lock = threading.Lock()
        self.listener = Listener(connect, trouble)

    @contextlib.contextmanager
    def taken(self, begin: str) -> Iterator[Any]:
        """A connection that nobody else uses, on which `begin` is done, on a new one where the server let go of the old
        ones; let go of when anything goes wrong on it."""
        raw = self._begun(begin)
        try:
            yield raw
        except BaseException:
            self._after_trouble(raw)
            raise
        self._give_back(raw)

    def _after_trouble(self, raw: Any) -> None:
        with contextlib.suppress(Exception):
            if not raw.closed and not raw.broken:
                raw.execute("ROLLBACK")
                self._give_back(raw)
                return
        with contextlib.suppress(Exception):
            raw.close()

    def _begun(self, begin: str) -> Any:
        while True:
            with self._lock:
                kept = self._free.pop() if self._free else None
            is_new, raw = kept is None, kept or self._connect()
            try:
                raw.execute(begin + (_LIMITS if is_shared(raw) else ""), prepare=False)
            except self._trouble:
                with contextlib.suppress(Exception):
                    raw.close()
                if is_new:
                    raise
            else:
                return raw

    def _give_back(self, raw: Any) -> None:
        with self._lock:
            if len(self._free) < KEPT and self.users:
                self._free.append(raw)
                return
        raw.close()

    def clear(self) -> None:
        """Let go of every connection that nobody uses: the server was away."""
        with self._lock:
            free, self._free = self._free, []
        for raw in free:
            with contextlib.suppress(Exception):
                raw.close()

    def let_go(self) -> None:
        """One user less; the last one closes it."""
        with _LOCK:
            self.users -= 1
            if self.users:
                return
            _POOLS.pop(self._key, None)
        self.clear()
        self.listener.close()


class Listener:
    """Counts how often each workspace was written by anybody, as the server tells, or as it says when it is asked."""

    def __init__(self, connect: Callable[[], Any], trouble: type[Exception]) -> None:
        self._connect = connect
        self._trouble = trouble
        self._lock = threading.Lock()
        self._raw: Any = None
        self._counts: Counter[str] = Counter()
        self._writes: dict[str, int] = {}
        self._asked: dict[str, float] = {}
        self._away = -float("inf")

    def heard(self, workspace_id: str) -> int:
        """A number that is another one after each write. Raises nothing: a server that is away wrote nothing."""
        with self._lock:
            now = time.monotonic()
            if now - self._away < AWAY:
                return self._counts[workspace_id]
            try:
                self._listen(workspace_id, now)
            except self._trouble:
                self._away = now
                self._let_go()
                self._asked.clear()
            return self._counts[workspace_id]

    def ask(self, workspace_id: str) -> None:
        """The next time, ask the server in any case."""
        with self._lock:
            self._asked.pop(workspace_id, None)
            self._away = -float("inf")

    def _listen(self, workspace_id: str, now: float) -> None:
        if self._raw is None:
            self._raw = self._connect()
            with contextlib.suppress(self._trouble):  # a database spread over machines may have none
                if not is_shared(self._raw):
                    self._raw.execute(f"LISTEN {CHANNEL}")
        self._counts.update(note.payload for note in self._raw.notifies(timeout=0))
        if now - self._asked.get(workspace_id, -float("inf")) >= LOOK:
            writes = self._written(workspace_id)
            self._counts[workspace_id] += writes != self._writes.get(workspace_id)
            self._writes[workspace_id], self._asked[workspace_id] = writes, now

    def _written(self, workspace_id: str) -> int:
        try:
            row = self._raw.execute(_WRITES, (workspace_id,)).fetchone()
        except self._trouble as error:
            if getattr(error, "sqlstate", "") != NO_TABLE:
                raise
            return 0
        return int(row[0]) if row is not None else 0

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        if self._raw is not None:
            with contextlib.suppress(Exception):
                self._raw.close()
            self._raw = None
