"""Working memory: windows, queues, what comes back after a restart; and recovered turns that outlive the process."""

import json

import pytest

from nanomem_tui.agents.turn_log import dump_header, dump_post, dump_pre, parse_wal
from nanomem_tui.core.errors import Conflict, NothingToDo
from nanomem_tui.memory.safety import MAX_EXCHANGE
from nanomem_tui.memory.turns.prompt import MAX_SESSIONS, Exchange, WorkingMemory, from_state
from nanomem_tui.memory.turns.traces import OpenTurn, Pending, Recovered


def at(number):
    return f"2026-03-01T10:{number:02}:00+00:00"


def test_the_window_keeps_the_last_turns_of_each_session():
    memory = WorkingMemory(3, 20)
    for number in range(5):
        memory.began("a", at(number), "user", f"question {number}")
        memory.ended("a", at(number), f"answer {number}")
    memory.began("b", at(9), "user", "elsewhere")
    assert [(turn.user, turn.assistant) for turn in memory.turns("a")] == [
        (f"question {number}", f"answer {number}") for number in (2, 3, 4)
    ]
    assert memory.turns("b") == (Exchange(at(9), "user", "elsewhere"),)


def test_an_answer_goes_to_its_own_turn():
    memory = WorkingMemory(5, 5)
    memory.began("a", at(1), "user", "one")
    memory.began("a", at(2), "user", "two")
    memory.ended("a", at(1), "first")
    memory.ended("a", at(3), "late", "user", "three")
    assert [turn.assistant for turn in memory.turns("a")] == ["first", None, "late"]
    memory.forget("a", at(2))
    assert [turn.user for turn in memory.turns("a")] == ["one", "three"]


def test_the_queue_holds_each_item_once_and_no_more_than_its_limit():
    memory = WorkingMemory(1, 3)
    assert memory.add_pending("a", ["one", "two", "one", "", "three", "four"]) == ("two",)
    assert memory.pending("a") == ("one", "three", "four")
    memory.done("a", ["three", "unknown"])
    assert memory.pending("a") == ("one", "four")


def test_a_window_of_none_keeps_nothing():
    memory = WorkingMemory(0, 0, lambda key: ([Exchange(at(1), "user", "x", "y")], ["z"]))
    assert memory.add_pending("a", ["one"]) == ("one",)
    memory.began("a", at(2), "user", "x")
    memory.ended("a", at(2), "y")
    assert (memory.turns("a"), memory.pending("a")) == ((), ())


def test_long_texts_are_cut_and_put_on_one_line():
    memory = WorkingMemory(1, 1)
    memory.began("a", at(1), "user", "a\nb " + "x" * 10_000)
    assert len(memory.turns("a")[0].user) <= MAX_EXCHANGE + 3
    assert "\n" not in memory.turns("a")[0].user


def test_sessions_do_not_grow_without_end_and_come_back_filled():
    asked = []
    memory = WorkingMemory(2, 2, lambda key: (asked.append(key) or [Exchange(at(1), "user", key, "y")], []))
    for number in range(MAX_SESSIONS + 1):
        memory.turns(f"s{number}")
    assert len(asked) == MAX_SESSIONS + 1
    assert memory.turns("s0")[0].user == "s0"
    assert asked[-1] == "s0"


def test_what_the_state_file_holds_comes_back_after_a_restart():
    data = dump_header("a:1", "a", "1")
    for number in range(4):
        data += dump_pre(at(number), {"speaker": "user", "user": f"question {number}"})
        data += dump_post(at(number), f"answer {number}", [f"do {number}"])
    data += dump_pre(at(9), {"speaker": "user", "user": "cut off"})
    turns, pending = from_state(parse_wal(data, "a_1.md"), 2, 20)
    assert [(turn.user, turn.assistant) for turn in turns] == [("question 2", "answer 2"), ("question 3", "answer 3")]
    assert pending == ["do 2", "do 3"]
    assert from_state(parse_wal(data, "a_1.md"), 0, 20) == ([], [])


def test_what_was_told_as_done_does_not_come_back_in_the_order_in_which_turns_ended():
    data = dump_header("a:1", "a", "1")
    data += dump_pre(at(1), {"user": "one"}, "t1") + dump_pre(at(2), {"user": "two"}, "t2")
    data += dump_post(at(3), "second", ["call Ben", "call Ann", "again"], "t2")
    data += dump_post(at(4), "first", [], "t1", done_actions=[" call  BEN!", "again", "x\n  - y"])
    data += dump_pre(at(5), {"user": "three"}, "t3") + dump_post(at(6), "third", ["again"], "t3")
    state = parse_wal(data, "a_1.md")
    assert state.problems == ()
    assert state.turns[0].done_actions == ("call BEN!", "again", "x - y")
    assert from_state(state, 9, 20)[1] == ["call Ann", "again"]
    assert from_state(state, 2, 20)[1] == ["call Ann", "again"], "done in a turn that began before the window"


@pytest.mark.parametrize("line", ["", "{", '{"a": 1}', "null", "7", '["call Ben", 7]', "[" * 100_000])
def test_a_damaged_list_of_what_is_done_costs_no_pending_item_but_those_it_names(line):
    data = dump_header("a:1", "a", "1") + dump_pre(at(1), {"user": "one"}) + dump_post(at(2), "yes", ["call Ann"])
    data += dump_pre(at(3), {"user": "two"}) + f"### {at(4)} POST\n- assistant: ok\n- done_actions: {line}\n".encode()
    assert from_state(parse_wal(data, "a_1.md"), 9, 20)[1] == ["call Ann"]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ours" / "pending.json"


@pytest.fixture
def pending(file):
    return Pending(file)


def perform(pending):
    def do(operation):
        pending.check(operation.changes)
        pending.apply(operation, operation.changes)
        return operation

    return do


def open_turn(key, number):
    return OpenTurn(key, number, at(number), f"question {number}", 8)


def test_unfinished_turns_are_recovered_once_and_taken_back(pending, file):
    operation = pending.recover([open_turn("a:1", 2), open_turn("a:1", 1), open_turn("b:2", 3)], perform(pending))
    assert operation.label == "recover 3 unfinished turns"
    assert pending.waiting_in("a:1") == (Recovered(at(1), "question 1"), Recovered(at(2), "question 2"))
    assert Pending(file).all().keys() == {"a:1", "b:2"}
    with pytest.raises(NothingToDo):
        pending.recover([open_turn("a:1", 2)], perform(pending))
    pending.recover([open_turn("a:1", 2), open_turn("a:1", 5)], perform(pending))
    assert len(pending.waiting_in("a:1")) == 3
    with pytest.raises(Conflict):
        pending.check(operation.inverse())
    assert pending.begun(operation.changes)


def test_an_undo_leaves_nothing_behind(pending, file):
    operation = pending.recover([open_turn("a:1", 1)], perform(pending))
    pending.check(operation.inverse())
    pending.apply(operation, operation.inverse())
    assert pending.all() == {}
    assert json.loads(file.read_bytes()) == {}
