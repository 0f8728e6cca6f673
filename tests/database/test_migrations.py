"""The schema has a version that a reader can tell; migrations make what the models declare, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from nanomem_tui.database import migrations, models
from nanomem_tui.database.engine import Database, SqliteDatabase
from nanomem_tui.database.postgres import PostgresDatabase
from nanomem_tui.database.store import Store, make
from nanomem_tui.errors import NewerDatabase, Refused, StoreError
from tests.database.homes import add, database, open_store, texts

Again = Callable[[], Store]


def differences(database: Database) -> list[Any]:
    """What alembic finds different between a database and the models, the tables of the full-text index apart."""
    ours = {
        "include_name": lambda name, kind, _: not (
            kind == "table" and name.startswith(("memory_entries_fts", "memory_words"))
        )
    }
    with database.reading() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=ours), models.METADATA)


def set_version(store: Store, version: str) -> None:
    with store.database.writing(durable=True) as connection:
        connection.execute(migrations.VERSION.update().values(version_num=version))


def test_the_migrations_make_what_the_models_declare(folder: Path) -> None:
    empty = database(folder)
    migrations.migrate(empty)
    assert differences(empty) == []
    empty.close()


def test_a_new_store_has_the_schema_of_the_newest_migration(folder: Path, store: Store) -> None:
    config = Config()
    config.set_main_option("script_location", "nanomem_tui.database:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.NEWEST]
    with store.database.reading() as connection:
        assert migrations.version_of(connection) == migrations.NEWEST
    assert differences(store.database) == []
    assert migrations.migrate(store.database) is None


@pytest.mark.sqlite("what a server has is compared by alembic")
def test_a_migrated_file_and_a_new_one_hold_the_same_tables_and_indexes(tmp_path: Path) -> None:
    made, migrated = tmp_path / "made", tmp_path / "migrated"
    for folder in (made, migrated):
        folder.mkdir()
    open_store(made).database.close()
    empty = SqliteDatabase(migrated / "nanomem.db")
    migrations.migrate(empty)
    empty.close()
    found = []
    for folder in (made, migrated):
        with contextlib.closing(sqlite3.connect(folder / "nanomem.db")) as connection:
            names = connection.execute("SELECT type, name FROM sqlite_master ORDER BY 1, 2").fetchall()
            found.append((names, connection.execute("PRAGMA user_version").fetchone()))
    assert found[0] == found[1]
    assert found[0][1] == (migrations.SECOND_EDITION,)


def test_a_database_of_a_later_release_is_refused_by_readers_and_writers(folder: Path, again: Again) -> None:
    store = again()
    add(store, "a", "first")
    reading = Store(database(folder), store._writers)
    set_version(store, "0987")
    with pytest.raises(NewerDatabase) as met:
        reading.load()
    line = met.value.line()
    assert "schema 0987" in line
    assert store.database.where in line
    assert "install a newer nanomem" in line
    assert "\n" not in line
    with pytest.raises(NewerDatabase):
        make(reading.database, "w")
    with pytest.raises(NewerDatabase):
        migrations.migrate(store.database)
    reading.database.close()


def test_a_process_that_was_open_stops_when_a_later_release_migrated_the_database(store: Store) -> None:
    add(store, "a", "first")
    set_version(store, "0987")
    with store.database.writing(durable=True) as connection:
        connection.execute(text("UPDATE meta SET epoch = 'another'"))
    with pytest.raises(NewerDatabase):
        add(store, "b", "second")


def as_before(store: Store) -> None:
    """Make a store look like one of an older release: of no schema, and without what the migration makes."""
    with store.database.writing(durable=True) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))


LATER = '''
"""A migration to test with."""
from alembic import op
import os, signal
import sqlalchemy as sa
revision = "0001"
down_revision = "0000"
def upgrade():
    op.add_column("lessons", sa.Column("mood", sa.Text()))
    op.execute("UPDATE memory_entries SET content = 'migrated'")
    if os.environ.get("KILL"):
        os.kill(os.getpid(), signal.SIGKILL)
'''
MIGRATE = """
import shutil, sys
from pathlib import Path
from nanomem_tui.database import migrations
from tests.database.homes import database
scripts = Path(sys.argv[1]).parent / "scripts"
scripts.mkdir(exist_ok=True)
shutil.copy(Path(migrations.__file__).with_name("env.py"), scripts)
(scripts / "versions").mkdir(exist_ok=True)
(scripts / "versions" / "v0000.py").write_text('revision = "0000"\\ndown_revision = None\\n')
(scripts / "versions" / "v0001.py").write_text(sys.argv[2])
migrations.__file__ = str(scripts / "__init__.py")
print(migrations.migrate(database(Path(sys.argv[1]))))
"""


def migrate_elsewhere(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the migration above in another process."""
    return subprocess.run(
        [sys.executable, "-c", MIGRATE, str(folder), LATER], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_an_older_database_is_copied_and_migrated_whole(store: Store, folder: Path) -> None:
    add(store, "a", "first")
    as_before(store)
    done = migrate_elsewhere(folder)
    assert done.returncode == 0, done.stderr
    with store.database.reading() as connection:
        assert migrations.version_of(connection) == "0001"
        assert "mood" in {column["name"] for column in inspect(connection).get_columns("lessons")}
    assert texts(store) == {"a": "migrated"}, "a process that was open loads everything anew"
    if isinstance(store.database, PostgresDatabase):
        return
    copy = Path(done.stdout.strip())
    assert (copy.parent, copy.stat().st_mode & 0o777) == (folder, 0o600)
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT content FROM memory_entries").fetchall() == [("first",)]


def test_a_migration_that_is_killed_leaves_the_database_as_it_was(store: Store, folder: Path, again: Again) -> None:
    add(store, "a", "first")
    as_before(store)
    assert migrate_elsewhere(folder, KILL="1").returncode == -9
    with store.database.reading() as connection:
        assert migrations.version_of(connection) == "0000"
        assert "mood" not in {column["name"] for column in inspect(connection).get_columns("lessons")}
    set_version(store, migrations.NEWEST)
    assert texts(again()) == {"a": "first"}


def test_a_reader_does_not_migrate(store: Store, folder: Path) -> None:
    as_before(store)
    reading = Store(database(folder), store._writers)
    with pytest.raises(StoreError, match="older schema"):
        reading.load()
    reading.database.close()


@pytest.mark.sqlite("one writer keeps others out by a lock beside the file")
def test_a_migration_waits_for_who_writes(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanomem_tui.database.engine.BUSY_SECONDS", 0.1)
    as_before(store)
    with store.database.writing(durable=True), pytest.raises(Refused, match="being repaired or moved"):
        migrations.migrate(SqliteDatabase(folder / "nanomem.db"))


def test_alembic_is_imported_only_when_a_migration_is_due() -> None:
    code = (
        "import sys, tempfile, pathlib; from tests.database.homes import open_store, add\n"
        "store = open_store(pathlib.Path(tempfile.mkdtemp())); add(store, 'a', 'first'); store.close()\n"
        "print('alembic' in sys.modules)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "NANOMEM_DATABASE_URL"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "False"
