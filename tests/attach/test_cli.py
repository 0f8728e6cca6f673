"""`nanomem attach`: one command that becomes the agent's, and what it says when there is nothing to start."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.homes import make_home

ROOT = Path(__file__).resolve().parents[2]

SHOW = """#!{python}
import json, os, sys
print(json.dumps({{"argv": sys.argv[1:], "pid": os.getpid(), "env": dict(os.environ)}}))
"""


@pytest.fixture
def nanomem(tmp_path):
    """Runs the command line beside an agent that only shows how it was started."""
    workspace = make_home(tmp_path)
    program = tmp_path / "bin" / "nanobot"
    program.parent.mkdir()
    program.write_text(SHOW.format(python=sys.executable))
    program.chmod(0o755)

    def run(*arguments, **extra):
        env = {
            "HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
            "NANOMEM_WORKSPACE": str(workspace), **extra,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "nanomem_tui", "attach", *arguments],
            env=env, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr, workspace

    return run


def test_run_becomes_the_agent_with_its_own_arguments(nanomem):
    code, out, err, workspace = nanomem("run", "agent", "-m", "hello there", "--json")
    shown = json.loads(out)
    assert (code, err, shown["argv"]) == (0, "", ["agent", "-m", "hello there", "--json"])
    assert Path(shown["env"]["NANOMEM_ATTACH"], "startup", "sitecustomize.py").is_file()
    assert shown["env"]["NANOMEM_WORKSPACE"] == str(workspace)
    assert "websocket" in shown["env"]["NANOMEM_CAPTURE_CHANNELS"].split(",")


def test_a_workspace_of_an_agent_that_is_not_on_the_path_is_told(nanomem, sample_copy):
    home = sample_copy("nb035") / "home" / ".nanobot"
    code, out, *_ = nanomem("status", PATH="/usr/bin:/bin", NANOMEM_WORKSPACE=str(home / "workspace"))
    assert code == 1
    assert "the workspace is that of nanobot 0.3" in out
    assert "--agent" in out


@pytest.mark.slow
def test_two_hyphens_and_nothing_at_all_are_understood(nanomem):
    assert json.loads(nanomem("run", "--", "agent", "--classic")[1])["argv"] == ["agent", "--classic"]
    assert json.loads(nanomem("run")[1])["argv"] == ["agent"]


def test_channels_that_were_chosen_stay(nanomem):
    shown = json.loads(nanomem("run", "agent", NANOMEM_CAPTURE_CHANNELS="telegram")[1])
    assert shown["env"]["NANOMEM_CAPTURE_CHANNELS"] == "telegram"


def test_without_an_agent_it_is_one_error_that_says_what_to_do(nanomem):
    code, out, err, _ = nanomem("run", "--agent", "/nowhere/nanobot")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--agent" in err
    code, out, err, _ = nanomem("status", "--agent", "/nowhere/nanobot")
    assert (code, err) == (1, "")
    assert "install nanobot-ai" in out


@pytest.mark.slow
def test_a_python_without_an_agent_is_none(nanomem):
    code, out, err, _ = nanomem("status", "--agent", sys.executable)
    assert (code, err) == (1, "")
    assert out.startswith(f"No agent: `{sys.executable}` is a Python without nanobot.\nTo do: ")
    assert json.loads(nanomem("status", "--agent", sys.executable, "--json")[1])["agent"] is None
    code, out, err, _ = nanomem("run", "--agent", sys.executable, "agent")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is a Python without nanobot" in err


@pytest.mark.slow
def test_status_asks_the_memory_as_the_hook_would(nanomem):
    code, out, err, _ = nanomem("status", "--json")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert said["agent"]["python"] == sys.executable
    assert said["memory"]["answers"] is True
    installed = {point.name for point in importlib.metadata.entry_points(group="nanobot.tools")}
    assert (said["running"], said["tool"]) == (None, "memory_recall" in installed)
    human = nanomem("status")[1]
    assert human.splitlines()[-1].startswith("Memory   answers")
