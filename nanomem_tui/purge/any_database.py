"""What the rows of any database hold, of ours in a backup or of another system, and what the bytes of a file hold that
is no text. Changes nothing."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanomem_tui.agents.databases import open_read_only
from nanomem_tui.core import files
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.purge.matchers import FEW, Found, Sought
from nanomem_tui.purge.texts import has_taken, in_value, unpacked

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
        data = files.read(path, files.MOST_OF_A_LOG)
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
                if has_taken(files.loads(text), sought):
                    return True
    return False


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
LEAST = 6
"""Bytes that do not stand in a picture by chance."""
SQLITE = b"SQLite format 3\0"


def times_in_bytes(path: Path, sought: Sought) -> int:
    """How many of the longest texts a file that is no text holds, however large it is, in any of the encodings that
    programs write; of short ones there is no telling, as they stand in any picture."""
    with files.opened(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return sum(any(data.find(form) >= 0 for form in _encoded(text)) for text in sought.texts[:FEW])


def times_freed(path: Path, sought: Sought) -> int:
    """How many of them a database may hold in pages that were freed, where rows lie that were deleted; in one without
    such pages there are none, and what is in it is a word of an index."""
    with open_read_only(path) as connection:
        (freed,) = connection.execute("PRAGMA freelist_count").fetchone()
    return times_in_bytes(path, sought) if freed else 0


def _encoded(text: str) -> set[bytes]:
    forms = {form.encode(encoding, "surrogatepass") for form in (text, text.lower()) for encoding in ENCODINGS}
    return {form for form in forms if len(form) >= LEAST}
