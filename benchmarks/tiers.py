"""How long the tiers of seed 004 take to answer, full: 10,000 entries of now, n working and n long-term records.

    python benchmarks/tiers.py [--n 100000] [--home FOLDER] [--rounds 200] [--json FILE]      # a million: --n 1000000

The seed's table: operational under 1 ms, working under 5 ms, long-term under 50 ms. Given are the median and the 95th
percentile of wall time in this process, and of the processor's time, which other programs do not lengthen; beside a
record by its id the same read with bare sqlite3, beside a search by words FTS5's own ranking over the same table, on
the same database in the same run. Words are drawn so that few are in most records and most in few (Zipf), and a
question has five of them. `--home`: make the rows there, or use those that an earlier run made.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.language import tokens
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord
from nanomem_tui.workspace import Workspace

SEED = 7
HAPPENING = 10_000
BATCH = 5_000
GOALS = {"operational": 1.0, "working": 5.0, "longterm": 50.0}
"""Milliseconds at the 95th percentile (seed 004, Memory Tiers)."""
WORDS = [kind for kind in KINDS.values() if kind.words]
Times = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = options.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-bench-")))
        with open_workspace(filled(home, options.n)) as ws:
            found = measured(ws, options.n, options.rounds)
    print(f"{options.n:,} records in each tier, {HAPPENING:,} entries of now; milliseconds, median and 95th percentile")
    for name, row in found.items():
        goal = next(limit for tier, limit in GOALS.items() if name.startswith(tier))
        floor = f"   {row['of floor']:.2f} of the floor" if "of floor" in row else ""
        times = f"{row['p50']:8.3f} {row['p95']:8.3f}   processor {row['cpu p50']:8.3f} {row['cpu p95']:8.3f}"
        print(f"  {name:46}{times}   goal {goal:g}{floor}")
    if options.json:
        body = {"benchmark": "tiers", "seed": SEED, "runs": options.rounds, "n": options.n, "goals": GOALS, "ms": found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


# -- what is asked ----------------------------------------------------------------------------------------------------


def measured(ws: Workspace, count: int, rounds: int) -> dict[str, Times]:
    chance, said = random.Random(SEED), words()
    records, now = ws.records, ws.operational
    for number in range(HAPPENING - len(now.recent(HAPPENING))):
        now.push("metric", {"name": f"m{number % 50}", "value": number})
    records.store("goal", {"description": "kept, so that this process writes"}, "written")
    tenth = count // 10
    bare = sqlite3.connect(f"{ws.tier_database.path.as_uri()}?mode=ro", uri=True)

    def one_of(tier: str, kind: int) -> str:
        return f"{tier}{chance.randrange(tenth) * 10 + kind}"

    def question() -> str:
        return " ".join(itertools.islice(said, 5))

    def bare_get() -> None:
        assert bare.execute("SELECT * FROM tasks WHERE id = ?", (one_of("w", 5),)).fetchall()

    def ranked(table: str) -> Callable[[], None]:
        def ask() -> None:
            match = " OR ".join(f'"{word}"' for word in tokens.query_tokens(question()))
            bare.execute(
                f"SELECT rowid FROM {table}_words WHERE {table}_words MATCH ? ORDER BY rank LIMIT 10", (match,)
            ).fetchall()

        return ask

    asked: dict[str, tuple[Callable[[], Any], Callable[[], None] | None]] = {
        "operational, the newest 50": (lambda: now.recent(50), None),
        "operational, a metric": (lambda: now.metric(f"m{chance.randrange(50)}"), None),
        "working, a record by its id": (lambda: records.get("task", one_of("w", 5)), bare_get),
        "working, the tasks of a goal": (lambda: records.tasks_of(one_of("w", 8)), None),
        "working, goals in a state": (
            lambda: records.list_records("goal", "working", {"status": "active"}, limit=20), None,
        ),
        "working, the newest 50 calls of a tool": (
            lambda: records.list_records("tool-call", "working", {"tool_name": "fs.read"}, limit=50), None,
        ),
        "working, words in tasks": (lambda: records.search(question(), ["task"], "working", 10), ranked("tasks")),
        "working, words in every kind": (lambda: records.search(question(), (), "working", 10), None),
        "longterm, a record by its id": (lambda: records.get("task", one_of("l", 5)), None),
        "longterm, words in decisions": (
            lambda: records.search(question(), ["decision"], "longterm", 10), ranked("decisions"),
        ),
        "longterm, words in every kind": (lambda: records.search(question(), (), "longterm", 10), None),
    }  # fmt: skip
    found: dict[str, Times] = {}
    for name, (ask, floor) in asked.items():
        found[name] = timed(ask, rounds)
        if floor is not None:
            below = timed(floor, min(rounds, 50))
            found[name]["of floor"] = found[name]["cpu p50"] / below["cpu p50"]
    bare.close()
    return found


def timed(ask: Callable[[], Any], rounds: int) -> Times:
    """The times of one question, after five that warm."""
    wall: list[float] = []
    processor: list[float] = []
    for number in range(rounds + 5):
        begun, started = time.thread_time(), time.perf_counter()
        ask()
        if number >= 5:
            wall.append((time.perf_counter() - started) * 1000)
            processor.append((time.thread_time() - begun) * 1000)
    found: Times = {}
    for name, times in (("", sorted(wall)), ("cpu ", sorted(processor))):
        found[f"{name}p50"], found[f"{name}p95"] = times[len(times) // 2], times[int(len(times) * 0.95)]
    return found


# -- the rows --------------------------------------------------------------------------------------------------------


def words() -> Iterator[str]:
    """Words as they stand in texts: few are common, and many are rare."""
    chance = random.Random(SEED)
    while True:
        yield f"w{min(int(chance.paretovariate(0.8)), 10**9)}"


def filled(home: Path, count: int) -> Path:
    """A workspace with that many records in each tier; those that are there already are taken."""
    workspace = home / "home" / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    with open_workspace(workspace) as ws:
        if ws.tier_database.exists:
            return workspace
        made = records(count)
        while part := list(itertools.islice(made, BATCH)):
            ws.tier_database.write(lambda connection, part=part: work_records.put(connection, part))
    return workspace


def records(count: int) -> Iterator[TierRecord]:
    """Of every ten five tool calls, three tasks, a goal and a decision, tied to one another."""
    said = words()
    now = datetime(2026, 3, 1, tzinfo=UTC)

    def text(number: int) -> str:
        return " ".join(itertools.islice(said, number))

    for tier, first in (("working", now), ("longterm", now - timedelta(days=60))):
        for number in range(count):
            at = (first - timedelta(seconds=2 * number)).isoformat()
            name, ten = f"{tier[0]}{number}", number // 10 * 10
            kind, fields = _fields(number, f"{tier[0]}{ten + 5}", f"{tier[0]}{ten + 8}", text, at)
            yield TierRecord(kind, name, fields, "working" if tier == "working" else "longterm", "agent", at, at)


def _fields(number: int, task: str, goal: str, text: Callable[[int], str], at: str) -> tuple[str, dict[str, Any]]:
    place = number % 10
    if place < 5:
        tool = ("fs.read", "net.get", "service.restart")[place % 3]
        return "tool-call", {"task_id": task, "tool_name": tool, "agent": "system", "input": {"path": text(2)},
                             "success": True, "duration_ms": 3, "reason": text(8), "timestamp": at}  # fmt: skip
    if place < 8:
        return "task", {"goal_id": goal, "description": text(12), "agent": "system", "status": "completed",
                        "input": {}, "output": {"said": text(6)}, "started_at": at, "completed_at": at,
                        "duration_ms": 5}  # fmt: skip
    if place < 9:
        status = "active" if number % 1000 == 8 else "completed"
        return "goal", {"description": text(10), "status": status, "priority": 2, "created_at": at, "result": text(4)}
    return "decision", {"context": text(6), "options": ["a", "b"], "chosen": "a", "reasoning": text(12),
                        "intelligence_level": "tactical", "timestamp": at, "important": False}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
