"""An undo of a Dream that is killed at every step: the cursor file is never ahead of the newest commit.

An entry that a Dream reads twice costs little; one that no Dream reads, since the cursor passed it, is lost.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents import git as agents_git
from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.store.files.layer import FileLayer
from nanomem_tui.workspace import Workspace
from tests.crash.harness import Action, Steps, run_in_child
from tests.crash.test_dream import FILES, WHERE, Seen, cursor_is_behind, look, prepared
from tests.store.git_samples import git, needs_git

pytestmark = needs_git
ACTIONS: list[Action] = [lambda ws: ws.undo(), lambda ws: ws.close()]


class Trial:
    """Copies of a workspace in which a Dream has run, and what it is before and after its undo."""

    def __init__(self, base: Path) -> None:
        self._base = base
        saved = prepared(base / "saved")
        with open_workspace(saved) as ws:
            assert ws.dream.run().files.keys() == set(FILES)
        self._inside = saved.relative_to(base / "saved")
        self.before = look(self.copy("before"))
        done = self.copy("after")
        with open_workspace(done) as ws:
            ws.undo()
        self.after = look(done)
        assert int(self.after.cursor) < int(self.before.cursor)

    def copy(self, name: str) -> Path:
        shutil.rmtree(self._base / name, ignore_errors=True)
        shutil.copytree(self._base / "saved", self._base / name)
        return self._base / name / self._inside

    def check(self, workspace: Path) -> Seen:
        """As it was or as it is to be, and ready for the next change, which finishes what was begun."""
        cursor_is_behind(workspace)
        with open_workspace(workspace) as ws:
            ws.documents.edit("SOUL.md", (ws.documents.read("SOUL.md") or "") + "- by hand\n")
            assert ws.problems() == []
        cursor_is_behind(workspace)
        found = look(workspace)
        assert found in (self.before, self.after)
        assert git(workspace, "fsck", "--strict", "--no-dangling") == ""
        return found


def kill_at(tmp_path: Path, every: int) -> int:
    """Kill the undo at every n-th step; how many kills there were."""
    trial = Trial(tmp_path)
    _, steps = run_in_child(trial.copy("count"), ACTIONS, Steps())
    assert steps > 40
    kills = 0
    for place in range(1, steps + 1, every):
        for where in WHERE if every == 1 else [WHERE[(place // every) % 3]]:
            workspace = trial.copy("trial")
            _, finished = run_in_child(workspace, ACTIONS, Steps(place, where))
            try:
                trial.check(workspace)
            except AssertionError as error:
                raise AssertionError(f"killed {where} step {place} of {steps}") from error
            kills += not finished
    return kills


@pytest.mark.parametrize(
    ("owner", "name"),
    [(FileLayer, "apply"), (GitHistory, "commit_files"), (agents_git, "stage"), (FileLayer, "commit_of")],
    ids=["recorded", "files written", "branch moved", "all done"],
)
def test_an_undo_that_is_killed_between_its_steps(tmp_path: Path, owner: Any, name: str) -> None:
    trial = Trial(tmp_path)
    workspace = trial.copy("trial")

    def undo(ws: Workspace) -> None:
        setattr(owner, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        ws.undo()
        os.kill(os.getpid(), signal.SIGKILL)

    assert run_in_child(workspace, [undo], Steps()) == (0, 0)
    found = trial.check(workspace)
    assert found == trial.after


@pytest.mark.crash
def test_an_undo_that_is_killed_at_a_spread_of_steps(tmp_path: Path) -> None:
    assert kill_at(tmp_path, 11) > 3


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.long
def test_an_undo_that_is_killed_at_every_step(tmp_path: Path) -> None:
    assert kill_at(tmp_path, 1) > 60
