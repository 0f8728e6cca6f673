"""The id of this copy of an agent's home, for a store that homes on several machines share: what was last seen of the
agent's files is remembered for each of them.

Owns one file beside our ids. It holds its own inode: a home that was copied elsewhere is told by that, and gets an id
of its own; one that was moved keeps it.
"""

from __future__ import annotations

import os

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError, from_os_error
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic

NAME = "here"


def known(paths: Paths) -> str:
    """The id; empty as long as there is none of this copy."""
    path = paths.own_id.parent / NAME
    try:
        found, inode = regular.read(path).decode("ascii").split()
        return found if found.isalnum() and int(inode) == os.lstat(path).st_ino else ""
    except (OSError, UnicodeDecodeError, ValueError, NanomemError):
        return ""


def made(paths: Paths) -> str:
    """The id, made now where there is none. Raises the errors of `from_os_error`."""
    if found := known(paths):
        return found
    path = paths.own_id.parent / NAME
    found = os.urandom(8).hex()
    try:
        atomic.make_folder(path.parent)
        temporary = path.with_name(f".{NAME}.{found}.nanomem-tmp")
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
