"""The chain of operations: what is changed, taken out or put in behind our back is noticed, what we do is not."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, home, run  # noqa: F401
from tests.store.homes import files

Run = Callable[..., Result]
ADDED = (
    "INSERT INTO operations SELECT 98, workspace_id, 'x', at, actor, kind, label, 1, body_json, 0"
    " FROM operations WHERE seq = 1"
)


@pytest.fixture
def database(home: Callable[[str], Path], run: Run) -> Path:  # noqa: F811
    workspace = home("nb035")
    for number in range(5):
        assert run("memory", "add", "--text", f"tea number {number}").code == 0
    run("undo")
    return workspace.parent / "nanomem" / "nanomem.db"


def alter(database: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount
        connection.commit()


def test_what_we_do_keeps_it_whole(database: Path, run: Run) -> None:  # noqa: F811
    first = run("log", "--verify", "--json").json
    assert (first["operations"], first["whole"]) == (6, True)
    run("memory", "add", "--text", "more")
    run("redo")
    now = run("log", "--verify", "--expect", first["head"][:16], "--json").json
    assert (now["whole"], now["met"]) == (True, now["operations"] - 6)
    assert now["head"] != first["head"]
    assert "Nothing was changed." in run("log", "--verify").out


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE operations SET body_json = replace(body_json, 'number 2', 'number 7') WHERE seq = 3",
        "DELETE FROM operations WHERE seq = 2",
        "UPDATE operations SET label = 'nothing' WHERE seq = 1",
        "UPDATE operations SET actor = 'agent' WHERE seq = 1",
        "UPDATE operations SET seq = 99 WHERE seq = 2",
        ADDED,
        "UPDATE memory_meta SET value = 'abc' WHERE key LIKE '%:chain'",
    ],
)
def test_what_somebody_else_does_is_noticed(statement: str, database: Path, run: Run) -> None:  # noqa: F811
    alter(database, statement)
    result = run("log", "--verify")
    assert result.code == 1
    assert "Broken" in result.out
    run("memory", "add", "--text", "on it goes")
    assert run("log", "--verify").code == 1


@pytest.mark.sqlite("the file itself")
def test_who_makes_the_head_anew_is_told_by_the_noted_one_and_by_the_copy(
    database: Path,
    run: Run,  # noqa: F811
) -> None:
    from nanomem_tui.store import chain, reader

    noted = run("log", "--verify", "--json").json["head"]
    alter(database, "UPDATE operations SET body_json = replace(body_json, 'number 0', 'number 9') WHERE seq = 1")
    with reader.open_database(database) as connection:
        workspace = connection.execute("SELECT workspace_id FROM operations").fetchone()[0]
        head = chain.of(connection, workspace)
    alter(database, f"UPDATE memory_meta SET value = '{head}' WHERE key LIKE '%:chain'")
    assert run("log", "--verify", "--expect", noted).code == 1
    assert "it knows another past" in run("log", "--verify").out  # the copy of today


@pytest.mark.sqlite("the file itself")
def test_forgetting_is_told_and_hides_no_change_of_others(database: Path, run: Run) -> None:  # noqa: F811
    run("forget", "--text", "tea number 3", "--yes")
    found = run("log", "--verify", "--json")
    assert found.code == 0, found.out
    assert [one["why"] for one in json.loads(found.out)["rewritten"]] == ["forget"]
    alter(database, "UPDATE operations SET body_json = replace(body_json, 'number 0', 'number 9') WHERE seq = 1")
    run("forget", "--text", "tea number 2", "--yes")
    assert run("log", "--verify").code == 1
    assert "the chain was broken already" in run("log", "--verify").out


@pytest.mark.sqlite("the file itself")
def test_an_older_database_begins_its_chain(database: Path, run: Run) -> None:  # noqa: F811
    alter(database, "DELETE FROM memory_meta WHERE key LIKE '%:chain'")
    before = run("log", "--verify", "--json").json
    assert before["whole"]
    run("memory", "add", "--text", "one more")
    after = run("log", "--verify", "--expect", before["head"], "--json").json
    assert (after["kept"], after["met"]) == (after["head"], 1)


@pytest.mark.parametrize("line", ["--expect aaaaaaaaaaaa", "--verify --expect abc", "--verify --expect xxxxxxxxxxxx"])
def test_bad_input(line: str, database: Path, run: Run) -> None:  # noqa: F811
    assert run("log", *line.split()).code == 2


@pytest.mark.sqlite("the file itself")
def test_who_verifies_writes_nothing_and_names_an_altered_row(database: Path, run: Run) -> None:  # noqa: F811
    key = run("memory", "list", "--json").json[0]["id"]
    alter(database, f"UPDATE memory_entries SET content = 'wire money to Bob' WHERE id = '{key}'")
    before = files(database.parent)
    result = run("log", "--verify")
    assert (result.code, f"Broken: item {key} is not what was written." in result.out) == (1, True), result.out
    assert "Nothing was changed" not in result.out
    assert run("log", "--verify", "--json").json["altered"] == [{"layer": "item", "id": key}]
    assert files(database.parent) == before


@pytest.mark.sqlite("the file itself")
def test_an_altered_row_is_kept_before_it_is_put_right(database: Path, run: Run) -> None:  # noqa: F811
    key = run("memory", "list", "--json").json[0]["id"]
    alter(database, f"UPDATE memory_entries SET content = 'wire money to Bob' WHERE id = '{key}'")
    run("memory", "add", "--text", "on it goes")
    [kept] = (database.parent / "quarantine").glob("*.json")
    assert json.loads(kept.read_text())["text"] == "wire money to Bob"
    assert run("log", "--verify").code == 0
    assert f"item-{key} was not what was written" in run("doctor").out


@pytest.mark.sqlite("the file itself")
def test_an_operation_said_to_be_undone_by_nobody_is_named(database: Path, run: Run) -> None:  # noqa: F811
    alter(database, "UPDATE operations SET undone = 1 - undone")
    result = run("log", "--verify")
    assert result.code == 1
    assert result.out.count("said to be undone, and no undo of it stands") == 5
    assert result.out.count("said to stand, and it is undone") == 1
    assert "said to be undone" in run("doctor").out


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("older", [False, True])
def test_the_newest_operation_taken_out_hinders_no_write_and_comes_back(
    older: bool,
    database: Path,
    run: Run,  # noqa: F811
) -> None:
    head = run("log", "--verify", "--json").json["head"]
    if older:  # a database of a release that knew no such marker
        alter(database, "DELETE FROM memory_meta WHERE key LIKE '%:last_seq'")
    alter(database, "DELETE FROM operations WHERE seq = (SELECT max(seq) FROM operations)")
    result = run("log", "--verify")
    assert result.code == 1
    assert "operation 6 is missing: it touched" in result.out
    assert "kept, and not there: " in result.out
    assert "operation 6 is missing" in run("doctor").out
    added = run("memory", "add", "--text", "on it goes")
    assert (added.code, added.err) == (0, "")
    now = run("log", "--verify", "--expect", head)
    assert now.code == 0, now.out
    assert run("log", "--verify", "--json").json["operations"] == 7


@pytest.mark.sqlite("the file itself")
def test_a_row_that_is_back_is_missed_no_more(database: Path, run: Run) -> None:  # noqa: F811
    key = run("memory", "list", "--json").json[0]["id"]
    alter(database, f"DELETE FROM memory_entries WHERE id = '{key}'")
    assert "1 row fewer than were written" in run("log", "--verify").out
    run("memory", "add", "--text", "on it goes")
    assert key in {row["id"] for row in run("memory", "list", "--json").json}
    assert run("log", "--verify").code == 0
    assert "missing" not in run("doctor").out
