"""A memory whose workspace was renamed: it is named to whoever looks for it, and never taken for another's."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from nanomem_tui import open_workspace

pytestmark = pytest.mark.sqlite("the file itself")
TEXT = "Ana has two cats"
SAID = "of a workspace that is not this one"


@pytest.fixture(params=["workspace", "work"])
def workspace(tmp_path, request):
    """A workspace in an agent's home, with one item of ours."""
    made: Path = tmp_path / "home" / request.param
    (made / "memory").mkdir(parents=True)
    (made.parent / "config.json").write_text("{}")
    with open_workspace(made) as ws:
        ws.items.add(TEXT)
    return made


def texts(workspace):
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


def told(workspace):
    with open_workspace(workspace) as ws:
        return [problem.fix for problem in ws.doctor() if SAID in problem.what]


def test_a_renamed_workspace_is_told_of_its_memory_and_how_it_comes_back(workspace, run):
    brain = workspace.rename(workspace.with_name("brain"))
    place = ["--workspace", str(brain)]
    for command in (["memory", "list"], ["memory", "search", "--query", "cats"]):
        shown = run(*command, *place)
        assert SAID in shown.err
        assert str(workspace) in shown.err
        assert TEXT not in shown.out
    assert SAID in run("memory", "status", *place).out
    [fix] = told(brain)
    subprocess.run(shlex.split(fix.split("`")[1]), check=True)
    assert texts(workspace) == {TEXT}
    assert told(workspace) == []


def test_a_living_workspace_of_the_same_home_is_never_named(workspace):
    other = workspace.with_name("other")
    (other / "memory").mkdir(parents=True)
    assert told(other) == []
    with open_workspace(other) as ws:
        ws.items.add("of the other")
    assert texts(other) == {"of the other"}
    assert told(other) == told(workspace) == []


def test_a_home_that_was_moved_shows_its_memory(workspace):
    moved = workspace.parent.rename(workspace.parent.with_name("moved"))
    assert texts(moved / workspace.name) == {TEXT}
