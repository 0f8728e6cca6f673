"""A `forget` that is killed at any file: nothing of it came back, nothing else is lost, and again it finishes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
KILLED = """
import os, sys
from nanomem_tui.store import atomic
left, name = [int(sys.argv[1])], sys.argv[2]
def once(real):
    def call(*args, **given):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), 9)
        return real(*args, **given)
    return call
os.replace, os.unlink, os.fsync = once(os.replace), once(os.unlink), once(os.fsync)
from nanomem_tui.cli.main import run
sys.exit(run(sys.argv[2:]))
"""


def killed(at: int, *line: str) -> int:
    """Run a command line that is killed before its file operation number `at`; its exit code, -9 when it was."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(at), *line], capture_output=True, text=True, env={**os.environ}, check=False
    )
    assert done.returncode in (0, 1, -9), done.stderr  # 1: something is left, as nobody asked for all
    return done.returncode


@pytest.mark.parametrize("first", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_step_the_same_command_finishes(first: int, home: Callable[[str], Path], run: Run) -> None:
    workspace = home("nb035")
    planted.plant(workspace, run)
    kept = {one["id"]: one for one in run("memory", "list", "--json").json if planted.WORD not in one["text"]}
    line = ("forget", "--text", planted.TEXT, "--git", "--backups", "--yes")
    at, step = first, 17 if first == 3 else 2
    while killed(at, *line) == -9:
        at += step
        refused = run("memory", "add", "--text", planted.TEXT)
        assert refused.code in (0, 2)  # 0: killed before anything was decided
        if refused.code == 0:
            run("undo")
    assert at > 20
    assert planted.holding(workspace.parent) == []
    assert {one["id"]: one for one in run("memory", "list", "--json").json} == kept
    assert run("doctor").code == 0
    planted.git(workspace, "fsck", "--full")
