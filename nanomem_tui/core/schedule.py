"""When work is done again: the next time of a cron line, and a thread that repeats something beside the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, tzinfo

from nanomem_tui.core import clock


def cron_next(cron: str, after: datetime, zone: tzinfo | None) -> datetime:
    """The first time after `after` that a cron line names; `zone`: in which it is meant (None: that of here)."""
    from cronsim import CronSim

    local = after.astimezone(zone)
    return next(CronSim(cron, local)).astimezone(clock.now().tzinfo)


Step = Callable[[Callable[[], bool]], float]
"""Does it once, and returns the seconds to wait before the next time. Is given whether the thread was stopped; must
not raise."""


class Repeating:
    """Started once, stopped once."""

    def __init__(self, name: str, step: Step, first: float) -> None:
        """`name`: that of the thread. `first`: the seconds before the first step."""
        self._step = step
        self._first = first
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to wait for the first step."""
        self._thread.start()

    def stop(self) -> None:
        """End, once a step that runs is done."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        wait = self._first
        while not self._stop.wait(wait):
            wait = self._step(self._stop.is_set)
