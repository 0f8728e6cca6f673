"""Operational memory: what happened is there until it ages, and then in working memory; never in neither."""

from datetime import timedelta

import pytest
import time_machine

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.store.work.work_store import WorkStore
from tests.tiers.happened import messages, opened, push, told

START = "2026-03-01T10:00:00+00:00"


# -- what is told -----------------------------------------------------------------------------------------------------


def test_what_was_pushed_is_told_newest_first(ws):
    ids = push(ws, "one", "two", "three")
    found = ws.operational.recent()
    assert [entry.id for entry in found] == ids[::-1]
    assert [entry.data for entry in found] == [{"message": word} for word in ("three", "two", "one")]
    assert found[0].category == "event"
    assert found[0].source == "tests"
    assert found[0].critical is False
    assert clock.parse(found[0].at) is not None
    assert [entry.data["message"] for entry in ws.operational.recent(2)] == ["three", "two"]


def test_recent_by_category_source_and_time(ws):
    with time_machine.travel(START, tick=False) as time:
        ws.operational.push("event", {"message": "old"}, "a")
        time.shift(60)
        ws.operational.push("event", {"message": "new"}, "b")
        ws.operational.push("task", {"id": "t", "status": "pending"}, "b")
        assert [entry.source for entry in ws.operational.recent(source="a")] == ["a"]
        assert [entry.category for entry in ws.operational.recent(category="task")] == ["task"]
        since = clock.now() - timedelta(seconds=1)
        assert len(ws.operational.recent(since=since)) == len(ws.operational.recent(since=clock.iso(since))) == 2


def test_what_a_caller_changes_afterwards_changes_nothing(ws):
    data = {"message": "as it was", "list": [1]}
    ws.operational.push("event", data)
    data["list"].append(2)
    assert ws.operational.recent()[0].data == {"message": "as it was", "list": [1]}


def test_the_newest_value_of_each_metric(ws):
    for value in (1, 2.5):
        ws.operational.push("metric", {"name": "cpu.percent", "value": value, "unit": "%"})
    ws.operational.push("metric", {"name": "memory.used", "value": 7})
    found = ws.operational.metric("cpu.percent")
    assert (found.name, found.value, found.unit) == ("cpu.percent", 2.5, "%")
    assert [(value.name, value.value) for value in ws.operational.metrics()] == [
        ("cpu.percent", 2.5),
        ("memory.used", 7),
    ]
    assert ws.operational.metric("nobody.measured") is None


def test_a_metric_that_has_aged_is_known_by_its_last_value(ws):
    with time_machine.travel(START, tick=False) as time:
        ws.operational.push("metric", {"name": "load", "value": 1})
        ws.operational.push("metric", {"name": "load", "value": 2, "unit": "x"}, "tests")
        time.shift(3601)
        assert ws.operational.age() == 2
        assert ws.operational.metrics() == []
        found = ws.operational.metric("load")
        assert (found.value, found.unit) == (2.0, "x")
        assert [row.fields["value"] for row in ws.records.list_records("metric")] == [2.0, 1.0]
        assert ws.records.list_records("event") == []


def test_tasks_are_active_until_they_end(ws):
    tell = ws.operational.push
    tell("task", {"id": "a", "status": "pending", "description": "Restart nginx", "agent": "ops"})
    tell("task", {"id": "b", "status": "in_progress"}, "worker")
    tell("task", {"id": "c", "status": "pending"})
    for task, status in (("a", "in_progress"), ("c", "completed")):
        tell("task", {"id": task, "status": status})
    found = {task.id: task for task in ws.operational.active_tasks()}
    assert {key: task.status for key, task in found.items()} == {"a": "in_progress", "b": "in_progress"}
    assert found["b"].agent == "worker"
    for task, status in (("a", "failed"), ("b", "cancelled")):
        tell("task", {"id": task, "status": status})
    assert ws.operational.active_tasks() == []


