"""The pending items of a session: a message that asks for something later fills them, "done" empties them."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.attach.turns import Place
from nanomem_tui.memory.turns.request import turn_end, turn_input
from tests.memory.turns import begin, end, turn

HOME = {"items": 0, "lessons": 0}


def pending(ws, **fields):
    """What waits in the chat as the next turn sees it."""
    begun = begin(ws, "hello again", **fields)
    assert all(item in begun.block for item in begun.pending)
    end(ws, begun.turn)
    return begun.pending


@pytest.mark.parametrize(
    "text",
    [
        "todo: buy milk",
        "TODO buy milk",
        "To-do: buy milk",
        "please remind me to buy milk",
        "Can you remind me to buy milk?",
        "Remember to buy milk",
        "don't forget to buy milk",
        "待办：买牛奶",
        "请提醒我买牛奶",
        "别忘了买牛奶",
        "напомни купить молоко",
    ],
)
def test_what_a_message_asks_for_later_waits_until_it_is_done(workspace, text):
    with open_workspace(workspace) as ws:
        turn(ws, text)
        assert pending(ws) == (text,)
    with open_workspace(workspace) as ws:  # another process
        assert pending(ws) == (text,)
        assert pending(ws, session_key="telegram:43") == (), "of another session"
        turn(ws, "done")
        assert pending(ws) == ()
    with open_workspace(workspace) as ws:
        assert pending(ws) == ()


@pytest.mark.parametrize(
    "text",
    [
        "What is on my todo list?",
        "don't remind me again",
        "No need to remind me of the milk",
        "Erinnere mich nicht mehr daran",
        "I bought milk today",
        "The word stodolist means nothing",
        "```\n# TODO: refactor this\n```",
        "Please do not remember this: remember to buy milk",
        "x" * 1_200 + " todo: buy milk",
    ],
)
def test_what_asks_for_nothing_does_not_wait(ws, text):
    turn(ws, text)
    assert pending(ws) == ()


LONGEST = ("done", "Done!", "that's done, thanks", "resolved", "cancel", "不用了", "已完成", "готово")
NAMED = ("the dentist call is done", "Cancel the dentist, please", "done: called the dentist")


@pytest.mark.parametrize(
    ("text", "left"), [*((text, "call the dentist") for text in LONGEST), *((text, "buy milk") for text in NAMED)]
)
def test_what_is_done_takes_out_what_it_names_or_what_waits_longest(ws, text, left):
    turn(ws, "todo: buy milk")
    turn(ws, "todo: call the dentist")
    turn(ws, text)
    assert pending(ws) == (f"todo: {left}",)


@pytest.mark.parametrize(
    "text",
    [
        "it is not done yet",
        "Is it done?",
        "I haven't done that",
        "He abandoned the plan",
        "Tell me when the upload is done",
        "还没完成",
        "todo: write down what was done",
    ],
)
def test_what_is_not_done_stays(ws, text):
    turn(ws, "todo: buy milk")
    turn(ws, text)
    assert "todo: buy milk" in pending(ws)


def test_the_oldest_fall_out_beyond_the_limit(ws):
    for number in range(21):
        turn(ws, f"todo: thing number {number}")
    assert pending(ws) == tuple(f"todo: thing number {number}" for number in range(1, 21))


def test_what_the_agent_names_itself_is_not_doubled(ws):
    end(ws, begin(ws, "please remind me to buy milk").turn, pending_actions=["buy milk"])
    assert pending(ws) == ("buy milk",)
    end(ws, begin(ws, "done").turn, done_actions=["buy milk"])
    assert pending(ws) == ()


def test_a_declined_turn_leaves_nothing_to_do(ws):
    begun = begin(ws, "todo: buy milk")
    end(ws, begun.turn, "", declined=True)
    assert pending(ws) == ()


def test_a_secret_in_what_waits_is_masked(ws):
    turn(ws, "todo: log in with the password hunter2x!")
    (item,) = pending(ws)
    assert "hunter2x" not in item


def test_the_fields_that_the_hook_of_an_agent_sends_fill_and_empty_it(workspace):
    here = Place("telegram:7", "telegram", "7", "7|ana", None, "please remind me to buy milk")
    with open_workspace(workspace) as ws:
        for text, waits in ((here.text, ()), ("hello", (here.text,)), ("done", (here.text,)), ("hello", ())):
            fields = here._replace(text=text).begin()
            begun = ws.engine.begin_turn(turn_input(fields))
            assert begun.pending == waits
            assert all(item in begun.block for item in waits)
            ws.engine.end_turn(turn_end({**fields, "turn": begun.turn, "assistant": "Sure.", "tools": []}))
