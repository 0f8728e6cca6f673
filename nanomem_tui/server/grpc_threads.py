"""Threads that do what would hold up a loop, one piece of work at a time each.

Owns the way there and back, which takes half as long as by an executor of `concurrent.futures`. What was cancelled
before its turn is not begun; what was begun is ended, whoever waits for it. Must not know what the work is.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple


class _Job(NamedTuple):
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[[Any], Any]
    given: Any


_Way = queue.SimpleQueue[_Job | None]
"""How a thread gets its work; None ends it."""


class Threads:
    """At most so many threads of one name, for one loop.

    Of those that wait the one that worked last is given the next piece: its connections and caches are warm.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._lock = threading.Lock()
        self._idle: list[_Way] = []
        self._waiting: deque[_Job] = deque()
        self._threads: list[tuple[threading.Thread, _Way]] = []

    def submit(self, work: Callable[[Any], Any], given: Any) -> asyncio.Future[Any]:
        """What `work` makes of what it is given; to be called on the loop."""
        loop = asyncio.get_running_loop()
        job = _Job(loop, loop.create_future(), work, given)
        with self._lock:
            if not self._idle and len(self._threads) == self._most:
                self._waiting.append(job)
                return job.future
            way = self._idle.pop() if self._idle else self._one_more()
        way.put(job)
        return job.future

    def _one_more(self) -> _Way:
        way: _Way = queue.SimpleQueue()
        thread = threading.Thread(target=self._run, args=(way,), name=self._name)
        self._threads.append((thread, way))
        thread.start()
        return way

    def close(self) -> None:
        """Wait until what was begun is done. The loop must run meanwhile, and nothing more be submitted."""
        for _, way in self._threads:
            way.put(None)
        for thread, _ in self._threads:
            thread.join()

    def _run(self, way: _Way) -> None:
        while (job := way.get()) is not None:
            while job is not None:
                job = self._done(job, way)  # a thread that waits holds no work and no answer any more

    def _done(self, job: _Job, way: _Way) -> _Job | None:
        """Do it; the next piece, where one waits for a thread."""
        answer = _answer(job)
        with self._lock:  # before the answer is given, so that who has it finds this thread idle
            following = self._waiting.popleft() if self._waiting else None
            if following is None:
                self._idle.append(way)
        if answer is not None:
            told, what = answer
            job.loop.call_soon_threadsafe(told, job.future, what)
        return following


def _answer(job: _Job) -> tuple[Callable[[asyncio.Future[Any], Any], None], Any] | None:
    """What came of the work, and how that is told; None where it was not begun."""
    if job.future.cancelled():
        return None
    try:
        return _done, job.work(job.given)
    except BaseException as error:  # noqa: BLE001  it is raised where the work is waited for
        return _failed, error


def _done(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():  # who waited went away
        future.set_result(result)


def _failed(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
