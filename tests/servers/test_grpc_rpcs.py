"""Every rpc of the memory service, by our own client over a real connection."""

from datetime import UTC, datetime

import grpc
import pytest

from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.vectors import embedders
from tests.servers.grpc_serving import TOKEN
from tests.vectors.fakes import Words

# -- operational memory -----------------------------------------------------------------------------------------------


def test_what_was_pushed_is_recent_newest_first(memory):
    memory.push_event("event", {"path": "/etc/hosts", "who": "名前"}, "watcher")
    memory.push_event("tool_result", {"tool": "fs.read", "output": [1, 2.5, None]}, "agent-1")
    newest, oldest = memory.get_recent_events()
    assert (newest["category"], newest["source"], newest["data"]["tool"]) == ("tool_result", "agent-1", "fs.read")
    assert oldest["data"] == {"path": "/etc/hosts", "who": "名前"}
    assert oldest["at"] <= newest["at"] <= datetime.now(UTC).isoformat()


def test_recent_events_are_narrowed_by_count_category_and_source(memory):
    for number in range(5):
        memory.push_event("event", {"number": number}, f"agent-{number % 2}")
    memory.push_event("task", {"id": "t", "status": "active"}, "agent-0")
    assert [one["data"]["number"] for one in memory.get_recent_events(2, category="event")] == [4, 3]
    assert [one["data"].get("number") for one in memory.get_recent_events(source="agent-0")] == [None, 4, 2, 0]
    assert memory.get_recent_events(since=datetime(2100, 1, 1, tzinfo=UTC)) == []


def test_a_category_of_an_agents_own_is_an_event_of_that_type(served, memory):
    memory.push_event("security.scan_complete", {"ports": 3}, "scanner")
    memory.push_event("agent.note", {"type": "mine"}, "scanner")
    memory.push_event("agent.note", "plain", "scanner")
    (found,) = memory.get_recent_events(category="security.scan_complete")
    assert (found["category"], found["data"]) == ("event", {"type": "security.scan_complete", "ports": 3})
    notes = [one["data"] for one in memory.get_recent_events(category="agent.note")]
    assert notes == [{"type": "agent.note", "data": "plain"}, {"type": "agent.note", "data": {"type": "mine"}}]
    assert memory.get_recent_events(category="nothing") == []
    assert [one.fields["critical"] for one in served.ws.records.list_records("event")] == [True], (
        "security is kept at once"
    )


def test_a_critical_event_is_in_working_memory_when_it_was_answered(served, memory):
    memory.push_event("event", {"error": "disk failed"}, "kernel", critical=True)
    assert [one.fields["data"] for one in served.ws.records.list_records("event")] == [{"error": "disk failed"}]
    assert memory.query_working("event", where={"critical": True})[0]["source"] == "kernel"


def test_the_newest_value_of_a_metric(memory):
    memory.update_metric("cpu.percent", 12.5, unit="%")
    memory.update_metric("cpu.percent", 99.25, unit="%", source="probe")
    found = memory.get_metric("cpu.percent")
    assert (found["name"], found["value"], found["unit"]) == ("cpu.percent", 99.25, "%")
    with pytest.raises(NotFound, match="no such metric"):
        memory.get_metric("cpu.temperature")


def test_a_metric_that_was_pushed_as_an_event_is_one(memory):
    memory.push_event("metric", {"name": "queue", "value": 3})
    assert memory.get_metric("queue")["value"] == 3.0


def test_the_snapshot_says_what_was_measured(memory, stub):
    memory.update_metric("cpu.percent", 7.5)
    memory.push_event("task", {"id": "t1", "status": "in_progress"})
    assert memory.get_system_snapshot()["cpu_percent"] == 7.5
    found = stub.GetSystemSnapshot(pb.Empty())
    assert (found.cpu_percent, found.active_tasks, found.gpu_utilization) == (7.5, 1, 0.0)


def test_the_names_of_metrics_of_aios_fill_the_snapshot(stub):
    for key, value in (("cpu.usage", 40.0), ("memory.used_mb", 2048.0), ("disk.total_gb", 500.0)):
        stub.UpdateMetric(pb.MetricUpdate(key=key, value=value))
    found = stub.GetSystemSnapshot(pb.Empty())
    assert (found.cpu_percent, found.memory_used_mb, found.disk_total_gb) == (40.0, 2048.0, 500.0)


