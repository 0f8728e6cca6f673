"""Where the records of an agent's work lie, as whoever works with them asks it: what is written to it at the same time
is committed as one.

Owns what is acknowledged when. Must not know a file, a server, nor what the tables hold.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Generic, TypeVar

from nanomem_tui.errors import NanomemError, StoreError
from nanomem_tui.store.sql import Connection

T = TypeVar("T")


class _Job(Generic[T]):
    """A piece of writing, and what became of it."""

    def __init__(self, work: Callable[[Connection], T], durable: bool) -> None:
        self.work = work
        self.durable = durable
        self.done = False
        self.result: T | None = None
        self.error: BaseException | None = None


class TierStore(ABC):
    """The records of an agent's work and the knowledge base, made at the first write. Every method may be called from
    any thread.

    `path`: where the file of it lies, or would lie; `where`: what a person calls it; `is_remote`: it lies on a server.
    """

    path: Path
    where: str
    is_remote = False

    def __init__(self, synced_every: float) -> None:
        """`synced_every`: seconds after which a commit waits for the disk again, whatever it holds: what a power cut
        may cost at most."""
        self._synced_every = synced_every
        self._synced_at = -float("inf")
        self._unsynced = False
        self._queue: list[_Job[Any]] = []
        self._queue_lock = threading.Lock()
        self._turn = threading.Lock()

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether anything was ever written here. Raises CorruptDatabase where it was, and is gone."""

    @abstractmethod
    def read(self, ask: Callable[[Connection], T]) -> T:
        """The answer to `ask`, all of one moment. The caller looks at `exists` first. Raises the store's errors."""

    @abstractmethod
    def hold(self) -> None:
        """Keep connections open from now on: for a process that answers many questions."""

    @abstractmethod
    def close(self) -> None:
        """Let everything survive a power cut, and let go of it. Raises the errors of `sync`."""

    def has_news(self) -> bool:
        """Whether anybody wrote since the last look, where no file tells it. Raises nothing."""
        return False

    @contextlib.contextmanager
    def alone(self, name: str, wait: float) -> Iterator[bool]:
        """Whether work of that name is ours alone now, of all machines that write here; asked for until `wait` seconds
        are over. Processes of this machine keep each other out by files."""
        yield True

    @abstractmethod
    def _writing(self, *, durable: bool) -> AbstractContextManager[Connection]:
        """One transaction that keeps every other writer out."""

    @abstractmethod
    def _mark_synced(self, connection: Connection) -> None:
        """Write something, so that there is a commit to wait for."""

    @abstractmethod
    def _wrote(self) -> None:
        """Is told that a transaction was committed."""

    def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> T:
        """Do `work` in a transaction, and return what it does once that is committed: it survives a kill then, and if
        `durable` a power cut.

        Whoever comes while a transaction runs is done in the next one, all of them together; what fails is rolled back
        alone. Raises what `work` does, and the store's errors.
        """
        job = _Job(work, durable)
        with self._queue_lock:
            self._queue.append(job)
        with self._turn:
            if not job.done:
                with self._queue_lock:
                    jobs, self._queue = self._queue, []
                self._run(jobs)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[return-value]

    def _run(self, jobs: list[_Job[Any]]) -> None:
        durable = any(job.durable for job in jobs) or time.monotonic() - self._synced_at >= self._synced_every
        trouble: BaseException | None = StoreError("the program was interrupted", self.where, "nothing was changed")
        try:
            _ = self.exists
            with self._writing(durable=durable) as connection:
                for job in jobs:
                    self._do(job, connection, alone=len(jobs) == 1)
            trouble = None
            self._wrote()
            self._unsynced = not durable
            if durable:
                self._synced_at = time.monotonic()
        except (NanomemError, OSError) as error:
            trouble = error
        finally:
            for job in jobs:
                if trouble is not None and job.error is None:
                    job.error = copy.copy(trouble)
                job.done = True

    def _do(self, job: _Job[Any], connection: Connection, *, alone: bool) -> None:
        """Do one piece. Alone in its transaction it rolls that back when it fails; else only what it did itself."""
        if alone:
            job.result = job.work(connection)
            self._complete(connection)
            return
        connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(connection)
            self._complete(connection)
        except (NanomemError, ValueError, TypeError, KeyError) as error:  # its own fault: the others go on
            connection.execute("ROLLBACK TO job")
            self._rolled_back(connection)
            job.error = error
        connection.execute("RELEASE job")

    def _complete(self, connection: Connection) -> None:  # noqa: B027  a file is complete with each statement
        """Write what a piece of work gathered."""

    def _rolled_back(self, connection: Connection) -> None:  # noqa: B027
        """Forget what it gathered."""

    def sync(self) -> None:
        """Make what was committed survive a power cut. Raises the store's errors."""
        if self._unsynced:
            self.write(self._mark_synced, durable=True)
