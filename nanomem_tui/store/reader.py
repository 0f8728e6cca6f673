"""Reads of the database through the driver alone: no SQLModel, no writes, no files left behind.

What commands that only read are made of. The column lists here are held to `models` by a test.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from nanomem_tui import json_text, regular, tokens
from nanomem_tui.errors import AccessDenied, DiskFull, NewerDatabase, StoreError, from_os_error
from nanomem_tui.store import counters, driver_errors, row_queries, sql
from nanomem_tui.store.row_queries import asked, hashed, row_tables
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.values import AnyRow, Item, Lesson, Record, says_why

R = TypeVar("R")
Make = Callable[[Iterable[Any]], R]
SCHEMA_VERSION = 3
PLAUSIBLE = 100
"""A schema number beyond this is a flipped bit, not a newer release."""
ITEM_COLUMNS, LESSON_COLUMNS = row_queries.ITEM_COLUMNS, row_queries.LESSON_COLUMNS
RECORD_COLUMNS, ROW_TABLES = row_queries.RECORD_COLUMNS, row_queries.ROW_TABLES
SEEN = "seen:"
_WAITS = "says_why(CAST(meta_json AS BLOB))"
"""`says_why` as SQL, for a connection that `_with_inbox` made ready; asked of disabled rows alone."""
_WAITS_KEPT = "waits = 1"
"""The same where a column keeps the answer."""


@contextlib.contextmanager
def open_database(path: Path, newest: int | None = None) -> Iterator[sqlite3.Connection]:
    """A read-only connection. `newest`: the schema we know. Raises NewerDatabase, CorruptDatabase and the like.
    Without a `-wal` beside it the file is opened as immutable, so that reading leaves no `-wal` and `-shm`. Where a
    `-wal` lies on a full disk or in a folder that we may not write to, SQLite cannot make its `-shm`: a copy is read.
    """
    try:
        with contextlib.ExitStack() as stack:
            connection, version = _connected(path, stack)
            if not 0 <= version <= PLAUSIBLE:
                raise sqlite3.DatabaseError(f"schema {version}, which no release has")
            if version > (known := newest or SCHEMA_VERSION):
                what = f"the database has schema {version}, this nanomem knows {known}"
                raise NewerDatabase(what, str(path), "install a newer nanomem; nothing was changed")
            yield connection
    except sqlite3.Error as error:
        raise driver_errors.in_our_words(error, path) from error
    except UnicodeDecodeError as error:  # the driver's own message quotes a schema that is damaged
        raise driver_errors.in_our_words(sqlite3.DatabaseError("its schema is no text"), path) from error


def _connected(path: Path, stack: contextlib.ExitStack) -> tuple[sqlite3.Connection, int]:
    wal = path.with_name(path.name + "-wal")
    flags = "mode=ro" if wal.exists() else "mode=ro&immutable=1"
    try:
        return _connect(path, flags, stack)
    except sqlite3.OperationalError as error:
        if not wal.exists() or driver_errors.code_of(error) not in driver_errors.NO_FILES:
            raise
    try:
        return _connect(_private_copy(path, stack), "mode=rw", stack)
    except OSError as error:
        raise from_os_error(error, "copying the database to read it") from error


def _connect(path: Path, flags: str, stack: contextlib.ExitStack) -> tuple[sqlite3.Connection, int]:
    regular.refuse_database(path)
    connection = sqlite3.connect(f"{path.as_uri()}?{flags}", uri=True, timeout=5, check_same_thread=False)
    stack.callback(connection.close)
    return connection, int(connection.execute("PRAGMA user_version").fetchone()[0])


def _private_copy(path: Path, stack: contextlib.ExitStack) -> Path:
    """The database and its `-wal` in a temporary folder, also where the usual one is full; removed with `stack`."""
    import shutil
    import tempfile

    from nanomem_tui.store import atomic

    with contextlib.ExitStack() as held:
        lock = path.with_name("tiers.lock" if path.stem == "tiers" else "store.lock")
        if not atomic.holds(lock):
            with contextlib.suppress(AccessDenied, DiskFull):  # nobody else can lock it, or write, either
                held.enter_context(atomic.locked(lock))
        for base in (None, "/dev/shm"):  # noqa: S108  memory, where the disk is full
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-", dir=base))
            try:
                for name in (path.name, f"{path.name}-wal"):
                    shutil.copyfile(path.with_name(name), Path(folder, name))
            except OSError as error:
                if error.errno != errno.ENOSPC or base is not None or not os.path.isdir("/dev/shm"):  # noqa: S108
                    raise
                shutil.rmtree(folder)
            else:
                return Path(folder, path.name)
    raise AssertionError


def is_made(path: Path, newest: int | None = None) -> bool:
    """Whether there is a database; where making it was cut off there is a file, and still no database."""
    if not path.exists():
        return False
    try:
        with open_database(path, newest) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0]) > 0
    except (StoreError, AccessDenied):
        return True  # whoever reads it says what is wrong


def tolerant(data: bytes) -> str:
    """A text of the database, also where a bit flipped in it."""
    return data.decode("utf-8", "replace")


def fetched(connection: Connection, make: Make[R], query: str, values: Sequence[Any]) -> list[R]:
    """The rows of a query; a bit that flipped in a text costs a character, not the table."""
    try:
        return list(map(make, connection.execute(query, values)))
    except (sqlite3.OperationalError, UnicodeDecodeError) as error:
        if "decode" not in str(error).lower() or not isinstance(connection, sqlite3.Connection):
            raise
    connection.text_factory = tolerant
    return list(map(make, connection.execute(query, values)))


def items(connection: Connection, workspace_id: str, *, after_revision: int = -1) -> list[Item]:
    """Every item written after a revision, deleted ones too.

    All of them are read without an index: one that a flipped bit harmed would leave rows out.
    """
    return _rows(connection, Item._make, "item", workspace_id, after_revision)


def _rows(connection: Connection, make: Make[R], layer: str, workspace_id: str, after: int) -> list[R]:
    query = asked(connection, layer)
    if after < 0:
        return fetched(connection, make, _unindexed(connection, query), (workspace_id,))
    return fetched(connection, make, f"{query} AND revision > ?", (workspace_id, after))


def _unindexed(connection: Connection, query: str) -> str:
    return query.replace(" WHERE", f"{sql.unindexed(connection)} WHERE")


def items_by_id(connection: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, Item]:
    """The items of these ids that exist."""
    return {item.id: item for item in _by_id(connection, Item._make, "item", workspace_id, ids)}


def items_numbered(connection: Connection, workspace_id: str, numbers: Sequence[int]) -> dict[int, Item]:
    """The items of a server with these numbers that exist."""
    query = f"{asked(connection, 'item').replace(' FROM', ', number FROM', 1)} AND number = ANY(CAST(? AS bigint[]))"
    found = connection.execute(query, (workspace_id, [*numbers])) if numbers else ()
    return {row[-1]: Item._make(row[:-1]) for row in found}


def lessons_by_id(connection: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, Lesson]:
    """The lessons of these ids that exist."""
    return {lesson.id: lesson for lesson in _by_id(connection, Lesson._make, "lesson", workspace_id, ids)}


def records_by_id(connection: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, Record]:
    """The records of these ids that exist."""
    if not has_records(connection):
        return {}
    return {record.id: record for record in _by_id(connection, Record._make, "record", workspace_id, ids)}


def rows_by_id(connection: Connection, layer: str, workspace_id: str, ids: Sequence[str]) -> dict[str, AnyRow]:
    """The rows of a layer of these ids that exist."""
    read: dict[str, Callable[..., Mapping[str, AnyRow]]]
    read = {"item": items_by_id, "lesson": lessons_by_id, "record": records_by_id}
    return dict(read[layer](connection, workspace_id, ids))


def rows_of(connection: Connection, layer: str, workspace_id: str, *, after_revision: int = -1) -> Sequence[AnyRow]:
    """Every row of a layer written after a revision, deleted ones too."""
    read: dict[str, Callable[..., Sequence[AnyRow]]] = {"item": items, "lesson": lessons, "record": records}
    return read[layer](connection, workspace_id, after_revision=after_revision)


def all_rows(connection: Connection, workspace_id: str) -> tuple[list[Item], list[Lesson], list[Record]]:
    """Every row, by layer."""
    return items(connection, workspace_id), lessons(connection, workspace_id), records(connection, workspace_id)


def has_records(connection: Connection) -> bool:
    """Whether the database has the tables of schema 2; one of schema 1 gets them at the next change."""
    return sql.schema_version(connection) >= 2


def _by_id(
    connection: Connection, make: Make[R], layer: str, workspace_id: str, ids: Sequence[str]
) -> Iterator[R]:
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ",".join("?" * len(part))
        yield from fetched(connection, make, f"{asked(connection, layer)} AND id IN ({marks})", (workspace_id, *part))


def item_numbers(connection: Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, int]:
    """The places of these items in the full-text index; at most 500 ids."""
    if not ids:
        return {}
    query = f"SELECT id, number FROM memory_entries WHERE workspace_id = ? AND id IN ({','.join('?' * len(ids))})"
    return dict(fetched(connection, tuple, query, (workspace_id, *ids)))


def row_count(connection: Connection, workspace_id: str, *, by_index: bool = True) -> int:
    """How many rows of all layers there are, deleted ones too; not `by_index`: read one by one, as an index that a
    flipped bit harmed would leave some out."""
    query = "SELECT count(*) FROM {} WHERE workspace_id = ?"
    query = query if by_index else _unindexed(connection, query)
    tables = row_tables(connection)
    return sum(int(connection.execute(query.format(table), (workspace_id,)).fetchone()[0]) for table in tables)


def ids_of_text(connection: Connection, workspace_id: str, norm: str) -> list[str]:
    """The ids of the items with that normalised text (lower case, white space collapsed)."""
    import hashlib  # 3 ms, and only who asks for a text needs it

    key = hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest()
    query = "SELECT id FROM memory_entries WHERE workspace_id = ? AND content_hash = ?"
    return [row[0] for row in connection.execute(query, (workspace_id, key))]


def lessons(connection: Connection, workspace_id: str, *, after_revision: int = -1) -> list[Lesson]:
    """Every lesson written after a revision, deleted ones too; all of them without an index."""
    return _rows(connection, Lesson._make, "lesson", workspace_id, after_revision)


def records(connection: Connection, workspace_id: str, *, after_revision: int = -1, kind: str = "") -> list[Record]:
    """Every record written after a revision, deleted ones too, or those of a `kind` that are not deleted."""
    if not has_records(connection):
        return []
    if kind:
        query = f"{asked(connection, 'record')} AND is_deleted = 0 AND kind = ?"
        return fetched(connection, Record._make, query, (workspace_id, kind))
    return _rows(connection, Record._make, "record", workspace_id, after_revision)


def record_subjects(connection: Connection, workspace_id: str, kind: str) -> int:
    """How many different things the records of a kind are about."""
    query = "SELECT count(DISTINCT about) FROM records WHERE workspace_id = ? AND is_deleted = 0 AND kind = ?"
    return int(connection.execute(query, (workspace_id, kind)).fetchone()[0]) if has_records(connection) else 0


def row_hashes(connection: Connection, workspace_id: str) -> dict[str, str]:
    """What each row hashed to when it was written, by id; "" where it has a value that no such row may have."""
    found: dict[str, str] = {}
    for layer in ROW_TABLES if has_records(connection) else ("item", "lesson"):
        query = f"SELECT id, {hashed(connection, layer)} FROM {ROW_TABLES[layer]} WHERE workspace_id = ?"
        found |= dict(fetched(connection, tuple, _unindexed(connection, query), (workspace_id,)))
    return found


def hashed_rows(connection: Connection, workspace_id: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(layer, values in the order of its fields, and the hash that was written) of every row.

    Read by parts: a million rows at once would be a gigabyte.
    """
    for layer in ROW_TABLES if has_records(connection) else ("item", "lesson"):
        place, last = sql.place(connection)
        query = asked(connection, layer).replace(" FROM", f", {hashed(connection, layer)}, {place} FROM")
        part = f"{_unindexed(connection, query)} AND {place} > ? ORDER BY {place} LIMIT 5000"
        while rows := fetched(connection, tuple, part, (workspace_id, last)):
            last = rows[-1][-1]
            yield from ((layer, row[:-1]) for row in rows)


