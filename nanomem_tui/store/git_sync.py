"""Several open files reach the disk as one wait.

An fsync asks the drive to empty its cache, and requests that wait together are answered together: on a busy disk eleven
fsyncs in a row wait eleven times. Must not open, close or name a file.
"""

from __future__ import annotations

import _thread
import contextlib
import os
from collections.abc import Sequence

_MOST = 8


def sync_all(handles: Sequence[int]) -> None:
    """fsync open files and folders side by side; returns when all are on the disk. Raises the first OSError."""
    if hasattr(os, "posix_fadvise"):
        for handle in handles:
            with contextlib.suppress(OSError):
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)  # begins to write what is not written yet
    todo, errors = list(handles), list[OSError]()
    helpers = [_helper(todo, errors) for _ in range(min(len(todo), _MOST) - 1)]
    _work(todo, errors)
    for helper in helpers:
        helper.acquire()
    if errors:
        raise errors[0]


def _helper(todo: list[int], errors: list[OSError]) -> _thread.LockType:
    """A thread that works on `todo`; the lock is free when it is done.

    Not a `threading.Thread`: its `start` waits until the thread runs, on a busy machine longer than an fsync takes.
    """
    busy = _thread.allocate_lock()
    busy.acquire()

    def work() -> None:
        try:
            _work(todo, errors)
        finally:
            busy.release()

    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:  # no more threads: the caller does it alone
        busy.release()
    return busy


def _work(todo: list[int], errors: list[OSError]) -> None:
    while True:
        try:
            handle = todo.pop()
        except IndexError:
            return
        try:
            os.fsync(handle)
        except OSError as error:
            errors.append(error)
