"""The tables (SQLModel), named as in the seeds: `memory_entries`, `memory_meta`, `lessons`, records, and those of the
ledger. The seed-003 names `facts`, `journal`, `conversations`, `reflections`, `token_usage` are views (`migrations`).

The declaration of the schema and nothing else; no command imports it. `reader` holds the same names for the driver and
`migrations` the statements that make the tables; tests hold both to this.
"""

from __future__ import annotations

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel


class MemoryEntry(SQLModel, table=True):
    """A long-term item: seed 001 §4.1 and what seed 000 adds (`hits`, `session_key`, `enabled`).

    `number` is the row's place in the full-text index; `revision` is the store-wide count of the checkpoint that wrote
    the row; `row_hash` shows a flipped bit.
    """

    __tablename__ = "memory_entries"
    __table_args__ = (
        Index("idx_memory_scope_kind_updated", "workspace_id", "scope_key", "kind", "is_deleted", "updated_at"),
        Index("idx_memory_updated", "workspace_id", "is_deleted", "updated_at"),
        Index("idx_memory_hash", "workspace_id", "content_hash"),
        Index("idx_memory_revision", "workspace_id", "revision"),
        # What `memory status` counts by: without it every row is read.
        Index("idx_memory_counts", "workspace_id", "is_deleted", "kind", "scope_type", "source", "enabled"),
        UniqueConstraint("number", name="uq_memory_number"),
    )

    workspace_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    number: int
    scope_type: str
    scope_key: str
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None
    session_key: str | None = None
    kind: str
    content: str
    content_norm: str
    content_hash: str
    importance: float
    confidence: float
    source: str
    source_message_id: str | None = None
    source_role: str | None = None
    meta_json: str = "{}"
    created_at: str
    updated_at: str
    last_accessed_at: str | None = None
    expires_at: str | None = None
    hits: int = 0
    enabled: bool = True
    pinned: bool = False
    is_deleted: bool = False
    revision: int = 0
    row_hash: str = ""


class LessonRow(SQLModel, table=True):
    """A self-improvement lesson (seed 000 §2.5)."""

    __tablename__ = "lessons"
    __table_args__ = (Index("idx_lessons_revision", "workspace_id", "revision"),)

    workspace_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    key: str
    trigger: str
    bad_action: str
    better_action: str
    scope: str
    session_key: str
    actor_key: str
    source: str
    confidence: int
    hits: int
    enabled: bool
    created_at: str
    updated_at: str
    last_applied_at: str
    promoted_global_key: str
    meta_json: str = "{}"
    is_deleted: bool = False
    revision: int = 0
    row_hash: str = ""


class RecordRow(SQLModel, table=True):
    """Something that happened (seed 003): a journal entry, an imported message, a reflection, the use of tokens."""

    __tablename__ = "records"
    __table_args__ = (
        Index("idx_records_revision", "workspace_id", "revision"),
        Index("idx_records_kind_about", "workspace_id", "is_deleted", "kind", "about"),
    )

    workspace_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    kind: str
    about: str
    text: str
    session_key: str
    source: str
    at: str
    meta_json: str = "{}"
    created_at: str
    updated_at: str
    is_deleted: bool = False
    revision: int = 0
    row_hash: str = ""


class VectorRow(SQLModel, table=True):
    """The vector of a text, as one model makes it: little-endian float32. A cache, made anew from the rows."""

    __tablename__ = "vectors"

    workspace_id: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    dimension: int
    text_hash: str
    vector: bytes


class OperationRow(SQLModel, table=True):
    """One operation of the ledger; `seq` is the order, `undone` whether it is taken back at present."""

    __tablename__ = "operations"

    seq: int | None = Field(default=None, primary_key=True)
    workspace_id: str = Field(index=True)
    id: str = Field(unique=True)
    at: str
    actor: str
    kind: str
    label: str
    touched: int
    body_json: str
    undone: bool = False


class OperationKey(SQLModel, table=True):
    """Which operations touched a thing: the history of an item."""

    __tablename__ = "operation_keys"

    workspace_id: str = Field(primary_key=True)
    layer: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)


class ForeignRow(SQLModel, table=True):
    """A row of an agent's file as we last saw it: the base of the next merge."""

    __tablename__ = "foreign_rows"

    workspace_id: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    raw_json: str


class Meta(SQLModel, table=True):
    """Markers and counters: schema revision, last checkpoint, what was adopted."""

    __tablename__ = "memory_meta"

    key: str = Field(primary_key=True)
    value: str
