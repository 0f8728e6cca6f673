"""Every question that we ask a model is counted, under the source that asked it, whatever became of the answer."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run
from nanomem_tui.core.errors import ModelError
from tests.dreams.test_consolidator import KEY, Home, asked
from tests.model.dreams import PORT, step, study, with_a_fact
from tests.model.server import says, status


@pytest.fixture
def workspace(sample_copy):
    return with_a_fact(sample_copy("nb035") / "home" / ".nanobot" / "workspace")


def counted(ws):
    return [
        (row.source, row.prompt_tokens, row.completion_tokens, row.requests, row.cost)
        for row in ws.usage.rows()
        if row.origin == "nanomem"
    ]


@pytest.mark.slow
def test_a_dream_is_counted_and_taking_it_back_gives_no_tokens_back(workspace, endpoint):
    endpoint(study(), step(PORT))
    with open_workspace(workspace) as ws:
        ws.dream.run(dreamer="model", max_batch_size=1)
        assert counted(ws) == [("dream", 3000, 200, 2, pytest.approx(0.008))]
        ws.undo()
        assert "8443" not in ws.documents.read("memory/MEMORY.md")
        assert counted(ws) == [("dream", 3000, 200, 2, pytest.approx(0.008))]


def test_a_dream_that_fails_is_counted_too(workspace, endpoint):
    endpoint(study(), status(401, "no"))
    with open_workspace(workspace) as ws:
        with pytest.raises(ModelError):
            ws.dream.run(dreamer="model", max_batch_size=1)
        assert [row[:4] for row in counted(ws)] == [("dream", 1000, 100, 1)]


def test_a_dry_run_changes_no_byte_and_a_proposal_for_review_is_counted(workspace, endpoint):
    endpoint(study(), step(PORT), study(), step(PORT))
    line = ["dream", "run", "--dreamer", "model", "--max-batch-size", "1", "--dry-run", "--workspace", str(workspace)]
    assert run(line) == 0
    assert not (workspace.parent / "nanomem").exists()
    with open_workspace(workspace) as ws:
        ws.dream.run(dreamer="model", max_batch_size=1, dry_run=True)
        assert [row[:2] for row in counted(ws)] == [("dream", 3000)]


@pytest.mark.slow
def test_dreams_of_the_rules_cost_nothing_and_are_not_counted(workspace):
    with open_workspace(workspace) as ws:
        ws.dream.run(dreamer="rules", max_batch_size=1)
        assert counted(ws) == []


def test_a_summary_of_the_consolidator_is_counted(tmp_path, endpoint, monkeypatch):
    home = Home(tmp_path)
    home.write(asked(12, m0="I moved to City0 last week."))
    facts = [{"text": "The user moved to City0 last week", "message": 0, "mark": "durable"}]
    answer = says({"facts": facts}, usage={"prompt_tokens": 90, "completion_tokens": 9})
    endpoint(answer, answer)
    line = ["consolidate", KEY, "--budget", "800", "--dreamer", "model", "--workspace", str(home.workspace)]
    assert run([*line, "--dry-run"]) == 0
    with open_workspace(home.workspace) as ws:
        assert counted(ws) == []
    assert run([*line, "--yes"]) == 0
    with open_workspace(home.workspace) as ws:
        assert [row[:4] for row in counted(ws)] == [("consolidate", 90, 9, 1)]
