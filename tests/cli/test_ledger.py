"""`nanomem undo` where nothing of a person stands and where no commit can hold it, and `config unset`."""

import io
import json
import sys

import pytest

from nanomem_tui import open_workspace
from tests.store.git_samples import needs_git, small
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A RAM-first home, which is the default one, with settings of its own."""
    found = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    return found


@pytest.fixture
def versioned(tmp_path, monkeypatch):
    """A small home with versions, which is the default one."""
    found = small(tmp_path).workspace
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


def test_undo_names_what_the_agent_did_where_a_person_did_nothing(workspace, run, monkeypatch):
    assert run("undo").err == "nanomem: nothing to undo\n"
    body = {"session_key": "telegram:42", "text": "Remember that I prefer window seats", "assistant": "Noted."}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode()), encoding="utf-8"))
    operation = json.loads(run("turn").out)["operation"]
    told = run("undo")
    assert told.code == 1
    assert "nothing of yours to undo; 1 operation of the agent stands" in told.err
    assert f"`nanomem undo {operation}`" in told.err
    assert run("undo", operation).code == 0
    assert run("undo").err == "nanomem: nothing to undo\n"


def test_undo_says_who_made_what_it_undoes_and_when_before_and_after(workspace, run):
    run("memory", "add", "--text", "Has a bird")
    made = run("log", "--json").json[0]
    wanted = "  made by human, "
    before = run("undo", "--dry-run").out
    assert before.startswith("Would undo: add “Has a bird”\n")
    after = run("undo").out
    assert after.startswith("undo: add “Has a bird”\n")
    again = run("redo").out
    for told in (before, after, again):
        assert wanted in told
        assert made["id"] in told


def test_undo_names_the_agent_whose_change_it_undoes(workspace, run, monkeypatch):
    body = {"session_key": "telegram:42", "text": "Remember that I prefer window seats", "assistant": "Noted."}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode()), encoding="utf-8"))
    operation = json.loads(run("turn").out)["operation"]
    assert "made by agent" in run("undo", operation, "--dry-run").out
    [target] = run("undo", operation, "--json").json["targets"]
    assert (target["id"], target["actor"]) == (operation, "agent")


def test_each_of_several_undone_changes_has_its_maker(workspace, run):
    for text in ("Has a bird", "Has a boat"):
        run("memory", "add", "--text", text)
    told = run("undo", "2").out.splitlines()
    assert [line.split(",")[0].strip() for line in told[:4]] == [
        "undo: add “Has a boat”", "made by human", "undo: add “Has a bird”", "made by human",
    ]  # fmt: skip


def test_an_undo_of_a_part_says_how_much_of_it(workspace, run):
    first, second = (run("memory", "add", "--text", text, "--json").json["item"]["id"] for text in ("a", "b"))
    run("memory", "delete", first, second, "--yes")
    operation = run("log", "--limit", "1", "--json").json[0]["id"]
    assert run("undo", operation, "--key", first).out.startswith("undo: delete 2 items (1 of 2)\n")
    assert run("redo").out.startswith("redo: delete 2 items (1 of 2)\n")


@needs_git
def test_an_undo_that_no_commit_holds_is_told(versioned, run):
    with open_workspace(versioned) as ws:
        ws.documents.edit("USER.md", "# User\n- mine\n")
    (versioned / ".git/HEAD").unlink()
    undone = run("undo")
    assert undone.code == 0
    assert undone.out.startswith("undo: edit USER.md\n")
    assert undone.err.startswith("Warning: made without a commit: .git: the git repository has no HEAD (`git fsck` in ")
    assert "- mine" not in (versioned / "USER.md").read_text()
    assert "without a commit" in run("redo").err
    assert "- mine" in (versioned / "USER.md").read_text()


def test_a_setting_is_taken_out_again(workspace, tmp_path, run):
    file = tmp_path / "config.toml"
    run("config", "set", "max_items", "7")
    run("config", "set", "export", "false")
    assert "Would unset max_items = 7" in run("config", "unset", "max_items", "--dry-run").out
    assert "max_items" in file.read_text()
    done = run("config", "unset", "max_items", "--json").json
    assert done == {"key": "max_items", "was": 7, "path": str(file), "undo": "nanomem config set max_items 7"}
    assert file.read_text() == "export = false\n"
    assert "max_items" in file.with_name("config.toml.bak").read_text()
    assert run("config", "show", "--json").json["settings"]["max_items"] == 100_000


def test_a_setting_that_is_not_set_or_is_none(workspace, tmp_path, run):
    assert run("config", "unset", "max_items").code == 0  # it is so already
    unknown = run("config", "unset", "max_itms")
    assert (unknown.code, "no setting" in unknown.err) == (2, True)
    (tmp_path / "config.toml").write_text("old_name = 3\n")
    assert run("config", "unset", "old_name").code == 0
    assert run("config", "show", "--json").json["problems"] == []


def test_unset_says_who_sets_it_still(workspace, run):
    run("config", "set", "max_items", "7")
    run("config", "set", "max_items", "9", "--here")
    told = run("config", "unset", "max_items")
    assert "still sets max_items" in told.err
    assert run("config", "unset", "max_items", "--here").err == ""