def test_a_task_that_goes_on_for_hours_stays_active_until_it_ends(place):
    with time_machine.travel(START, tick=False) as time:
        with open_workspace(place) as ws:
            ws.operational.push("task", {"id": "t1", "status": "pending", "description": "Copy the disk"}, "ops")
            ws.operational.push("task", {"id": "t2", "status": "completed"}, "ops")
            ws.operational.push("task", {"id": "t3", "status": "running"}, "ops")  # in a word of the agent's own
            time.shift(4000)
            assert ws.operational.age() == 3
        with open_workspace(place) as ws:
            active = {task.id: task for task in ws.operational.active_tasks()}
            assert set(active) == {"t1", "t3"}, "one that ended before anybody recorded it is no record"
            assert (active["t1"].description, active["t1"].agent) == ("Copy the disk", "ops")
            ws.operational.push("task", {"id": "t1", "status": "completed"}, "ops")
            assert [task.id for task in ws.operational.active_tasks()] == ["t3"]
            time.shift(4000)
            ws.operational.age()
            assert [task.id for task in ws.operational.active_tasks()] == ["t3"]
            assert ws.records.get("task", "t1").fields["status"] == "completed"


def test_what_an_agent_recorded_of_a_task_since_is_not_overwritten(ws):
    with time_machine.travel(START, tick=False) as time:
        ws.operational.push("task", {"id": "t1", "status": "in_progress", "description": "from the event"})
        time.shift(60)
        ws.records.store("task", {"description": "recorded", "agent": "ops", "status": "failed"}, "t1")
        time.shift(4000)
        ws.operational.age()
        fields = ws.records.get("task", "t1").fields
        assert (fields["description"], fields["status"]) == ("recorded", "failed")
        assert ws.operational.active_tasks() == []


def test_the_last_hundred_results_of_tools(ws):
    for number in range(120):
        ws.operational.push("tool_result", {"tool": "read", "input": number, "output": "x", "success": True})
    found = ws.operational.recent(100, "tool_result")
    assert [entry.data["input"] for entry in found] == list(range(119, 19, -1))


def test_what_each_agent_does_now(ws):
    ws.operational.push("event", {"agent": "planner", "state": "thinking"}, "planner")
    ws.operational.push("task", {"id": "t", "status": "in_progress", "agent": "worker", "state": {"step": 2}})
    ws.operational.push("event", {"agent": "planner", "state": "waiting"}, "planner")
    found = ws.operational.agent_states()
    assert [(state.agent, state.state) for state in found] == [("planner", "waiting"), ("worker", {"step": 2})]


def test_a_snapshot_tells_what_was_measured(ws):
    for name, value in (("cpu.percent", 12.5), ("memory.used", 2**30), ("memory.total", 2**31), ("gpu.percent", 3)):
        ws.operational.push("metric", {"name": name, "value": value})
    ws.operational.push("task", {"id": "t", "status": "pending"})
    found = ws.operational.snapshot()
    assert found["cpu_percent"] == 12.5
    assert (found["memory_used"], found["memory_total"]) == (2**30, 2**31)
    assert found["disk_used"] is None
    assert found["gpu"] == {"percent": 3.0}
    assert (found["active_tasks"], found["agents"], found["entries"]) == (1, 0, 5)


# -- how it ages ------------------------------------------------------------------------------------------------------


def test_names_of_any_length_are_kept(ws):
    tool, agent = "t" * 5000, "a" * 5000
    entry_id = ws.operational.push("tool_result", {"tool": tool, "input": 1, "output": 2})
    ws.operational.push("tool_result", {"tool": tool[:-1], "input": 1, "output": 3})
    ws.operational.push("event", {"agent": agent[:400], "state": {"at": "work"}}, agent[:400])
    ws.operational.push("event", {"agent": agent, "state": "idle"})
    found = ws.operational.get(entry_id)
    assert found.data == {"tool": tool, "input": 1, "output": 2}
    assert [one.state for one in ws.operational.agent_states()] == [{"at": "work"}, "idle"]


@pytest.mark.slow
def test_whoever_pushes_without_an_end_moves_what_is_too_much(place):
    with opened(place, operational_entries=10) as ws:
        push(ws, *range(1_200))
        assert ws.operational.state()["entries"] <= 10 + 500
        assert len(told(ws)) + ws.operational.state()["entries"] == 1_200
        assert len(messages(ws)) == 10
        assert [data["message"] for data in told(ws)] + messages(ws) == [str(number) for number in range(1_200)]


def test_what_is_older_than_an_hour_ages(ws):
    with time_machine.travel(START, tick=False) as time:
        push(ws, "old")
        time.shift(1800)
        push(ws, "young")
        time.shift(1801)
        assert messages(ws) == ["young"], "who looks moves what is due"
        assert told(ws) == [{"message": "old"}]
        assert ws.records.list_records("event")[0].at == "2026-03-01T10:00:00+00:00"


