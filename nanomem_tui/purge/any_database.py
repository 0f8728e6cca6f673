"""What the rows of any database hold, of ours in a backup or of another system, and what the bytes of files hold
whatever their form says: what is left in a freed page, or anywhere else. Changes nothing.

Must not take a word of an index for left over: it belongs to a row that stays.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui import json_text, regular
from nanomem_tui.errors import NanomemError
from nanomem_tui.formats.foreign_databases import open_read_only
from nanomem_tui.purge.texts import FEW, Found, Sought, has_taken, in_value, torn, unpacked
from nanomem_tui.purge.wanted_words import Words

if TYPE_CHECKING:
    from nanomem_tui.paths import Paths


_INDEX = re.compile(r"_(?:fts|words)_(?:data|idx|content|docsize|config)$")
DERIVED = frozenset({"content_norm", "content_hash", "row_hash"})
"""Tables and columns that are made of others, which are looked through."""


def look_in_database(path: Path, sought: Sought, found: Found) -> None:
    """What the text columns of any database hold, and what is packed in others. Changes nothing."""
    try:
        with open_read_only(path) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
            tables = [name for (name,) in connection.execute(query) if not _INDEX.search(name)]
            for table in tables:
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]
                names = [name for name in columns if name not in DERIVED]
                wanted = ", ".join(map(_quoted, names))
                for row in connection.execute(f"SELECT {wanted} FROM {_quoted(table)}"):
                    cleaned_row(dict(zip(names, row, strict=True)), sought, found)
    except (sqlite3.Error, NanomemError, UnicodeDecodeError):
        data = regular.read(path, regular.MOST_OF_A_LOG)
        sought.in_binary().clean(data.decode("utf-8", "replace"), found)


def cleaned_row(row: Mapping[str, Any], sought: Sought, found: Found) -> Mapping[str, Any] | None:
    """A row of a table without what is sought, the very same where it holds none; None: it goes as a whole."""
    mine: Found = Counter({"row": 1} if _is_taken(row, sought) else {})
    left = dict(row)
    for name, value in row.items():
        text = _unpacked(value) if isinstance(value, bytes) else value
        if isinstance(text, str) and (clean := in_value(text, sought, mine)) != text:
            left[name] = clean
    found.update(mine)
    return row if not mine else None if sought.whole else left


def in_database_bytes(data: bytes, sought: Sought) -> Found:
    """What the rows of a database hold that is given as bytes."""
    import tempfile

    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(data)
        look_in_database(copy, sought, found)
    return found


def _unpacked(value: bytes) -> str | None:
    """The long fields of a record lie packed in its row."""
    data = unpacked(value)
    return None if data is None else data.decode("utf-8", "replace")


def _is_taken(row: Mapping[str, Any], sought: Sought) -> bool:
    """Whether a row goes by what it says of itself, or holds in JSON what does."""
    if not sought.whole:
        return False
    if sought.takes(row):
        return True
    for text in row.values():
        if isinstance(text, str) and text[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                if has_taken(json_text.loads(text), sought):
                    return True
    return False


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


FREED = "in pages of the database that were freed: the same command again writes it anew"
UNMOVED = "the file and its WAL could not be written anew while another process reads: the same command again does"
NOTHING = "in bytes that belong to nothing"
CACHE = "in bytes of a cache: remove the file, it is made anew"
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
LEAST = 6
"""Bytes that do not stand in a picture by chance."""
SQLITE = b"SQLite format 3\0"


def bytes_left(paths: Paths, sought: Sought) -> Iterator[tuple[str, Mapping[str, int], str]]:
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


def times_in_bytes(path: Path, sought: Sought) -> int:
    """How many of the texts a file that is no text holds, in any of the encodings that programs write; of short ones
    there is no telling, as they stand in any picture."""
    return _forms(path, sought, ENCODINGS, LEAST) if isinstance(sought, Words) else 0


def in_freed(path: Path, sought: Sought) -> bool:
    """Whether a database holds one of the texts and has pages that belong to nothing: in a file that was written anew
    there are none, and what is in it is a word of an index or a value that stays."""
    if not may_hold(path, sought) or not _is_database(path):
        return False
    try:
        with open_read_only(path) as connection:
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
