"""The day of a memory: each in the block carries it, and a relative date the day that it means, for every viewer."""

import json
import time
from datetime import UTC, datetime

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.language import dates
from nanomem_tui.memory.turns.request import turn_input
from nanomem_tui.servers.tools import Tools
from tests.memory.turns import begin, end, settle, turn

HOME = {"items": 0, "lessons": 0}

PLUMBER = "Remember: tomorrow the plumber comes"


@pytest.fixture(autouse=True)
def _early_in_may():
    """What was said in these tests did not expire."""
    with clock.at(datetime(2026, 5, 2, 12, tzinfo=UTC)):
        yield


@pytest.fixture
def zone(monkeypatch):
    """The zone of this machine may be set; it is as before afterwards."""
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


def live_in(zone, name):
    zone.setenv("TZ", name)
    time.tzset()


def remembered(ws, text):
    """The lines of the memories that a message in the chat of Ana brings back."""
    given = turn_input({"session_key": "telegram:42", "sender_id": "ana", "text": text})
    return [line for line in ws.engine.preview(given).block.split("\n") if line.startswith("- [")]


def test_each_memory_carries_the_day_on_which_it_was_said(ws):
    turn(ws, "My name is Bob", at="2026-02-01T10:00:00Z")
    assert remembered(ws, "What is my name?") == ["- [fact] My name is Bob (2026-02-01)"]
    turn(ws, "Actually my name is Rob, not Bob", at="2026-04-01T10:00:00Z")
    assert remembered(ws, "What is my name?") == ["- [fact] My name is Rob (2026-04-01)"]


def test_a_fact_carries_where_it_is_filed(ws):
    _, fact, _ = ws.facts.set("Allergies", "nuts", "severe", domain="Health")
    day = fact.item.updated_at[:10]
    assert remembered(ws, "which nuts?") == [f"- [fact] nuts: severe (Health/Allergies, {day})"]


def test_a_relative_date_is_given_with_the_day_it_means(ws):
    turn(ws, PLUMBER, at="2026-03-01T16:30:00Z")
    turn(ws, "记住：下周五考试", at="2026-03-01T16:30:00Z")
    assert remembered(ws, "when does the plumber come?") == [
        "- [episodic] tomorrow (2026-03-02) the plumber comes (2026-03-01)"
    ]
    assert remembered(ws, "什么时候考试？") == ["- [episodic] 下周五(2026-03-06)考试 (2026-03-01)"]


def test_what_is_said_again_means_the_day_after_that(ws):
    turn(ws, PLUMBER, at="2026-03-01T16:30:00Z")
    turn(ws, PLUMBER, at="2026-05-01T16:30:00Z")
    assert remembered(ws, "plumber") == ["- [episodic] tomorrow (2026-05-02) the plumber comes (2026-05-01)"]


def test_the_zone_in_which_it_was_said_counts_and_not_that_of_who_looks(workspace, zone):
    live_in(zone, "America/New_York")
    with open_workspace(workspace) as ws:
        turn(ws, PLUMBER, at="2026-03-02T01:30:00+09:00")  # the first of March in New York, and in UTC
        turn(ws, "Remember: today the gardener came", at="2026-03-02T03:00:00Z")  # the first of March in New York
    expected = [
        "- [episodic] today (2026-03-01) the gardener came (2026-03-01)",
        "- [episodic] tomorrow (2026-03-03) the plumber comes (2026-03-02)",
    ]
    for viewer in ("America/New_York", "UTC", "Asia/Tokyo"):
        live_in(zone, viewer)
        with open_workspace(workspace) as ws:
            assert sorted(remembered(ws, "plumber or gardener?")) == expected, viewer


def test_a_time_in_utc_is_a_day_in_the_agents_zone(workspace, zone):
    config = {"agents": {"defaults": {"timezone": "Asia/Shanghai"}}}
    (workspace.parent / "config.json").write_text(json.dumps(config))
    live_in(zone, "America/New_York")
    with open_workspace(workspace) as ws:
        turn(ws, PLUMBER, at="2026-03-01T16:30:00Z")  # half past midnight there
        assert remembered(ws, "plumber") == ["- [episodic] tomorrow (2026-03-03) the plumber comes (2026-03-02)"]


def test_the_day_of_a_turn_that_another_process_ends_is_that_of_its_begin(workspace):
    with open_workspace(workspace) as ws:
        begun = begin(ws, PLUMBER, at="2026-03-02T01:30:00+09:00")
    with open_workspace(workspace) as ws:
        end(ws, begun.turn)
        assert remembered(ws, "plumber") == ["- [episodic] tomorrow (2026-03-03) the plumber comes (2026-03-02)"]


