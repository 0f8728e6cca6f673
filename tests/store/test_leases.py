"""One of all processes does a piece of work; who dies lets go of it when its lease lapses."""

import os
import signal
import subprocess
import sys
import time

import pytest

from nanomem_tui.store.database import bookkeeping
from tests.store.stores import PROCESS, open_store

HOLD = """
import time
from nanomem_tui.store.database import bookkeeping
with bookkeeping.lease(store.database, "dream", seconds=1.5) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def test_only_one_gets_a_piece_of_work_and_the_next_when_it_is_done(store, folder):
    other = open_store(folder)
    with bookkeeping.lease(store.database, "dream") as mine:
        assert mine
        with (
            bookkeeping.lease(other.database, "dream") as theirs,
            bookkeeping.lease(other.database, "archive") as something_else,
        ):
            assert (theirs, something_else) == (False, True)
    with bookkeeping.lease(other.database, "dream") as theirs:
        assert theirs
    other.close()


def test_a_lease_is_renewed_while_the_work_goes_on(store):
    with bookkeeping.lease(store.database, "dream", seconds=0.6) as mine:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            with bookkeeping.lease(store.database, "dream") as again:
                assert (mine, again) == (True, False)
            time.sleep(0.1)


@pytest.mark.slow
def test_the_lease_of_a_killed_process_lapses(store, folder):
    with subprocess.Popen([sys.executable, "-c", PROCESS + HOLD, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        os.kill(process.pid, signal.SIGKILL)
    with bookkeeping.lease(store.database, "dream") as mine:
        assert not mine
    time.sleep(1.6)
    with bookkeeping.lease(store.database, "dream") as mine:
        assert mine


@pytest.mark.slow
def test_of_processes_that_ask_in_the_same_moment_one_gets_it(store, folder):
    ask = PROCESS + "import time\n" + HOLD.replace("60", "3")
    command = [sys.executable, "-c", ask, str(folder)]
    made = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    said = sorted(process.communicate(timeout=60)[0] for process in made)
    assert said == [b"False\n", b"False\n", b"False\n", b"True\n"]


def test_a_lease_is_no_change_of_the_memory(store):
    before = store.load().counter
    with bookkeeping.lease(store.database, "dream"):
        assert not store.refresh()
    assert (store.snapshot.counter, store.log()) == (before, [])
