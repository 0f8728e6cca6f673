"""`kill -9` at every step of changes of an agent's records: all of a change or none; nothing acknowledged is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.workspace import Workspace
from tests.crash.harness import Action, Steps, act, run_in_child
from tests.store.homes import make_home

TIMES = ("created_at", "completed_at", "last_used", "timestamp")
Look = dict[str, Any]

WORK: list[Action] = [
    lambda ws: ws.records.store("procedure", {"name": "restart", "description": "Restart nginx"}, "p1"),
    lambda ws: ws.records.store_many(
        [NewRecord("goal", {"description": "Keep the site up"}, "g1")]
        + [NewRecord("task", {"description": f"look at disk {n}", "goal_id": "g1"}, f"t{n}") for n in range(5)]
    ),
    lambda ws: ws.records.store("task", {"status": "completed", "procedure_id": "p1", "duration_ms": 5}, "t1"),
    lambda ws: ws.records.add("incident", {"description": "nginx answers 502"}, "i1"),
    lambda ws: ws.items.add("beside it"),
    lambda ws: ws.records.edit("incident", "i1", {"resolution": "more workers"}),
    lambda ws: ws.records.delete("task", ["t1", "t2"]),
    lambda ws: ws.undo(),
    lambda ws: ws.flush(),
    lambda ws: ws.redo(),
    lambda ws: ws.records.edit("goal", "g1", {"status": "completed"}),
    lambda ws: ws.close(),
]


def look(ws: Workspace) -> Look:
    """What a person sees, without times."""
    found: Look = {}
    for kind in KINDS:
        for record in ws.records.of(kind):
            found[record.key] = {name: value for name, value in record.fields.items() if name not in TIMES}
    for words in ("disk", "nginx", "workers"):
        found[words] = sorted(hit.record.key for hit in ws.records.search(words))
    return found


def looks_of(workspace: Path) -> list[Look]:
    ws = open_workspace(workspace)
    seen = [look(ws)]
    for action in WORK:
        act(ws, action)
        seen.append(look(ws) if action is not WORK[-1] else seen[-1])
    return seen


def copied(saved: Path, base: Path, name: str) -> Path:
    shutil.copytree(saved.parents[1], base / name)
    return base / name / "home" / "workspace"


def sweep(tmp_path: Path, every: int) -> int:
    """Kill at every n-th step; returns how many kills there were."""
    saved = make_home(tmp_path / "saved")
    seen = looks_of(copied(saved, tmp_path, "model"))
    _, total = run_in_child(copied(saved, tmp_path, "count"), WORK, Steps())
    assert total > 100
    kills = 0
    for place in range(1, total + 1, every):
        for where in ("before", "inside", "after") if every == 1 else ("before", "after")[place % 2 :][:1]:
            workspace = copied(saved, tmp_path, "trial")
            acknowledged, finished = run_in_child(workspace, WORK, Steps(at=place, where=where))
            kills += not finished
            told = f"killed {where} step {place} of {total}, {acknowledged} acknowledged"
            with open_workspace(workspace) as ws:
                found = look(ws)
                assert found in seen[acknowledged : acknowledged + 2], told
                ws.records.add("incident", {"description": "after the kill"}, "later")
                after = look(ws)
                assert after.pop("incident/later"), told
                assert after in (found, *seen[acknowledged : acknowledged + 2]), told
                assert ws.problems() == [], told
            with open_workspace(workspace) as ws:
                ws.undo()
                assert look(ws) == after, told
            shutil.rmtree(tmp_path / "trial")
    return kills


@pytest.mark.crash
def test_a_kill_at_a_spread_of_steps(tmp_path: Path) -> None:
    assert sweep(tmp_path, every=9) > 10


@pytest.mark.crash
@pytest.mark.long
def test_a_kill_at_every_step(tmp_path: Path) -> None:
    assert sweep(tmp_path, every=1) > 300
