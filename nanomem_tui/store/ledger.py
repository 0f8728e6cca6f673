"""The ledger files: one per process, one line per operation, each with a checksum (DESIGN: one ledger).

An operation is acknowledged once its line is written; `durable` lines are fsynced. A checkpoint moves the operations
into the database and empties the file. Must not know rows or a database.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import clock, json_text, regular
from nanomem_tui.errors import NanomemError, Problem, from_os_error
from nanomem_tui.operations import Operation
from nanomem_tui.store import atomic, owners
from nanomem_tui.store.ledger_order import in_order

SUFFIX = ".ledger"
_AT_ONCE = 500
"""Changes that are written as JSON at once."""
_BEGIN = b'{"c":"'
_ID = re.compile(rb'\{"c":"[0-9a-f]{8}","r":\{"id":"([!#-\[\]-~]+)"')


def json_writer(*, finite: bool = False) -> Callable[[object], str]:
    """`encode` of a JSON encoder, without making that of C anew for every value. `finite`: ValueError for infinity."""
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=not finite)
    encoders: Any = json.encoder
    make, quote = getattr(encoders, "c_make_encoder", None), getattr(encoders, "c_encode_basestring", None)
    if make is None or quote is None:
        return encoder.encode
    chunks = make(None, encoder.default, quote, None, ":", ",", False, False, not finite)
    return lambda value: "".join(chunks(value, 0))


_as_json = json_writer()


def encode(operation: Operation) -> bytes:
    """One line: `{"c":"<crc32 of the body>","r":<body>}` and a newline."""
    text = _text(operation)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = text.encode("utf-8", "surrogatepass")
    return b'{"c":"%08x","r":%b}\n' % (zlib.crc32(body), body)


def _text(operation: Operation) -> str:
    """The JSON of an operation; many changes are written by parts, so that no thread waits for all of them."""
    told = operation.to_json()
    changes = told["changes"]
    if len(changes) <= _AT_ONCE:
        return _as_json(told)
    head, mark, tail = _as_json({**told, "changes": []}).partition('"changes":[')
    parts = (changes[start : start + _AT_ONCE] for start in range(0, len(changes), _AT_ONCE))
    return f"{head}{mark}{','.join(_as_json(part)[1:-1] for part in parts)}{tail}"


def body_of(line: bytes) -> bytes:
    """The JSON of the operation in a line that `encode` made."""
    return line[20:-2]


def decode(line: bytes) -> Operation | None:
    """The operation of one line, None when the line is torn or its checksum is wrong."""
    if not line.startswith(b'{"c":"') or not line.endswith(b"}") or line[14:20] != b'","r":':
        return None
    body = line[20:-1]
    if line[6:14] != b"%08x" % zlib.crc32(body):
        return None
    try:
        return Operation.from_json(json_text.loads(body.decode("utf-8", "surrogatepass")))
    except (ValueError, KeyError, TypeError):
        return None


def id_of(line: bytes) -> str | None:
    """The id of the operation in a whole line that `encode` made, without reading what it touched."""
    found = _ID.match(line)
    whole = found is not None and line.endswith(b"}") and line[6:14] == b"%08x" % zlib.crc32(memoryview(line)[20:-1])
    return found[1].decode() if found is not None and whole else None


class LedgerFile(NamedTuple):
    """What one ledger file holds: its operations in order, and the lines that could not be read.

    `damaged`: it holds bytes that are no operation, a torn tail (which is no problem: it was never acknowledged) too.
    """

    path: Path
    operations: tuple[Operation, ...]
    problems: tuple[Problem, ...]
    damaged: bool = False


def read_file(path: Path) -> LedgerFile:
    """Read one ledger file without changing it; what cannot be read costs the lines it sits in and nothing else."""
    try:
        data = regular.read(path, regular.MOST_OF_A_LOG)
    except FileNotFoundError:
        return LedgerFile(path, (), ())
    operations: list[Operation] = []
    problems: list[Problem] = []
    damaged = False
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip(b"\0\r "):
            continue
        operation = decode(line)
        found = [operation] if operation is not None else among_junk(line)
        operations += found
        damaged = damaged or operation is None
        if not found and number < len(lines):
            problems.append(Problem("an operation that cannot be read", f"ledger/{path.name}", number, "it was kept"))
    return LedgerFile(path, tuple(operations), tuple(problems), damaged)


def among_junk(line: bytes) -> list[Operation]:
    """The whole operations in a line that something was put into, or whose newline was lost."""
    found: list[Operation] = []
    start = line.find(_BEGIN)
    while start >= 0:
        following = line.find(_BEGIN, start + 1)
        part = line[start:following] if following >= 0 else line[start:]
        operation = decode(part[: part.rfind(b"}") + 1])
        found += [operation] if operation is not None else []
        start = following
    return found


Stamps = tuple[tuple[str, int, int], ...]
"""What tells that ledger files were written: the name, time and size of each."""


def read_all(folder: Path) -> list[LedgerFile]:
    """Every ledger file in the folder, oldest first."""
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
    except OSError:
        return []
    return [read_file(path) for path in paths]


class _Adopted(NamedTuple):
    path: Path
    handle: int
    ids: frozenset[str]


class Ledger:
    """This process's own ledger file, made at the first record and locked as long as the process lives.

    `pending` are the operations that no checkpoint has moved yet, own ones and adopted ones, in order.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._handle: int | None = None
        self._path: Path | None = None
        self._end = 0
        self._adopted: list[_Adopted] = []
        self.pending: list[Operation] = []
        self._lines: dict[str, bytes] = {}

    def record(self, operation: Operation, *, durable: bool) -> None:
        """Append one operation; with `durable` it survives a power cut. Raises the errors of `from_os_error`."""
        with self._lock:
            try:
                handle = self._open()
                found = os.fstat(handle)
                if found.st_nlink == 0:
                    handle, found = self._anew()
                size = found.st_size
                line = encode(operation)
                # What we wrote last ends in a newline; anything else may not.
                atomic.append_to(handle, line, size=size, guarded=size == self._end)
                self._end = size + len(line)
                if durable:
                    _sync_or_take_back(handle, size)
            except OSError as error:
                raise from_os_error(error, "recording the change in the ledger") from error
            self.pending.append(operation)
            self._lines[operation.id] = line

    def reword(self, reworded: Callable[[Operation], Operation]) -> None:
        """Say otherwise what waits, in the file too: a new one is written whole before the old one goes. Raises the
        errors of `from_os_error`."""
        with self._lock:
            told = [reworded(operation) for operation in self.pending]
            if all(new is old for new, old in zip(told, self.pending, strict=True)):
                return
            self.pending = told
            self._lines = {operation.id: encode(operation) for operation in told}
            old, path = self._handle, self._path
            if old is None or path is None:
                return
            adopted = frozenset().union(*(file.ids for file in self._adopted))
            lines = b"".join(line for key, line in self._lines.items() if key not in adopted)
            try:
                self._handle = None
                handle = self._open()
                atomic.write_all(handle, lines)
                os.fsync(handle)
                self._end = len(lines)
                os.unlink(path)
                os.close(old)
                atomic.sync_folder(self.folder)
            except OSError as error:
                raise from_os_error(error, "writing the ledger anew") from error

    def line_of(self, operation: Operation) -> bytes:
        """The line of an operation: the one that was written, where it is this process's own and still pending."""
        line = self._lines.get(operation.id)
        return encode(operation) if line is None else line

    def files(self) -> list[LedgerFile]:
        """Every ledger file in the folder, oldest first. Of this process's own what no checkpoint has moved yet, as it
        is known in RAM: an import in it would take a second to read each time."""
        with self._lock:
            path, own = self._path, self._own()
        if path is None or own is None:
            return read_all(self.folder)
        others = [file for file in sorted(self.folder.glob(f"*{SUFFIX}")) if file != path]
        found = [*map(read_file, others), LedgerFile(path, own, ())]
        return sorted(found, key=lambda file: file.path)

    def stamps(self) -> Stamps:
        """What changes when another process records something, or ends. Reads no file."""
        found: list[tuple[str, int, int]] = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and (self._path is None or entry.name != self._path.name):
                    with contextlib.suppress(OSError):
                        stat = entry.stat()
                        found.append((entry.name, stat.st_mtime_ns, stat.st_size))
        return tuple(sorted(found))

    def _own(self) -> tuple[Operation, ...] | None:
        """What waits in the own file; None where somebody else wrote into it, or it is gone."""
        if self._handle is None:
            return None
        found = os.fstat(self._handle)
        if found.st_nlink == 0 or found.st_size != self._end:
            return None
        adopted = frozenset().union(*(file.ids for file in self._adopted))
        return tuple(operation for operation in self.pending if operation.id not in adopted)

    def sync(self) -> None:
        """Make every line written so far survive a power cut."""
        with self._lock:
            if self._handle is not None:
                try:
                    os.fsync(self._handle)
                except OSError as error:
                    raise from_os_error(error, "syncing the ledger") from error

    def abandoned(self) -> bool:
        """Whether a process that ended left something that nobody has taken over."""
        return any(True for _ in self.left())

    def left(self) -> Iterator[Path]:
        """The files that `adopt` would take over, but for empty ones. Changes nothing."""
        with self._lock:
            known = {self._path, *(file.path for file in self._adopted)}
            for path in sorted(self.folder.glob(f"*{SUFFIX}")) if self.folder.is_dir() else ():
                if path not in known and _is_left(path):
                    yield path

    def adopt(self) -> list[LedgerFile]:
        """Take over the files of processes that ended without a checkpoint; their operations become pending.

        A file is taken only when its owner's flock is free, so never from a process that lives.
        """
        taken: list[LedgerFile] = []
        with self._lock:
            for path in sorted(self.folder.glob(f"*{SUFFIX}")) if self.folder.is_dir() else ():
                if path == self._path or any(path == other.path for other in self._adopted):
                    continue
                content = self._take_over(path)
                taken += [content] if content is not None else []
            if taken:
                self.pending = in_order([*(content.operations for content in taken), self.pending])
        return taken

    def _take_over(self, path: Path) -> LedgerFile | None:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            if atomic.try_lock(handle) and path.exists():
                content = read_file(path)
                self._adopted.append(_Adopted(path, handle, frozenset(o.id for o in content.operations)))
                return content
        except OSError:
            pass
        os.close(handle)
        return None

    def moved(self, operations: Sequence[Operation], quarantine: Path) -> None:
        """After a checkpoint committed `operations`: forget them and empty the files that held them.

        An adopted file with bytes that could not be read is copied to `quarantine` first.
        """
        done = {operation.id for operation in operations}
        with self._lock:
            self.pending = [operation for operation in self.pending if operation.id not in done]
            for key in done:
                self._lines.pop(key, None)
            if not self.pending and self._handle is not None:
                with contextlib.suppress(OSError):  # the database has them: what stays behind is known and skipped
                    os.ftruncate(self._handle, 0)
                    os.fsync(self._handle)
            waiting = {operation.id for operation in self.pending}
            for file in [file for file in self._adopted if not file.ids & waiting]:
                with contextlib.suppress(OSError, NanomemError):  # tried again after the next checkpoint
                    if read_file(file.path).damaged:
                        atomic.quarantine(quarantine, file.path.name, regular.read(file.path, regular.MOST_OF_A_LOG))
                    os.unlink(file.path)
                    os.close(file.handle)
                    self._adopted.remove(file)

    def close(self) -> None:
        """Give the file up; it is removed when nothing in it waits for a checkpoint."""
        with self._lock:
            if self._handle is not None and self._path is not None:
                if not self.pending:
                    with contextlib.suppress(OSError):
                        os.unlink(self._path)
                os.close(self._handle)
            for file in self._adopted:
                os.close(file.handle)
            self._handle, self._path, self._adopted = None, None, []

    @property
    def path(self) -> Path | None:
        """This process's file, once it exists."""
        return self._path

    def _anew(self) -> tuple[int, os.stat_result]:
        """A new file in place of one that somebody removed, with all that waits in it."""
        assert self._handle is not None
        os.close(self._handle)
        self._handle = None
        handle = self._open()
        atomic.write_all(handle, b"".join(map(self.line_of, self.pending)))
        return handle, os.fstat(handle)

    def _open(self) -> int:
        if self._handle is not None:
            return self._handle
        atomic.make_folder(self.folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            path = self.folder / f"{clock.now_ms()}-{os.getpid()}-{os.urandom(3).hex()}{SUFFIX}"
            handle = os.open(path, flags, atomic.PRIVATE_FILE)
            owners.inherit(handle, self.folder)
            if atomic.try_lock(handle) and path.exists():
                break
            os.close(handle)  # another process adopted the file before we had locked it
        atomic.sync_folder(self.folder)
        self._handle, self._path = handle, path
        return handle


def _is_left(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return os.fstat(handle).st_size > 0 and atomic.try_lock(handle)
    except OSError:
        return False
    finally:
        os.close(handle)


def _sync_or_take_back(handle: int, size: int) -> None:
    try:
        os.fsync(handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size)
        raise
