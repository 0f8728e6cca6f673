"""What keeps a memory from moving is one clear line and exit code 2, and nothing is changed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace, paths
from nanomem_tui.store import reader
from nanomem_tui.store.postgres import schema
from tests.postgres.moving import command, filled, move, seen
from tests.postgres_server import PostgresServer
from tests.store.homes import make_home

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
Capture = pytest.CaptureFixture[str]


def refused(workspace: Path, capsys: Capture, *line: str, code: int = 2) -> str:
    """The one line of a move that is refused; what a person sees is as before."""
    before = seen(workspace)
    capsys.readouterr()
    assert command(workspace, "migrate-store", *line, "--yes") == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert seen(workspace) == before
    return told.err


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return filled(tmp_path, items=3)


def test_no_such_place(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    _, url = postgres.fresh()
    gone = url.replace(str(postgres.folder), str(postgres.folder / "nobody"))
    assert "does not answer" in refused(workspace, capsys, "sqlite", gone)
    assert "no such database" in refused(workspace, capsys, "sqlite", url.replace("/postgres?", "/nothing?"))
    assert "no address" in refused(workspace, capsys, "sqlite", "mysql://here")
    assert "holds a password" in refused(workspace, capsys, "sqlite", "postgresql://me:secret@nowhere/db")
    assert "same place" in refused(workspace, capsys, "sqlite", "sqlite")
    assert "same place" in refused(workspace, capsys, url, url.replace("postgresql://", "postgresql+psycopg://"))


def test_nothing_to_move(tmp_path: Path, postgres: PostgresServer, capsys: Capture) -> None:
    workspace = make_home(tmp_path)
    _, url = postgres.fresh()
    assert "nothing was written there yet" in refused(workspace, capsys, "sqlite", url, code=1)
    assert "nothing was written there yet" in refused(workspace, capsys, url, "sqlite", code=1)


def test_no_right_to_make_tables(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    name, url = postgres.fresh()
    postgres.run("postgres", f"CREATE ROLE r_{name} LOGIN", f"GRANT USAGE ON SCHEMA {name} TO r_{name}")
    told = refused(workspace, capsys, "sqlite", url.replace("postgres@", f"r_{name}@"))
    assert "a right is missing" in told
    assert "docs/postgresql.md" in told


def test_tables_of_somebody_else(workspace: Path, postgres: PostgresServer, tmp_path: Path, capsys: Capture) -> None:
    name, url = postgres.fresh()
    move(filled(tmp_path / "other", items=1), "sqlite", url)  # makes the tables
    postgres.run("postgres", f"CREATE ROLE r_{name} LOGIN", f"GRANT USAGE ON SCHEMA {name} TO r_{name}",
                 f"GRANT ALL ON ALL TABLES IN SCHEMA {name} TO r_{name}")  # fmt: skip
    theirs = url.replace("postgres@", f"r_{name}@")
    assert "a right is missing" in refused(workspace, capsys, "sqlite", theirs)
    found = paths.workspace_id(paths.locate(workspace))
    postgres.run("postgres", f"INSERT INTO {name}.nanomem_members VALUES ('r_{name}', '{found}')")
    before = seen(workspace)
    assert command(workspace, "migrate-store", "sqlite", theirs, "--yes") == 0
    assert seen(workspace) == before


def test_a_server_that_is_too_old(
    workspace: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _, url = postgres.fresh()
    monkeypatch.setattr(schema, "OLDEST_SERVER", 990_000)
    assert "is the oldest that will do" in refused(workspace, capsys, "sqlite", url)


def test_tables_of_a_later_version(workspace: Path, postgres: PostgresServer, tmp_path: Path, capsys: Capture) -> None:
    name, url = postgres.fresh()
    move(filled(tmp_path / "other", items=1), "sqlite", url)
    postgres.run("postgres", f"UPDATE {name}.nanomem_schema SET version = {schema.VERSION + 1}")
    assert "install a newer nanomem" in refused(workspace, capsys, "sqlite", url)


def test_a_file_of_a_later_version(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    _, url = postgres.fresh()
    move(workspace, "sqlite", url)
    command(workspace, "config", "set", "--here", "database_url", url)
    database = paths.locate(workspace).database
    with sqlite3.connect(database) as connection:
        connection.execute(f"PRAGMA user_version = {reader.SCHEMA_VERSION + 1}")
    connection.close()
    assert "install a newer nanomem" in refused(workspace, capsys, url, "sqlite")


def test_a_later_version_comes_while_it_moves(
    workspace: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from nanomem_tui.store.moving import copying

    name, url = postgres.fresh()
    real, calls = copying.write, []

    def write(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            postgres.run("postgres", f"UPDATE {name}.nanomem_schema SET version = {schema.VERSION + 1}")
        real(*args)

    monkeypatch.setattr(copying, "write", write)
    assert "install a newer nanomem" in refused(workspace, capsys, "sqlite", url)


def test_a_memory_that_is_in_use_there(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    _, url = postgres.fresh()
    command(workspace, "config", "set", "--here", "database_url", url)
    with open_workspace(workspace) as ws:
        ws.items.add("another memory of the same workspace")
    command(workspace, "config", "set", "--here", "database_url", "")
    before = seen(workspace)
    assert "--replace" in refused(workspace, capsys, "sqlite", url)
    assert command(workspace, "migrate-store", "sqlite", url, "--replace", "--yes") == 0
    assert seen(workspace) == before


def test_where_it_has_moved_on(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    (_, one), (_, other), (_, third) = postgres.fresh(), postgres.fresh(), postgres.fresh()
    assert command(workspace, "migrate-store", "sqlite", one, "--yes") == 0
    assert command(workspace, "migrate-store", one, other, "--yes") == 0
    assert "has moved to" in refused(workspace, capsys, "sqlite", one)
    assert "has moved to" in refused(workspace, capsys, one, third)


def test_it_is_told_before(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    name, url = postgres.fresh()
    capsys.readouterr()
    assert command(workspace, "migrate-store", "sqlite", url, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True
    assert told["rows"]["memory_entries"] == 6
    assert postgres.run("postgres", f"SELECT count(*) FROM pg_tables WHERE schemaname = '{name}'") == [(0,)]
    assert command(workspace, "migrate-store", "sqlite", url) == 2  # nobody to ask
    assert "add --yes" in capsys.readouterr().err


def test_a_damaged_file_stays_where_it_is(workspace: Path, postgres: PostgresServer, capsys: Capture) -> None:
    _, url = postgres.fresh()
    database = paths.locate(workspace).database
    data = bytearray(database.read_bytes())
    data[4096 * 3 : 4096 * 3 + 200] = b"\xff" * 200
    database.write_bytes(data)
    capsys.readouterr()
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_operations_that_a_file_lost_do_not_stay_behind(
    workspace: Path, postgres: PostgresServer, capsys: Capture
) -> None:
    _, url = postgres.fresh()
    assert command(workspace, "memory", "add", "--text", "written after the copy of the day") == 0
    with sqlite3.connect(paths.locate(workspace).database) as connection:
        connection.execute("DELETE FROM operation_keys WHERE seq = (SELECT max(seq) FROM operations)")
        connection.execute("DELETE FROM operations WHERE seq = (SELECT max(seq) FROM operations)")
    connection.close()
    capsys.readouterr()
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 2
    assert "kept beside it alone" in capsys.readouterr().err
    assert command(workspace, "memory", "add", "--text", "the next change") == 0
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    assert "written after the copy of the day" in {getattr(row, "text", "") for row in seen(workspace)["rows"].values()}
