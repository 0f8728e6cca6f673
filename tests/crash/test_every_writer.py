"""Every writer, at every file operation: killed before, inside and after it; the disk failing, full, or writing half;
and the power cut. `make crash` tries a spread of the operations, `make crash-long` all of them.

Where NANOMEM_CRASH_TABLE names a file, the number of faults of each writer is written to it as JSON.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import need
from tests.crash import shim, writers
from tests.crash.shim import FAILS, KILLS, Server
from tests.crash.trials import Bench
from tests.store.git_samples import needs_git

pytestmark = [pytest.mark.crash, needs_git]
SPREAD = 3
"""Steps of each writer and fault in the short form; the first and the last are among them."""
CUTS = 8


@pytest.fixture(scope="module")
def server():
    need(shim.can_be_made(), "a C compiler on Linux counts the calls")
    with Server() as started:
        yield started


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    base = tmp_path_factory.mktemp("full")
    writers.full_home(base)
    return base


def spread(steps, number, begin):
    """So many of the steps, evenly, and others for each fault."""
    gap = max(1, steps // number)
    return sorted({1 + (begin * gap // len(KILLS + FAILS) + gap * one) % steps for one in range(number)})


def report(name, tried):
    """Add what was tried of one writer to the table; nothing was lost, or its test would have failed."""
    if path := os.environ.get("NANOMEM_CRASH_TABLE"):
        with Path(path).open("a") as file:
            file.write(json.dumps({"writer": name, "tried": tried, "lost": 0}) + "\n")


def try_all(bench, number):
    """Let the writer meet every fault at so many of its steps (0: all of them); how many faults of each kind it met."""
    tried: Counter[str] = Counter()
    for begin, fault in enumerate((*KILLS, *FAILS)):
        for at in spread(bench.steps, number, begin) if number else range(1, bench.steps + 1):
            tried[fault] += bench.fault(fault, at)
    tried["power cut"] = bench.power_cuts(max(1, bench.calls // CUTS) if number else 1)
    return tried


@pytest.mark.parametrize("name", writers.WRITERS)
def test_a_spread_of_faults(name, full, tmp_path, server):
    bench = Bench(tmp_path, full, name, server)
    assert bench.steps >= writers.WRITERS[name].least
    tried = try_all(bench, SPREAD)
    assert min(tried[fault] for fault in KILLS) >= SPREAD - 1
    assert tried["EIO"] + tried["full"] >= 2
    assert tried["power cut"] >= CUTS


@pytest.mark.long
@pytest.mark.parametrize("name", writers.WRITERS)
def test_every_fault(name, full, tmp_path, server):
    bench = Bench(tmp_path, full, name, server)
    tried = try_all(bench, 0)
    report(name, tried)
    assert min(tried[fault] for fault in KILLS) >= bench.steps * 0.9  # a thread may have one step less
    assert tried["power cut"] >= 3 * bench.steps


def test_statements_and_files_are_steps(full, tmp_path, server):
    """What Python, SQLite and the renames of two files do is counted: a hook that went blind fails here."""
    from tests.crash.power import calls

    bench = Bench(tmp_path, full, "memory files", server)
    found = Counter(call.kind for call in calls(bench.log))
    assert {"o", "w", "s", "r", "u", "t", "a"} <= found.keys()
    databases = [call for call in calls(bench.log) if call.path.endswith(("nanomem.db", "nanomem.db-wal"))]
    assert {"w", "s"} <= {call.kind for call in databases}
    assert bench.calls > bench.steps
