"""The start of a command beside a bare Python that imports sqlite3, in turns in one run: wall time and CPU time.

    python benchmarks/cli_start.py [--items 10000] [--workspace PATH] [--runs 21] [--json FILE] [--assert]

`recall` is that of a core install: by words. `recall [vector]` loads the embedding model of the extra `vector` too, and
finds the vectors of all items made before; it is left out, with the reason, where the extra is not installed, and in a
workspace that is named and has no vectors.

Without `--workspace` a home with that many items is made in a temporary folder and removed afterwards; a workspace
that is named is only read. Ratios are the medians of those of each turn, and in brackets those of the least times,
which other programs on the machine disturb least.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARE = ["-c", "import sqlite3"]
START = ["-c", "from nanomem_tui.__main__ import main; raise SystemExit(main())"]  # what the installed command does
QUERY = "amber river"
SEED = 1
MESSAGE = "what was told of the amber river?"
WITH_VECTORS = "recall [vector]"
COMMANDS = {  # command → (its words, the most it may take in times of the bare start)
    "--version": (["--version"], 2.0),
    "memory status": (["memory", "status"], 6.0),
    "memory search": (["memory", "search", "--query", QUERY], 7.0),
    "recall": (["recall", MESSAGE], 21.0),
    WITH_VECTORS: (["recall", MESSAGE], 60.0),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--assert", action="store_true", dest="judge", help="fail when a figure is over its goal")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        workspace = options.workspace or home_with(options.items, Path(folder))
        left_out = reason_without_vectors(workspace, is_ours=not options.workspace)
        figures = measure(workspace, options.runs, [name for name in COMMANDS if name != WITH_VECTORS or not left_out])
    what = str(options.workspace or f"{options.items:,} items")
    bare = figures["bare"]["wall_ms"]
    print(f"start, {what}, {options.runs} turns beside `python -c 'import sqlite3'`: {bare:.1f} ms\n")
    print("  {:16} {:>9} {:>9} {:>16} {:>16} {:>6}".format("", "wall ms", "CPU ms", "wall ratio", "CPU ratio", "goal"))
    over = 0
    for name, (_, goal) in COMMANDS.items():
        if name not in figures:
            print(f"  {name:16} left out: {left_out}")
            continue
        row = figures[name]
        wall, cpu = (f"{row[part]:.2f} ({row[f'least_{part}']:.2f})" for part in ("wall_ratio", "cpu_ratio"))
        over += max(row["wall_ratio"], row["cpu_ratio"]) > goal
        print(f"  {name:16} {row['wall_ms']:9.1f} {row['cpu_ms']:9.1f} {wall:>16} {cpu:>16} {goal:6g}")
    items = None if options.workspace else options.items
    document = {
        "items": items,
        "seed": SEED,
        "runs": options.runs,
        "left out": {WITH_VECTORS: left_out} if left_out else {},
        **about(),
        **figures,
    }
    print(json.dumps(document))
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(options.judge and over > 0)


def reason_without_vectors(workspace: Path, *, is_ours: bool) -> str:
    """Why recall cannot be measured with vectors, empty when it can; in a home of ours they are made."""
    sys.path.insert(0, str(ROOT))
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.vectors.embedders import is_installed
    from nanomem_tui.workspace import open_workspace

    if not is_installed(Settings()):
        return "the extra `vector` is not installed"
    with open_workspace(workspace) as ws:
        if is_ours:
            ws.meaning.sync()
        elif not ws.meaning.state()["done"]:
            return "the workspace has no vectors: nanomem memory reindex --vectors"
    return ""


def measure(workspace: Path, runs: int, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The figures of the bare start and of these commands, run in turns so that a busy machine slows all."""
    lines = {"bare": BARE, **{name: [*START, *COMMANDS[name][0]] for name in names}}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in lines}
    for turn in range(runs + 1):  # the first turn warms the caches
        for name, line in lines.items():
            taken = once(line, workspace, backend="auto" if name == WITH_VECTORS else "ram")
            if turn:
                times[name].append(taken)
    return {name: figures_of(taken, times["bare"]) for name, taken in times.items()}


def once(line: Sequence[str], workspace: Path, *, backend: str) -> tuple[float, float]:
    """Seconds of wall time and of CPU time that one start takes, to its end."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
    environment = {**kept, "PYTHONPATH": str(ROOT), "NANOMEM_WORKSPACE": str(workspace)}
    environment["NANOMEM_RECALL_BACKEND"] = backend
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *line], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    taken = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(line)} ended with {process.returncode}")
    return taken, used.ru_utime + used.ru_stime


def figures_of(times: Sequence[tuple[float, float]], bare: Sequence[tuple[float, float]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for part, name in enumerate(("wall", "cpu")):
        ours, theirs = [taken[part] for taken in times], [taken[part] for taken in bare]
        figures[f"{name}_ms"] = statistics.median(ours) * 1000
        figures[f"{name}_ratio"] = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        figures[f"least_{name}_ratio"] = min(ours) / min(theirs)
    return figures


def about() -> dict[str, object]:
    machine = {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    return {"machine": machine, "versions": versions}


def home_with(count: int, folder: Path) -> Path:
    """A new workspace with `count` items in its database."""
    sys.path.insert(0, str(ROOT))
    from nanomem_tui.core import clock
    from nanomem_tui.core.operations import new_operation
    from nanomem_tui.store.snapshot import change_of
    from nanomem_tui.store.values import KINDS, Item
    from nanomem_tui.workspace import open_workspace

    workspace = folder / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    dice = random.Random(SEED)
    words = "amber quiet river window tea winter cargo north signal paper dinner market garden letter copper".split()
    now = clock.now()
    changes = []
    for number in range(count):
        at = clock.iso(now - timedelta(minutes=5 * number))
        text = f"{' '.join(dice.choices(words, k=dice.randint(6, 18)))} {number}"
        item = Item(f"ltm_{number}", text, dice.choice(KINDS), scope_key="bench", created_at=at, updated_at=at)
        changes.append(change_of("item", None, item))
    with open_workspace(workspace) as ws:
        for start in range(0, count, 1000):
            part = changes[start : start + 1000]
            ws.perform(new_operation("import", f"import {len(part)} items", part, actor="import"))
        ws.flush()
    return workspace


if __name__ == "__main__":
    sys.exit(main())
