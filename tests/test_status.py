"""`memory status`: it tells the truth of every home, changes nothing, and outlives a part that breaks."""

import json
import sqlite3
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run
from nanomem_tui.memory.turns.request import turn_input
from tests.agents.chroma_homes import fact, make, named
from tests.store.homes import files, kill, make_home


@pytest.mark.parametrize("loaded", [False, True])
def test_status_counts_what_is_there(tmp_path, loaded):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_1"])
        ws.items.set_enabled(["ltm_2"], False)
        ws.lessons.set_enabled(["lesson_1"], False)
    waiting = open_workspace(workspace)
    waiting.items.add("the agent's file lacks it yet")
    with open_workspace(workspace) as ws:
        if loaded:
            ws.items.all()
        status = ws.status()
    assert (status["items"]["total"], status["items"]["enabled"], status["items"]["foreign"]) == (4, 3, 0)
    assert status["lessons"] == {"total": 3, "enabled": 2, "strong": 0, "by_scope": {"global": 3}}
    assert status["store"]["operations"] == 4
    assert status["store"]["schema"] == 1
    assert status["store"]["database"].endswith("nanomem.db")
    assert status["checkpoint"]["dirty"] == 1
    assert status["problems"] == []
    kill(waiting)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nb035", {"items": 0, "sessions": 39, "history": 282, "runs": 20}),
        ("v0_1_5", {"items": 0, "history": 149}),
        ("ramfirst", {"items": 156, "lessons": 61, "sessions": 6}),
        ("torn", {"items": 129, "lessons": 60}),
        ("ftswal", {"wal": 5, "turns": 400}),
    ],
)
def test_status_tells_the_truth_of_every_sample(sample_copy, name, expected):
    home = sample_copy(name) / "home" / ".nanobot"
    before = files(home)
    with open_workspace(home / "workspace") as ws:
        status = ws.status()
    assert json.loads(json.dumps(status)) == status
    found = {
        "items": status["items"]["total"],
        "lessons": status["lessons"]["total"],
        "sessions": status["sessions"],
        "history": status["history"]["entries"],
        "runs": status["dream"]["runs"],
        "wal": status["wal"]["files"],
        "turns": status["wal"]["turns"],
    }
    assert {key: found[key] for key in expected} == expected
    assert bool([p for p in status["problems"] if p["severity"] == "error"]) == (name == "torn")
    assert files(home) == before


def test_a_part_that_breaks_leaves_the_others(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    with closing(sqlite3.connect(ws.paths.database)) as database:
        database.execute("DROP TABLE lessons")
    with open_workspace(workspace) as ws:
        status = ws.status()
    assert status["items"]["total"] == 4
    assert status["lessons"]["total"] is None
    (problem,) = status["problems"]
    assert problem["what"] == "the database cannot be read (no such table: lessons)"


def test_status_says_what_became_of_older_markdown(tmp_path):
    workspace = make_home(tmp_path)
    (workspace / "memory" / "MEMORY.md").write_text("- Ana likes tea\n")
    with open_workspace(workspace) as ws:
        assert ws.status()["backfill"] == {"done": False, "at": None, "files": 1, "items": 0, "undone": False}
        ws.engine.begin_turn(turn_input({"session_key": "telegram:42", "text": "hello"}))
        made = next(entry.operation for entry in ws.log() if entry.operation.kind == "memory.backfill")
        done = {"done": True, "at": made.at, "files": 0, "items": 1, "undone": False}
        assert ws.status()["backfill"] == done
    with open_workspace(workspace) as ws:
        assert ws.status()["backfill"] == done
        ws.undo(made.id)
        assert ws.status()["backfill"] == {**done, "undone": True}


def test_status_names_the_chroma_folder_of_another_system(tmp_path, capsys):
    workspace = make_home(tmp_path)
    facts = named([fact("Contact", "phone", "555"), fact("Contact", "mail", "ana@example.org")])
    make(workspace.parent / "chroma", {"nanobot_facts": facts, "notes": {"a": {"x": 1}}})
    with open_workspace(workspace) as ws:
        (found,) = ws.status()["foreign"]
        assert (found["path"], found["format"], found["total"]) == ("chroma", "chroma", 3)
        assert found["collections"] == {"nanobot_facts": 2, "notes": 1}
        assert ws.status()["items"]["foreign"] == 0, "its facts are not listed"
    assert run(["memory", "status", "--workspace", str(workspace)]) == 0
    assert "Foreign Chroma folder, read only: chroma (2 in nanobot_facts, 1 in notes)" in capsys.readouterr().out


def test_a_chroma_folder_that_cannot_be_read_is_named_all_the_same(tmp_path, capsys):
    workspace = make_home(tmp_path)
    folder = workspace.parent / "chroma"
    folder.mkdir()
    (folder / "chroma.sqlite3").write_bytes(b"no database at all")
    with open_workspace(workspace) as ws:
        (found,) = ws.status()["foreign"]
        assert (found["path"], found["total"]) == ("chroma", None)
        assert found["why"]
    assert run(["memory", "status", "--workspace", str(workspace)]) == 0
    assert f"Foreign Chroma folder, read only: chroma ({found['why']})" in capsys.readouterr().out


def test_the_chroma_folder_of_our_own_index_is_not_foreign(tmp_path):
    workspace = make_home(tmp_path)
    make(workspace.parent / "chroma", {"nanobot_facts": {}})
    (workspace.parent / "chroma" / "nanomem.json").write_text("{}")
    with open_workspace(workspace) as ws:
        assert ws.status()["foreign"] == []
