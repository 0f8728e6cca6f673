"""Bad input of a turn, and what the settings of seed 001 §9 change."""

import sqlite3

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, InvalidConfig, NanomemError
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.turns.request import TurnEnd, turn_input
from tests.memory.turns import begin, end, said, settle, turn
from tests.store.homes import files, kill

# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (said(""), "empty"),
        (said("  \n "), "empty"),
        ({"text": "hi"}, "channel"),
        ({"session_key": "nothing", "text": "hi"}, "channel"),
        (said("hi", session_key="../../etc:passwd"), "`../`"),
        (said("hi", session_key="telegram:../x"), "`../`"),
        (said("hi", channel="tele/gram", chat_id="1"), "channel"),
        (said("hi", channel="telegram", chat_id="../1"), "../"),
        (said("hi", sender_id="a\nb"), "control"),
        (said("hi", sender_id=["x"]), "not a text"),
        (said("half \ud800"), "surrogate"),
        (said(5), "not a text"),
        (said("hi", speaker=5), "not a text"),
        (said("hi", media="x.png"), "list"),
        (said("hi", reply_to="m1"), "object"),
        (said("hi", at="yesterday"), "no time"),
    ],
)
def test_bad_input_is_one_error_and_changes_nothing(workspace, body, what):
    with open_workspace(workspace) as ws:
        before = files(workspace.parent)
        with pytest.raises(BadInput) as caught:
            ws.engine.begin_turn(turn_input(body))
        assert what in caught.value.line()
        assert "\n" not in caught.value.line()
    assert files(workspace.parent) == before


@pytest.mark.parametrize(
    "fields",
    [{"tools": "x"}, {"tools": ["x"]}, {"pending_actions": "x"}, {"declined": "no"}],
)
def test_a_bad_end_is_one_error_and_leaves_the_turn_open(ws, workspace, fields):
    begun = begin(ws)
    before = files(workspace.parent)
    with pytest.raises(BadInput):
        end(ws, begun.turn, **fields)
    assert files(workspace.parent) == before
    assert len(ws.wal.check()) == 1


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_locked_database_is_one_error_and_changes_nothing(workspace):
    with open_workspace(workspace) as ws:
        ws.items.add("one")
    locker = sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db", isolation_level=None)
    locker.execute("PRAGMA locking_mode=EXCLUSIVE")
    locker.execute("BEGIN EXCLUSIVE")
    locker.execute("UPDATE memory_meta SET value = value")
    ws = open_workspace(workspace)
    try:
        with pytest.raises(NanomemError) as caught:
            begin(ws)
        assert "\n" not in caught.value.line()
        assert not (workspace / "memory" / "session-state").exists()
        assert not (workspace.parent / "nanomem" / "injections").exists()
    finally:
        kill(ws)
        locker.close()
    with open_workspace(workspace) as ws:
        assert begin(ws).hits


# -- steering (seed 001 §9) ----------------------------------------------------------------------------------------


def test_memory_off_reads_and_writes_nothing(workspace):
    settle(workspace, memory_enabled=False)
    with open_workspace(workspace) as ws:
        before = files(workspace.parent)
        begun = begin(ws)
        assert (begun.turn, begun.block, begun.hits) == ("", "", ())
        assert ws.engine.end_turn(TurnEnd(begun.turn, turn_input(said("remember that I like tea")), "Yes.")).saved == ()
    assert files(workspace.parent) == before


def test_capture_off_keeps_recall(workspace):
    settle(workspace, capture_enabled=False)
    with open_workspace(workspace) as ws:
        begun = begin(ws)
        assert begun.hits
        assert turn(ws, "Remember that I prefer window seats").saved == ()
        assert ws.items.count()["total"] == 4


def test_only_named_channels_are_captured(workspace):
    settle(workspace, capture_channels=["cli"])
    with open_workspace(workspace) as ws:
        assert turn(ws, "Remember that I prefer window seats").saved == ()
        assert turn(ws, "Remember that I prefer window seats", session_key="cli:direct").saved


def test_what_the_assistant_says_is_read_only_where_asked_for(workspace):
    words = "I prefer green tea in the morning"
    with open_workspace(workspace) as ws:
        assert turn(ws, "hello there friend", words).saved == ()
    settle(workspace, capture_assistant=True)
    with open_workspace(workspace) as ws:
        ended = turn(ws, "hello there friend", words)
        assert words in {held.item.text for held in ended.quarantined}


def test_wal_off_writes_no_session_state_and_no_words(workspace):
    settle(workspace, wal_enabled=False)
    with open_workspace(workspace) as ws:
        begun = begin(ws, "item number 2 and a private word")
        assert begun.hits
        end(ws, begun.turn)
        turn = ws.traces.injections.get(begun.turn)
        assert (turn.user, bool(turn.items)) == ("", True)
    assert not (workspace / "memory" / "session-state").exists()


def test_a_smaller_budget_makes_a_smaller_block(workspace):
    with open_workspace(workspace) as ws:
        for number in range(8):
            ws.items.add(f"tea number {number} " + "steeps " * 20)
        large = begin(ws, "tea")
    settle(workspace, recall_max_prompt_chars=600)
    with open_workspace(workspace) as ws:
        small = begin(ws, "tea")
    assert len(small.block) < len(large.block)
    assert 0 < len(small.hits) < len(large.hits)
    assert any("budget of 600" in cut.why for cut in small.cut)


def test_another_state_folder(workspace):
    settle(workspace, wal_state_dir="memory/turns")
    with open_workspace(workspace) as ws:
        begin(ws)
        assert len(ws.wal.check()) == 1
        assert "wal" in ws.refresh()
        begin(ws)
        assert "wal" in ws.refresh()
        assert "wal" not in ws.refresh()
    assert (workspace / "memory" / "turns" / "telegram_42.md").exists()
    settle(workspace, wal_state_dir="../outside")
    with pytest.raises(InvalidConfig, match="inside the workspace"):
        open_workspace(workspace)


def test_no_window(workspace):
    settle(workspace, short_term_turns=0)
    with open_workspace(workspace) as ws:
        end(ws, begin(ws, "one thing").turn, pending_actions=["do it"])
        begun = begin(ws, "zzz")
        assert (begun.working, begun.pending) == ((), ("do it",))


def test_the_defaults_are_those_of_the_seeds():
    settings = Settings()
    assert (settings.short_term_turns, settings.recall_max_prompt_chars) == (12, 2400)
