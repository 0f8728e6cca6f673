"""Moving operations and changed rows into the database in one transaction (seed 000 §Write path).

The cost grows with what changed. Goes through the driver, like `reader`: the schema is that of `models`, and a test
holds the two together.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nanomem_tui import tokens
from nanomem_tui.operations import Operation
from nanomem_tui.store import chain, counters, item_words, ledger, reader, sql, stored_operations
from nanomem_tui.store.merge_rows import merge_row
from nanomem_tui.store.oplog import verdicts
from nanomem_tui.store.provenance import UNKNOWN
from nanomem_tui.store.snapshot import DirtyRow, RowKey
from nanomem_tui.store.values import AnyRow, Item, Lesson, layer_of, row_hash
from nanomem_tui.text import normalised

if TYPE_CHECKING:
    from nanomem_tui.store.agent_files import Memo
    from nanomem_tui.store.sql import Connection

CHUNK = 500
MANY, ROOM = 5_000, 64_000
"""Rows from which a batch is an import, and the kilobytes of pages that it may hold in memory."""
VERDICT = "verdict:"
LAST = "last_seq"
"""The marker of the place of the newest operation: the table of keys has no index by it."""
COUNT = "operations"
"""The marker of how many operations were written, which is told beside the database too."""
OLD_INDEX = "old"
"""The marker of an index that lacks rows."""
OPERATION = ("seq", "workspace_id", "id", "at", "actor", "kind", "label", "touched", "body_json", "undone")


@dataclass(frozen=True, slots=True)
class Batch:
    """What one checkpoint writes; `memos`: what it is to remember of the agent's files; `lines`: the operations as the
    ledger has them, where they are encoded already; `back`: rows that were written once, and were taken out of the
    database behind our back; `recount`: their number was not kept right; `anew`: rows to write in every column."""

    operations: Sequence[Operation]
    rows: Sequence[DirtyRow]
    memos: Sequence[Memo] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[bytes] = ()
    back: frozenset[RowKey] = frozenset()
    recount: bool = False
    anew: frozenset[RowKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Written:
    """The rows as the database has them after a checkpoint, its revision, and whether the full-text index has them.
    `operations`: how many the database has now, None where none was written."""

    rows: Sequence[tuple[str, AnyRow]]
    revision: int
    indexed: bool = True
    operations: int | None = None


def write(connection: Connection, workspace_id: str, batch: Batch) -> Written:
    """Write one batch in the transaction of `connection`. Raises the driver's errors.

    An index that another version's tokenizer made is left alone, and marked as old: `reindex` makes it anew without
    keeping others from writing.
    """
    meta = counters.mended(connection, workspace_id, reader.meta_as_found(connection, workspace_id))
    revision = reader.revision_of(meta) + 1
    indexed = reader.index_is_current(meta) or ("tokens" not in meta and _has_none(connection, workspace_id))
    counted_already = _lacking(connection, workspace_id, batch)
    with _room_for(connection, len(batch.rows)):
        waiting = _insert_operations(connection, workspace_id, batch, meta)
        items, new_items = _write_items(connection, workspace_id, batch, revision, indexed=indexed)
        lessons, new_lessons = _write_rows(connection, workspace_id, "lesson", batch, revision)
        records, new_records = _write_rows(connection, workspace_id, "record", batch, revision)
    new = new_items + new_lessons + new_records - counted_already
    counted = int(meta["rows"]) + new if "rows" in meta and not batch.recount else None
    rows = reader.row_count(connection, workspace_id) if counted is None else counted
    made_by = str(tokens.VERSION) if indexed else OLD_INDEX
    seen = _mark_seen(connection, workspace_id, batch, meta)
    markers = {"revision": str(revision), "tokens": made_by, "rows": str(rows), **seen, **waiting, **batch.meta}
    remember(connection, workspace_id, batch.memos, markers)
    written: list[tuple[str, AnyRow]] = [("item", item) for item in items]
    operations = int(waiting[COUNT]) if COUNT in waiting else None
    return Written([*written, *lessons, *records], revision, indexed, operations)


def _lacking(connection: Connection, workspace_id: str, batch: Batch) -> int:
    """How many rows of the batch are new to the database, and were counted when they were written the first time."""
    there = {(row.layer, row.row.id) for row in batch.rows} & batch.back
    by_layer: dict[str, list[str]] = {}
    for layer, key in there:
        by_layer.setdefault(layer, []).append(key)
    return sum(
        len(keys) - len(reader.rows_by_id(connection, layer, workspace_id, keys)) for layer, keys in by_layer.items()
    )


def _has_none(connection: Connection, workspace_id: str) -> bool:
    query = "SELECT 1 FROM memory_entries WHERE workspace_id = ? LIMIT 1"
    return connection.execute(query, (workspace_id,)).fetchone() is None


@contextlib.contextmanager
def _room_for(connection: Connection, rows: int) -> Iterator[None]:
    """Memory for many rows: their indexes are written in no order, and pages that do not fit are written twice."""
    if rows <= MANY or not sql.is_sqlite(connection):
        yield
        return
    before = connection.execute("PRAGMA cache_size").fetchone()[0]
    connection.execute(f"PRAGMA cache_size = -{ROOM}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA cache_size = {before}")


def remember(connection: Connection, workspace_id: str, memos: Sequence[Memo], meta: Mapping[str, str]) -> None:
    """Write what the agent's files hold now, and markers."""
    markers = dict(meta)
    for memo in memos:
        markers |= memo.marks()
        for source, rows in memo.rows().items():
            _replace_foreign(connection, workspace_id, source, rows)
    values = [{"key": f"{workspace_id}:{name}", "value": value} for name, value in markers.items()]
    _upsert(connection, "memory_meta", ("key",), values)


