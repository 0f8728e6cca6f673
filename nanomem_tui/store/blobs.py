"""Content-addressed backups: whole files as they were before a change, named by their SHA-256, kept in `backups/`.

Must not know what a file means, nor which operation needs it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from nanomem_tui.errors import BadInput, NotFound, from_os_error
from nanomem_tui.store.atomic import make_folder, sha256, sync_folder, write_atomic

_NAME = re.compile(r"[0-9a-f]{64}")


def put(folder: Path, data: bytes) -> str:
    """Keep `data` durably and return its name; the same bytes are kept once. Raises the errors of `from_os_error`."""
    name = sha256(data)
    path = folder / name
    try:
        make_folder(folder)
        if not path.exists() or path.stat().st_size != len(data):
            write_atomic(path, data)
        else:
            sync_folder(folder)
    except OSError as error:
        raise from_os_error(error, "keeping a backup") from error
    return name


def get(folder: Path, name: str) -> bytes:
    """The bytes kept under `name`. Raises NotFound when they are gone, BadInput when they are damaged."""
    if not _NAME.fullmatch(name):
        raise BadInput("not the name of a backup", name)
    path = folder / name
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise NotFound("the backup is gone", str(path), "restore the folder nanomem/backups") from None
    except OSError as error:
        raise from_os_error(error, "reading a backup") from error
    if sha256(data) != name:
        raise BadInput("the backup is damaged", str(path), "restore the folder nanomem/backups")
    return data
