"""What is superseded or switched off is told by no call of a service, no tool and no file that an agent reads."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc.service import MemoryServiceStub
from nanomem_tui.servers.tools import TOOLS, Tools
from tests.memory.senses import Senses, meaning_of
from tests.memory.turns import begin, end, settle
from tests.store.homes import Agent, make_home

OLD, NEW, OFF = "User lives in Berlin", "User lives in Munich", "User lives in a house in Graz"
ASKED = "does the user live in Berlin, Munich or a house in Graz"
KINDS = "goal task tool-call agent-state decision pattern procedure incident config-change".split()
ANSWERS: dict[str, Callable[[MemoryServiceStub], object]] = {
    "GetRecentEvents": lambda stub: stub.GetRecentEvents(pb.GetRecentRequest()),
    "GetMetric": lambda stub: stub.GetMetric(pb.MetricRequest(key="homes")),
    "GetSystemSnapshot": lambda stub: stub.GetSystemSnapshot(pb.Empty()),
    "GetActiveGoals": lambda stub: stub.GetActiveGoals(pb.ActiveGoalsRequest()),
    "GetTasksForGoal": lambda stub: stub.GetTasksForGoal(pb.GoalIdRequest(goal_id="g")),
    "FindPattern": lambda stub: stub.FindPattern(pb.PatternQuery(trigger=ASKED)),
    "GetAgentState": lambda stub: stub.GetAgentState(pb.AgentStateRequest(agent_name="a")),
    "QueryWorking": lambda stub: [stub.QueryWorking(pb.QueryRequest(kind=kind)) for kind in KINDS[:4]],
    "QueryLongTerm": lambda stub: [stub.QueryLongTerm(pb.QueryRequest(kind=kind)) for kind in KINDS[4:]],
    "SemanticSearch": lambda stub: stub.SemanticSearch(pb.SearchRequest(query=ASKED, n_results=50)),
    "SearchKnowledge": lambda stub: stub.SearchKnowledge(pb.SearchRequest(query=ASKED, n_results=50)),
    "AssembleContext": lambda stub: stub.AssembleContext(pb.ContextRequest(task_description=ASKED, max_tokens=4_000)),
}
"""How each call that answers with what is remembered is asked; all others only write."""
GIVEN = {"memory_search": "query", "recall": "query", "context": "task", "knowledge_search": "query"}
"""What each tool that reads is asked with."""


def settled(ws):
    """A home that another superseded, and one that is switched off."""
    for text in (OLD, NEW):
        ws.items.add(text)
    ws.conflicts.supersede(ws.conflicts.all())
    _, off, _ = ws.items.add(OFF)
    ws.items.set_enabled([off.id], enabled=False)
    ws.flush()


def given(ws):
    """What recall puts before the model for the question; not what was said before in the chat."""
    return " ".join(hit.item.text for hit in begin(ws, ASKED).hits)


def is_silent(told):
    return "Berlin" not in str(told).replace(ASKED, "") and "Graz" not in str(told).replace(ASKED, "")


def test_every_call_of_the_service_that_answers_is_asked_here():
    calls = pb.DESCRIPTOR.services_by_name["MemoryService"].methods_by_name
    writing = {name for name, call in calls.items() if call.output_type.name == "Empty"}
    assert set(ANSWERS) == set(calls) - writing


@pytest.mark.parametrize("name", ANSWERS)
def test_no_call_of_the_service_tells_it(served, stub, name):
    settled(served.ws)
    stub.StoreGoal(pb.Goal(id="g", description="find a flat"))
    stub.UpdateMetric(pb.MetricUpdate(key="homes", value=2))
    stub.StoreAgentState(pb.AgentState(agent_name="a", state_json=b"{}"))
    told = ANSWERS[name](stub)
    assert is_silent(told)
    if name == "AssembleContext":
        assert "Munich" in str(told)


def test_every_tool_that_reads_is_asked_here():
    assert set(GIVEN) == {tool.name for tool in TOOLS if not tool.writes}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("whose", [Audience(), Audience("telegram", "42")], ids=["the owner", "a chat"])
def test_no_tool_tells_it(tmp_path, name, whose):
    with open_workspace(make_home(tmp_path)) as ws:
        settled(ws)
        tools = Tools(ws, whose)
        if name in {tool.name for tool in tools.listed}:
            assert is_silent(tools.call(name, {GIVEN[name]: ASKED}))


@pytest.mark.usefixtures("recall_as_set")
def test_nothing_near_in_meaning_tells_it(tmp_path):
    home = make_home(tmp_path, items=0)
    settle(home, recall_backend="hybrid", recall_max_results=1)
    with open_workspace(home) as ws:
        ws.__dict__["meaning"] = meaning_of(ws, Senses())
        settled(ws)
        begun = begin(ws, "a flat to live in, a house or a home?")
        assert "Munich" in begun.block
        assert is_silent(begun.block)
        assert is_silent(Tools(ws, Audience()).call("memory_search", {"query": "which house is home"}))


def test_the_agents_files_leave_it_out_and_its_next_flush_does_not_bring_it_back(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add(OLD)
        ws.flush()
    agent = Agent(workspace)
    assert OLD in {row["text"] for row in agent.items.values()}
    with open_workspace(workspace) as ws:
        ws.items.add(NEW)
        ws.conflicts.supersede(ws.conflicts.all())
    assert is_silent((workspace / "memory" / "LTM_SNAPSHOT.json").read_text("utf-8"))
    for _ in range(2):
        agent.flush()  # what it still has in RAM
        with open_workspace(workspace) as ws:
            states = {row.text: row.enabled for row in ws.items.all()}
            assert (states[OLD], states[NEW]) == (False, True)
            assert is_silent(given(ws))
            ws.items.set_pinned(["ltm_1"], pinned=not ws.items.get("ltm_1").pinned)
        assert is_silent((workspace / "memory" / "LTM_SNAPSHOT.json").read_text("utf-8"))


def test_imported_again_it_stays_as_the_person_decided(tmp_path):
    workspace = make_home(tmp_path)
    rows = [{"id": "ltm_90", "text": OLD, "source": "explicit_user", "created_at": "2026-01-01T00:00:00", "hits": 3}]
    old = tmp_path / "LTM_SNAPSHOT.json"
    old.write_text(json.dumps({"version": 1, "items": rows}), "utf-8")
    with open_workspace(workspace) as ws:
        settled(ws)
        plan = ws.transfer.preview(old)
        assert plan.counts["new"] == 0
        with contextlib.suppress(NothingToDo):
            ws.transfer.run(plan)
        assert [row.enabled for row in ws.items.all() if row.text == OLD] == [False]
        assert is_silent(given(ws))


def test_wished_for_again_it_stands_and_a_person_is_asked_again(tmp_path):
    """Somebody may move back: what a person wants remembered is no mistake, but both cannot be so."""
    with open_workspace(make_home(tmp_path)) as ws:
        settled(ws)
        assert ws.conflicts.all() == []
        end(ws, begin(ws, f"Remember: {OLD}").turn)
        (pair,) = ws.conflicts.all()
        assert {row.text for row in (pair.older, pair.newer)} == {OLD, NEW}
