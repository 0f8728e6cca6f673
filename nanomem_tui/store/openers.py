"""Who has a memory open for long, and who must be alone with it: what is in RAM elsewhere would be written back.

Owns an flock on the folder of all ledgers, or of ids where there are no ledgers (Dreams and swaps of files lock those
where files are), which changes no byte of it: shared by every process that stays (console, servers, engine, schedule),
exclusive for `forget`, `scrub --mask` and a restore in place. Where there is no such folder, or no such lock, nothing
is held and nothing is seen.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from nanomem_tui.errors import Refused
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic
from nanomem_tui.store.ledger import SUFFIX as LEDGER

PROC = Path("/proc")


@contextlib.contextmanager
def staying(paths: Paths) -> Iterator[None]:
    """Have the memory open until the end of the block. Raises Refused while somebody is alone with it."""
    with _held(_folder(paths), fcntl.LOCK_SH) as held:
        if not held:
            what = "a text is being forgotten, or a backup brought back, in this memory"
            raise Refused(what, str(paths.workspace), "try again when it is done")
        yield


@contextlib.contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """Be the only one who has the memory open. Raises Refused, with the name of who else has where it can be told."""
    with _held(_folder(paths), fcntl.LOCK_EX) as held:
        if not held:
            raise Refused(f"{who(paths)} has this memory open", str(paths.workspace),
                          "close it first: it would write back what it knows")  # fmt: skip
        yield


def _folder(paths: Paths) -> Path:
    """The folder that is locked: that of the ledgers; a memory of the second edition has none, and one of ids."""
    return paths.ledger if paths.ledger.is_dir() else paths.own_id.parent


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


def refuse_beside(paths: Paths) -> None:
    """Raise Refused where another process has the memory open: what it knows would be written over the old state."""
    for path in sorted(paths.ledger.rglob(f"*{LEDGER}")) if paths.ledger.is_dir() else ():
        if path.parent.name == "kept":
            continue
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if not atomic.try_lock(handle):
                    what = f"another nanomem has this memory open (process {path.name.split('-')[1]})"
                    raise Refused(what, str(path), "close it first")
            finally:
                os.close(handle)


def who(paths: Paths) -> str:
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
