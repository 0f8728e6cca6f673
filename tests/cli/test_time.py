"""Times on the command line: `--since`, `--until`, and a time in the words, in every command that searches."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.cli import fast_path
from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.homes import make_home

Run = Callable[..., Any]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
"""A Monday."""

ITEMS = (
    ("window", "Prefers the window seat on long flights", "2026-11-29"),
    ("aisle", "Prefers an aisle seat on short flights", "2026-10-01"),
    ("song", "Listens to the song Yesterday in the morning seat", "2026-09-01"),
    ("dentist", "Dentist appointment on 2026-12-01 at 9", "2026-11-10"),
)
TALK = (
    ("user", "I booked the window seat for Rome", "2026-11-20T09:00:00"),
    ("assistant", "Noted, the window seat.", "2026-11-20T09:00:05"),
    ("user", "Yesterday is my favourite song about a seat", "2026-11-21T10:00:00"),
    ("user", "Change the seat to the aisle please", "2026-11-29T10:00:00"),
    ("assistant", "Done: aisle.", "2026-11-29T10:00:05"),
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    workspace = make_home(tmp_path, items=0, lessons=0)
    moments = [(key, text, f"{day}T09:00:00+00:00") for key, text, day in ITEMS]
    rows = [Item(key, text, created_at=at, updated_at=at) for key, text, at in moments]
    with open_workspace(workspace) as ws:
        ws.perform(new_operation("import", "rows", [change_of("item", None, row) for row in rows], actor="import"))
    (workspace / "sessions").mkdir(exist_ok=True)
    lines: list[dict[str, Any]] = [{"_type": "metadata", "key": "telegram:7", "metadata": {}}]
    lines += [{"role": role, "content": text, "timestamp": at} for role, text, at in TALK]
    (workspace / "sessions" / key_to_name("telegram:7")).write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    with clock.at(NOW):
        yield workspace


def ids(found):
    return [hit["id"] for hit in (found["hits"] if isinstance(found, dict) else found)]


SEARCHES = (
    ("recall", "seat"), ("memory", "search", "seat"), ("session", "search", "seat"), ("find", "seat"),
    ("recall", "seat", "--in", "sessions"), ("find", "seat", "--all-workspaces"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("line", SEARCHES, ids=" ".join)
@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize(
    ("value", "why"),
    [("soon", "no date: “soon”"), ("3/2/2026", "2026-02-03 or 2026-03-02"), ("2026-02-30", "no date")],
)
def test_what_is_no_date_is_refused_in_one_line(home, run, line, option, value, why):
    done = run(*line, option, value)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert f": {option}. Fix: give 2026-03-02" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("line", SEARCHES, ids=" ".join)
def test_an_end_before_its_beginning_is_refused(home, run, line):
    done = run(*line, "--since", "today", "--until", "yesterday")
    assert done.code == 2
    assert "2026-11-30 is after 2026-11-29: --since" in done.err


def test_memory_search_keeps_to_the_days(home, run):
    def search(*args):
        return ids(run("memory", "search", "seat", *args, "--json").json)

    assert search("--since", "2 weeks ago") == ["window"]
    assert sorted(search("--until", "2026-10")) == ["aisle", "song"]
    assert search("--since", "2026-10-01", "--until", "2026-10-01") == ["aisle"]
    assert search("--since", "today") == []


def test_the_short_way_of_memory_search_takes_the_days_too(home, run, capsys):
    line = ["memory", "search", "seat", "--since", "2 weeks ago", "--json"]
    expected = run(*line)
    assert fast_path.run(line)
    assert capsys.readouterr().out == expected.out


def test_the_day_that_a_memory_is_about_is_within_too(home, run):
    assert ids(run("memory", "search", "--since", "tomorrow", "--json").json) == ["dentist"]


def test_memory_search_without_words_lists_what_is_within(home, run):
    shown = run("memory", "search", "--since", "2026-11")
    assert shown.out.splitlines()[0] == "Time: only since 2026-11-01"
    assert ids(run("memory", "search", "--since", "2026-11", "--json").json) == ["window", "dentist"]
    assert run("memory", "search").code == 2


def test_days_go_with_a_search_by_words_only(home, run):
    done = run("memory", "search", "--meaning", "seat", "--since", "today")
    assert done.code == 2
    assert "--since goes with a search by words only" in done.err


def test_a_time_in_the_words_is_understood_and_shown(home, run):
    shown = run("memory", "search", "what did I say about the seat yesterday?")
    assert shown.out.splitlines()[0] == "Time: yesterday (2026-11-29)"
    hits = run("memory", "search", "what did I say about the seat yesterday?", "--json").json
    assert hits[0]["id"] == "window"
    assert hits[0]["time"] == {"since": "2026-11-29", "until": "2026-11-29", "said": "yesterday"}
    assert hits[0]["parts"]["time"] > 0
    assert "time" not in hits[1]


def test_a_search_without_a_time_prints_what_it_did(home, run):
    assert "Time:" not in run("memory", "search", "seat").out
    hits = run("memory", "search", "seat", "--json").json
    assert all("time" not in hit and "time" not in hit["parts"] for hit in hits)


def test_recall_says_which_time_it_understood(home, run):
    body = run("recall", "what did I say yesterday?", "--json").json
    assert ids(body) == ["window"]
    assert body["time"] == {"since": "2026-11-29", "until": "2026-11-29", "said": "yesterday"}
    assert run("recall", "what did I say yesterday?").out.startswith("Time: yesterday (2026-11-29)\n")
    assert "time" not in run("recall", "which seat?", "--json").json


def test_recall_of_two_readings_tells_both(home, run):
    body = run("recall", "what is on Friday?", "--json").json
    assert body["time"]["spans"] == [
        {"since": "2026-11-27", "until": "2026-11-27"}, {"since": "2026-12-04", "until": "2026-12-04"},
    ]  # fmt: skip


def test_recall_keeps_to_the_days_and_says_why_not(home, run):
    assert set(ids(run("recall", "which seat?", "--until", "2026-10", "--json").json)) == {"aisle", "song"}
    why = run("recall", "which seat?", "--until", "2026-10", "--why-not", "window", "--json").json
    assert why["why"] == "neither said in these days nor about them: until 2026-10-31"


def test_session_search_ranks_the_messages_of_the_time_first(home, run):
    hits = run("session", "search", "seat yesterday", "--json").json
    assert ids(hits)[0] == "telegram:7#3"
    assert hits[0]["time"]["said"] == "yesterday"
    assert "telegram:7#2" in ids(hits), "the song is found too"


def test_session_search_of_nothing_but_a_time_finds_what_was_said_then(home, run):
    hits = run("session", "search", "what did I say yesterday?", "--json").json
    assert ids(hits)[0] == "telegram:7#3"
    assert "time" in hits[0]["parts"]


def test_a_time_in_quotes_is_a_word_of_the_message(home, run):
    assert ids(run("session", "search", '"yesterday"', "--json").json) == ["telegram:7#2"]


def test_session_search_keeps_to_the_days_of_the_messages(home, run):
    hits = run("session", "search", "seat", "--since", "2026-11-20", "--until", "2026-11-20", "--json").json
    assert set(ids(hits)) == {"telegram:7#0", "telegram:7#1"}
    listed = run("session", "search", "--since", "yesterday", "--json").json
    assert ids(listed) == ["telegram:7#4", "telegram:7#3"]
    assert "In these days, the newest first:" in run("session", "search", "--since", "yesterday").out


def test_recall_in_sessions_keeps_to_the_days(home, run):
    body = run("recall", "which seat?", "--in", "sessions", "--since", "2026-11-25", "--json").json
    assert {hit["id"] for hit in body["hits"]} <= {"telegram:7#3", "telegram:7#4"}
    assert body["hits"]


def test_find_puts_what_is_of_the_time_first(home, run):
    body = run("find", "seat yesterday", "--in", "item", "--json").json
    assert ids({"hits": body["places"]}) == ["window", "song"], "that of the day, then that which holds both words"
    assert body["time"]["said"] == "yesterday"
    alone = run("find", "tomorrow", "--in", "item", "--json").json
    assert ids({"hits": alone["places"]}) == ["dentist"]


def test_find_keeps_to_the_days(home, run):
    def find(*args):
        return ids({"hits": run("find", *args, "--in", "item", "--json").json["places"]})

    assert find("seat", "--since", "2026-11") == ["window"]
    assert sorted(find("--since", "2026-11")) == ["dentist", "window"]
    assert find("seat", "--since", "2026-11", "--all-workspaces") == ["window"]
