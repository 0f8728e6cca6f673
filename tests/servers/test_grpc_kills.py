"""Every rpc that changes something, each answered by a service that is killed at once: what was answered is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
import pytest

from nanomem_tui import open_workspace
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.servers.grpc.service import MemoryServiceStub
from tests.servers.grpc_serving import Process, in_thread

SERVICE = pb.DESCRIPTOR.services_by_name["MemoryService"]
AT = 1_771_000_000
ISO = "2026-02-13T16:26:40+00:00"


class Case(NamedTuple):
    """One call: what has to be there before, and how another process sees that it was done."""

    request: Any
    look: Callable[[MemoryClient], Any]
    seen: Any
    before: tuple[tuple[str, Any], ...] = ()


def recent(client):
    return [(one["data"], one["source"]) for one in client.get_recent_events(source="kernel")]


def records(tier, kind, *names):
    """These fields of the records of a kind that have the id "x", which agents' states have as their name."""

    def look(client):
        ask = client.query_working if tier == "working" else client.query_long_term
        return [tuple(one[name] for name in names) for one in ask(kind) if one["id"] == "x"]

    return look


def knowledge(client):
    return [one["metadata"]["title"] for one in client.search_knowledge("balancer", ["solution"])]


GOAL = pb.Goal(id="x", description="Back up", status="active", priority=0)
PATTERN = pb.Pattern(id="x", trigger="it is down", action="restart it")
PROCEDURE = pb.Procedure(id="x", name="restart", description="Restart it", steps_json=b"[1]", tags=["web"])
FOLLOWED = pb.Task(id="x", description="it is down", status="completed", procedure_id="x", duration_ms=5)
CASES = {
    "PushEvent": Case(
        pb.Event(category="event", source="kernel", data_json=b'{"n":1}'), recent, [({"n": 1}, "kernel")]),
    "PushEvent, critical": Case(
        pb.Event(category="event", source="kernel", data_json=b'{"n":1}', critical=True),
        lambda client: [recent(client), [one["data"] for one in client.query_working("event")]],
        [[({"n": 1}, "kernel")], [{"n": 1}]]),
    "UpdateMetric": Case(
        pb.MetricUpdate(key="queue", value=2.5, unit="jobs"),
        lambda client: {name: client.get_metric("queue")[name] for name in ("value", "unit")},
        {"value": 2.5, "unit": "jobs"}),
    "StoreGoal": Case(
        GOAL, records("working", "goal", "description", "status", "priority"), [("Back up", "active", 0)]),
    "UpdateGoal": Case(
        pb.GoalUpdate(id="x", status="failed", result="no room"),
        records("working", "goal", "status", "result"), [("failed", "no room")], (("StoreGoal", GOAL),)),
    "StoreTask": Case(
        pb.Task(id="x", goal_id="g", description="step", input_json=b"[1]", started_at=AT),
        records("working", "task", "goal_id", "description", "input", "started_at"), [("g", "step", [1], ISO)]),
    "StoreTask, of a procedure": Case(
        FOLLOWED, records("longterm", "procedure", "success_count", "avg_duration_ms"), [(1, 5)],
        (("StoreProcedure", PROCEDURE),)),
    "StoreToolCall": Case(
        pb.ToolCallRecord(id="x", tool_name="fs.read", input_json=b"{}", success=True, reason="check"),
        records("working", "tool-call", "tool_name", "success", "reason"), [("fs.read", True, "check")]),
    "StoreDecision": Case(
        pb.Decision(id="x", context="it is down", chosen="reload", reasoning="gentler", important=True),
        records("working", "decision", "chosen", "reasoning", "important"), [("reload", "gentler", True)]),
    "StorePattern": Case(
        PATTERN, records("working", "pattern", "trigger", "action", "uses"), [("it is down", "restart it", 0)]),
    "UpdatePatternStats": Case(
        pb.PatternStatsUpdate(id="x", success=False),
        records("working", "pattern", "uses", "success_rate"), [(1, 0.0)], (("StorePattern", PATTERN),)),
    "StoreAgentState": Case(
        pb.AgentState(agent_name="x", state_json=b'{"step":3}', updated_at=AT),
        lambda client: client.get_agent_state("x"), {"agent_name": "x", "state": {"step": 3}, "updated_at": ISO}),
    "StoreProcedure": Case(
        PROCEDURE, records("longterm", "procedure", "name", "steps", "tags"), [("restart", [1], ["web"])]),
    "StoreIncident": Case(
        pb.Incident(id="x", description="it was down", resolution="restarted", timestamp=AT),
        records("longterm", "incident", "description", "resolution", "timestamp"),
        [("it was down", "restarted", ISO)]),
    "StoreConfigChange": Case(
        pb.ConfigChange(id="x", file_path="/etc/hosts", content="::1 me", changed_by="agent"),
        records("longterm", "config-change", "file_path", "content", "changed_by"),
        [("/etc/hosts", "::1 me", "agent")]),
    "AddKnowledge": Case(
        pb.KnowledgeEntry(title="Proxy", content="# Proxy\n\nAsk the platform team about the balancer.\n"),
        knowledge, ["Proxy"]),
}  # fmt: skip


def test_no_rpc_that_changes_something_is_left_out():
    """What changes answers `Empty`, and nothing else does: a new rpc stands in one of both lists."""
    reads = """GetRecentEvents GetMetric GetSystemSnapshot GetActiveGoals GetTasksForGoal FindPattern GetAgentState
    QueryWorking SemanticSearch QueryLongTerm SearchKnowledge AssembleContext""".split()
    changing = {method.name for method in SERVICE.methods if method.output_type.name == "Empty"}
    assert {name.partition(",")[0] for name in CASES} == changing
    assert sorted((*changing, *reads)) == sorted(method.name for method in SERVICE.methods)


@pytest.mark.slow
@pytest.mark.parametrize("used", [False, True], ids=["the first write", "among others"])
@pytest.mark.parametrize("name", CASES)
def test_what_was_answered_is_there_though_the_service_was_killed_at_once(short, name, used):
    place = short / "home" / "workspace"
    place.mkdir(parents=True)
    case = CASES[name]
    others = (("StoreGoal", pb.Goal(id="other", description="of another")),
              ("PushEvent", pb.Event(category="event", source="another", data_json=b"{}"))) if used else ()  # fmt: skip
    with Process(place) as process:
        process.began()
        with grpc.insecure_channel(server.socket_address(place / "memory" / "nanomem" / "grpc.sock")) as channel:
            stub = MemoryServiceStub(channel)
            for rpc, request in (*others, *case.before):
                getattr(stub, rpc)(request, timeout=60)
            getattr(stub, name.partition(",")[0])(case.request, timeout=60)
            process.popen.kill()
        process.popen.wait()
    with open_workspace(place) as ws, in_thread(ws, short / "s") as served, served.client() as client:
        assert case.look(client) == case.seen
        assert [goal["id"] for goal in client.query_working("goal", where={"description": "of another"})] == (
            ["other"] if used else []
        )
