"""Recall of a time: what was said then, or is about it, stands higher; `within` leaves out all else."""

import json
from datetime import UTC, date, datetime

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.settings import Settings
from nanomem_tui.language.times_asked import Span
from nanomem_tui.memory.recall import times
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.memory.scopes import Audience, chat_key
from nanomem_tui.store.values import Item
from tests.store.homes import fill

HOME = {"items": 0}
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
"""A Monday."""


def item(key, text, day, **rest):
    at = f"{day}T09:00:00+00:00"
    return Item(key, text, **{"created_at": at, "updated_at": at, **rest})


ROWS = [
    item("window", "Prefers the window seat on long flights", "2026-11-29"),
    item("aisle", "Prefers an aisle seat on short flights", "2026-10-01"),
    item("song", "Listens to the song Yesterday every morning", "2026-09-01"),
    item("dentist", "Dentist appointment on 2026-12-01 at 9", "2026-11-10"),
    item("lisbon", "The company moved to Lisbon in 2026-03", "2026-06-10"),
    item("score", "Marching band practice, bought a march score", "2026-07-10"),
    item("cat", "Has a cat called Milo", "2026-11-29"),
    item("rome", "Flew to Rome with Anna", "2026-03-14"),
]


@pytest.fixture
def ws(workspace):
    with open_workspace(workspace) as made:
        fill(made, ROWS)
    with clock.at(NOW), open_workspace(workspace) as opened:
        yield opened


@pytest.fixture(params=["ram", "sqlite_fts"])
def recall(ws, request):
    made = Recall(ws.store, Settings(recall_backend=request.param))
    if request.param == "ram":
        made.warm(background=False)
    return made


def ids(found):
    return [hit.item.id for hit in found.hits]


# -- a time in the question -------------------------------------------------------------------------------------------


def test_what_was_said_yesterday_is_found_though_it_shares_no_word(recall):
    found = recall.ask(Question("what did I say yesterday?"))
    assert set(ids(found)) == {"window", "cat"}
    assert found.time.line() == "yesterday (2026-11-29)"


def test_what_a_memory_is_about_counts_beside_when_it_was_said(recall):
    assert set(ids(recall.ask(Question("what happened in March?")))) == {"lisbon", "rome"}
    assert ids(recall.ask(Question("what do I have tomorrow?"))) == ["dentist"]


def test_the_words_count_beside_the_time(recall):
    found = ids(recall.ask(Question("what did I say about the seat yesterday?", whole=True)))
    assert found[:2] == ["window", "aisle"]
    assert found.index("cat") < found.index("song"), "the word yesterday says less than the day"


def test_a_memory_with_the_word_in_another_sense_is_found_behind(recall):
    assert ids(recall.ask(Question("yesterday", whole=True)))[2:] == ["song"]
    assert ids(recall.ask(Question("where did I fly in March?")))[0] == "rome"


def test_the_time_is_a_part_of_the_score_of_what_is_of_it(recall):
    found = recall.ask(Question("what did I say about the seat yesterday?", whole=True))
    parts = {hit.item.id: dict(hit.parts) for hit in found.hits}
    assert {key for key, one in parts.items() if "time" in one} == {"window", "cat"}
    grown = 1 + sum(parts["window"][name] for name in ("importance", "recency", "hits"))
    scores = {hit.item.id: hit.score for hit in found.hits}
    assert scores["window"] == pytest.approx((parts["window"]["lexical"] + parts["window"]["time"]) * grown)


def test_what_a_time_counts_is_a_weight_that_one_can_change(recall):
    asked = Question("which seat did I ask for yesterday?", whole=True)
    assert recall.weights()["time"] == 0.5
    usual = {hit.item.id: hit.score for hit in recall.ask(asked).hits}
    changed = {hit.item.id: hit for hit in recall.ask(asked._replace(weights={"time": 0.0})).hits}
    assert changed["window"].parts["time"] == 0
    assert changed["window"].score < usual["window"]
    assert changed["aisle"].score == usual["aisle"]


def test_a_greeting_or_a_question_of_today_gets_nothing_for_its_day(recall):
    for text in ("How are you today?", "What's the weather today?", "See you tomorrow!"):
        assert ids(recall.ask(Question(text))) == []


def test_a_question_without_a_time_is_answered_as_before(recall):
    found = recall.ask(Question("which seat do I like?"))
    assert found.time is None
    assert set(ids(found)) == {"window", "aisle"}
    assert all("time" not in hit.parts for hit in found.hits)


def test_what_is_not_visible_is_not_found_by_its_day(ws, recall):
    secret = item("secret", "Owes Tom money", "2026-11-29", scope_type="chat", scope_key=chat_key("telegram", "2"))
    fill(ws, [secret])
    audience = Audience("telegram", "1", "7")
    assert "secret" not in ids(recall.ask(Question("what did I say yesterday?", audience=audience)))
    assert ids(recall.ask(Question("", audience=audience, whole=True, within=days("2026-11-29")))) == ["window", "cat"]


def test_what_is_deleted_or_disabled_is_not_found_by_its_day(ws, recall):
    ws.items.delete(["cat"])
    ws.items.set_enabled(["window"], False)
    assert ids(recall.ask(Question("what did I say yesterday?"))) == []