def newest_items(connection: Connection, workspace_id: str, limit: int) -> list[Item]:
    """The first page of the Items screen: active items, newest first, without reading the rest."""
    active = f"(enabled = 1 OR NOT {_with_inbox(connection)})"
    query = f"{asked(connection, 'item')} AND is_deleted = 0 AND {active} ORDER BY updated_at DESC LIMIT ?"
    return fetched(connection, Item._make, query, (workspace_id, limit))


def item_counts(connection: Connection, workspace_id: str) -> list[tuple[str, str, str, bool, int, int]]:
    """Counts of items by (kind, scope_type, source, enabled): how many there are, and how many of them wait in the
    inbox."""
    groups = "FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
    query = f"SELECT kind, scope_type, source, enabled, count(*) {groups} GROUP BY 1, 2, 3, 4"
    rows = fetched(connection, tuple, query, (workspace_id,))
    # Asked of disabled rows alone: the index answers the rest without a look at a row.
    waits = _with_inbox(connection)
    query = f"SELECT kind, scope_type, source, count(*) {groups} AND enabled = 0 AND {waits} GROUP BY 1, 2, 3"
    waiting = {(*group, 0): n for *group, n in fetched(connection, tuple, query, (workspace_id,))}
    return [(*map(_plain, row[:3]), bool(row[3]), row[4], waiting.get(row[:4], 0)) for row in rows]


