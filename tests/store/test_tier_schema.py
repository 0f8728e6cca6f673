"""The tables of `tiers.db`: as the kinds declare them, and as SQLModel does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from nanomem_tui.errors import NewerDatabase
from nanomem_tui.store import tier_schema
from nanomem_tui.store.database import make_schema
from nanomem_tui.store.tier_kinds import KINDS


def columns(connection: sqlite3.Connection, table: str) -> dict[str, tuple[str, int, int]]:
    """Type, whether it may be absent, and whether it is a key, by name."""
    found = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return {name: (kind, needed, key) for _, name, kind, needed, _, key in found}


def test_the_steps_make_the_tables_that_the_models_declare(tmp_path: Path) -> None:
    from nanomem_tui.store.tier_models import MODELS, TierTable

    make_schema(tmp_path / "steps.db", 0, tier_schema.schema())
    engine = create_engine(f"sqlite:///{tmp_path / 'models.db'}")
    TierTable.metadata.create_all(engine)
    engine.dispose()
    tables = {table for kind in KINDS.values() for table in kind.tables.values()}
    assert set(MODELS) == tables
    query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
    with (
        closing(sqlite3.connect(tmp_path / "steps.db")) as made,
        closing(sqlite3.connect(tmp_path / "models.db")) as declared,
    ):
        for table in (*tables, "record_changes"):
            assert columns(made, table) == columns(declared, table)
            assert set(made.execute(query, (table,))) == set(declared.execute(query, (table,)))


def test_a_newer_schema_is_refused() -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(NewerDatabase):
        tier_schema.migrate(connection, tier_schema.VERSION + 1, "here")
