"""HEAD and branches of a git repository: read, and moved by compare-and-swap under git's own lock files.

A lock is held for the time of one comparison and one rename; what is to be written lies ready, fsynced, before. Our
locks carry our mark and a flock, so one that a killed process left is known as stale and taken away by the next.
Must not know objects or files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import regular
from nanomem_tui.errors import Refused
from nanomem_tui.store import atomic
from nanomem_tui.store.git_objects import DamagedGit, Unnamed, is_sha

_MARK = b"nanomem\n"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
_REF = re.compile(r"refs/(?:[^\x00-\x20\x7f~^:?*\[\\/]+/)+[^\x00-\x20\x7f~^:?*\[\\/]+")


class Head(NamedTuple):
    """Where HEAD points: the branch (None when detached) and the commit (None when the branch has none yet)."""

    branch: str | None
    sha: str | None

    @property
    def name(self) -> str:
        """The ref that a commit moves."""
        return self.branch or "HEAD"


def read_head(git_dir: Path) -> Head:
    """HEAD of the repository. Raises DamagedGit."""
    text = _read(git_dir / "HEAD")
    if text is None:
        raise DamagedGit("the git repository has no HEAD", str(git_dir))
    if is_sha(text):
        return Head(None, text)
    ref = text.removeprefix("ref:").strip()
    if not text.startswith("ref:") or not is_safe(ref):
        raise DamagedGit("HEAD of the git repository names nothing we can follow", str(git_dir))
    return Head(ref, read_ref(git_dir, ref))


def is_safe(ref: str) -> bool:
    """Whether `ref` is a branch name that stays below `refs/`."""
    parts = ref.split("/")
    return (
        _REF.fullmatch(ref) is not None
        and not any(part.startswith(".") or part.endswith((".lock", ".")) or ".." in part for part in parts)
        and "@{" not in ref
        and "\ufffd" not in ref  # what stands there is no text
    )


def read_ref(git_dir: Path, ref: str) -> str | None:
    """The commit that `ref` names, from its own file or `packed-refs`; None when it has none. Raises DamagedGit."""
    text = _read(git_dir / ref)
    if text is not None:
        if not is_sha(text):
            raise DamagedGit("a git branch that cannot be read", ref)
        return text
    packed = _read(git_dir / "packed-refs") or ""
    for line in packed.split("\n"):
        sha, _, name = line.partition(" ")
        if name == ref and is_sha(sha):
            return sha
    return None


def branches(git_dir: Path) -> list[str]:
    """The branches that have a commit, as `refs/heads/...`, sorted. Raises DamagedGit."""
    loose = (path.relative_to(git_dir).as_posix() for path in (git_dir / "refs" / "heads").rglob("*") if path.is_file())
    packed = (line.partition(" ")[2] for line in (_read(git_dir / "packed-refs") or "").split("\n"))
    names = {name for name in (*loose, *packed) if name.startswith("refs/heads/") and is_safe(name)}
    return sorted(name for name in names if read_ref(git_dir, name) is not None)


def _read(path: Path) -> str | None:
    try:
        return regular.read(path).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise DamagedGit("a file of the git repository that cannot be read", str(path)) from error


def prepared(git_dir: Path, head: Head, new: str) -> Unnamed:
    """The file that is to make `head` name the commit `new`: to be fsynced, then handed to `swap`. Raises OSError."""
    target = git_dir / head.name
    atomic.make_folder(target.parent, 0o777)
    return Unnamed.write(git_dir / f"nanomem-{os.urandom(6).hex()}.tmp", target, new.encode() + b"\n")


def swap(git_dir: Path, head: Head, ready: Unnamed, mark: Mark, new: str, person: str, reason: str) -> bool:
    """Move what `head` names to the commit `new`, if HEAD is still exactly `head`; False when it moved meanwhile.

    `ready` is the fsynced file that `prepared` made, to be discarded by the caller in any case; `mark` is for the lock.
    `person` (`Name <mail> seconds zone`) and `reason` go into the reflogs that exist. Durable when it returns.
    Raises Refused while another program holds the lock, and OSError.
    """
    with lock(ready.path, mark):
        if read_head(git_dir) != head:
            return False
        os.replace(ready.temporary, ready.path)
    atomic.sync_folder(ready.path.parent)
    line = f"{head.sha or '0' * 40} {new} {person}\t{reason}\n".encode("utf-8", "replace")
    for name in {head.name, "HEAD"}:
        _log(git_dir / "logs" / name, line)
    return True


def _log(path: Path, line: bytes) -> None:
    """Append to a reflog that exists. A reflog is a convenience: the commit stands without it."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


class Mark(NamedTuple):
    """A file that says that a lock is ours, with our flock: linked to the name of a lock, it is that lock."""

    handle: int
    path: Path


@contextlib.contextmanager
def marked(folder: Path) -> Iterator[Mark]:
    """A mark for locks on the file system of `folder`, one after the other: to be fsynced before it gets the name of
    one, as the power may fail. Raises OSError."""
    path = folder / f"nanomem-{os.urandom(6).hex()}.lock"  # git takes no name of that end for a branch
    mark = Mark(_make(path), path)
    try:
        yield mark
    finally:
        os.close(mark.handle)  # no lock has its name any more
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def lock(target: Path, mark: Mark | None = None, *, wait: float = 2.0) -> Iterator[None]:
    """Hold git's lock file for `target`, made of `mark` where there is one already.

    Raises Refused when another program holds it longer than `wait` seconds.
    """
    if mark is None:
        with marked(target.parent) as own:
            os.fsync(own.handle)
            with lock(target, own, wait=wait):
                yield
        return
    path = target.with_name(target.name + ".lock")
    deadline = time.monotonic() + wait
    handle = _take(mark, path)
    while handle is None:
        if time.monotonic() >= deadline:
            raise Refused("another program has locked the git history", str(path), "wait, or remove a stale lock")
        time.sleep(0.005)
        handle = _take(mark, path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        if handle != mark.handle:
            os.close(handle)


def _take(mark: Mark, path: Path) -> int | None:
    """Take the lock and return what holds its flock; None when somebody has it. It gets its name when the mark is in
    it: a process killed meanwhile leaves none that nobody knows."""
    try:
        os.link(mark.path, path)
    except OSError as error:
        if error.errno == errno.EEXIST:
            remove_stale(path)
            return None
        if error.errno not in _NO_LINKS:
            raise
    else:
        return mark.handle
    try:
        return _make(path)
    except FileExistsError:
        remove_stale(path)
        return None


def _make(path: Path) -> int:
    """A new file with our mark and our flock. Raises OSError, FileExistsError among them, and leaves none then."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(handle, _MARK)
    except OSError:
        os.close(handle)
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    return handle


def is_ours(path: Path) -> bool:
    """Whether a lock carries our mark: then the next of us takes it away once no living process holds it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.read(handle, len(_MARK) + 1) == _MARK
    except OSError:
        return False
    finally:
        os.close(handle)


def remove_stale(path: Path, *, named: bool = False) -> None:
    """Take away a lock that carries our mark and that no living process holds; anybody else's stays.

    `named`: only we give such names, and a part of the mark will do.
    """
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            said = os.read(handle, len(_MARK) + 1)
            mine = said == _MARK or (named and said != b"" and _MARK.startswith(said))
            if mine and atomic.try_lock(handle) and os.path.samestat(os.fstat(handle), os.stat(path)):
                path.unlink()
        finally:
            os.close(handle)