def _of(layer: str, batch: Batch) -> list[DirtyRow]:
    return [row for row in batch.rows if row.layer == layer]


def _write_items(
    connection: Connection, workspace_id: str, batch: Batch, revision: int, *, indexed: bool
) -> tuple[list[Item], int]:
    """The items as written, and how many of them are new."""
    dirty = _of("item", batch)
    number = first = sql.next_number(connection, "memory_entries", "number", workspace_id)
    words = item_words.of(connection)
    insert = _inserting("memory_entries", (*_ITEM_NAMES, *words.columns))
    written: list[Item] = []
    for start in range(0, len(dirty), CHUNK):
        part = dirty[start : start + CHUNK]
        ids = [entry.row.id for entry in part]
        present = reader.items_by_id(connection, workspace_id, ids)
        places = reader.item_numbers(connection, workspace_id, list(present))
        new: list[tuple[Any, ...]] = []
        changed: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        index: list[item_words.Changed] = []
        for entry in part:
            found = present.get(entry.row.id)
            merged = _merged(entry, found, revision)
            assert isinstance(merged, Item)
            place = places[merged.id] if found is not None else number
            number += found is None
            written.append(merged)
            values = (*_item_values(merged, workspace_id, place), *words.values(merged))
            if found is None:
                new.append(values)
            else:
                names = _ALL_OF_ITEM if ("item", merged.id) in batch.anew else _changed_columns(found, merged)
                names += words.named(names)
                by_name = dict(zip((*_ITEM_NAMES, *words.columns), values, strict=True))
                changed.setdefault(names, []).append((*(by_name[name] for name in names), workspace_id, place))
            index.append(item_words.Changed(place, found, merged))
        connection.executemany(insert, new)
        for names, rows in changed.items():
            connection.executemany(_item_update(names), rows)
        words.write(connection, workspace_id, index, current=indexed)
    return written, number - first


def _write_rows(
    connection: Connection, workspace_id: str, layer: str, batch: Batch, revision: int
) -> tuple[list[tuple[str, AnyRow]], int]:
    """The lessons or records as written, and how many of them are new."""
    dirty = _of(layer, batch)
    written: list[tuple[str, AnyRow]] = []
    new = 0
    for start in range(0, len(dirty), CHUNK):
        part = dirty[start : start + CHUNK]
        present = reader.rows_by_id(connection, layer, workspace_id, [entry.row.id for entry in part])
        rows = [_merged(entry, present.get(entry.row.id), revision) for entry in part]
        values = [_values(connection, row, workspace_id) for row in rows]
        _upsert(connection, reader.ROW_TABLES[layer], ("workspace_id", "id"), values)
        written += [(layer, row) for row in rows]
        new += len(rows) - len(present)
    return written, new


def _merged(entry: DirtyRow, present: AnyRow | None, revision: int) -> AnyRow:
    row = entry.row
    if present is not None and present.revision != row.revision:
        row = merge_row(entry.base, row, present)
    return _sourced(row)._replace(revision=revision)


def _sourced(row: AnyRow) -> AnyRow:
    """An item with a source; a lesson stays as its agent wrote it."""
    return row._replace(source=UNKNOWN) if isinstance(row, Item) and not row.source else row


def _mark_seen(connection: Connection, workspace_id: str, batch: Batch, meta: Mapping[str, str]) -> dict[str, str]:
    """Markers of the rows that are in the database with what other processes have yet to write, until they do."""
    seen = {place: set(ids) for place, ids in reader.seen(meta).items()}
    for entry in batch.rows:
        if entry.effects:
            seen.setdefault((entry.layer, entry.row.id), set()).update(entry.effects)
    ids = [*set().union(*seen.values())]
    known = stored_operations.known_operations(connection, workspace_id, ids)
    left = {place: sorted(ids - known) for place, ids in seen.items()}
    gone = [(f"{workspace_id}:{reader.seen_name(place)}",) for place, ids in left.items() if not ids]
    connection.executemany("DELETE FROM memory_meta WHERE key = ?", gone)
    return {reader.seen_name(place): json.dumps(ids) for place, ids in left.items() if ids}


