"""The thread that makes checkpoints when they are due, for programs that hold a workspace open without a console.

Must not decide what is due (the store does) nor end a program: a checkpoint that fails is tried again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from nanomem_tui.errors import NanomemError
from nanomem_tui.store.memory_store import MemoryStore

LOOK = 0.5
"""Seconds between two looks at whether a checkpoint is due."""
PAUSE = 10.0
"""Seconds without another try after one that failed; `degraded` says why until one succeeds."""


class Checkpointer:
    """Started once, stopped once. The last checkpoint is the one that closing the store makes."""

    def __init__(self, store: MemoryStore, beside: Callable[[], object] = lambda: None) -> None:
        """`beside`: what else is to be looked at each time; it raises nothing."""
        self._store = store
        self._beside = beside
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nanomem-checkpoints", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End, once a checkpoint that runs is done."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        wait = LOOK
        while not self._stop.wait(wait):
            wait = LOOK
            self._beside()
            self._store.write_again()
            try:
                if self._store.due():
                    self._store.checkpoint()
            except NanomemError:
                wait = PAUSE
