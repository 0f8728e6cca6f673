"""Moving operations and changed rows into the database in one transaction (seed 000 §Write path).

The cost grows with what changed. Goes through the driver, like `reader`: the schema is that of `models`, and a test
holds the two together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nanomem_tui.operations import Operation
from nanomem_tui.store import reader
from nanomem_tui.store.merge_rows import merge_row, only_ours
from nanomem_tui.store.oplog import verdicts
from nanomem_tui.store.snapshot import DirtyRow
from nanomem_tui.store.values import Item, Lesson, Row, row_hash
from nanomem_tui.text import normalised
from nanomem_tui.tokens import VERSION as TOKENS_VERSION
from nanomem_tui.tokens import tokens

if TYPE_CHECKING:
    from sqlite3 import Connection

    from nanomem_tui.store.agent_files import Memo

CHUNK = 500
_OPERATION = ("seq", "workspace_id", "id", "at", "actor", "kind", "label", "touched", "body_json", "undone")


@dataclass(frozen=True, slots=True)
class Batch:
    """What one checkpoint writes; `memos`: what it is to remember of the agent's files."""

    operations: Sequence[Operation]
    rows: Sequence[DirtyRow]
    memos: Sequence[Memo] = ()
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """The rows as the database has them after a checkpoint, and its revision."""

    rows: Sequence[tuple[str, Row]]
    revision: int


def write(connection: Connection, workspace_id: str, batch: Batch) -> Written:
    """Write one batch in the transaction of `connection`. Raises the driver's errors."""
    meta = reader.meta(connection, workspace_id)
    revision = reader.revision_of(meta) + 1
    _insert_operations(connection, workspace_id, batch.operations)
    items, new_items = _write_items(connection, workspace_id, _of("item", batch), revision)
    lessons, new_lessons = _write_lessons(connection, workspace_id, _of("lesson", batch), revision)
    if meta.get("tokens") != str(TOKENS_VERSION):
        _rebuild_index(connection, workspace_id)
    counted = int(meta["rows"]) + new_items + new_lessons if meta.get("rows", "").isdigit() else None
    rows = reader.row_count(connection, workspace_id) if counted is None else counted
    markers = {"revision": str(revision), "tokens": str(TOKENS_VERSION), "rows": str(rows), **batch.meta}
    remember(connection, workspace_id, batch.memos, markers)
    return Written([("item", i) for i in items] + [("lesson", lesson) for lesson in lessons], revision)


def remember(connection: Connection, workspace_id: str, memos: Sequence[Memo], meta: Mapping[str, str]) -> None:
    """Write what the agent's files hold now, and markers."""
    markers = dict(meta)
    for memo in memos:
        markers |= memo.marks()
        for source, rows in memo.rows().items():
            _replace_foreign(connection, workspace_id, source, rows)
    values = [{"key": f"{workspace_id}:{name}", "value": value} for name, value in markers.items()]
    _upsert(connection, "memory_meta", ("key",), values)


def _rebuild_index(connection: Connection, workspace_id: str) -> None:
    """Write the full-text index anew from the rows: another version's tokenizer made it, or nobody did."""
    mine = "SELECT number FROM memory_entries WHERE workspace_id = ?"
    connection.execute(f"DELETE FROM memory_entries_fts WHERE rowid IN ({mine})", (workspace_id,))
    query = "SELECT number, id, content FROM memory_entries WHERE workspace_id = ? AND is_deleted = 0"
    _index(connection, connection.execute(query, (workspace_id,)).fetchall())


def _of(layer: str, batch: Batch) -> list[DirtyRow]:
    return [row for row in batch.rows if row.layer == layer]


def _write_items(
    connection: Connection, workspace_id: str, dirty: Sequence[DirtyRow], revision: int
) -> tuple[list[Item], int]:
    """The items as written, and how many of them are new."""
    number = int(connection.execute("SELECT coalesce(max(number), 0) FROM memory_entries").fetchone()[0]) + 1
    first = number
    written: list[Item] = []
    for start in range(0, len(dirty), CHUNK):
        part = dirty[start : start + CHUNK]
        ids = [entry.row.id for entry in part]
        present = reader.items_by_id(connection, workspace_id, ids)
        places = reader.item_numbers(connection, workspace_id, list(present))
        values, fresh, stale = [], [], []
        for entry in part:
            found = present.get(entry.row.id)
            merged = _merged(entry, found, revision)
            assert isinstance(merged, Item)
            place = places[merged.id] if found is not None else number
            number += found is None
            written.append(merged)
            values.append(_item_values(merged, workspace_id, place))
            if found is None or found.text != merged.text or found.is_deleted != merged.is_deleted:
                stale += [(place,)] if found is not None else []
                fresh += [] if merged.is_deleted else [(place, merged.id, merged.text)]
        _upsert(connection, "memory_entries", ("workspace_id", "id"), values)
        connection.executemany("DELETE FROM memory_entries_fts WHERE rowid = ?", stale)
        _index(connection, fresh)
    return written, number - first


