"""Other processes on the memory of a home: who has it open, who decides, and who writes the agent's files.

Owns the locks that say so, and the id of this copy of a home. Each lock is an flock, which ends with its process: a pid
proves nothing, it is used again, and another machine has others. Must not import SQLAlchemy.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import NanomemError, Refused, from_os_error
from nanomem_tui.core.paths import Paths

if TYPE_CHECKING:
    pass


# -- who has a memory open for long, and who must be alone with it ----------------------------------------------------

PROC = Path("/proc")


@contextlib.contextmanager
def shared_use(paths: Paths) -> Iterator[None]:
    """Have the memory open until the end of the block. Raises Refused while somebody is alone with it."""
    with _held(_folder(paths), fcntl.LOCK_SH) as held:
        if not held:
            what = "a text is being forgotten, or a backup brought back, in this memory"
            raise Refused(what, str(paths.workspace), "try again when it is done")
        yield


@contextlib.contextmanager
def exclusive_use(paths: Paths) -> Iterator[None]:
    """Be the only one who has the memory open. Raises Refused, with the name of who else has where it can be told."""
    with _held(_folder(paths), fcntl.LOCK_EX) as held:
        if not held:
            raise Refused(f"{who_has_it_open(paths)} has this memory open", str(paths.workspace),
                          "close it first: it would write back what it knows")  # fmt: skip
        yield


def _folder(paths: Paths) -> Path:
    """The folder that is locked."""
    return paths.own_id.parent


@contextlib.contextmanager
def _held(folder: Path, how: int) -> Iterator[bool]:
    handle = None
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle is None or _locked(handle, how)
    finally:
        if handle is not None:
            os.close(handle)


def _locked(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks here
        return True
    return True


def who_has_it_open(paths: Paths) -> str:
    """One who has the memory open for long, in words."""
    pid = next(_holders(_folder(paths)), None)
    if pid is None:
        return "another nanomem"
    return f"{_name(pid)} (process {pid})"


def _holders(folder: Path) -> Iterator[int]:
    """The processes that hold a lock of a folder, where the system tells."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = str(os.stat(folder).st_ino)
        for line in (PROC / "locks").read_text().splitlines():
            fields = line.split()  # 1: FLOCK ADVISORY READ 1234 08:01:5678 0 EOF
            if "->" not in fields and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                yield int(fields[4])


def _name(pid: int) -> str:
    """What a process of ours does: `nanomem turn serve`; without more words it is the console."""
    try:
        words = [os.fsdecode(word) for word in (PROC / str(pid) / "cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return "another nanomem"
    at = next((at for at, word in enumerate(words) if os.path.basename(word) in ("nanomem", "nanomem_tui")), None)
    if at is None:
        return "another program"
    options = {place + 1 for place, word in enumerate(words) if word in ("--workspace", "--config")}
    given = [word for place, word in enumerate(words) if place > at and place not in options and word.isalpha()][:2]
    return f"`nanomem {' '.join(given)}`" if given else "the console"


# -- who writes files of others ---------------------------------------------------------------------------------------


class Writers:
    """The lock files of one workspace, in a folder; `name` is that of this process, once it has begun."""

    def __init__(self, folder: Path, shared: Paths | None = None) -> None:
        """`shared`: the paths of this home, where others share the memory."""
        self.name = ""
        self._folder = folder
        self._shared = shared
        self._handle: int | None = None

    @property
    def is_alone(self) -> bool:
        """Whether no other home shares the memory."""
        return self._shared is None

    def begin(self) -> str:
        """Hold this process's lock from now on; return its name. Raises the errors of `from_os_error`."""
        if self._handle is None:
            home = f"{make_home_id(self._shared)}." if self._shared is not None else ""
            self.name = f"{home}{os.getpid()}-{os.urandom(4).hex()}"
            atomic.make_folder(self._folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with contextlib.ExitStack() as opened:
                try:
                    handle = os.open(self._folder / self.name, flags, atomic.PRIVATE_FILE)
                    opened.callback(os.close, handle)
                    fcntl.flock(handle, fcntl.LOCK_EX)
                except OSError as error:
                    raise from_os_error(error, "beginning a change of files") from error
                opened.pop_all()
                self._handle = handle
        return self.name

    def is_of_here(self, name: str) -> bool:
        """Whether a process of that name writes, or wrote, the files of this home."""
        home, dot, _ = name.partition(".")
        return not dot or (self._shared is not None and home == read_home_id(self._shared))

    def is_alive(self, name: str) -> bool:
        """Whether the process of that name, one of here, still runs. Its file is removed when it does not."""
        if name == self.name:
            return self._handle is not None
        if not name or "/" in name:
            return False
        try:
            handle = os.open(self._folder / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()
            return False
        finally:
            os.close(handle)

    def close(self) -> None:
        """Let go of this process's lock."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                (self._folder / self.name).unlink()
            os.close(self._handle)
            self._handle = None


# -- the id of this copy of an agent's home ---------------------------------------------------------------------------

HOME = "here"


def read_home_id(paths: Paths) -> str:
    """The id; empty as long as there is none of this copy."""
    path = paths.own_id.parent / HOME
    try:
        found, inode = files.read(path).decode("ascii").split()
        return found if found.isalnum() and int(inode) == os.lstat(path).st_ino else ""
    except (OSError, UnicodeDecodeError, ValueError, NanomemError):
        return ""


def make_home_id(paths: Paths) -> str:
    """The id, made now where there is none. Raises the errors of `from_os_error`."""
    if found := read_home_id(paths):
        return found
    path = paths.own_id.parent / HOME
    found = os.urandom(8).hex()
    try:
        atomic.make_folder(path.parent)
        temporary = path.with_name(f".{HOME}.{found}.nanomem-tmp")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, atomic.PRIVATE_FILE)
        with open(handle, "wb") as file:
            file.write(f"{found} {os.fstat(handle).st_ino}\n".encode())
            file.flush()
            os.fsync(handle)
        os.replace(temporary, path)
        atomic.sync_folder(path.parent)
    except OSError as error:
        raise from_os_error(error, "making nanomem's folder") from error
    return found


# -- changes that rest on what stands now -----------------------------------------------------------------------------

WAIT = 5.0
"""Seconds to wait for another process that decides."""


class Deciding:
    """Who decides in one workspace. `look`: sees what other processes did."""

    def __init__(self, folder: Path, look: Callable[[], object]) -> None:
        self._folder = folder
        self._look = look
        self._threads = threading.RLock()
        self._depth = 0

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from deciding meanwhile; entered before the lock of the rows, and within itself. Raises
        Refused when another decides for longer than some seconds."""
        with contextlib.ExitStack() as held, self._threads:
            if not self._depth:
                with contextlib.suppress(FileNotFoundError):  # nothing was ever written here
                    handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
                    held.callback(os.close, handle)
                    atomic.wait_for_lock(handle, self._folder, WAIT)
                self._look()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1


# Who shares a memory: leases say who does a piece of work, such as a Dream, for all; members see it on a server.
