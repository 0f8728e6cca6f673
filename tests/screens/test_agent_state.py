"""What the bar says of the agent: none, alive, idle or in a turn; told from a process and from its turn log."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents import turn_log
from nanomem_tui.background import agent_words
from nanomem_tui.core import clock

SLEEPS = "import sys; print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def agent(demo):
    """A process that looks like the agent of this home, until the test is over."""
    environment = {**os.environ, "HOME": str(demo.parents[1])}
    command = ["nanobot", "-c", SLEEPS, "gateway"]
    running = subprocess.Popen(
        command, executable=sys.executable, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    yield running
    running.communicate()


def said(demo):
    with open_workspace(demo) as ws:
        return agent_words(ws, ws.agent())


@pytest.mark.slow
def test_no_agent_then_idle_then_in_a_turn_then_idle_again(demo, request):
    log = demo / "memory" / "session-state" / turn_log.wal_name("slack:C0LANTERN")
    assert said(demo) == "no agent"
    request.getfixturevalue("agent")
    assert said(demo) == "agent idle"
    now = clock.now()
    with log.open("ab") as file:
        file.write(turn_log.dump_pre(clock.iso(now), {"speaker": "user", "user": "are you there?"}))
    assert said(demo) == "agent in a turn"
    with log.open("ab") as file:
        file.write(turn_log.dump_post(clock.iso(now + timedelta(seconds=2)), "Yes."))
    assert said(demo) == "agent idle"


def test_a_turn_that_is_open_for_hours_is_none_that_goes_on(demo, agent):
    log = demo / "memory" / "session-state" / turn_log.wal_name("slack:C0LANTERN")
    old = clock.iso(clock.now() - timedelta(hours=2))
    with log.open("ab") as file:
        file.write(turn_log.dump_pre(old, {"speaker": "user", "user": "are you there?"}))
    assert said(demo) == "agent idle"


def test_where_no_turn_was_ever_logged_it_is_only_alive(demo, agent):
    for log in (demo / "memory" / "session-state").glob("*.md"):
        log.unlink()
    assert said(demo) == "agent alive"
