"""Content-addressed backups: whole files as they were before a change, named by their SHA-256, kept in `backups/`.

Must not know what a file means, nor which operation needs it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from nanomem_tui.errors import BadInput, NotFound, from_os_error
from nanomem_tui.store.atomic import make_folder, sha256, sync_folder, write_atomic

PIECE = 4 * 1024 * 1024
"""Bytes of a backup that are held at a time where it is read in pieces."""
_NAME = re.compile(r"[0-9a-f]{64}")


def is_name(name: str) -> bool:
    """Whether a text names a backup."""
    return _NAME.fullmatch(name) is not None


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


def put_pieces(folder: Path, pieces: Iterable[bytes]) -> str:
    """Like `put`, of data that is not held whole."""
    digest = hashlib.sha256()

    def through() -> Iterator[bytes]:
        for piece in pieces:
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


def pieces(folder: Path, name: str) -> Iterator[bytes]:
    """The bytes kept under `name`, a few at a time. Raises as `get`, for damage behind the last of them."""
    digest = hashlib.sha256()
    with _opened(folder, name) as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            yield piece
    if digest.hexdigest() != name:
        raise _damaged(folder, name)


def get(folder: Path, name: str) -> bytes:
    """The bytes kept under `name`. Raises NotFound when they are gone, BadInput when they are damaged."""
    with _opened(folder, name) as file:
        data = file.read()
    if sha256(data) != name:
        raise _damaged(folder, name)
    return data


@contextlib.contextmanager
def _opened(folder: Path, name: str) -> Iterator[BinaryIO]:
    if not is_name(name):
        raise BadInput("not the name of a backup", name)
    path = folder / name
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            yield file
    except FileNotFoundError:
        raise NotFound("the backup is gone", str(path), "restore the folder nanomem/backups") from None
    except OSError as error:
        raise from_os_error(error, "reading a backup") from error


def _damaged(folder: Path, name: str) -> BadInput:
    return BadInput("the backup is damaged", str(folder / name), "restore the folder nanomem/backups")
