"""Several turns open in one chat, in one process and in several: each answer belongs to its own question."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.agents.turn_log import dump_header, dump_post, dump_pre, parse_wal
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.memory import retention
from nanomem_tui.memory.turns import turn_operation
from nanomem_tui.memory.turns.request import turn_end, turn_input
from tests.memory.turns import begin, end, state_file
from tests.store.homes import kill, make_home

SHARES_A_HOME = True

AT = "2026-03-01T10:00:00+00:00"
NUMBERS = count()


def pairs(ws, key="telegram:42"):
    """Questions and answers as the turn log pairs them."""
    return [(turn.pre.get("user", ""), turn.assistant) for turn in ws.wal.get(key).turns]


def recover(ws):
    return turn_operation.recover(ws.wal.check(), ws.wal.get, ws.traces.pending, ws.store, ws.settings, ws.perform)


def test_two_open_turns_of_a_chat_keep_their_own_answers(workspace):
    with open_workspace(workspace) as ws:
        figs, noon = begin(ws, "Remember that I like figs", at=AT), begin(ws, "what time is it?", at=AT)
        end(ws, figs.turn, "noted figs")
        end(ws, noon.turn, "noon")
        told = [("Remember that I like figs", "noted figs"), ("what time is it?", "noon")]
        assert pairs(ws) == told
        assert (ws.wal.check(), ws.wal.problems()) == ([], [])
        assert [(one.user, one.assistant) for one in begin(ws, "and now?").working] == told, "in the process itself"
    with open_workspace(workspace) as ws:
        shown = begin(ws, "and after a restart?")
        assert [(one.user, one.assistant) for one in shown.working] == told
        assert "- user: what time is it?\n  assistant: noon" in shown.block


def orders(draw):
    turns = draw(st.integers(1, 5))
    ends = [draw(st.sampled_from(["end", "decline", "never"])) for _ in range(turns)]
    events = [(what, number) for number, last in enumerate(ends) for what in ("begin", last) if what != "never"]
    shuffled = draw(st.permutations(events))
    places = {}
    for what, number in events:
        places.setdefault(number, []).append(what)
    return [(places[number].pop(0), number) for _, number in shuffled]  # a turn begins before it ends


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One home for all examples, each of which has a chat of its own."""
    return make_home(tmp_path_factory.mktemp("shared"))


@pytest.mark.slow
@given(st.composite(orders)())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_begins_and_ends_is_read_back(shared, order):
    key = f"telegram:{next(NUMBERS)}"
    turns = {}
    ended = set()
    declined = set()
    with open_workspace(shared) as ws:
        for what, number in order:
            if what == "begin":
                body = {"session_key": key, "text": f"question {number}", "at": AT}
                turns[number] = ws.engine.begin_turn(turn_input(body)).turn
            else:
                body = {"turn": turns[number], "assistant": f"answer {number}", "declined": what == "decline"}
                ws.engine.end_turn(turn_end(body))
                (declined if what == "decline" else ended).add(number)
        kill(ws)
    with open_workspace(shared) as ws:
        found = {turn.id: turn for state in ws.wal.list() for turn in ws.wal.get(state.session_key).turns}
        for number, turn in turns.items():
            if number in declined:
                assert turn not in found or found[turn].declined
            else:
                answer = f"answer {number}" if number in ended else None
                assert (found[turn].pre["user"], found[turn].assistant) == (f"question {number}", answer)
        lost = {turn.user for turn in ws.wal.check() if turn.session_key == key}
        assert lost == {f"question {number}" for number in turns if number not in ended | declined}
        assert ws.wal.problems() == []
        shown = ws.engine.preview(turn_input({"session_key": key, "text": "and?"})).working
        assert {(one.user, one.assistant) for one in shown} == {(f"question {n}", f"answer {n}") for n in ended}