def _item_values(item: Item, workspace_id: str, number: int) -> tuple[Any, ...]:
    """The values of a row in the order of `_ITEM_NAMES`."""
    return (*item, workspace_id, number, *kept_values(item))


def kept_values(item: Item) -> tuple[str, str, str]:
    """What is kept beside an item: its text as it is compared, the hash of that, and the hash of the row."""
    norm = normalised(item.text)
    return norm, hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest(), row_hash(item)


def _values(connection: Connection, row: AnyRow, workspace_id: str) -> dict[str, Any]:
    """The values of a lesson or a record by column."""
    truths = {name: bool(value) for name, value in row._asdict().items() if name in ("enabled", "is_deleted")}
    if isinstance(row, Lesson) and not sql.is_sqlite(connection):
        truths["waits"] = row.waits
    return {**row._asdict(), **truths, "workspace_id": workspace_id, "row_hash": row_hash(row)}


def _upsert(connection: Connection, table: str, keys: Sequence[str], values: Sequence[Mapping[str, Any]]) -> None:
    if values:
        rows = [tuple(row.values()) for row in values]
        connection.executemany(_upserting(table, keys, list(values[0])), rows)


def _upserting(table: str, keys: Sequence[str], names: Sequence[str]) -> str:
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
    return f"{_inserting(table, names)} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changed}"


