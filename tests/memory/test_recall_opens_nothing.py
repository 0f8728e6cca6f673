"""Recall from RAM opens and reads no file: told by the interpreter, and by a kernel that ends a process that tries."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memory import only_computing
from tests.store.homes import make_home

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, os, sys
from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.memory.scopes import Audience
from tests.memory import only_computing
seen = []
watched = ("open", "os.", "sqlite3.", "import", "socket.", "subprocess.", "mmap.")
with open_workspace(sys.argv[1]) as ws:
    recall = Recall(ws.store, Settings())
    recall.warm(background=False)
    recall.ask(Question("itme numbr", "", Audience("telegram", "12345")))
    ws.items.add("more coding words")
    sys.addaudithook(lambda name, args: seen.append(name) if name.startswith(watched) else None)
    if sys.argv[2] != "audit":
        only_computing.from_now_on()
    seen.clear()
    found = 0
    for query in ("item number", "nubmer of coding wrods", "小满"):
        for profile in ("default", "seed000", "seed001"):
            asked = recall.ask(Question(query, "words", Audience("telegram", "12345", "7"), profile=profile))
            assert asked.backend == "ram"
            found += len(asked.hits)
    os.write(1, json.dumps({"found": found, "seen": seen}).encode() + b"\\n")
    if sys.argv[2] == "open":
        open(sys.argv[1] + "/SOUL.md")
    if sys.argv[2] == "look":
        os.path.exists(sys.argv[1])
    if sys.argv[2] != "audit":
        os._exit(0)
"""


def asked(workspace, how):
    """How the program ended and its report."""
    line = [sys.executable, "-c", PROGRAM, str(workspace), how]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)
    if only_computing.NO_FILTER in done.stderr:
        pytest.skip(only_computing.NO_FILTER)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.sqlite("a server is asked whether anybody wrote")
def test_the_interpreter_tells_of_no_file(tmp_path):
    code, report = asked(make_home(tmp_path, items=30), "audit")
    assert code == 0
    assert json.loads(report)["found"] > 0
    assert json.loads(report)["seen"] == []


@pytest.mark.slow
@pytest.mark.sqlite("a server is asked whether anybody wrote")
@pytest.mark.skipif(not only_computing.possible(), reason="this kernel cannot confine a process to computing")
@pytest.mark.parametrize(("how", "code"), [("only", 0), ("open", -signal.SIGSYS), ("look", -signal.SIGSYS)])
def test_a_question_makes_no_system_call_but_of_memory_and_locks(tmp_path, how, code):
    """And had it opened a file, or looked whether there is one, it would have been ended."""
    ended, report = asked(make_home(tmp_path, items=30), how)
    assert json.loads(report)["found"] > 0
    assert ended == code