def test_the_snapshot_names_the_embedding_model_once_it_was_used(memory, stub, monkeypatch):
    monkeypatch.setattr(embedders, "embedder_of", lambda *_: Words("words of a test"))
    memory.store_incident("the cat is ill")
    assert list(stub.GetSystemSnapshot(pb.Empty()).loaded_models) == []
    memory.semantic_search("cat")
    assert list(stub.GetSystemSnapshot(pb.Empty()).loaded_models) == ["words of a test"]


# -- working memory ---------------------------------------------------------------------------------------------------


def test_a_goal_is_kept_with_all_its_fields(memory):
    at = datetime(2026, 2, 14, 9, 30, tzinfo=UTC)
    kept = memory.store_goal("Renew certificates", id="g1", status="active", priority=1, created_at=at,
                             metadata={"domain": "例え.jp", "days": [1, 2]})  # fmt: skip
    assert kept == "g1"
    (goal,) = memory.get_active_goals()
    assert goal == {
        "id": "g1", "description": "Renew certificates", "status": "active", "priority": 1,
        "created_at": "2026-02-14T09:30:00+00:00", "completed_at": None, "result": None,
        "metadata": {"domain": "例え.jp", "days": [1, 2]},
    }  # fmt: skip


def test_a_goal_without_an_id_gets_one_that_the_client_is_told(memory):
    made = memory.store_goal("Back up")
    assert made
    assert [goal["id"] for goal in memory.get_active_goals()] == [made]


def test_a_goal_that_ends_is_active_no_longer(memory):
    goal = memory.store_goal("Back up")
    memory.update_goal(goal, "completed", "two copies")
    assert memory.get_active_goals() == []
    (found,) = memory.query_working("goal", where={"status": "completed"})
    assert (found["result"], bool(found["completed_at"])) == ("two copies", True)
    with pytest.raises(NotFound, match="no such goal"):
        memory.update_goal("nobody", "failed")


def test_an_update_with_a_result_alone_leaves_the_status(memory):
    goal = memory.store_goal("Back up", status="active")
    memory.update_goal(goal, result="half of it")
    assert [(one["status"], one["result"]) for one in memory.get_active_goals()] == [("active", "half of it")]


def test_active_goals_come_most_urgent_first_and_then_the_oldest(memory):
    for name, priority, at in (("c", 2, 300), ("b", 2, 200), ("a", 0, 400), ("d", 3, 100)):
        memory.store_goal(name, id=name, priority=priority, created_at=1_771_000_000 + at)
    assert [goal["id"] for goal in memory.get_active_goals()] == ["a", "b", "c", "d"]


def test_the_tasks_of_a_goal_in_the_order_of_their_start(memory):
    goal = memory.store_goal("Back up")
    for number in (2, 1, 3):
        at, took = 1_771_000_000 + number, 0 if number == 1 else None
        memory.store_task(f"step {number}", id=f"t{number}", goal_id=goal, started_at=at, input={"step": number},
                          duration_ms=took)  # fmt: skip
    memory.store_task("of another goal", goal_id="other")
    tasks = memory.get_tasks_for_goal(goal)
    assert [task["id"] for task in tasks] == ["t1", "t2", "t3"]
    assert [task["duration_ms"] for task in tasks] == [0, None, None]
    assert tasks[0]["input"] == {"step": 1}
    assert memory.get_tasks_for_goal("nobody") == []


def test_a_task_that_ends_with_a_procedure_counts_for_it(memory):
    procedure = memory.store_procedure(
        "restart", "Restart nginx", [{"tool": "service", "do": "restart"}], tags=["nginx"]
    )
    memory.store_task("it is down", status="completed", duration_ms=1500, procedure_id=procedure)
    (found,) = memory.query_long_term("procedure")
    assert (found["success_count"], found["avg_duration_ms"], found["tags"]) == (1, 1500, ["nginx"])


def test_storing_again_replaces_what_a_client_may_clear_and_keeps_what_it_must_name(memory):
    memory.store_task("first", id="t", goal_id="g", error="boom", started_at=1_771_000_000, procedure_id="p")
    memory.store_task("second", id="t")
    (found,) = memory.query_working("task")
    assert (found["description"], found["goal_id"], found["error"], found["started_at"]) == ("second", None, None, None)
    assert found["procedure_id"] == "p"


