"""Moving operations and changed rows into the database in one transaction (seed 000 §Write path).

The cost grows with what changed. Imports SQLAlchemy: only what writes imports this module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.dialects.sqlite import insert as upsert

from nanomem_tui.operations import Operation
from nanomem_tui.store.merge_rows import merge_row, only_ours
from nanomem_tui.store.models import ForeignRow, LessonRow, MemoryEntry, Meta, OperationKey, OperationRow
from nanomem_tui.store.oplog import verdicts
from nanomem_tui.store.snapshot import DirtyRow
from nanomem_tui.store.values import Item, Lesson, Row, row_hash
from nanomem_tui.tokens import VERSION as TOKENS_VERSION
from nanomem_tui.tokens import tokens

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.store.agent_files import Memo

CHUNK = 500
ENTRIES = MemoryEntry.__table__  # type: ignore[attr-defined]
LESSONS = LessonRow.__table__  # type: ignore[attr-defined]
OPERATIONS = OperationRow.__table__  # type: ignore[attr-defined]
KEYS = OperationKey.__table__  # type: ignore[attr-defined]
FOREIGN = ForeignRow.__table__  # type: ignore[attr-defined]
META = Meta.__table__  # type: ignore[attr-defined]


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
    meta = _meta(connection, workspace_id)
    revision = int(meta.get("revision", 0)) + 1
    _insert_operations(connection, workspace_id, batch.operations)
    items = _write_items(connection, workspace_id, _of("item", batch), revision)
    lessons = _write_lessons(connection, workspace_id, _of("lesson", batch), revision)
    if meta.get("tokens") != str(TOKENS_VERSION):
        _rebuild_index(connection, workspace_id)
    markers = {"revision": str(revision), "tokens": str(TOKENS_VERSION), **batch.meta}
    remember(connection, workspace_id, batch.memos, markers)
    return Written([("item", i) for i in items] + [("lesson", lesson) for lesson in lessons], revision)


def remember(connection: Connection, workspace_id: str, memos: Sequence[Memo], meta: Mapping[str, str]) -> None:
    """Write what the agent's files hold now, and markers."""
    markers = dict(meta)
    for memo in memos:
        markers |= memo.marks()
        for source, rows in memo.rows().items():
            _replace_foreign(connection, workspace_id, source, rows)
    _set_meta(connection, workspace_id, markers)


def _rebuild_index(connection: Connection, workspace_id: str) -> None:
    """Write the full-text index anew from the rows: another version's tokenizer made it, or nobody did."""
    mine = "SELECT number FROM memory_entries WHERE workspace_id = :id"
    connection.execute(text(f"DELETE FROM memory_entries_fts WHERE rowid IN ({mine})"), {"id": workspace_id})
    query = select(ENTRIES.c.number, ENTRIES.c.id, ENTRIES.c.content)
    rows = connection.execute(query.where(ENTRIES.c.workspace_id == workspace_id, ENTRIES.c.is_deleted.is_(False)))
    for part in list(rows.partitions(CHUNK)):
        _index(connection, [(number, key, content) for number, key, content in part])


def _of(layer: str, batch: Batch) -> list[DirtyRow]:
    return [row for row in batch.rows if row.layer == layer]


def _write_items(connection: Connection, workspace_id: str, dirty: Sequence[DirtyRow], revision: int) -> list[Item]:
    number = int(connection.execute(select(func.coalesce(func.max(ENTRIES.c.number), 0))).scalar_one()) + 1
    columns = [ENTRIES.c["content" if name == "text" else name] for name in Item._fields]
    written: list[Item] = []
    for start in range(0, len(dirty), CHUNK):
        part = dirty[start : start + CHUNK]
        query = select(ENTRIES.c.number, *columns).where(
            ENTRIES.c.workspace_id == workspace_id, ENTRIES.c.id.in_([entry.row.id for entry in part])
        )
        present = {row[1]: (row[0], Item._make(row[1:])) for row in connection.execute(query)}
        values, fresh, stale = [], [], []
        for entry in part:
            found = present.get(entry.row.id)
            merged = _merged(entry, found[1] if found else None, revision)
            assert isinstance(merged, Item)
            place = found[0] if found else number
            number += found is None
            written.append(merged)
            values.append(_item_values(merged, workspace_id, place))
            if found is None or found[1].text != merged.text or found[1].is_deleted != merged.is_deleted:
                stale += [{"n": place}] if found else []
                fresh += [] if merged.is_deleted else [(place, merged.id, merged.text)]
        _upsert(connection, ENTRIES, values)
        if stale:
            connection.execute(text("DELETE FROM memory_entries_fts WHERE rowid = :n"), stale)
        _index(connection, fresh)
    return written