class Served:
    """A real `turn serve`."""

    def __init__(self, workspace):
        line = [sys.executable, "-m", "nanomem_tui", "turn", "serve", "--workspace", str(workspace)]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))

    def send(self, **body):
        self.process.stdin.write(json.dumps(body).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        return dict(json.loads(self.process.stdout.readline()))

    def ask(self, **body):
        self.send(**body)
        return self.answer()


@contextmanager
def served(workspace, many=2):
    """Several processes that serve one workspace, and that all stop well."""
    with ExitStack() as processes:
        agents = [Served(workspace) for _ in range(many)]
        for agent in agents:
            processes.enter_context(agent.process)
            processes.callback(agent.process.kill)
        yield agents
        for agent in agents:
            agent.ask(do="stop")
            assert agent.process.wait() == 0


@pytest.mark.slow
def test_three_processes_in_one_chat(workspace):
    with served(workspace, 3) as agents:
        for number in range(4):
            key = "telegram:42" if number % 2 else ""
            asked = [
                agent.ask(do="begin", session_key=key or f"telegram:own{place}", text=f"question {place}-{number}")
                for place, agent in enumerate(agents)
            ]
            for place in (1, 0, 2):
                answer = agents[place].ask(do="end", turn=asked[place]["turn"], assistant=f"answer {place}-{number}")
                assert "error" not in answer
    with open_workspace(workspace) as ws:
        assert (ws.wal.check(), ws.wal.problems()) == ([], [])
        assert ws.wal.counts() == {"files": 4, "turns": 12, "open": 0}
        for info in ws.wal.list():
            for question, answer in pairs(ws, info.session_key):
                assert answer == question.replace("question", "answer")
        assert not [problem for problem in ws.doctor() if "question" in problem.what or "never ended" in problem.what]


@pytest.mark.slow
def test_a_turn_that_another_process_closed_cannot_be_ended_again(workspace):
    closings = {"has ended": {"assistant": "Noted."}, "was declined": {"declined": True}}
    turns = {}
    with served(workspace) as (one, two):
        for said, closing in closings.items():
            who = {"session_key": f"telegram:{len(turns)}", "sender_id": "ana"}
            turn = turns[said] = one.ask(do="begin", text=f"I prefer tea number {len(turns)} in the morning.", **who)[
                "turn"
            ]
            one.ask(do="begin", text="another question", **who)
            assert "error" not in two.ask(do="end", turn=turn, **closing)
            for agent in (one, two, one):
                for again in ({"assistant": "Noted again."}, {"declined": True}):
                    assert f"that turn {said}" in str(agent.ask(do="end", turn=turn, **again)["error"])
    with open_workspace(workspace) as ws:
        kept = [item for item in ws.items.all() if "I prefer tea" in item.text]
        assert [("number 0" in item.text, item.hits, item.enabled) for item in kept] == [(True, 1, True)]
        for number, turn in enumerate(turns.values()):
            state = workspace / "memory" / "session-state" / f"telegram_{number}.md"
            assert state.read_text().count(f"- turn: {turn}\n") == 2, "its beginning, and one end"
        assert ws.wal.problems() == []
        assert [ws.traces.counters.read()[f"turns_{end}"] for end in ("ended", "declined")] == [1, 1]


@pytest.mark.slow
def test_of_two_processes_that_end_one_turn_at_once_one_does(workspace):
    with served(workspace) as agents:
        begun = [
            agents[number % 2].ask(do="begin", session_key=f"cli:{number}", text="hi")["turn"] for number in range(6)
        ]
        for turn in begun:
            for agent in agents:
                agent.send(do="end", turn=turn, assistant="yes")
            assert sorted("error" in agent.answer() for agent in agents) == [False, True]
    with open_workspace(workspace) as ws:
        assert ws.traces.counters.read()["turns_ended"] == len(begun)
        assert ws.wal.problems() == []


@pytest.mark.parametrize("lost", ["the injection log", "the session state"])
def test_either_of_the_logs_that_processes_share_tells_that_a_turn_has_ended(workspace, lost):
    with open_workspace(workspace) as ws:
        turn = begin(ws, "I prefer green tea in the morning.").turn
        with open_workspace(workspace) as other:
            end(other, turn)
        if lost == "the session state":
            (workspace / "memory" / "session-state" / "telegram_42.md").unlink()
        else:  # as when its oldest half is gone
            (log,) = (workspace.parent / "nanomem" / "injections").glob("*.jsonl")
            log.write_text("")
        with pytest.raises(NothingToDo, match="that turn has ended"):
            end(ws, turn)


def test_an_answer_of_another_release_goes_by_its_place():
    head = dump_header("a:b", "a", "b")
    ours, theirs = dump_pre("t", {"user": "ours"}, "turn_1"), dump_pre("u", {"user": "theirs"})

    def read(*blocks):
        state = parse_wal(head + b"".join(blocks), "w.md")
        return [(turn.pre.get("user", ""), turn.assistant) for turn in state.turns], len(state.problems)

    assert read(theirs, ours, dump_post("v", "b"), dump_post("v", "a", turn="turn_1")) == (
        [("theirs", "b"), ("ours", "a")], 0,
    )  # fmt: skip
    assert read(ours, dump_post("v", "a")) == ([("ours", "a")], 0), "begun by this release, ended by an old one"
    assert read(theirs, dump_post("v", "b", turn="turn_2")) == ([("theirs", "b")], 0), "and the other way round"
    assert read(ours, dump_post("v", "x", turn="turn_9")) == ([("ours", None), ("", "x")], 1)


# -- what is recovered ---------------------------------------------------------------------------------------------


def test_a_recovered_turn_that_ends_after_all_waits_no_more(ws):
    late, lost = begin(ws, "send the report", at=AT), begin(ws, "call Ben", at=AT)
    recover(ws)
    assert {item.turn for item in ws.traces.pending.waiting_in("telegram:42")} == {late.turn, lost.turn}
    end(ws, late.turn, "Sent.")
    assert [item.text for item in ws.traces.pending.waiting_in("telegram:42")] == ["call Ben"]
    assert [turn.user for turn in ws.wal.recovered()] == ["call Ben"]


@pytest.mark.parametrize("secret", ["hunter2hunter2", "correct-Horse7"])
def test_a_secret_that_was_to_be_remembered_is_held_as_in_any_turn(workspace, secret):
    text = f"Remember that my password is {secret}"
    ws = open_workspace(workspace)
    (usual,) = end(ws, begin(ws, text, session_key="telegram:7").turn).quarantined
    begin(ws, text)
    assert secret not in state_file(workspace)
    kill(ws)
    with open_workspace(workspace) as ws:
        done = recover(ws)
        assert done.captured == ()
        assert [item.text for item in done.held] == [usual.item.text]
        assert all(item.waits for item in done.held)
        assert not any("password" in row.text for row in ws.items.all() if row.enabled)


def test_lines_are_kept_and_what_was_cut_off_is_held(workspace):
    ws = open_workspace(workspace)
    begin(ws, "Hello.\n\nRemember that my boat lies in Kiel\nIt rains today", at=AT)
    begin(ws, "word " * 60 + "\nRemember that the keys are " + "under the mat " * 20)
    kill(ws)
    with open_workspace(workspace) as ws:
        assert pairs(ws)[0][0] == "Hello.\n\nRemember that my boat lies in Kiel\nIt rains today"
        done = recover(ws)
        assert [item.text for item in done.captured] == ["my boat lies in Kiel"]
        assert done.captured[0].created_at == AT
        assert all("under the mat" in item.text for item in done.held)
        assert (
            "boat lies in Kiel It rains" not in ws.engine.preview(turn_input({"session_key": "x:1", "text": "b"})).block
        )


@given(st.text(st.sampled_from("ab \n\r"), max_size=30), st.booleans())
def test_the_lines_of_a_message_come_back(text, long):
    said = text + "x\ny" * 200 * long
    (turn,) = parse_wal(dump_header("a:b", "a", "b") + dump_pre("t", {"user": said}), "w.md").turns
    told = "\n".join(said.splitlines()) if "\n" in said or "\r" in said else said
    wanted = told.strip() if "\n" in said or "\r" in said else told
    assert turn.pre["user"] == (f"{wanted[:400]}..." if len(wanted) > 400 else wanted.rstrip("\n"))
    assert dump_pre("t", turn.pre) == dump_pre("t", {"user": said})


# -- the time of a turn --------------------------------------------------------------------------------------------


def test_a_replayed_turn_is_dated_by_its_own_time(ws):
    old = "2020-01-01T10:00:00+00:00"
    (saved,) = end(ws, begin(ws, "Remember that I like figs", at="2020-01-01T10:00:00Z").turn).saved
    assert (saved.item.created_at, saved.item.updated_at) == (old, old)
    moment = clock.parse(old)
    assert moment is not None
    assert saved.item.expires_at == retention.expires_at(saved.item.kind, moment, ws.settings)
    (again,) = end(ws, begin(ws, "Remember that I drink tea", at="2100-01-01T10:00:00Z").turn).saved
    assert again.item.created_at <= clock.iso(clock.now()), "nothing is remembered of the future"
    (twice,) = end(ws, begin(ws, "Remember that I drink tea", at="2020-01-01T10:00:00Z").turn).saved
    assert twice.item.updated_at == again.item.updated_at, "what is known since does not grow older"
