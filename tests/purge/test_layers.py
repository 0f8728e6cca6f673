"""Forgotten and masked in other layers: files of other agents, records of what was done, documents."""

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Result
from tests.conftest import ON_POSTGRES
from tests.purge import planted

pytestmark = pytest.mark.slow

Run = Callable[..., Result]


def test_an_agents_snapshot_loses_the_item_and_cannot_bring_it_back(home, run):
    workspace = home("ramfirst")
    snapshot = workspace / "memory" / "LTM_SNAPSHOT.json"
    before = snapshot.read_bytes()
    first = json.loads(before)["items"][0]
    others = [one["id"] for one in json.loads(before)["items"][1:]]
    assert run("memory", "edit", others[0], "--text", "something else").code == 0
    result = run("forget", "--id", first["id"], "--yes", "--backups")
    assert result.code == 0, result.out + result.err
    assert first["id"] not in [one["id"] for one in json.loads(snapshot.read_bytes())["items"]]
    assert planted.outside_git(workspace.parent, first["text"]) == []
    snapshot.write_bytes(before)  # the agent writes what it had in memory
    listed = [one["id"] for one in run("memory", "list", "--json").json]
    assert first["id"] not in listed
    assert set(others) <= set(listed)
    assert run("memory", "flush").code == 0
    assert first["text"].encode() not in snapshot.read_bytes()
    assert planted.outside_git(workspace.parent, first["text"]) == []  # nor in what we remember of its file


def test_an_agents_lesson_goes_from_its_file_and_its_log(home, run):
    workspace = home("ramfirst")
    lesson = run("memory", "lessons", "list", "--limit", "1", "--json").json[0]
    assert planted.holding(workspace.parent, lesson["better_action"])
    result = run("forget", "--id", lesson["id"], "--yes", "--backups")
    assert result.code == 0, result.out + result.err
    assert lesson["id"] not in [one["id"] for one in run("memory", "lessons", "list", "--json").json]
    if len(lesson["better_action"]) >= 12:
        assert planted.outside_git(workspace.parent, lesson["better_action"]) == []


@pytest.mark.parametrize(("command", "left"), [("forget", "[forgotten]"), ("scrub", "[")])
def test_what_an_agent_did_and_the_knowledge_base(command, left, home, run, tmp_path):
    workspace = home("nb035")
    secret = "sk-proj-" + "Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8"
    page = tmp_path / "page.md"
    page.write_text(f"# Deploying\n\nThe key is {secret}, and it is long.\n\n# Else\n\nNothing here.\n")
    made = run("record", "goal", "add", "--data", json.dumps({"description": f"rotate {secret}"}))
    assert made.code == 0, made.err
    assert run("knowledge", "add", str(page)).code == 0
    assert ON_POSTGRES or "work.db" in " ".join(planted.holding(workspace.parent, secret))
    line = ["forget", "--text", secret] if command == "forget" else ["scrub", "--mask"]
    result = run(*line, "--yes", "--backups")
    assert result.code == 0, result.out + result.err
    assert planted.outside_git(workspace.parent, secret) == []
    found = run("knowledge", "search", "deploying key", "--json")
    assert left in found.out
    goals = run("record", "goal", "list", "--json").json
    assert len(goals) == (0 if command == "forget" else 1)
    assert run("doctor").code == 0


def test_where_it_cannot_be_read_what_stays_forgotten_nothing_is_taken_in_and_all_else_shown(home, run):
    workspace = home("ramfirst")
    snapshot = workspace / "memory" / "LTM_SNAPSHOT.json"
    before = snapshot.read_bytes()
    first = json.loads(before)["items"][0]["id"]
    assert run("forget", "--id", first, "--yes").code == 0
    listed = run("memory", "list", "--json").json
    (workspace.parent / "nanomem" / "forgotten.json").write_text("junk")
    snapshot.write_bytes(before)
    assert run("memory", "list", "--json").json == listed
    assert "what is to stay forgotten cannot be read" in run("doctor").out
    assert run("doctor").code == 1
    refused = run("memory", "add", "--text", "tea")
    assert (refused.code, "forgotten.json" in refused.err) == (2, True)
    (workspace.parent / "nanomem" / "forgotten.json").unlink()
    assert run("memory", "add", "--text", "tea").code == 0


def test_what_was_packed_for_the_undo_of_documents_goes_too(home, run, tmp_path):
    workspace = home("nb035")
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    page.write_text("# Sailing\n\nThe Quxwhalery harbour lies in the north.\n")
    other.write_text("# Tea\n\nTea grows on hills.\n")
    assert run("knowledge", "add", str(page), str(other)).code == 0
    assert run("forget", "--text", "Quxwhalery", "--yes").code == 0
    assert planted.outside_git(workspace.parent) == []
    assert run("doctor").code == 0
    assert "Tea grows" in run("knowledge", "search", "tea hills", "--json").out
    assert run("knowledge", "add", str(other)).code == 0
