"""Leases: which of the processes that share a memory does a piece of work, such as a Dream, for all of them."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.store import models
from nanomem_tui.store.engine import Database

if TYPE_CHECKING:
    pass

LEASES = models.table(models.Lease)

SECONDS = 60.0
"""How long a lease holds unless it is renewed."""


@contextlib.contextmanager
def held(database: Database, work: str, seconds: float = SECONDS) -> Iterator[bool]:
    """Whether this process got the lease for a piece of work; it is renewed until the end. Raises StoreError.

    Somebody else may get it before the end where this process sleeps, or does not reach the server, for `seconds`: what
    the work writes is compared in any case.
    """
    holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    if not _take(database, work, holder, seconds):
        yield False
        return
    over = threading.Event()

    def renew() -> None:
        while not over.wait(seconds / 3):
            with contextlib.suppress(NanomemError):  # asked again later
                _take(database, work, holder, seconds)

    renewing = threading.Thread(target=renew, name="nanomem-lease", daemon=True)
    renewing.start()
    try:
        yield True
    finally:
        over.set()
        renewing.join()
        mine = (LEASES.c.work == work) & (LEASES.c.holder == holder)
        with contextlib.suppress(NanomemError), database.writing(durable=False) as connection:  # it lapses by itself
            connection.execute(update(LEASES).where(mine).values(until=0.0))


def take(connection: Connection, work: str, holder: str, seconds: float = SECONDS) -> bool:
    """Take a lease that nobody holds, or renew one's own, in the transaction of the caller; whether that was done.
    Raises IntegrityError where another process makes it in this moment."""
    now = _now(connection)
    free = (LEASES.c.until <= now) | (LEASES.c.holder == holder)
    taken = update(LEASES).where(LEASES.c.work == work, free).values(holder=holder, until=now + seconds)
    if connection.execute(taken).rowcount:
        return True
    if connection.execute(select(LEASES.c.work).where(LEASES.c.work == work)).first() is not None:
        return False
    connection.execute(insert(LEASES).values(work=work, holder=holder, until=now + seconds))
    return True


def is_held(connection: Connection, work: str) -> bool:
    """Whether anybody holds the lease for a piece of work."""
    asked = select(LEASES.c.work).where(LEASES.c.work == work, LEASES.c.until > _now(connection))
    return connection.execute(asked).first() is not None


def drop(connection: Connection, work: str) -> None:
    """Let go of the lease for a piece of work that is done for good."""
    connection.execute(delete(LEASES).where(LEASES.c.work == work))


def _take(database: Database, work: str, holder: str, seconds: float) -> bool:
    try:
        with database.writing(durable=False) as connection:
            return take(connection, work, holder, seconds)
    except IntegrityError:  # another process made the row in this moment
        return False


def _now(connection: Connection) -> float:
    """The time in seconds, by the clock that all who share the memory have in common."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
