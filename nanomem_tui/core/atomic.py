"""Reading and writing files so that nothing acknowledged is lost (the promises are in docs/trust.md).

Owns: whole-file replacement, guarded appends, stable reads, locks, quarantine, backups by content, and to whom a file
belongs. What takes the place of a file has its owner, group and mode. What is new belongs to the owner of its folder;
only root can give a file away, and what anybody else makes is theirs. Must not know what a file means.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from nanomem_tui.core import clock, files
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, Refused, from_os_error

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
APPEND_SECONDS = 30.0
"""How long to wait for another process that appends to the same file."""


def sha256(data: bytes) -> str:
    """The SHA-256 of `data` in hex."""
    import hashlib  # 3 ms, and who only reads compares no contents

    return hashlib.sha256(data).hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a file, which is not held whole. Raises the errors of `regular.opened`."""
    import hashlib

    with files.opened(path) as file:
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
                make_owned_folder(path, mode)
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
    like: Path | None = None,
) -> None:
    """Replace the file with `data`: temp file in the same folder, fsync, rename, fsync of the folder. Data in pieces is
    not held whole; what taking the next of them raises leaves the old file.

    Keeps owner, group and mode of the file that was there, or is called `like` and is to be replaced later (else the
    owner of the folder, `mode`, else 0600), and writes through a symlink to its target.
    `expected` is the sha256 that the file must have (`""`: it must not exist); raises Conflict otherwise, also when
    somebody who has it open writes into it in that very moment.
    Raises the errors of `from_os_error`; the old file is untouched then.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
    except RuntimeError as error:  # a link to itself
        raise from_os_error(OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)), "writing") from error
    temporary = target.with_name(f".{target.name[:50]}.{os.urandom(6).hex()}.nanomem-tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            for piece in (data,) if isinstance(data, bytes) else data:
                write_all(handle, piece)
            old = give_to_owner(handle, like or target)
            os.fchmod(handle, old.st_mode & 0o7777 if old is not None else mode or PRIVATE_FILE)
            os.fsync(handle)
        finally:
            os.close(handle)
        if expected is None:
            os.replace(temporary, target)
            sync_folder(target.parent)
        else:
            with _as_expected(target, expected):
                (os.replace if expected else _create)(temporary, target)
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
        raise _changed(path)


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
        handle = open_owned(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if kind_in_place_of_lock(path):
            raise files.file_error(error, path) from error
        raise from_os_error(error, f"opening {path.name}") from error
    try:
        wait_for_lock(handle, path, wait)
        yield handle
    finally:
        os.close(handle)


def kind_in_place_of_lock(path: Path) -> str:
    """What lies in the place of a lock and is no file, in a word; "" where it is one, or nothing is there."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) else files.kind_of(mode)