def test_a_change_moves_the_day_of_a_memory(ws, recall):
    assert "dentist" in ids(recall.ask(Question("what do I have tomorrow?")))
    ws.items.edit("dentist", text="Dentist appointment on 2026-12-05 at 9")
    assert "dentist" not in ids(recall.ask(Question("what do I have tomorrow?")))


def test_what_is_so_every_friday_has_to_do_with_the_next_one(ws, recall):
    fridays = item("fridays", "Takes no meetings on Fridays", "2026-02-01")
    fill(ws, [fridays])
    assert "fridays" in ids(recall.ask(Question("Giles proposes a meeting for Friday, shall I take it?")))


def test_a_long_message_that_tells_of_a_time_brings_no_more_for_it(recall):
    story = "I was in the garden yesterday with the neighbours and we had a long talk about roses. " * 3
    assert ids(recall.ask(Question(f"{story} What do I do against aphids?"))) == []


def test_the_profiles_of_the_seeds_know_no_time(recall):
    found = recall.ask(Question("what did I say about the seat yesterday?", profile="seed001"))
    assert found.time is None
    assert all("time" not in hit.parts for hit in found.hits)


def test_a_turn_is_given_what_was_said_at_the_time_that_it_asks_for(ws):
    begun = ws.engine.ask(Question("what did I tell you yesterday?"))
    assert "Has a cat called Milo" in begun.block
    assert "song" not in begun.block


# -- only what is within ----------------------------------------------------------------------------------------------


def days(since, until=""):
    return Span(date.fromisoformat(since), date.fromisoformat(until or since))


def test_within_leaves_out_all_that_is_of_another_time(recall):
    assert ids(recall.ask(Question("seat", whole=True, within=days("2026-11-01", "2026-11-30")))) == ["window"]
    assert ids(recall.ask(Question("company", whole=True, within=days("2026-03-01", "2026-03-31")))) == ["lisbon"]
    assert ids(recall.ask(Question("company", whole=True, within=days("2026-07-01", "2026-07-31")))) == []


def test_within_holds_for_the_profiles_of_the_seeds_too(recall):
    for profile in ("seed000", "seed001"):
        found = recall.ask(Question("seat", profile=profile, whole=True, within=days("2026-10-01")))
        assert ids(found) == ["aisle"]


def test_within_without_words_lists_the_newest_first(recall):
    found = recall.ask(Question("", whole=True, limit=3, within=days("2026-06-01", "2026-11-30")))
    assert set(ids(found)[:2]) == {"window", "cat"}
    assert ids(found)[2] == "dentist"


def test_why_not_says_that_it_is_of_another_time(recall):
    question = Question("seat", within=days("2026-11-01", "2026-11-30"))
    assert recall.why_not(question, "aisle") == ("neither said in these days nor about them: 2026-11-01 to 2026-11-30")
    assert recall.why_not(question, "window") == ""


def test_many_rows_before_the_span_do_not_hide_those_within(ws, recall):
    rows = [item(f"n{number}", f"Likes the seat number {number}", "2026-08-01") for number in range(400)]
    fill(ws, rows)
    assert ids(recall.ask(Question("seat", whole=True, limit=5, within=days("2026-11-29")))) == ["window"]
    found = recall.ask(Question("seat yesterday", whole=True, limit=3))
    assert ids(found)[0] == "window"


# -- the day of a memory ----------------------------------------------------------------------------------------------


def test_a_day_is_one_of_the_agents_zone(ws):
    late = item("late", "Bought a bicycle", "2026-11-28", created_at="2026-11-28T23:30:00+00:00")
    fill(ws, [late])
    question = Question("what did I say yesterday?")
    assert "late" not in ids(ws.recall.ask(question))
    config = {"agents": {"defaults": {"timezone": "Asia/Tokyo"}}}
    (ws.paths.workspace.parent / "config.json").write_text(json.dumps(config))
    with open_workspace(ws.paths.workspace) as again:
        assert "late" in ids(again.recall.ask(question)), "half past eleven at night is the next morning there"


def test_a_time_of_a_transcript_is_local_without_an_offset():
    assert times.day_of("2026-11-29T23:59:59.123", None) == date(2026, 11, 29)
    assert times.day_of("2026-11-29", None) == date(2026, 11, 29)
    assert times.day_of("2026-11-29T23:30:00+00:00", UTC) == date(2026, 11, 29)
    assert times.day_of("soon", None) is None
    assert times.day_of("", None) is None


def test_since_and_until_are_days_of_a_span(ws):
    assert times.parse_span(ws.paths, "", "") is None
    assert times.parse_span(ws.paths, "last week", "last week") == days("2026-11-23", "2026-11-29")
    assert times.parse_span(ws.paths, "2026-03", "") == Span(date(2026, 3, 1), date.max)
    assert times.parse_span(ws.paths, "", "yesterday") == Span(date.min, date(2026, 11, 29))
    with pytest.raises(BadInput, match="no date: “soon”"):
        times.parse_span(ws.paths, "soon", "")
    with pytest.raises(BadInput, match="is after"):
        times.parse_span(ws.paths, "today", "yesterday")
