"""A row that another program altered, took out or put in: what is shown of it, and what the doctor says to do."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, home, run  # noqa: F401
from tests.store.test_chain import alter

Run = Callable[..., Result]
pytestmark = pytest.mark.sqlite("the file itself")


@pytest.fixture
def database(home: Callable[[str], Path], run: Run) -> Path:  # noqa: F811
    workspace = home("nb035")
    for number in range(1, 6):
        assert run("memory", "add", "--text", f"fact number {number} is about rivers").code == 0
    return workspace.parent / "nanomem" / "nanomem.db"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_entries SET content = 'rivers are EVIL' WHERE content LIKE '%number 3%'",
        "UPDATE memory_entries SET enabled = 0 WHERE content LIKE '%number 3%'",
        "UPDATE memory_entries SET scope_type = 'chat', scope_key = 'x' WHERE content LIKE '%number 3%'",
        "DELETE FROM memory_entries WHERE content LIKE '%number 3%'",
    ],
)
def test_a_search_shows_what_was_written(statement: str, database: Path, run: Run) -> None:  # noqa: F811
    alter(database, statement)
    found = [row["text"] for row in run("memory", "search", "--query", "rivers", "--json").json]
    assert sorted(found) == [f"fact number {n} is about rivers" for n in range(1, 6)]
    assert sorted(found) == sorted(row["text"] for row in run("memory", "list", "--json").json)
    assert run("memory", "search", "--query", "EVIL", "--json").json == []


@pytest.mark.parametrize("statement", ["DELETE FROM records", "UPDATE records SET text = 'EVIL'"])
def test_a_list_of_records_shows_what_was_written(statement: str, database: Path, run: Run) -> None:  # noqa: F811
    run("journal", "add", "--text", "planted a tree")
    before = run("journal", "list").out
    assert "planted a tree" in before
    alter(database, statement)
    assert run("journal", "list").out == before
    assert "planted a tree" in run("journal", "search", "tree").out


def test_counts_are_those_of_what_was_written(database: Path, run: Run) -> None:  # noqa: F811
    run("journal", "add", "--text", "planted a tree")
    before = run("memory", "status", "--json").json
    alter(database, "DELETE FROM memory_entries WHERE content LIKE '%number 3%'")
    assert run("memory", "status", "--json").json["items"] == before["items"]


def lines_of(run: Run, key: str) -> list[str]:  # noqa: F811
    """What the doctor says of a row in the database."""
    return [line for line in run("doctor").out.splitlines() if key in line and "quarantine/" not in line]


@pytest.mark.parametrize("changed", ["content = 'rivers are EVIL'", "row_hash = 'x'"])
def test_an_altered_row_has_one_line_with_advice_that_works(
    changed: str,
    database: Path,
    run: Run,  # noqa: F811
) -> None:
    key = run("memory", "list", "--json").json[2]["id"]
    alter(database, f"UPDATE memory_entries SET {changed} WHERE id = '{key}'")
    [line] = lines_of(run, key)
    assert "the next change writes it" in line
    assert run("memory", "add", "--text", "the next change").code == 0
    assert lines_of(run, key) == []
    assert run("log", "--verify").code == 0


def test_a_row_that_was_put_in_is_to_be_deleted(database: Path, run: Run) -> None:  # noqa: F811
    with contextlib.closing(sqlite3.connect(database)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(memory_entries)")]
    instead = {"number": "99", "id": "'ltm_put_in'", "content": "'send all rivers to Bob'"}
    values = ", ".join(instead.get(name, name) for name in names)
    alter(database, f"INSERT INTO memory_entries SELECT {values} FROM memory_entries WHERE number = 1")
    [line] = lines_of(run, "ltm_put_in")
    assert "unless you know it: `nanomem memory delete ID`" in line
    assert run("memory", "delete", "ltm_put_in", "--yes").code == 0
    assert lines_of(run, "ltm_put_in") == []
    assert run("log", "--verify").code == 0


def test_without_a_copy_an_edit_writes_an_altered_row_anew(database: Path, run: Run) -> None:  # noqa: F811
    key = run("memory", "list", "--json").json[2]["id"]
    alter(database, f"UPDATE memory_entries SET content = 'rivers are EVIL' WHERE id = '{key}'")
    shutil.rmtree(database.with_name("backups"))
    [line] = lines_of(run, key)
    assert "`nanomem log --key ID` names the changes that made it, and `nanomem memory edit ID` writes it anew" in line
    assert "fact number 3" in run("log", "--key", key).out
    assert run("memory", "edit", key, "--text", "fact number 3 is about rivers").code == 0
    assert lines_of(run, key) == []


def test_of_many_rows_one_that_is_altered_has_one_line(
    database: Path,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nanomem_tui.store.mending.VERIFIED", 0)
    key = run("memory", "list", "--json").json[2]["id"]
    alter(database, f"UPDATE memory_entries SET content = 'rivers are EVIL' WHERE id = '{key}'")
    [line] = lines_of(run, key)
    assert "writes it anew" in line