@contextlib.contextmanager
def try_writers_lock(lock: Path, wait: float) -> Iterator[bool]:
    """Whether the lock of those who write was got in time, held until the end; true where there is no such file."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield True
        return
    try:
        deadline = time.monotonic() + wait
        while not (got := try_lock(handle)) and time.monotonic() < deadline:
            time.sleep(0.01)
        yield got
    finally:
        os.close(handle)


def wait_for_lock(handle: int, path: Path, wait: float, *, shared: bool = False) -> None:
    """Take the exclusive flock of `path`, open as `handle`, or the `shared` one. Raises Refused when that takes more
    than `wait` seconds."""
    deadline = time.monotonic() + wait
    while not try_lock(handle, shared=shared):
        if time.monotonic() >= deadline:
            raise Refused("another process is busy", str(path), "wait for it to finish and try again")
        time.sleep(0.01)


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Take the exclusive flock if it is free, or the `shared` one; False when another process has it."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append `line` (which ends in a newline) in one write under a flock; truncated back on a short write.

    A file that does not end in a newline gets one first, so that a torn tail never swallows the new line.
    With `durable` the bytes are fsynced before this returns. Raises the errors of `from_os_error`, and Refused where
    another process keeps the file locked for too long.
    """
    try:
        made = not path.exists()
        handle = open_owned(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            wait_for_lock(handle, path, APPEND_SECONDS)
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


def read_stable(path: Path) -> bytes:
    """The bytes of a file that another program may be rewriting in place. Raises FileNotFoundError, or the errors of
    `from_os_error`."""
    try:
        return files.read_still(path, files.MOST_OF_A_LOG, files.opened)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise files.file_error(error, path) from error


def quarantined(folder: Path) -> list[Path]:
    """What lies in the quarantine, oldest first."""
    try:
        return sorted((path for path in folder.iterdir() if path.is_file()), key=lambda path: path.stat().st_mtime)
    except OSError:
        return []


def original_name(name: str) -> str:
    """What a file in the quarantine was called: without the digest, or the date and time, before it."""
    return re.sub(r"^(?:[0-9]{8}-[0-9]{6}[0-9a-f]{4}|[0-9a-f]{16})-", "", name)


ANOTHERS = "of-another-program"
"""How the name of a database begins that was no memory of ours."""


def why_kept(name: str) -> str:
    """Why a file lies in the quarantine, by its name there."""
    original = original_name(name)
    if original.endswith(".lock"):
        return f"{original} was held by nobody" if re.match("[0-9a-f]{16}-", name) else f"{original} was no file"
    if original.startswith(f"{ANOTHERS}-"):
        return f"{original} is a database of another program, which lay in the place of the memory"
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


# -- whose a file is that we make: of the user whose agent works there, whoever runs us -------------------------------

_NEW = 0o600


def give_to_owner(handle: int, target: Path) -> os.stat_result | None:
    """Give the new file that is open as `handle`, and is to be called `target`, to whom it belongs; what is there now.

    Raises PermissionError when it is to take the place of a file that belongs to another, and may not be theirs. A
    group that gives nobody anything may change.
    """
    try:
        old = os.stat(target)
    except FileNotFoundError:
        give_to_folder_owner(handle, target.parent)
        return None
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(handle, old.st_uid if new.st_uid != old.st_uid else -1, old.st_gid)
        except OSError as error:
            if new.st_uid != old.st_uid or _group_counts(old):
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(target)) from error
    return old


def give_to_folder_owner(made: int | Path, folder: Path) -> None:
    """Give what we made in `folder` to its owner, where we are root, and it is not a folder for everybody's files."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # a file system that knows no owners
            found = os.stat(folder)
            if not found.st_mode & stat.S_ISVTX:
                os.chown(made, found.st_uid, found.st_gid)


def make_owned_folder(path: Path, mode: int = 0o777) -> None:
    """One folder, for the owner of the one around it. Raises OSError, FileExistsError among them."""
    os.mkdir(path, mode)
    give_to_folder_owner(path, path.parent)


def open_owned(path: Path, flags: int) -> int:
    """The file, open; one that is not there is made, 0600, for the owner of its folder. Raises OSError."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):  # made by another process in this moment
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, _NEW)
            give_to_folder_owner(handle, path.parent)
            return handle


def refuse_foreign(path: Path, name: str) -> None:
    """Raise Refused when a file is there that would be taken from its owner or its group; `name` is for people."""
    try:
        found = os.stat(path)
    except OSError:
        return
    us = os.geteuid()
    if us == 0:
        return
    if found.st_uid != us:
        fix = "its owner would be locked out of what is written: run this as that user, or as root"
        raise Refused(f"it belongs to another user (uid {found.st_uid})", name, fix)
    if _group_counts(found) and found.st_gid not in (os.getegid(), *os.getgroups(), _inherited_group(path.parent)):
        fix = "its group would be locked out of what is written: run this as a member of it, or as root"
        raise Refused(f"it belongs to a group that you are not in (gid {found.st_gid})", name, fix)


def _group_counts(found: os.stat_result) -> bool:
    """Whether its group may do with a file what not everybody may."""
    return bool(found.st_mode >> 3 & ~found.st_mode & 0o7)


def _inherited_group(folder: Path) -> int:
    """The group that a folder gives to what is made in it; -1 where it gives none."""
    try:
        found = os.stat(folder)
    except OSError:
        return -1
    always = os.uname().sysname != "Linux"  # as BSD does
    return found.st_gid if always or found.st_mode & stat.S_ISGID else -1


# -- whole files as they were before a change, named by their SHA-256, kept in `backups/` -----------------------------

