"""Schema 1: the tables of the second edition. A database of the first edition is taken over into it, not migrated."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import (
    REAL,
    BigInteger,
    Column,
    Double,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)

from nanomem_tui.store.database import full_text, models

revision = "0001"
down_revision = None
_NOT_DELETED: Any = {"sqlite_where": text("is_deleted = 0"), "postgresql_where": text("is_deleted = 0")}


def upgrade() -> None:
    """Make every table."""
    op.create_table(
        "memory_entries", _number("number"), *_texts("id", "scope_type", "scope_key"),
        *_texts("channel", "chat_id", "sender_id", "session_key", nullable=True),
        *_texts("kind", "content", "content_norm", "content_hash"), _real("importance"), _real("confidence"),
        *_texts("source"), *_texts("source_message_id", "source_role", nullable=True),
        *_texts("meta_json", "created_at", "updated_at"), *_texts("expires_at", nullable=True),
        *_numbers("enabled", "pinned", "is_deleted", "revision"),
        PrimaryKeyConstraint("number"), UniqueConstraint("id"),
    )  # fmt: skip
    memories = "memory_entries"
    op.create_index("idx_memory_scope_kind_updated", memories, ["scope_key", "kind", "is_deleted", "updated_at"])
    op.create_index("idx_memory_updated", memories, ["updated_at"], **_NOT_DELETED)
    op.create_index("idx_memory_revision", memories, ["revision"])
    counted = ["enabled", "kind", "scope_type", "source", "is_deleted"]
    op.create_index("idx_memory_counts", memories, counted, **_NOT_DELETED)
    op.create_index("idx_memory_hash", memories, ["content_hash", "scope_key", "kind"], **_NOT_DELETED)
    op.create_table(
        "lessons",
        *_texts("id", "key", "trigger", "bad_action", "better_action", "scope", "session_key", "actor_key", "source"),
        *_numbers("confidence", "enabled"), *_texts("created_at", "updated_at", "promoted_global_key", "meta_json"),
        *_numbers("is_deleted", "revision"), PrimaryKeyConstraint("id"),
    )  # fmt: skip
    op.create_index("idx_lessons_revision", "lessons", ["revision"])
    op.create_table(
        "records",
        *_texts("id", "kind", "about", "text", "session_key", "source", "at", "meta_json", "created_at", "updated_at"),
        *_numbers("is_deleted", "revision"), PrimaryKeyConstraint("id"),
    )  # fmt: skip
    op.create_index("idx_records_revision", "records", ["revision"])
    op.create_index("idx_records_kind_about", "records", ["is_deleted", "kind", "about"])
    op.create_table(
        "usage", *_texts("layer", "id"), *_numbers("hits"), *_texts("last_at"), *_numbers("revision"),
        PrimaryKeyConstraint("layer", "id"),
    )  # fmt: skip
    op.create_index("idx_usage_revision", "usage", ["revision"])
    op.create_table("usage_batches", *_texts("id", "at"), PrimaryKeyConstraint("id"))
    op.create_table(
        "operations", _number("seq", autoincrement=False),
        *_texts("id", "at", "actor", "kind", "label", "state", "writer"), *_texts("undoes", "redoes", nullable=True),
        *_texts("meta_json"), *_numbers("touched"), *_texts("changes_json"), *_numbers("undone"),
        PrimaryKeyConstraint("seq"), UniqueConstraint("id"),
    )  # fmt: skip
    op.create_table(
        "operation_keys", *_texts("layer", "key"), _number("seq", autoincrement=False), *_numbers("undone"),
        PrimaryKeyConstraint("key", "layer", "seq"),
    )  # fmt: skip
    op.create_index("idx_operation_keys_seq", "operation_keys", ["seq"])
    op.create_table("foreign_rows", *_texts("source", "id", "raw_json"), PrimaryKeyConstraint("source", "id"))
    op.create_table(
        "meta", _number("one", autoincrement=False), *_numbers("revision"),
        *_texts("epoch", "moved_to", "workspace_id", "channel"), PrimaryKeyConstraint("one"),
    )  # fmt: skip
    op.create_table("leases", *_texts("work", "holder"), _real("until"), PrimaryKeyConstraint("work"))
    op.create_table("memory_meta", *_texts("key", "value"), PrimaryKeyConstraint("key"))
    full_text.make_index(op.get_bind())
    models.make_views(op.get_bind())
    if op.get_bind().dialect.name == "sqlite":
        op.execute("PRAGMA user_version = 4")


def _texts(*names: str, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, Text, nullable=nullable) for name in names]


def _numbers(*names: str) -> list[Column[Any]]:
    return [_number(name) for name in names]


def _number(name: str, **more: Any) -> Column[Any]:
    return Column(name, BigInteger().with_variant(Integer(), "sqlite"), nullable=False, **more)


def _real(name: str) -> Column[Any]:
    return Column(name, Double().with_variant(REAL(), "sqlite"), nullable=False)
