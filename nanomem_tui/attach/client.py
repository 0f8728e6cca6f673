"""The agent's side of the pipe: requests in order on a thread of their own, so that no turn waits on a blocking call.

Every failure is an answer of None and one line in the log. A child that dies is started anew once; when that one dies
without an answer too, memory rests for `REST` seconds. Owns the thread and the child; knows nothing of the agent.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import WORKSPACE_VARIABLE, say
from .child import Child, Gone, Hung

Request = Mapping[str, Any]
Answer = dict[str, Any] | None
Later = concurrent.futures.Future[Answer]

ANSWER = 60.0
"""Seconds after which a silent child is taken for hung and killed: the first turn may read a whole history."""
PATIENCE = 0.2
"""Seconds that a turn waits while an earlier request is overdue."""
REST = 60.0
"""Seconds without memory after a child that would not start."""
PARTING = 5.0
"""Seconds that the end of the agent waits for turns still on their way."""
WAITING = 64
"""Requests that may wait; more means that the child is far behind, and they are dropped."""


class Client:
    """One child for one workspace, shared by the tool and the hook."""

    def __init__(self, workspace: str | None, *, answer: float = ANSWER, rest: float = REST) -> None:
        self.workspace = workspace
        self._answer, self._rest = answer, rest
        self._queue: queue.Queue[tuple[Callable[[], Request | None], Later] | None] = queue.Queue(WAITING)
        self._child: Child | None = None
        self._resting_until = 0.0
        self._thread: threading.Thread | None = None
        self._closed = False
        self._overdue = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The child's process id, None while there is none."""
        child = self._child
        return child.pid if child is not None else None

    def send(self, build: Callable[[], Request | None]) -> Later:
        """Put a request behind those before it; `build` makes it when its turn has come (None: nothing to ask)."""
        later: Later = concurrent.futures.Future()
        with self._lock:
            if self._closed:
                later.set_result(None)
                return later
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="nanomem", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            try:
                self._queue.put_nowait((build, later))
            except queue.Full:
                say.once("behind", "too many turns wait for memory; this one goes without")
                later.set_result(None)
        return later

    async def ask(self, request: Request, seconds: float) -> Answer:
        """The answer, or None when there is none within `seconds`."""
        return await self.wait(self.send(lambda: request), seconds)

    async def wait(self, later: Later, seconds: float) -> Answer:
        """What `later` brings within `seconds`, else None; the request itself stays on its way."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def settle() -> None:
            if not done.done():
                done.set_result(None)

        def wake(_: Later) -> None:
            with contextlib.suppress(RuntimeError):  # the loop may have ended before the answer came
                loop.call_soon_threadsafe(settle)

        later.add_done_callback(wake)
        try:
            await asyncio.wait_for(done, min(seconds, PATIENCE) if self._overdue else seconds)
        except TimeoutError:
            self._overdue = True
            say.once("slow", f"memory took longer than {seconds:g} s; the turn goes on without it")
            return None
        return later.result()

    def warm(self) -> None:
        """Start the child now, so that the first turn need not wait for it."""
        self.send(self._start_only)

    def close(self, seconds: float = PARTING) -> None:
        """Hand over what waits, then end the child; at most about `seconds`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
        atexit.unregister(self.close)
        if thread is None:
            return
        try:
            self._queue.put(None, timeout=seconds)
        except queue.Full:
            return
        thread.join(seconds)

    def _start_only(self) -> None:
        self._living()

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            build, later = job
            try:
                answer = self._exchange(build)
            except Exception as error:  # noqa: BLE001  # whatever it is, the agent's turn goes on
                say.once(
                    f"error:{type(error).__name__}", f"{type(error).__name__}: {error}; the turn goes on without memory"
                )
                answer = None
            self._overdue = False
            later.set_result(answer)
        if self._child is not None:
            self._child.close(PARTING)
            self._child = None

    def _exchange(self, build: Callable[[], Request | None]) -> Answer:
        """One answer; a child that dies over it is replaced once, one that hangs is not."""
        why = ""
        for _ in range(2):
            try:
                request = build()
                child = self._living() if request is not None else None
                if child is None or request is None:
                    return None
                answer = child.ask(request, self._answer)
            except Gone as error:
                why = str(error)
                self._bury()
                if isinstance(error, Hung):  # the next one would hang over it too
                    break
            else:
                self._resting_until = 0.0
                say.again("gone", "memory answers again")
                if answer.get("error"):
                    say.once(f"refused:{answer['error']}", f"refused {request.get('do')}: {answer['error']}")
                    return None
                return answer
        self._resting_until = time.monotonic() + self._rest
        say.once("gone", f"no memory for now ({why}); the agent goes on without it")
        return None

    def _living(self) -> Child | None:
        if self._child is None and time.monotonic() >= self._resting_until:
            self._child = Child(self.workspace)
        return self._child

    def _bury(self) -> None:
        if self._child is not None:
            self._child.close(0.0)
            self._child = None


_shared: dict[str | None, Client] = {}
_shared_lock = threading.Lock()


def shared(workspace: str | None) -> Client:
    """The one client of this process for `workspace`, or for the one that the environment names."""
    named = os.environ.get(WORKSPACE_VARIABLE) or workspace
    with _shared_lock:
        return _shared.setdefault(named, Client(named))
