"""A memory of an older schema: who reads sees a copy of it, the first change brings it up to date and keeps a copy."""

import contextlib
import sqlite3

import pytest
from sqlalchemy import text

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run as run_line
from nanomem_tui.core.errors import StoreError
from nanomem_tui.store.database import migrations
from tests.store.homes import files, make_home

FIRST = 'revision = "0000"\ndown_revision = None\n'
SECOND = """
from alembic import op
import sqlalchemy as sa
revision = "0001"
down_revision = "0000"
def upgrade():
    op.add_column("lessons", sa.Column("mood", sa.Text()))
    op.execute("UPDATE memory_entries SET content = 'likes tea, migrated' WHERE content = 'likes tea'")
"""


@pytest.fixture
def older(tmp_path, monkeypatch):
    """The workspace of a memory that a release of schema 0000 left; ours has a migration from there."""
    scripts = tmp_path / "scripts"
    (scripts / "versions").mkdir(parents=True)
    (scripts / "versions" / "v0000.py").write_text(FIRST)
    (scripts / "versions" / "v0001.py").write_text(SECOND)
    monkeypatch.setattr(migrations, "__file__", str(scripts / "__init__.py"))
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("likes tea")
        ws.flush()
        with ws.store.writer.database.writing(durable=True) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    return workspace


def database(workspace):
    return workspace.parent / "nanomem" / "nanomem.db"


def version(file):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def kept(workspace):
    return sorted(database(workspace).parent.glob("copies/*-schema-0000.db"))


def texts(workspace):
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


@pytest.mark.sqlite("a file is read from a copy")
def test_who_reads_sees_a_copy_and_is_told_so_and_nothing_is_changed(older, capsys):
    before = files(older.parent, lambda path: path.name.endswith(("-wal", "-shm")))
    assert run_line(["memory", "list"]) == 0
    shown = capsys.readouterr()
    assert "likes tea, migrated" in shown.out
    assert "older schema" in shown.err
    assert shown.err.count("\n") == 1
    assert files(older.parent, lambda path: path.name.endswith(("-wal", "-shm"))) == before
    with open_workspace(older) as ws:
        assert any("older schema" in problem.what for problem in ws.doctor())


@pytest.mark.sqlite("a file is copied")
def test_the_first_change_keeps_a_copy_migrates_and_goes_on(older, capsys):
    assert run_line(["memory", "add", "--text", "likes trains"]) == 0
    assert "older schema" not in capsys.readouterr().err
    assert version(database(older)) == migrations.NEWEST
    assert {"likes tea, migrated", "likes trains"} <= texts(older)
    (copy,) = kept(older)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert version(copy) == "0000"
    assert run_line(["memory", "list"]) == 0
    assert capsys.readouterr().err == ""
    assert run_line(["undo"]) == 0
    assert "likes trains" not in texts(older)
    assert len(kept(older)) == 1


@pytest.mark.sqlite("a file is read from a copy")
def test_a_change_of_what_was_read_from_the_copy_is_made(older):
    with open_workspace(older) as ws:
        (item,) = [item for item in ws.items.all() if item.text.startswith("likes tea")]
        ws.items.edit(item.id, text="likes coffee")
        assert "likes coffee" in {item.text for item in ws.items.all()}
    assert "likes coffee" in texts(older)
    assert version(database(older)) == migrations.NEWEST


def test_the_doctor_brings_it_up_to_date(older, capsys):
    run_line(["doctor", "--fix", "--yes"])
    assert "older schema" in capsys.readouterr().out
    assert "likes tea, migrated" in texts(older)
    run_line(["doctor"])
    assert "older schema" not in capsys.readouterr().out


def test_a_change_without_a_look_brings_it_up_to_date(older):
    with open_workspace(older) as ws:
        ws.items.add("likes trains")
    assert {"likes tea, migrated", "likes trains"} <= texts(older)


@pytest.mark.sqlite("what is read of a server is no copy")
def test_a_repair_from_a_copy_of_an_older_schema_ends_with_the_newest(older):
    with open_workspace(older) as ws:
        ws.items.add("likes trains")
    for copy in database(older).parent.glob("copies/nanomem-*.db"):
        if copy not in kept(older):
            copy.unlink()
    for side in ("-wal", "-shm"):
        database(older).with_name(f"nanomem.db{side}").unlink(missing_ok=True)
    database(older).write_bytes(b"this is no database" * 300)
    assert run_line(["doctor", "--fix", "--yes"]) in (0, 1)
    assert version(database(older)) == migrations.NEWEST
    assert {"likes tea, migrated", "likes trains"} <= texts(older)


@pytest.mark.sqlite("a file is copied")
def test_what_is_forgotten_is_not_in_the_copy_either(older, capsys):
    assert run_line(["forget", "--text", "likes tea", "--yes"]) == 0
    assert not any("likes tea" in found for found in texts(older))
    for copy in database(older).parent.glob("copies/*.db"):
        assert b"likes tea" not in copy.read_bytes()


def test_on_a_server_who_reads_is_told_what_brings_it_up_to_date(older):
    with open_workspace(older) as ws:
        if ws.store.server is None:
            assert ws.items.all()
        else:
            with pytest.raises(StoreError, match="older schema") as met:
                ws.items.all()
            assert "doctor --fix" in met.value.line()


@pytest.mark.vectors
def test_a_move_says_what_is_to_be_run_before(older, capsys):
    line = ["migrate-store", "sqlite", "postgresql+psycopg://nobody@127.0.0.1:1/none", "--dry-run"]
    assert run_line(line) == 2
    told = capsys.readouterr().err
    assert "older schema" in told
    assert "doctor --fix" in told
    assert told.count("\n") == 1
