"""The memory of one workspace by the library and by commands."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, NothingToDo
from tests.store.homes import Agent, item, make_home

ARCHIVE = Path(__file__).parents[1] / "data" / "first-edition.tar.gz"

pytestmark = pytest.mark.sqlite("the product does not run on this store of a server yet")


@pytest.fixture
def workspace(tmp_path):
    """The workspace of an agent whose two files hold two items and a lesson."""
    return make_home(tmp_path, items=2, lessons=1)


def texts(ws):
    return sorted(row.text for row in ws.items.all())


def nanomem(*words, check=True):
    done = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", *words], capture_output=True, text=True, check=False, env=os.environ
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout if check else done.stderr


def test_opening_and_reading_change_no_byte(workspace):
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    with open_workspace(workspace) as ws:
        assert texts(ws) == ["item number 1", "item number 2"]
        assert ws.log() == []
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_what_one_process_does_another_sees_and_undoes(workspace):
    nanomem("memory", "add", "--text", "The kayak is red", "--workspace", str(workspace))
    with open_workspace(workspace) as ws:
        assert "The kayak is red" in texts(ws)
        ws.undo()
        assert "The kayak is red" not in texts(ws)
    nanomem("redo", "--workspace", str(workspace))
    with open_workspace(workspace) as ws:
        assert "The kayak is red" in texts(ws)
        assert [entry.operation.kind for entry in ws.log()][:2] == ["redo", "undo"]


def test_two_consoles_never_undo_the_same_change_twice(workspace):
    with open_workspace(workspace) as one, open_workspace(workspace) as two:
        one.items.add("first")
        one.items.add("second")
        done = [one.undo()[0].undoes, two.undo()[0].undoes]
        assert len(set(done)) == 2
        with pytest.raises(NothingToDo):
            two.undo(done[0])


def test_what_the_agent_adds_to_its_file_is_seen_at_once_and_committed_by_the_next_change(workspace):
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
        agent.load()
        agent.items["ltm_9"] = item(9, "The agent heard this")
        agent.flush()
        ws.refresh()
        assert "The agent heard this" in texts(ws)
        ws.items.edit("ltm_9", text="The agent heard that")
        kinds = [entry.operation.kind for entry in ws.log()]
        assert kinds[:2] == ["items.edit", "agent.changed"]
    assert "The agent heard that" in {row["text"] for row in agent.read_items()}


def test_how_often_something_was_used_is_counted_and_no_change(workspace):
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
        before = ws.items.get("ltm_1").hits
        ws.store.snapshot.count("item", "ltm_1", 2, "2026-03-05T10:00:00+00:00")
        ws.flush()
        assert len(ws.log()) == 1
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").hits == before + 2
        ws.undo()
        assert ws.items.get("ltm_1").hits == before + 2


def test_a_text_that_no_utf_8_can_hold_is_refused(workspace):
    with open_workspace(workspace) as ws, pytest.raises(BadInput, match="surrogate"):
        ws.items.add("half a sign: \ud83d")


@pytest.mark.slow
def test_reading_commands_load_no_sqlalchemy(workspace):
    nanomem("memory", "add", "--text", "Tea is green", "--workspace", str(workspace))
    for words in (["memory", "list"], ["memory", "status"], ["recall", "tea"], ["log"], ["memory", "search", "tea"]):
        code = (
            "import sys\nfrom nanomem_tui.__main__ import main\nsys.argv[1:] = sys.argv[1:]\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
            "print(sorted({'sqlalchemy', 'sqlmodel', 'pydantic', 'textual'} & set(sys.modules)), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *words, "--workspace", str(workspace)],
            capture_output=True, text=True, check=False, env=os.environ,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[-1] == "[]", (words, done.stderr)


@pytest.mark.slow
def test_a_memory_of_the_first_edition_is_shown_and_taken_over_by_the_first_change(tmp_path):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    workspace = tmp_path / "sharing" / "workspace"
    shown = json.loads((tmp_path / "sharing.json").read_text("utf-8"))["rows"]["item"]
    expected = sorted(row["text"] for row in shown.values() if not row["is_deleted"])
    with open_workspace(workspace) as ws:
        file, old = ws.paths.database, ws.paths.database.read_bytes()
        assert texts(ws) == expected
        assert ws.log()
    assert file.read_bytes() == old, "looking takes nothing over"
    with open_workspace(workspace) as ws:
        ws.items.add("of the second edition")
        assert texts(ws) == sorted([*expected, "of the second edition"])
        ws.undo()
    assert file.read_bytes() != old
    (kept,) = file.parent.glob("backups/first-edition-*")
    assert (kept / "nanomem.db").exists()
    assert json.loads(nanomem("log", "--json", "--workspace", str(workspace)))[0]["kind"] == "undo"
