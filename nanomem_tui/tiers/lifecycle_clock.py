"""The thread that looks whether a run of the lifecycle is due, for programs that stay open without a console.

Must not decide what is due, nor end a program: a run that fails is tried again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

LOOK = 60.0
"""Seconds between two looks."""
BEGIN = 300.0
"""Seconds before the first one: a program that is open for a moment moves nothing."""


class Step(Protocol):
    """A look, and the run that it finds due. Never raises."""

    def __call__(self, *, stopped: Callable[[], bool]) -> object: ...


class Looking:
    """Started once, stopped once."""

    def __init__(self, step: Step, every: float = LOOK, first: float = BEGIN) -> None:
        self._step = step
        self._first = first
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nanomem-lifecycle", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End, once the batch that is under way is done."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        wait = self._first
        while not self._stop.wait(wait):
            self._step(stopped=self._stop.is_set)
            wait = self._every
