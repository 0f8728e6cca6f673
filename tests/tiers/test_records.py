"""What an agent did, as it is recorded, browsed, corrected and undone."""

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import inspect

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo
from nanomem_tui.store.work.kinds import KINDS, RECORD_KINDS
from nanomem_tui.tiers.records import NewRecord

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

LEAST = {
    "goal": {"description": "Keep the site up"},
    "task": {"description": "Restart nginx"},
    "tool-call": {"tool_name": "fs.read", "input": {"path": "/etc/hosts"}},
    "agent-state": {"agent_name": "system-agent", "state": {"busy": True}},
    "decision": {"context": "nginx 502", "chosen": "reload", "reasoning": "less disruptive"},
    "pattern": {"trigger": "nginx down", "action": "restart nginx"},
    "procedure": {"name": "restart", "description": "Restart nginx"},
    "incident": {"description": "nginx answers 502"},
    "config-change": {"file_path": "/etc/nginx/nginx.conf", "content": "worker_processes 4;"},
}


def kept(ws, kind, record_id="", **fields):
    return ws.records.store(kind, {**LEAST[kind], **fields}, record_id)


def test_a_look_makes_no_file(place):
    with open_workspace(place) as ws:
        assert ws.records.list_records("goal") == []
        assert ws.records.search("nginx") == []
        assert ws.records.counts()["task"] == {"working": 0, "longterm": 0}
        with pytest.raises(NotFound):
            ws.records.get("goal", "g1")
    assert list(place.parent.rglob("work*.db*")) == []


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_every_kind_is_kept_with_the_fields_of_the_seed(ws, kind):
    record = kept(ws, kind)
    found = ws.records.get(kind, record.id)
    assert found == record
    assert list(found.fields) == [field.name for field in KINDS[kind].fields]
    assert found.tier == KINDS[kind].tier
    assert [one.id for one in ws.records.list_records(kind)] == [record.id]
    assert [one.key for one in (hit.record for hit in ws.records.search(record.title, [kind]))] == [record.key]


def test_what_is_stored_again_replaces_the_fields_that_are_given(ws):
    kept(ws, "goal", "g1", priority=3)
    with clock.at(NOW + timedelta(minutes=5)):
        after = ws.records.update("goal", "g1", {"status": "completed", "result": "all green"})
    assert (after.fields["priority"], after.fields["result"]) == (3, "all green")
    assert after.fields["completed_at"] == "2026-03-02T12:05:00+00:00"
    (past,) = ws.records.history("goal", "g1")
    assert past.actor == "agent"
    assert (past.before, past.after) == ({"status": "pending"}, {"status": "completed"})


def test_goal_task_and_tool_call_hang_together(ws):
    goal = kept(ws, "goal", "g1")
    task = kept(ws, "task", "t1", goal_id="g1")
    call = kept(ws, "tool-call", "c1", task_id="t1")
    decision = kept(ws, "decision", "d1", task_id="t1")
    pattern = kept(ws, "pattern", "p1", created_from="g1")
    assert ws.records.links(goal) == [("task", task), ("pattern", pattern)]
    assert ws.records.links(task) == [("goal", goal), ("tool call", call), ("decision", decision)]
    assert ws.records.links(call) == [("task", task)]
    assert ws.records.links(pattern) == [("made from", goal)]
    assert ws.records.tasks_of("g1") == [task]


def test_the_counts_of_a_procedure_follow_its_tasks(ws):
    kept(ws, "procedure", "restart")
    kept(ws, "task", "t1", procedure_id="restart", status="completed", duration_ms=100)
    kept(ws, "task", "t2", procedure_id="restart", status="failed", duration_ms=300)
    kept(ws, "task", "t3", procedure_id="restart", status="active")

    def counts():
        fields = ws.records.get("procedure", "restart").fields
        return fields["success_count"], fields["fail_count"], fields["avg_duration_ms"]

    assert counts() == (1, 1, 200)
    ws.records.store("task", {"status": "completed"}, "t2")  # it was right after all
    ws.records.store("task", {"status": "completed"}, "t2")  # told twice
    assert counts() == (2, 0, 200)
    ws.records.delete("task", ["t1"])
    assert counts() == (1, 0, 300)
    ws.undo()
    assert counts() == (2, 0, 200)


