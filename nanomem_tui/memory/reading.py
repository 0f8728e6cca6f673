"""Reading files that an agent owns: no link is followed, nothing but a regular file is opened, nothing waits.

Must not write, and must not know what a file means.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError, Problem, from_os_error

Value = TypeVar("Value")

CHUNK = 4 * 1024 * 1024
"""Bytes of a file that are held at a time where it is read in pieces; a longer line is held whole, up to `MOST`."""

Stamp = tuple[int, int, int]
"""Inode, size in bytes and time of change in nanoseconds: the same stamp means the same bytes."""


def stamp_of(found: os.stat_result) -> Stamp:
    """The stamp in what `stat` found."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def is_as(path: Path, stamp: Stamp) -> bool:
    """Whether a file has that stamp now."""
    try:
        return stamp_of(os.lstat(path)) == stamp
    except OSError:
        return False


def read_file(path: Path, most: int = regular.MOST) -> bytes:
    """A file whole, read again while somebody writes it in place. Raises the errors of `from_os_error`, one of them
    for a file of more than `most` bytes."""
    data = b""
    for _ in range(20):
        try:
            with opened(path) as file:
                before = os.fstat(file.fileno())
                data = regular.whole(file, path, most)
                after = os.fstat(file.fileno())
        except OSError as error:
            raise regular.told(error, path) from error
        settled = time.time() - after.st_mtime > 0.2
        if before.st_mtime_ns == after.st_mtime_ns and len(data) == after.st_size and (data or settled):
            break
        time.sleep(0.01)
    return data


def read_log(path: Path) -> bytes:
    """A file that grows by lines, whole: a conversation, the archive. Raises as `read_file`."""
    return read_file(path, regular.MOST_OF_A_LOG)


def read_end(path: Path, start: int, size: int) -> bytes:
    """The lines that begin behind `start` in the first `size` bytes of a file. Raises the errors of `from_os_error`."""
    try:
        with opened(path) as file:
            file.seek(start)
            data = file.read(size - start)
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error
    return data[data.find(b"\n") + 1 :]


def read_piece(path: Path, start: int, size: int) -> bytes:
    """So many bytes of a file from `start` on. Raises the errors of `from_os_error`."""
    try:
        with opened(path) as file:
            file.seek(start)
            return file.read(size)
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error


def chunks(path: Path, start: int = 0) -> Iterator[bytes]:
    """A file from `start` on in pieces of about `CHUNK` bytes that end where a line ends. Raises the errors of
    `from_os_error`."""
    try:
        with opened(path) as file:
            file.seek(start)
            yield from regular.pieces(file, path, CHUNK)
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file for reading. Raises OSError for a link, a pipe, a device or a folder too."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with open(handle, "rb") as file:
        yield file


class Parsed(Generic[Value]):
    """What files mean, parsed once for each stamp; a file that cannot be read is a problem and parses as nothing."""

    def __init__(self, parse: Callable[[bytes, str], Value], most: int = regular.MOST) -> None:
        self._parse = parse
        self._most = most
        self._kept: dict[Path, tuple[Stamp, Value, Problem | None]] = {}

    def get(self, path: Path, where: str) -> tuple[Value, Problem | None]:
        """The value of the file at `path`, called `where` in problems, and why it could not be read (None: it was)."""
        try:
            stamp = stamp_of(os.lstat(path))
        except OSError:
            return self._parse(b"", where), None
        kept = self._kept.get(path)
        if kept is None or kept[0] != stamp:
            kept = (stamp, *self._read(path, where))
            self._kept[path] = kept
        return kept[1], kept[2]

    def keep_only(self, paths: set[Path]) -> None:
        """Forget every file but these."""
        self._kept = {path: kept for path, kept in self._kept.items() if path in paths}

    def _read(self, path: Path, where: str) -> tuple[Value, Problem | None]:
        try:
            return self._parse(read_file(path, self._most), where), None
        except NanomemError as error:
            return self._parse(b"", where), Problem(error.what, where, fix=error.fix)


def no_files(folder: Path, ending: str) -> list[tuple[str, str]]:
    """Name and kind (link, pipe, folder …) of what ends so in a folder and is no file, by name; hidden ones are left
    out."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(ending) and not entry.name.startswith("."):
                mode = entry.stat(follow_symlinks=False).st_mode
                found += [] if stat.S_ISREG(mode) else [(entry.name, regular.kind_of(mode))]
    return sorted(found)


def regular_files(folder: Path, ending: str) -> list[tuple[str, os.stat_result]]:
    """Name and `stat` of the files in a folder that end so, by name; hidden ones and links are left out.

    Raises AccessDenied where the folder may not be read: it is not empty then.
    """
    try:
        entries = list(os.scandir(folder))
    except PermissionError as error:
        raise from_os_error(error, f"listing {folder.name}") from error
    except OSError:
        return []
    found = []
    for entry in entries:
        if entry.name.endswith(ending) and not entry.name.startswith("."):
            with contextlib.suppress(OSError):
                at = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(at.st_mode):
                    found.append((entry.name, at))
    return sorted(found, key=lambda pair: pair[0])
