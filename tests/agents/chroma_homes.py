"""Folders as Chroma's PersistentClient leaves them, made without Chroma: the tables of an old and of a new release.

The tables are those that Chroma 0.4.24 and 1.5.9 made, without what no reader of ours asks for; only the vectors are
left out.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

OLD = """
CREATE TABLE migrations (dir TEXT NOT NULL, version INTEGER NOT NULL, filename TEXT NOT NULL, sql TEXT NOT NULL,
    hash TEXT NOT NULL, PRIMARY KEY (dir, version));
CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    operation INTEGER NOT NULL, topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT);
CREATE TABLE "collections" (id TEXT PRIMARY KEY, name TEXT NOT NULL, topic TEXT NOT NULL, dimension INTEGER,
    database_id TEXT NOT NULL);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, topic TEXT, collection TEXT);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL, seq_id BLOB NOT
    NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT, int_value
    INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
CREATE TABLE max_seq_id (segment_id TEXT PRIMARY KEY, seq_id BLOB NOT NULL);
"""
NEW = OLD.replace(" topic TEXT NOT NULL, dimension", " dimension").replace(
    " scope TEXT NOT NULL, topic TEXT", " scope TEXT NOT NULL"
)
NEW = NEW.replace(
    "(segment_id TEXT PRIMARY KEY, seq_id BLOB NOT NULL)", "(segment_id TEXT PRIMARY KEY, seq_id INTEGER)"
)
NEW += """
CREATE TABLE embedding_metadata_array (id INTEGER NOT NULL, key TEXT NOT NULL, string_value TEXT, int_value INTEGER,
    float_value REAL, bool_value INTEGER);
CREATE TABLE embeddings_queue_config (id INTEGER PRIMARY KEY, config_json_str TEXT);
"""
SCHEMAS = {"0.4": OLD, "1.5": NEW}


def fact(category: str, key: str, value: str, domain: str = "", sub_category: str = "") -> dict[str, Any]:
    """The metadata and the document of a fact, as the crystallized system writes them."""
    return {
        "type": "fact", "category": category, "key": key, "value": value, "domain": domain,
        "sub_category": sub_category, "updated_at": "2026-02-15T09:14:00",
        "chroma:document": f"Domain: {domain}\nКатегория: {category}\nКлюч: {key}\nЗначение: {value}",
    }  # fmt: skip


def named(facts: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The facts under the ids that that system gives them."""
    return {f"fact::{one['category']}::{one['key']}": one for one in facts}


def make(folder: Path, collections: Mapping[str, Mapping[str, Mapping[str, Any]]], release: str = "1.5") -> Path:
    """A folder with these collections: {name: {id: metadata}}. Returns its database."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "chroma.sqlite3"
    old = release == "0.4"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMAS[release])
        number = 0
        for name, entries in collections.items():
            collection, segment = str(uuid.uuid4()), str(uuid.uuid4())
            topic = (f"persistent://default/default/{collection}",) if old else ()
            _insert(connection, "collections", collection, name, *topic, 4, "default")
            _insert(connection, "segments", str(uuid.uuid4()), "hnsw", "VECTOR", *topic, collection)
            _insert(connection, "segments", segment, "sqlite", "METADATA", *topic, collection)
            for key, metadata in entries.items():
                number += 1
                place = number.to_bytes(8, "big") if old else number
                _insert(connection, "embeddings", number, segment, key, place, "2026-02-15 09:14:00")
                for field, value in metadata.items():
                    _insert(connection, "embedding_metadata", number, field, *_cells(value))
            place = number.to_bytes(8, "big") if old else number
            _insert(connection, "max_seq_id", segment, place)
        connection.commit()
    return path


def _cells(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return None, None, None, int(value)
    text, whole, broken = (value if isinstance(value, kind) else None for kind in (str | bytes, int, float))
    return text, whole, broken, None


def _insert(connection: sqlite3.Connection, table: str, *values: Any) -> None:
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
