"""`facts` of the crystallized system (seed 003, `memory.db`) as items of kind fact, and items as such a database.

A fact is known by its category and key; domain and sub-category are kept in the free fields, so that it goes back as it
came. Other tables of that database hold no memories of this kind and are left alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from nanomem_tui import clock
from nanomem_tui.errors import Problem
from nanomem_tui.formats.foreign_tables import tables
from nanomem_tui.memory.transfer import rows
from nanomem_tui.memory.transfer.values import Found, Reading
from nanomem_tui.store.values import KINDS, Item

LOST = "lessons, what is disabled, scope, importance, confidence, source, session, hits, pin, expiry and free fields"
OWN = "nanomem"
"""The domain of a fact that is an item of ours: its category is the kind, its key the id."""
_COLUMNS = ("id", "category", "key", "value", "domain", "sub_category", "created_at", "updated_at")
_DDL = """
CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, category TEXT NOT NULL, key TEXT NOT NULL, value TEXT
    NOT NULL, domain TEXT, sub_category TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, UNIQUE(category,
    key));
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, content TEXT NOT NULL,
    created_at TEXT NOT NULL);
CREATE TABLE conversations (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT NOT NULL, role TEXT NOT NULL,
    message TEXT NOT NULL, timestamp TEXT NOT NULL);
CREATE TABLE token_usage (id INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT
    NULL DEFAULT 0, requests INTEGER NOT NULL DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    UNIQUE(date, model));
CREATE TABLE reflections (id INTEGER PRIMARY KEY AUTOINCREMENT, tool_name TEXT NOT NULL, tool_args TEXT,
    error_text TEXT NOT NULL, insight TEXT NOT NULL, session_key TEXT, created_at TEXT NOT NULL);
CREATE INDEX idx_facts_category ON facts(category);
CREATE INDEX idx_journal_date ON journal(date);
CREATE INDEX idx_conversations_chat_id ON conversations(chat_id);
CREATE INDEX idx_token_usage_date ON token_usage(date);
CREATE INDEX idx_reflections_tool ON reflections(tool_name);
"""


def read(path: Path, where: str, workspace_id: str) -> Reading:
    """Every fact as a global item. Raises what opening the database does."""
    with tables(path, where) as source:
        facts = list(source.rows("facts", _COLUMNS))
        problems = source.problems
    found: list[Found] = []
    for number, raw in facts:
        try:
            row, note = rows.item(_fields(raw), workspace_id)
        except rows.BadRow as error:
            problems.append(Problem(f"fact {number} ({str(raw.get('key'))[:60]}): {error}", where))
        else:
            found.append(Found(row, f"fact {number}", note))
    fields = frozenset({"text", "created_at", "updated_at"})
    return Reading("facts-db", found, problems, fields=fields, times=_local)


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of the item that a fact is. Raises BadRow for a fact without words."""
    category, key, value = (raw.get(name) for name in ("category", "key", "value"))
    if not (isinstance(category, str) and isinstance(key, str) and isinstance(value, str)):
        raise rows.BadRow("category, key or value is no text")
    if not value.strip():
        raise rows.BadRow("value is empty")
    times = {name: raw.get(name) for name in ("created_at", "updated_at")}
    if raw.get("domain") == OWN and category in KINDS:
        return {"id": key, "text": value, "kind": category, "source": "import", **times}
    fact = {name: raw.get(name) for name in ("domain", "category", "sub_category", "key", "value")}
    meta = {"fact": {name: text for name, text in fact.items() if isinstance(text, str)}}
    digest = hashlib.sha256(json.dumps([category, key]).encode()).hexdigest()[:20]
    return {
        "id": f"fact_{digest}",
        "text": f"{key}: {value}",
        "kind": "fact",
        "source": "crystallized",
        "meta": meta,
        **times,
    }


def dump(items: Iterable[Item]) -> bytes:
    """A database of the system with these items as facts."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_DDL)
        sql = (
            "INSERT INTO facts (category, key, value, domain, sub_category, created_at, updated_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(category, key) DO UPDATE SET value = excluded.value, "
            "updated_at = excluded.updated_at"
        )
        ordered = sorted(items, key=lambda row: (row.updated_at, row.id))
        connection.executemany(sql, [_values(item) for item in ordered])
        connection.commit()
        return connection.serialize()


def _values(item: Item) -> tuple[str | None, ...]:
    times = _local(item.created_at), _local(item.updated_at)
    fact = item.meta.get("fact")
    if isinstance(fact, dict) and isinstance(fact.get("category"), str) and isinstance(fact.get("key"), str):
        category, key = fact["category"], fact["key"]
        kept = fact.get("value")
        value = kept if isinstance(kept, str) and item.text == f"{key}: {kept}" else item.text.removeprefix(f"{key}: ")
        domain, sub = (
            fact.get(name) if isinstance(fact.get(name), str) else None for name in ("domain", "sub_category")
        )
        return category, key, value, domain, sub, *times
    return item.kind, item.id, item.text, OWN, None, *times


def _local(text: str) -> str:
    """A time as that system writes it: local, whole seconds."""
    moment = clock.parse(text) or clock.now()
    return clock.local_naive(moment.replace(microsecond=0))