def lesson_counts(connection: Connection, workspace_id: str) -> list[tuple[str, bool, int, int]]:
    """Counts of lessons by (scope, enabled): how many there are, and how many of them wait in the inbox."""
    query = (
        f"SELECT scope, enabled, count(*), sum(CASE WHEN enabled = 0 AND {_with_inbox(connection)} THEN 1 ELSE 0 END)"
        " FROM lessons WHERE workspace_id = ? AND is_deleted = 0 GROUP BY 1, 2"
    )
    rows = fetched(connection, tuple, query, (workspace_id,))
    return [(_plain(scope), bool(enabled), n, int(waits)) for scope, enabled, n, waits in rows]


def record_counts(connection: Connection, workspace_id: str) -> list[tuple[str, str, int, int, int]]:
    """Counts of records by (kind, source): how many there are, and of token use the requests and the tokens."""
    if not has_records(connection):
        return []
    requests, tokens = (
        f"sum(CASE WHEN kind = 'usage' THEN {sql.number_in(connection, 'meta_json', name)} ELSE 0 END)"
        for name in ("requests", "total_tokens")
    )
    query = (
        f"SELECT kind, source, count(*), {requests}, {tokens} FROM records"
        " WHERE workspace_id = ? AND is_deleted = 0 GROUP BY 1, 2"
    )
    rows = fetched(connection, tuple, query, (workspace_id,))
    return [(_plain(kind), _plain(source), n, int(times or 0), int(used or 0)) for kind, source, n, times, used in rows]


