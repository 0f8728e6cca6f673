"""`nanomem lifecycle`: what a run would do, one run, a year that leaves and comes back; another system's defects."""

import json
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.tiers.records import NewRecord


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty workspace, which is the default one."""
    found = tmp_path / "home" / "workspace"
    found.mkdir(parents=True)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


@pytest.fixture
def old(place):
    """Three goals and a metric of the year before last, whose number is given."""
    year = clock.now().year - 2
    at = f"{year}-06-01T12:00:00+00:00"
    goal = {"description": "Keep the harbour up", "status": "completed", "created_at": at}
    with open_workspace(place) as ws:
        ws.records.store_many([NewRecord("goal", goal, f"g{number}") for number in range(3)])
        ws.records.store("metric", {"name": "cpu", "value": 1.5, "timestamp": clock.iso(clock.now() - timedelta(8))})
    return year


def document(run, *line):
    done = run("lifecycle", *line, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.slow
def test_a_run_is_told_beforehand_and_made(place, old, run):
    told = document(run, "run", "--dry-run")
    assert told["operation"] is None
    assert {step["kind"]: step["rows"] for step in told["steps"] if step["rows"]} == {"goal": 3, "metric": 1}
    assert "to long-term memory" in run("lifecycle", "run", "--dry-run").out
    made = document(run, "run")
    assert made["operation"]["label"] == "lifecycle: 3 goals to long-term memory; 1 metric averaged by hour"
    assert made["rows"] == {"goal": 3, "metric": 1}
    assert run("lifecycle", "run").out == "Nothing is due.\n"
    assert "3 goals, 1 metric go back" in run("undo", "--dry-run").out
    assert run("undo").code == 0
    again = document(run, "run", "--dry-run")
    assert [(step["kind"], step["rows"]) for step in again["steps"]] == [
        (step["kind"], step["rows"]) for step in told["steps"]
    ]


def test_cron_runs_it_once_a_day(place, old, run):
    assert document(run, "run", "--if-due")["kind"] == "ran"
    assert document(run, "run", "--if-due") == {"operation": None, "rows": {}, "stopped": False, "kind": "waiting"}
    assert run("undo").code == 1  # no person began it
    (made,) = json.loads(run("log", "--json").out)
    assert run("undo", made["id"]).code == 0


@pytest.mark.slow
def test_the_plan_tells_sizes_and_archives(place, old, run):
    run("lifecycle", "run")
    run("lifecycle", "archive", old, "--yes")
    found = document(run, "plan")
    assert [one["tier"] for one in found["forecast"]] == ["working", "longterm"]
    assert [(one["name"], one["records"], one["state"]) for one in found["archives"]] == [(str(old), 3, "archived")]
    assert found["next_at"] > found["last_at"]
    text = run("lifecycle", "plan").out
    assert "Working memory: about" in text
    assert "archived" in text


def test_a_year_is_archived_searched_and_restored(place, old, run):
    run("lifecycle", "run")
    refused = run("lifecycle", "archive", old)
    assert refused.code == 2
    assert "add --yes" in refused.err
    assert document(run, "archive", old, "--dry-run")["counts"] == {"goal": 3}
    assert document(run, "archive", old, "--yes")["archive"]["records"] == 3
    hits = json.loads(run("lifecycle", "search", "harbour", "--json").out)
    assert {hit["id"] for hit in hits} == {"g0", "g1", "g2"}
    assert hits[0]["parts"]["archive"] == str(old)
    assert "3 records" in run("lifecycle", "search", "harbour").out
    assert json.loads(run("record", "goal", "list", "--json").out) == []
    assert document(run, "restore", old, "--dry-run")["records"] == 3
    assert document(run, "restore", old)["operation"]["kind"] == "lifecycle.restore"
    assert len(json.loads(run("record", "goal", "list", "--json").out)) == 3
    assert run("lifecycle", "restore", old).code == 1


def test_a_search_in_archives_shows_the_words_that_it_found(place, run):
    year = clock.now().year - 2
    at = f"{year}-06-01T12:00:00+00:00"
    long = f"{'The crane was checked again. ' * 20}Then the winches of the ferry were oiled. {'All is well. ' * 20}"
    goals = {
        "deep": {"description": "Keep the harbour up", "result": long},
        "title": {"description": "Oil the winch"},
        "far": {"description": f"{'Look at the crane. ' * 10}Oil its winch."},
        "japanese": {"description": "港を守る", "result": f"{'毎日点検した。' * 30}巻上機に油を差した。"},
    }
    with open_workspace(place) as ws:
        ended = {"status": "completed", "created_at": at, "completed_at": at}
        ws.records.store_many([NewRecord("goal", {**goal, **ended}, name) for name, goal in goals.items()])
    run("lifecycle", "run")
    assert run("lifecycle", "archive", year, "--yes").code == 0
    found = {line.split()[0]: line for line in run("lifecycle", "search", "oiled winches").out.splitlines()}
    assert "  result: …" in found["deep"]
    assert "Then the winches of the ferry were oiled." in found["deep"]
    assert found["title"].endswith("  Oil the winch")
    assert "Oil its winch." in found["far"]
    (line,) = [line for line in run("lifecycle", "search", "巻上機").out.splitlines() if line.startswith("japanese")]
    assert "巻上機に油を差した。" in line


def test_a_damaged_archive_is_one_line(place, old, run):
    run("lifecycle", "run")
    run("lifecycle", "archive", old, "--yes")
    path = place.parent / "nanomem" / "archive" / f"{old}.jsonl.gz"
    if not path.exists():
        (path,) = place.rglob(f"{old}.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-9])
    for line in (["restore", old], ["search", "harbour"]):
        done = run("lifecycle", *line)
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert "the archive is damaged" in done.err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (["archive", "next"], "not a valid integer"),
        (["archive", "3000"], "is not over"),
        (["restore", "1999"], "no archive of 1999"),
        (["search"], "nothing to look for"),
        (["archive", "1999"], "no records of 1999"),
    ],
)
def test_what_cannot_be_done_is_one_line(place, old, run, line, what):
    done = run("lifecycle", *line)
    assert done.code in (1, 2)
    assert what in done.err
    assert done.err.count("\n") == 1


def test_status_and_doctor_tell_of_it(place, old, run):
    assert "4 in working memory, 0 long-term" in run("memory", "status").out
    run("lifecycle", "run")
    assert "0 in working memory, 4 long-term" in run("memory", "status").out
    assert run("doctor").code == 0


@pytest.mark.slow
def test_what_another_system_loses_on_the_way_is_all_there(place, samples, run):
    """aiOS deletes ended goals, and all of their tasks, without a copy, and starts its migration nowhere."""
    assert run("memory", "import", samples / "aios", "--yes").code == 0
    with open_workspace(place) as ws:
        kinds = [kind for kind, tiers in ws.records.counts().items() if sum(tiers.values())]
        before = {record.key: record.fields for kind in kinds for record in ws.records.list_records(kind)}
        ended = {f"goal/{one.id}" for one in ws.records.list_records("goal") if one.fields["status"] == "completed"}
        assert ended
        with clock.at(clock.now() + timedelta(days=91)):
            assert ws.lifecycle.step().kind == "ran"  # by itself
            after = {record.key: record for kind in kinds for record in ws.records.list_records(kind)}
            assert {key: record.fields for key, record in after.items()} == before
            assert all(after[key].tier == "longterm" for key in ended)
            for key in ended:
                goal = key.removeprefix("goal/")
                tasks = [one.id for one in ws.records.tasks_of(goal)]
                assert tasks == [record_id for record_id in tasks if before[f"task/{record_id}"]["goal_id"] == goal]
            opened = [one for one in after.values() if one.kind == "goal" and one.fields["status"] == "pending"]
            assert all(one.tier == "working" for one in opened)