def test_tool_calls_and_decisions_are_kept(memory):
    task = memory.store_task("it is down")
    memory.store_tool_call(
        "fs.read", {"path": "/etc/hosts"}, task_id=task, success=False, duration_ms=12, reason="check"
    )
    decided = memory.store_decision("nginx 502", "reload", "less disruptive", options=["restart", "reload"],
                                    intelligence_level="tactical", task_id=task, important=True)  # fmt: skip
    (call,) = memory.query_working("tool-call", where={"success": False, "task_id": task})
    assert (call["tool_name"], call["input"], call["duration_ms"]) == ("fs.read", {"path": "/etc/hosts"}, 12)
    memory.store_decision("nginx 502", "reload", "less disruptive", id=decided, outcome="it worked")
    (found,) = memory.query_working("decision")
    assert (found["outcome"], found["options"], found["important"]) == ("it worked", None, True)


def test_patterns_are_found_and_learn(memory):
    pattern = memory.store_pattern("nginx is down", "restart nginx")
    assert memory.find_pattern("nothing like it") is None
    memory.update_pattern_stats(pattern, True)
    memory.update_pattern_stats(pattern, False)
    found = memory.find_pattern("nginx is down", 0.4)
    assert found is not None
    assert (found["id"], found["uses"], found["success_rate"]) == (pattern, 2, 0.5)
    assert memory.find_pattern("nginx is down", 0.9) is None
    with pytest.raises(NotFound):
        memory.update_pattern_stats("nobody", True)


def test_a_pattern_that_was_never_used_counts_as_good(stub):
    stub.StorePattern(pb.Pattern(id="new", trigger="disk full", action="clean"))
    stub.StorePattern(pb.Pattern(id="bad", trigger="disk slow", action="pray", uses=5))
    assert stub.FindPattern(pb.PatternQuery(trigger="disk full")).pattern.success_rate == 1.0
    assert stub.FindPattern(pb.PatternQuery(trigger="disk slow")).pattern.success_rate == 0.0


def test_the_state_of_an_agent_is_the_last_one(memory):
    memory.store_agent_state("planner", {"step": 1})
    memory.store_agent_state("planner", {"step": 2}, updated_at=1_771_000_000)
    assert memory.get_agent_state("planner") == {
        "agent_name": "planner", "state": {"step": 2}, "updated_at": "2026-02-13T16:26:40+00:00"
    }  # fmt: skip
    for name in ("nobody", "plan"):
        with pytest.raises(NotFound):
            memory.get_agent_state(name)


# -- long-term memory and queries -------------------------------------------------------------------------------------


def test_incidents_and_states_of_files_are_long_term(memory):
    memory.store_incident(
        "nginx 502", symptoms=["timeouts"], root_cause="OOM", resolution="raise the limit", prevention="watch"
    )
    memory.store_config_change("/etc/nginx/nginx.conf", "worker_processes 4;\n", changed_by="agent", reason="load")
    (incident,) = memory.query_long_term("incidents")
    assert (incident["symptoms"], incident["tier"]) == (["timeouts"], "longterm")
    (change,) = memory.query_long_term("config_history", where={"file_path": "/etc/nginx/nginx.conf"})
    assert change["content"] == "worker_processes 4;\n"
    assert memory.query_working("goal") == []


def test_a_query_pages_newest_first(memory, stub):
    for number in range(7):
        memory.store_goal(f"goal {number}", id=f"g{number}", created_at=1_771_000_000 + number)
    page = stub.QueryWorking(pb.QueryRequest(kind="goal", limit=3, offset=3))
    assert [record.id for record in page.records] == ["g3", "g2", "g1"]
    assert page.more
    assert not stub.QueryWorking(pb.QueryRequest(kind="goal", limit=3, offset=4)).more
    within = memory.query_working("goal", since=1_771_000_002, until=1_771_000_004)
    assert [record["id"] for record in within] == ["g3", "g2"]


@pytest.mark.slow
def test_a_long_page_is_whole_and_in_order(served, memory, stub):
    at = "2026-02-13T16:{:02}:{:02}+00:00"
    goals = [("goal", {"description": "x", "created_at": at.format(*divmod(number, 60))}) for number in range(350)]
    served.ws.records.store_many([NewRecord(*goal, f"g{number:03}") for number, goal in enumerate(goals)])
    newest_first = [f"g{number:03}" for number in reversed(range(350))]
    assert [one["id"] for one in memory.query_working("goal", limit=1_000)] == newest_first
    assert [one["id"] for one in memory.query_working("goal", limit=200, offset=7)] == newest_first[7:207]
    for limit, more in ((349, True), (350, False), (200, True), (100, True)):
        assert stub.QueryWorking(pb.QueryRequest(kind="goal", limit=limit)).more == more


