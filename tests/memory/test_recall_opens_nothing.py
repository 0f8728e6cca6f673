"""Recall from RAM opens and reads no file: told by the interpreter, and by a trace of its system calls."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.homes import make_home

BEGIN, END = "asking begins", "asking ended"
PROGRAM = f"""
import json, os, sys
from nanomem_tui import open_workspace
from nanomem_tui.config import Settings
from nanomem_tui.memory.recall import Question, Recall
from nanomem_tui.memory.scopes import Audience
seen = []
watched = ("open", "os.", "sqlite3.", "import", "socket.", "subprocess.", "mmap.")
with open_workspace(sys.argv[1]) as ws:
    recall = Recall(ws.store, Settings())
    recall.warm(background=False)
    recall.ask(Question("itme numbr", "", Audience("telegram", "12345")))
    ws.items.add("more coding words")
    sys.addaudithook(lambda name, args: seen.append(name) if name.startswith(watched) else None)
    os.write(1, b"{BEGIN}\\n")
    seen.clear()
    found = 0
    for query in ("item number", "nubmer of coding wrods", "小满"):
        for profile in ("default", "seed000", "seed001"):
            asked = recall.ask(Question(query, "words", Audience("telegram", "12345", "7"), profile=profile))
            assert asked.backend == "ram"
            found += len(asked.hits)
    told = json.dumps({{"found": found, "seen": seen}})
    os.write(1, b"{END}\\n" + told.encode() + b"\\n")
"""
# What an interpreter needs to compute: memory, locks between its threads, the time.
COMPUTING = re.compile(
    r"(?:brk|munmap|mremap|madvise|mprotect|futex|sched_yield|clock_\w+|gettimeofday|rt_sig\w+|mmap\(.*MAP_ANONYMOUS)\b"
)


def asked(workspace: Path, *before: str) -> str:
    """What the program prints; its last line is a report."""
    line = [*before, sys.executable, "-c", PROGRAM, str(workspace)]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def test_the_interpreter_tells_of_no_file(tmp_path: Path) -> None:
    report = json.loads(asked(make_home(tmp_path, items=30)).splitlines()[-1])
    assert report["found"] > 0
    assert report["seen"] == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_system_calls_of_a_question_are_none_but_of_memory_and_locks(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    try:
        out = asked(make_home(tmp_path, items=30), "strace", "-f", "-s", "64", "-o", str(log))
    except subprocess.CalledProcessError as error:
        if "ptrace" in error.stderr:
            pytest.skip("no process may be traced here")
        raise
    assert json.loads(out.splitlines()[-1])["found"] > 0
    calls = [line.split(maxsplit=1)[1] for line in log.read_text(encoding="utf-8").splitlines()]
    assert any(call.startswith(("openat", "open(")) for call in calls), "the trace saw the workspace being opened"
    first = next(at for at, call in enumerate(calls) if call.startswith("write(1") and BEGIN in call)
    last = next(at for at, call in enumerate(calls) if call.startswith("write(1") and END in call)
    # A call that another thread cut in two is told as "<... name resumed>" the second time.
    within = [call.removeprefix("<... ") for call in calls[first + 1 : last]]
    assert [call for call in within if not COMPUTING.match(call)] == []
