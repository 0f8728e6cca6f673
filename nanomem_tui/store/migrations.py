"""The numbered steps that bring a database to the present schema; each runs once, in one transaction.

Owns the schema as text, frozen as each step made it: `models` declares the same tables, which costs half a second to
import, and a test holds the two together. Goes through the driver alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from nanomem_tui.errors import NewerDatabase
from nanomem_tui.store.reader import SCHEMA_VERSION

FTS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS memory_entries_fts USING fts5(entry_id UNINDEXED, content)"
FTS_MERGES = "INSERT INTO memory_entries_fts (memory_entries_fts, rank) VALUES ('automerge', 16)"
"""Parts of the index are merged when there are 16 of a size, the most there may be, and not four: a checkpoint of 100
changed texts of 100,000 takes two thirds of the time, and a question no more."""

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

VECTORS = """CREATE TABLE vectors (
        workspace_id VARCHAR NOT NULL, "key" VARCHAR NOT NULL, model VARCHAR NOT NULL, dimension INTEGER NOT NULL,
        text_hash VARCHAR NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (workspace_id, "key", model))"""
"""The table of a cache: whoever writes to it makes it anew where somebody took it out."""

SECOND = (
    """CREATE TABLE records (
        workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL, kind VARCHAR NOT NULL, about VARCHAR NOT NULL,
        text VARCHAR NOT NULL, session_key VARCHAR NOT NULL, source VARCHAR NOT NULL, at VARCHAR NOT NULL,
        meta_json VARCHAR NOT NULL, created_at VARCHAR NOT NULL, updated_at VARCHAR NOT NULL,
        is_deleted BOOLEAN NOT NULL, revision INTEGER NOT NULL, row_hash VARCHAR NOT NULL,
        PRIMARY KEY (workspace_id, id))""",
    "CREATE INDEX idx_records_revision ON records (workspace_id, revision)",
    "CREATE INDEX idx_records_kind_about ON records (workspace_id, is_deleted, kind, about)",
    VECTORS,
    """CREATE VIEW facts AS SELECT workspace_id, id, json_extract(meta_json, '$.fact.category') AS category,
        json_extract(meta_json, '$.fact.key') AS "key", json_extract(meta_json, '$.fact.value') AS value,
        json_extract(meta_json, '$.fact.domain') AS domain,
        json_extract(meta_json, '$.fact.sub_category') AS sub_category, created_at, updated_at
        FROM memory_entries
        WHERE is_deleted = 0 AND kind = 'fact' AND json_valid(meta_json) AND meta_json LIKE '%"fact"%'
        AND json_type(meta_json, '$.fact') = 'object'""",
    """CREATE VIEW journal AS SELECT workspace_id, id, about AS date, text AS content, created_at
        FROM records WHERE is_deleted = 0 AND kind = 'journal'""",
    """CREATE VIEW conversations AS SELECT workspace_id, id, about AS chat_id,
        json_extract(meta_json, '$.role') AS role, text AS message, at AS timestamp
        FROM records WHERE is_deleted = 0 AND kind = 'message' AND json_valid(meta_json)""",
    """CREATE VIEW token_usage AS SELECT workspace_id, id, about AS date,
        json_extract(meta_json, '$.model') AS model, json_extract(meta_json, '$.source') AS source,
        json_extract(meta_json, '$.prompt_tokens') AS prompt_tokens,
        json_extract(meta_json, '$.completion_tokens') AS completion_tokens,
        json_extract(meta_json, '$.total_tokens') AS total_tokens, json_extract(meta_json, '$.requests') AS requests,
        created_at, updated_at FROM records WHERE is_deleted = 0 AND kind = 'usage' AND json_valid(meta_json)""",
    """CREATE VIEW reflections AS SELECT workspace_id, id, about AS tool_name,
        json_extract(meta_json, '$.args') AS tool_args, json_extract(meta_json, '$.error') AS error_text,
        text AS insight, session_key, created_at
        FROM records WHERE is_deleted = 0 AND kind = 'reflection' AND json_valid(meta_json)""",
)
"""Schema 2 (seed 003): records, vectors, and the seed's tables as views for who asks the database himself."""


def _waits(table: str, layer: str) -> str:
    """What waits becomes active by a decision alone."""
    return f"""CREATE TRIGGER {layer}_waits_for_a_person BEFORE UPDATE OF enabled ON {table}
        WHEN NEW.enabled AND NOT OLD.enabled AND NOT OLD.is_deleted AND NOT NEW.is_deleted
        AND instr(OLD.meta_json, '"inbox":') AND NOT EXISTS (
            SELECT 1 FROM operation_keys k JOIN operations o ON o.seq = k.seq
            WHERE k.workspace_id = NEW.workspace_id AND k.layer = '{layer}' AND k."key" = NEW.id
            AND (o.actor = 'human' OR (o.kind = 'turn' AND instr(NEW.meta_json, '"said_again":'))))
        BEGIN SELECT RAISE(ABORT, 'what waits in the inbox becomes active by a person alone'); END"""


_NO_SOURCE = "SELECT RAISE(ABORT, 'an item that does not say where it is from')"
THIRD = (
    _waits("memory_entries", "item"),
    _waits("lessons", "lesson"),
    f"""CREATE TRIGGER item_says_its_source BEFORE INSERT ON memory_entries
        WHEN NEW.source = '' BEGIN {_NO_SOURCE}; END""",
    f"""CREATE TRIGGER item_keeps_its_source BEFORE UPDATE OF source ON memory_entries
        WHEN NEW.source = '' AND OLD.source <> '' BEGIN {_NO_SOURCE}; END""",
)
"""Schema 3: provenance, as the database itself enforces it on whoever writes (`provenance` looks before)."""
TRIGGERS = tuple(statement.split()[2] for statement in THIRD)


def _all_of(statements: Sequence[str]) -> Callable[[sqlite3.Connection], None]:
    def run(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return run


STEPS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: _all_of((*FIRST, FTS_MERGES)), 2: _all_of(SECOND), 3: _all_of(THIRD),
}  # fmt: skip
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
