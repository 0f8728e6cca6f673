"""What a person wanted to be forgotten and somebody says again leaves no trace, and stands before no model."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.memory.turns.request import turn_end
from nanomem_tui.store import forgotten
from tests.memory.turns import begin, end, said, state_file
from tests.store.homes import make_home

WORDS = "blue zeppelin"
SAID = f"Remember: I own a {WORDS}."
ANSWER = f"A {WORDS.title()}, noted."
TOOL = {"name": "look", "arguments": f'{{"for": "{WORDS}"}}', "result": f"one {WORDS}"}
MORE = {"tools": [TOOL], "pending_actions": [f"paint the {WORDS}"], "done_actions": [f"paint the {WORDS}"]}


@pytest.fixture
def ws(tmp_path):
    workspace = make_home(tmp_path, items=1, lessons=0)
    with open_workspace(workspace) as opened:
        forgotten.add(opened.paths, "receipt_1", {"text": [WORDS]})
        yield opened


def holding(folder):
    """The files that hold the words."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.name for path in files if WORDS.encode() in path.read_bytes().lower())


def test_no_file_holds_it_and_no_block_repeats_it(ws):
    done = end(ws, begin(ws, SAID).turn, ANSWER, **MORE)
    assert forgotten.WHY in {dropped.why for dropped in done.dropped}
    again = begin(ws, "what do I own?")
    assert WORDS not in again.block.lower()
    assert f"I own a {FORGOTTEN}." in state_file(ws.paths.workspace)
    assert FORGOTTEN in again.block
    ws.flush()
    assert holding(ws.paths.workspace.parent) == []


def test_a_turn_that_is_told_as_a_whole_too(ws):
    ws.engine.whole_turn(turn_end({**said(SAID), "assistant": ANSWER, **MORE}))
    ws.flush()
    assert holding(ws.paths.workspace.parent) == []
    assert WORDS not in begin(ws, "and now?").block.lower()


def test_what_is_pending_is_done_all_the_same(ws):
    end(ws, begin(ws, "hello").turn, "ok", pending_actions=[f"paint the {WORDS}"])
    assert "paint the [forgotten]" in begin(ws, "hello").block
    done = end(ws, begin(ws, "hello").turn, "ok", done_actions=[f"paint the {WORDS}"])
    assert done.problems == ()
    assert "paint" not in begin(ws, "hello").block.replace("hello", "")


def test_where_it_cannot_be_read_what_is_forgotten_no_word_is_kept(ws):
    (ws.paths.data / forgotten.FILE).write_text("{")
    begun = begin(ws, SAID)
    assert "the words of this turn leave no trace" in begun.problem
    assert holding(ws.paths.workspace.parent) == []
