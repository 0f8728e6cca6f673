"""Who holds a lock that others wait for is not held up by the rest of his own process.

Among a hundred thousand rows a search for garbage takes a quarter of a second. And after each call of the system or of
SQLite, one for each row, a thread waits for its turn while another one computes: 5 ms, unless a shorter time is asked.
"""

from __future__ import annotations

import gc
import sys
import threading

HANDOVER = 0.00005
"""Seconds after which a thread that computes lets one that holds a lock go on."""


class Undisturbed:
    """Puts off the search for garbage and shortens turns, for a moment. Within itself, and on several threads at once:
    until the last of those that hold a lock is done."""

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._holders = 0
        self._before = gc.isenabled(), sys.getswitchinterval()

    def __enter__(self) -> None:
        with self._counting:
            if not self._holders:
                self._before = gc.isenabled(), sys.getswitchinterval()
                gc.disable()
                sys.setswitchinterval(HANDOVER)
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._counting:
            self._holders -= 1
            if not self._holders:
                searched, turn = self._before
                sys.setswitchinterval(turn)
                if searched:
                    gc.enable()


undisturbed = Undisturbed()
