"""Read the database as values: rows, named values, and the state of the whole; a file without SQLAlchemy.

Owns what a row of a table means as an `Item`, `Lesson` or `Record`. A `Reading` is a file of SQLite, asked through
`sqlite3` and the checked-in `statements`, or any database through SQLAlchemy (`queries`). Writes nothing; must not
import SQLAlchemy.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from nanomem_tui.core import files
from nanomem_tui.core.errors import (
    AccessDenied,
    CorruptDatabase,
    DiskFull,
    Moved,
    NewerDatabase,
    StoreError,
    from_os_error,
)
from nanomem_tui.core.text import quoted
from nanomem_tui.store.database.statements import STATEMENTS
from nanomem_tui.store.values import ROW_TYPES, AnyRow

SCHEMA = "0001"
"""The newest schema, which `models` declares; `migrations` has how an older one comes to it."""
BUSY_SECONDS = 5.0
"""How long to wait for another process that keeps everybody out."""
LARGE = 100
"""Changes up to which those of an operation are read with it; of a larger one, when somebody asks for them."""
COUNTERS: Mapping[str, tuple[str, ...]] = {
    "item": ("hits", "last_accessed_at"), "lesson": ("hits", "last_applied_at"), "record": (),
}  # fmt: skip
"""The fields of each layer that are counters, in the order of the columns `hits`, `last_at` of `usage`."""
COLUMN_OF = {("item", "text"): "content"}
"""(layer, field) → the column, where it has another name."""
TRUTHS = frozenset({"enabled", "pinned", "is_deleted"})
TEXTS: Mapping[str, tuple[str, ...]] = {
    "item": ("text", "meta_json"),
    "lesson": ("key", "trigger", "bad_action", "better_action", "promoted_global_key", "meta_json"),
    "record": ("about", "text", "meta_json"),
}
"""What people wrote, by layer: a NUL in it is given back. In the name of a chat or a session it stays escaped: to look
for one in every column takes as long as to read the row."""
_NUL, _ESCAPE = "\0", "\U0010fffe"
"""A server takes no NUL in a text. It is stored as the escape and `0`, the escape itself as the escape and `1`."""
_TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"


class OlderSchema(StoreError):
    """A database of this edition that an earlier release made; see `migrations`."""


class Meta(NamedTuple):
    """What the row of `meta` says: the number of the last commit, the epoch (another one: load everything anew), where
    the memory moved to, and whose it is."""

    revision: int
    epoch: str
    moved_to: str
    workspace_id: str


class Reading(Protocol):
    """A database to read. Its methods raise StoreError and its kin."""

    @property
    def where(self) -> str:
        """Which database it is, for a person."""

    @property
    def on_server(self) -> bool:
        """Whether it is on a server; asked within `open`."""

    @property
    def exists(self) -> bool:
        """Whether the tables were made. Ask nothing else before."""

    def all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of the statement of that name (see `queries`)."""

    def each(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement for which the models have no words, one by one; within `open`."""

    def open(self) -> contextlib.AbstractContextManager[Reading]:
        """Read a block in one transaction: all that this thread asks in it is of one moment. A block within another
        belongs to that one's transaction."""

    def kept_open(self) -> contextlib.AbstractContextManager[Reading]:
        """Keep one connection for a block in which this thread asks often; each question sees the newest commit."""


class SqliteReading:
    """A file of SQLite, opened read-only for each question or block of questions. Any thread may ask."""

    on_server = False

    def __init__(self, file: Path) -> None:
        self.file = file
        self.where = str(file)
        self._is_made = False
        self._here = threading.local()

    @property
    def exists(self) -> bool:
        """Whether the tables were made. Ask nothing else before. Where making it was cut off there is a file without
        tables. Raises CorruptDatabase where there is none, or an empty one, and its log or a copy lies beside it, and
        where another program's database lies in its place."""
        is_there = self.file.exists()
        if is_there and not self._is_made:
            with self.open():
                names = {name for (name,) in self.each(_TABLE_NAMES)}
            if are_foreign_tables(names):
                raise foreign_database(self.file, min(names))
            self._is_made = "meta" in names
        if is_there and self._is_made:
            return True
        if _was_written(self.file):
            raise missing_database(self.file)
        return False

    def all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of the statement of that name (see `queries`)."""
        with self.kept_open(), self._in_our_words():
            connection: sqlite3.Connection = self._here.connection
            try:
                return connection.execute(STATEMENTS[name], values).fetchall()
            except sqlite3.OperationalError as error:
                if "decode" not in str(error) or connection.text_factory is not str:
                    raise
                connection.text_factory = decode_text  # slower, and only for a flipped bit
                return connection.execute(STATEMENTS[name], values).fetchall()

    def each(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement for which the models have no words, one by one; within `open`."""
        with self._in_our_words():
            yield from self._here.connection.execute(sql, values)

    @contextlib.contextmanager
    def open(self) -> Iterator[SqliteReading]:
        """One transaction for a block: all that this thread asks in it is of one moment. A block within another belongs
        to that one's transaction."""
        with self.kept_open(), self._in_our_words():
            connection = self._here.connection
            if connection.in_transaction:
                yield self
                return
            connection.execute("BEGIN")
            try:
                yield self
            finally:
                connection.rollback()

    @contextlib.contextmanager
    def kept_open(self) -> Iterator[SqliteReading]:
        """One connection for a block in which this thread asks often; each question sees the newest commit."""
        if getattr(self._here, "connection", None) is not None:
            yield self
            return
        with contextlib.ExitStack() as stack, self._in_our_words():
            self._here.connection = self._connected(stack)
            stack.callback(setattr, self._here, "connection", None)
            yield self

    def _connected(self, stack: contextlib.ExitStack) -> sqlite3.Connection:
        """A connection that writes nothing. SQLite shares a `-shm` beside a database in WAL mode. Where it cannot make
        one (a full disk, another's folder), nobody writes: the file is read as it is, or with its WAL from a copy."""
        refuse_non_file(self.file)
        try:
            return _connect(self.file, "mode=ro", stack)
        except sqlite3.OperationalError as error:
            if code_of(error) not in NO_FILES or not self.file.exists():
                raise
        wal = self.file.with_name(f"{self.file.name}-wal")
        if not wal.exists():
            return _connect(self.file, "mode=ro&immutable=1", stack)
        import shutil
        import tempfile

        memory = "/dev/shm"  # noqa: S108  the disk may be full
        folder = tempfile.TemporaryDirectory(prefix="nanomem-", dir=memory if Path(memory).is_dir() else None)
        copied = Path(stack.enter_context(folder), self.file.name)
        try:
            shutil.copyfile(self.file, copied)
            shutil.copyfile(wal, copied.with_name(wal.name))
        except OSError as error:
            raise from_os_error(error, "copying the database to read it") from error
        return _connect(copied, "mode=rw", stack)

    @contextlib.contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise error_from_driver(error, self.file) from error


def is_foreign_database(file: Path) -> bool:
    """Whether a file is a database of another program. One that cannot be read is none."""
    if not file.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            names = {name for (name,) in connection.execute(_TABLE_NAMES)}
    except sqlite3.Error:
        return False
    return are_foreign_tables(names)


def _was_written(file: Path) -> bool:
    """Whether what is kept beside a database says that there was one."""
    log = file.with_name("operations.jsonl")
    return (log.exists() and log.stat().st_size > 0) or any(file.parent.glob("copies/nanomem-*.db"))


def _connect(file: Path, flags: str, stack: contextlib.ExitStack) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{flags}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    stack.callback(connection.close)
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # only now the file is opened
    return connection


# -- rows -------------------------------------------------------------------------------------------------------------


def rows(
    reading: Reading, layer: str, *, since: int | None = None, ids: Sequence[str] | None = None
) -> Iterator[AnyRow]:
    """Read the rows of a layer: all of them, those written after revision `since`, or those of `ids`."""
    if ids is not None:
        return values(layer, reading.all(f"{layer}_rows_by_id", ids=json_list(ids)))
    if since is not None:
        return values(layer, reading.all(f"{layer}_rows_since", since=since))
    return values(layer, reading.all(f"{layer}_rows"))


def counted_since(reading: Reading, layer: str, revision: int) -> list[str]:
    """List the ids whose counters were saved after a revision."""
    return [key for (key,) in reading.all("counted_since", layer=layer, since=revision)]


def values(layer: str, found: Iterable[Sequence[Any]]) -> Iterator[AnyRow]:
    """Make values of rows as a statement of that layer gives them."""
    kind = ROW_TYPES[layer]
    truths = [kind._fields.index(name) for name in kind._fields if name in TRUTHS]
    texts = [kind._fields.index(name) for name in TEXTS[layer]]
    for row in found:
        fields = list(row)
        for place in truths:
            fields[place] = fields[place] != 0
        for place in texts:
            if isinstance(fields[place], bytes):  # somebody else wrote it: SQLite holds what it is given
                fields[place] = fields[place].decode("utf-8", "replace")
            if _ESCAPE in fields[place]:
                fields[place] = unescape_nul(fields[place])
        yield kind._make(fields)


def escape_nul(text: str) -> str:
    """Return a text as both databases take it: without NUL."""
    if _NUL not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace(_NUL, f"{_ESCAPE}0")


def unescape_nul(text: str) -> str:
    """Return the text that `escaped` was given."""
    return text.replace(f"{_ESCAPE}0", _NUL).replace(f"{_ESCAPE}1", _ESCAPE)


def json_list(texts: Iterable[str]) -> str:
    """Return a list as the parameter of a statement."""
    return json.dumps([*map(escape_nul, texts)])


# -- the state of the whole -------------------------------------------------------------------------------------------


def meta(reading: Reading) -> Meta:
    """Return the number of the last commit, the epoch, where the memory moved to, and whose it is."""
    return Meta(*reading.all("meta")[0])


def refuse_moved(meta: Meta, *, on_server: bool) -> None:
    """Raise Moved where the memory was moved to another database. `on_server`: it was moved from a server."""
    if meta.moved_to:
        source = "FROM" if on_server else "sqlite"
        target = "TO" if meta.moved_to.startswith("PostgreSQL ") else "sqlite"
        fix = f"run the same `nanomem migrate-store {source} {target}` again: it sets `database_url` to that place"
        raise Moved("the memory lies elsewhere now", meta.moved_to, fix)


def refuse_other_schema(reading: Reading) -> None:
    """Raise NewerDatabase where a later nanomem made the database, OlderSchema where it is to be brought up to date."""
    (found,) = reading.all("schema")[0]
    if found == SCHEMA:
        return
    if _is_older(found):
        fix = "run `nanomem doctor --fix`, which brings it up to date"
        raise OlderSchema("the database has an older schema", reading.where, fix)
    what = f"the database has schema {found}, this nanomem knows {SCHEMA}"
    raise NewerDatabase(what, reading.where, "install a newer nanomem; nothing was changed")


def has_older_schema(reading: Reading) -> bool:
    """Whether an earlier release of this edition made the database. Raises StoreError where that cannot be told."""
    return any(_is_older(found) for (found,) in reading.all("schema"))


def _is_older(schema: str) -> bool:
    return schema.isdecimal() and int(schema) < int(SCHEMA)


def markers(reading: Reading) -> dict[str, str]:
    """Return the named values beside the rows."""
    return dict(reading.all("markers"))


def foreign_rows(reading: Reading, source: str) -> dict[str, Any]:
    """Return the rows of an agent's file as they were last read or written, by id."""
    return {unescape_nul(key): json.loads(raw) for key, raw in reading.all("foreign_rows", source=escape_nul(source))}


SECOND_EDITION = 4
"""What it says of every database that is taken over or made anew, whatever its schema."""


# -- Turn errors of SQLite into errors of ours, by their codes: the words of one may come from a damaged schema.

FULL, IO_ERROR = sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR

REFUSED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})

BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

NO_FILES = frozenset({FULL, IO_ERROR, sqlite3.SQLITE_CANTOPEN})
"""The codes where SQLite cannot make its files beside a database."""

OUR_TABLES = frozenset({"memory_entries", "lessons", "operations"})
"""A database that has tables and none of these is another program's."""

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
