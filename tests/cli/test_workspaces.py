"""`nanomem workspaces`, `find --all-workspaces` and `--workspace NAME`: several agents' memories from one place."""

import hashlib
import io
import json
import sys

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import paths
from nanomem_tui.store.files import user
from tests.store.homes import files


@pytest.fixture
def bots(tmp_path, monkeypatch):
    """A folder with two agents' homes: `ana`, and `ไทย🐘` in which one item waits in the inbox."""
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "user" / "config.toml"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("NANOMEM_WORKSPACE", raising=False)
    for name, texts in (("ana", ("the ferry leaves at 9", "tea")), ("ไทย🐘", ("ferry to Koh Tao", "ข้าวผัด"))):
        workspace = tmp_path / "bots" / name / ".nanobot" / "workspace"
        workspace.mkdir(parents=True)
        (workspace.parent / "config.json").write_text("{}")
        with open_workspace(workspace) as ws:
            for text in texts:
                ws.items.add(text)
    return tmp_path / "bots"


def hashes(folder):
    return {name: hashlib.sha256(data).hexdigest() for name, data in files(folder).items()}


def test_a_workspace_is_added_listed_named_and_forgotten(bots, run):
    assert run("workspaces", "list").out.startswith("No workspace is known yet")
    assert run("workspaces", "add", bots / "ana" / ".nanobot", "--dry-run").out.startswith("Would add")
    assert not paths.user_settings().exists()
    assert "as ana" in run("workspaces", "add", bots / "ana" / ".nanobot").out
    assert run("workspaces", "add", bots / "ana" / ".nanobot").code == 1
    run("workspaces", "add", bots / "ไทย🐘" / ".nanobot", "--name", "ช้าง")
    found = run("workspaces", "list", "--json").json
    assert [(one["id"], one["items"], one["agent"]["name"]) for one in found] == [
        ("ana", 2, "ana"),
        ("ช้าง", 2, "ไทย🐘"),
    ]
    assert found[0]["home"] == str(bots / "ana" / ".nanobot")
    assert [row["text"] for row in run("memory", "list", "--workspace", "ช้าง", "--json").json] == [
        "ข้าวผัด", "ferry to Koh Tao",
    ]  # fmt: skip
    assert "puts it back" in run("workspaces", "forget", "ช้าง").out
    assert [one["id"] for one in run("workspaces", "list", "--json").json] == ["ana"]
    assert run("workspaces", "forget", "ช้าง").code == 2


def test_a_name_in_the_environment_is_the_same_as_one_on_the_line(bots, run, monkeypatch):
    run("workspaces", "add", bots / "ana" / ".nanobot", "--name", "two")
    own = bots / "ana" / ".nanobot" / "nanomem" / "config.toml"
    monkeypatch.setenv("NANOMEM_WORKSPACE", "two")
    assert {row["text"] for row in run("memory", "list", "--json").json} == {"the ferry leaves at 9", "tea"}
    for line in (["memory", "status"], ["config", "show"], ["backup", "make"], ["--snapshot", "items"]):
        assert run(*line).code == 0, line
    assert run("config", "path", "--here").out.strip() == str(own)
    assert run("--workspace", bots / "ไทย🐘" / ".nanobot", "memory", "list", "--json").json[0]["text"] == "ข้าวผัด"
    monkeypatch.setenv("NANOMEM_WORKSPACE", "three")
    told = run("memory", "status")
    assert (told.code, "no workspace: three" in told.err) == (2, True)


def test_a_name_is_enough_to_move_a_store(bots, run):
    run("workspaces", "add", bots / "ana" / ".nanobot", "--name", "two")
    told = run("--workspace", "two", "migrate-store", "sqlite", "sqlite")
    assert (told.code, "no workspace" in told.err) == (2, False), told


def test_what_a_person_may_write_into_the_settings(bots, run):
    file = paths.user_settings()
    file.parent.mkdir()
    file.write_text(f'[workspaces]\nwork = "{bots}/ana/.nanobot"\n')
    assert [one["id"] for one in run("workspaces", "list", "--json").json] == ["work"]
    file.write_text(f'workspaces = ["{bots}/ana/.nanobot/workspace", "{bots}/ไทย🐘/.nanobot"]\n')
    assert [one["id"] for one in run("workspaces", "list", "--json").json] == ["ana", "ไทย🐘"]
    file.write_text('workspaces = ["ana"]\n')
    told = run("workspaces", "list")
    assert (told.code, "a whole path is wanted" in told.err) == (0, True)
    assert run("memory", "list", "--workspace", bots / "ana" / ".nanobot").code == 0
    assert run("config", "set", "workspaces", "ana").code == 2
    file.write_text("workspaces = [")
    assert "nothing of it is used" in run("workspaces", "list").err


def test_one_workspace_does_not_say_which_others_a_person_sees(bots, run):
    own = bots / "ana" / ".nanobot" / "nanomem" / "config.toml"
    own.write_text(f'workspaces = ["{bots}/ไทย🐘/.nanobot"]\n')
    assert "user's own file" in run("config", "show", "--workspace", bots / "ana" / ".nanobot").out
    assert run("config", "set", "workspaces", "[]", "--here", "--workspace", bots / "ana" / ".nanobot").code == 2
    found = run("find", "ferry", "--all-workspaces", "--workspace", bots / "ana" / ".nanobot", "--json").json
    assert [one["title"] for one in found["places"]] == ["the ferry leaves at 9"]


