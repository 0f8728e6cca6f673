"""The schema of `tiers.db`, and the numbered steps that bring a file to it; each runs once, in one transaction."""

from __future__ import annotations

import sqlite3

from nanomem_tui.errors import NewerDatabase
from nanomem_tui.store import tier_tables
from nanomem_tui.store.database import Schema

VERSION = 1

BESIDE = (
    """CREATE TABLE record_changes (
        seq INTEGER NOT NULL PRIMARY KEY, workspace_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, id VARCHAR NOT NULL,
        at VARCHAR NOT NULL, origin VARCHAR NOT NULL, before VARCHAR NOT NULL, after VARCHAR NOT NULL)""",
    "CREATE INDEX idx_record_changes_of ON record_changes (workspace_id, kind, id, seq)",
    """CREATE TABLE knowledge_documents (
        number INTEGER NOT NULL PRIMARY KEY, workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL, kind VARCHAR NOT NULL,
        title VARCHAR NOT NULL, source VARCHAR NOT NULL, hash VARCHAR NOT NULL, added_at VARCHAR NOT NULL,
        checked_at VARCHAR NOT NULL, chunks INTEGER NOT NULL, meta VARCHAR NOT NULL, UNIQUE (workspace_id, id))""",
    """CREATE TABLE knowledge_chunks (
        number INTEGER NOT NULL PRIMARY KEY, workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL,
        document_id VARCHAR NOT NULL, ordinal INTEGER NOT NULL, section VARCHAR NOT NULL, line_from INTEGER NOT NULL,
        line_to INTEGER NOT NULL, text VARCHAR NOT NULL, text_hash VARCHAR NOT NULL, UNIQUE (workspace_id, id))""",
    "CREATE INDEX idx_knowledge_chunks_of ON knowledge_chunks (workspace_id, document_id, ordinal)",
    "CREATE VIRTUAL TABLE knowledge_words USING fts5(title, section, words, content='', columnsize=1)",
    # A cache of what was embedded, with the time of the record; no vector: none can be made. What changed or went since
    # is due. Each vector that is made anew gets a new number, by which other processes see it.
    """CREATE TABLE record_vectors (
        number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, workspace_id VARCHAR NOT NULL, model VARCHAR NOT NULL,
        kind VARCHAR NOT NULL, id VARCHAR NOT NULL, at VARCHAR NOT NULL, text_hash VARCHAR NOT NULL, vector BLOB,
        UNIQUE (workspace_id, kind, id, model))""",
    "CREATE INDEX idx_record_vectors_at ON record_vectors (workspace_id, model, kind, at)",
    """CREATE TABLE record_vectors_due (
        workspace_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, id VARCHAR NOT NULL,
        PRIMARY KEY (workspace_id, kind, id)) WITHOUT ROWID""",
    # Each run of the lifecycle, and what its batches did: by that it is taken back, for as long as it is kept.
    """CREATE TABLE lifecycle_runs (
        workspace_id VARCHAR NOT NULL, id VARCHAR NOT NULL, began_at VARCHAR NOT NULL, state VARCHAR NOT NULL,
        PRIMARY KEY (workspace_id, id))""",
    """CREATE TABLE lifecycle_batches (
        seq INTEGER NOT NULL PRIMARY KEY, workspace_id VARCHAR NOT NULL, run VARCHAR NOT NULL, kind VARCHAR NOT NULL,
        what VARCHAR NOT NULL, rows INTEGER NOT NULL, packed BLOB NOT NULL)""",
    "CREATE INDEX idx_lifecycle_batches_of ON lifecycle_batches (workspace_id, run, seq)",
    """CREATE TABLE tier_meta ("key" VARCHAR NOT NULL PRIMARY KEY, value VARCHAR NOT NULL)""",
)
"""What stands beside the tables of the kinds."""


def migrate(connection: sqlite3.Connection, found: int, where: str) -> None:
    """Bring a database of schema `found` to the present one. Raises NewerDatabase."""
    if found > VERSION:
        what = f"the database has schema {found}, this nanomem knows {VERSION}"
        raise NewerDatabase(what, where, "install a newer nanomem")
    if found < 1:
        for statement in (*tier_tables.statements(), *BESIDE):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def schema() -> Schema:
    """The schema, for who opens the file."""
    return Schema(VERSION, migrate, shrinks=True)