def _write_lessons(connection: Connection, workspace_id: str, dirty: Sequence[DirtyRow], revision: int) -> list[Lesson]:
    columns = [LESSONS.c[name] for name in Lesson._fields]
    written: list[Lesson] = []
    for start in range(0, len(dirty), CHUNK):
        part = dirty[start : start + CHUNK]
        query = select(*columns).where(
            LESSONS.c.workspace_id == workspace_id, LESSONS.c.id.in_([entry.row.id for entry in part])
        )
        present = {row[0]: Lesson._make(row) for row in connection.execute(query)}
        merged = [_merged(entry, present.get(entry.row.id), revision) for entry in part]
        _upsert(connection, LESSONS, [_lesson_values(row, workspace_id) for row in merged if isinstance(row, Lesson)])
        written += [row for row in merged if isinstance(row, Lesson)]
    return written


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
    norm = " ".join(content.lower().split())
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


def _upsert(connection: Connection, table: Any, values: Sequence[Mapping[str, Any]]) -> None:
    if not values:
        return
    statement = upsert(table)
    keys = [column.name for column in table.primary_key]
    changed = {name: statement.excluded[name] for name in values[0] if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed), list(values))


def _index(connection: Connection, rows: Sequence[tuple[int, str, str]]) -> None:
    if rows:
        connection.execute(
            text("INSERT INTO memory_entries_fts(rowid, entry_id, content) VALUES (:n, :id, :words)"),
            [{"n": n, "id": key, "words": " ".join(tokens(content))} for n, key, content in rows],
        )


def _insert_operations(connection: Connection, workspace_id: str, operations: Sequence[Operation]) -> None:
    known: set[str] = set()
    for start in range(0, len(operations), CHUNK):
        ids = [operation.id for operation in operations[start : start + CHUNK]]
        known.update(connection.execute(select(OPERATIONS.c.id).where(OPERATIONS.c.id.in_(ids))).scalars())
    fresh = [operation for operation in operations if operation.id not in known]
    if not fresh:
        return
    first = int(connection.execute(select(func.coalesce(func.max(OPERATIONS.c.seq), 0))).scalar_one()) + 1
    rows: list[dict[str, Any]] = []
    keys: list[dict[str, Any]] = []
    for seq, operation in enumerate(fresh, first):
        rows.append(
            {
                "seq": seq,
                "workspace_id": workspace_id,
                "id": operation.id,
                "at": operation.at,
                "actor": operation.actor,
                "kind": operation.kind,
                "label": operation.label.encode("utf-8", "replace").decode(),
                "touched": len(operation.changes),
                "body_json": _json(operation.to_json()),
                "undone": False,
            }
        )
        touched = dict.fromkeys((change.layer, change.key) for change in operation.changes)
        keys += [{"workspace_id": workspace_id, "layer": layer, "key": key, "seq": seq} for layer, key in touched]
    connection.execute(insert(OPERATIONS), rows)
    if keys:
        connection.execute(insert(KEYS), keys)
    for operation in fresh:
        for target, undone in verdicts(operation, lambda key: _operation(connection, key)):
            connection.execute(update(OPERATIONS).where(OPERATIONS.c.id == target).values(undone=undone))


def _operation(connection: Connection, op_id: str) -> Operation | None:
    body = connection.execute(select(OPERATIONS.c.body_json).where(OPERATIONS.c.id == op_id)).scalar()
    return Operation.from_json(json.loads(body)) if body is not None else None


def _json(value: Any) -> str:
    """JSON as a database takes it: a lone surrogate, which no UTF-8 holds, stays the escape it was."""
    written = json.dumps(value, ensure_ascii=False)
    return written.encode("utf-8", "backslashreplace").decode()


def _replace_foreign(connection: Connection, workspace_id: str, source: str, rows: Mapping[str, Any]) -> None:
    here = (FOREIGN.c.workspace_id == workspace_id, FOREIGN.c.source == source)
    connection.execute(delete(FOREIGN).where(*here))
    values = [
        {"workspace_id": workspace_id, "source": source, "id": key, "raw_json": _json(raw)} for key, raw in rows.items()
    ]
    if values:
        connection.execute(insert(FOREIGN), values)


def _meta(connection: Connection, workspace_id: str) -> dict[str, str]:
    prefix = f"{workspace_id}:"
    rows = connection.execute(select(META.c.key, META.c.value).where(META.c.key.startswith(prefix, autoescape=True)))
    return {key[len(prefix) :]: value for key, value in rows}


def _set_meta(connection: Connection, workspace_id: str, markers: Mapping[str, str]) -> None:
    rows = [{"key": f"{workspace_id}:{name}", "value": value} for name, value in markers.items()]
    _upsert(connection, META, rows)
