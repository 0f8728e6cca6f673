"""A memory moves between its file and a server, and is the same afterwards: rows, operations, history, search."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from tests.postgres.moving import chain_is_whole, command, filled, move, seen
from tests.postgres_server import PostgresServer, schema_in
from tests.store.homes import Agent

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
    assert told["rows"].items() <= {name: one["rows"] for name, one in told["tables"].items()}.items()
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


def test_what_is_remembered_of_the_agents_files_moves_too(tmp_path: Path, postgres: PostgresServer) -> None:
    workspace = filled(tmp_path)
    _, url = postgres.fresh()
    agent = Agent(workspace)
    audit = workspace / "memory" / "LTM_AUDIT.jsonl"
    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_3"])
    for way in (("sqlite", url), (url, "sqlite"), ("sqlite", url)):
        before, logged = seen(workspace), audit.read_bytes()
        assert command(workspace, "migrate-store", *way, "--yes") == 0
        with open_workspace(workspace) as ws:
            ws.flush()
        assert (seen(workspace), audit.read_bytes()) == (before, logged)
        agent.flush()  # has what was deleted still in its own memory
        assert "ltm_3" not in seen(workspace)["rows"]
        with open_workspace(workspace) as ws:
            ws.items.add(f"something new after {way[0][:6]}")
        new = audit.read_bytes()
        assert new.startswith(logged)
        assert new[len(logged) :].count(b"something new") <= 1
    assert "ltm_3" not in {row["id"] for row in Agent(workspace).read_items()}


def test_homes_that_share_a_server_keep_what_is_theirs(tmp_path: Path, postgres: PostgresServer) -> None:
    workspace = filled(tmp_path)
    name, url = postgres.fresh()
    move(workspace, "sqlite", url)
    other = "INSERT INTO {0}.{1} SELECT {2} FROM {0}.{1} WHERE {3} LIKE '%@%' AND {3} NOT LIKE '%@another'"
    copies = (
        ("foreign_rows", "workspace_id, split_part(source, '@', 1) || '@another', id, raw_json", "source"),
        ("memory_meta", "split_part(key, '@', 1) || '@another', value", "key"),
    )
    postgres.run("postgres", *(other.format(name, *one) for one in copies))
    query = f"SELECT source, id, raw_json FROM {name}.foreign_rows WHERE source LIKE '%@another' ORDER BY 1, 2"
    theirs = postgres.run("postgres", query)
    assert theirs
    move(workspace, url, "sqlite")
    move(workspace, "sqlite", url)
    assert postgres.run("postgres", query) == theirs
    _, second = postgres.fresh()
    move(workspace, url, second)
    assert postgres.run("postgres", query.replace(f"{name}.", f"{schema_in(second)}.")) == theirs


def test_several_memories_in_one_file_and_one_server(
    tmp_path: Path, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    one = filled(tmp_path, items=3)
    other = one.with_name("second")
    shutil.copytree(one, other)
    for workspace in (other, one, other):
        with open_workspace(workspace) as ws:
            ws.items.add(f"of {workspace.name}: tea")
    before = seen(one), seen(other)
    _, url = postgres.fresh()
    capsys.readouterr()
    assert command(one, "migrate-store", "sqlite", url, "--yes") == 2  # the other one would be left behind
    assert "--keep-settings" in capsys.readouterr().err
    assert (seen(one), seen(other)) == before
    assert command(other, "migrate-store", "sqlite", url, "--yes", "--keep-settings") == 0
    assert command(one, "migrate-store", "sqlite", url, "--yes") == 0
    assert (seen(one), seen(other)) == before
    with open_workspace(one) as ws:
        assert ws.store.server is not None
    assert command(other, "migrate-store", url, "sqlite", "--yes", "--keep-settings") == 0
    assert command(one, "migrate-store", url, "sqlite", "--yes") in (0, 2)


def test_what_a_server_does_not_take_is_fitted(tmp_path: Path, postgres: PostgresServer, capsys: Any) -> None:
    workspace = filled(tmp_path, items=2)
    with open_workspace(workspace) as ws:
        _, item, _ = ws.items.add("a zero \0 in it")
        ws.flush()
    _, url = postgres.fresh()
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    assert seen(workspace)["rows"][item.id].text == "a zero \u2400 in it"
    capsys.readouterr()
    assert command(workspace, "doctor") in (0, 1)
    assert "not what was written" not in capsys.readouterr().out
