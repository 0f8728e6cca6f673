"""The schema has a version that a reader can tell; migrations make what the models declare, whole or not at all."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from nanomem_tui.core.errors import NewerDatabase, Refused, StoreError
from nanomem_tui.core.paths import Paths
from nanomem_tui.store.database import migrations, models
from nanomem_tui.store.database.engine import SqliteDatabase
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.first_edition.takeover import open_work
from nanomem_tui.store.transactions import make_database
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work import records
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord, checked
from nanomem_tui.store.work.work_store import WorkStore
from tests.store.stores import Store, add, database, texts

Again = Callable[[], Store]


def differences(database):
    """What alembic finds different between a database and the models, the tables of the full-text index apart."""
    ours = {
        "include_name": lambda name, kind, _: (
            not (kind == "table" and name.startswith(("memory_entries_fts", "memory_words")))
        )
    }
    with database.reading() as connection:
        return compare_metadata(MigrationContext.configure(connection, opts=ours), models.METADATA)


def set_version(store, version):
    with store.database.writing(durable=True) as connection:
        connection.execute(migrations.MEMORY.table.update().values(version_num=version))


def test_a_new_store_has_the_schema_of_the_newest_migration(folder, store):
    config = Config()
    config.set_main_option("script_location", "nanomem_tui.store.database:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.NEWEST]
    with store.database.reading() as connection:
        assert migrations.version_of(connection) == migrations.NEWEST
    assert differences(store.database) == []
    assert migrations.migrate(store.database) is None


def test_a_database_of_a_later_release_is_refused_by_readers_and_writers(folder, again):
    store = again()
    add(store, "a", "first")
    reading = Store(database(folder), store.writers)
    set_version(store, "0987")
    with pytest.raises(NewerDatabase) as met:
        reading.load()
    line = met.value.line()
    assert "schema 0987" in line
    assert store.database.where in line
    assert "install a newer nanomem" in line
    assert "\n" not in line
    with pytest.raises(NewerDatabase):
        make_database(reading.database, "w")
    with pytest.raises(NewerDatabase):
        migrations.migrate(store.database)
    reading.database.close()


def test_a_process_that_was_open_stops_when_a_later_release_migrated_the_database(store):
    add(store, "a", "first")
    set_version(store, "0987")
    with store.database.writing(durable=True) as connection:
        connection.execute(text("UPDATE meta SET epoch = 'another'"))
    with pytest.raises(NewerDatabase):
        add(store, "b", "second")


def as_before(store):
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
import sys
from pathlib import Path
from nanomem_tui.store.database import migrations
from tests.store.stores import database
scripts = Path(sys.argv[1]).parent / "scripts"
scripts.mkdir(exist_ok=True)
(scripts / "versions").mkdir(exist_ok=True)
(scripts / "versions" / "v0000.py").write_text('revision = "0000"\\ndown_revision = None\\n')
(scripts / "versions" / "v0001.py").write_text(sys.argv[2])
migrations.__file__ = str(scripts / "__init__.py")
print(migrations.migrate(database(Path(sys.argv[1]))))
"""


