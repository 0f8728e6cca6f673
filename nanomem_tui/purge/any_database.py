"""What the rows of any database hold, of ours in a backup or of another system; what cannot be read as one is looked
through as bytes. Changes nothing."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanomem_tui import json_text, regular
from nanomem_tui.errors import NanomemError
from nanomem_tui.purge.packed import unpacked
from nanomem_tui.purge.texts import Found, Sought, has_taken, in_value
from nanomem_tui.store.reader import open_database

_INDEX = re.compile(r"_(?:fts|words)_(?:data|idx|content|docsize|config)$")
_DERIVED = frozenset({"content_norm", "content_hash", "row_hash"})
"""Tables and columns that are made of others, which are looked through."""


def look(path: Path, sought: Sought, found: Found) -> None:
    """What the text columns of any database hold, and what is packed in others. Changes nothing."""
    try:
        with open_database(path, newest=1 << 31) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
            tables = [name for (name,) in connection.execute(query) if not _INDEX.search(name)]
            for table in tables:
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]
                wanted = ", ".join(_quoted(name) for name in columns if name not in _DERIVED)
                names = [name for name in columns if name not in _DERIVED]
                for row in connection.execute(f"SELECT {wanted} FROM {_quoted(table)}"):
                    found.update({"row": 1} if _is_taken(dict(zip(names, row, strict=True)), sought) else {})
                    for value in row:
                        text = _unpacked(value) if isinstance(value, bytes) else value
                        if isinstance(text, str):
                            in_value(text, sought, found)
    except (sqlite3.Error, NanomemError, UnicodeDecodeError):
        data = regular.read(path, regular.MOST_OF_A_LOG)
        sought.in_binary().clean(data.decode("utf-8", "replace"), found)


def in_bytes_of(data: bytes, sought: Sought) -> Found:
    """What the rows of a database hold that is given as bytes."""
    import tempfile

    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(data)
        look(copy, sought, found)
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