def test_a_pattern_keeps_its_rate_and_is_found(ws):
    kept(ws, "pattern", "p1")
    kept(ws, "pattern", "p2", trigger="database is locked", action="wait")
    for success in (True, True, False, True):
        used = ws.records.pattern_used("p1", success)
    assert (used.fields["uses"], used.fields["success_rate"]) == (4, 0.75)
    found = ws.records.find_pattern("nginx is down again")
    assert found.id == "p1"
    assert ws.records.find_pattern("nginx down", 0.8) is None


def test_the_outcome_of_a_decision_comes_later(ws):
    kept(ws, "decision", "d1")
    assert ws.records.update("decision", "d1", {"outcome": "it worked"}).fields["outcome"] == "it worked"
    with pytest.raises(NotFound):
        ws.records.update("decision", "d2", {"outcome": "?"})


def test_the_result_of_a_call_is_given_again_within_the_hour(ws):
    kept(ws, "tool-call", "c1", success=True, output={"lines": 3})
    kept(ws, "tool-call", "c2", success=False, output={"error": "?"})
    found = ws.records.cached_result("fs.read", {"path": "/etc/hosts"})
    assert found.fields["output"] == {"lines": 3}
    assert ws.records.cached_result("fs.read", {"path": "/etc/passwd"}) is None
    with clock.at(NOW + timedelta(hours=1, seconds=1)):
        assert ws.records.cached_result("fs.read", {"path": "/etc/hosts"}) is None


@pytest.mark.slow
def test_a_busy_tool_keeps_its_results_for_the_hour(ws):
    given = {"path": "/etc/héllo", "lines": [1, 2]}
    kept(ws, "tool-call", "first", input=given, success=True, output="the text")
    same = {"lines": [1, 2], "path": "/etc/héllo"}
    with clock.at(NOW + timedelta(minutes=50)):
        other = {**LEAST["tool-call"], "success": True}
        calls = [
            NewRecord("tool-call", {**other, "input": {"path": f"/etc/{n:05}", "lines": [1, 2]}}) for n in range(3000)
        ]
        ws.records.store_many(calls)
        found = ws.records.cached_result("fs.read", same)
        assert found.id == "first"
        assert ws.records.cached_result("fs.read", same, within=60) is None


# -- what a person does ----------------------------------------------------------------------------------------------


def test_a_person_adds_edits_and_deletes_and_takes_it_back(ws):
    operation, record = ws.records.add("incident", {"description": "nginx answers 502", "symptoms": ["slow"]}, "i1")
    assert operation.label == "add incident “nginx answers 502”"
    ws.records.edit("incident", "i1", {"resolution": "more workers"})
    assert [one.label.split()[0] for one in ws.records.history("incident", "i1")] == ["edit", "add"]
    ws.records.delete("incident", ["i1"])
    with pytest.raises(NotFound):
        ws.records.get("incident", "i1")
    ws.undo()
    assert ws.records.get("incident", "i1").fields["resolution"] == "more workers"
    assert [hit.record.id for hit in ws.records.search("workers")] == ["i1"]
    ws.undo()
    ws.undo()
    assert ws.records.list_records("incident") == []
    assert ws.records.search("nginx") == []
    ws.redo(3)
    assert ws.records.list_records("incident") == []  # the last was the deletion
    assert record.origin == "manual"


def test_what_somebody_changed_meanwhile_is_not_overwritten(ws):
    shown = kept(ws, "goal", "g1")
    ws.records.update("goal", "g1", {"status": "active"})
    with pytest.raises(Conflict, match="status"):
        ws.records.edit("goal", "g1", {"status": "failed"}, expected=shown)
    with pytest.raises(NothingToDo):
        ws.records.edit("goal", "g1", {"status": "active"})


def test_undo_of_an_edit_that_an_agent_overwrote_is_refused(ws):
    kept(ws, "goal", "g1")
    ws.records.edit("goal", "g1", {"description": "Keep it up"})
    kept(ws, "goal", "g1", description="Something else")
    with pytest.raises(Conflict) as error:
        ws.undo()
    assert "nanomem record goal edit g1" in error.value.line()
    assert ws.records.get("goal", "g1").fields["description"] == "Something else"


