"""When a cron line comes next, in the time zone that the agent's configuration means. Reads one file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, tzinfo

from nanomem_tui.agents import layout
from nanomem_tui.core import clock
from nanomem_tui.core.paths import Paths


def cron_next(cron: str, after: datetime, zone: tzinfo | None) -> datetime:
    """The first time after `after` that a cron line names; `zone`: in which it is meant (None: that of here)."""
    from cronsim import CronSim

    local = after.astimezone(zone)
    return next(CronSim(cron, local)).astimezone(clock.now().tzinfo)


def zone_of(paths: Paths) -> tzinfo | None:
    """The time zone of the agent's configuration, in which its cron lines are meant; None for that of this machine."""
    name = layout.agent_settings(paths)[0].get("defaults", {}).get("timezone")
    if not isinstance(name, str) or not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None


# -- A thread that does something again and again beside the program, until it is stopped -----------------------------

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
