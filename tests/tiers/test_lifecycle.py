"""What becomes of records as they grow old: the table of seed 004, row by row, and that nothing is lost on the way."""

import json
import math
import re
from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict, Refused
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers.lifecycle import GOAL_DAYS, METRIC_DAYS, RECORD_DAYS
from nanomem_tui.tiers.records import NewRecord
from tests.hygiene.repository import ROOT
from tests.tiers.test_records import LEAST

NOW = datetime(2026, 3, 2, 12, 20, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
WHEN = {"goal": "created_at", "task": "started_at", "agent-state": "updated_at"}


def kept(ws, kind, record_id, age, **fields):
    when = {WHEN.get(kind, "timestamp"): clock.iso(NOW - age)}
    least = {
        **LEAST,
        "event": {"category": "event", "data": {"n": 1}},
        "metric": {"name": "cpu.percent", "value": 1.0},
        "metric-hour": {"name": "cpu.percent", "count": 1, "mean": 1.0, "least": 1.0, "most": 1.0},
    }[kind]
    if kind == "metric-hour":
        when = {"hour": clock.iso(NOW - age)}
    if kind == "agent-state":
        least = {**least, "agent_name": record_id}
    ws.records.store(kind, {**least, **when, **fields}, record_id)


def tiers(ws, kind):
    return {record.id: record.tier for record in ws.records.list_records(kind)}


BORDERS = [
    ("tool-call", 30, {}),
    ("decision", 30, {}),
    ("event", 30, {}),
    ("agent-state", 30, {}),
    ("goal", 90, {"status": "completed"}),
    ("task", 90, {"status": "failed"}),
]


@pytest.mark.parametrize(("kind", "days", "fields"), BORDERS, ids=[kind for kind, *_ in BORDERS])
def test_each_row_of_the_table_at_its_border(ws, kind, days, fields):
    kept(ws, kind, "old", days * DAY, **fields)
    kept(ws, kind, "young", days * DAY - MINUTE, **fields)
    before = {record.id: record.fields for record in ws.records.list_records(kind)}
    ran = ws.lifecycle.run()
    assert tiers(ws, kind) == {"old": "longterm", "young": "working"}
    assert {record.id: record.fields for record in ws.records.list_records(kind)} == before
    assert dict(ran.rows) == {kind: 1}


def test_goals_and_tasks_age_from_when_they_ended(ws):
    for kind, began in (("goal", "created_at"), ("task", "started_at")):
        for name, ended in (("lately", 10), ("long ago", 91)):
            when = {began: clock.iso(NOW - 400 * DAY), "completed_at": clock.iso(NOW - ended * DAY)}
            ws.records.store(kind, {**LEAST[kind], **when, "status": "completed"}, f"{kind} {name}")
    plan = {step.kind: (step.rows, step.stay) for step in ws.lifecycle.plan().steps}
    assert (plan["goal"], plan["task"]) == ((1, 0), (1, 0))
    ws.lifecycle.run()
    assert tiers(ws, "goal") == {"goal lately": "working", "goal long ago": "longterm"}
    assert tiers(ws, "task") == {"task lately": "working", "task long ago": "longterm"}


def test_a_task_that_was_never_ended_ages_from_the_end_of_its_goal(ws):
    for name, ended in (("lately", 10), ("long ago", 91)):
        when = {"created_at": clock.iso(NOW - 400 * DAY), "completed_at": clock.iso(NOW - ended * DAY)}
        ws.records.store("goal", {**LEAST["goal"], **when, "status": "failed"}, name)
        kept(ws, "task", f"of {name}", 300 * DAY, goal_id=name)
    ws.lifecycle.run()
    assert tiers(ws, "task") == {"of lately": "working", "of long ago": "longterm"}


def test_what_the_table_keeps_forever_stays_where_it_is(ws):
    old = 4000 * DAY
    for kind in ("incident", "config-change"):
        kept(ws, kind, "x", old)
    ws.records.store("procedure", {**LEAST["procedure"], "created_at": clock.iso(NOW - old)}, "x")
    for rate in (1.0, 0.1):
        fields = {"success_rate": rate, "last_used": clock.iso(NOW - old)}
        ws.records.store("pattern", {**LEAST["pattern"], **fields}, f"p{rate}")
    kept(ws, "decision", "important", old, important=True)
    kept(ws, "decision", "strategic", old, intelligence_level="Strategic")
    kept(ws, "goal", "open", old)
    kept(ws, "task", "of the open goal", old, status="completed", goal_id="open")
    kept(ws, "task", "to be done", old, status="active")
    assert ws.lifecycle.run().operation is None
    assert set(tiers(ws, "decision").values()) == {"working"}
    assert set(tiers(ws, "goal").values()) == {"working"}
    assert set(tiers(ws, "task").values()) == {"working"}
    assert set(tiers(ws, "pattern").values()) == {"working"}
    assert [step.stay for step in ws.lifecycle.plan().steps if step.kind in ("goal", "task", "decision")] == [2, 1, 2]
    assert ws.log() == []


@pytest.mark.parametrize("page", ["work.md", "decisions/0042-how-long-things-are-kept.md"])
def test_the_pages_say_of_every_kind_how_long_it_stays_as_the_settings_do(page, ws):
    rows = [line.strip("| ").split("|") for line in (ROOT / "docs" / page).read_text("utf-8").splitlines()]
    told = {noun: row[1].strip() for row in rows if len(row) > 1 for noun in re.split(r", | and ", row[0].strip())}
    nouns = {"agent-state": "states of agents", "config-change": "configurations", "metric-hour": ""}
    days = {"metric": METRIC_DAYS, "goal": GOAL_DAYS, "task": GOAL_DAYS}
    for kind in KINDS.values():
        stays = told[noun] if (noun := nouns.get(kind.name, f"{kind.name.replace('-', ' ')}s")) else "never"
        if kind.name == "pattern":
            assert stays in ("always", "for good")
        elif kind.tier == "longterm":
            assert stays.startswith("never")
        else:
            assert stays.startswith(f"{days.get(kind.name, RECORD_DAYS)} days"), kind.name


def test_tasks_follow_their_goal_and_calls_go_by_their_age(ws):
    ended = {**LEAST["goal"], "created_at": clock.iso(NOW - 100 * DAY), "status": "done"}
    ws.records.store_many([NewRecord("goal", ended, "ended")], overheard=True)
    kept(ws, "task", "abandoned", 95 * DAY, goal_id="ended")
    kept(ws, "goal", "open", 100 * DAY)
    kept(ws, "task", "t", 100 * DAY, goal_id="open")
    kept(ws, "tool-call", "c", 31 * DAY, task_id="t")
    ws.lifecycle.run()
    assert tiers(ws, "goal") == {"ended": "longterm", "open": "working"}
    assert tiers(ws, "task") == {"abandoned": "longterm", "t": "working"}
    assert [(relation, one.id) for relation, one in ws.records.links(ws.records.get("task", "t"))] == [
        ("goal", "open"),
        ("tool call", "c"),
    ]
    assert [record.id for record in ws.records.tasks_of("ended")] == ["abandoned"]
    ws.records.update("goal", "open", {"status": "completed"})
    with clock.at(NOW + 89 * DAY):
        ws.lifecycle.run()
        assert (tiers(ws, "goal")["open"], tiers(ws, "task")["t"]) == ("working", "working"), "it ended just now"
    with clock.at(NOW + 90 * DAY):
        ws.lifecycle.run()
        assert (tiers(ws, "goal")["open"], tiers(ws, "task")["t"]) == ("longterm", "longterm")
    ws.records.update("goal", "open", {"status": "active"})  # taken up again
    assert [record.id for record in ws.records.goals()] == ["open"]


def test_an_agent_that_comes_back_has_its_state_in_working_memory_again(ws):
    kept(ws, "agent-state", "night-agent", 40 * DAY)
    ws.lifecycle.run()
    assert tiers(ws, "agent-state") == {"night-agent": "longterm"}
    ws.records.store("agent-state", {"agent_name": "night-agent", "state": {"awake": True}})
    assert tiers(ws, "agent-state") == {"night-agent": "working"}


# -- metrics -----------------------------------------------------------------------------------------------------------


def test_metrics_are_averaged_by_whole_hours_and_the_averages_kept_a_year(ws):
    border = (NOW - 7 * DAY).replace(minute=0)
    values = [4.0, 1.0, 7.5]
    for number, value in enumerate(values):
        kept(ws, "metric", f"m{number}", NOW - border + (number + 1) * MINUTE, value=value, unit="%")
    kept(ws, "metric", "other", NOW - border + MINUTE, name="disk.used", value=9.0)
    kept(ws, "metric", "young", NOW - border, value=100.0)  # its hour is not a week old yet
    kept(ws, "metric-hour", "a year old", 365 * DAY)
    kept(ws, "metric-hour", "younger", 365 * DAY - MINUTE)
    ran = ws.lifecycle.run()
    assert dict(ran.rows) == {"metric": 4, "metric-hour": 1}
    assert [record.id for record in ws.records.list_records("metric")] == ["young"]
    hours = {
        record.fields["name"]: record.fields
        for record in ws.records.list_records("metric-hour")
        if record.id != "younger"
    }
    assert hours["cpu.percent"] == {
        "name": "cpu.percent",
        "hour": clock.iso(border - HOUR),
        "count": 3,
        "mean": math.fsum(values) / 3,
        "least": 1.0,
        "most": 7.5,
        "unit": "%",
    }
    assert hours["disk.used"]["count"] == 1
    assert "younger" in tiers(ws, "metric-hour")


def test_a_metric_that_comes_late_is_added_to_its_hour(ws):
    kept(ws, "metric", "m1", 8 * DAY, value=1.0)
    ws.lifecycle.run()
    kept(ws, "metric", "m2", 8 * DAY, value=3.0)
    ws.lifecycle.run()
    (hour,) = ws.records.list_records("metric-hour")
    assert (hour.fields["count"], hour.fields["mean"], hour.fields["least"], hour.fields["most"]) == (2, 2.0, 1.0, 3.0)


def test_numbers_whose_sum_is_too_large_have_a_mean(ws):
    for number in range(4):
        kept(ws, "metric", f"m{number}", 8 * DAY, value=1.7e308)
    ws.lifecycle.run()
    (hour,) = ws.records.list_records("metric-hour")
    assert hour.fields["mean"] == pytest.approx(1.7e308)


# -- one operation, and back ---------------------------------------------------------------------------------------


def all_of(ws):
    kinds = [kind for kind, found in ws.records.counts().items() if sum(found.values())]
    return {record.key: record for kind in kinds for record in ws.records.list_records(kind)}


def filled(ws, number=3):
    """A few of every kind that leaves, all of them due."""
    stored = []
    for at in range(number):
        when = clock.iso(NOW - 100 * DAY - at * MINUTE)
        stored += [
            NewRecord("goal", {**LEAST["goal"], "status": "completed", "created_at": when}, f"g{at}"),
            NewRecord(
                "task", {**LEAST["task"], "status": "completed", "started_at": when, "goal_id": f"g{at}"}, f"t{at}"
            ),
            NewRecord("tool-call", {**LEAST["tool-call"], "timestamp": when, "task_id": f"t{at}"}, f"c{at}"),
            NewRecord("decision", {**LEAST["decision"], "timestamp": when}, f"d{at}"),
            NewRecord("event", {"category": "event", "data": {"at": at}, "timestamp": when}, f"e{at}"),
            NewRecord("metric", {"name": "cpu", "value": float(at), "timestamp": when}, f"m{at}"),
        ]
    ws.records.store_many(stored)
    kept(ws, "agent-state", "agent", 100 * DAY)
    kept(ws, "metric-hour", "old hour", 400 * DAY)


def test_a_run_is_one_operation_that_is_undone_and_done_again(ws):
    filled(ws)
    before = all_of(ws)
    ran = ws.lifecycle.run()
    assert ran.operation.actor == "compaction"
    assert ran.operation.label == (
        "lifecycle: 3 tasks, 3 goals, 3 tool calls, 3 decisions, 3 events, 1 agent state to long-term memory;"
        " 3 metrics averaged by hour; 1 metric hour deleted"
    )
    assert [entry.operation.id for entry in ws.log()] == [ran.operation.id]
    after = all_of(ws)
    assert ws.records.count("goal", "longterm") == 3
    ws.undo()
    assert all_of(ws) == before
    ws.redo()
    assert set(all_of(ws)) == set(after)
    assert ws.records.count("goal", "longterm") == 3
    ws.undo()
    assert all_of(ws) == before
    assert ws.records.search("nginx", ["task"], "working")
    assert not ws.records.search("nginx", ["task"], "longterm")


def test_a_run_that_was_undone_leaves_the_order_of_what_is_found(ws):
    for number in range(12):
        age = (200 if number % 3 else 1) * DAY
        kept(ws, "goal", f"g{number}", age, status="completed", description=f"nginx restart {number}")
    before = [hit.record.id for hit in ws.records.search("nginx restart", ["goal"])]
    scores = [hit.score for hit in ws.records.search("nginx restart", ["goal"])]
    for _ in range(3):
        ws.lifecycle.run()
        assert ws.records.count("goal", "longterm")
        ws.undo()
    assert [hit.record.id for hit in ws.records.search("nginx restart", ["goal"])] == before
    assert [hit.score for hit in ws.records.search("nginx restart", ["goal"])] == scores


def test_what_was_averaged_and_deleted_by_one_run_comes_back(ws):
    kept(ws, "metric", "m", 500 * DAY)
    before = all_of(ws)
    assert dict(ws.lifecycle.run().rows) == {"metric": 1, "metric-hour": 1}
    assert all_of(ws) == {}
    ws.undo()
    assert all_of(ws) == before


def test_what_agents_did_since_a_run_stands_when_it_is_undone(ws):
    filled(ws, 3)
    ran = ws.lifecycle.run()
    ws.records.update("goal", "g0", {"status": "failed", "result": "not so well after all"})
    ws.records.delete("goal", ["g1"])
    ws.undo(ran.operation.id)
    assert tiers(ws, "goal") == {"g0": "working", "g2": "working"}
    assert ws.records.get("goal", "g0").fields["result"] == "not so well after all"


def test_an_average_that_changed_since_keeps_a_run_from_being_undone(ws):
    kept(ws, "metric", "m1", 8 * DAY)
    first = ws.lifecycle.run().operation
    kept(ws, "metric", "m2", 8 * DAY)
    ws.lifecycle.run()
    with pytest.raises(Conflict, match="average of cpu"):
        ws.undo(first.id)
    ws.undo()
    ws.undo()
    assert set(tiers(ws, "metric")) == {"m1", "m2"}
    assert ws.records.list_records("metric-hour") == []


def test_a_run_can_be_undone_for_as_long_as_is_set(ws):
    kept(ws, "metric", "m1", 8 * DAY)
    first = ws.lifecycle.run().operation
    with clock.at(NOW + 15 * DAY):
        ws.lifecycle.run()
        with pytest.raises(Refused, match="cannot be undone any more"):
            ws.undo(first.id)


def test_a_dry_run_changes_no_byte(ws):
    filled(ws)
    ws.tier_database.sync()
    files = {path: path.read_bytes() for path in sorted(ws.paths.data.rglob("*")) if path.is_file()}
    plan = ws.lifecycle.plan()
    assert {step.kind: step.rows for step in plan.steps} == {
        "task": 3, "goal": 3, "tool-call": 3, "decision": 3, "event": 3, "agent-state": 1, "metric": 3,
        "metric-hour": 1,
    }  # fmt: skip
    assert all(step.bytes > 0 and step.oldest for step in plan.steps)
    assert json.loads(json.dumps(plan.to_json()))["refused"] is None
    ws.lifecycle.state()
    shared = [path for path in files if path.name.endswith("-shm")]  # of SQLite: who reads notes it there
    now = {path: path.read_bytes() for path in sorted(ws.paths.data.rglob("*")) if path.is_file()}
    assert {path: data for path, data in now.items() if path not in shared} == {
        path: data for path, data in files.items() if path not in shared
    }


def test_a_look_makes_no_file(place):
    with open_workspace(place) as ws:
        assert ws.lifecycle.plan().steps == ()
        assert ws.lifecycle.run().operation is None
        assert ws.lifecycle.state()["last_at"] is None
        assert ws.lifecycle.step().kind == "waiting"
    assert list(place.parent.rglob("work*.db*")) == []
