"""A shell completes commands, options and the things of a workspace; and the manual page is what the commands say."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nanomem_tui.cli.commands.config import manual
from nanomem_tui.cli.main import root
from nanomem_tui.workspace import open_workspace

ROOT = Path(__file__).resolve().parents[2]
Complete = Callable[..., list[str]]


def asked(workspace, *words):
    """What the program offers a bash for a line that ends in its last word."""
    given = {"PYTHONPATH": str(ROOT), "NANOMEM_WORKSPACE": str(workspace), "HOME": str(workspace.parent)}
    line = {"_NANOMEM_COMPLETE": "bash_complete", "COMP_WORDS": "nanomem " + " ".join(words)}
    done = subprocess.run(
        [sys.executable, "-m", "nanomem_tui"],
        env={**given, **line, "COMP_CWORD": str(len(words))}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.fixture
def completed(workspace):
    """What is offered on a small home."""
    return partial(asked, workspace)


@pytest.mark.slow
def test_commands_options_screens_and_settings_are_completed(completed):
    assert {"consolidate", "context", "config", "completion"} <= set(completed("co"))
    assert "--dry-run" in completed("memory", "compact", "--d")
    assert completed("--snapshot", "sess") == ["sessions"]
    assert "max_items" in completed("config", "set", "max_i")


@pytest.mark.slow
def test_things_of_the_workspace_are_completed(completed, workspace):
    with open_workspace(workspace) as ws:
        _, item, _ = ws.items.add("a window seat")
    assert item.id in completed("memory", "show", "ltm_")
    assert item.id in completed("memory", "delete", item.id[:-2])
    assert completed("memory", "show", "nothing_begins_so") == []
    assert all(key.startswith("op_") for key in completed("undo", "op_"))


def test_a_key_that_a_shell_would_run_is_never_offered(ramfirst):
    with open_workspace(ramfirst) as ws:
        known = ws.sessions.list()[0]
        file = Path(known.path).with_name("cli_$(touch x).jsonl")
        file.write_bytes(Path(known.path).read_bytes())
    with open_workspace(ramfirst) as ws:
        assert any("$(touch x)" in one.key for one in ws.sessions.list())
    offered = asked(ramfirst, "session", "show", "")
    assert known.key in offered
    assert not any("$" in key for key in offered)


def test_nothing_is_said_where_there_is_no_workspace(completed):
    assert completed("--workspace", "/nowhere", "memory", "show", "ltm") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one_that_it_reads(shell, run):
    script = run("completion", shell).out
    assert "_NANOMEM_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=30)


def test_the_manual_tells_every_command_and_holds_no_request_of_a_text():
    page = manual(root)
    for command in ("memory add", "session compact", "dream restore", "undo", "serve web", "completion"):
        assert f'\n.SS "{command.replace("-", chr(92) + "-")}' in page
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi"}


def test_the_manual_is_read_by_man_without_a_warning():
    if shutil.which("groff") is None:
        return
    done = subprocess.run(
        ["groff", "-K", "utf8", "-man", "-Tutf8", "-ww"],
        input=manual(root),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