@pytest.mark.parametrize(
    ("kind", "fields", "what"),
    [
        ("golem", {}, "no such kind"),
        ("goal", {}, "needs `description`"),
        ("goal", {"description": "x", "colour": "red"}, "no field `colour`"),
        ("goal", {"description": "x", "priority": "high"}, "cannot be 'high'"),
        ("goal", {"description": "x", "metadata": float("nan")}, "no JSON"),
        ("goal", {"description": "a\ud800b"}, "no JSON"),
        ("goal", {"description": "x" * 1_000_001}, "1,000,001 bytes"),
        ("goal", {"description": "x", "created_at": "yesterday"}, "cannot be"),
        ("agent-state", {"state": {}}, "needs `agent_name`"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words(ws, kind, fields, what):
    for change in (ws.records.store, ws.records.add):
        with pytest.raises(BadInput, match=what):
            change(kind, fields)
    assert not any(sum(tiers.values()) for tiers in ws.records.counts().values())


# -- many at once, and a kill ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_many_threads_store_at_once_is_all_there_and_what_fails_fails_alone(ws):
    failed = []

    def work(part):
        for number in range(20):
            kept(ws, "task", f"t{part}_{number}", goal_id="g1")
            try:
                ws.records.update("task", f"missing{part}_{number}", {"status": "failed"})
            except NotFound as error:
                failed.append(error.where)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ws.records.tasks_of("g1")) == 160
    assert len(set(failed)) == 160


def test_all_of_a_batch_or_none(ws):
    with pytest.raises(BadInput):
        ws.records.store_many([NewRecord("goal", LEAST["goal"], "g1"), NewRecord("goal", {"status": "active"}, "g2")])
    assert ws.records.list_records("goal") == []


def test_two_processes_see_one_trail(place):
    with open_workspace(place) as one, open_workspace(place) as two:
        kept(one, "goal", "g1")
        assert two.records.get("goal", "g1").fields["status"] == "pending"
        two.records.edit("goal", "g1", {"status": "active"})
        assert one.records.get("goal", "g1").fields["status"] == "active"


KILLED = """
import os, sys
from nanomem_tui import open_workspace
ws = open_workspace(sys.argv[1])
number = 0
while True:
    ws.records.store("task", {"description": f"task {number}"}, f"t{number}")
    os.write(1, f"{number}\\n".encode())
    number += 1
"""


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_acknowledged(place):
    with subprocess.Popen([sys.executable, "-c", KILLED, str(place)], stdout=subprocess.PIPE) as child:
        said = [child.stdout.readline() for _ in range(30)]
        child.kill()
        said += child.stdout.readlines()
    acknowledged = [int(line) for line in said if line.endswith(b"\n")]
    with open_workspace(place) as ws:
        there = {record.id for record in ws.records.list_records("task")}
    assert {f"t{number}" for number in acknowledged} <= there
    assert len(there) <= len(acknowledged) + 1


@pytest.mark.sqlite
def test_its_files_are_for_their_owner_alone(ws):
    kept(ws, "goal")
    files = list(ws.paths.data.glob("work*"))
    assert files
    assert {oct(os.stat(file).st_mode & 0o777) for file in files} == {"0o600"}


@pytest.mark.sqlite
def test_a_damaged_trail_leaves_the_memory_alone(place):
    with open_workspace(place) as ws:
        kept(ws, "goal")
        ws.items.add("The harbour is cold")
        trail = ws.tier_database.path
    trail.write_bytes(b"no database at all" * 1000)
    with open_workspace(place) as ws:
        assert [row.text for row in ws.items.all()] == ["The harbour is cold"]
        with pytest.raises(Exception, match="cannot be read"):
            ws.records.list_records("goal")


@pytest.mark.slow
def test_a_common_word_costs_no_more_than_a_rare_one_finds(ws):
    many = [
        NewRecord("task", {"description": f"check the disk number {number}"}, f"t{number}") for number in range(1500)
    ]
    ws.records.store_many([*many, NewRecord("task", {"description": "check the harbour"}, "rare")])
    assert ws.records.search("check the harbour", ["task"])[0].record.id == "rare"
    newest = ws.records.search("check disk", ["task"], limit=3)
    assert [hit.record.id for hit in newest] == ["t1499", "t1498", "t1497"]
    assert [hit.record.id for hit in ws.records.search("disk number 7", ["task"], limit=1)] == ["t7"]


def test_the_tables_are_those_of_the_seed(ws):
    kept(ws, "goal")
    tables = ws.tier_database.read(lambda connection: set(inspect(connection).get_table_names()))
    seed = {"goals", "tasks", "tool_calls", "agent_states", "decisions", "patterns", "procedures", "config_history"}
    assert {*seed, "incidents", "events", "metrics"} <= tables
