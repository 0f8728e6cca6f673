"""A memory moves between its file and a server, and is the same afterwards: rows, operations, history, search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from tests.postgres.moving import chain_is_whole, command, filled, seen
from tests.postgres_server import PostgresServer

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]


def test_there_and_back(tmp_path: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    before = seen(workspace)
    assert before["log"]
    assert before["found"]

    assert command(workspace, "migrate-store", "sqlite", url, "--yes", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "new"
    assert told["tables"]["vectors"]["rows"] > 0
    assert told["rows"] == {name: one["rows"] for name, one in told["tables"].items()}
    with open_workspace(workspace) as ws:
        assert ws.store.server is not None
        assert not ws.degraded
    assert seen(workspace) == before
    assert chain_is_whole(workspace, capsys)
    with open_workspace(workspace) as ws:
        ws.items.add("said on the server: tea again")
        ws.undo()
        ws.redo()
        item = ws.items.all()[0]
        ws.items.edit(item.id, text="edited on the server")
    on_server = seen(workspace)
    assert len(on_server["log"]) > len(before["log"])

    assert command(workspace, "migrate-store", url, "sqlite", "--yes") == 0
    with open_workspace(workspace) as ws:
        assert ws.store.server is None
        assert not ws.degraded
    assert seen(workspace) == on_server
    assert chain_is_whole(workspace, capsys)
    with open_workspace(workspace) as ws:
        ws.items.add("and in the file again")
        assert not ws.degraded
    capsys.readouterr()
    assert command(workspace, "doctor") in (0, 1)
    assert "damaged" not in capsys.readouterr().out


def test_from_one_server_to_another(
    tmp_path: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = filled(tmp_path)
    before = seen(workspace)
    (_, one), (_, other) = postgres.fresh(), postgres.fresh()
    assert command(workspace, "migrate-store", "sqlite", one, "--yes") == 0
    assert command(workspace, "migrate-store", one, other, "--yes") == 0
    assert seen(workspace) == before
    assert command(workspace, "migrate-store", other, one, "--yes") == 0
    assert seen(workspace) == before
    assert chain_is_whole(workspace, capsys)
