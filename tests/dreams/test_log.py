"""The log of Dreams: what the ledger holds of those of ours stands beside what the commit says."""

import json
import shutil
from dataclasses import replace

import pytest

from nanomem_tui.core.paths import find_workspace
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.dreams.rules import RulesDreamer
from nanomem_tui.model.client import Usage
from nanomem_tui.workspace import open_workspace


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace with two entries, and a Dreamer that used a model and gave up one edit."""
    real = RulesDreamer.propose

    def propose(dreamer, *arguments, **named):
        proposal = real(dreamer, *arguments, **named)
        edit, usage = proposal.edits[0], Usage(2, 100, 20, 0.5, 3.0, "qwen")
        return replace(proposal, refused=(Refusal(edit, "too bold"),), usage=usage, analysis="They like tea.")

    monkeypatch.setattr(RulesDreamer, "propose", propose)
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    rows = [
        {"cursor": n, "timestamp": "2026-04-03 00:02", "content": f"- [permanent] User likes {what}"}
        for n, what in enumerate(("tea", "cake"), 1)
    ]
    (folder / "memory" / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def dream(ws, size):
    done = ws.dream.run(max_batch_size=size)
    assert done.sha is not None
    return done.sha


def test_tokens_cost_refused_and_dreamer_are_those_of_the_operation(workspace):
    with open_workspace(workspace) as ws:
        first, second = dream(ws, 1), dream(ws, 1)
    with open_workspace(workspace) as ws:
        runs = ws.dream.runs()
        assert [run.sha for run in runs] == [second, first]
        assert {(run.tokens, run.cost, run.refused, run.dreamer) for run in runs} == {(120, 0.5, 1, "rules")}
        assert list(runs[0].to_json())[-4:] == ["tokens", "cost", "refused", "dreamer"]
        metas = [ws.dream.recorded().meta_of(commit) for commit in ws.dream.commits() if commit.is_dream]
        assert [str(meta["commit"]).split("\n")[-1] for meta in metas if meta] == ["Entries 2 to 2.", "Entries 1 to 1."]
        assert all(meta and meta["analysis"] == "They like tea." for meta in metas)


@pytest.mark.sqlite("two homes of one id, which share a store on a server")
def test_a_commit_that_no_operation_made_has_none_of_it(workspace):
    with open_workspace(workspace) as ws:
        dream(ws, 2)
        ws.documents.edit("USER.md", "# User\n")
        edit = ws.dream.commits()[0]
        assert not edit.is_dream
        assert ws.dream.recorded().meta_of(edit) is None
    shutil.rmtree(find_workspace(workspace).data)
    with open_workspace(workspace) as ws:
        run = ws.dream.runs()[0]
        assert (run.tokens, run.cost, run.refused, run.dreamer) == (None, None, None, None)
