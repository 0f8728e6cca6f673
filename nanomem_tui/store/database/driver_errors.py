"""Turn errors of SQLite into errors of ours, by their codes: the words of one may come from a damaged schema.

Owns the words for a database that is locked, damaged, missing, or of another program. Must not import SQLAlchemy.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from nanomem_tui.core import files
from nanomem_tui.core.errors import AccessDenied, CorruptDatabase, DiskFull, StoreError, from_os_error
from nanomem_tui.core.text import quoted

FULL, IO_ERROR = sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR

REFUSED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})

BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

NO_FILES = frozenset({FULL, IO_ERROR, sqlite3.SQLITE_CANTOPEN})
"""The codes where SQLite cannot make its files beside a database."""

OUR_TABLES = frozenset({"memory_entries", "lessons", "operations"})
"""A database that has tables and none of these is another program's."""

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_READONLY})

_NEWEST_FORMAT = 2

_SAID = {
    "database or disk is full": FULL,
    "disk I/O error": IO_ERROR,
    "database is locked": sqlite3.SQLITE_BUSY,
    "attempt to write a readonly database": sqlite3.SQLITE_READONLY,
    "unable to open database file": sqlite3.SQLITE_CANTOPEN,
    "database disk image is malformed": sqlite3.SQLITE_CORRUPT,
    "file is not a database": sqlite3.SQLITE_NOTADB,
}


def code_of(error: BaseException) -> int:
    """The primary code of an error; of one that does not come from SQLite itself that of what it begins with, 0 where
    it is none of these."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return int(code) & 0xFF
    return next((number for said, number in _SAID.items() if str(error).startswith(said)), 0)


def decode_text(data: bytes) -> str:
    """The text of a column; a flipped bit costs a character."""
    return data.decode("utf-8", "replace")


def is_closed_to_writers(path: Path) -> bool:
    """Whether the header of a database gives it a format that SQLite reads, and does not write: a flipped bit."""
    try:
        with files.opened(path) as file:
            head = file.read(20)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and head[18] > _NEWEST_FORMAT


def error_from_driver(error: sqlite3.Error, path: Path) -> StoreError | AccessDenied | DiskFull:
    """The error of our tree for one of the driver's, met with the database at `path`."""
    code = code_of(error)
    if code == sqlite3.SQLITE_CANTOPEN and path.parent.is_dir() and not os.path.lexists(path):
        return missing_database(path)
    if code in REFUSED and not (code == sqlite3.SQLITE_READONLY and is_closed_to_writers(path)):
        if _disk(path.parent) == "read-only":
            return AccessDenied("the disk of the database is read-only", str(path), "mount it for writing")
        return AccessDenied("the database cannot be opened", str(path), "check its owner, mode and free space")
    if code in BUSY:
        return StoreError("the database is locked by another process", str(path), "try again in a moment")
    if code == FULL or (code == IO_ERROR and _disk(path.parent) == "full"):
        return DiskFull("no space left for the database", str(path), "free some space; nothing was lost")
    if code == IO_ERROR:
        return StoreError(f"the disk failed under the database ({error})", str(path), "run `nanomem doctor`")
    fix = "`nanomem doctor --fix` makes it anew from a copy; the file is kept as it is"
    return CorruptDatabase(f"the database cannot be read ({error})", str(path), fix)


def missing_database(path: Path) -> CorruptDatabase:
    """The error for a database that is not there any more, or has nothing in it."""
    what = "the database is gone" if not path.exists() else "the database is empty"
    return CorruptDatabase(what, str(path), "run `nanomem doctor`: `--fix` makes it anew from a copy")


def are_foreign_tables(tables: Collection[str]) -> bool:
    """Whether a database with these tables is another program's."""
    return bool(tables) and OUR_TABLES.isdisjoint(tables)


def foreign_database(path: Path, table: str) -> CorruptDatabase:
    """The error for a database of another program, which has that table, in the place of ours."""
    what = f"another program's database lies in the place of the memory (it has a table {quoted(table)})"
    return CorruptDatabase(what, str(path), "move it to where it belongs, then run `nanomem doctor`")


def _disk(folder: Path) -> str:
    """What ails the disk of a folder: `read-only`, `full` or nothing."""
    found = os.statvfs(folder) if folder.is_dir() else None
    if found is None or found.f_flag & os.ST_RDONLY:
        return "read-only" if found is not None else ""
    return "full" if found.f_bavail * found.f_frsize < 256 * 1024 else ""


def refuse_non_file(file: Path) -> None:
    """Raise StoreError where a link lies in the place of a database of ours, which may lead anywhere, or a pipe or
    device, at which SQLite waits for ever."""
    with contextlib.suppress(FileNotFoundError):
        mode = file.lstat().st_mode
        if not stat.S_ISREG(mode):
            what = f"a {files.kind_of(mode)} lies in the place of the database"
            raise StoreError(what, str(file), "put the real file in its place")


@contextlib.contextmanager
def translate_errors(file: Path, doing: str) -> Iterator[None]:
    """Give errors of the driver and of the system our words: what was met with the database `file` while `doing`."""
    try:
        yield
    except sqlite3.Error as error:
        raise error_from_driver(error, file) from error
    except OSError as error:
        raise from_os_error(error, doing) from error
