"""`kill -9` at any point of a turn: what was acknowledged is there, what was under way is there whole or not at all."""

from __future__ import annotations

import shutil

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.turns.request import turn_end, turn_input
from tests.crash.harness import Action, Steps, check, looks_of, run_in_child
from tests.crash.test_kill import WHERE, copied, prepared

CHAT = {"session_key": "telegram:42", "sender_id": "ana"}


def whole(text, *tools):
    """A finished turn."""
    body = {**CHAT, "text": text, "assistant": "Sure.", "tools": list(tools)}
    return lambda ws: ws.engine.whole_turn(turn_end(body, whole=True))


def both(text, assistant):
    """A turn from its begin to its end."""

    def work(ws):
        begun = ws.engine.begin_turn(turn_input({**CHAT, "text": text}))
        ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": assistant, "pending_actions": ["look"]}))

    return work


def script(rounds):
    """Turns that save, use, learn and use again, and a flush in between."""
    actions: list[Action] = []
    for number in range(rounds):
        actions += [
            whole(f"Remember that I like the number {number}"),
            both("item number 2", "Here."),
            whole("open it", {"name": "read_file", "result": f"error: part{number} not found"}),
            lambda ws: ws.flush(),
        ]
    return [*actions, lambda ws: ws.close()]


def sweep(tmp_path, rounds, every):
    """Kill at every n-th step; returns how many kills there were."""
    actions = script(rounds)
    saved = prepared(tmp_path / "saved", adopted=True)
    seen = looks_of(copied(saved, tmp_path, "model"), actions)
    _, total = run_in_child(copied(saved, tmp_path, "count"), actions, Steps())
    kills = 0
    for place in range(1, total + 1, every):
        for where in [WHERE[(place // every) % 3]] if every > 1 else WHERE:
            workspace = copied(saved, tmp_path, "trial")
            acknowledged, finished = run_in_child(workspace, actions, Steps(at=place, where=where))
            try:
                check(workspace, seen, acknowledged)
                check_traces(workspace, min(acknowledged, 4 * rounds))
            except AssertionError as error:
                raise AssertionError(f"killed {where} step {place} of {total}") from error
            kills += not finished
            shutil.rmtree(tmp_path / "trial")
    return kills


def check_traces(workspace, acknowledged):
    """Every acknowledged turn is in the session state with its end, and at most one that was under way is not."""
    turns = sum(number % 4 != 3 for number in range(acknowledged))
    with open_workspace(workspace) as ws:
        counts = ws.wal.counts()
        assert counts["turns"] - counts["open"] >= turns
        assert counts["turns"] <= turns + 1
        assert all(problem.severity != "error" for problem in ws.wal.problems()), "torn by the kill, and named"
        assert [info.session_key for info in ws.wal.list()] in ([], [CHAT["session_key"]])
        logged = ws.traces.injections.turns()
        assert sum(bool(turn.ended_at) for turn in logged) >= turns
        assert ws.traces.counters.read()["turns_ended"] >= turns
        if counts["open"]:
            ws.traces.pending.recover(ws.wal.check(), ws.perform)
            assert ws.wal.check() == []
        assert ws.engine.begin_turn(turn_input({**CHAT, "text": "item number 2"})).hits


@pytest.mark.crash
def test_a_kill_at_a_spread_of_steps_of_turns(tmp_path):
    assert sweep(tmp_path, 1, every=9) > 5


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.long
def test_a_kill_at_every_step_of_turns(tmp_path):
    assert sweep(tmp_path, 1, every=1) > 100
