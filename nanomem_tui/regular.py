"""Files read only where they are files: a FIFO, a socket or a device in the place of one blocks nobody.

Owns how a file that somebody else may have put there is opened.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

NO_FILE = "is no regular file"


def opened(path: Path | str) -> io.BufferedReader:
    """The file, for reading bytes. Raises OSError: IsADirectoryError for a folder, EINVAL for what is no file."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, NO_FILE, str(path))
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read(path: Path | str) -> bytes:
    """All of its bytes. Raises as `opened`."""
    with opened(path) as file:
        return file.read()


def refuse_database(path: Path) -> None:
    """Raise the driver's error for what is there and no file: SQLite waits at a FIFO for ever."""
    if path.exists() and not path.is_file():
        import sqlite3

        raise sqlite3.OperationalError(f"unable to open database file: it {NO_FILE}")
