"""Facts out of dialogue by a process that is killed at every step: all of a run is kept or none, and nothing twice."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.facts.crystallize import Decision
from nanomem_tui.workspace import Workspace
from tests.crash.harness import Action, Steps, run_in_child
from tests.facts.talking import talking, values

WHERE = ("before", "inside", "after")
SAID = ("I live in Rome", "I prefer tea", "I'm allergic to nuts")


class Seen(NamedTuple):
    """The facts, what waits, and what is proposed anew."""

    facts: dict[str, str]
    waiting: list[str]
    new: list[str]


def seen(ws: Workspace) -> Seen:
    new = [one.proposal.key for one in ws.crystallizer.plan().judged if one.verdict == "new"]
    return Seen(values(ws), [one.text for one in ws.inbox.list()], new)


def crystallize(ws: Workspace) -> None:
    """One is kept, one waits, one is rejected."""
    plan = ws.crystallizer.plan()
    fresh = [one for one in plan.open if one.verdict == "new"]
    answers = {"lives in": "keep", "tea": "inbox", "nuts": "reject"}
    ws.crystallizer.keep(plan, [Decision(one, answers[one.proposal.key]) for one in fresh])  # type: ignore[arg-type]


def kill_a_run(tmp_path: Path, every: int) -> int:
    """Kill at every n-th step; returns how many kills there were."""
    saved = talking(tmp_path / "saved", cli_direct=SAID)
    actions: list[Action] = [crystallize, lambda ws: ws.close()]
    nothing = Seen({}, [], ["lives in", "tea", "nuts"])
    everything = Seen({"lives in": "Rome"}, ["tea: prefers"], [])

    def copied(name: str) -> Path:
        return Path(shutil.copytree(saved.parent, tmp_path / name)) / "workspace"

    _, total = run_in_child(copied("count"), actions, Steps())
    assert total > 20
    kills = 0
    for place in range(1, total + 1, every):
        workspace = copied("trial")
        where = WHERE[(place // every) % 3]
        _, finished = run_in_child(workspace, actions, Steps(at=place, where=where))
        kills += not finished
        with open_workspace(workspace) as ws:
            assert seen(ws) in (nothing, everything), f"killed {where} step {place} of {total}"
            crystallize(ws)
            assert seen(ws) == everything
            assert len([entry for entry in ws.log() if entry.operation.kind == "crystallize"]) == 1
        with open_workspace(workspace) as ws:
            assert seen(ws) == everything
            assert ws.crystallizer.plan(new_only=True).dialogue.messages == 0
            ws.undo()
            assert seen(ws) == nothing
        shutil.rmtree(tmp_path / "trial")
    return kills


@pytest.mark.crash
def test_a_run_killed_at_a_spread_of_steps(tmp_path: Path) -> None:
    assert kill_a_run(tmp_path, every=5) > 5


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.long
def test_a_run_killed_at_every_step(tmp_path: Path) -> None:
    assert kill_a_run(tmp_path, every=1) > 30
