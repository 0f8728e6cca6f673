"""A file of ours that several processes append to and that one may replace: opened, locked, and still the right one.

Owns nothing but that protocol. Must not know what a line means.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from nanomem_tui.errors import from_os_error
from nanomem_tui.store import atomic

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def opened(path: Path, doing: str) -> Iterator[int]:
    """The file, made when missing (0600, its folder 0700) and under an exclusive lock; links are not followed.

    Whoever replaces the file holds this lock while it does; who waited for the lock of the file that is gone opens the
    new one. One that was made, and was not written in the end, goes again. `doing` says in an error what was tried.
    Raises the errors of `from_os_error`.
    """
    try:
        while True:
            made = not os.path.lexists(path)
            handle = _open(path)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if os.fstat(handle).st_nlink:
                    with gone_unless_written(handle, path) if made else contextlib.nullcontext():
                        yield handle
                    return
            finally:
                os.close(handle)
    except OSError as error:
        raise from_os_error(error, doing) from error


@contextlib.contextmanager
def gone_unless_written(handle: int, path: Path) -> Iterator[None]:
    """Take a file away that was made just now, is locked, and holds nothing after an error: who waits for its lock
    makes a new one."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            found = os.fstat(handle)
            if not found.st_size and found.st_nlink:
                os.unlink(path)
        raise


def append(path: Path, data: bytes, doing: str) -> int:
    """Append whole lines in one write, after a newline where the last line was torn; returns the size after."""
    with opened(path, doing) as handle:
        atomic.append_to(handle, data)
        return os.fstat(handle).st_size


def read_from(handle: int, start: int = 0) -> bytes:
    """The bytes of an open file from `start` to its end."""
    parts: list[bytes] = []
    while part := os.pread(handle, 1 << 20, start):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _open(path: Path) -> int:
    try:
        return atomic.open_owned(path, _FLAGS)
    except FileNotFoundError:
        atomic.make_folder(path.parent)
        return atomic.open_owned(path, _FLAGS)
