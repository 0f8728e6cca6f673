"""Sessions over their budget are consolidated by themselves: ours always, the agent's own where the settings say so."""

import io
import json
import sys
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.background import BEFORE_DREAMING, consolidate_if_due
from nanomem_tui.core import clock
from tests.dreams.test_consolidator import KEY, Home, session, talk
from tests.store.homes import agent_runs


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A workspace of an agent that keeps no sessions; the budget is small."""
    folder = tmp_path / "plain"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "MEMORY.md").write_text("# Memory\n")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(folder))
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_BUDGET_TOKENS", "600")
    return folder


@pytest.fixture
def agents(tmp_path, monkeypatch):
    """A home whose agent keeps a session that is over a small budget."""
    home = Home(tmp_path)
    home.write(talk(12))
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(home.workspace))
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_BUDGET_TOKENS", "800")
    return home


def turn(run, monkeypatch, number, chat="7", padding=200):
    body = {"channel": "telegram", "chat_id": chat, "sender_id": "u1", "text": f"I moved to City{number} last week.",
            "assistant": f"City{number} is fine. " + "x" * padding}  # fmt: skip
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode())))
    found = run("turn")
    assert (found.code, json.loads(found.out).get("problems", [])) == (0, [])


def archived(folder):
    path = folder / "memory" / "history.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def done(run):
    return [row for row in run("log", "--json", "--limit", "200").json if row["kind"] == "session.consolidate"]


@pytest.mark.slow
def test_the_end_of_a_turn_consolidates_its_session_and_undo_takes_it_back(own, run, monkeypatch):
    for number in range(4):
        turn(run, monkeypatch, number)
    assert (archived(own), done(run)) == ([], []), "within its budget"
    for number in range(4, 14):
        turn(run, monkeypatch, number)
    operations = done(run)
    assert operations
    assert {row["actor"] for row in operations} == {"compaction"}
    assert "City0" in archived(own)[0]["content"]
    shown = run("session", "show", "telegram:7", "--json").json
    assert "City0" in json.dumps(shown), "the transcript keeps every message"
    before = len(archived(own))
    assert run("undo", operations[0]["id"]).code == 0
    assert len(archived(own)) < before


@pytest.mark.slow
def test_a_plain_undo_takes_back_what_the_person_did_and_not_the_consolidation(own, run, monkeypatch):
    run("memory", "add", "--text", "By hand")
    for number in range(14):
        turn(run, monkeypatch, number)
    number = len(archived(own))
    assert number
    assert "By hand" in run("undo").out
    assert len(archived(own)) == number


@pytest.mark.slow
def test_a_session_within_its_budget_and_another_chat_are_left_alone(own, run, monkeypatch):
    for number in range(14):
        turn(run, monkeypatch, number)
        if number < 3:
            turn(run, monkeypatch, 100 + number, chat="8")
    assert {row["session_key"] for row in archived(own)} == {"telegram:7"}


@pytest.mark.slow
def test_it_is_off_where_the_settings_say_so(own, run, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_SCHEDULE", "off")
    for number in range(14):
        turn(run, monkeypatch, number)
    assert archived(own) == []
    with open_workspace(own) as ws:
        assert ws.consolidator.consolidate_due() == []


@pytest.mark.parametrize(("setting", "is_done"), [("own", False), ("all", True), ("off", False)])
def test_the_agents_own_sessions_only_where_the_settings_say_so(setting, is_done, agents, run, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_SCHEDULE", setting)
    before = agents.files()
    run("dream", "schedule", "--once")
    assert bool(agents.entries()) == is_done
    assert (session(agents).last_archived > 0) == is_done
    if is_done:
        (operation,) = done(run)
        assert run("undo", operation["id"]).code == 0
        assert {name: data for name, data in agents.files().items() if name in before} == before


def test_an_agent_that_runs_keeps_its_sessions(agents, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_SCHEDULE", "all")
    agent_runs(monkeypatch)
    with open_workspace(agents.workspace) as ws:
        assert ws.consolidator.consolidate_due() == []
    assert agents.entries() == []


def test_the_console_does_it_once_it_is_open_for_a_while(agents, monkeypatch):
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_SCHEDULE", "all")
    with open_workspace(agents.workspace) as ws:
        assert consolidate_if_due(ws, clock.now(), lambda: False) == ("", False)
        opened = clock.now() - BEFORE_DREAMING - timedelta(seconds=1)
        assert consolidate_if_due(ws, opened, lambda: True) == ("", False)
        said, wrong = consolidate_if_due(ws, opened, lambda: False)
        assert (KEY in said, wrong) == (True, False)
        assert consolidate_if_due(ws, opened, lambda: False) == ("", False)
    assert agents.entries()
