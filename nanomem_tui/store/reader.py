"""Reads of the database through the driver alone: no SQLModel, no writes, no files left behind.

What commands that only read are made of. The column lists here are held to `models` by a test.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nanomem_tui.errors import AccessDenied, CorruptDatabase, NewerDatabase, StoreError
from nanomem_tui.operations import Operation
from nanomem_tui.store.values import Item, Lesson

SCHEMA_VERSION = 1
ITEM_COLUMNS = tuple("content" if name == "text" else name for name in Item._fields)
LESSON_COLUMNS = Lesson._fields
_ITEMS = f"SELECT {', '.join(ITEM_COLUMNS)} FROM memory_entries WHERE workspace_id = ?"
_LESSONS = f"SELECT {', '.join(LESSON_COLUMNS)} FROM lessons WHERE workspace_id = ?"


@dataclass(frozen=True, slots=True)
class StoredOperation:
    """An operation as the database has it; `seq` is its place in the order."""

    seq: int
    operation: Operation
    undone: bool


@contextlib.contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection. Raises NewerDatabase, CorruptDatabase or AccessDenied.

    Without a `-wal` beside it the file is opened as immutable, so that reading leaves no `-wal` and `-shm`.
    """
    wal = path.with_name(path.name + "-wal")
    flags = "mode=ro" if wal.exists() else "mode=ro&immutable=1"
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?{flags}", uri=True, timeout=5, check_same_thread=False)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            what = f"the database has schema {version}, this nanomem knows {SCHEMA_VERSION}"
            raise NewerDatabase(what, str(path), "install a newer nanomem; nothing was changed")
        yield connection
    except sqlite3.Error as error:
        raise database_error(error, path) from error
    finally:
        if connection is not None:
            connection.close()


def database_error(error: sqlite3.Error, path: Path) -> StoreError | AccessDenied:
    """The error of our tree for one of the driver's."""
    text = str(error).lower()
    if "unable to open" in text or "readonly" in text or "permission" in text:
        return AccessDenied("the database cannot be opened", str(path), "check its owner, mode and free space")
    if "locked" in text or "busy" in text:
        return StoreError("the database is locked by another process", str(path), "try again in a moment")
    if "full" in text:
        return StoreError("no space left for the database", str(path), "free some space; nothing was lost")
    fix = "run `nanomem doctor`; the file is kept as it is, copies are in backups/"
    return CorruptDatabase(f"the database cannot be read ({error})", str(path), fix)


def items(connection: sqlite3.Connection, workspace_id: str, *, after_revision: int = -1) -> list[Item]:
    """Every item written after a revision, deleted ones too."""
    cursor = connection.execute(f"{_ITEMS} AND revision > ?", (workspace_id, after_revision))
    return list(map(Item._make, cursor))


def items_by_id(connection: sqlite3.Connection, workspace_id: str, ids: Sequence[str]) -> dict[str, Item]:
    """The items of these ids that exist."""
    found: dict[str, Item] = {}
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ",".join("?" * len(part))
        rows = connection.execute(f"{_ITEMS} AND id IN ({marks})", (workspace_id, *part))
        found.update((item.id, item) for item in map(Item._make, rows))
    return found


def ids_of_text(connection: sqlite3.Connection, workspace_id: str, norm: str) -> list[str]:
    """The ids of the items with that normalised text (lower case, white space collapsed)."""
    key = hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest()
    query = "SELECT id FROM memory_entries WHERE workspace_id = ? AND content_hash = ?"
    return [row[0] for row in connection.execute(query, (workspace_id, key))]


def lessons(connection: sqlite3.Connection, workspace_id: str, *, after_revision: int = -1) -> list[Lesson]:
    """Every lesson written after a revision, deleted ones too."""
    cursor = connection.execute(f"{_LESSONS} AND revision > ?", (workspace_id, after_revision))
    return list(map(Lesson._make, cursor))


