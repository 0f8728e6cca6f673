"""`nanomem record export`: every record out to a file, and in again elsewhere with every field."""

import json
import stat
from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.store.work.kinds import KINDS

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty workspace, which is the default one."""
    found = tmp_path / "home" / "workspace"
    found.mkdir(parents=True)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


@pytest.fixture
def full(place, samples, run):
    """A workspace with records of every kind in each tier that the kind has."""
    with clock.at(NOW - timedelta(days=200)):
        assert run("memory", "import", samples / "aios", "--yes").code == 0
        with open_workspace(place) as ws:
            ws.operational.push("event", {"message": "old", "load": [0.5, None]}, "ops")
            ws.operational.push("metric", {"name": "cpu", "value": 37.5, "unit": "%"}, "ops")
    with clock.at(NOW):
        with open_workspace(place) as ws:
            ws.operational.recent()  # what is old ages into working memory
        assert run("lifecycle", "run", "--force").code == 0
        with open_workspace(place) as ws:
            ws.operational.push("event", {"message": "Ä new one"}, "ops", critical=True)
            ws.operational.push("metric", {"name": "cpu", "value": 1.25}, "ops")
    with clock.at(NOW + timedelta(hours=2)), open_workspace(place) as ws:
        ws.operational.recent()
    return place


def everything(place):
    with open_workspace(place) as ws:
        return [record for kind in KINDS for record in ws.records.list_records(kind)]


@pytest.mark.slow
def test_every_record_goes_out_and_comes_in_elsewhere_as_it_was(full, tmp_path, run, monkeypatch):
    before = everything(full)
    assert {record.kind for record in before} == set(KINDS)
    assert {record.tier for record in before} == {"working", "longterm"}
    file = tmp_path / "work.jsonl"
    wrote = run("record", "export", "--to", file, "--json").json
    assert wrote["records"] == sum(wrote["counts"].values()) == len(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len([json.loads(line) for line in file.read_text("utf-8").splitlines()]) == len(before) + 1
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(other))
    taken = run("memory", "import", file, "--trust", "--yes", "--json").json
    assert (taken["counts"]["new"], taken["problems"]) == (len(before), [])
    assert everything(other) == before
    assert run("memory", "import", file, "--yes").out.splitlines()[0] == "Nothing to import."
    run("undo")
    assert everything(other) == []


@pytest.mark.slow
def test_a_record_that_was_deleted_comes_back_when_that_is_asked_for(full, tmp_path, run):
    before = everything(full)
    file = tmp_path / "work.jsonl"
    run("record", "export", "--to", file)
    record = next(one for one in before if one.kind == "incident")
    run("record", "incident", "delete", record.id, "--yes")
    assert run("memory", "import", file, "--yes").out.startswith("Nothing to import.")
    run("memory", "import", file, "--restore", "--yes")
    assert everything(full) == before


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ({"kind": "wish"}, "no such kind of record: wish"),
        ({"tier": "longterm"}, "a pattern has no tier longterm"),
        ({"fields": 7}, "its fields are no object"),
        ({"fields": {"trigger": "x"}}, "a pattern needs `action`"),
        ({"stored_at": "soon"}, "stored_at is no time"),
        ({"id": ""}, "no usable id"),
    ],
)
def test_a_line_that_is_no_record_is_left_out_with_the_reason(place, tmp_path, run, damage, told):
    for name in ("one", "two"):
        data = json.dumps({"trigger": name, "action": "reload"})
        assert run("record", "pattern", "add", "--id", name, "--data", data).code == 0
    file = tmp_path / "work.jsonl"
    run("record", "export", "--to", file)
    head, first, second = (json.loads(line) for line in file.read_text().splitlines())
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (head, first, {**second, **damage})))
    other = tmp_path / "other"
    other.mkdir()
    plan = run("memory", "import", file, "--dry-run", "--json", "--workspace", other).json
    assert (plan["counts"]["new"], plan["counts"]["bad"]) == (1, 1)
    [problem] = plan["problems"]
    assert told in problem["what"]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in (head, first)))
    plan = run("memory", "import", file, "--dry-run", "--json", "--workspace", other).json
    assert "cut off" in plan["problems"][0]["what"]


def test_an_export_of_records_replaces_nothing_unasked_and_makes_no_empty_file(place, tmp_path, run):
    file = tmp_path / "work.jsonl"
    goal = ("record", "goal", "add", "--id", "g", "--data", '{"description": "Keep the site up"}')
    run(*goal)
    run("record", "goal", "delete", "g", "--yes")
    nothing = run("record", "export", "--to", file)
    assert "nothing to export" in nothing.out + nothing.err
    assert not file.exists()
    run(*goal)
    file.write_text("mine")
    refused = run("record", "export", "--to", file)
    assert (refused.code, file.read_text()) == (2, "mine")
    assert run("record", "export", "--to", file, "--force").out == f"Wrote 1 record to {file}: 1 goal.\n"
    assert file.read_text() != "mine"
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".work")] == []