def _inserting(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


_ALL_OF_ITEM = (*reader.ITEM_COLUMNS, "content_norm", "content_hash", "row_hash")
_ITEM_NAMES = (*reader.ITEM_COLUMNS, "workspace_id", "number", "content_norm", "content_hash", "row_hash")


def rewrite(connection: Connection, workspace_id: str, row: AnyRow) -> None:
    """Write a row that is there anew, with its hash and its place in the full-text index."""
    row = _sourced(row)
    if not isinstance(row, Item):
        values = [_values(connection, row, workspace_id)]
        _upsert(connection, reader.ROW_TABLES[layer_of(row)], ("workspace_id", "id"), values)
        return
    words, before = item_words.of(connection), reader.items_by_id(connection, workspace_id, [row.id])[row.id]
    place = reader.item_numbers(connection, workspace_id, [row.id])[row.id]
    names = (*_ALL_OF_ITEM, *words.columns)
    found = (*_item_values(row, workspace_id, place), *words.values(row))
    by_name = dict(zip((*_ITEM_NAMES, *words.columns), found, strict=True))
    connection.execute(_item_update(names), (*(by_name[name] for name in names), workspace_id, place))
    current = reader.index_is_current(reader.meta(connection, workspace_id))
    words.write(connection, workspace_id, [item_words.Changed(place, before, row)], current=current)


def remove(connection: Connection, workspace_id: str, layer: str, key: str) -> None:
    """Take a row out, with its place in the full-text index."""
    if layer == "item":
        before = reader.items_by_id(connection, workspace_id, [key])[key]
        place = reader.item_numbers(connection, workspace_id, [key])[key]
        gone = [item_words.Changed(place, before, before._replace(is_deleted=True))]
        current = reader.index_is_current(reader.meta(connection, workspace_id))
        item_words.of(connection).write(connection, workspace_id, gone, current=current)
    connection.execute(f"DELETE FROM {reader.ROW_TABLES[layer]} WHERE workspace_id = ? AND id = ?", (workspace_id, key))


def _changed_columns(before: Item, after: Item) -> tuple[str, ...]:
    """What an update has to name: an index of a column that is named is written, whether its value changed or not."""
    names = [name for name, old, new in zip(reader.ITEM_COLUMNS, before, after, strict=True) if old != new]
    if "content" in names:
        names += ["content_norm", "content_hash"]
    return (*names, "row_hash")


def _item_update(names: tuple[str, ...]) -> str:
    named = ", ".join(f"{name} = ?" for name in names)
    return f"UPDATE memory_entries SET {named} WHERE workspace_id = ? AND number = ?"


def _insert_operations(
    connection: Connection, workspace_id: str, batch: Batch, meta: Mapping[str, str]
) -> dict[str, str]:
    """Markers: the head of the chain, and what was undone or redone before it was written here, by a process that has
    yet to write it."""
    known = stored_operations.known(connection, workspace_id, batch.operations)
    fresh = list({operation.id: operation for operation in batch.operations if operation.id not in known}.values())
    lines = dict(zip((operation.id for operation in batch.operations), batch.lines, strict=False))
    if not fresh:
        return {}
    head = meta[chain.MARK] if chain.MARK in meta else chain.of(connection, workspace_id)
    there = stored_operations.last_position(connection, workspace_id)
    before = meta.get(COUNT, "")
    written = _last_written(connection, workspace_id, meta)
    first = max(sql.next_number(connection, "operations", "seq", workspace_id), written + 1)
    rows: list[tuple[Any, ...]] = []
    keys: list[tuple[Any, ...]] = []
    for seq, o in enumerate(fresh, first):
        rows.append(operation_row(workspace_id, seq, o, body_of(o, lines.get(o.id))))
        keys += operation_keys(workspace_id, seq, o)
    insert_operations(connection, rows, keys)
    judge = "UPDATE operations SET undone = ? WHERE workspace_id = ? AND id = ?"
    for operation in fresh:
        if (verdict := meta.get(f"{VERDICT}{operation.id}")) is not None:
            connection.execute(judge, (verdict == "undone", workspace_id, operation.id))
            connection.execute("DELETE FROM memory_meta WHERE key = ?", (f"{workspace_id}:{VERDICT}{operation.id}",))
    bodies = [(str(row[2]), str(row[8])) for row in rows]
    waiting = {chain.MARK: chain.extended(head, bodies), LAST: str(first + len(rows) - 1)}
    if not before.isdigit() or written > there:  # the first time, or some were taken out
        before = str(stored_operations.operation_count(connection, workspace_id) - len(rows))
    waiting[COUNT] = str(int(before) + len(rows))
    if written > there and (mended := chain.mended(connection, workspace_id, head, bodies, there + 1)):
        waiting[chain.MARK] = mended
    for operation in fresh:
        for target, undone in verdicts(operation, _finder(connection, workspace_id)):
            if not connection.execute(judge, (undone, workspace_id, target)).rowcount:
                waiting[f"{VERDICT}{target}"] = "undone" if undone else "stands"
    return waiting


def operation_row(workspace_id: str, seq: int, one: Operation, body: str, *, undone: bool = False) -> tuple[Any, ...]:
    """The values of an operation at its place, in the order of `OPERATION`."""
    label = one.label.encode("utf-8", "replace").decode()
    return (seq, workspace_id, one.id, one.at, one.actor, one.kind, label, len(one.changes), body, undone)


def operation_keys(workspace_id: str, seq: int, one: Operation) -> list[tuple[Any, ...]]:
    """What it touched, each as a row of the table that finds it by that."""
    touched = dict.fromkeys((change.layer, change.key) for change in one.changes)
    return [(workspace_id, layer, key, seq) for layer, key in touched]


def insert_operations(connection: Connection, rows: Sequence[tuple[Any, ...]], keys: Sequence[tuple[Any, ...]]) -> None:
    """Write operations and what they touched. Raises the driver's errors."""
    connection.executemany(_inserting("operations", OPERATION), rows)
    kept = "INSERT INTO operation_keys (workspace_id, layer, key, seq) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    connection.executemany(kept, keys)


def _last_written(connection: Connection, workspace_id: str, meta: Mapping[str, str]) -> int:
    """The place of the newest operation that was ever written: it may have been taken out, and its keys be there."""
    if meta.get(LAST, "").isdigit():
        return int(meta[LAST])
    query = "SELECT coalesce(max(seq), 0) FROM operation_keys WHERE workspace_id = ?"  # of an older release, once
    return int(connection.execute(query, (workspace_id,)).fetchone()[0])


def _finder(connection: Connection, workspace_id: str) -> Callable[[str], Operation | None]:
    def find(op_id: str) -> Operation | None:
        query = "SELECT body_json FROM operations WHERE workspace_id = ? AND id = ?"
        row = connection.execute(query, (workspace_id, op_id)).fetchone()
        return Operation.from_json(json.loads(row[0])) if row is not None else None

    return find


def body_of(operation: Operation, line: bytes | None) -> str:
    """The operation as JSON: that of its line, where it is UTF-8."""
    if line is not None:
        with contextlib.suppress(UnicodeDecodeError):
            return ledger.body_of(line).decode()
    return as_json(operation.to_json())


def as_json(value: Any) -> str:
    """JSON as a database takes it: a lone surrogate, which no UTF-8 holds, stays the escape it was."""
    written = json.dumps(value, ensure_ascii=False)
    return written.encode("utf-8", "backslashreplace").decode()


def _replace_foreign(connection: Connection, workspace_id: str, source: str, rows: Mapping[str, Any]) -> None:
    connection.execute("DELETE FROM foreign_rows WHERE workspace_id = ? AND source = ?", (workspace_id, source))
    connection.executemany(
        "INSERT INTO foreign_rows (workspace_id, source, id, raw_json) VALUES (?, ?, ?, ?)",
        [(workspace_id, source, key, as_json(raw)) for key, raw in rows.items()],
    )