def test_a_query_compares_in_the_type_of_the_field(memory):
    memory.store_goal("two", priority=2)
    memory.store_goal("one", priority=1, result="done")
    assert [one["description"] for one in memory.query_working("goal", where={"priority": 1})] == ["one"]
    assert [one["description"] for one in memory.query_working("goal", where={"result": None})] == ["two"]
    with pytest.raises(BadInput, match="whole number"):
        memory.query_working("goal", where={"priority": "high"})
    with pytest.raises(BadInput, match="has no field"):
        memory.query_working("goal", where={"urgency": "high"})


@pytest.mark.slow
def test_a_query_by_words_finds_every_record_that_fits_however_many_newer_ones_do_not(served, memory, stub):
    at = "2026-02-13T16:{:02}:{:02}+00:00"
    made = [{"description": "renew", "created_at": at.format(*divmod(number, 60)), "status": "failed"
             if number < 200 else "active"} for number in range(1_400)]  # fmt: skip
    served.ws.records.store_many([NewRecord("goal", goal, f"g{number:04}") for number, goal in enumerate(made)])
    failed = {f"g{number:04}" for number in range(200)}
    found = memory.query_working("goal", text="renew", where={"status": "failed"}, limit=1_000)
    assert {one["id"] for one in found} == failed
    early = memory.query_working("", text="renew", until="2026-02-13T16:03:20+00:00", limit=1_000)
    assert {one["id"] for one in early} == failed
    assert len(memory.query_working("goal", text="renew", limit=1_000)) == 1_000
    for limit, more in ((199, True), (200, False)):
        asked = pb.QueryRequest(kind="goal", text="renew", where={"status": "failed"}, limit=limit)
        assert stub.QueryWorking(asked).more == more


def test_a_query_by_words_is_narrowed_by_the_rest(memory):
    memory.store_goal("renew the certificates", status="active", created_at=1_771_000_000)
    memory.store_goal("renew the contract", status="failed", created_at=1_771_000_500)
    memory.store_task("renew the passport")
    assert {one["kind"] for one in memory.query_working("", text="renew")} == {"goal", "task"}
    found = memory.query_working("goal", text="renew", where={"status": "failed"})
    assert [one["description"] for one in found] == ["renew the contract"]
    found = memory.query_working("goal", text="renew", until=1_771_000_100)
    assert [one["description"] for one in found] == ["renew the certificates"]
    assert len(memory.query_working("", text="renew", limit=2, offset=1)) == 2
    with pytest.raises(BadInput, match="depends on the kind"):
        memory.query_working("", text="renew", where={"status": "failed"})
    with pytest.raises(BadInput, match="give at most 950"):
        memory.query_working("goal", text="renew", offset=951)


# -- ways in ----------------------------------------------------------------------------------------------------------


def test_the_port_serves_who_gives_the_token(served):
    with MemoryClient(tcp=served.tcp, token=TOKEN) as client:
        goal = client.store_goal("by the port")
    with served.client() as other:
        assert [one["id"] for one in other.get_active_goals()] == [goal]


def test_health_and_reflection_are_there(served):
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    with grpc.insecure_channel(served.target) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "aios.memory.MemoryService"):
            asked = health_pb2.HealthCheckRequest(service=service)
            assert health.Check(asked).status == health_pb2.HealthCheckResponse.SERVING
        wanted = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol="aios.memory.MemoryService"),
        ]
        listed, told = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter(wanted))
    names = {one.name for one in listed.list_services_response.service}
    assert {"aios.memory.MemoryService", "grpc.health.v1.Health"} <= names
    (data,) = told.file_descriptor_response.file_descriptor_proto
    assert len(FileDescriptorProto.FromString(data).service[0].method) == 26


def test_what_another_process_changes_is_seen_at_once(served, memory):
    """The console, the command line and the service work on one memory at a time."""
    from nanomem_tui import open_workspace

    goal = memory.store_goal("Back up", status="active")
    with open_workspace(served.ws.paths.workspace) as other:
        assert other.records.get("goal", goal).fields["status"] == "active"
        other.records.edit("goal", goal, {"status": "failed"})
    assert memory.get_active_goals() == []
