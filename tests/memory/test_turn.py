"""A turn from begin to end: session state, block, injection log, restart, transcripts, counters."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NotFound, NothingToDo
from nanomem_tui.memory.turns.request import turn_end, turn_input
from tests.memory.turns import begin, end, said, state_file, turn
from tests.store.homes import files, kill

# -- the whole -----------------------------------------------------------------------------------------------------


def test_a_turn_leaves_what_it_should_and_nothing_else(workspace):
    with open_workspace(workspace) as ws:
        begun = begin(ws, message_id="m7", at="2026-03-01T10:00:00+00:00", reply_to={"message_id": "m6", "text": "hm"})
        assert begun.hits[0].item.text == "item number 2"
        assert "- [fact] item number 2" in begun.block
        assert state_file(workspace).endswith(
            "## Turns\n\n### 2026-03-01T10:00:00+00:00 PRE\n- speaker: user\n- sender_id: ana\n- message_id: m7\n"
            f"- user: item number 2\n- reply_to_message_id: m6\n- turn: {begun.turn}\n\n"
        )
        before = {hit.item.id: hit.item.hits for hit in begun.hits}
        ended = end(ws, begun.turn, "It is the second.", pending_actions=["look again"])
        assert ended.operation == "", "counters alone are no change"
        for key, hits in before.items():
            row = ws.items.get(key)
            assert row.hits == hits + 1
            assert row.last_accessed_at
        assert state_file(workspace).endswith(
            f"- assistant: It is the second.\n- turn: {begun.turn}\n- pending_actions:\n  - look again\n\n"
        )
        assert ws.wal.check() == []
        assert ws.log() == []
    with open_workspace(workspace) as ws:
        assert {key: ws.items.get(key).hits for key in before} == {key: hits + 1 for key, hits in before.items()}
        with pytest.raises(NothingToDo):
            ws.undo()  # what an agent did is no change of a person's


def test_the_log_says_which_turn_was_given_what(workspace):
    with open_workspace(workspace) as ws:
        begun = begin(ws)
        end(ws, begun.turn)
    with open_workspace(workspace) as ws:
        turn = ws.traces.injections.get(begun.turn)
        assert turn.items == tuple(hit.item.id for hit in begun.hits)
        assert turn.chars == len(begun.block)
        assert (turn.user, turn.session_key, bool(turn.ended_at)) == ("item number 2", "telegram:42", True)
        assert [found.turn for found in ws.traces.injections.of_item(turn.items[0])] == [begun.turn]


def test_a_preview_leaves_no_trace(ws, workspace):
    ws.items.add("something of ours")
    ws.flush()
    before = files(workspace.parent, skip=lambda path: path.name.endswith("-shm"))
    shown = ws.engine.preview(turn_input(said("item number 2")))
    assert shown.hits
    assert shown.turn == ""
    assert files(workspace.parent, skip=lambda path: path.name.endswith("-shm")) == before


def test_a_declined_turn_keeps_nothing(workspace):
    with open_workspace(workspace) as ws:
        turn(ws, "hello")
        before, state = files(workspace.parent), state_file(workspace)
        begun = begin(ws)
        end(ws, begun.turn, declined=True)
        changed = {name for name, data in files(workspace.parent).items() if before.get(name) != data}
        assert {Path(name).parent.name for name in changed} == {"injections"}  # what it was given stays known
        assert state_file(workspace) == state
        assert ws.wal.check() == []
        assert [one.user for one in ws.engine.working.turns("telegram:42")] == ["hello"]
        assert ws.items.get(begun.hits[0].item.id).hits == begun.hits[0].item.hits
        before = files(workspace.parent)
        whole = turn_end(said("remember that I like tea", declined=True, assistant="x"), whole=True)
        ws.engine.whole_turn(whole)
        assert files(workspace.parent) == before
        assert ws.traces.counters.read()["turns_declined"] == 2
    with open_workspace(workspace) as ws:
        assert ws.traces.counters.read()["turns_declined"] == 2


def test_a_first_turn_that_is_declined_leaves_no_session_state(workspace):
    with open_workspace(workspace) as ws:
        begun = begin(ws)
    with open_workspace(workspace) as ws:  # another process
        end(ws, begun.turn, declined=True)
        assert ws.wal.list() == []
        assert not (workspace / "memory" / "session-state" / "telegram_42.md").exists()


def test_a_declined_turn_leaves_what_another_wrote_after_it(workspace):
    with open_workspace(workspace) as ws:
        declined, kept = begin(ws, "one"), begin(ws, "two")
        end(ws, declined.turn, declined=True)
        end(ws, kept.turn, "Two it is.")
        said_now = [(one.pre["user"], one.assistant, one.declined) for one in ws.wal.get("telegram:42").turns]
        assert said_now == [("one", None, True), ("two", "Two it is.", False)]
        assert ws.wal.check() == [], "nothing is left to be recovered"
    with open_workspace(workspace) as ws:
        assert "one" not in [turn.user for turn in begin(ws, "three").working]


def test_a_turn_that_was_declined_cannot_be_ended(ws, workspace):
    turn(ws, "hello")
    declined = begin(ws, "I prefer green tea in the morning.").turn
    end(ws, declined, declined=True)
    for again in ({}, {"declined": True}):
        with pytest.raises(NothingToDo, match="that turn was declined"):
            end(ws, declined, **again)
    assert not [item for item in ws.items.all() if "green tea" in item.text]
    assert declined not in state_file(workspace)
    assert ws.wal.problems() == []
    assert ws.traces.counters.read()["turns_declined"] == 1


@pytest.mark.parametrize("secret", ["ghp_" + "a1B2" * 9, "-----BEGIN PRIVATE KEY-----\n" + "MIIEv\n" * 700])
def test_no_trace_of_a_turn_holds_a_secret(workspace, secret):
    with open_workspace(workspace) as ws:
        begun = begin(ws, f"my token: {secret}")
        last = {"assistant": f"Kept {secret}", "pending_actions": [f"use {secret}"]}
        by_message = turn_end(said(f"my token: {secret}", **last))
    with open_workspace(workspace) as ws:
        assert ws.engine.end_turn(by_message).turn == begun.turn
        assert "my token: [" in state_file(workspace)
        logged = ws.traces.injections.get(begun.turn)
        assert logged.user.startswith("my token: [")
        ws.flush()
    ours = {name: data for name, data in files(workspace.parent).items() if "sessions" not in Path(name).parts}
    word = secret.split("\n")[-2 if "\n" in secret else 0].encode()
    assert not {name for name, data in ours.items() if data is not None and word in data}


def test_an_end_is_taken_once(ws):
    begun = begin(ws)
    end(ws, begun.turn)
    hits = ws.items.get(begun.hits[0].item.id).hits
    with pytest.raises(NothingToDo):
        end(ws, begun.turn)
    with pytest.raises(NotFound):
        end(ws, "turn_1_1")
    assert ws.items.get(begun.hits[0].item.id).hits == hits


def test_another_process_may_end_what_one_began(workspace):
    with open_workspace(workspace) as ws:
        begun = begin(ws)
    with open_workspace(workspace) as ws:
        ended = end(ws, begun.turn, "From elsewhere.")
        assert ended.turn == begun.turn
        assert ws.items.get(begun.hits[0].item.id).hits == begun.hits[0].item.hits + 1
        assert ws.wal.check() == []
        with pytest.raises(NothingToDo):
            end(ws, begun.turn)


def test_an_end_finds_its_begin_by_the_message(workspace):
    with open_workspace(workspace) as ws:
        first, second = begin(ws, "one", message_id="m1"), begin(ws, "two", message_id="m2")
        assert ws.engine.end_turn(turn_end(said("one", message_id="m1", assistant="a"))).turn == first.turn
    with open_workspace(workspace) as ws:
        assert ws.engine.end_turn(turn_end(said("two", message_id="m2", assistant="b"))).turn == second.turn
        with pytest.raises(NotFound):
            ws.engine.end_turn(turn_end(said("three", message_id="m3", assistant="c")))


def test_a_finished_turn_is_told_at_once(ws):
    ended = ws.engine.whole_turn(turn_end(said("item number 2", assistant="Yes."), whole=True))
    assert ended.turn
    assert ws.items.get("ltm_2").hits == 1  # nothing was put before the model
    assert ws.wal.counts() == {"files": 1, "turns": 1, "open": 0}


# -- working memory and restarts -----------------------------------------------------------------------------------


def test_the_window_and_the_queue_are_in_the_next_block_and_come_back_after_a_kill(workspace):
    ws = open_workspace(workspace)
    begun = begin(ws, "where is the key?")
    end(ws, begun.turn, "In the drawer.", pending_actions=["buy a new lock"])
    block = begin(ws, "and then?").block
    assert "- user: where is the key?\n  assistant: In the drawer." in block
    assert "- buy a new lock" in block
    kill(ws)
    with open_workspace(workspace) as ws:
        begun = begin(ws, "once more")
        assert "- user: where is the key?\n  assistant: In the drawer." in begun.block
        assert begun.pending == ("buy a new lock",)
        end(ws, begun.turn, done_actions=["buy a new lock"])
        assert begin(ws, "now").pending == ()


def test_each_session_has_its_own_window(ws):
    end(ws, begin(ws, "a secret of this chat").turn)
    other = ws.engine.begin_turn(turn_input({"session_key": "telegram:77", "text": "hello"}))
    assert "a secret of this chat" not in other.block


def test_an_unfinished_turn_is_recovered_and_taken_back(workspace):
    ws = open_workspace(workspace)
    begin(ws, "please send the report")
    kill(ws)
    with open_workspace(workspace) as ws:
        (turn,) = ws.wal.check()
        assert turn.user == "please send the report"
        operation = ws.traces.pending.recover(ws.wal.check(), ws.perform)
        assert ws.wal.check() == []
        assert ws.wal.counts()["open"] == 0
        assert operation.label == "recover 1 unfinished turn"
        begun = begin(ws, "hello again")
        assert "please send the report" in begun.pending[0]
        end(ws, begun.turn, done_actions=["please send the report"])
        assert begin(ws, "and?").pending == ()
    with open_workspace(workspace) as ws:
        with pytest.raises(NanomemError):
            ws.undo()  # it was answered since
        assert [turn.user for turn in ws.wal.check()] == ["and?"], "what was answered stays recovered"
        assert [turn.user for turn in ws.wal.recovered()] == ["please send the report"]


def test_an_undone_recovery_shows_the_turn_again(workspace):
    ws = open_workspace(workspace)
    begin(ws, "please send the report")
    kill(ws)
    with open_workspace(workspace) as ws:
        ws.traces.pending.recover(ws.wal.check(), ws.perform)
    with open_workspace(workspace) as ws:
        ws.undo()
        assert len(ws.wal.check()) == 1
        ws.redo()
        assert ws.wal.check() == []


# -- transcripts ---------------------------------------------------------------------------------------------------


def test_a_transcript_is_kept_only_where_the_agent_keeps_none(tmp_path):
    workspace = tmp_path / "bare"
    (workspace / "memory").mkdir(parents=True)
    with open_workspace(workspace) as ws:
        begun = begin(ws, "hello")
        end(ws, begun.turn, "hi", tools=[{"name": "look", "arguments": "{}", "result": "ok"}])
    with open_workspace(workspace) as ws:
        (info,) = ws.sessions.list()
        roles = [message.role for message in ws.sessions.get(info.key).messages]
        assert (info.key, roles) == ("telegram:42", ["user", "assistant", "tool", "assistant"])
        assert info.hidden_reason == ""


def test_an_agents_own_transcripts_are_never_touched(sample_copy):
    workspace = sample_copy("nb035") / "home" / ".nanobot" / "workspace"
    with open_workspace(workspace) as ws:
        folder = ws.layout.sessions_dir
        assert folder is not None
        before = files(folder)
        key = ws.sessions.list()[0].key
        begun = ws.engine.begin_turn(turn_input({"session_key": key, "text": "hello"}))
        end(ws, begun.turn)
        assert ws.traces.sessions is None
        assert files(folder) == before
        assert not (ws.paths.data / "sessions").exists()


# -- counters ------------------------------------------------------------------------------------------------------


def test_counters_outlive_a_kill(workspace):
    ws = open_workspace(workspace)
    end(ws, begin(ws).turn)
    end(ws, begin(ws, "zzz qqq").turn)
    kill(ws)
    with open_workspace(workspace) as ws:
        found = ws.traces.counters.read()
    assert (found["turns_begun"], found["turns_ended"]) == (2, 2)
    assert (found["memory_recall_hit"], found["memory_recall_miss"]) == (1, 1)
    assert found["memory_prompt_chars"] > 0
    with open_workspace(workspace) as ws:
        assert ws.traces.counters.read()["checkpoints"] == 0
        ws.items.add("x marks the spot")
    with open_workspace(workspace) as ws:
        found = ws.traces.counters.read()
        assert (found["checkpoints"], found["checkpoint_operations"]) == (1, 1)
        assert ws.status()["counters"] == found


# -- the first turn ------------------------------------------------------------------------------------------------


def test_the_first_turn_takes_over_what_was_written_before(workspace):
    (workspace / "memory" / "MEMORY.md").write_text("# Memory\n\n- The boat is called Albatross.\n")
    with open_workspace(workspace) as ws:
        ws.engine.preview(turn_input(said("boat")))
        assert ws.items.count()["total"] == 4
        begun = begin(ws, "what is the boat called?")
        assert any("Albatross" in hit.item.text for hit in begun.hits)
        total = ws.items.count()["total"]
    with open_workspace(workspace) as ws:
        begin(ws, "what is the boat called?")
        assert ws.items.count()["total"] == total


def test_an_agents_release_stays_what_it_is_beside_our_session_state(sample_copy):
    workspace = sample_copy("nb035") / "home" / ".nanobot" / "workspace"
    with open_workspace(workspace) as ws:
        release = ws.layout.release
        begin(ws, "hello there")
    with open_workspace(workspace) as ws:
        assert (ws.layout.release, (workspace / "memory" / "session-state").is_dir()) == (release, True)


def test_a_turn_takes_expired_items_away_at_most_once_an_hour(workspace):
    with open_workspace(workspace) as ws:
        (saved,) = turn(ws, "Remember that I prefer window seats").saved
        assert saved.item.expires_at
    after = clock.parse(saved.item.expires_at)
    with open_workspace(workspace) as ws, clock.at(after + timedelta(days=1)):
        turn(ws, "hello there")
        assert ws.store.load("item").items[saved.item.id].is_deleted
        assert "items.expire" in {entry.operation.kind for entry in ws.log()}
        (other,) = turn(ws, "Remember that my dog is called Rex").saved
    with open_workspace(workspace) as ws, clock.at(after + timedelta(days=1, minutes=30)):
        assert not ws.items.get(other.item.id).is_deleted


def test_a_step_after_the_operation_that_fails_is_a_problem_and_not_the_end_of_the_turn(ws, workspace, monkeypatch):
    begun = begin(ws, "Remember that I prefer window seats")
    state = workspace / "memory" / "session-state"
    shutil.rmtree(state)
    state.write_text("in the way")
    ended = end(ws, begun.turn)
    assert ended.saved
    assert any("session state" in problem.what for problem in ws.problems())
