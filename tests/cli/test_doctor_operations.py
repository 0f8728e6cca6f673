"""Operations altered, taken out or put in: what the chain proves is put back, and nothing good is thrown out."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.store.homes import files

pytestmark = pytest.mark.sqlite("the file itself")
ALTERED = "UPDATE operations SET body_json = replace(body_json, 'tea number', 'wine number') WHERE seq = {}"
PUT_IN = (
    "INSERT INTO operations SELECT 98, workspace_id, 'x', at, actor, kind, 'put in', 1, body_json, 0"
    " FROM operations WHERE seq = 1"
)


@pytest.fixture
def database(home: Callable[[str], Path], run: Run) -> Path:
    workspace = home("nb035")
    for number in range(5):
        assert run("memory", "add", "--text", f"tea number {number}").code == 0
    run("undo")
    return workspace.parent / "nanomem" / "nanomem.db"


def alter(database: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute(statement, values).rowcount
        connection.commit()


def stored(database: Path) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return [*connection.execute("SELECT * FROM operations ORDER BY seq"),
                *connection.execute("SELECT * FROM operation_keys ORDER BY 1, 2, 3, 4")]  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        ALTERED.format(1),
        ALTERED.format(3),
        "UPDATE operations SET body_json = replace(body_json, 'tea', CAST(x'f4e5e1' AS TEXT)) WHERE seq = 2",
        "DELETE FROM operations WHERE seq = 2",
        "DELETE FROM operations WHERE seq = 6",
        "DELETE FROM operations WHERE seq IN (1, 3, 4)",
        "UPDATE operations SET label = 'nothing' WHERE seq = 4",
        "UPDATE operations SET actor = 'agent' WHERE seq = 1",
        "UPDATE operations SET id = 'op_other' WHERE seq = 3",
        "UPDATE operations SET workspace_id = 'nobody' WHERE seq = 3",
        "UPDATE operations SET seq = 99 WHERE seq = 2",
        "UPDATE operations SET undone = 1 - undone",
        "DELETE FROM operation_keys WHERE seq = 2",
        PUT_IN,
    ],
)
def test_what_was_altered_taken_out_or_put_in_is_put_back(statement: str, database: Path, run: Run) -> None:
    before = stored(database)
    alter(database, statement)
    told = run("doctor")
    assert (told.code, "`nanomem doctor --fix` puts back" in told.out) == (1, True), told.out
    done = run("doctor", "--fix", "--yes")
    assert (done.code, "Not fixed" in done.out) == (0, False), done.out
    verified = run("log", "--verify")
    assert (verified.code, "Nothing was changed." in verified.out) == (0, True), verified.out
    assert {*before} <= {*stored(database)}
    assert len(stored(database)) == len(before) + 1  # what the doctor did
    run("memory", "add", "--text", "on it goes")
    assert run("doctor").code == 0
    assert run("log", "--verify").code == 0


def test_what_was_altered_or_put_in_is_kept(database: Path, run: Run) -> None:
    alter(database, ALTERED.format(2))
    alter(database, PUT_IN)
    run("doctor", "--fix", "--yes")
    kept = [path.read_text() for path in (database.parent / "quarantine").glob("*-altered-operation-*.json")]
    assert len(kept) == 2
    assert any("wine number 1" in text for text in kept)
    assert any("put in" in text for text in kept)


def evidence(database: Path) -> dict[str, bytes]:
    return {name: data for name, data in files(database.parent).items() if name.endswith(".kept") or "copy-" in name}


@pytest.mark.parametrize("head", ["abc", "made anew"])
def test_where_neither_can_be_proven_both_stay(head: str, database: Path, run: Run) -> None:
    from nanomem_tui.store import chain, reader

    alter(database, ALTERED.format(2 if head == "abc" else 1))
    if head != "abc":
        with reader.open_database(database) as connection:
            workspace = connection.execute("SELECT workspace_id FROM operations").fetchone()[0]
            head = chain.of(connection, workspace)
    alter(database, "UPDATE memory_meta SET value = ? WHERE key LIKE '%:chain'", head)
    before = evidence(database)
    done = run("doctor", "--fix", "--yes")
    assert (done.code, "nothing that can be put right" in done.out) == (1, True), done.out
    assert "nanomem.db: op_" in done.out, "why there is work left"
    assert evidence(database) == before
    assert not (database.parent / "quarantine").exists()
    assert "all of it stays as it is" in run("doctor").out


def test_without_a_copy_or_anything_kept_it_is_told_and_stays(database: Path, run: Run) -> None:
    for path in [*database.parent.rglob("*.kept"), *database.parent.rglob("copy-*.db")]:
        path.unlink()
    alter(database, ALTERED.format(2))
    assert run("doctor", "--fix", "--yes").code == 1
    assert "neither a copy nor what was kept proves" in run("doctor").out


def test_a_new_copy_of_altered_operations_throws_no_good_one_out(
    database: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nanomem_tui.store.copies import Copies

    alter(database, ALTERED.format(3))
    with monkeypatch.context() as patch:
        patch.setattr(Copies, "is_due", lambda *_: True)
        for number in range(6):
            run("memory", "add", "--text", f"day {number}")
    assert len([*database.parent.rglob("copy-*.db")]) == 4
    assert run("log", "--verify").code == 1
    assert run("doctor", "--fix", "--yes").code == 0
    assert run("log", "--verify").code == 0


def test_what_an_earlier_repair_set_aside_is_believed_where_the_chain_proves_it(database: Path, run: Run) -> None:
    [kept] = database.parent.rglob("000000000001.kept")
    alter(database, ALTERED.format(3))
    aside = database.parent / "quarantine" / f"0123456789abcdef-{kept.name}"
    aside.parent.mkdir()
    kept.rename(aside)
    assert run("doctor", "--fix", "--yes").code == 0
    assert run("log", "--verify").code == 0
