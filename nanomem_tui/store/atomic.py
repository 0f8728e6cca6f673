"""Reading and writing files so that nothing acknowledged is lost (the promises are in docs/trust.md).

Owns: whole-file replacement, guarded appends, stable reads, quarantine. Must not know what a file means.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from nanomem_tui import clock, regular
from nanomem_tui.errors import Conflict, Refused, from_os_error
from nanomem_tui.store import owners

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
ALTERED = "altered-"
"""What the name of a row in the quarantine begins with that was not what was written."""


def sha256(data: bytes) -> str:
    """The SHA-256 of `data` in hex."""
    import hashlib  # 3 ms, and who only reads compares no contents

    return hashlib.sha256(data).hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a file, which is not held whole. Raises the errors of `regular.opened`."""
    import hashlib

    with regular.opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path, mode: int = PRIVATE_FOLDER) -> None:
    """Create `path` and missing parents for the owner of the folder around them, and make their names durable.

    Raises the errors of `from_os_error`.
    """
    missing = []
    try:
        while not path.exists():
            missing.append(path)
            path = path.parent
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                owners.make_folder(path, mode)
            sync_folder(path.parent)
    except OSError as error:
        raise from_os_error(error, f"making the folder {path.name}") from error


def sync_folder(path: Path) -> None:
    """fsync the folder, so that names made or replaced in it survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """fsync a file that somebody else wrote."""
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomic(
    path: Path,
    data: bytes | Iterable[bytes],
    *,
    expected: str | None = None,
    mode: int | None = None,
    alone: bool = True,
    like: Path | None = None,
) -> None:
    """Replace the file with `data`: temp file in the same folder, fsync, rename, fsync of the folder. Data in pieces is
    not held whole; what taking the next of them raises leaves the old file.

    Keeps owner, group and mode of the file that was there, or is called `like` and is to be replaced later (else the
    owner of the folder, `mode`, else 0600), and writes through a symlink to its target.
    `expected` is the sha256 that the file must have (`""`: it must not exist); raises Conflict otherwise, also when
    somebody writes it in that very moment (`alone`, and all about it: `swap.replace_expected`).
    Raises the errors of `from_os_error`; the old file is untouched then.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
    except RuntimeError as error:  # a link to itself
        raise from_os_error(OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)), "writing") from error
    written = None
    if expected is not None:
        import hashlib

        written = hashlib.sha256()
    temporary = target.with_name(f".{target.name[:50]}.{os.urandom(6).hex()}.nanomem-tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            for piece in (data,) if isinstance(data, bytes) else data:
                write_all(handle, piece)
                if written is not None:
                    written.update(piece)
            old = owners.settle(handle, like or target)
            os.fchmod(handle, old.st_mode & 0o7777 if old is not None else mode or PRIVATE_FILE)
            os.fsync(handle)
        finally:
            os.close(handle)
        if expected is None or written is None:
            os.replace(temporary, target)
            sync_folder(target.parent)
        else:
            from nanomem_tui.store import swap

            swap.replace_expected(temporary, target, written.hexdigest(), expected, alone=alone)
    except OSError as error:
        error.filename = str(path)  # the temporary file beside it means nothing to a reader
        raise from_os_error(error, f"writing {path.name}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def check_unchanged(path: Path, expected: str) -> None:
    """Raise Conflict unless the file's sha256 is `expected` (`""`: the file must be absent)."""
    try:
        found = digest(path)
    except FileNotFoundError:
        found = ""
    if found != expected:
        raise Conflict("the file changed meanwhile", str(path), "look at it again and repeat the change")


def write_all(handle: int, data: bytes) -> None:
    """Write every byte of `data`, however often the kernel takes only a part. Raises OSError when it takes none."""
    view = memoryview(data)
    while view:
        written = os.write(handle, view)
        if not written:
            raise OSError(errno.ENOSPC, "the write took nothing")
        view = view[written:]


@contextlib.contextmanager
def locked(path: Path, *, wait: float = 5.0) -> Iterator[int]:
    """Hold an exclusive flock on `path` (made 0600 when missing); yields its descriptor.

    Raises Refused when another process holds it for longer than `wait` seconds, and the errors of `from_os_error`.
    """
    try:
        handle = owners.opened(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if misplaced(path):
            raise regular.told(error, path) from error
        raise from_os_error(error, f"opening {path.name}") from error
    try:
        wait_for_lock(handle, path, wait)
        with holding(path):
            yield handle
    finally:
        os.close(handle)


def misplaced(path: Path) -> str:
    """What lies in the place of a lock and is no file, in a word; "" where it is one, or nothing is there."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) else regular.kind_of(mode)


def locked_once(path: Path, *, wait: float) -> contextlib.AbstractContextManager[object]:
    """`locked`, unless this thread holds the lock already: it would wait for itself."""
    return contextlib.nullcontext() if holds(path) else locked(path, wait=wait)


_held = threading.local()


@contextlib.contextmanager
def holding(path: Path) -> Iterator[None]:
    """Note that this thread holds the lock of `path`: who asks for it again would wait for itself."""
    paths: list[Path] = _held.__dict__.setdefault("paths", [])
    paths.append(path)
    try:
        yield
    finally:
        paths.remove(path)


def holds(path: Path) -> bool:
    """Whether this thread holds the lock of `path`."""
    return path in _held.__dict__.get("paths", ())


def wait_for_lock(handle: int, path: Path, wait: float) -> None:
    """Take the exclusive flock of `path`, open as `handle`. Raises Refused when that takes more than `wait` seconds."""
    deadline = time.monotonic() + wait
    while not try_lock(handle):
        if time.monotonic() >= deadline:
            raise Refused("another process is busy", str(path), "wait for it to finish and try again")
        time.sleep(0.01)


def try_lock(handle: int) -> bool:
    """Take the exclusive flock if it is free; False when another process has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append `line` (which ends in a newline) in one write under a flock; truncated back on a short write.

    A file that does not end in a newline gets one first, so that a torn tail never swallows the new line.
    With `durable` the bytes are fsynced before this returns. Raises the errors of `from_os_error`.
    """
    try:
        made = not path.exists()
        handle = owners.opened(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            append_to(handle, line)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        if made and durable:
            sync_folder(path.parent)
    except OSError as error:
        raise from_os_error(error, f"appending to {path.name}") from error


def append_to(handle: int, line: bytes, *, size: int | None = None, guarded: bool = False) -> None:
    """Append to an open, locked O_APPEND file: newline guard, one write, truncated back when it came out short.

    `size`: of the file, where it is known; `guarded`: it is known to end in a newline.
    """
    size = os.fstat(handle).st_size if size is None else size
    data = line
    if size and not guarded and os.pread(handle, 1, size - 1) != b"\n":
        data = b"\n" + line
    try:
        written = os.write(handle, data)
        if written < len(data):
            raise OSError(errno.ENOSPC, "the write came out short")
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size)
        raise


def read_stable(path: Path, *, tries: int = 20, pause: float = 0.01) -> bytes:
    """The bytes of a file that another program may be rewriting in place.

    An empty read, or one during which size or time changed, is repeated; an empty file is believed after
    `tries` looks. Raises FileNotFoundError, or the errors of `from_os_error`.
    """
    try:
        for attempt in range(tries):
            before = os.stat(path)
            data = regular.read(path, regular.MOST_OF_A_LOG)
            after = os.stat(path)
            same = (before.st_mtime_ns, before.st_size, before.st_ino) == (
                after.st_mtime_ns,
                after.st_size,
                after.st_ino,
            )
            settled = time.time() - after.st_mtime > pause * tries
            if same and len(data) == after.st_size and (data or settled or attempt == tries - 1):
                return data
            time.sleep(pause)
        return data
    except FileNotFoundError:
        raise
    except OSError as error:
        raise regular.told(error, path) from error


def quarantined(folder: Path) -> list[Path]:
    """What lies in the quarantine, oldest first."""
    try:
        return sorted((path for path in folder.iterdir() if path.is_file()), key=lambda path: path.stat().st_mtime)
    except OSError:
        return []


def original_name(name: str) -> str:
    """What a file in the quarantine was called: without the digest, or the date and time, before it."""
    return re.sub(r"^(?:[0-9]{8}-[0-9]{6}[0-9a-f]{4}|[0-9a-f]{16})-", "", name)


def why_kept(name: str) -> str:
    """Why a file lies in the quarantine, by its name there."""
    original = original_name(name)
    if original.startswith(ALTERED):
        row = original.removeprefix(ALTERED).removesuffix(".json").removesuffix(".sql")
        return f"{row} was not what was written, and was put right"
    if original.endswith(".lock"):
        return f"{original} was held by nobody" if re.match("[0-9a-f]{16}-", name) else f"{original} was no file"
    if original in ("cursor", "dream_cursor", ".cursor", ".dream_cursor"):
        return f"{original} was no place in the archive, and was set right"
    return f"{original} could not be read whole"


def move_aside(folder: Path, path: Path) -> None:
    """Move what is no file, and hinders one, to the quarantine as it is. Raises OSError."""
    make_folder(folder)
    os.rename(path, folder / f"{clock.now():%Y%m%d-%H%M%S}{os.urandom(2).hex()}-{path.name}")
    sync_folder(path.parent)


def quarantine(folder: Path, name: str, data: bytes) -> Path:
    """Keep a copy of `data` that could not be read, named by its content; the same bytes are kept once."""
    make_folder(folder)
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)[-80:]
    path = folder / f"{sha256(data)[:16]}-{safe}"
    if not path.exists():
        write_atomic(path, data)
    return path