def test_all_of_a_metric_is_kept_when_it_ages(ws):
    data = {"name": "disk", "value": 3, "mount": "/home"}
    ws.operational.push("metric", data, "df")
    assert ws.operational.age(clock.now() + timedelta(hours=2)) == 1
    assert [row.fields["value"] for row in ws.records.list_records("metric")] == [3.0]
    event = ws.records.list_records("event")[0]
    assert (event.fields["category"], event.fields["source"], event.fields["data"]) == ("metric", "df", data)


def test_a_clock_that_jumps_back_ages_nothing_too_early_and_keeps_the_order(ws):
    with time_machine.travel(START, tick=False) as time:
        push(ws, "one")
        time.move_to("2026-02-27T10:00:00+00:00")
        push(ws, "two")
        assert messages(ws) == ["one", "two"]
        time.shift(3500)
        assert messages(ws) == ["one", "two"]
        time.move_to("2026-03-01T10:59:00+00:00")
        push(ws, "three")
        assert messages(ws) == ["one", "two", "three"], "the first of them is no hour old"
        time.shift(200)
        assert messages(ws) == ["three"]
        assert sorted(data["message"] for data in told(ws)) == ["one", "two"]


def test_a_clock_that_was_late_for_one_entry_takes_no_other_away(ws):
    with time_machine.travel(START, tick=False) as time:
        push(ws, "one")
        time.shift(-7200)
        push(ws, "late")
        time.shift(7200)
        assert messages(ws) == ["one", "late"]
        assert ws.operational.age() == 0


@pytest.mark.slow
def test_of_more_data_than_there_is_room_for_the_oldest_ages(ws):
    push(ws, *("x" * 900_000 for _ in range(56)))
    assert ws.operational.age() == 1
    assert len(ws.operational.recent(None)) == 55
    assert ws.records.count("event") == 1


# -- critical entries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "data", "source"),
    [
        ("event", {"level": "ERROR", "message": "x"}, ""),
        ("event", {"severity": "critical"}, ""),
        ("tool_result", {"tool": "t", "level": "fatal"}, ""),
        ("event", {"type": "security.login"}, ""),
        ("event", {"kind": "security"}, ""),
        ("event", {"message": "port scan"}, "security"),
        ("event", ["a list"], "Security:firewall"),
    ],
)
def test_an_error_is_in_working_memory_when_it_was_pushed(ws, monkeypatch, category, data, source):
    durable = []
    real = WorkStore.write
    monkeypatch.setattr(
        WorkStore, "write", lambda self, work, **how: durable.append(how["durable"]) or real(self, work, **how)
    )
    entry_id = ws.operational.push(category, data, source)
    row = ws.records.get("event", entry_id)
    assert row.fields["data"] == data
    assert row.fields["critical"] is True
    assert durable == [True]
    assert ws.operational.recent()[0].critical


@pytest.mark.parametrize("data", [{"level": "warning"}, {"message": "error"}, {"type": "securityish"}, {"level": 3}])
def test_what_is_no_error_waits(ws, data):
    ws.operational.push("event", data, "secure")
    assert ws.records.list_records("event") == []
    assert not ws.operational.recent()[0].critical


def test_what_is_called_critical_is(ws):
    entry_id = ws.operational.push("metric", {"name": "temperature", "value": 120}, critical=True)
    assert ws.records.get("metric", entry_id).fields["value"] == 120.0
    assert ws.records.get("event", entry_id).fields["critical"] is True


def test_what_a_person_took_away_does_not_come_back_when_the_entry_ages(ws):
    entry_id = ws.operational.push("event", {"level": "error", "message": "x"})
    ws.records.delete("event", [entry_id])
    assert ws.operational.age(clock.now() + timedelta(hours=2)) == 1
    assert ws.records.list_records("event") == []


def test_what_is_too_much_ages_the_oldest_and_no_other(place):
    with opened(place, operational_entries=10) as ws:
        push(ws, *range(11))
        assert ws.operational.age() == 1
        assert told(ws) == [{"message": "0"}]
        assert messages(ws) == [str(number) for number in range(1, 11)]
        assert ws.operational.age() == 0
