"""What a person decided is taken to the server behind his back: the ledger has it, nobody waits for a network.

Owns a thread that makes a checkpoint as soon as it is asked to, and says when that is done. Must not know what is
written.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from nanomem_tui.errors import NanomemError


class Behind:
    """One thread, begun when it is first asked. `write`: makes a checkpoint; `done`: is told after each, whether it
    could be made or not."""

    def __init__(self, write: Callable[[], object], done: Callable[[], object]) -> None:
        self._write = write
        self._done = done
        self._lock = threading.Condition()
        self._asked = self._busy = self._ends = False
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Write soon."""
        with self._lock:
            self._asked = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="nanomem-behind", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._asked or self._ends)
                if self._ends:
                    return
                self._asked, self._busy = False, True
            with contextlib.suppress(NanomemError):  # it is told in `degraded`, and tried again by the next checkpoint
                self._write()
            with self._lock:
                self._busy = False
                if not self._asked:
                    self._done()
                self._lock.notify_all()

    def wait(self, seconds: float) -> bool:
        """Until everything that was asked for is done; False where that takes longer."""
        with self._lock:
            return self._lock.wait_for(lambda: not (self._asked or self._busy), seconds)

    def end(self) -> None:
        """End the thread after what it does now; who ends it makes the last checkpoint himself."""
        with self._lock:
            self._ends, self._asked = True, False
            thread, self._thread = self._thread, None
            self._lock.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._ends = False
