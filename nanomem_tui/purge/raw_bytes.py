"""The bytes of our own files looked through whatever their form says: what is left in a freed page, or anywhere else.

Must not take a word of an index for left over: it belongs to a row that stays. Changes nothing.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError
from nanomem_tui.purge.texts import FEW, Found, Sought, torn
from nanomem_tui.purge.wanted_words import Words
from nanomem_tui.store.reader import open_database

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths

FREED = "in pages of the database that were freed: the same command again writes it anew"
UNMOVED = "the file and its WAL could not be written anew while another process reads: the same command again does"
NOTHING = "in bytes that belong to nothing"
CACHE = "in bytes of a cache: remove the file, it is made anew"
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
LEAST = 6
"""Bytes that do not stand in a picture by chance."""
SQLITE = b"SQLite format 3\0"


def left(paths: Paths, sought: Sought) -> Iterator[tuple[str, Mapping[str, int], str]]:
    """The files of ours that hold one of the longest texts: the file, how many of them, and why it is there."""
    if not isinstance(sought, Words):
        return
    for path in sorted(paths.data.rglob("*")):
        if not path.is_file() or path.is_symlink() or not (found := _forms(path, sought)):
            continue
        if _is_unmoved(path):
            why = UNMOVED
        elif _is_database(path):
            if not in_freed(path, sought):
                continue
            why = FREED
        elif not _in_text(path, sought):
            continue
        else:
            why = CACHE if path.relative_to(paths.data).parts[0] in ("chroma", "blame", "crystallize") else NOTHING
        yield paths.relative(path), {"bytes": found}, why


def may_hold(path: Path, sought: Sought) -> bool:
    """Whether the bytes of a file hold one of the texts, be it in what belongs to a row that stays."""
    return isinstance(sought, Words) and path.is_file() and _forms(path, sought) > 0


def in_file(path: Path, sought: Sought) -> int:
    """How many of the texts a file that is no text holds, in any of the encodings that programs write; of short ones
    there is no telling, as they stand in any picture."""
    return _forms(path, sought, ENCODINGS, LEAST) if isinstance(sought, Words) else 0


def in_freed(path: Path, sought: Sought) -> bool:
    """Whether a database holds one of the texts and has pages that belong to nothing: in a file that was written anew
    there are none, and what is in it is a word of an index or a value that stays."""
    if not may_hold(path, sought) or not _is_database(path):
        return False
    try:
        with open_database(path, newest=1 << 31) as connection:
            return bool(connection.execute("PRAGMA freelist_count").fetchone()[0])
    except (sqlite3.Error, NanomemError):
        return True


def _is_unmoved(path: Path) -> bool:
    """Whether a file is a WAL, or a database with one that holds anything."""
    wal = path if path.name.endswith("-wal") else path.with_name(f"{path.name}-wal")
    return wal.is_file() and wal.stat().st_size > 0


def _is_database(path: Path) -> bool:
    with contextlib.suppress(OSError), regular.opened(path) as file:
        return file.read(len(SQLITE)) == SQLITE
    return False


def _in_text(path: Path, sought: Words) -> bool:
    """Whether a file that is no database holds one of them as words."""
    found: Found = Counter()
    data = regular.read(path, regular.MOST_OF_A_LOG)
    torn(data.decode("utf-8", "replace"), sought.in_binary() if b"\0" in data else sought, found)
    return bool(found)


def _forms(path: Path, sought: Words, encodings: Sequence[str] = ("utf-8",), least: int = 0) -> int:
    """How many of the texts a file holds, however large it is, in forms of so many bytes at least."""
    forms = [_encoded(text, encodings, least) for text in sought.texts[:FEW]]
    with regular.opened(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return sum(any(data.find(form) >= 0 for form in of_one) for of_one in forms)


def _encoded(text: str, encodings: Sequence[str], least: int) -> set[bytes]:
    forms = {form.encode(encoding, "surrogatepass") for form in (text, text.lower()) for encoding in encodings}
    return {form for form in forms if len(form) >= least}
