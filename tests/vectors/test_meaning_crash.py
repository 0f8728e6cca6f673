"""`kill -9` anywhere while items are embedded: what was committed is whole, and the next process goes on from there."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.vectors import semantic_search as service
from nanomem_tui.vectors.collection import VectorFile
from nanomem_tui.vectors.semantic_search import SemanticSearch
from tests.crash.harness import Steps, run_in_child
from tests.vectors.fakes import Words, made

ITEMS = 7


class Statements(Steps):
    """Steps of which every statement of a connection is one, in whatever way it is asked for."""

    def _stepping(self):
        step = self._step

        class Connection(sqlite3.Connection):
            def execute(self, statement, *values):
                step(statement[:12])
                return super().execute(statement, *values)

            def executemany(self, statement, values):
                step(statement[:12])
                return super().executemany(statement, values)

        return Connection


def embed(ws):
    SemanticSearch(ws.store, ws.settings, made(Words())).sync()


def of_another_model(ws):
    SemanticSearch(ws.store, ws.settings, made(Words("older", 32))).sync()


def table(workspace):
    with closing(sqlite3.connect(workspace.parent / "nanomem" / "vectors.db")) as connection:
        return connection.execute("SELECT key, model, text_hash, vector FROM vectors ORDER BY 1, 2").fetchall()


def copied(workspace, base, name):
    shutil.copytree(workspace.parent, base / name)
    return base / name / workspace.name


def sweep(workspace, base, every):
    """Kill at every n-th step of re-embedding for another model; how many kills there were."""
    with open_workspace(workspace) as ws:
        of_another_model(ws)
    with open_workspace(copied(workspace, base, "whole")) as ws:
        embed(ws)
        whole = table(ws.paths.workspace)
    assert {row[1] for row in whole} == {"words-1"}
    _, total = run_in_child(copied(workspace, base, "count"), [embed], Statements())
    assert total > 20
    kills = 0
    for place in range(1, total + 1, every):
        trial = copied(workspace, base, "trial")
        _, steps = run_in_child(trial, [embed], Statements(at=place, where=("before", "inside", "after")[place % 3]))
        kills += steps == 0
        with open_workspace(trial) as ws:
            file = VectorFile(ws.paths.vectors)
            assert file.is_whole() or not file.path.exists(), f"killed at step {place}"
            there = sum(count.rows for count in file.counts(["items"]) if count.model == "words-1")
            words = Words()
            assert SemanticSearch(ws.store, ws.settings, made(words)).sync() == ITEMS - there
            assert len(words.asked) == ITEMS - there, "what was committed is not embedded again"
            assert not [problem for problem in ws.problems() if problem.severity == "error"]
        assert table(trial) == whole, f"killed at step {place}"
        shutil.rmtree(base / "trial")
    return kills


@pytest.mark.crash
def test_a_kill_at_a_spread_of_steps_costs_what_was_not_committed(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    assert sweep(workspace, tmp_path / "trials", every=4) > 5


@pytest.mark.crash
def test_a_kill_at_every_step_costs_what_was_not_committed(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(service, "BATCH", 2)
    assert sweep(workspace, tmp_path / "trials", every=1) > 20
