"""An export that is cut off once a file is written: nobody takes it for the agent's work, whatever was done since."""

import signal
import subprocess
import sys

import pytest

from nanomem_tui import open_workspace
from tests.store.homes import Agent, make_home

pytestmark = pytest.mark.slow

KILLED_BEHIND_A_FILE = """
import os, signal, sys
from nanomem_tui import open_workspace

ws = open_workspace(sys.argv[1])
ws.items.edit("ltm_1", text="second")
ws.items.set_enabled(["ltm_2"], False)
ws.lessons.set_enabled(["lesson_1"], False)
print("committed", flush=True)
sys.stdin.readline()
replace = os.replace

def killing(source, target):
    replace(source, target)
    if os.path.basename(target) == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

os.replace = killing
ws.flush()
"""


@pytest.mark.parametrize("name", ["LTM_SNAPSHOT.json", "LESSONS.jsonl"])
def test_what_was_done_since_stands_and_nothing_is_told_of_the_agent(tmp_path, name):
    workspace = make_home(tmp_path)
    other = open_workspace(workspace)
    other.items.set_pinned(["ltm_4"], True)
    other.flush()
    line = [sys.executable, "-c", KILLED_BEHIND_A_FILE, workspace, name]
    with subprocess.Popen(line, stdin=-1, stdout=-1, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "committed\n"
        other.store.see_others()
        killed.communicate("\n")
    assert killed.returncode == -signal.SIGKILL
    other.items.edit("ltm_1", text="third")
    other.items.set_enabled(["ltm_2"], True)
    other.lessons.set_enabled(["lesson_1"], True)
    other.close()
    with open_workspace(workspace) as ws:
        ws.items.add("one more")
        rows = {row.id: row for row in ws.items.all()}
        assert (rows["ltm_1"].text, rows["ltm_1"].meta, bool(rows["ltm_2"].enabled)) == ("third", {}, True)
        assert ws.lessons.get("lesson_1").enabled
        assert "agent.changed" not in {entry.operation.kind for entry in ws.log()}
    assert Agent(workspace).items["ltm_1"]["text"] == "third"
