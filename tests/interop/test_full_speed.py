"""The real agent writes at full speed in its process while a console edits, undoes, compacts and restores beside it:
nothing is lost on either side, and the agent's own reading finds all that it wrote."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict, NothingToDo, Refused
from tests.conftest import need

pytestmark = pytest.mark.interop

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("0.1.5", "0.2.2", "0.3.0", "0.3.5")
SECONDS = 6.0
KEY, MEMORY = "telegram:4711", "memory/MEMORY.md"


@pytest.fixture(params=RELEASES)
def python(request):
    found = ROOT / ".peers" / f"nanobot-{request.param}" / "bin" / "python"
    need(found.exists(), f"no nanobot-ai {request.param}: run `make peers`")
    return found


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return furnished(tmp_path)


def furnished(folder):
    """The folder as the home of an agent with a workspace, which is the default one."""
    workspace = folder / ".nanobot" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    for name in ("SOUL.md", "USER.md", MEMORY):
        (workspace / name).write_text(f"# {name}\n\n- first line\n", encoding="utf-8")
    config = {"agents": {"defaults": {"workspace": str(workspace)}}}
    (folder / ".nanobot" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def start(python, home, what):
    """The agent, under its own name."""
    program = home / "bin" / "nanobot"
    program.parent.mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests" / "interop" / "agent_at_work.py", program)
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    return subprocess.Popen(
        [python, program, what, str(home / ".nanobot" / "workspace")],
        stdin=-1, stdout=-1, stderr=-1, text=True, cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", **nowhere},
    )  # fmt: skip


@contextlib.contextmanager
def at_work(python, home):
    """The agent, which writes until its standard input ends."""
    process = start(python, home, "agent")
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "ready\n", process.communicate()[1][-4000:]
        yield process
    finally:
        process.kill()
        process.communicate()


class Console:
    """A person who is never tired, and what became of each thing that they did."""

    def __init__(self, ws):
        self._ws = ws
        self.items: list[str] = []
        self.lines: list[str] = []
        self.done: Counter[str] = Counter()

    def work(self, number):
        ws = self._ws
        item = ws.items.add(f"fact {number} of the person")[1]
        self.items.append(item.id)
        if number % 2 == 0:
            self._line(f"- line {number} of the person")
        if number % 3 == 0:
            ws.items.edit(item.id, text=f"fact {number} of the person, in other words")
            ws.undo()
        if number % 10 == 0:
            self._refused("session", lambda: ws.sessions.compact(KEY))
            self._refused("archive", lambda: ws.history_changes.compact(10))
            ws.items.compact(number // 2)
            ws.undo()
        if number % 25 == 0:
            ws.flush()

    def _line(self, line):
        shown = self._ws.documents.read(MEMORY) or ""
        try:
            self._ws.documents.edit(MEMORY, f"{shown}{line}\n", base=shown)
        except Conflict:  # told, and nothing was written
            self.done["told of a conflict"] += 1
        else:
            self.lines.append(line)

    def _refused(self, what, do):
        try:
            do()
        except (Refused, NothingToDo) as error:
            self.done[f"{what}: {type(error).__name__}"] += 1
        else:
            self.done[f"{what}: done"] += 1


class Both(NamedTuple):
    """What the agent was told is written, by sort; the person at the console, and the ids of the items afterwards; what
    the agent finds."""

    wrote: dict[str, list[str]]
    person: Console
    items: dict[str, str]
    found: dict[str, Any]

    def lost(self):
        """What one of the two was told is done, and is not there."""
        lost = [one for name, rows in self.wrote.items() for one in missing(rows, self.found[name])]
        return [*lost, *missing(self.person.lines, self.found["lines"]), *missing(self.person.items, self.items)]


def beside(python, home, seconds=SECONDS):
    """Both at work on the workspace of `home` (HOME) for so long."""
    workspace = home / ".nanobot" / "workspace"
    with at_work(python, home) as agent, open_workspace(workspace) as ws:
        assert ws.agent().running
        person = Console(ws)
        began, number = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            number += 1
            person.work(number)
        told, trouble = agent.communicate()
        assert agent.returncode == 0, trouble[-4000:]
    found = json.loads(start(python, home, "read").communicate()[0])
    with open_workspace(workspace) as ws:
        return Both(json.loads(told), person, {row.id: row.text for row in ws.items.all()}, found)


def test_nothing_is_lost_on_either_side(python, home):
    both = beside(python, home)
    wrote, person, found = both.wrote, both.person, both.found
    print({name: len(rows) for name, rows in wrote.items()}, len(person.items), len(person.lines), person.done)
    assert [entry for entry in found["entries"] if "of the agent" in entry] == wrote["entries"]
    assert found["cursors"] == sorted(set(found["cursors"]))
    assert found["messages"] == wrote["messages"]
    assert both.lost() == []
    assert [text for text in both.items.values() if "in other words" in text] == []


def missing(wanted, there):
    """Those that are not there."""
    with contextlib.suppress(TypeError):
        there = set(there)
    return [one for one in wanted if one not in there]
