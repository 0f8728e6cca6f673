"""A move that is cut off anywhere loses nothing, leaves a store in use, and goes on by the same command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Conflict, Moved, NanomemError, NotYetWritten
from nanomem_tui.store import moved
from nanomem_tui.store.moving import copying
from nanomem_tui.store.moving.move import Move
from tests.postgres.moving import chain_is_whole, command, filled, move, seen
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]


class CutOff(BaseException):
    """The process ends here."""


def counted(real: Callable[..., Any], stop: int, count: list[int], *, after: bool = False) -> Callable[..., Any]:
    """`real`, and the end of the process at its n-th call, before it or after it."""

    def call(*args: Any, **named: Any) -> Any:
        count[0] += 1
        if count[0] == stop and not after:
            raise CutOff
        done = real(*args, **named)
        if count[0] == stop:
            raise CutOff
        return done

    return call


STEPS = ((copying.Copying, "_write", 8), (copying.Copying, "markers", 1), (Move, "_begin", 1), (Move, "_open", 1),
         (moved, "write", 4), (moved, "remove", 1))  # fmt: skip
POINTS = [
    (owner, name, stop, after)
    for owner, name, most in STEPS
    for stop in range(1, most + 1)
    for after in (False, True)
]


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_it_goes_on_wherever_it_was_cut_off(
    back: bool, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    way = (url, "sqlite") if back else ("sqlite", url)
    for number, (owner, name, stop, after) in enumerate(POINTS):
        if back:
            assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
        with open_workspace(workspace) as ws:
            ws.items.add(f"before the end of number {number}: tea")
        before = seen(workspace)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, counted(getattr(owner, name), stop, [0], after=after))
            with pytest.raises(CutOff):
                move(workspace, *way)
        assert seen(workspace)["rows"] == before["rows"]  # it is whole where it is in use
        with warnings.catch_warnings(), open_workspace(workspace) as ws:
            warnings.simplefilter("ignore", NotYetWritten)  # where its last steps are left, it waits for them
            ws.items.add(f"said after the end of number {number}: tea")
        added = {row.text for row in seen(workspace)["rows"].values() if hasattr(row, "text")}
        assert f"said after the end of number {number}: tea" in added
        assert command(workspace, "migrate-store", *way, "--yes") == 0
        with open_workspace(workspace) as ws:  # what waited is written by the next one
            ws.flush()
            assert not ws.degraded
            assert ws.store.ledger.files() == []
        after_it = seen(workspace)
        assert {row.text for row in after_it["rows"].values() if hasattr(row, "text")} == added
        assert len(after_it["log"]) == len(before["log"]) + 1
        assert chain_is_whole(workspace, capsys)
        if not back:
            assert command(workspace, "migrate-store", url, "sqlite", "--yes") == 0


MOVING = """
import os, signal, sys
from nanomem_tui.store.moving import copying
from nanomem_tui.cli.main import run
stop, count, real = int(sys.argv[1]), [0], copying.Copying._write
def write(*args):
    done = real(*args)
    count[0] += 1
    if count[0] == stop:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
copying.Copying._write = write
run(["migrate-store", sys.argv[3], sys.argv[4], "--yes", "--workspace", sys.argv[2]])
"""


def test_a_killed_process(tmp_path: Path, postgres: PostgresServer, capsys: Any) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    before = seen(workspace)
    for stop in (1, 3, 5):
        line = [sys.executable, "-c", MOVING, str(stop), str(workspace), "sqlite", url]
        assert subprocess.run(line, check=False, cwd=os.getcwd()).returncode == -signal.SIGKILL
        assert seen(workspace) == before
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    assert seen(workspace) == before
    assert chain_is_whole(workspace, capsys)


def test_who_has_the_old_store_open_loses_nothing(
    tmp_path: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    old = open_workspace(workspace)
    old.items.add("written before")
    old.flush()
    _, waiting, _ = old.items.add("acknowledged before, written later")
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    _, later, _ = old.items.add("acknowledged after")
    with pytest.raises(Moved, match="has moved to"):
        old.flush()
    assert "has moved to" in old.degraded
    with open_workspace(workspace) as new:  # sees what the other one has yet to write
        assert {waiting.id, later.id} <= {item.id for item in new.items.all()}
        new.items.edit(waiting.id, text="edited by the new one")
        new.flush()
    with pytest.raises(Moved, match="has moved to"):
        old.close()
    with open_workspace(workspace) as new:
        new.flush()
        texts = [item.text for item in new.items.all()]
        assert texts.count("edited by the new one") == 1
        assert texts.count("acknowledged after") == 1
        assert new.store.ledger.files() == []
    assert chain_is_whole(workspace, capsys)


def test_who_opens_the_old_store_is_told(
    tmp_path: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    assert command(workspace, "migrate-store", "sqlite", url, "--yes", "--keep-settings") == 0
    assert "database_url" in capsys.readouterr().out
    assert command(workspace, "memory", "add", "--text", "said to the old one") == 0
    assert capsys.readouterr().err.count("has moved to") == 1
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0  # sets what was kept
    assert command(workspace, "memory", "flush") == 0
    assert "said to the old one" in {item.text for item in seen(workspace)["rows"].values() if hasattr(item, "text")}
    capsys.readouterr()
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    assert "nothing to do" in capsys.readouterr().out


def test_the_connection_drops_in_the_middle(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    before = seen(workspace)
    real, count = copying.write, [0]

    def write(*args: Any) -> None:
        count[0] += 1
        if count[0] == 2:
            postgres.run("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                     " WHERE application_name LIKE 'nanomem%' AND pid <> pg_backend_pid()")  # fmt: skip
        real(*args)

    monkeypatch.setattr(copying, "write", write)
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert seen(workspace) == before
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    assert seen(workspace) == before


def test_rows_that_do_not_come_out_the_same_are_not_used(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    before = seen(workspace)
    with monkeypatch.context() as patch:
        real = copying.write

        def write(connection: Any, wid: str, table: Any, changes: Any, ranks: Any) -> None:
            real(connection, wid, table, changes[1:] if table.name == "lessons" else changes, ranks)

        patch.setattr(copying, "write", write)
        with pytest.raises(Conflict, match="did not come out the same"):
            move(workspace, "sqlite", url)
    assert seen(workspace) == before
    move(workspace, "sqlite", url)


def test_two_moves_at_once(tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    told: list[str] = []
    real = copying.Copying.run

    def run(*args: Any, **named: Any) -> Any:
        with pytest.raises(NanomemError) as error:
            move(workspace, "sqlite", url)
        told.append(error.value.line())
        return real(*args, **named)

    monkeypatch.setattr(copying.Copying, "run", run)
    move(workspace, "sqlite", url)
    assert "another process" in told[0]
