"""Whose a file is that we make: of the user whose agent works there, whoever runs us.

What takes the place of a file has its owner, group and mode. What is new belongs to the owner of its folder; only root
can give a file away, and what anybody else makes is theirs. Must not know what a file holds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from nanomem_tui.errors import Refused

_NEW = 0o600


def settle(handle: int, target: Path) -> os.stat_result | None:
    """Give the new file that is open as `handle`, and is to be called `target`, to whom it belongs; what is there now.

    Raises PermissionError when it is to take the place of a file that belongs to another, and may not be theirs. A
    group that gives nobody anything may change.
    """
    try:
        old = os.stat(target)
    except FileNotFoundError:
        inherit(handle, target.parent)
        return None
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(handle, old.st_uid if new.st_uid != old.st_uid else -1, old.st_gid)
        except OSError as error:
            if new.st_uid != old.st_uid or _group_counts(old):
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(target)) from error
    return old


def inherit(made: int | Path, folder: Path) -> None:
    """Give what we made in `folder` to its owner, where we are root, and it is not a folder for everybody's files."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # a file system that knows no owners
            found = os.stat(folder)
            if not found.st_mode & stat.S_ISVTX:
                os.chown(made, found.st_uid, found.st_gid)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """One folder, for the owner of the one around it. Raises OSError, FileExistsError among them."""
    os.mkdir(path, mode)
    inherit(path, path.parent)


def opened(path: Path, flags: int) -> int:
    """The file, open; one that is not there is made, 0600, for the owner of its folder. Raises OSError."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):  # made by another process in this moment
            handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, _NEW)
            inherit(handle, path.parent)
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
    if _group_counts(found) and found.st_gid not in (os.getegid(), *os.getgroups(), _given(path.parent)):
        fix = "its group would be locked out of what is written: run this as a member of it, or as root"
        raise Refused(f"it belongs to a group that you are not in (gid {found.st_gid})", name, fix)


def _group_counts(found: os.stat_result) -> bool:
    """Whether its group may do with a file what not everybody may."""
    return bool(found.st_mode >> 3 & ~found.st_mode & 0o7)


def _given(folder: Path) -> int:
    """The group that a folder gives to what is made in it; -1 where it gives none."""
    try:
        found = os.stat(folder)
    except OSError:
        return -1
    always = os.uname().sysname != "Linux"  # as BSD does
    return found.st_gid if always or found.st_mode & stat.S_ISGID else -1
