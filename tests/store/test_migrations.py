"""The schema is made in numbered steps; a database of an earlier one is backed up before it moves."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlmodel import SQLModel

from nanomem_tui import open_workspace
from nanomem_tui.errors import NewerDatabase, StoreError
from nanomem_tui.store import migrations, models, reader
from nanomem_tui.store.database import make_schema
from tests.store.homes import make_home, state


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_every_version_up_to_the_present_has_its_step() -> None:
    assert sorted(migrations.STEPS) == list(range(1, reader.SCHEMA_VERSION + 1))


def test_a_newer_schema_is_refused() -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(NewerDatabase):
        migrations.migrate(connection, reader.SCHEMA_VERSION + 1, "here")


def schema(path: Path) -> dict[str, str]:
    """The statement of each table and index, by name, without its layout."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'memory_entries_fts%'"
    with closing(sqlite3.connect(path)) as connection:
        return {name: "".join(sql.split()) for name, sql in connection.execute(query)}


def test_the_steps_make_the_tables_that_the_models_declare(tmp_path: Path) -> None:
    make_schema(tmp_path / "steps.db", 0)
    engine = create_engine(f"sqlite:///{tmp_path / 'models.db'}")
    assert models.MemoryEntry.metadata is SQLModel.metadata
    SQLModel.metadata.create_all(engine)
    engine.dispose()
    made, declared = schema(tmp_path / "steps.db"), schema(tmp_path / "models.db")
    views = {name for name, sql in made.items() if sql.startswith("CREATEVIEW")}
    assert views == {"facts", "journal", "conversations", "reflections", "token_usage"}, "the tables of seed 003"
    triggers = {name for name, sql in made.items() if sql.startswith("CREATETRIGGER")}
    assert triggers == set(migrations.TRIGGERS)
    assert {name: sql for name, sql in made.items() if name not in views | triggers} == declared
    assert {"memory_entries", "lessons", "records", "vectors", "operations", "idx_memory_counts"} <= made.keys()


@pytest.mark.sqlite("the file itself")
def test_the_first_change_of_a_workspace_loads_no_sqlmodel(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    code = (
        "import sys; from nanomem_tui import open_workspace\n"
        f"with open_workspace({str(workspace)!r}) as ws: ws.items.add('first')\n"
        "print([m for m in ('sqlmodel', 'sqlalchemy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert version(workspace.parent / "nanomem" / "nanomem.db") == reader.SCHEMA_VERSION


def test_a_schema_that_another_process_made_meanwhile_is_met(tmp_path: Path) -> None:
    make_schema(tmp_path / "x.db", 0)
    make_schema(tmp_path / "x.db", 0)
    assert version(tmp_path / "x.db") == reader.SCHEMA_VERSION


@pytest.mark.sqlite("the file itself")
def test_nothing_runs_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    real = dict(migrations.STEPS)
    for number, step in real.items():
        monkeypatch.setitem(migrations.STEPS, number, lambda c, number=number, step=step: (ran.append(number), step(c)))
    workspace = make_home(tmp_path)
    for pinned in (True, False):
        with open_workspace(workspace) as ws:
            ws.items.set_pinned(["ltm_1"], pinned)
    assert ran == sorted(real)


@pytest.fixture
def next_schema(monkeypatch: pytest.MonkeyPatch) -> int:
    """A release with one schema more than this one."""
    wanted = reader.SCHEMA_VERSION + 1
    for module in (reader, migrations):
        monkeypatch.setattr(module, "SCHEMA_VERSION", wanted)

    def step(connection: Any) -> None:
        connection.execute("ALTER TABLE memory_entries ADD COLUMN mood TEXT")

    monkeypatch.setitem(migrations.STEPS, wanted, step)
    return wanted


@pytest.fixture
def old(tmp_path: Path) -> Path:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="before the migration")
    return workspace


@pytest.mark.sqlite("the file itself")
def test_a_migration_backs_up_first(old: Path, next_schema: int) -> None:
    ours = old.parent / "nanomem"
    assert state(old)["ltm_1"].text == "before the migration", "an older schema is read as it is"
    assert version(ours / "nanomem.db") == next_schema - 1
    with open_workspace(old) as ws:
        ws.items.set_pinned(["ltm_2"], True)
    assert version(ours / "nanomem.db") == next_schema
    backup = next((ours / "backups").glob("*.db"))
    assert version(backup) == next_schema - 1
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    connection = sqlite3.connect(backup)
    assert connection.execute("SELECT content FROM memory_entries WHERE id = 'ltm_1'").fetchone() == (
        "before the migration",
    )
    connection.close()
    assert state(old)["ltm_2"].pinned


@pytest.mark.sqlite("the file itself")
def test_a_migration_that_fails_leaves_the_schema_it_found(
    old: Path, next_schema: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(connection: Any) -> None:
        connection.execute("ALTER TABLE memory_entries ADD COLUMN mood TEXT")
        connection.execute("ALTER TABLE no_such_table ADD COLUMN mood TEXT")

    monkeypatch.setitem(migrations.STEPS, next_schema, half)
    path = old.parent / "nanomem" / "nanomem.db"
    ws = open_workspace(old)
    ws.items.edit("ltm_3", text="acknowledged")
    with pytest.raises(StoreError):
        ws.close()
    assert version(path) == next_schema - 1
    connection = sqlite3.connect(path)
    assert "mood" not in {row[1] for row in connection.execute("PRAGMA table_info(memory_entries)")}
    connection.close()
    assert state(old)["ltm_3"].text == "acknowledged"
