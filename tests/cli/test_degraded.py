"""What the ledger holds is acknowledged, whatever becomes of the database; what a read-only home still gives."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store import checkpoint, database
from tests.cli.conftest import Run
from tests.store.homes import make_home

ANA = {"session_key": "telegram:42", "sender_id": "ana"}
KEPT = "Note: kept in the ledger; the database is locked by another process, it is written later (degraded)\n"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a database, which is the default one."""
    found = make_home(tmp_path)
    with open_workspace(found) as ws:
        ws.items.add("the first of all")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


@pytest.fixture
def locked(workspace: Path) -> Iterator[sqlite3.Connection]:
    """Another program holds the database."""
    connection = sqlite3.connect(next(workspace.parent.rglob("nanomem.db")), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield connection
    connection.close()


def give(monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]) -> None:
    line = json.dumps(body).encode() + b"\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line), encoding="utf-8"))


def texts(workspace: Path) -> list[str]:
    with open_workspace(workspace) as ws:
        return [row.text for row in ws.items.all()]


def test_a_change_on_a_locked_database_is_acknowledged_and_written_later(
    workspace: Path, locked: sqlite3.Connection, run: Run
) -> None:
    began = time.monotonic()
    done = run("memory", "add", "--text", "the second one", "--json")
    assert time.monotonic() - began < 3.0
    assert (done.code, done.err) == (0, KEPT)
    assert json.loads(done.out)["item"]["text"] == "the second one"
    locked.execute("ROLLBACK")
    assert run("memory", "add", "--text", "the third one").code == 0
    assert texts(workspace).count("the second one") == 1
    waiting = run("memory", "status", "--json").json["checkpoint"]["dirty"]
    assert waiting == 0


@pytest.mark.parametrize("command", [("turn",), ("turn", "serve")])
def test_a_turn_on_a_locked_database_answers(
    workspace: Path,
    locked: sqlite3.Connection,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    monkeypatch.setattr(database, "BUSY_WAIT", 0.2)
    give(monkeypatch, {"do": "turn", **ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."})
    done = run(*command)
    assert (done.code, done.err) == (0, KEPT)
    assert len(json.loads(done.out)["saved"]) == 1
    locked.execute("ROLLBACK")
    assert "I prefer window seats" in texts(workspace)


def test_one_command_waits_once_for_a_lock(
    workspace: Path, locked: sqlite3.Connection, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_WAIT", 1.0)
    give(monkeypatch, {**ANA, "text": "Remember that I prefer window seats", "assistant": "Noted."})
    began = time.monotonic()
    assert run("turn").code == 0  # writes the marker of the backfill, and the checkpoint at the end
    assert time.monotonic() - began < 1.9


def test_a_disk_that_is_full_for_the_database_alone_loses_nothing(
    workspace: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write", full)
        done = run("memory", "add", "--text", "the second one")
    assert done.code == 0
    assert done.err == "Note: kept in the ledger; no space left for the database, it is written later (degraded)\n"
    assert "the second one" in texts(workspace)


def test_a_ledger_that_cannot_be_written_is_a_failure(workspace: Path, run: Run) -> None:
    folder = next(workspace.parent.rglob("ledger"))
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    folder.write_text("no folder")
    done = run("memory", "add", "--text", "the second one")
    assert (done.code, done.out) == (2, "")
    assert "the second one" not in texts(workspace)
