"""What keeping costs as a store grows: a checkpoint, and an open until a first answer, beside their floors in one run.

    python benchmarks/keeping_speed.py [--n 1000 10000 100000] [--rounds 7] [--json FILE]      # a million: --n 1000000

A checkpoint of 100 changed items of n (uses counted, and texts changed, which the search index has to follow) beside
the rewrite of all n as one JSON file, fsynced, as an agent does it, and beside a bare SQLite upsert of 100 with
synchronous=FULL. An open, from `open_workspace` to the hits of a first question, beside the full read of the rows with
sqlite3; the same with the index in RAM built from nothing; and the first page of a screen. Files are in the page
cache, modules are imported before. Every figure is a median of rounds that alternate with their floor; the JSON has the
least time of the processor, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.core.atomic import write_atomic
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.workspace import Workspace

AT = "2026-03-01T10:00:00+00:00"
CHANGED = 100
AGENT_FIELDS = ("id", "text", "source", "session_key", "created_at", "updated_at", "hits")
SEED = 7
GOALS = {
    "checkpoint of the JSON rewrite": 0.01,  # at 100,000 items
    "checkpoint, 100k of 1k": 2.0,
    "open of the full read": 2.0,
    "rebuild of the full read": 15.0,
}
Times = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Times] = {}
    for count in options.n:
        with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
            workspace, texts = home_with(count, Path(folder))
            found[str(count)] = {**checkpoints(workspace, options.rounds), **opens(workspace, texts, options.rounds)}
        tell(count, found[str(count)])
    sizes = [str(count) for count in options.n]
    growth = {}
    if len(sizes) > 1:
        for what in ("used", "edited"):
            growth[what] = found[sizes[-1]][f"checkpoint, {what}"] / found[sizes[0]][f"checkpoint, {what}"]
        goal = GOALS["checkpoint, 100k of 1k"]
        line = ", ".join(f"{ratio:.2f} ({what})" for what, ratio in growth.items())
        print(
            f"\ncheckpoint of {CHANGED} of {sizes[-1]} items, of that of {sizes[0]}: {line}"
            f"  goal {goal:g} from 1k to 100k"
        )
    if options.json:
        body = {"benchmark": "keeping_speed", "seed": SEED, "runs": options.rounds, "goals": GOALS, "ms": found}
        body |= {"growth": growth}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def tell(count: int, row: Times) -> None:
    rewrite, floor, read = row["JSON rewrite"], row["SQLite FULL upsert"], row["full read"]
    print(f"\n{count:,} items")
    for what in ("used", "edited"):
        ms = row[f"checkpoint, {what}"]
        ratios = f"{ms / rewrite:8.4f} of the JSON rewrite, {rewrite:.1f} ms (goal .01 at 100k); {ms / floor:.1f} of "
        print(f"  checkpoint, {CHANGED} {what:8}{ms:10.2f} ms {ratios}a bare upsert, {floor:.2f} ms")
    for name, goal in (("open until a first answer", "2"), ("open, index built in RAM", "15"), ("first page", "2")):
        print(f"  {name:26}{row[name]:10.2f} ms {row[name] / read:8.2f} of the full read, {read:.1f} ms (goal {goal})")


# -- checkpoints ------------------------------------------------------------------------------------------------------


def checkpoints(workspace: Path, rounds: int) -> Times:
    chance = random.Random(SEED)
    with open_workspace(workspace) as ws, contextlib.closing(bare(workspace.parent / "floor.db")) as floor:
        rows = ws.store.load("item").items
        keys = sorted(rows)
        body = [{name: getattr(row, name) for name in AGENT_FIELDS} for row in rows.values()]
        snapshot = workspace.parent / "rewrite.json"

        def save() -> None:
            ws.store.checkpoint()

        def rewrite() -> None:
            write_atomic(snapshot, json.dumps({"items": body}, ensure_ascii=False).encode())

        def upsert() -> None:
            floor.execute("BEGIN IMMEDIATE")
            text = (
                "INSERT INTO item VALUES(?, ?, 1) ON CONFLICT(id) DO UPDATE SET text = excluded.text, hits = hits + 1"
            )
            floor.executemany(text, [(key, rows[key].text) for key in chance.sample(keys, CHANGED)])
            floor.execute("COMMIT")

        times: dict[str, list[float]] = {}
        for number in range(rounds + 1):  # the first round warms
            for what in ("used", "edited"):
                change(ws, chance.sample(keys, CHANGED), what, number)
                noted(times, f"checkpoint, {what}", save, number)
            noted(times, "SQLite FULL upsert", upsert, number)
            if number <= 3 or len(keys) <= 10_000:
                noted(times, "JSON rewrite", rewrite, number)
    return told(times)


def change(ws: Workspace, keys: list[str], what: str, number: int) -> None:
    """Count items as used, or change the last word of their texts, each acknowledged when a kill costs it no more."""
    rows = ws.store.snapshot.items
    for key in keys:
        row = rows[key]
        if what == "used":
            after = row._replace(hits=row.hits + 1, last_accessed_at=AT)
        else:
            after = row._replace(text=f"{row.text.rpartition(' ')[0]} w{number}", updated_at=AT)
        ws.store.perform(
            new_operation("turn", f"turn: 1 item {what}", [change_of("item", row, after)], actor="agent"), durable=False
        )


def bare(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE item(id TEXT PRIMARY KEY, text TEXT, hits INTEGER)")
    return connection


# -- opening ----------------------------------------------------------------------------------------------------------


def opens(workspace: Path, texts: list[str], rounds: int) -> Times:
    chance = random.Random(SEED)
    with open_workspace(workspace) as ws:
        database = ws.paths.database

    def question() -> Question:
        return Question(" ".join(chance.sample(chance.choice(texts).split(), 3)))

    def assert_found(ws: Workspace) -> None:
        answer = ws.recall.ask(question())
        assert answer.hits or answer.cut  # of words that are none, few have a bearing

    def first_answer() -> None:
        with open_workspace(workspace) as ws:
            assert_found(ws)

    def rebuilt() -> None:
        with open_workspace(workspace) as ws:
            ws.recall.warm(background=False)
            assert_found(ws)

    def first_page() -> None:
        with open_workspace(workspace) as ws:
            assert len(ws.items.first(50)) == 50

    def full_read() -> None:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            assert connection.execute("SELECT * FROM memory_entries").fetchall()

    times: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        noted(times, "open until a first answer", first_answer, number)
        noted(times, "first page", first_page, number)
        noted(times, "full read", full_read, number)
        if number <= 3:
            noted(times, "open, index built in RAM", rebuilt, number)
    return told(times)


def told(times: dict[str, list[float]]) -> Times:
    """Medians on the clock; of the processor the least, which other programs on the machine disturb least."""
    return {
        name: min(found) if name.endswith("processor") else statistics.median(found) for name, found in times.items()
    }


def noted(times: dict[str, list[float]], name: str, work: Callable[[], None], number: int) -> None:
    started, begun = time.perf_counter(), time.process_time()
    work()
    taken, used = time.perf_counter() - started, time.process_time() - begun
    if number:
        times.setdefault(name, []).append(taken * 1000)
        times.setdefault(f"{name}, least processor", []).append(used * 1000)


def home_with(count: int, base: Path) -> tuple[Path, list[str]]:
    """A workspace with that many items of 17 words each in its database, and some of their texts."""
    from recall_speed import corpus

    workspace = base / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    items, _ = corpus(count)
    with open_workspace(workspace) as ws:
        for start in range(0, count, 5_000):
            rows = [
                item._replace(scope_key="bench", created_at=AT, updated_at=AT) for item in items[start : start + 5_000]
            ]
            changes = [change_of("item", None, row) for row in rows]
            ws.perform(new_operation("import", f"import {len(rows)} items", changes, actor="import"))
            ws.flush()
    return workspace, [item.text for item in items[:500]]


if __name__ == "__main__":
    sys.exit(main())