def _write_lessons(
    connection: Connection, workspace_id: str, dirty: Sequence[DirtyRow], revision: int
) -> tuple[list[Lesson], int]:
    """The lessons as written, and how many of them are new."""
    written: list[Lesson] = []
    new = 0
    for start in range(0, len(dirty), CHUNK):
        part = dirty[start : start + CHUNK]
        present = reader.lessons_by_id(connection, workspace_id, [entry.row.id for entry in part])
        merged = [_merged(entry, present.get(entry.row.id), revision) for entry in part]
        rows = [row for row in merged if isinstance(row, Lesson)]
        _upsert(connection, "lessons", ("workspace_id", "id"), [_lesson_values(row, workspace_id) for row in rows])
        written += rows
        new += len(rows) - len(present)
    return written, new


def _merged(entry: DirtyRow, present: Row | None, revision: int) -> Row:
    row = entry.row
    if entry.base is not None and entry.beneath is not None:
        row = only_ours(entry.base, row, present or entry.beneath)
    elif present is not None and present.revision != row.revision:
        row = merge_row(entry.base, row, present)
    return row._replace(revision=revision)


def _item_values(item: Item, workspace_id: str, number: int) -> dict[str, Any]:
    values = item._asdict()
    content = values.pop("text")
    norm = normalised(content)
    values.update(
        workspace_id=workspace_id,
        number=number,
        content=content,
        content_norm=norm,
        content_hash=hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest(),
        enabled=bool(item.enabled),
        pinned=bool(item.pinned),
        is_deleted=bool(item.is_deleted),
        row_hash=row_hash(item),
    )
    return values


def _lesson_values(lesson: Lesson, workspace_id: str) -> dict[str, Any]:
    values = lesson._asdict()
    values.update(
        workspace_id=workspace_id,
        enabled=bool(lesson.enabled),
        is_deleted=bool(lesson.is_deleted),
        row_hash=row_hash(lesson),
    )
    return values


def _upsert(connection: Connection, table: str, keys: Sequence[str], values: Sequence[Mapping[str, Any]]) -> None:
    if not values:
        return
    names = list(values[0])
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
    marks = ", ".join(f":{name}" for name in names)
    connection.executemany(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        f" ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changed}",
        values,
    )


def _index(connection: Connection, rows: Iterable[tuple[int, str, str]]) -> None:
    connection.executemany(
        "INSERT INTO memory_entries_fts(rowid, entry_id, content) VALUES (?, ?, ?)",
        [(number, key, " ".join(tokens(content))) for number, key, content in rows],
    )


def _insert_operations(connection: Connection, workspace_id: str, operations: Sequence[Operation]) -> None:
    known = reader.known_operations(connection, [operation.id for operation in operations])
    fresh = list({operation.id: operation for operation in operations if operation.id not in known}.values())
    if not fresh:
        return
    first = int(connection.execute("SELECT coalesce(max(seq), 0) FROM operations").fetchone()[0]) + 1
    rows: list[tuple[Any, ...]] = []
    keys: list[tuple[Any, ...]] = []
    for seq, o in enumerate(fresh, first):
        label = o.label.encode("utf-8", "replace").decode()
        touched = dict.fromkeys((change.layer, change.key) for change in o.changes)
        body = _json(o.to_json())
        rows.append((seq, workspace_id, o.id, o.at, o.actor, o.kind, label, len(o.changes), body, False))
        keys += [(workspace_id, layer, key, seq) for layer, key in touched]
    marks = ", ".join("?" * len(_OPERATION))
    connection.executemany(f"INSERT INTO operations ({', '.join(_OPERATION)}) VALUES ({marks})", rows)
    connection.executemany("INSERT INTO operation_keys (workspace_id, layer, key, seq) VALUES (?, ?, ?, ?)", keys)
    for operation in fresh:
        for target, undone in verdicts(operation, _finder(connection)):
            connection.execute("UPDATE operations SET undone = ? WHERE id = ?", (undone, target))


def _finder(connection: Connection) -> Callable[[str], Operation | None]:
    def find(op_id: str) -> Operation | None:
        row = connection.execute("SELECT body_json FROM operations WHERE id = ?", (op_id,)).fetchone()
        return Operation.from_json(json.loads(row[0])) if row is not None else None

    return find


def _json(value: Any) -> str:
    """JSON as a database takes it: a lone surrogate, which no UTF-8 holds, stays the escape it was."""
    written = json.dumps(value, ensure_ascii=False)
    return written.encode("utf-8", "backslashreplace").decode()


def _replace_foreign(connection: Connection, workspace_id: str, source: str, rows: Mapping[str, Any]) -> None:
    connection.execute("DELETE FROM foreign_rows WHERE workspace_id = ? AND source = ?", (workspace_id, source))
    connection.executemany(
        "INSERT INTO foreign_rows (workspace_id, source, id, raw_json) VALUES (?, ?, ?, ?)",
        [(workspace_id, source, key, _json(raw)) for key, raw in rows.items()],
    )
