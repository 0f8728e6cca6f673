"""A marker of the database that is no value of its kind, or that the tables contradict, hides nothing and is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from tests.cli.conftest import Result, run  # noqa: F401
from tests.store.test_chain import alter

Run = Callable[..., Result]
pytestmark = pytest.mark.sqlite("the file itself")
TEXTS = {"Ana has two cats", "Ana plays chess"}
NO_COUNT = ["'-5'", "'abc'", "''", "x'31'", "'99999999999999999999999999'", "'1.5'", "' 1'"]
WRONG = [
    *(("revision", value) for value in (*NO_COUNT, "'0'")),
    *(("last_seq", value) for value in (*NO_COUNT, "'1'")),
    *(("audit_seq", value) for value in (*NO_COUNT, "'77'")),
    *((name, value) for name in ("rows", "operations") for value in NO_COUNT),
    *((name, value) for name in ("last_at", "last_ms") for value in ("'abc'", "x'00'")),
    *((name, "x'00'") for name in ("tokens", "exported", "stat:LTM_SNAPSHOT.json", "order:LESSONS.jsonl")),
]
COUNTS = [("rows", "'1'"), ("rows", "'99'"), ("operations", "'1'"), ("operations", "'99'")]
"""Counts that only a look at everything tells."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "home" / "workspace"
    (found / "memory").mkdir(parents=True)
    (found.parent / "config.json").write_text("{}")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    for text in sorted(TEXTS):
        with open_workspace(found) as ws:
            ws.items.add(text)
    return found


def altered(workspace: Path, name: str, value: str) -> None:
    alter(workspace.parent / "nanomem" / "nanomem.db",
          f"UPDATE memory_meta SET value = {value} WHERE key LIKE '%:{name}'")  # fmt: skip


def shown(run: Run) -> set[str]:  # noqa: F811
    return {row["text"] for row in run("memory", "list", "--json").json}


@pytest.mark.parametrize(("name", "value"), [*WRONG, *COUNTS])
def test_it_is_told_hides_nothing_and_the_doctor_puts_it_right(
    workspace: Path,
    run: Run,  # noqa: F811
    name: str,
    value: str,
) -> None:
    assert run("log", "--verify", "--receipt", str(workspace.parent / "r.json")).code == 0
    altered(workspace, name, value)
    assert shown(run) == TEXTS
    for command in (["log", "--verify"], ["log", "--verify", "--expect", str(workspace.parent / "r.json")], ["doctor"]):
        told = run(*command)
        assert told.code == 1
        assert f"({name})" in told.out
    fixed = run("doctor", "--fix", "--yes")
    assert (fixed.code, f"({name})" in fixed.out) == (0, True), fixed.out
    assert run("log", "--verify", "--expect", str(workspace.parent / "r.json")).code == 0
    assert shown(run) == TEXTS


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_the_next_change_is_seen_and_puts_it_right(
    workspace: Path,
    run: Run,  # noqa: F811
    name: str,
    value: str,
) -> None:
    with open_workspace(workspace) as other:
        other.items.all()
        altered(workspace, name, value)
        assert run("memory", "add", "--text", "Ana sails").err == ""
        other.refresh()
        assert {item.text for item in other.items.all()} == {*TEXTS, "Ana sails"}
    assert shown(run) == {*TEXTS, "Ana sails"}
    assert run("log", "--verify").code == 0
    assert run("doctor").code == 0
    assert run("undo").code == 0
    assert shown(run) == TEXTS


def test_a_row_that_was_taken_out_is_no_wrong_count(workspace: Path, run: Run) -> None:  # noqa: F811
    alter(workspace.parent / "nanomem" / "nanomem.db", "DELETE FROM memory_entries WHERE content LIKE '%cats'")
    told = run("log", "--verify")
    assert "1 row fewer" in told.out
    assert "(rows)" not in told.out
    assert run("doctor", "--fix", "--yes").code == 0
    assert shown(run) == TEXTS
    assert run("log", "--verify").code == 0
