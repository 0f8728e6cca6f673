"""What telling operational memory costs: a push beside its floor, what is asked of it, and its return after a restart.

    python benchmarks/operational.py [--n 10000] [--rounds 9] [--json FILE]

The floor writes the same: the entry as one JSON object by `json.dumps`, and one `os.write` of a line of as many bytes;
neither a transaction, nor an index, nor an id. Pushes and floor take turns, in rounds, so both meet the same load; a
figure is the median of the rounds' medians, and what counts is the ratio. It is full all the time: the median
push ages nothing, the mean one has its share of the batches that go into working memory. Files are in the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.workspace import Workspace

GOALS = {"push, median µs": 1000.0, "newest value of a metric, median µs": 1000.0}
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "metric": ("metric", {"name": "cpu.percent", "value": 12.5, "unit": "%"}, "collector"),
    "event": ("event", {"message": "service restarted", "unit": "nginx.service", "attempt": 3}, "systemd"),
    "task": ("task", {"id": "task_17", "status": "in_progress", "agent": "ops"}, "ops"),
    "tool_result": ("tool_result", {"tool": "read_file", "input": {"path": "/etc/hosts"}, "success": True,
                                    "output": "127.0.0.1 localhost"}, "ops"),
}  # fmt: skip
AT = "2026-03-01T10:00:00.000000+00:00"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="entries")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        workspace = Path(folder, "home", "workspace")
        (workspace / "memory").mkdir(parents=True)
        with open_workspace(workspace) as ws:
            ws.settings = ws.settings._replace(operational_entries=options.n)
            fill(ws, options.n)
            pushes = {name: beside_floor(ws, name, Path(folder, "floor"), options.rounds) for name in KINDS}
            asked = questions(ws, options.rounds)
            critical = timed(lambda: ws.operational.push("event", {"level": "error", "message": "x"}), 30)
            behind = batches(ws)
        started = time.perf_counter()
        with open_workspace(workspace) as ws:
            entries = len(ws.operational.recent(None))
            asked["all entries after a restart"] = (time.perf_counter() - started) * 1e6
    tell(options.n, entries, pushes, asked, critical, behind)
    if options.json:
        us = {"pushes": pushes, "asked": asked, "critical": critical, "aging of one": behind}
        body = {"benchmark": "operational", "runs": options.rounds, "goals": GOALS, "us": us}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def tell(
    count: int, entries: int, pushes: dict[str, dict[str, float]], asked: dict[str, float], critical: float,
    behind: float,
) -> None:  # fmt: skip
    print(f"{count:,} entries; µs, medians; goal of a push and of the newest value of a metric 1,000")
    for name, row in pushes.items():
        ratio = f"{row['push'] / row['floor']:5.2f} of JSON and one write, {row['floor']:.2f}"
        print(f"  push, {name:12} {row['push']:10.2f}   {ratio}   (95th percentile {row['p95']:.1f})")
    print(f"  push of an error   {critical:10.0f}   fsynced in its table before it returns")
    print(f"  aging, an entry    {behind:10.0f}   in batches")
    for name, cost in asked.items():
        print(f"  {name:28} {cost:10.0f}")
    print(f"  ({entries:,} entries were there after the restart)")


def fill(ws: Workspace, count: int) -> None:
    for number in range(count):
        category, data, source = KINDS[("metric", "event", "task", "tool_result")[number % 4]]
        ws.operational.push(category, {**data, "name": f"metric.{number % 100}"}, source)


def beside_floor(ws: Workspace, name: str, file: Path, rounds: int) -> dict[str, float]:
    category, data, source = KINDS[name]
    push = ws.operational.push
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    push(category, data, source)
    pad = b"x" * 30  # as long as our line, which has a checksum
    number = 0

    def floor() -> None:
        nonlocal number
        number += 1
        entry = {"id": number, "at": AT, "category": category, "source": source, "critical": False, "data": data}
        os.write(handle, json.dumps(entry).encode() + pad + b"\n")

    found: dict[str, list[float]] = {"push": [], "floor": [], "p95": []}
    for _ in range(rounds):
        found["floor"].append(timed(floor, 1_000))
        times = each(lambda: push(category, data, source), 1_000)
        found["push"].append(times[len(times) // 2])
        found["p95"].append(times[int(len(times) * 0.95)])
    os.close(handle)
    return {name: statistics.median(values) for name, values in found.items()}


def questions(ws: Workspace, rounds: int) -> dict[str, float]:
    now = ws.operational
    asked: dict[str, Callable[[], object]] = {
        "newest value of a metric": lambda: now.metric("cpu.percent"),
        "50 newest entries": lambda: now.recent(50),
        "50 newest tasks": lambda: now.recent(50, "task"),
        "active tasks": now.active_tasks,
        "100 results of tools": lambda: now.recent(100, "tool_result"),
    }
    return {name: statistics.median(timed(ask, 50) for _ in range(rounds)) for name, ask in asked.items()}


def batches(ws: Workspace) -> float:
    """Microseconds of aging, for each entry, of 1,000 that are too many."""
    category, data, source = KINDS["event"]
    ws.operational.age()
    costs = []
    for _ in range(3):
        for _ in range(400):
            ws.operational.push(category, data, source)
        started = time.perf_counter()
        moved = ws.operational.age()
        costs.append((time.perf_counter() - started) * 1e6 / max(1, moved))
    return statistics.median(costs)


def timed(work: Callable[[], object], count: int) -> float:
    """The median of so many, in microseconds."""
    times = each(work, count)
    return times[len(times) // 2]


def each(work: Callable[[], object], count: int) -> list[float]:
    times = []
    clock = time.perf_counter_ns
    for _ in range(count):
        started = clock()
        work()
        times.append((clock() - started) / 1000)
    return sorted(times)


if __name__ == "__main__":
    sys.exit(main())
