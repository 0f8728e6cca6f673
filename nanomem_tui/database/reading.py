"""Reading the database as values: rows, the log, and the state of the whole; without SQLAlchemy where it is a file.

Owns what a row of a table means as an `Item`, `Lesson`, `Record` or `LogEntry`. Every function asks a `Reading`: a file
of SQLite through `sqlite3` and the checked-in `statements`, or any database through a connection of SQLAlchemy. Writes
nothing; must not import SQLAlchemy.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nanomem_tui.database.statements import STATEMENTS
from nanomem_tui.errors import Moved, NewerDatabase, StoreError, from_os_error
from nanomem_tui.operations import Change, LaterChanges, Operation
from nanomem_tui.store import driver_errors
from nanomem_tui.store.oplog import BOOKKEEPING, LogEntry
from nanomem_tui.store.values import ROW_TYPES, AnyRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

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


class Turn(NamedTuple):
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
        """What a person knows it by."""

    @property
    def exists(self) -> bool:
        """Whether the tables were made. Ask nothing else before."""

    @property
    def on_server(self) -> bool:
        """Whether it is a server, which has another full-text index; asked within `open`."""

    def all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of the statement of that name (see `queries`)."""

    def each(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement for which the models have no words, one by one; within `open`."""

    def open(self) -> contextlib.AbstractContextManager[Reading]:
        """One transaction for a block: all that this thread asks in it is of one moment."""

    def kept_open(self) -> contextlib.AbstractContextManager[Reading]:
        """One connection for a block in which this thread asks often; each question sees the newest commit."""


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
        """See `Reading.exists`. Where making it was cut off there is a file without tables."""
        if not self.file.exists():
            return False
        if not self._is_made:
            with self.open():
                self._is_made = any(self.each("SELECT 1 FROM sqlite_master WHERE name = 'meta'"))
        return self._is_made

    def all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `Reading.all`."""
        with self.kept_open(), self._in_our_words():
            found: list[tuple[Any, ...]] = self._here.connection.execute(STATEMENTS[name], values).fetchall()
            return found

    def each(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """See `Reading.each`."""
        with self._in_our_words():
            yield from self._here.connection.execute(sql, values)

    @contextlib.contextmanager
    def open(self) -> Iterator[SqliteReading]:
        """See `Reading.open`. A block within another belongs to that one's transaction."""
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
        """See `Reading.kept_open`."""
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
        try:
            return _connect(self.file, "mode=ro", stack)
        except sqlite3.OperationalError as error:
            if driver_errors.code_of(error) not in driver_errors.NO_FILES or not self.file.exists():
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
            raise driver_errors.in_our_words(error, self.file) from error


class CoreReading:
    """Any database through SQLAlchemy. `connect` gives a connection in a transaction of its own. Any thread may ask."""

    def __init__(
        self, connect: Callable[[], contextlib.AbstractContextManager[Connection]], where: str = "the database"
    ) -> None:
        self._connect = connect
        self.where = where
        self._here = threading.local()

    @property
    def exists(self) -> bool:
        """See `Reading.exists`."""
        from sqlalchemy import inspect

        with self.open():
            return bool(inspect(self._here.connection).has_table("meta"))

    @property
    def on_server(self) -> bool:
        """See `Reading.on_server`."""
        return bool(self._here.connection.dialect.name == "postgresql")

    def all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `Reading.all`."""
        from nanomem_tui.database import queries

        with self.open():
            return [tuple(row) for row in self._here.connection.execute(queries.STATEMENTS[name], values)]

    def each(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """See `Reading.each`."""
        from sqlalchemy import text

        yield from map(tuple, self._here.connection.execute(text(sql), values))

    @contextlib.contextmanager
    def open(self) -> Iterator[CoreReading]:
        """See `Reading.open`. A block within another belongs to that one's transaction."""
        if getattr(self._here, "connection", None) is not None:
            yield self
            return
        with self._connect() as connection:
            self._here.connection = connection
            try:
                yield self
            finally:
                self._here.connection = None

    def kept_open(self) -> contextlib.AbstractContextManager[CoreReading]:
        """See `Reading.kept_open`: the pool keeps the connection."""
        return contextlib.nullcontext(self)


def within(connection: Connection) -> CoreReading:
    """Read in the transaction of a connection of SQLAlchemy."""
    return CoreReading(lambda: contextlib.nullcontext(connection))


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
        return values(layer, reading.all(f"{layer}_rows_by_id", ids=listed(ids)))
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
            if _ESCAPE in fields[place]:
                fields[place] = unescaped(fields[place])
        yield kind._make(fields)


def escaped(text: str) -> str:
    """Return a text as both databases take it: without NUL."""
    if _NUL not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace(_NUL, f"{_ESCAPE}0")


def unescaped(text: str) -> str:
    """Return the text that `escaped` was given."""
    return text.replace(f"{_ESCAPE}0", _NUL).replace(f"{_ESCAPE}1", _ESCAPE)


def listed(texts: Iterable[str]) -> str:
    """Return a list as the parameter of a statement."""
    return json.dumps([*map(escaped, texts)])


# -- the state of the whole -------------------------------------------------------------------------------------------


def turn(reading: Reading) -> Turn:
    """Return the number of the last commit, the epoch, where the memory moved to, and whose it is."""
    return Turn(*reading.all("turn")[0])


def refuse_moved(turn: Turn) -> None:
    """Raise Moved where the memory was moved to another database."""
    if turn.moved_to:
        raise Moved("the memory lies elsewhere now", turn.moved_to, "open it there")


def refuse_other_schema(reading: Reading) -> None:
    """Raise NewerDatabase where a later nanomem made the database, StoreError where it has to be brought up to date."""
    (found,) = reading.all("schema")[0]
    if found == SCHEMA:
        return
    if found.isdecimal() and int(found) < int(SCHEMA):
        raise StoreError("the database has an older schema", reading.where, "any change brings it up to date")
    what = f"the database has schema {found}, this nanomem knows {SCHEMA}"
    raise NewerDatabase(what, reading.where, "install a newer nanomem; nothing was changed")


def markers(reading: Reading) -> dict[str, str]:
    """Return the named values beside the rows."""
    return dict(reading.all("markers"))


def foreign_rows(reading: Reading, source: str) -> dict[str, Any]:
    """Return the rows of an agent's file as they were last read or written, by id."""
    return {unescaped(key): json.loads(raw) for key, raw in reading.all("foreign_rows", source=escaped(source))}


# -- the log ----------------------------------------------------------------------------------------------------------


def log(reading: Reading, limit: int, offset: int = 0, key: str | None = None) -> list[LogEntry]:
    """List operations, newest commit first. `key`: those that touched the thing of that id."""
    if key is None:
        return _entries(reading, "log", limit=limit, offset=offset)
    return _entries(reading, "log_of_key", key=key, limit=limit, offset=offset)


def find(reading: Reading, op_id: str) -> LogEntry | None:
    """Find an operation by its id."""
    return _first(_entries(reading, "operation", id=op_id))


def known(reading: Reading, ids: Iterable[str]) -> set[str]:
    """Return those of these ids of operations that the log has."""
    return {op_id for (op_id,) in reading.all("operations_known", ids=listed(ids))}


def newest(reading: Reading, kind: str, actor: str) -> LogEntry | None:
    """Find the newest operation of a kind by an actor."""
    return _first(_entries(reading, "operation_newest", kind=kind, actor=actor))


def newest_of_person(reading: Reading) -> LogEntry | None:
    """Find what a person did last, or started, and what stands: undo without an id takes it back."""
    return _first(_entries(reading, "operation_of_person"))


def newest_undo(reading: Reading) -> LogEntry | None:
    """Find the undo that a redo takes back: the last one that stands, unless a person did something new since."""
    last = _first(_entries(reading, "operation_to_redo"))
    return last if last is not None and last.operation.kind == "undo" else None


def standing(reading: Reading, entry: LogEntry) -> list[str]:
    """Return the keys of an operation that are not undone, each once."""
    return list(dict.fromkeys(key for _, key in reading.all("operation_parts", seq=entry.position)))


def unfinished(reading: Reading) -> list[LogEntry]:
    """List operations whose files of others are still to be written, or could not be, oldest first."""
    return _entries(reading, "operations_unfinished")


def touching(reading: Reading, keys: Iterable[str], actor: str) -> list[LogEntry]:
    """List the operations of an actor that touched one of these things, newest first."""
    return _entries(reading, "log_touching", keys=listed(keys), actor=actor)


def after(reading: Reading, seq: int) -> list[LogEntry]:
    """List the operations behind a place in the order of commits, oldest first, whole."""
    return _entries(reading, "operations_after", seq=seq)


def operation_count(reading: Reading) -> int:
    """Count the operations of the log."""
    return int(reading.all("operation_count")[0][0])


def operation_of(row: Sequence[Any], changes: Sequence[Change] | None = None) -> Operation:
    """Make a value of a row of the log; `changes`: what it touched, where that is not to be read from the row."""
    _, op_id, at, actor, kind, label, _, _, undoes, redoes, meta, _, changed, _ = row
    found = _changes(changed) if changes is None else changes
    return Operation(op_id, at, actor, kind, unescaped(label), found, undoes, redoes, json.loads(meta))


def _entries(reading: Reading, name: str, **parameters: Any) -> list[LogEntry]:
    return [_entry(reading, row) for row in reading.all(name, **parameters)]


def _entry(reading: Reading, row: Sequence[Any]) -> LogEntry:
    seq, touched, changed, undone = row[0], *row[-3:]
    later = _later(reading, seq, touched) if changed is None else None
    operation = operation_of(row, later)
    shown = bool(undone) and operation.kind not in BOOKKEEPING  # an undo that was redone is nothing that was taken back
    return LogEntry(operation, shown, seq)


def _later(reading: Reading, seq: int, count: int) -> LaterChanges:
    """The changes of a large operation, read when somebody asks for them; the keys from their own table."""
    return LaterChanges(
        count,
        load=lambda: _changes(reading.all("operation_changes", seq=seq)[0][0]),
        find=lambda key: None,
        begin=lambda number: None,
        keys=lambda: [key for (key,) in reading.all("operation_keys", seq=seq)],
    )


def _changes(text: str) -> tuple[Change, ...]:
    return tuple(Change(layer, key, before, after) for layer, key, before, after in json.loads(text))


def _first(entries: list[LogEntry]) -> LogEntry | None:
    return entries[0] if entries else None