def test_who_corrects_a_letter_does_not_move_the_day(ws):
    ended = turn(ws, "Remember: tomorrow the plumer comes", at="2026-03-01T10:00:00Z")
    key = ended.saved[0].item.id
    ws.items.edit(key, text="tomorrow the plumber comes")
    ws.items.edit(key, importance=1.0)
    assert remembered(ws, "plumber")[0].startswith("- [episodic] tomorrow (2026-03-02) the plumber comes (")


def test_of_a_note_whose_day_nobody_knows_no_day_is_guessed(workspace):
    notes = workspace / "memory"
    lines = ("# Notes", "- The ferry ticket ends next month", "- [2026-02-01] Ana moves next month", "")
    (notes / "MEMORY.md").write_text("\n".join(lines))
    (notes / "2026-03-05.md").write_text("- The ferry contract was signed yesterday\n")
    with open_workspace(workspace) as ws:
        begin(ws, "hello")  # the first turn takes the notes in
        told = [*remembered(ws, "ferry ticket, ferry contract"), *remembered(ws, "does Ana move?")]
        found = [line.rpartition(" (")[0] for line in told]
    assert sorted(line.partition("] ")[2] for line in found) == [
        "The ferry contract was signed yesterday (2026-03-04)",
        "The ferry ticket ends next month",
        "[2026-02-01] Ana moves next month (2026-03)",
    ]


def test_the_last_turns_say_what_day_they_meant(ws):
    turn(ws, "Is the plumber here tomorrow?", "Yes, tomorrow at nine.", at="2026-03-01T10:00:00Z")
    block = begin(ws, "and now?").block
    assert "Is the plumber here tomorrow (2026-03-02)?" in block
    assert "Yes, tomorrow (2026-03-02) at nine." in block


@pytest.mark.slow
def test_tools_of_a_server_and_the_context_of_a_task_give_the_day_too(workspace):
    from nanomem_tui.memory.scopes import Audience

    with open_workspace(workspace) as ws:
        turn(ws, PLUMBER, at="2026-03-01T16:30:00Z")
        tools = Tools(ws, Audience())
        wanted = "tomorrow (2026-03-02) the plumber comes (2026-03-01"
        for answer in (
            tools.call("recall", {"query": "plumber"}),
            tools.call("memory_search", {"query": "plumber"}),
            tools.call("context", {"task": "call the plumber"}),
        ):
            assert wanted in answer


def test_an_echo_of_a_line_of_the_block_is_no_news(workspace):
    settle(workspace, capture_assistant=True)
    with open_workspace(workspace) as ws:
        turn(ws, PLUMBER, at="2026-03-01T16:30:00Z")
        begun = begin(ws, "when does the plumber come?")
        line = next(line for line in begun.block.split("\n") if "plumber comes" in line and line.startswith("- ["))
        ended = end(ws, begun.turn, line)
        assert (ended.saved, ended.quarantined) == ((), ())
        assert len(ws.items.all()) == 1


def test_a_turn_told_again_means_the_same_day_as_its_memory(ws):
    turn(ws, PLUMBER, at="2026-03-01T23:30:00-08:00")
    turn(ws, "Remember: yesterday I paid the rent", at="2026-03-04T00:30:00+09:00")
    turn(ws, "Merk dir: übermorgen fahre ich weg", at="2026-03-01T23:30:00-03:30")
    given = turn_input({"session_key": "telegram:42", "sender_id": "ana", "text": "when does the plumber come?"})
    told = [line for line in ws.engine.preview(given).block.split("\n") if line.startswith("- user:")]
    assert "tomorrow (2026-03-02)" in told[0]
    assert "yesterday (2026-03-03)" in told[1]
    assert "übermorgen (2026-03-03)" in told[2]


def test_what_waits_to_be_done_carries_the_day_it_means(workspace):
    with open_workspace(workspace) as ws:
        begun = begin(ws, "remind me to call mum tomorrow", at="2026-03-01T23:30:00-08:00")
        end(ws, begun.turn, "ok", pending_actions=["buy milk tomorrow"])
    with open_workspace(workspace) as ws:  # and after a restart
        asked = begin(ws, "and now?", at="2026-11-01T10:00:00Z")
        assert sorted(asked.pending) == [
            "buy milk tomorrow (2026-03-02)",
            "remind me to call mum tomorrow (2026-03-02)",
        ]
        ended = end(
            ws, asked.turn, "ok", done_actions=["Buy milk tomorrow", "remind me to call mum tomorrow (2026-03-02)"]
        )
        assert ended.problems == ()
        assert begin(ws, "and now?").pending == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("today's lunch is soup", "today's (2026-03-01) lunch is soup"),
        ("tomorrow’s train leaves at nine", "tomorrow’s (2026-03-02) train leaves at nine"),
        ("last week's invoice is open", "last week's (week of 2026-02-16) invoice is open"),
    ],
)
def test_the_day_stands_behind_a_word_and_not_within_it(text, shown):
    assert dates.annotated(text, "2026-03-01") == shown