def test_a_broken_one_is_told_with_its_error_and_takes_no_other_down(bots, run):
    for name in ("ana", "ไทย🐘"):
        run("workspaces", "add", bots / name / ".nanobot")
    (bots / "ana" / ".nanobot" / "nanomem" / "config.toml").write_text("max_items = [")
    listed = run("workspaces", "list")
    assert listed.code == 1
    assert "ana cannot be read: the settings do not parse" in listed.out
    assert "ไทย🐘" in listed.out
    found = run("find", "ferry", "--all-workspaces")
    assert (found.code, "ferry to Koh Tao" in found.out) == (1, True)
    assert "not looked at, for it cannot be read: ana: the settings do not parse" in found.err
    (bots / "ana").rename(bots / "moved")
    assert [("error" in one) for one in json.loads(run("workspaces", "list", "--json").out)] == [True, False]


def test_one_search_looks_in_all_of_them_the_best_first_and_changes_nothing(bots, run):
    for name in ("ana", "ไทย🐘"):
        run("workspaces", "add", bots / name / ".nanobot")
    before = hashes(bots)
    found = run("find", "ferry", "--all-workspaces", "--json").json
    assert [(one["workspace"], one["title"]) for one in found["places"]] == [
        ("ไทย🐘", "ferry to Koh Tao"), ("ana", "the ferry leaves at 9"),
    ]  # fmt: skip
    assert (found["total"], found["similar"], found["left_out"]) == (2, False, {})
    assert [one["id"] for one in found["workspaces"]] == ["ana", "ไทย🐘"]
    similar = run("find", "fery", "--all-workspaces")
    assert "this is similar" in similar.err
    assert "Koh Tao" in similar.out
    assert run("find", "ferry", "--all-workspaces", "--limit", "1", "--json").json["total"] == 2
    assert run("find", "ferry", "--all-workspaces", "--in", "lesson").out == "Nothing found.\n"
    run("workspaces", "list")
    assert hashes(bots) == before


def test_a_name_is_no_path_and_a_folder_that_is_there_comes_first(bots, run, monkeypatch):
    run("workspaces", "add", bots / "ana" / ".nanobot", "--name", "ไทย🐘")
    assert (
        run("memory", "status", "--workspace", "ไทย🐘", "--json").json["workspace"].endswith("ana/.nanobot/workspace")
    )
    monkeypatch.chdir(bots)
    assert "🐘" in run("memory", "status", "--workspace", "ไทย🐘", "--json").json["workspace"]
    assert run("memory", "status", "--workspace", "nobody").code == 2
    assert run("workspaces", "add", bots / "ไทย🐘" / ".nanobot", "--name", "a/b").code == 2
    assert "is another workspace" in run("workspaces", "add", bots / "ไทย🐘" / ".nanobot", "--name", "ไทย🐘").err


def test_the_list_of_opened_ones_is_private_and_one_that_cannot_be_read_is_left_alone(bots, run):
    file = paths.remembered_workspaces()
    paths.user_settings().parent.mkdir()
    paths.user_settings().write_text("remember_workspaces = true\n")
    places = [bots / name / ".nanobot" / "workspace" for name in ("ana", "ไทย🐘")]
    for place in places:
        user.note_workspace(place)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one["path"] for one in run("workspaces", "list", "--json").json] == [str(one) for one in places[::-1]]
    assert run("workspaces", "forget", "ana").code == 0
    assert user.opened_workspaces() == [str(places[1])]
    file.write_text("{broken")
    user.note_workspace(places[0])
    assert file.read_text() == "{broken"
    assert "the list of workspaces cannot be read" in run("workspaces", "list").err


def test_the_log_tells_which_of_several_agents_did_it(bots, run, monkeypatch):
    home = bots / "ana" / ".nanobot"

    def turn(text):
        body = json.dumps({"session_key": "telegram:42", "text": f"Remember that {text}", "assistant": "Noted."})
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body.encode()), encoding="utf-8"))
        return str(json.loads(run("turn", "--workspace", home).out)["operation"])

    made = [turn("I sail on Sundays")]
    monkeypatch.setenv("NANOMEM_AGENT_NAME", "夜班 🤖")
    made.append(turn("I row on Mondays"))
    monkeypatch.delenv("NANOMEM_AGENT_NAME")
    (home / "config.json").write_text('{"agents": {"defaults": {"botName": "Wren"}}}')
    made.append(turn("I swim on Fridays"))
    log = {one["id"]: one for one in run("log", "--workspace", home, "--json").json}
    assert [log[one]["meta"]["agent"] for one in made] == ["ana", "夜班 🤖", "Wren"]
    assert [one["meta"] for one in log.values() if one["actor"] == "human"] == [{}, {}]
    lines = run("log", "--workspace", home).out
    assert all(f"agent {name}" in lines for name in ("ana", "夜班 🤖", "Wren"))
    full = run("log", "--full", "--workspace", home, "--json").json
    touched = next(one["changes"] for one in full if one["id"] == made[1])
    item = next(change["key"] for change in touched if change["layer"] == "item")
    assert "agent 夜班 🤖" in run("memory", "history", item, "--workspace", home).out
    (home / "config.json").write_text('{"agents": {"defaults": {"botName": "nanobot"}}}')  # as it is where nobody chose
    assert run("workspaces", "add", home).code == 0
    assert run("workspaces", "list", "--json").json[0]["agent"]["name"] == "ana"
