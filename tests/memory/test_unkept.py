"""Every part of a message that becomes nothing has its reason at the end of the turn."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.turns.request import turn_end
from tests.memory.turns import begin, end, said, settle, turn

HOME = {"items": 0, "lessons": 0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("What time is it?", "a question"),
        ("现在几点？", "a question"),
        ("thanks!", "small talk"),
        ("你好", "small talk"),
        ("The weather is nice", "no preference, fact, decision or event that will matter"),
        ("> I live in Porto", "pasted"),
        ("\U0001f44d", "no words"),
        ("/help", "command"),
        ("```print(1)```", "code"),
        ("Remember this.", "does not say what to remember"),
        ("Don't remember this: I like jazz", "asked not to be remembered"),
    ],
)
def test_a_message_that_becomes_nothing_says_why(ws, text, why):
    ended = turn(ws, text)
    assert (ended.saved, ended.quarantined) == ((), ())
    assert ended.dropped
    assert any(why in drop.why for drop in ended.dropped), ended.dropped


def test_beside_a_sentence_that_is_kept_the_others_say_why(ws):
    ended = turn(ws, "I prefer window seats. What is the weather? Thanks a lot!")
    assert [kept.item.text for kept in ended.saved] == ["I prefer window seats."]
    assert [(drop.text, drop.why) for drop in ended.dropped] == [
        ("What is the weather?", "a question"),
        ("Thanks a lot!", "small talk"),
    ]
    again = ws.engine.whole_turn(turn_end({**said("I prefer window seats."), "assistant": "ok"}, whole=True))
    assert ([kept.merged for kept in again.saved], again.dropped) == ([True], ())


def test_more_than_a_turn_may_keep_says_so(ws):
    ended = turn(ws, "My dog is called Rex. I live in Porto. My job is baker. I like jazz. I am vegan.")
    assert len(ended.saved) + len(ended.dropped) == 5
    assert [drop.why for drop in ended.dropped] == ["more than 4 in one turn"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"capture_enabled": False}, "capturing is off (capture_enabled)"),
        ({"memory_enabled": False}, "memory is switched off (memory_enabled)"),
        ({"capture_channels": ["cli"]}, "channel telegram is not in capture_channels"),
    ],
)
def test_where_nothing_is_captured_the_message_says_why(workspace, settings, why):
    settle(workspace, **settings)
    with open_workspace(workspace) as ws:
        ended = ws.engine.whole_turn(turn_end({**said("I live in Porto"), "assistant": "ok"}, whole=True))
        assert (ended.saved, ended.quarantined) == ((), ())
        assert [(drop.text, drop.why) for drop in ended.dropped] == [("I live in Porto", why)]


def test_a_declined_turn_says_so(ws):
    begun = begin(ws, "I live in Porto")
    assert [drop.why for drop in end(ws, begun.turn, "", declined=True).dropped] == ["the agent declined the turn"]


def test_a_message_that_taught_a_lesson_is_not_dropped(ws):
    turn(ws, "tell me about boats", "Boats float. " * 20)
    ended = turn(ws, "too long, answer in one sentence")
    assert (len(ended.lessons), ended.dropped) == (1, ())
