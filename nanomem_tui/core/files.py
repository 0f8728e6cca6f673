"""Files read only where they are files, and no larger than such a file can be: a FIFO, a socket or a device in the
place of one blocks nobody, and gigabytes fill no memory.

Owns how a file that somebody else may have put there is opened (docs/decisions, 0073).
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from nanomem_tui.core.errors import NanomemError, Problem, from_os_error

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
        return read_all(file, path, most)


def read_all(file: BinaryIO, path: Path | str, most: int) -> bytes:
    """All bytes of a file that is open. Raises OSError of EFBIG beyond `most` of them, however long it says it is."""
    size = os.fstat(file.fileno()).st_size
    data = file.read(size + 1) if size <= most else b""
    while size <= most and (more := file.read(1 << 16)):  # it grows, or does not say its size
        data += more
        size = len(data)
    if max(size, len(data)) > most:
        raise too_large(path, most)
    return data


def read_pieces(file: BinaryIO, path: Path | str, size: int, left: int | None = None) -> Iterator[bytes]:
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


def file_error(error: OSError, path: Path) -> NanomemError:
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


# JSON that others may have written: what is nested too deep to be read is no JSON, as anything else that is none.


def loads(data: str | bytes) -> Any:
    """The value of a text. Raises ValueError, also for a million brackets, at which `json.loads` raises RecursionError:
    a trap that callers forget."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


# The encoding of a text file, as its byte order mark says: UTF-8 with or without one, UTF-16, UTF-32. Opens no file.

UTF8 = "utf-8"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_OF = {name: mark for mark, name in _MARKS}
MARK = "\ufeff"


def encoding_of(data: bytes | None) -> str:
    """The name of the encoding of a file that begins so; UTF-8 without a mark for what has none, and for no file."""
    return next((name for mark, name in _MARKS if data is not None and data.startswith(mark)), UTF8)


def is_wide(data: bytes) -> bool:
    """Whether a file is in UTF-16 or UTF-32."""
    return encoding_of(data) not in (UTF8, "utf-8-sig")


def decode(data: bytes, errors: str = "strict") -> str:
    """The text of a file without its mark. Raises UnicodeDecodeError, unless `errors` says otherwise."""
    name = encoding_of(data)
    mark = _MARK_OF.get(name, b"")
    return data[len(mark) :].decode(UTF8 if mark == codecs.BOM_UTF8 else name, errors)


def encode(text: str, name: str) -> bytes:
    """A text as the bytes of a file of that encoding, with its mark. Raises UnicodeEncodeError for a lone surrogate."""
    mark = _MARK_OF.get(name, b"")
    body = text.removeprefix(MARK) if mark else text
    return mark + body.encode(UTF8 if mark == codecs.BOM_UTF8 else name)


def as_utf8(data: bytes) -> bytes:
    """A file in UTF-16 or UTF-32 as UTF-8 without a mark; any other as it is."""
    return decode(data, "replace").encode() if is_wide(data) else data


# Reading files that an agent owns: no link is followed, nothing but a regular file is opened, nothing waits.

Value = TypeVar("Value")

CHUNK = 4 * 1024 * 1024
"""Bytes of a file that are held at a time where it is read in pieces; a longer line is held whole, up to `MOST`."""

Stamp = tuple[int, int, int]
"""Inode, size in bytes and time of change in nanoseconds: the same stamp means the same bytes."""


def stamp_of(found: os.stat_result) -> Stamp:
    """The stamp in what `stat` found."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def has_stamp(path: Path, stamp: Stamp) -> bool:
    """Whether a file has that stamp now."""
    try:
        return stamp_of(os.lstat(path)) == stamp
    except OSError:
        return False


def read_file(path: Path, most: int = MOST) -> bytes:
    """A file whole, read again while somebody writes it in place. Raises the errors of `from_os_error`, one of them
    for a file of more than `most` bytes."""
    try:
        return read_still(path, most, open_plainly)
    except OSError as error:
        raise file_error(error, path) from error


def read_still(path: Path, most: int, opening: Callable[[Path], AbstractContextManager[BinaryIO]]) -> bytes:
    """A file whole, read again as long as its size or time changes meanwhile; an empty one is believed after a moment.
    Raises OSError, also for one of more than `most` bytes."""
    data = b""
    for _ in range(20):
        with opening(path) as file:
            before = os.fstat(file.fileno())
            data = read_all(file, path, most)
            after = os.fstat(file.fileno())
        settled = time.time() - after.st_mtime > 0.2
        if before.st_mtime_ns == after.st_mtime_ns and len(data) == after.st_size and (data or settled):
            break
        time.sleep(0.01)
    return data


def read_log(path: Path) -> bytes:
    """A file that grows by lines, whole: a conversation, the archive. Raises as `read_file`."""
    return read_file(path, MOST_OF_A_LOG)


def read_end(path: Path, start: int, size: int) -> bytes:
    """The lines that begin behind `start` in the first `size` bytes of a file. Raises the errors of `from_os_error`."""
    try:
        with open_plainly(path) as file:
            file.seek(start)
            data = file.read(size - start)
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error
    return data[data.find(b"\n") + 1 :]


def read_piece(path: Path, start: int, size: int) -> bytes:
    """So many bytes of a file from `start` on. Raises the errors of `from_os_error`."""
    try:
        with open_plainly(path) as file:
            file.seek(start)
            return file.read(size)
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error


def chunks(path: Path, start: int = 0) -> Iterator[bytes]:
    """A file from `start` on in pieces of about `CHUNK` bytes that end where a line ends. Raises the errors of
    `from_os_error`."""
    try:
        with open_plainly(path) as file:
            file.seek(start)
            yield from read_pieces(file, path, CHUNK)
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error


@contextlib.contextmanager
def open_plainly(path: Path) -> Iterator[BinaryIO]:
    """The file for reading. Raises OSError for a link, a pipe, a device or a folder too."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with open(handle, "rb") as file:
        yield file


class Parsed(Generic[Value]):
    """What files mean, parsed once for each stamp; a file that cannot be read is a problem and parses as nothing."""

    def __init__(self, parse: Callable[[bytes, str], Value], most: int = MOST) -> None:
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


def non_files(folder: Path, ending: str) -> list[tuple[str, str]]:
    """Name and kind (link, pipe, folder …) of what ends so in a folder and is no file, by name; hidden ones are left
    out."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(ending) and not entry.name.startswith("."):
                mode = entry.stat(follow_symlinks=False).st_mode
                found += [] if stat.S_ISREG(mode) else [(entry.name, kind_of(mode))]
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
