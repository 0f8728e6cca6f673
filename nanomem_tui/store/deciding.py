"""Changes that rest on what stands now: one process at a time decides, having seen what the others did.

Owns the lock for it, an flock on the folder of the workspace's ledgers; where other machines write to the same store, a
lock of the server's too. Must not change anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from nanomem_tui.store import atomic
from nanomem_tui.store.undisturbed import undisturbed

WAIT = 5.0
"""Seconds to wait for another process that decides."""


class Deciding:
    """Who decides in one workspace. `look`: sees what other processes did; `beside`: keeps out those of other
    machines."""

    def __init__(
        self, folder: Path, look: Callable[[], object],
        beside: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._look = look
        self._beside = beside
        self._threads = threading.RLock()
        self._depth = 0

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from deciding meanwhile; entered before the lock of the rows, and within itself. Raises
        Refused when another decides for longer than some seconds."""
        with contextlib.ExitStack() as held, self._threads:
            if not self._depth:
                held.enter_context(undisturbed)  # left behind the lock
                with contextlib.suppress(FileNotFoundError):  # nobody recorded anything yet
                    handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
                    held.callback(os.close, handle)
                    atomic.wait_for_lock(handle, self._folder, WAIT)
                held.enter_context(self._beside())
                self._look()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
