"""Files of the RAM-first system (seed 000) and the database of the scoped system (seed 001), read and written.

The tables and files are written exactly as those systems do, so that each opens them as its own. What their tables
have no column for is kept in the free fields, under `nanomem`.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from nanomem_tui.agents.databases import Raw, Tables, open_tables
from nanomem_tui.core.errors import BadInput, Problem
from nanomem_tui.memory.transfer import import_plan
from nanomem_tui.memory.transfer.import_plan import Found, Reading
from nanomem_tui.store.files.exchange import SOURCES, Source, global_scope
from nanomem_tui.store.files.exchange import Raw as exchange_Raw
from nanomem_tui.store.values import AnyRow, Item, Lesson, Record, Row, dumped

TABLE = "memory_entries"
LOST = "lessons, what is disabled, and the earlier values of facts; hits, pin and session only nanomem reads back"
NO_COLUMN = ("session_key", "hits", "pinned")
OWN = "nanomem"
"""The free field that holds what the system has no column for."""
_COLUMNS = (
    "id", "workspace_id", "scope_type", "scope_key", "channel", "chat_id", "sender_id", "kind", "content",
    "content_norm", "content_hash", "importance", "confidence", "source", "source_message_id", "source_role",
    "meta_json", "created_at", "updated_at", "last_accessed_at", "expires_at", "is_deleted",
)  # fmt: skip
_DDL = """
CREATE TABLE memory_entries (id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, scope_type TEXT NOT NULL,
    scope_key TEXT NOT NULL, channel TEXT, chat_id TEXT, sender_id TEXT, kind TEXT NOT NULL, content TEXT NOT NULL,
    content_norm TEXT NOT NULL, content_hash TEXT NOT NULL, importance REAL NOT NULL, confidence REAL NOT NULL,
    source TEXT NOT NULL, source_message_id TEXT, source_role TEXT, meta_json TEXT NOT NULL DEFAULT '{}', created_at
    TEXT NOT NULL, updated_at TEXT NOT NULL, last_accessed_at TEXT, expires_at TEXT, is_deleted INTEGER NOT NULL
    DEFAULT 0);
CREATE INDEX idx_memory_scope_kind_updated ON memory_entries (workspace_id, scope_key, kind, is_deleted,
    updated_at DESC);
CREATE UNIQUE INDEX idx_memory_dedupe_active ON memory_entries (workspace_id, scope_key, kind, content_hash,
    is_deleted);