def newest_items(connection: sqlite3.Connection, workspace_id: str, limit: int) -> list[Item]:
    """The first page of the Items screen: active items, newest first, without reading the rest."""
    query = f"{_ITEMS} AND is_deleted = 0 ORDER BY updated_at DESC LIMIT ?"
    return list(map(Item._make, connection.execute(query, (workspace_id, limit))))


def item_counts(connection: sqlite3.Connection, workspace_id: str) -> list[tuple[str, str, str, bool, int]]:
    """Counts of active items by (kind, scope_type, source, enabled)."""
    query = (
        "SELECT kind, scope_type, source, enabled, count(*) FROM memory_entries"
        " WHERE workspace_id = ? AND is_deleted = 0 GROUP BY 1, 2, 3, 4"
    )
    return [(k, s, o, bool(e), n) for k, s, o, e, n in connection.execute(query, (workspace_id,))]


def lesson_counts(connection: sqlite3.Connection, workspace_id: str) -> list[tuple[str, bool, int]]:
    """Counts of active lessons by (scope, enabled)."""
    query = "SELECT scope, enabled, count(*) FROM lessons WHERE workspace_id = ? AND is_deleted = 0 GROUP BY 1, 2"
    return [(scope, bool(enabled), n) for scope, enabled, n in connection.execute(query, (workspace_id,))]


def operations(
    connection: sqlite3.Connection, workspace_id: str, *, limit: int, before: int | None = None, key: str | None = None
) -> list[StoredOperation]:
    """Operations newest first; `key`: only those that touched the thing of that key."""
    query = "SELECT o.seq, o.body_json, o.undone FROM operations o"
    values: list[Any] = []
    if key is not None:
        query += " JOIN operation_keys k ON k.workspace_id = o.workspace_id AND k.seq = o.seq AND k.key = ?"
        values.append(key)
    query += " WHERE o.workspace_id = ?"
    values.append(workspace_id)
    if before is not None:
        query += " AND o.seq < ?"
        values.append(before)
    rows = connection.execute(f"{query} ORDER BY o.seq DESC LIMIT ?", (*values, limit))
    return [StoredOperation(seq, Operation.from_json(json.loads(body)), bool(undone)) for seq, body, undone in rows]


def operation(connection: sqlite3.Connection, workspace_id: str, op_id: str) -> StoredOperation | None:
    """One operation by its id."""
    query = "SELECT seq, body_json, undone FROM operations WHERE workspace_id = ? AND id = ?"
    row = connection.execute(query, (workspace_id, op_id)).fetchone()
    return None if row is None else StoredOperation(row[0], Operation.from_json(json.loads(row[1])), bool(row[2]))


def known_operations(connection: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
    """Which of these operation ids the database already has."""
    known: set[str] = set()
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ",".join("?" * len(part))
        known.update(row[0] for row in connection.execute(f"SELECT id FROM operations WHERE id IN ({marks})", part))
    return known


def operation_count(connection: sqlite3.Connection, workspace_id: str) -> int:
    """How many operations the database has."""
    return int(
        connection.execute("SELECT count(*) FROM operations WHERE workspace_id = ?", (workspace_id,)).fetchone()[0]
    )


def meta(connection: sqlite3.Connection, workspace_id: str) -> dict[str, str]:
    """The markers of a workspace, by name without its id."""
    prefix = f"{workspace_id}:"
    rows = connection.execute("SELECT key, value FROM memory_meta WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
    return {key[len(prefix) :]: value for key, value in rows}


def foreign_rows(connection: sqlite3.Connection, workspace_id: str, source: str) -> dict[str, dict[str, Any]]:
    """The rows of an agent's file as we last saw them, by id."""
    query = "SELECT id, raw_json FROM foreign_rows WHERE workspace_id = ? AND source = ?"
    return {key: json.loads(raw) for key, raw in connection.execute(query, (workspace_id, source))}


def revision(connection: sqlite3.Connection, workspace_id: str) -> int:
    """The revision of the last checkpoint, 0 before the first."""
    return int(meta(connection, workspace_id).get("revision", 0))
