"""A `forget` that is killed at any file: nothing of it came back, nothing else is lost, and again it finishes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from nanomem_tui.core.paths import find_workspace
from nanomem_tui.purge import stored_files
from nanomem_tui.store import forgotten
from tests.cli.conftest import Result
from tests.conftest import LONG
from tests.purge import planted

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
KILLED = """
import os, sys
from nanomem_tui.core import atomic
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


def killed(at, *line):
    """Run a command line that is killed before its file operation number `at`; its exit code, -9 when it was."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(at), *line], capture_output=True, text=True, env={**os.environ}, check=False
    )
    assert done.returncode in (0, 1, -9), done.stderr  # 1: something is left, as nobody asked for all
    return done.returncode


@pytest.mark.parametrize("first", [3, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.long])])
def test_killed_at_any_step_the_same_command_finishes(first, home, run):
    workspace = home("nb035")
    planted.plant(workspace, run)
    kept = {one["id"]: one for one in run("memory", "list", "--json").json if planted.WORD not in one["text"]}
    line = ("forget", "--text", planted.TEXT, "--backups", "--yes")
    at, step = first, 17 if first == 3 else 2
    while killed(at, *line) == -9:
        at += step
        refused = run("memory", "add", "--text", planted.TEXT)
        assert refused.code in (0, 2)  # 0: killed before anything was decided
        if refused.code == 0:
            run("undo")
    assert at > 20
    assert planted.outside_git(workspace.parent) == []
    assert {one["id"]: one for one in run("memory", "list", "--json").json} == kept
    assert run("doctor").code == 0


@pytest.mark.slow
def test_what_was_interrupted_is_told_and_ended_by_the_command_that_is_named(home, run):
    workspace = home("nb035")
    data, lift = workspace.parent / "nanomem", []
    told = []
    for at in range(1, 400, 6 if LONG else 12):
        planted.plant(workspace, run)
        run("memory", "flush")
        dead = killed(at, "forget", "--text", planted.TEXT, "--backups", "--yes") == -9
        if (data / "forgetting.json").exists():
            told.append(at)
            _is_told(data, run, "a forget was interrupted", "`nanomem forget --again --backups` ends it")
            other = run("forget", "--text", "another text", "--yes")
            assert (other.code, "`nanomem forget --again --backups` ends it; then" in other.err) == (2, True)
            assert run("forget", "--again", "--backups", "--yes").code == 1  # git
            assert planted.outside_git(workspace.parent) == []
        assert not (data / "forgetting.json").exists()
        assert run("doctor").code == 0
        lift = [one["id"] for one in run("forget", "--list", "--json").json if "lifted" not in one]
        for one in lift:
            assert run("forget", "--lift", one, "--yes").code == 0
        if not dead:
            break
    assert len(told) > (3 if LONG else 1)


def _is_told(data, run, what, way):
    assert planted.WORD.lower() not in (data / "forgetting.json").read_text().lower()
    kept = sorted((data / "quarantine").rglob("*"))
    for line, code in (
        (("doctor",), 1),
        (("forget", "--list"), 0),
        (("memory", "status"), 0),
    ):
        result = run(*line)
        assert (result.code, result.out.count(what), way in result.out) == (code, 1, True), (line, result.out)
        assert "Broken" not in result.out
        assert "--fix" not in result.out
    assert run("forget", "--list", "--json").json[0]["interrupted"] == way
    assert run("doctor", "--fix", "--yes").code == 1
    assert sorted((data / "quarantine").rglob("*")) == kept


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_mask_that_was_interrupted_is_told_too(home, run):
    workspace = home("nb035")
    data = workspace.parent / "nanomem"
    told = 0
    for at in range(2, 400, 4 if LONG else 7):
        run("memory", "add", "--text", f"the {planted.WORD} password: Zyq7Plugh{at}vv")
        run("memory", "flush")
        dead = killed(at, "scrub", "--mask", "--yes") == -9
        if (data / "forgetting.json").exists():
            told += 1
            _is_told(data, run, "masking secrets was interrupted", "`nanomem scrub --mask` ends it")
            assert run("forget", "--text", "another text", "--yes").code == 2
            assert run("scrub", "--mask", "--backups", "--yes").code in (0, 1)
        assert not (data / "forgetting.json").exists()
        assert run("doctor").code == 0
        if not dead:
            break
    assert told > (2 if LONG else 1)


class Killed(BaseException):
    """What nobody catches."""


@pytest.mark.parametrize("again", [("--again",), ("--session", "cli:direct")])
def test_what_goes_with_a_conversation_is_known_when_that_is_gone(again, home, run, monkeypatch):
    workspace = home("nb035")
    history = workspace / "memory" / "history.jsonl"
    session = next((workspace.parent / "sessions").rglob("Y2xpOmRpcmVjdA.jsonl"))
    mine = "My Quxwhalery hangar is in Friedrichshafen."
    said = {"role": "user", "content": mine, "timestamp": "2026-02-15T09:00:00"}
    entry = {"cursor": 900, "timestamp": "2026-02-15 09:00", "content": f"- Sam said: {mine}"}
    for path, line in ((session, said), (history, entry)):
        path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")
    clean = stored_files.clean

    def until(place, *args, **given):
        if place.path == history:
            raise Killed
        clean(place, *args, **given)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(stored_files, "clean", until)
        run("forget", "--session", "cli:direct", "--yes")
    assert (session.exists(), mine in history.read_text()) == (False, True)
    assert run("forget", *again, "--yes").code in (0, 1)
    assert planted.outside_git(workspace.parent) == []


def test_what_an_earlier_version_left_is_ended_by_a_command_that_there_is(workspace, run):
    paths = find_workspace(workspace)
    kept = forgotten.with_more(forgotten.NOTHING, "receipt-1", {"text": ["blue bike"]})
    begun = forgotten.Interrupted("forget", "receipt-1", "", {"text": 1}, ("--git", "--backups"), kept=kept)
    forgotten.begin_forgetting(paths, begun)
    told = run("forget", "--list", "--json").json[0]["interrupted"]
    assert told == "`nanomem forget --again --backups` ends it"
    assert run("forget", "--again", "--backups", "--yes").code == 0
    assert forgotten.read_interrupted(paths) is None