CREATE TABLE memory_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE VIRTUAL TABLE memory_entries_fts USING fts5(entry_id UNINDEXED, content);
"""
_LESSON_COLUMNS = ("workspace_id", *(name for name in Lesson._fields if name != "revision"))
_RECORD_COLUMNS = ("workspace_id", *(name for name in Record._fields if name != "revision"))
_FIELDS = frozenset(name for name in Item._fields if name not in ("revision", *NO_COLUMN, "enabled"))


def read_scoped(path: Path, where: str, workspace_id: str, folder_id: str, source_workspace: str = "") -> Reading:
    """Return the active rows of the database; its deleted ones are counted.

    One database serves several workspaces. `source_workspace` names the one to read; else it is the one of this
    folder (`folder_id`), or the only one there is. Raises BadInput when that does not settle it, and what opening does.
    """
    columns = ("workspace_id", *(name if name != "text" else "content" for name in Item._fields if name != "revision"))
    with open_tables(path, where) as source:
        ours = {"operations", "lessons"} <= source.names
        entries = list(source.rows(TABLE, columns))
        learned = list(source.rows("lessons", _LESSON_COLUMNS)) if ours else []
        happened = list(source.rows("records", _RECORD_COLUMNS)) if ours else []
        if ours and "meta" in source.names:
            _complete(source, entries, learned, happened)
        problems = source.problems
    wanted = _workspace(entries, (source_workspace, workspace_id, folder_id), path)
    found: list[Found] = []
    deleted = elsewhere = 0
    for number, raw in entries:
        if raw.get("workspace_id", wanted) != wanted:
            elsewhere += 1
            continue
        raw["text"] = raw.pop("content", None)
        try:
            row, note = import_plan.item(raw if ours else _unpacked(raw), workspace_id, ours=ours)
        except import_plan.BadRow as error:
            problems.append(Problem(f"row {number} ({str(raw.get('id'))[:60]}): {error}", where))
            continue
        deleted += row.is_deleted
        if not row.is_deleted:
            found.append(Found(row, f"row {number}", note))
    notes = [f"{elsewhere:,} rows of other workspaces are left out"] if elsewhere else []
    if ours:
        deleted += _others("lesson", import_plan.lesson, learned, where, wanted, found, problems)
        deleted += _others("record", import_plan.record, happened, where, wanted, found, problems)
    name = "nanomem-db" if ours else "scoped-db"
    fields = frozenset[str]() if ours else _FIELDS
    return Reading(name, found, problems, fields, ours, ours and wanted == workspace_id, deleted, notes)


def _complete(source: Tables, *found: Sequence[tuple[int, Raw]]) -> None:
    """Give rows of a database that holds one workspace its id, and the counters that lie in a table of their own."""
    owner = next((raw["workspace_id"] for _, raw in source.rows("meta", ("workspace_id",))), None)
    usage = {raw["id"]: raw for _, raw in source.rows("usage", ("id", "hits", "last_at"))}
    for _, raw in chain(*found):
        used = usage.get(raw.get("id"), {})
        raw |= {"workspace_id": owner, "hits": used.get("hits") or 0}
        raw |= {"last_accessed_at": used.get("last_at") or None, "last_applied_at": used.get("last_at") or ""}


def _workspace(entries: Sequence[tuple[int, Raw]], choices: Sequence[str], path: Path) -> str:
    """Return the workspace whose rows are read."""
    present = Counter(str(raw.get("workspace_id")) for _, raw in entries)
    asked, *likely = choices
    if asked:
        if asked not in present:
            raise BadInput(f"no rows of workspace {asked[:60]}", str(path), f"it has {_list(present)}")
        return asked
    for choice in likely:
        if choice in present:
            return choice
    if len(present) > 1:
        raise BadInput(
            f"it holds {len(present)} workspaces", str(path), f"name one: --source-workspace {_list(present)}"
        )
    return next(iter(present), "")


def _list(present: Counter[str]) -> str:
    return " or ".join(f"{name[:60]} ({count:,} rows)" for name, count in present.most_common(4))


def _unpacked(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the row with what rides in its free fields."""
    try:
        meta = json.loads(raw.get("meta_json") or "{}")
    except (ValueError, TypeError, RecursionError):
        return raw
    own = meta.pop(OWN, None) if isinstance(meta, dict) else None
    if not isinstance(own, dict):
        return raw
    found = {name: own[name] for name in NO_COLUMN if name in own}
    original = own.get("meta_json")
    text = original if isinstance(original, str) else dumped(meta)
    return {**raw, **found, "meta_json": text}


def _others(
    layer: str,
    read_row: Callable[..., tuple[AnyRow, str]],
    theirs: Sequence[tuple[int, Raw]],
    where: str,
    workspace: str,
    found: list[Found],
    problems: list[Problem],
) -> int:
    """Add the lessons or records of a database of ours; returns how many are deleted there."""
    deleted = 0
    for number, raw in theirs:
        if raw.get("workspace_id") != workspace:
            continue
        try:
            row, note = read_row(raw, ours=True)
        except import_plan.BadRow as error:
            problems.append(Problem(f"{layer} {number}: {error}", where))
            continue
        deleted += row.is_deleted
        if not row.is_deleted:
            found.append(Found(row, f"{layer} {number}", note))
    return deleted


def dump_scoped(items: Iterable[Item], folder_id: str, *, backfilled: bool) -> tuple[bytes, list[Item]]:
    """A database of the system with these items, and those that it cannot hold: an equal text of the same scope and
    kind, of which the newest is written. `backfilled`: the system need not take the Markdown files in again."""
    same: set[tuple[str, str, str]] = set()
    written: list[tuple[Any, ...]] = []
    left: list[Item] = []
    for item in sorted(items, key=lambda row: (row.updated_at, row.id), reverse=True):
        values = _values(item, folder_id)
        key = values[3], values[7], values[10]
        if key in same:
            left.append(item)
            continue
        same.add(key)
        written.append(values)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_DDL)
        marks = ", ".join("?" * len(_COLUMNS))
        ordered = written[::-1]
        connection.executemany(f"INSERT INTO memory_entries ({', '.join(_COLUMNS)}) VALUES ({marks})", ordered)
        words = [(values[0], values[9]) for values in ordered]
        connection.executemany("INSERT INTO memory_entries_fts(entry_id, content) VALUES (?, ?)", words)
        if backfilled:
            marker = f"workspace:{folder_id}:backfill:v1"
            connection.execute("INSERT INTO memory_meta VALUES (?, 'done')", (marker,))
        connection.commit()
        return connection.serialize(), left


