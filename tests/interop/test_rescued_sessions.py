"""The real agent loses the sessions of an old release, and finds every one after a rescue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.sessions import transcript_repair
from tests.conftest import need
from tests.interop.real_agent import PEER, Agent

pytestmark = pytest.mark.interop


@pytest.fixture
def upgraded(request, monkeypatch):
    """A home of 0.1.5 that 0.3.5 has opened once."""
    need(PEER.exists(), "no agent to drive: run `make peers`")
    copy: Callable[[str], Path] = request.getfixturevalue("sample_copy")
    agent = Agent(copy("v0_1_5"))
    monkeypatch.setenv("HOME", str(agent.home))
    config = agent.home / ".nanobot" / "config.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(agent.workspace)}}}))
    agent.run("sessions")
    return agent


def test_eight_of_eight_come_back(upgraded):
    assert upgraded.sessions() == {}
    with open_workspace(upgraded.workspace) as ws:
        messages = {one.key: one.messages for one in transcript_repair.plan_rescues(ws)}
        assert len(messages) == 8
        transcript_repair.rescue(ws)
    found = upgraded.sessions()
    assert {key: len(row["messages"]) for key, row in found.items()} == messages


def test_what_was_said_since_the_upgrade_stays_behind_the_old_messages(upgraded):
    upgraded.run("turn", "are you there?", "--session", "telegram:4300129", script=[{"text": "yes"}])
    assert len(upgraded.sessions()["telegram:4300129"]["messages"]) == 2
    with open_workspace(upgraded.workspace) as ws:
        [one] = [one for one in transcript_repair.plan_rescues(ws) if one.joined]
        transcript_repair.rescue(ws)
    assert len(upgraded.sessions()) == 8
    assert len(upgraded.sessions()["telegram:4300129"]["messages"]) == one.messages + 2
    upgraded.run("turn", "and now?", "--session", "telegram:4300129", script=[{"text": "still"}])
    assert len(upgraded.sessions()["telegram:4300129"]["messages"]) == one.messages + 4
