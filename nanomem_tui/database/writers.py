"""Which processes are writing files of others: each holds a lock on a file of its own, which ends with the process.

A pid proves nothing: it is used again, and another machine has others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from pathlib import Path

from nanomem_tui.store import atomic


class Writers:
    """The lock files of one workspace, in a folder; `name` is that of this process."""

    def __init__(self, folder: Path) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._folder = folder
        self._handle: int | None = None

    def begin(self) -> str:
        """Hold this process's lock from now on; return the name of this process."""
        if self._handle is None:
            atomic.make_folder(self._folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._handle = os.open(self._folder / self.name, flags, atomic.PRIVATE_FILE)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        return self.name

    def is_alive(self, name: str) -> bool:
        """Whether the process of that name still runs. Its file is removed when it does not."""
        if name == self.name:
            return self._handle is not None
        if not name or "/" in name:
            return False
        try:
            handle = os.open(self._folder / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()
            return False
        finally:
            os.close(handle)

    def close(self) -> None:
        """Let go of this process's lock."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                (self._folder / self.name).unlink()
            os.close(self._handle)
            self._handle = None