def _values(item: Item, folder_id: str) -> tuple[Any, ...]:
    norm = re.sub(r"\s+", " ", item.text.lower()).strip()
    scope_key = global_scope(folder_id) if item.scope_type == "global" else item.scope_key
    return (
        item.id, folder_id, item.scope_type, scope_key, item.channel, item.chat_id, item.sender_id, item.kind,
        item.text, norm, hashlib.sha256(norm.encode()).hexdigest(), item.importance, item.confidence, item.source,
        item.source_message_id, item.source_role, _packed(item), item.created_at, item.updated_at,
        item.last_accessed_at, item.expires_at, 0,
    )  # fmt: skip


def _packed(item: Item) -> str:
    """Return the free fields with what the table has no column for; as they are where there is nothing of that."""
    own: dict[str, Any] = {}
    default = Item("", "")
    for name in NO_COLUMN:
        value = getattr(item, name)
        if value != getattr(default, name):
            own[name] = bool(value) if name == "pinned" else value
    if not own:
        return item.meta_json
    return dumped({**item.meta, OWN: {**own, "meta_json": item.meta_json}})


# `LTM_SNAPSHOT.json` and `LESSONS.jsonl` of a RAM-first agent (seed 000) as rows, and rows as such files. Pure.

SNAPSHOT, LESSONS = SOURCES
LOST_IN_RAM_FIRST = {
    "ltm-snapshot": "kind, whom an item follows (its session is kept), importance, confidence, message, expiry, last "
    "use, pin, free fields and the earlier values of facts; text beyond 280 characters once the agent writes the file",
    "lessons": "free fields",
}


def read_ram_first(source: Source, data: bytes, where: str, workspace_id: str) -> Reading:
    """Return the rows in a file of the agent; what it cannot say is as its defaults are (docs/decisions)."""
    raws, read = _raws_in(source, data, where)
    found: list[Found] = []
    problems = list(read)
    for place, raw in raws:
        row = source.to_row(raw, workspace_id)
        try:
            checked, note = _checked(row, workspace_id)
        except import_plan.BadRow as error:
            problems.append(Problem(f"{place} ({row.id[:60]}): {error}", where))
        else:
            found.append(Found(checked, place, note))
    name = "ltm-snapshot" if source is SNAPSHOT else "lessons"
    return Reading(name, found, problems, fields=frozenset(source.fields))


def _raws_in(source: Source, data: bytes, where: str) -> tuple[list[tuple[str, exchange_Raw]], tuple[Problem, ...]]:
    """Return the rows of a file with their places, also those whose id another has, and what could not be read."""
    if source is SNAPSHOT:
        from nanomem_tui.agents.snapshot_files import parse_snapshot

        snapshot = parse_snapshot(data, where)
        return [(f"item {item.number}", item.to_dict()) for item in snapshot.items], snapshot.problems
    from nanomem_tui.agents.snapshot_files import parse_lessons

    learned = parse_lessons(data, where)
    return [(f"line {lesson.line}", lesson.to_dict()) for lesson in learned.lessons], learned.problems


def _checked(row: Row, workspace_id: str) -> tuple[Row, str]:
    if isinstance(row, Item):
        return import_plan.item(row._asdict(), workspace_id)
    return import_plan.lesson(row._asdict())


def dump_snapshot(items: Iterable[Item]) -> bytes:
    """Return the items as a snapshot in the agent's form, the oldest first."""
    return SNAPSHOT.dump(_raws(SNAPSHOT, items), b"")


def dump_lessons(lessons: Iterable[Lesson]) -> bytes:
    """Return the lessons as the agent's file, the oldest first."""
    return LESSONS.dump(_raws(LESSONS, lessons), b"")


def _raws(source: Source, found: Iterable[Row]) -> list[dict[str, Any]]:
    return [source.to_raw(row, None) for row in sorted(found, key=lambda row: (row.created_at, row.id))]