def _plain(value: Any) -> str:
    """A text of a group, whatever somebody put into the column."""
    return tolerant(value) if isinstance(value, bytes) else str(value)


def _with_inbox(connection: Connection) -> str:
    """`Item.waits` of a disabled row as SQL, for this connection."""
    if not isinstance(connection, sqlite3.Connection):
        return _WAITS_KEPT
    connection.create_function("says_why", 1, lambda data: says_why(data and tolerant(data)), deterministic=True)
    return _WAITS


def meta(connection: Connection, workspace_id: str) -> dict[str, str]:
    """The markers of a workspace, by name without its id; where one is not to be believed, what the tables say."""
    found = meta_as_found(connection, workspace_id)
    return counters.believed(found, counters.judged(connection, workspace_id, found))


def meta_as_found(connection: Connection, workspace_id: str) -> dict[str, Any]:
    """The same as they are in the table."""
    prefix = f"{workspace_id}:"
    query = "SELECT key, value FROM memory_meta WHERE key >= ? AND key < ?"
    rows = fetched(connection, tuple, query, (prefix, f"{workspace_id};"))  # the character behind the colon
    found = {key[len(prefix) :]: value for key, value in rows}
    head = found.get("chain")  # whatever it is, the operations are held against it
    return found | {"chain": tolerant(head)} if isinstance(head, bytes) else found


def seen(meta: Mapping[str, str]) -> dict[tuple[str, str], frozenset[str]]:
    """Layer and id of the rows that were written with operations of other processes that these have yet to write, and
    the ids of the operations."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for name, value in meta.items():
        if name.startswith(SEEN):
            layer, _, key = name.removeprefix(SEEN).partition(":")
            with contextlib.suppress(ValueError, TypeError):
                found[layer, key] = frozenset(map(str, json_text.loads(value)))
    return found


def seen_name(place: tuple[str, str]) -> str:
    """The marker of such a row."""
    return f"{SEEN}{place[0]}:{place[1]}"


def index_is_current(meta: Mapping[str, str]) -> bool:
    """Whether the full-text index holds what this version's tokenizer makes of the rows."""
    return meta.get("tokens") == str(tokens.VERSION)


def revision_of(meta: Mapping[str, str]) -> int:
    """The revision of the last checkpoint, 0 before the first."""
    return int(meta.get("revision", 0))


def foreign_rows(connection: Connection, workspace_id: str, source: str) -> dict[str, Any]:
    """What we remember of an agent's file, by id."""
    query = "SELECT id, raw_json FROM foreign_rows WHERE workspace_id = ? AND source = ?"
    found: dict[str, Any] = {}
    for key, raw in fetched(connection, tuple, query, (workspace_id, source)):
        with contextlib.suppress(ValueError, TypeError):
            found[key] = json_text.loads(raw)
    return found


def revision(connection: Connection, workspace_id: str) -> int:
    """The revision of the last checkpoint, 0 before the first."""
    return revision_of(meta(connection, workspace_id))
