"""The SQLite files of other memory systems, read without a trace: no lock, no `-shm`, no recovery beside the original.

Knows which system a database belongs to and gives its rows as they are. What they mean to us is the importer's matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nanomem_tui.core.errors import AccessDenied, BadInput, NotFound

if TYPE_CHECKING:
    import sqlite3

Kind = Literal["nanomem-records", "scoped", "facts", "chroma", "working", "longterm-records"]

_SIDE_FILES = ("-wal", "-journal")
_SIGNS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("nanomem-records", frozenset({"work_meta", "goals"})),
    ("nanomem-records", frozenset({"tier_meta", "goals"})),
    ("scoped", frozenset({"memory_entries"})),
    ("facts", frozenset({"facts", "journal"})),
    ("chroma", frozenset({"collections", "segments", "embeddings", "embedding_metadata"})),
    ("working", frozenset({"goals", "tasks"})),
    ("longterm-records", frozenset({"procedures", "incidents"})),
)
_ATTEMPTS = 5


@contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads the database at `path` as it was when it was opened; rows can be read by name.

    Without pending changes beside it the file is read in place, immutable; else a private copy is read and removed.
    Raises NotFound, AccessDenied, or BadInput when it is no database or keeps changing.
    """
    import sqlite3

    if not path.is_file():
        raise NotFound("no database", str(path))
    try:
        with _source(path) as uri, closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA query_only=ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            yield connection
    except PermissionError as error:
        raise AccessDenied("no permission to read the database", str(path), "check its owner and mode") from error
    except sqlite3.DatabaseError as error:
        raise BadInput(f"cannot read the database: {error}", str(path)) from error


def identify(path: Path) -> Kind | None:
    """Which system the database at `path` belongs to; None when it is none of them, or cannot be read."""
    try:
        with open_read_only(path) as connection:
            tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except (BadInput, NotFound, AccessDenied, OSError):
        return None
    return next((kind for kind, signs in _SIGNS if signs <= tables), None)


def memory_entries(path: Path) -> list[dict[str, Any]]:
    """Every row of `memory_entries`, deleted ones too, in the order they were stored. Raises like `open_read_only`."""
    with open_read_only(path) as connection:
        return [dict(row) for row in connection.execute("SELECT * FROM memory_entries ORDER BY rowid")]


def row_counts(path: Path, tables: Sequence[str]) -> dict[str, int]:
    """How many rows those of the tables have that are there; one that cannot be read is left out. Raises like
    `open_read_only`."""
    import sqlite3

    counts: dict[str, int] = {}
    with open_read_only(path) as connection:
        there = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        for table in tables:
            if table in there:
                with suppress(sqlite3.DatabaseError):
                    counts[table] = int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])
    return counts


@contextmanager
def _source(path: Path) -> Iterator[str]:
    """The URI to read: the file itself, or a private copy for as long as the context lasts."""
    with open(path, "rb"):
        pass  # sqlite says "unable to open" where the system says why
    if not _pending(path):
        yield f"{path.absolute().as_uri()}?immutable=1"
        return
    import tempfile  # 10 ms that the usual database, whole in its file, does not cost

    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
        yield f"{_private_copy(path, Path(folder)).as_uri()}?mode=rw"


def _pending(path: Path) -> bool:
    """Whether changes that are not in the file itself lie beside it."""
    return any(_size(path, suffix) > 0 for suffix in _SIDE_FILES)


def _size(path: Path, suffix: str) -> int:
    try:
        return os.stat(f"{path}{suffix}").st_size
    except FileNotFoundError:
        return 0


def _state(path: Path) -> list[tuple[int, int]]:
    """Size and time of the database and what lies beside it; (0, 0) for what is absent."""
    state = []
    for suffix in ("", *_SIDE_FILES):
        try:
            found = os.stat(f"{path}{suffix}")
            state.append((found.st_size, found.st_mtime_ns))
        except FileNotFoundError:
            state.append((0, 0))
    return state


def _private_copy(path: Path, folder: Path) -> Path:
    """A copy of the database with its side files, all of one moment. Raises BadInput when the moment never comes."""
    import shutil

    target = folder / "copy.db"
    for _ in range(_ATTEMPTS):
        before = _state(path)
        for suffix in ("", *_SIDE_FILES):
            copied = Path(f"{target}{suffix}")
            copied.unlink(missing_ok=True)
            if os.path.exists(f"{path}{suffix}"):
                shutil.copyfile(f"{path}{suffix}", copied)
        if _state(path) == before:
            return target
    raise BadInput("the database keeps changing", str(path), "try again when its agent is idle")
