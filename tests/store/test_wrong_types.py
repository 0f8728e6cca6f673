"""Values that SQLite lets into a column, and that none of ours has: told, shown as they were written, and mended."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result, run  # noqa: F401
from tests.store.test_chain import alter

Run = Callable[..., Result]
pytestmark = pytest.mark.sqlite("the file itself")
TEXTS = {"Ana has two cats", "Ana plays chess"}
OF_ITEMS = [
    *(f"{name} = x'ff00'" for name in ("id", "workspace_id", "content", "updated_at", "created_at", "meta_json")),
    *(f"{name} = x'ff00'" for name in ("kind", "scope_key", "session_key", "content_norm", "is_deleted", "revision")),
    *(f"{name} = 'x'" for name in ("importance", "hits", "enabled", "revision", "number")),
    "content = CAST(content AS BLOB)", "id = x'ff00', content = x'ff'", "enabled = 7", "row_hash = x'00'",
    "number = 9223372036854775807", "number = -5",
]  # fmt: skip
OF_RECORDS = [*(f"{name} = x'ff00'" for name in ("id", "text", "meta_json", "about", "kind"))]
OF_OPERATIONS = [
    *(f"UPDATE operations SET {name} = x'ff' WHERE seq = 1" for name in ("at", "body_json", "id", "label", "undone")),
    "UPDATE operations SET workspace_id = x'ff' WHERE seq = 1",
    "UPDATE operations SET touched = 'x' WHERE seq = 1",
    "UPDATE operations SET touched = 1000 WHERE seq = 1",
    *(f"UPDATE operation_keys SET {name} = x'ff' WHERE seq = 1" for name in ("layer", "key")),
    "UPDATE operation_keys SET seq = 'x' WHERE seq = 1",
    "UPDATE operation_keys SET key = 'another' WHERE seq = 1",
    "DELETE FROM operation_keys WHERE seq = 1",
    "INSERT INTO operation_keys SELECT workspace_id, layer, 'another', seq FROM operation_keys WHERE seq = 1",
    "INSERT INTO operation_keys SELECT workspace_id, layer, 'another', 99 FROM operation_keys WHERE seq = 1",
]
LOOKS = (
    ["memory", "list", "--sort", "hits"], ["memory", "status"], ["memory", "search", "--query", "cats"],
    ["memory", "export"], ["journal", "list"], ["recall", "cats"], ["log"], ["doctor"], ["log", "--verify"],
)  # fmt: skip


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:  # noqa: F811
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace.parent / "config.json").write_text("{}")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    for text in sorted(TEXTS):
        assert run("memory", "add", "--text", text).code == 0
    assert run("journal", "add", "--text", "planted a tree").code == 0
    return workspace.parent / "nanomem" / "nanomem.db"


def listed(run: Run) -> list[dict[str, str]]:  # noqa: F811
    """Oldest last; that a copy stands in for the file is told beside."""
    return list(json.loads(run("memory", "list", "--json").out))


def shown(run: Run) -> set[str]:  # noqa: F811
    return {row["text"] for row in listed(run)}


def looked(run: Run) -> None:  # noqa: F811
    """Every look has an answer, and the last of them says that something is wrong."""
    codes = [run(*command).code for command in LOOKS]
    assert 2 not in codes
    assert codes[-1] == 1


STATEMENTS = [
    *(f"UPDATE memory_entries SET {one} WHERE number = 1" for one in OF_ITEMS),
    *(f"UPDATE records SET {one}" for one in OF_RECORDS),
    *OF_OPERATIONS,
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_it_is_told_and_the_doctor_puts_it_right(database: Path, run: Run, statement: str) -> None:  # noqa: F811
    before = run("journal", "list").out
    first = listed(run)[-1]["id"]
    alter(database, statement)
    looked(run)
    if "memory_entries" in statement or "records" in statement:
        assert (listed(run)[-1]["text"], run("journal", "list").out) == ("Ana has two cats", before)
    fixed = run("doctor", "--fix", "--yes")
    assert fixed.code == 0, fixed.out
    assert "Fixed: " in fixed.out
    assert run("log", "--verify").code == 0
    assert shown(run) == TEXTS
    assert run("journal", "list").out == before
    assert "add “Ana has two cats”" in run("log", "--key", first).out
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for table in ("memory_entries", "records", "operations", "operation_keys"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                assert not any(isinstance(value, bytes) for value in row), table


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_change_is_written_all_the_same(database: Path, run: Run, statement: str) -> None:  # noqa: F811
    alter(database, statement)
    added = run("memory", "add", "--text", "Ana sails")
    assert (added.code, "kept in the ledger" in added.err) == (0, False)
    assert shown(run) == {*TEXTS, "Ana sails"}
    assert run("undo").code == 0
    assert shown(run) == TEXTS
    if "memory_entries" in statement or "records" in statement:
        assert run("log", "--verify").code == 0


@pytest.mark.parametrize("statement", [one for one in STATEMENTS if "memory_entries" in one])
def test_without_a_copy_nothing_ends_in_a_traceback(database: Path, run: Run, statement: str) -> None:  # noqa: F811
    shutil.rmtree(database.with_name("backups"))
    for kept in database.parent.rglob("*.kept"):
        kept.unlink()
    alter(database, statement)
    looked(run)
    assert run("memory", "add", "--text", "Ana sails").code == 0
    assert run("doctor", "--fix", "--yes").code in (0, 1)
    assert {"Ana plays chess", "Ana sails"} <= shown(run)
