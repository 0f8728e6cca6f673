"""A row that another program altered, took out or put in: what is shown of it, and what the doctor says to do."""

from __future__ import annotations

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
