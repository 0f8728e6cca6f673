"""A file replaced or taken away only as what it was expected to be, beside programs that take no lock.

The new file and the old change places in one step (`renameat2`), and what came out is looked at: had somebody written
since our last look, the two change places again and nothing of either is lost. Where the system or the file system
knows no exchange, a rename right behind the look is what remains; docs/decisions/0026 says which orders stay open.

Owns what lies beside a file for that moment, and what a killed process left there. Must not know what a file means.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from nanomem_tui.errors import Conflict, Refused
from nanomem_tui.store import atomic
from nanomem_tui.store.atomic import sha256, try_lock

SWAPPED = ".nanomem-swap"
KEPT = ".nanomem-kept"
"""The end of the name of what was set aside when three programs wrote one file in the same moment."""
_NOWHERE = -100  # AT_FDCWD: paths as they are
_NO_REPLACE, _EXCHANGE = 1, 2
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)
_LOCK_WAIT = 5.0
_AGAIN = "look at it again and repeat the change"


def replace_expected(temporary: Path, target: Path, ours: str, expected: str) -> None:
    """Put the durable file `temporary` in the place of `target`, whose sha256 must be `expected` (`""`: no file).

    `ours` is the sha256 of the new file. Durable when it returns. Raises Conflict, and OSError; `target` is then what
    it was, or what somebody else made of it.
    """
    with _folder(target.parent) as folder:
        _settle(target)
        atomic.check_unchanged(target, expected)
        if not expected:
            _make(temporary, target)
            os.fsync(folder)
            return
        aside = _beside(target, ours, expected)
        os.rename(temporary, aside)
        if not _swapped(aside, target):
            os.fsync(folder)
            return
        try:
            _verify(aside, target, expected, folder)
        except BaseException:
            _put_back(aside, target, ours)
            raise
        with contextlib.suppress(OSError):
            aside.unlink()


def remove_expected(target: Path, expected: str) -> None:
    """Take the file away whose sha256 is `expected`; durable. Raises Conflict, and OSError, as `replace_expected`."""
    with _folder(target.parent) as folder:
        _settle(target)
        atomic.check_unchanged(target, expected)
        if not expected:
            return
        aside = _beside(target, "", expected)
        try:
            os.rename(target, aside)
        except FileNotFoundError:
            _changed(target)
        try:
            _verify(aside, target, expected, folder)
        except BaseException:
            _bring_back(aside, target)
            raise
        with contextlib.suppress(OSError):
            aside.unlink()


def settle(target: Path) -> None:
    """Finish what a process that was killed in the middle of an exchange left beside `target`.

    What is ours or was expected goes; what somebody else wrote gets its name back, or, when that has been written anew,
    stays beside it under a name of its own. Raises Refused, and OSError.
    """
    if _left(target):
        with _folder(target.parent):
            _settle(target)


def exchange(one: Path, other: Path) -> bool:
    """Let two files change places in one step; False where the system cannot. Raises OSError."""
    return _rename(one, other, _EXCHANGE)


# -- one exchange -----------------------------------------------------------------------------------------------------


def _make(temporary: Path, target: Path) -> None:
    try:
        _create(temporary, target)
    except FileExistsError:
        _changed(target)


def _swapped(aside: Path, target: Path) -> bool:
    """Exchange them; False where the system cannot, and ours was renamed over the old file instead.

    What is ours goes when neither can be done. Raises Conflict when the target has gone.
    """
    try:
        if exchange(aside, target):
            return True
        os.replace(aside, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink()
        if isinstance(error, FileNotFoundError):
            _changed(target)
        raise
    return False


def _verify(aside: Path, target: Path, expected: str, folder: int) -> None:
    """Make the new names durable if what came out is what was expected, then and still after: who had the file open may
    have written it meanwhile. Raises Conflict."""
    if not _untouched(aside, expected):
        _changed(target)
    os.fsync(folder)
    if not _untouched(aside, expected):
        _changed(target)


def _untouched(path: Path, expected: str) -> bool:
    """Whether a file, and no link to one, holds what has this digest (or its beginning)."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return bool(expected) and hashlib.file_digest(file, "sha256").hexdigest().startswith(expected)
    except OSError:
        return False  # gone, or no file any more


def _put_back(aside: Path, target: Path, ours: str) -> None:
    """Give the file that came out its name again; what we had put there goes, unless somebody wrote that too."""
    try:
        exchange(aside, target)
    except FileNotFoundError:
        _bring_back(aside, target)  # somebody took the file away meanwhile
        return
    _drop(aside, target, ours)


def _bring_back(aside: Path, target: Path) -> None:
    """Give a file its name again; under another when somebody has made a new one."""
    try:
        _create(aside, target)
    except FileExistsError:
        _keep(aside, target)


def _drop(aside: Path, target: Path, ours: str) -> None:
    if _untouched(aside, ours):
        aside.unlink()
    else:
        _keep(aside, target)


def _keep(aside: Path, target: Path) -> None:
    os.rename(aside, target.with_name(f"{target.name[:60]}.{os.urandom(4).hex()}{KEPT}"))


def _changed(target: Path) -> NoReturn:
    raise Conflict("the file changed meanwhile", str(target), _AGAIN)


# -- what a killed process left ---------------------------------------------------------------------------------------


def _beside(target: Path, ours: str, expected: str) -> Path:
    """A name that says what may lie under it, for whoever finds it."""
    return target.with_name(f"{_begin(target)}{ours[:16]}-{expected[:16]}.{os.urandom(6).hex()}{SWAPPED}")


def _begin(target: Path) -> str:
    name = target.name if len(os.fsencode(target.name)) <= 100 else sha256(os.fsencode(target.name))[:32]
    return f".{name}."


def _left(target: Path) -> list[Path]:
    begin = _begin(target)
    try:
        names = os.listdir(target.parent)
    except OSError:
        return []
    return [target.with_name(name) for name in names if name.endswith(SWAPPED) and name.startswith(begin)]


def _settle(target: Path) -> None:
    for aside in _left(target):
        ours, _, expected = aside.name.removeprefix(_begin(target)).partition(".")[0].partition("-")
        if _untouched(aside, ours) or _untouched(aside, expected):
            aside.unlink()
        elif _untouched(target, ours):
            exchange(aside, target)
            _drop(aside, target, ours)
        elif not os.path.lexists(target):
            _bring_back(aside, target)
        else:
            _keep(aside, target)


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    """The folder, open, and locked against other processes of ours. Raises Refused when one holds it for long."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(handle, path)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT
    with contextlib.suppress(OSError):  # a file system that locks no folders exchanges no files either
        while not try_lock(handle):
            if time.monotonic() >= deadline:
                raise Refused("another process is busy", str(path), "wait for it to finish and try again")
            time.sleep(0.002)


# -- renaming with flags ----------------------------------------------------------------------------------------------


def _create(source: Path, target: Path) -> None:
    """Rename to a name that nobody has. Raises FileExistsError, and OSError."""
    if _rename(source, target, _NO_REPLACE):
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        os.rename(source, target)
    else:
        os.unlink(source)


def _rename(source: Path, target: Path, flags: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    if call(_NOWHERE, os.fsencode(source), _NOWHERE, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))


@lru_cache(1)
def _renameat2() -> Any:
    """The function of the C library, None where there is none."""
    try:
        import ctypes  # 3 ms, for who writes a file that somebody else writes too

        found = ctypes.CDLL(None, use_errno=True).renameat2
        found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        found.restype = ctypes.c_int
    except (ImportError, AttributeError, OSError):
        return None
    return found
