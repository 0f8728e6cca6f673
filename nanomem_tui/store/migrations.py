"""The numbered steps that bring a database to the present schema; each runs once, in one transaction.

Owns the schema as text, frozen as each step made it: `models` declares the same tables, which costs half a second to
import, and a test holds the two together. Goes through the driver alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from nanomem_tui.errors import NewerDatabase
from nanomem_tui.store.reader import SCHEMA_VERSION

FTS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS memory_entries_fts USING fts5(entry_id UNINDEXED, content)"

FIRST = (
    """CREATE TABLE memory_entries (
        workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL, number INTEGER NOT NULL, scope_type VARCHAR NOT NULL,
        scope_key VARCHAR NOT NULL, channel VARCHAR, chat_id VARCHAR, sender_id VARCHAR, session_key VARCHAR,
        kind VARCHAR NOT NULL, content VARCHAR NOT NULL, content_norm VARCHAR NOT NULL, content_hash VARCHAR NOT NULL,
        importance FLOAT NOT NULL, confidence FLOAT NOT NULL, source VARCHAR NOT NULL, source_message_id VARCHAR,
        source_role VARCHAR, meta_json VARCHAR NOT NULL, created_at VARCHAR NOT NULL, updated_at VARCHAR NOT NULL,
        last_accessed_at VARCHAR, expires_at VARCHAR, hits INTEGER NOT NULL, enabled BOOLEAN NOT NULL,
        pinned BOOLEAN NOT NULL, is_deleted BOOLEAN NOT NULL, revision INTEGER NOT NULL, row_hash VARCHAR NOT NULL,
        PRIMARY KEY (workspace_id, id), CONSTRAINT uq_memory_number UNIQUE (number))""",
    """CREATE INDEX idx_memory_scope_kind_updated
        ON memory_entries (workspace_id, scope_key, kind, is_deleted, updated_at)""",
    "CREATE INDEX idx_memory_updated ON memory_entries (workspace_id, is_deleted, updated_at)",
    "CREATE INDEX idx_memory_hash ON memory_entries (workspace_id, content_hash)",
    "CREATE INDEX idx_memory_revision ON memory_entries (workspace_id, revision)",
    """CREATE INDEX idx_memory_counts
        ON memory_entries (workspace_id, is_deleted, kind, scope_type, source, enabled)""",
    """CREATE TABLE lessons (
        workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL, "key" VARCHAR NOT NULL, "trigger" VARCHAR NOT NULL,
        bad_action VARCHAR NOT NULL, better_action VARCHAR NOT NULL, scope VARCHAR NOT NULL,
        session_key VARCHAR NOT NULL, actor_key VARCHAR NOT NULL, source VARCHAR NOT NULL, confidence INTEGER NOT NULL,
        hits INTEGER NOT NULL, enabled BOOLEAN NOT NULL, created_at VARCHAR NOT NULL, updated_at VARCHAR NOT NULL,
        last_applied_at VARCHAR NOT NULL, promoted_global_key VARCHAR NOT NULL, meta_json VARCHAR NOT NULL,
        is_deleted BOOLEAN NOT NULL, revision INTEGER NOT NULL, row_hash VARCHAR NOT NULL,
        PRIMARY KEY (workspace_id, id))""",
    "CREATE INDEX idx_lessons_revision ON lessons (workspace_id, revision)",
    """CREATE TABLE operations (
        seq INTEGER NOT NULL, workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL, at VARCHAR NOT NULL,
        actor VARCHAR NOT NULL, kind VARCHAR NOT NULL, label VARCHAR NOT NULL, touched INTEGER NOT NULL,
        body_json VARCHAR NOT NULL, undone BOOLEAN NOT NULL, PRIMARY KEY (seq), UNIQUE (id))""",
    "CREATE INDEX ix_operations_workspace_id ON operations (workspace_id)",
    """CREATE TABLE operation_keys (
        workspace_id VARCHAR NOT NULL, layer VARCHAR NOT NULL, "key" VARCHAR NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (workspace_id, layer, "key", seq))""",
    """CREATE TABLE foreign_rows (
        workspace_id VARCHAR NOT NULL, source VARCHAR NOT NULL, id VARCHAR NOT NULL, raw_json VARCHAR NOT NULL,
        PRIMARY KEY (workspace_id, source, id))""",
    """CREATE TABLE memory_meta ("key" VARCHAR NOT NULL, value VARCHAR NOT NULL, PRIMARY KEY ("key"))""",
    FTS_TABLE,
)
"""Schema 1. Never changed: what comes later is a step of its own."""


def _first(connection: sqlite3.Connection) -> None:
    for statement in FIRST:
        connection.execute(statement)


STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _first}
"""Schema version → the step that makes it from the one before."""


def migrate(connection: sqlite3.Connection, found: int, where: str) -> int:
    """Run the steps after version `found`; returns the version reached. Raises NewerDatabase."""
    if found > SCHEMA_VERSION:
        raise NewerDatabase(
            f"the database has schema {found}, this nanomem knows {SCHEMA_VERSION}", where, "install a newer nanomem"
        )
    for version in range(found + 1, SCHEMA_VERSION + 1):
        STEPS[version](connection)
        connection.execute(f"PRAGMA user_version = {version}")
    return SCHEMA_VERSION
