"""`nanomem crystallize`: preview, decisions at a terminal, for scripts and the inbox; exit codes and stable keys."""

import json
import os
import sys
from contextlib import contextmanager

import pexpect
import pytest

from nanomem_tui import open_workspace
from tests.facts.talking import say, talking, values
from tests.model.dreams import endpoints
from tests.model.server import says, status

KEYS = [
    "operation", "dry_run", "extractor", "messages", "sessions", "proposals", "counts", "over", "refused", "left_out",
    "problems", "notes", "usage", "tokens", "cost",
]  # fmt: skip
PROPOSAL = [
    "id", "number", "verdict", "decision", "old", "why", "scope_type", "scope_key", "domain", "category",
    "sub_category", "key", "value", "evidence",
]  # fmt: skip


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace in which three facts were told to the agent by its owner, and one by somebody in a chat."""
    made = talking(
        tmp_path, cli_direct=["My name is Anna", "bot: Hi!", "I live in Rome", "I'm allergic to nuts"],
        **{"telegram_-42": ["I live in Oslo"]},  # a group, in which nobody knows who speaks
    )  # fmt: skip
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "own.toml"))
    return made


def known(workspace):
    with open_workspace(workspace) as ws:
        return values(ws)


@pytest.mark.slow
def test_a_preview_shows_each_fact_with_its_words_and_changes_nothing(workspace, run):
    shown = run("crystallize", "--dry-run")
    assert shown.code == 0
    assert "Read 5 messages of 2 sessions by rules." in shown.out
    assert "name: Anna  (Personal / Identity)" in shown.out
    assert "cli:direct #0, 2026-03-01 09:01: “My name is Anna”" in shown.out
    assert "only for channel:telegram:user:-42: “I live in Oslo”" in shown.out
    assert "no sender is named" in shown.out
    assert "Would ask about 4 facts; nothing was changed." in shown.out
    assert (known(workspace), run("inbox", "list", "--json").json) == ({}, [])
    body = run("crystallize", "--dry-run", "--json").json
    assert list(body) == KEYS
    assert (body["operation"], body["dry_run"], body["counts"]["new"]) == (None, True, 4)
    assert [list(one) for one in body["proposals"]] == [PROPOSAL] * 4
    assert body["proposals"][0]["evidence"]["session_key"] == "cli:direct"


@pytest.mark.slow
def test_yes_keeps_all_and_there_is_nothing_new_then(workspace, run):
    done = run("crystallize", "--yes", "--json")
    assert done.code == 0
    assert {one["value"]: one["decision"] for one in done.json["proposals"]} == {
        "Anna": "kept", "Rome": "kept", "allergic": "kept", "Oslo": "inbox",
    }, "who told of Oslo has no name"  # fmt: skip
    assert done.json["operation"]["kind"] == "crystallize"
    assert len(known(workspace)) == 3
    ids = {one["id"] for one in done.json["proposals"] if one["decision"] == "kept"}
    assert ids == {fact["id"] for fact in run("memory", "list", "--json").json}
    again = run("crystallize", "--yes")
    assert (again.code, "waits in the inbox already" in again.out, "3 known already" in again.out) == (1, True, True)
    assert run("crystallize", "--dry-run").code == 1
    assert run("undo").code == 0
    assert known(workspace) == {}


def test_without_a_terminal_what_is_found_waits_in_the_inbox(workspace, run):
    done = run("crystallize")
    assert (done.code, "4 to the inbox; `nanomem inbox list` shows what waits" in done.out) == (0, True)
    assert known(workspace) == {}
    waiting = run("inbox", "list", "--json").json
    assert {one["text"] for one in waiting} >= {"name: Anna", "nuts: allergic"}
    assert {one["meta"]["inbox"]["reason"] for one in waiting} == {"crystallized"}
    again = run("crystallize")
    assert (again.code, "waits in the inbox already" in again.out) == (1, True)
    [name] = [one["id"] for one in waiting if one["text"] == "name: Anna"]
    [nuts] = [one["id"] for one in waiting if one["text"] == "nuts: allergic"]
    assert run("inbox", "accept", name).code == 0
    assert run("inbox", "reject", nuts, "--yes").code == 0
    assert known(workspace) == {"name": "Anna"}
    body = run("crystallize", "--yes", "--json").json
    assert body["counts"] == {
        "new": 0,
        "contradicts": 0,
        "same": 1,
        "waiting": 2,
        "rejected": 0,
        "kept": 1,
        "inbox": 1,
    } | {"rejected": 0}
    assert [one["text"] for one in run("inbox", "list", "--json").json] == ["lives in: Oslo"]


def test_numbers_keep_some_and_leave_the_others(workspace, run):
    numbered = {
        one["key"] + one["value"]: one["number"] for one in run("crystallize", "--dry-run", "--json").json["proposals"]
    }
    done = run("crystallize", "--accept", f"{numbered['nameAnna']},{numbered['nutsallergic']}", "--json").json
    assert sorted(filter(None, (one["decision"] for one in done["proposals"]))) == ["kept", "kept", "left", "left"]
    assert known(workspace) == {"name": "Anna", "nuts": "allergic"}
    assert run("inbox", "list", "--json").json == []
    assert run("crystallize", "--accept", "1-2").code == 0
    assert len(known(workspace)) == 3


@pytest.mark.parametrize("numbers", ["", "x", "0", "3-1", "1-99", "1;2", "-1", "²"])
def test_numbers_that_are_none(numbers, workspace, run):
    refused = run("crystallize", f"--accept={numbers}")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert known(workspace) == {}


@pytest.mark.parametrize(
    "line",
    [["--yes", "--accept", "1"], ["--limit", "5", "--all"], ["--since", "soon"], ["--session", "cli:nobody"],
     ["--extractor", "magic"], ["--extractor", "model"], ["--limit", "0"]],
)  # fmt: skip
def test_a_line_that_cannot_be_is_refused_in_one_line(line, workspace, run):
    refused = run("crystallize", *line)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert known(workspace) == {}


def test_some_sessions_and_times_alone(workspace, run):
    found = run("crystallize", "--session", "telegram:-42", "--dry-run", "--json").json
    assert [one["value"] for one in found["proposals"]] == ["Oslo"]
    assert len(run("crystallize", "--limit", "1", "--dry-run", "--json").json["proposals"]) <= 1
    assert run("crystallize", "--since", "3d", "--dry-run").code == 1
    assert len(run("crystallize", "--since", "2026-03-01", "--dry-run", "--json").json["proposals"]) == 4


def test_a_contradiction_shows_both_values(workspace, run):
    run("crystallize", "--yes")
    say(workspace, "cli:direct", "I moved to Bern")
    shown = run("crystallize", "--yes")
    assert "lives in: Bern" in shown.out
    assert "was: Rome" in shown.out
    [fact] = [one for one in run("memory", "list", "--json").json if one["text"] == "lives in: Bern"]
    assert run("undo").code == 0
    assert run("memory", "show", fact["id"], "--json").json["text"] == "lives in: Rome"


def test_a_value_that_a_person_set_goes_to_the_inbox_even_with_yes(workspace, run):
    with open_workspace(workspace) as ws:
        ws.facts.set("Identity", "name", "Anna Maria", domain="Personal")
    say(workspace, "cli:direct", {"content": "My name is Hanna", "timestamp": "2099-01-01T00:00:00"})
    body = run("crystallize", "--yes", "--json").json
    [name] = [one for one in body["proposals"] if one["value"] == "Hanna"]
    assert (name["verdict"], name["decision"], name["old"]) == ("contradicts", "inbox", "Anna Maria")
    assert known(workspace)["name"] == "Anna Maria"


def test_a_model_is_asked_where_it_is_named_and_a_failure_is_one_line(workspace, run, monkeypatch):
    usage = {"prompt_tokens": 3000, "completion_tokens": 200}
    fact = {"category": "Home", "key": "town\x1b]52;c;aGk=\x07", "value": "Rome", "message": 2}
    good = {"domain": "Personal", "category": "Home", "sub_category": "", "key": "town", "value": "Rome"}
    with endpoints(monkeypatch) as endpoint:
        endpoint(says({"facts": [fact, {**good, "message": 2}]}, usage=usage), status(401))
        done = run("crystallize", "--extractor", "model", "--session", "cli:direct", "--yes")
        assert done.code == 0
        assert "Asked scripted 1 time: 3,000 tokens in, 200 out" in done.out
        assert "cost 0.0080" in done.out
        assert "Refused (its key holds control characters): town␛]52" in done.out
        assert known(workspace) == {"town": "Rome"}
        failed = run("crystallize", "--extractor", "model", "--yes", "--json")
        assert (failed.code, failed.out, failed.err.count("\n")) == (2, "", 1)
        assert known(workspace) == {"town": "Rome"}


def test_hostile_words_reach_no_terminal(workspace, run):
    say(workspace, "cli:direct", "my project is \x1b[31mred\x07\u202e", "my nickname is [red]x[/]\x9b2J")
    for args in (["--dry-run"], ["--dry-run", "--json"]):
        out = run("crystallize", *args).out
        assert not any(c in out for c in "\x1b\x07\u202e\x9b")


def test_a_home_in_which_nothing_was_found_stays_as_it_is(tmp_path, run):
    workspace = talking(tmp_path / "other", cli_direct=["hello"])
    before = sorted(workspace.rglob("*"))
    assert run("crystallize", "--workspace", workspace).code == 1
    assert run("crystallize", "--workspace", workspace, "--yes", "--json").code == 1
    assert sorted(workspace.rglob("*")) == before


# -- at a terminal --------------------------------------------------------------------------------------------------


@contextmanager
def terminal(*args):
    env = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1"}
    line = ["-m", "nanomem_tui", "crystallize", "--session", "cli:direct", *args]
    child = pexpect.spawn(sys.executable, line, env=env, encoding="utf-8", timeout=60, dimensions=(40, 100))
    try:
        yield child
    finally:
        child.close(force=True)


def answered(*answers):
    with terminal() as child:
        for text in answers:
            child.expect_exact("The value instead: " if text.startswith("=") else "? help: ")
            child.sendline(text.removeprefix("="))
        child.expect(pexpect.EOF)
        return str(child.before)


@pytest.mark.slow
def test_each_fact_is_asked_about(workspace):
    told = answered("?", "y", "what", "e", "=", "e", "=Roma", "n")
    assert "1 rejected" in told
    assert known(workspace) == {"name": "Anna", "lives in": "Roma"}
    with open_workspace(workspace) as ws:
        assert [one.verdict for one in ws.crystallizer.plan(session="cli:direct").judged][-1] == "rejected"
        assert [entry.operation.kind for entry in ws.log()] == ["crystallize"]
        ws.undo()
        assert values(ws) == {}


@pytest.mark.slow
def test_all_and_later(workspace, run):
    answered("y", "q")
    assert known(workspace) == {"name": "Anna"}
    assert len(run("inbox", "list", "--json").json) == 2
    answered("a")
    assert len(known(workspace)) == 3
    assert run("inbox", "list", "--json").json == []


@pytest.mark.slow
def test_ctrl_c_changes_nothing(workspace):
    with terminal() as child:
        child.expect_exact("? help: ")
        child.sendline("y")
        child.expect_exact("? help: ")
        child.sendintr()
        child.expect(pexpect.EOF)
    assert known(workspace) == {}
    assert json.dumps(known(workspace)) == "{}"


# -- by schedule ----------------------------------------------------------------------------------------------------


def test_dream_schedule_looks_for_facts_too(workspace, run):
    assert run("config", "set", "crystallize_schedule", "61 * * * *").code == 2
    assert run("config", "set", "crystallize_schedule", "* * * * *").code == 0
    assert "Facts     cron * * * * *, next at" in run("dream", "status").out
    assert run("dream", "status", "--json").json["crystallize"]["on"] is True
    first = run("dream", "schedule", "--once")
    assert "waiting: facts: not due before" in first.out
    with open_workspace(workspace) as ws:
        file = ws.paths.data / "crystallize-schedule.json"
    file.write_text('{"at": "2026-01-01T00:00:00+00:00", "failures": 0, "error": ""}')
    looked = run("dream", "schedule", "--once")
    assert (looked.code, "read 5 messages: 3 facts kept, 1 to the inbox" in looked.out) == (0, True)
    assert len(known(workspace)) == 3
    body = run("dream", "schedule", "--once", "--json").json
    assert body["crystallize"]["kind"] == "waiting"
    assert run("undo").code == 1, "what a schedule did is no change of a person"
    assert " * * * * " in run("dream", "schedule", "--print", "cron").out