PIECE = 4 * 1024 * 1024
"""Bytes of a backup that are held at a time where it is read in pieces."""
_NAME = re.compile(r"[0-9a-f]{64}")


def is_blob_name(name: str) -> bool:
    """Whether a text names a backup."""
    return _NAME.fullmatch(name) is not None


def put_blob(folder: Path, data: bytes | Iterable[bytes]) -> str:
    """Keep `data`, whole or in pieces, durably and return its name; the same bytes are kept once. Raises the errors of
    `from_os_error`."""
    import hashlib

    digest = hashlib.sha256()

    def through() -> Iterator[bytes]:
        for piece in (data,) if isinstance(data, bytes) else data:
            digest.update(piece)
            yield piece

    try:
        make_folder(folder)
        coming = folder / f".{os.urandom(6).hex()}.nanomem-tmp"
        try:
            write_atomic(coming, through())
            os.replace(coming, folder / digest.hexdigest())
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(coming)
        sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "keeping a backup") from error
    return digest.hexdigest()


def blob_pieces(folder: Path, name: str) -> Iterator[bytes]:
    """The bytes kept under `name`, a few at a time. Raises as `get_blob`, for damage behind the last of them."""
    import hashlib

    if not is_blob_name(name):
        raise BadInput("not the name of a backup", name)
    path, fix = folder / name, "restore the folder nanomem/backups"
    digest = hashlib.sha256()
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
                yield piece
    except FileNotFoundError:
        raise NotFound("the backup is gone", str(path), fix) from None
    except OSError as error:
        raise from_os_error(error, "reading a backup") from error
    if digest.hexdigest() != name:
        raise BadInput("the backup is damaged", str(path), fix)


def get_blob(folder: Path, name: str) -> bytes:
    """The bytes kept under `name`. Raises NotFound when they are gone, BadInput when they are damaged."""
    return b"".join(blob_pieces(folder, name))


# -- a file replaced or taken away only as what it was expected to be, beside programs that take no lock ---------------

_LOCK_WAIT = 5.0


def remove_expected(target: Path, expected: str) -> None:
    """Take the file away whose sha256 is `expected` (`""`: there is none); durable. Raises Conflict, and OSError."""
    with _as_expected(target, expected):
        if expected:
            os.unlink(target)


@contextlib.contextmanager
def _as_expected(target: Path, expected: str) -> Iterator[None]:
    """Check that the file is what is expected, just before it is replaced or taken away within; durable at the end.

    Other processes of ours are kept out. Who had the old file open and wrote into it meanwhile gets it back. Raises
    Conflict, and Refused where another process is busy in that folder for long.
    """
    with contextlib.ExitStack() as held:
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        held.callback(os.close, folder)
        with contextlib.suppress(OSError):  # a file system that locks no folders
            wait_for_lock(folder, target.parent, _LOCK_WAIT)
        old = held.enter_context(files.opened(target)) if expected and target.is_file() else None
        before = os.fstat(old.fileno()) if old is not None else None
        check_unchanged(target, expected)
        yield
        os.fsync(folder)
        if old is not None and before is not None:
            after = os.fstat(old.fileno())
            if (after.st_mtime_ns, after.st_size) != (before.st_mtime_ns, before.st_size):
                write_atomic(target, read_from(old.fileno()), mode=stat.S_IMODE(before.st_mode))
                raise _changed(target)


def _changed(target: Path) -> Conflict:
    return Conflict("the file changed meanwhile", str(target), "look at it again and repeat the change")


def _create(source: Path, target: Path) -> None:
    """Give a file a name that nobody has. Raises Conflict where somebody has it, and OSError."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise _changed(target) from None
    except OSError:  # a file system without links
        os.rename(source, target)


# A file of ours that several processes append to and that one may replace: opened, locked, and still the right one.

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


@contextlib.contextmanager
def open_locked(path: Path, doing: str) -> Iterator[int]:
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


def append_lines(path: Path, data: bytes, doing: str) -> int:
    """Append whole lines in one write, after a newline where the last line was torn; returns the size after."""
    with open_locked(path, doing) as handle:
        append_to(handle, data)
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
        return open_owned(path, _FLAGS)
    except FileNotFoundError:
        make_folder(path.parent)
        return open_owned(path, _FLAGS)
