"""The search index made anew: whatever it lacks or holds too much of, afterwards it is what the rows say."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import NewerDatabase
from nanomem_tui.store import reindex


@pytest.fixture
def workspace(sample_copy: Callable[[str], Path]) -> Path:
    """A RAM-first workspace with a database: 156 items and one of ours."""
    folder = sample_copy("ramfirst") / "home" / ".nanobot" / "workspace"
    with open_workspace(folder) as ws:
        ws.items.add("zebras graze at dawn")
        ws.flush()
    return folder


def spoil(workspace: Path, *statements: str) -> None:
    connection = sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def found(workspace: Path, words: str) -> list[str]:
    with open_workspace(workspace) as ws:
        return [hit.item.text for hit in ws.items.search(words)]


@pytest.mark.parametrize(
    ("damage", "indexed"),
    [
        ("DELETE FROM memory_entries_fts WHERE rowid > 100", 100),
        ("UPDATE memory_meta SET value = '0' WHERE key LIKE '%:tokens'", 157),
        ("DROP TABLE memory_entries_fts", 0),
        ("UPDATE memory_entries SET is_deleted = 1 WHERE number = 1", 156),
    ],
)
def test_a_spoilt_index_is_seen_and_made_anew(workspace: Path, damage: str, indexed: int) -> None:
    spoil(workspace, damage)
    with open_workspace(workspace) as ws:
        before = reindex.state(ws.store)
        assert (before.indexed, before.current) == (indexed, False)
        after = reindex.rebuild(ws.store)
        assert after.current
        assert after.indexed == after.items
    assert found(workspace, "zebras") == ["zebras graze at dawn"]


def test_an_index_that_is_well_stays_well(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        assert reindex.state(ws.store) == (157, 157, True)
        assert reindex.rebuild(ws.store) == (157, 157, True)


def test_without_a_database_there_is_nothing_to_make(sample_copy: Callable[[str], Path]) -> None:
    folder = sample_copy("ramfirst") / "home" / ".nanobot" / "workspace"
    with open_workspace(folder) as ws:
        assert reindex.rebuild(ws.store) == (0, 0, True)
    assert not (folder.parent / "nanomem").exists()


def test_the_index_of_a_later_version_is_left_alone(workspace: Path) -> None:
    spoil(workspace, "PRAGMA user_version = 999")
    with open_workspace(workspace) as ws, pytest.raises(NewerDatabase):
        reindex.rebuild(ws.store)
