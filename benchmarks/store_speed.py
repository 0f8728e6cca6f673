"""The store at scale beside its floors, in one run: open until searchable, checkpoint, update, import, reindex.

    python benchmarks/store_speed.py [--n 100000] [--rounds 5] [--json FILE] [--assert]
    python benchmarks/store_speed.py --n 1000000      # some minutes, and 2 GB of disk

Times are processor time (ours and the floor's in turns) where nothing but the processor is asked, else wall time, and
every figure is a median. "Open until searchable" starts a new process: the first answer of `Recall.ask`, of which the
database's full-text index is the source, beside a read of all rows with sqlite3. The checkpoint is one of 100 dirty
rows of n, beside one of 1,000 rows and beside writing n rows as JSON. The import is beside bare inserts of the same
values and words into the same tables. While the search index is made anew, another process adds an item and
checkpoints, again and again: its longest wait is told.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from recall_speed import SEED, corpus

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.language.tokens import tokens
from nanomem_tui.store.database import rows
from nanomem_tui.store.database.engine import SqliteDatabase
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.transactions import make_database
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace

GOALS = {"open until searchable": 2.0, "checkpoint of 100, n : 1,000": 2.0, "checkpoint of 100, n : json": 0.01}
BATCH = 20_000
DIRTY = 100
PEAK = """
def peak():  # not `ru_maxrss`: that is also what the process had that started this one
    return [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
"""
FLOOR = """
import sqlite3, sys, time
started = time.process_time()
rows = sqlite3.connect(sys.argv[1]).execute("SELECT * FROM memory_entries").fetchall()
print(time.process_time() - started, *peak())
"""
ASK = """
import sys, time
from nanomem_tui import open_workspace
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory import recall, items
started = time.process_time()
with open_workspace(sys.argv[1]) as ws:
    found = ws.recall.ask(Question(sys.argv[2]))
    print(time.process_time() - started, *peak())
    assert found.hits and found.backend == "sqlite_fts" and not ws.store.loaded
"""
LOAD = """
import sys, time
from nanomem_tui import open_workspace
started = time.process_time()
with open_workspace(sys.argv[1]) as ws:
    ws.store.load()
    print(time.process_time() - started, *peak())
"""
WRITER = """
import sys, time
from nanomem_tui import open_workspace
with open_workspace(sys.argv[1]) as ws:
    ws.items.add("the first one")
    ws.store.checkpoint()
    print("ready", flush=True)
    waits = []
    while not ws.paths.data.joinpath("stop").exists():
        ws.items.add(f"meanwhile {len(waits)}")
        started = time.perf_counter()
        ws.store.checkpoint()
        waits.append(time.perf_counter() - started)
        time.sleep(0.02)
    print(max(waits), sorted(waits)[len(waits) // 2])
"""

Figures = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--assert", action="store_true", dest="judge", help="fail when a figure is over its goal")
    options = parser.parse_args()
    os.environ["NANOMEM_MAX_ITEMS"] = "0"  # beyond 110,000 items a checkpoint would compact them
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        items, questions = corpus(options.n)
        told(f"{options.n:,} items")
        figures: Figures = {}
        figures |= filled(small, items[:1_000], "")
        figures |= filled(large, items, "import of n")
        figures |= opened(large, questions, options.rounds)
        figures |= checkpoints(small, large, items, options.rounds)
        figures |= anew(large)
    small_json = options.n < 100_000  # the goal is one of 100,000 rows and more
    over = [name for name, goal in GOALS.items() if figures[name] > goal and not (small_json and "json" in name)]
    for name in over:
        told(f"MISSED: {name}: {figures[name]:.3f}, the goal is {GOALS[name]:g}")
    if options.json:
        about = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "seed": SEED}
        document = {"benchmark": "store_speed", **about, "runs": options.rounds, "figures": figures}
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return int(bool(over) and options.judge)


def told(line: str) -> None:
    print(line, flush=True)


def filled(base: Path, items: list[Item], name: str) -> Figures:
    """A workspace with these items, written in batches as an import is; and bare inserts beside it."""
    workspace = base / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    with open_workspace(workspace) as ws:
        ws.items.add("what makes the database")
        ws.flush()
        ours = bare = 0.0
        with contextlib.closing(SqliteDatabase(base / "bare.db")) as empty:
            make_database(empty, "w")
        connection = sqlite3.connect(base / "bare.db", isolation_level=None)
        for start in range(0, len(items), BATCH):
            part = items[start : start + BATCH]
            began = time.process_time()
            with ws.store.writer.database.writing(durable=True) as writing:
                rows.insert_rows(writing, "item", part)
            ours += time.process_time() - began
            bare += bare_inserts(connection, part, start)
        connection.close()
        (base / "bare.db").unlink()
    if not name:
        return {}
    told(f"  {name:36} {ours:8.2f} s     {ours / bare:6.2f} of bare inserts")
    return {f"{name}, s": ours, f"{name} : bare": ours / bare}


def bare_inserts(connection: sqlite3.Connection, items: list[Item], start: int) -> float:
    """Seconds of the processor for the same rows and words by hand, words cut beforehand."""
    columns = "id, number, scope_type, scope_key, kind, content, content_norm, content_hash, importance, confidence,"
    columns += " source, meta_json, created_at, updated_at, enabled, pinned, is_deleted, revision"
    values = [
        (
            *(row.id, start + n, "global", "", "fact", row.text, row.text, f"{hash(row.text):064x}"),
            *(0.7, 1.0, "manual", "{}", "", row.updated_at, 1, 0, 0, 1),
        )
        for n, row in enumerate(items)
    ]
    words = [(start + n, row.id, " ".join(tokens(row.text))) for n, row in enumerate(items)]
    began = time.process_time()
    connection.execute("BEGIN IMMEDIATE")
    marks = ",".join("?" * len(values[0]))
    connection.executemany(f"INSERT INTO memory_entries ({columns}) VALUES ({marks})", values)
    connection.executemany("INSERT INTO memory_entries_fts(rowid, entry_id, content) VALUES (?, ?, ?)", words)
    connection.execute("COMMIT")
    took = time.process_time() - began
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return took


def opened(base: Path, questions: list[str], rounds: int) -> Figures:
    """The first answer of a new process beside a full read of the rows; and the load of all of them."""
    workspace = base / "home" / "workspace"
    path = next(workspace.parent.rglob("nanomem.db"))
    runs: dict[str, list[tuple[float, float]]] = {"floor": [], "ask": [], "load": []}
    for number in range(rounds):
        runs["floor"].append(asked(FLOOR, path))
        runs["ask"].append(asked(ASK, workspace, questions[number]))
        runs["load"].append(asked(LOAD, workspace))
    seconds = {name: statistics.median(run[0] for run in found) for name, found in runs.items()}
    peaks = {name: max(run[1] for run in found) / 1024 for name, found in runs.items()}
    for name, key in (("open until searchable", "ask"), ("open with every row in RAM", "load")):
        ratio = seconds[key] / seconds["floor"]
        told(f"  {name:36} {seconds[key] * 1000:8.1f} ms    {ratio:6.2f} of a full read   peak {peaks[key]:.0f} MB")
    with open_workspace(workspace) as ws:
        from nanomem_tui.memory.recall.recall import Question

        times = [clocked(partial(ws.recall.ask, Question(one)), time.process_time) for one in questions[:50]]
    told(f"  {'a question to the index of the database':36} {statistics.median(times) * 1000:8.1f} ms")
    return {
        "open until searchable": seconds["ask"] / seconds["floor"],
        "open with every row in RAM": seconds["load"] / seconds["floor"],
        "a question to the database, ms": statistics.median(times) * 1000,
        "peak of a search, MB": peaks["ask"],
        "peak of a load, MB": peaks["load"],
    }


def asked(code: str, *arguments: object) -> tuple[float, float]:
    """What a process of its own says: seconds and kilobytes."""
    command = [sys.executable, "-c", PEAK + code, *map(str, arguments)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1])


def clocked(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds that a piece of work takes."""
    started = clock()
    work()
    return clock() - started


def checkpoints(small: Path, large: Path, items: list[Item], rounds: int) -> Figures:
    """One of 100 dirty rows, of n and of 1,000; the same n rows written as JSON; and one update, written at once."""
    found: dict[str, list[float]] = {"small": [], "large": []}
    with open_workspace(small / "home" / "workspace") as few, open_workspace(large / "home" / "workspace") as many:
        for ws in (few, many):
            use(ws, 0)
            ws.store.checkpoint()
        for number in range(1, rounds * 4):
            for name, ws in (("small", few), ("large", many)):
                use(ws, number)
                found[name].append(clocked(ws.store.checkpoint, time.process_time))
        update = [clocked(partial(edited, many, n), time.perf_counter) for n in range(rounds * 4)]
    as_json = clocked(lambda: json.dumps([row._asdict() for row in items], ensure_ascii=False), time.process_time)
    few_ms, many_ms = (statistics.median(found[name]) * 1000 for name in ("small", "large"))
    told(f"  {'checkpoint of 100 dirty':36} {many_ms:8.1f} ms    {many_ms / few_ms:6.2f} of one of 1,000")
    told(f"  {'':36} {'':11}    {many_ms / as_json / 1000:6.4f} of the rows as JSON ({as_json * 1000:.0f} ms)")
    told(f"  {'an edit and its checkpoint':36} {statistics.median(update) * 1000:8.1f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told(f"  {'peak of this process, with all items':36} {peak:8.0f} MB")
    return {
        "checkpoint of 100, ms": many_ms,
        "checkpoint of 100, n : 1,000": many_ms / few_ms,
        "checkpoint of 100, n : json": many_ms / as_json / 1000,
        "an edit and its checkpoint, ms": statistics.median(update) * 1000,
    }


def use(ws: Workspace, number: int) -> None:
    """What turns do: 100 items are counted as used, and every tenth of them says something else now."""
    snapshot = ws.store.load("item")
    keys = [f"i{(number * 7_919 + n * 31) % 1_000}" for n in range(DIRTY)]
    changes = []
    for n, key in enumerate(dict.fromkeys(keys)):
        row = snapshot.items[key]
        after = row._replace(hits=row.hits + 1)
        changes.append(change_of("item", row, after if n % 10 else after._replace(text=f"{row.text} again")))
    ws.store.perform(new_operation("turn", "100 items used", changes, actor="agent"), durable=False)


def edited(ws: Workspace, number: int) -> None:
    ws.items.edit(f"i{number}", text=f"another text {number}")
    ws.store.checkpoint()


def anew(base: Path) -> Figures:
    """The search index made anew, and how long another process that writes meanwhile waited at most."""
    workspace = base / "home" / "workspace"
    with open_workspace(workspace) as ws:
        command = [sys.executable, "-c", WRITER, str(workspace)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            started = time.perf_counter()
            state = ws.store.make_index()
            took = time.perf_counter() - started
            (ws.paths.data / "stop").touch()
            longest, middle = map(float, writer.stdout.read().split())
        assert state.indexed == state.items
    told(f"  {'search index made anew':36} {took:8.2f} s")
    told(f"  {'  longest wait of who writes':36} {longest * 1000:8.0f} ms    (median {middle * 1000:.0f} ms)")
    return {"reindex, s": took, "longest wait of a writer beside it, ms": longest * 1000}


if __name__ == "__main__":
    sys.exit(main())
