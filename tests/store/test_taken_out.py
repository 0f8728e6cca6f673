"""What somebody took out of the database together with its markers, or the database itself, is told by what is kept
beside it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, home, run  # noqa: F401
from tests.store.homes import files
from tests.store.test_chain import alter

Run = Callable[..., Result]
pytestmark = pytest.mark.sqlite("the file itself")

MARKERS = "DELETE FROM memory_meta"
COUNTS = "DELETE FROM memory_meta WHERE key NOT LIKE '%:revision' AND key NOT LIKE '%:tokens'"


@pytest.fixture
def database(home: Callable[[str], Path], run: Run) -> Path:  # noqa: F811
    workspace = home("nb035")
    for number in range(1, 6):
        assert run("memory", "add", "--text", f"fact number {number} is about rivers").code == 0
    assert run("facts", "set", "--domain", "Life", "--category", "Home", "--key", "city", "--value", "Porto").code == 0
    return workspace.parent / "nanomem" / "nanomem.db"


def cut(first: int, last: int = 99) -> list[str]:
    """The statements that take operations out, and what tells of them."""
    places = f"WHERE seq BETWEEN {first} AND {last}"
    return [f"DELETE FROM operations {places}", f"DELETE FROM operation_keys {places}"]


@pytest.mark.parametrize(
    ("statements", "lacking"),
    [
        ([MARKERS, *cut(6), "DELETE FROM memory_entries WHERE id LIKE 'fact%'"], ["city: Porto"]),
        ([MARKERS, *cut(3)], [f"fact number {n}" for n in (3, 4, 5)]),
        ([MARKERS, *cut(1)], [f"fact number {n}" for n in (1, 2, 3, 4, 5)]),
        ([COUNTS, *cut(4, 4)], ["fact number 4"]),
        ([MARKERS], []),
    ],
)
def test_what_went_with_its_markers_is_named(
    statements: list[str],
    lacking: list[str],
    database: Path,
    run: Run,  # noqa: F811
) -> None:
    rows = run("memory", "list", "--json").json
    alter(database, *statements)
    before = files(database.parent)
    result = run("log", "--verify")
    assert result.code == 1
    assert "Nothing was changed" not in result.out
    for one in lacking:
        assert f"(add “{one}" in result.out, result.out
    assert files(database.parent) == before
    assert "error    nanomem" in run("doctor").out
    shown = run("memory", "list", "--json")
    assert {row["id"] for row in rows} == {row["id"] for row in json.loads(shown.out)}


def test_a_database_that_lost_its_markers_comes_back_with_the_next_change(
    database: Path,
    run: Run,  # noqa: F811
) -> None:
    alter(database, MARKERS, *cut(3))
    assert "has lost its markers" in run("doctor").out
    assert run("memory", "add", "--text", "on it goes").code == 0
    assert run("log", "--verify", "--json").json["operations"] == 7
    assert run("log", "--verify").code == 0
    assert len(run("memory", "list", "--json").json) == 7
    assert list((database.parent / "quarantine").glob("*-nanomem.db"))


def test_without_a_copy_the_rows_of_a_database_without_markers_are_shown(
    database: Path,
    run: Run,  # noqa: F811
) -> None:
    alter(database, MARKERS)
    shutil.rmtree(database.with_name("backups"))
    assert run("log", "--verify").code == 1
    assert run("memory", "list").out.count("rivers") == 5


def test_a_count_alone_tells_that_operations_are_gone(database: Path, run: Run) -> None:  # noqa: F811
    alter(database, COUNTS, *cut(4, 4))
    for kept in database.parent.glob("ledger/*/kept/*.kept"):
        kept.unlink()
    result = run("log", "--verify")
    assert result.code == 1
    assert "Broken: 1 operation fewer than were written." in result.out


@pytest.mark.parametrize("statement", ["DELETE FROM operation_keys", cut(4, 4)[1]])
def test_what_an_operation_touched_is_missed(statement: str, database: Path, run: Run) -> None:  # noqa: F811
    alter(database, statement)
    result = run("log", "--verify")
    assert result.code == 1
    assert result.out.count("what that touched is not noted") == 1
    assert "what that touched is not noted" in run("doctor").out


def test_a_database_that_cannot_be_read_has_no_head_to_note(database: Path, run: Run) -> None:  # noqa: F811
    head = run("log", "--verify", "--json").json["head"]
    os.truncate(database, 5000)
    result = run("log", "--verify", "--expect", head)
    assert result.code == 1
    assert "Broken: nanomem/nanomem.db: the database cannot be read" in result.out
    assert f"Broken: {head} is not there" in result.out
    assert "the head of the chain" not in result.out
    told = run("log", "--verify", "--json").json
    assert (told["head"], told["whole"]) == ("", False)
    assert "the database cannot be read" in told["damage"]


def test_a_database_that_is_gone_with_its_copies_is_missed(database: Path, run: Run) -> None:  # noqa: F811
    head = run("log", "--verify", "--json").json["head"]
    database.unlink()
    shutil.rmtree(database.with_name("backups"))
    before = files(database.parent)
    gone = "the database is not there, though 6 changes are known from the ledger; 1 of them is gone"
    result = run("log", "--verify")
    assert (result.code, gone in result.out) == (1, True)
    assert "No change recorded" not in result.out
    result = run("log", "--verify", "--expect", head)
    assert (result.code, f"Broken: {head} is not there" in result.out) == (1, True)
    assert run("doctor").out.count(gone) == 1
    assert gone in run("memory", "status").out
    assert gone in run("log").err
    assert files(database.parent) == before


def test_where_nothing_was_ever_written_nothing_is_missed(home: Callable[[str], Path], run: Run) -> None:  # noqa: F811
    home("nb035")
    result = run("log", "--verify")
    assert (result.code, result.out.splitlines()[0]) == (0, "No change recorded.")
    assert run("log").err == ""
