"""Files read only where they are files, and no larger than such a file can be: a FIFO, a socket or a device in the
place of one blocks nobody, and gigabytes fill no memory.

Owns how a file that somebody else may have put there is opened (docs/decisions, 0063).
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nanomem_tui.errors import NanomemError, from_os_error

NO_FILE = "is no regular file"
MOST = 256 * 1024**2
"""Bytes of a file that is read whole: settings, Markdown, an index."""
MOST_OF_A_LOG = 1024**3
"""Bytes of one that grows by lines: a conversation, the archive, a ledger."""


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


def read(path: Path | str, most: int = MOST) -> bytes:
    """All of its bytes. Raises as `opened`, and OSError of EFBIG beyond `most` of them."""
    with opened(path) as file:
        return whole(file, path, most)


def whole(file: BinaryIO, path: Path | str, most: int) -> bytes:
    """All bytes of a file that is open. Raises OSError of EFBIG beyond `most` of them, however long it says it is."""
    size = os.fstat(file.fileno()).st_size
    data = file.read(size + 1) if size <= most else b""
    while size <= most and (more := file.read(1 << 16)):  # it grows, or does not say its size
        data += more
        size = len(data)
    if max(size, len(data)) > most:
        raise too_large(path, most)
    return data


def pieces(file: BinaryIO, path: Path | str, size: int, left: int | None = None) -> Iterator[bytes]:
    """The next bytes of a file that is open, `left` of them or all, in pieces of about `size` that end where a line
    ends. Raises OSError, also of EFBIG for a line of more than `MOST`."""
    rest: list[bytes] = []
    while (left is None or left > 0) and (piece := file.read(size if left is None else min(left, size))):
        left = None if left is None else left - len(piece)
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, piece[:end]))
            rest = [piece[end:]]
        elif len(rest) * size > MOST:
            raise too_large(path, MOST)
        else:
            rest.append(piece)
    if any(rest):
        yield b"".join(rest)


def too_large(path: Path | str, most: int) -> OSError:
    """The error of a file, or a line, of more than `most` bytes."""
    return OSError(errno.EFBIG, f"more than {most // 1024**2:,} MB", str(path))


def told(error: OSError, path: Path) -> NanomemError:
    """Why a file cannot be read, in words; of what is no file, what lies there instead."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        mode = stat.S_IFREG
    if stat.S_ISREG(mode):
        return from_os_error(error, f"reading {path.name}")
    return NanomemError(f"a {kind_of(mode)} lies in the place of {path.name}", str(path), "move it away")


def kind_of(mode: int) -> str:
    """What it is that is no regular file, in a word."""
    kinds = ((stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISLNK, "link"), (stat.S_ISSOCK, "socket"))
    return next((name for is_one, name in kinds if is_one(mode)), "device")
