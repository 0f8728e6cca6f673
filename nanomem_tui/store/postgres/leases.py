"""Work that one process does for all that share a store: who does it, until when, and when it was last done.

A lease is a row with a time until which it holds, by the server's clock: who holds it and dies lets go of it that way,
and no right or feature is needed that a database spread over machines lacks. Must not know what the work is.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nanomem_tui.errors import NanomemError
from nanomem_tui.store.postgres import schema

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection

HELD, LONG = 60.0, 900.0
"""Seconds for which a lease holds unless it is renewed; and that of work of minutes, as a Dream by a model is."""
LOOK = 0.05
"""Seconds between two looks whether a lease is free."""


def hold(connection: Connection, workspace_id: str, name: str) -> None:
    """Hold the row of that name until the transaction ends; waits for who holds it."""
    make = (
        "INSERT INTO nanomem_leases (workspace_id, name, holder, until) VALUES (?, ?, '', now())"
        " ON CONFLICT (workspace_id, name) DO NOTHING"
    )
    connection.execute(make, (workspace_id, name))
    query = "SELECT 1 FROM nanomem_leases WHERE workspace_id = ? AND name = ? FOR UPDATE"
    connection.execute(query, (workspace_id, name))


@contextlib.contextmanager
def held(server: Server, name: str, seconds: float = LONG, wait: float = 0.0) -> Iterator[bool]:
    """Whether this process got the lease, which is asked for until `wait` seconds are over, and renewed as long as it
    is held; let go of at the end. Raises the store's errors."""
    lease = Lease(server, name)
    ends = time.monotonic() + wait
    while not (got := lease.take(seconds)) and time.monotonic() < ends:
        time.sleep(LOOK)
    if not got:
        yield False
        return
    try:
        with lease.renewing(seconds):
            yield True
    finally:
        with contextlib.suppress(NanomemError):  # it ends by itself
            lease.let_go()


class Lease:
    """One piece of work of one workspace, as one process may hold it."""

    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._name = name
        self.holder = f"{_machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"

    def take(self, seconds: float = HELD) -> bool:
        """Take it, or renew it, or take it over from a process of this machine that ended; False while somebody else
        holds it. Raises the store's errors."""
        schema.make(self._server)
        query = (
            "INSERT INTO nanomem_leases (workspace_id, name, holder, until)"
            " VALUES (?, ?, ?, now() + make_interval(secs => ?)) ON CONFLICT (workspace_id, name) DO UPDATE"
            " SET holder = excluded.holder, until = excluded.until"
            " WHERE nanomem_leases.until <= now() OR nanomem_leases.holder IN (excluded.holder, ?)"
        )
        with self._server.writing() as connection:
            asked = "SELECT holder FROM nanomem_leases WHERE workspace_id = ? AND name = ?"
            row = connection.execute(asked, self._place).fetchone()
            ended = str(row[0]) if row is not None and _has_ended(str(row[0])) else self.holder
            return bool(connection.execute(query, (*self._place, self.holder, float(seconds), ended)).rowcount)

    def done(self, at: str) -> None:
        """Let go of it, and note when the work was done."""
        query = (
            "UPDATE nanomem_leases SET until = now(), done_at = ? WHERE workspace_id = ? AND name = ? AND holder = ?"
        )
        with self._server.writing() as connection:
            connection.execute(query, (at, *self._place, self.holder))

    def let_go(self) -> None:
        """Let go of it."""
        query = "UPDATE nanomem_leases SET until = now() WHERE workspace_id = ? AND name = ? AND holder = ?"
        with self._server.writing() as connection:
            connection.execute(query, (*self._place, self.holder))

    def last_done(self) -> str:
        """When the work was last done, by anybody; empty for never."""
        query = "SELECT done_at FROM nanomem_leases WHERE workspace_id = ? AND name = ?"
        with self._server.reading() as connection:
            row = connection.execute(query, self._place).fetchone()
        return str(row[0]) if row is not None else ""

    @contextlib.contextmanager
    def renewing(self, seconds: float) -> Iterator[None]:
        """Take it once more now and then, in a thread; a server that is away is asked again later."""
        over = threading.Event()

        def renew() -> None:
            while not over.wait(seconds / 3):
                with contextlib.suppress(NanomemError):
                    self.take(seconds)

        thread = threading.Thread(target=renew, name="nanomem-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @property
    def _place(self) -> tuple[str, str]:
        return self._server.workspace_id, self._name


@functools.cache
def _machine() -> str:
    """What tells this machine apart, and what runs apart on it under the same name."""
    with contextlib.suppress(OSError):
        return f"{socket.gethostname()}/{os.readlink('/proc/self/ns/pid')}".replace(":", "")
    return socket.gethostname()


def _has_ended(holder: str) -> bool:
    """Whether who holds a lease was a process of this machine that is no more."""
    machine, _, rest = holder.rpartition(":")[0].rpartition(":")
    if machine != _machine() or not rest.isdigit():
        return False
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
