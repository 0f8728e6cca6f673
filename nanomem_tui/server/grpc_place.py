"""Where the memory service listens: its socket, and the lock that keeps a second service from it.

Owns what may be replaced there: a socket that a killed service left, and nothing else. Must not know gRPC.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, Refused
from nanomem_tui.core.paths import Paths

NAME, LOCK, TOKEN = "grpc.sock", "grpc.lock", "grpc.token"
LONGEST = 107
"""Bytes of the path of a socket, which the kernel sets."""


def fits(path: Path) -> bool:
    """Whether a socket can have that path."""
    return len(os.fsencode(path)) <= LONGEST


def usual(paths: Paths) -> Path:
    """The socket of a memory: in its folder, or where that path is too long in one of this user for such things."""
    path = paths.data / NAME
    if fits(path):
        return path
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    mark = hashlib.sha256(os.fsencode(paths.data)).hexdigest()[:16]
    return Path(base, f"nanomem-{os.getuid()}", f"{mark}.sock")


def target(path: Path) -> str:
    """The address of a socket as gRPC wants it."""
    return f"unix:{quote(os.fsencode(path))}"


@contextlib.contextmanager
def private() -> Iterator[None]:
    """What is made in it is for its owner alone."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def claimed(paths: Paths, path: Path | None) -> Iterator[None]:
    """Be the only service of this memory, with nothing in the way at `path`, which is gone at the end.

    Raises Refused when another one runs or listens there, BadInput for a path that can be no socket.
    """
    atomic.make_folder(paths.data)
    lock = paths.data / LOCK
    handle = atomic.open_owned(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if not atomic.try_lock(handle):
            said = os.pread(handle, 200, 0).decode("utf-8", "replace").strip()
            raise Refused("a gRPC service of this memory runs already", said or str(lock), "use it, or stop it first")
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}\n".encode(), 0)
        if path is not None:
            _make_room(path, made=path == usual(paths).absolute())
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
            if path is not None:
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
    finally:
        os.close(handle)


def _make_room(path: Path, *, made: bool) -> None:
    """Take away what a killed service left at `path`. Raises BadInput or Refused for anything else that is there, and
    for a folder that is not, unless it is ours to be `made`."""
    if not fits(path):
        what = f"the path of a socket has at most {LONGEST} bytes, this one {len(os.fsencode(path))}"
        raise BadInput(what, str(path), "name a shorter one: --socket PATH")
    folder = path.parent
    if made:
        atomic.make_folder(folder)
    elif not folder.is_dir():
        raise BadInput("there is no such folder for the socket", str(folder), "make it, or name another: --socket PATH")
    shared = folder.lstat()
    theirs = not stat.S_ISDIR(shared.st_mode) or shared.st_uid != os.getuid() or shared.st_mode & 0o077
    if folder.name == f"nanomem-{os.getuid()}" and theirs:
        raise Refused("others may reach that folder", str(folder), "name a socket elsewhere: --socket PATH")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise BadInput("there is a file at the place of the socket", str(path), "name another: --socket PATH")
    if _answers(path):
        raise Refused("somebody listens there already", str(path), "name another: --socket PATH")
    path.unlink()


def _answers(path: Path) -> bool:
    """Whether somebody listens at a socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fsencode(path))
        except OSError as error:
            return error.errno != errno.ECONNREFUSED
    return True
