"""`memory status` tells the journal, reflections and token use in counts, however little of them is read."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run
from tests.agents.test_llm_usage import call, made
from tests.store.homes import kill


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "home" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (tmp_path / "home" / "config.json").write_text("{}")
    return folder


@pytest.mark.parametrize("how", ["database", "ledger", "loaded"])
def test_status_counts_records_wherever_they_are(place, how, capsys):
    waiting = open_workspace(place)
    entry = waiting.journal.add("Moved the server")[1]
    waiting.journal.add("Moved it back")
    waiting.journal.delete([entry.id])
    waiting.reflections.add("exec", "", "no", "ask")
    waiting.usage.add("dream", "m", 10, 5, requests=2)
    if how == "database":
        waiting.flush()
    made(place.parent / "llm_usage.sqlite3", call("2026-03-02T10:00:00+00:00"), call("2026-03-01T10:00:00+00:00"))
    with open_workspace(place) as ws:
        if how == "loaded":
            ws.journal.entries()
        status = ws.status()
    assert (status["journal"], status["reflections"]) == (1, 1)
    assert status["usage"] == {"requests": 4, "total_tokens": 45, "by_origin": {"nanomem": 15, "agent": 30}}
    assert json.loads(json.dumps(status)) == status
    assert run(["memory", "status", "--workspace", str(place)]) == 0
    assert "45 in 4 requests (nanomem 15, agent 30)" in capsys.readouterr().out
    kill(waiting)


def test_status_of_a_workspace_without_any_says_nothing_of_them(place, capsys):
    with open_workspace(place) as ws:
        status = ws.status()
    assert status["usage"] == {"requests": 0, "total_tokens": 0, "by_origin": {}}
    assert run(["memory", "status", "--workspace", str(place)]) == 0
    out = capsys.readouterr().out
    assert "Journal" not in out
    assert "Tokens" not in out


@pytest.mark.slow
def test_status_of_the_imported_sample(sample_copy):
    base = sample_copy("crystal") / "home" / ".nanobot"
    place = base / "workspace"
    (place / "memory").mkdir(parents=True, exist_ok=True)
    assert run(["memory", "import", str(base / "memory.db"), "--yes", "--workspace", str(place)]) == 0
    with open_workspace(place) as ws:
        status = ws.status()
    assert (status["journal"], status["reflections"]) == (45, 20)
    assert status["usage"] == {"requests": 60, "total_tokens": 540_000, "by_origin": {"import": 540_000}}


def test_a_log_that_cannot_be_read_is_a_problem_and_the_rest_is_told(place):
    (place.parent / "llm_usage.sqlite3").write_bytes(b"torn" * 1000)
    with open_workspace(place) as ws:
        ws.usage.add("dream", "m", 10, 5)
        status = ws.status()
    assert status["usage"]["by_origin"] == {"nanomem": 15, "agent": 0}
    assert [problem["where"] for problem in status["problems"]] == ["llm_usage.sqlite3"]
