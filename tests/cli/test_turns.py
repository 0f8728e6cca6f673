"""`nanomem turn list` and `turn show`: what real turns were given, and what became of it."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.turns.request import TurnEnd, TurnInput


@pytest.fixture
def turns(workspace):
    """Two turns of one chat, the second of which never ended."""
    with open_workspace(workspace) as ws:
        ws.items.add("The ferry to 長崎 leaves at nine")
        first = ws.engine.begin_turn(TurnInput("cli:x", "cli", "x", "ana", text="when does the ferry leave?"))
        ws.engine.end_turn(TurnEnd(first.turn, assistant="At nine."))
        second = ws.engine.begin_turn(TurnInput("cli:y", "cli", "y", "ana", text="and the ferry back? \x1b[2J"))
        return [first.turn, second.turn]


def test_the_turns_are_listed_the_newest_first(run, turns):
    out = run("turn", "list").out
    assert out.index("cli:y") < out.index("cli:x")
    assert "(not ended)" in out
    assert "\x1b" not in out
    found = json.loads(run("turn", "list", "--session", "cli:x", "--json").out)
    assert [one["id"] for one in found] == turns[:1]
    assert [one["id"] for one in json.loads(run("turn", "list", "--open", "--json").out)] == turns[1:]
    (item,) = found[0]["items"]
    assert len(json.loads(run("turn", "list", "--id", item, "--json").out)) == 2
    assert run("turn", "list", "--session", "cli:z").out == "No turns.\n"


def test_a_turn_is_shown_in_the_words_that_the_model_had(run, workspace, turns):
    with open_workspace(workspace) as ws:
        (item,) = ws.traces.injections.get(turns[0]).items
        ws.items.edit(item, text="The ferry leaves at ten")
        ws.items.edit(item, text="The ferry leaves at eleven")
    out = run("turn", "show", turns[0]).out
    assert "edited since" in out
    assert "The ferry to 長崎 leaves at nine" in out
    assert "now: The ferry leaves at eleven" in out
    assert "ten" not in out
    with open_workspace(workspace) as ws:
        ws.items.delete([item])
    (told,) = json.loads(run("turn", "show", turns[0], "--json").out)["memories"]
    assert (told["then"], told["text"], told["since"]) == ("The ferry to 長崎 leaves at nine", "", "deleted since")


def test_what_was_switched_off_or_superseded_since_says_so(run, workspace, turns):
    with open_workspace(workspace) as ws:
        (item,) = ws.traces.injections.get(turns[0]).items
        ws.items.set_enabled([item], enabled=False)
    assert "switched off since" in run("turn", "show").out
    with open_workspace(workspace) as ws:
        ws.undo()
    assert "since" not in run("turn", "show").out


def test_without_a_name_the_last_turn_is_shown(run, turns):
    shown = json.loads(run("turn", "show", "--json").out)
    assert (shown["id"], shown["ended_at"]) == (turns[1], "")
    assert "\x1b" not in run("turn", "show").out


def test_a_turn_that_is_not_there_is_told(run, workspace):
    none = run("turn", "show")
    assert (none.code, none.out) == (2, "")
    assert "no turn yet" in none.err
    wrong = run("turn", "show", "turn_none")
    assert wrong.code == 2
    assert "nanomem turn list" in wrong.err