def migrate_elsewhere(folder, **environment):
    """Run the migration above in another process."""
    return subprocess.run(
        [sys.executable, "-c", MIGRATE, str(folder), LATER], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.slow
def test_an_older_database_is_copied_and_migrated_whole(store, folder):
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
    assert (copy.parent, copy.stat().st_mode & 0o777) == (folder / "copies", 0o600)
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT content FROM memory_entries").fetchall() == [("first",)]


@pytest.mark.slow
def test_a_migration_that_is_killed_leaves_the_database_as_it_was(store, folder, again):
    add(store, "a", "first")
    as_before(store)
    assert migrate_elsewhere(folder, KILL="1").returncode == -9
    with store.database.reading() as connection:
        assert migrations.version_of(connection) == "0000"
        assert "mood" not in {column["name"] for column in inspect(connection).get_columns("lessons")}
    set_version(store, migrations.NEWEST)
    assert texts(again()) == {"a": "first"}


def test_a_reader_does_not_migrate(store, folder):
    as_before(store)
    reading = Store(database(folder), store.writers)
    with pytest.raises(StoreError, match="older schema"):
        reading.load()
    reading.database.close()


@pytest.mark.sqlite("one writer keeps others out by a lock beside the file")
def test_a_migration_waits_for_who_writes(store, folder, monkeypatch):
    monkeypatch.setattr("nanomem_tui.store.database.engine.BUSY_SECONDS", 0.1)
    as_before(store)
    with store.database.writing(durable=True), pytest.raises(Refused, match="being repaired or moved"):
        migrations.migrate(SqliteDatabase(folder / "nanomem.db"))


@pytest.mark.slow
def test_alembic_is_imported_only_when_a_migration_is_due():
    code = (
        "import sys, tempfile, pathlib; from tests.store.stores import open_store, add\n"
        "store = open_store(pathlib.Path(tempfile.mkdtemp())); add(store, 'a', 'first'); store.close()\n"
        "print('alembic' in sys.modules)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "NANOMEM_DATABASE_URL"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "False"


# -- the records of work ----------------------------------------------------------------------------------------------


def work_in(folder):
    file = folder / "work.db"
    return contextlib.closing(WorkStore(SqliteDatabase(file, "work.lock"), file, "w"))


def as_of_an_earlier_release(file):
    """Make a file of records one as the release before versions made it."""
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TABLE happening")
        connection.execute("DROP TABLE work_alembic_version")
        connection.execute("UPDATE work_meta SET version = 1")


@pytest.fixture
def earlier_work(tmp_path):
    """A file of records as the release before versions made it, with one goal."""
    with work_in(tmp_path) as made:
        goal = TierRecord("goal", "g1", checked(KINDS["goal"], {"description": "Ship it"}))
        made.write(lambda connection: records.put(connection, [goal]), durable=True)
    as_of_an_earlier_release(tmp_path / "work.db")
    return tmp_path / "work.db"


@pytest.mark.sqlite("the file of records")
def test_records_of_an_earlier_release_are_read_from_a_copy_and_migrated_by_the_first_change(
    earlier_work,
):
    before = earlier_work.read_bytes()
    with work_in(earlier_work.parent) as found:
        assert found.exists
        assert found.read(lambda connection: records.get(connection, KINDS["goal"], "g1")) is not None
        assert found.read(work_models.count) == (0, "")
    assert earlier_work.read_bytes() == before
    with work_in(earlier_work.parent) as found:
        found.write(lambda _connection: None)
        with found.database.reading() as connection:
            assert migrations.version_of(connection, migrations.WORK) == migrations.WORK.newest
            opts = {
                "version_table": migrations.WORK.table.name,
                "include_name": lambda name, kind, _: kind != "table" or name in work_models.METADATA.tables,
            }
            differing = compare_metadata(MigrationContext.configure(connection, opts=opts), work_models.METADATA)
            assert [one for one in differing if one[0] != "add_index"] == [], "some are of a server alone"
            assert not [one for one in differing if "happening" in str(one)]
            assert records.get(connection, KINDS["goal"], "g1") is not None
            (told,) = connection.execute(text("SELECT version FROM work_meta")).one()
            assert told == int(migrations.WORK.newest), "by it a process of the earlier release stops"
    assert len(list((earlier_work.parent / "copies").glob("work-*-schema-0001.db"))) == 1


@pytest.mark.sqlite("the file of records")
def test_records_of_a_later_release_are_refused_by_readers_and_writers(tmp_path):
    with work_in(tmp_path) as made:
        made.write(lambda connection: connection.execute(migrations.WORK.table.update().values(version_num="0987")))
    for use in ("read", "write"):
        with work_in(tmp_path) as found, pytest.raises(NewerDatabase, match="schema 0987"):
            getattr(found, use)(lambda _connection: None)


@pytest.mark.sqlite("the file of records")
def test_who_reads_a_copy_of_older_records_sees_the_file_once_another_process_migrated_it(earlier_work):
    def goals(store):
        return store.read(lambda connection: records.count(connection, KINDS["goal"]))

    with work_in(earlier_work.parent) as reader, work_in(earlier_work.parent) as writer:
        assert goals(reader) == 1
        more = TierRecord("goal", "g2", checked(KINDS["goal"], {"description": "Rest"}))
        writer.write(lambda connection: records.put(connection, [more]))
        assert goals(reader) == 2


@pytest.mark.sqlite("the file of records")
def test_a_process_that_was_open_writes_no_records_into_a_later_schema(tmp_path):
    with work_in(tmp_path) as found:
        found.write(lambda _connection: None)
        with contextlib.closing(sqlite3.connect(tmp_path / "work.db")) as later, later:
            later.execute("UPDATE work_meta SET version = 987")
        with pytest.raises(NewerDatabase, match="schema 987") as met:
            found.write(lambda _connection: None)
        assert "\n" not in met.value.line()


@pytest.mark.sqlite("the file of records")
def test_the_copy_of_older_records_lies_among_those_of_its_own_workspace(tmp_path):
    paths = Paths(tmp_path / "cli_2", tmp_path, tmp_path / "nanomem")
    assert paths.store.name == "workspace-cli_2"
    with contextlib.closing(open_work(paths, "w")) as made:
        made.write(lambda _connection: None, durable=True)
    as_of_an_earlier_release(paths.work_database)
    with contextlib.closing(open_work(paths, "w")) as found:
        found.write(lambda _connection: None)
    assert [copy.parent for copy in tmp_path.rglob("work*-schema-0001.db")] == [paths.copies]
