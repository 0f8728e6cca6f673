"""A fleet of agents on one PostgreSQL: how many turns a second, how long a recall and a durable write take, how many
changes meet, what becomes of them when the server is killed; beside the bare SQL of the same work.

    .peers/vectors/bin/python benchmarks/fleet.py [--agents 1000] [--turns 12] [--processes 4] [--json FILE]

Each agent is a workspace of its own, opened in one of a few processes on this machine (bounded: so many turns each, on
a socket of this machine). A turn asks for what is remembered, and every third one keeps something durably: on the
server when it returns. One agent in twenty is opened in two processes, as on two machines, which change the same items.
The server is killed in the middle and started anew; what was acknowledged is counted afterwards. The bare SQL is one
INSERT and COMMIT of a row as large as an item with its operation, and one full-text SELECT, by as many processes on as
many connections, over the same tables.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import signal
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.errors import Conflict, NanomemError
from nanomem_tui.memory.recall import Question
from tests.postgres_server import PostgresServer

WORDS = ("ferry", "window", "seat", "tea", "sugar", "Porto", "train", "meeting", "budget", "garden", "violin", "doctor",
         "invoice", "server", "backup", "lamp", "station", "bread", "river", "garage")  # fmt: skip
ITEMS = 20
"""Items that each agent has at first."""
AWAY = 5.0
"""Seconds for which the server is gone."""
PATIENCE = 60.0
"""Seconds for which an agent tries to write what the server did not take."""


class Plan(NamedTuple):
    """What one process does: the homes of its agents, how many turns, and whether some are shared with another."""

    homes: list[str]
    turns: int
    seed: int


class Done(NamedTuple):
    """What a process did: the time of each recall and durable write in ms, what was kept, what met another's change."""

    recall: list[float]
    write: list[float]
    kept: list[str]
    conflicts: int
    degraded: int
    seconds: float


def work(plan: Plan, ready: Any, go: Any) -> Done:
    """All turns of the agents of one process, in an order drawn at random."""
    warnings.simplefilter("ignore")
    draw = random.Random(plan.seed)
    opened = [open_workspace(home) for home in plan.homes]
    for ws in opened:
        ws.recall.ask(Question("which ferry?"))  # rows and words into RAM, as a running agent has them
    ready.release()
    go.wait()
    recall: list[float] = []
    write: list[float] = []
    kept: list[str] = []
    conflicts = degraded = 0
    turns = [at for at in range(len(opened)) for _ in range(plan.turns)]
    draw.shuffle(turns)
    began = time.monotonic()
    for number, at in enumerate(turns):
        ws = opened[at]
        start = time.perf_counter()
        ws.recall.ask(Question(" ".join(draw.sample(WORDS, 3))))
        recall.append((time.perf_counter() - start) * 1000)
        if number % 3 == 0:
            text = f"{' '.join(draw.choices(WORDS, k=6))} {plan.seed}-{number}"
            start = time.perf_counter()
            try:
                if number % 9 == 0 and (shared := [item for item in ws.items.all() if item.id == "shared"]):
                    ws.items.edit(shared[0].id, text=text)
                else:
                    ws.items.add(text)
                    kept.append(f"{plan.homes[at]}\t{text}")
            except Conflict:
                conflicts += 1
            degraded += bool(ws.degraded)
            write.append((time.perf_counter() - start) * 1000)
    seconds = time.monotonic() - began
    for ws in opened:
        closed(ws)
    return Done(recall, write, kept, conflicts, degraded, seconds)


def closed(ws: Any) -> None:
    """Everything on the server, and the workspace closed."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            ws.flush()
            break
        except NanomemError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
    ws.close()


def bare(url: str, rounds: int, seed: int) -> tuple[list[float], list[float]]:
    """The same work in bare SQL: ms of each full-text SELECT and of each INSERT with its COMMIT."""
    import psycopg

    draw = random.Random(seed)
    asked: list[float] = []
    wrote: list[float] = []
    with psycopg.connect(url, autocommit=True) as raw:
        for number in range(rounds):
            words = " | ".join(draw.sample(WORDS, 3)).lower()
            start = time.perf_counter()
            raw.execute(
                "SELECT id, content FROM bare_items WHERE agent = %s AND words @@ to_tsquery('simple', %s) LIMIT 10",
                (number % 1000, words),
            ).fetchall()
            asked.append((time.perf_counter() - start) * 1000)
            if number % 3 == 0:
                text = " ".join(draw.choices(WORDS, k=6))
                start = time.perf_counter()
                with raw.transaction():
                    raw.execute(
                        "INSERT INTO bare_items (agent, id, content, words, body)"
                        " VALUES (%s, %s, %s, to_tsvector('simple', %s), %s)",
                        (number % 1000, f"{seed}-{number}", text, text, "x" * 900),
                    )
                wrote.append((time.perf_counter() - start) * 1000)
    return asked, wrote


def homes(folder: Path, agents: int) -> list[str]:
    """So many homes with a few items, on the server."""
    draw = random.Random(1)
    found: list[str] = []
    for number in range(agents):
        workspace = folder / f"agent{number}" / "workspace"
        (workspace / "memory").mkdir(parents=True)
        (workspace / ".nanobot").mkdir()
        (workspace / ".nanobot" / "workspace-id").write_text(f"{number:032x}\n", encoding="ascii")
        with open_workspace(workspace) as ws:
            for at in range(ITEMS):
                ws.items.add(f"{' '.join(draw.choices(WORDS, k=6))} {at}", importance=0.5)
        found.append(str(workspace))
    return found


def spread(ms: list[float]) -> dict[str, float]:
    """p50, p99 and the largest."""
    ordered = sorted(ms)
    return {"p50": statistics.median(ordered), "p99": ordered[int(len(ordered) * 0.99)], "max": ordered[-1]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--no-failover", action="store_true", help="let the server run")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nanomem-fleet-") as name, tempfile.TemporaryDirectory(
        prefix="nanomem-pg-"
    ) as data:
        os.environ["HOME"] = name
        server = PostgresServer(Path(data))
        url = os.environ["NANOMEM_DATABASE_URL"] = server.url("postgres")
        try:
            found = fleet(Path(name), server, url, options)
        finally:
            server.server.cleanup()
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if not found["lost"] and not found["doubled"] else 1


def fleet(folder: Path, server: PostgresServer, url: str, options: argparse.Namespace) -> dict[str, Any]:
    """Everything, one after the other."""
    places = homes(folder, options.agents)
    context = multiprocessing.get_context("spawn")
    shared = places[:: max(1, len(places) // max(1, len(places) // 20))]
    plans = []
    for number in range(options.processes):
        mine = places[number :: options.processes]
        others = [home for home in shared if home not in mine][: len(shared) // options.processes]
        plans.append(Plan([*mine, *others], options.turns, number))
    ready, go = context.Manager().Semaphore(0), context.Manager().Event()
    with context.Pool(options.processes) as pool:
        jobs = [pool.apply_async(work, (plan, ready, go)) for plan in plans]
        for _ in plans:
            ready.acquire()
        go.set()
        if not options.no_failover:
            time.sleep(5)
            os.kill(server.server.get_pid(), signal.SIGKILL)
            time.sleep(AWAY)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                server.server.ensure_postgres_running()
        done = [job.get() for job in jobs]
        server.run(
            "postgres", "CREATE TABLE bare_items (agent int, id text, content text, words tsvector, body text)",
            "CREATE INDEX ON bare_items USING gin (words)", "CREATE INDEX ON bare_items (agent)",
            "INSERT INTO bare_items SELECT n % 1000, 'b' || n, 'ferry tea ' || n,"
            " to_tsvector('simple', 'ferry tea ' || n), repeat('x', 900) FROM generate_series(1, 20000) n", "ANALYZE",
        )  # fmt: skip
        rounds = sum(len(one.recall) for one in done) // options.processes
        floors = pool.starmap(bare, [(url, rounds, number) for number in range(options.processes)])
    kept = [line for one in done for line in one.kept]
    lost, doubled = counted_of(kept)
    writes, asks = [ms for one in done for ms in one.write], [ms for one in done for ms in one.recall]
    floor_asks = spread([ms for asked, _ in floors for ms in asked])
    floor_writes = spread([ms for _, wrote in floors for ms in wrote])
    ours_asks, ours_writes = spread(asks), spread(writes)
    return {
        "agents": options.agents, "processes": options.processes, "turns": len(asks), "durable writes": len(writes),
        "turns a second": len(asks) / max(one.seconds for one in done),
        "recall ms": ours_asks, "bare full-text SELECT ms": floor_asks,
        "durable write ms": ours_writes, "bare INSERT and COMMIT ms": floor_writes,
        "recall p99 of bare": ours_asks["p99"] / floor_asks["p99"],
        "write p50 of bare": ours_writes["p50"] / floor_writes["p50"],
        "conflicts": sum(one.conflicts for one in done),
        "acknowledged while the server was away": sum(one.degraded for one in done),
        "kept": len(kept), "lost": lost, "doubled": doubled,
        "server": server.run("postgres", "SHOW server_version")[0][0],
        "machine": f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}",
    }  # fmt: skip


def counted_of(kept: list[str]) -> tuple[int, int]:
    """How many of the texts that were acknowledged are not there, and how many are there twice."""
    by_home: dict[str, list[str]] = {}
    for line in kept:
        home, _, text = line.partition("\t")
        by_home.setdefault(home, []).append(text)
    lost = doubled = 0
    for home, texts in by_home.items():
        with open_workspace(home) as ws:
            there = [item.text for item in ws.items.all()]
        lost += sum(text not in there for text in texts)
        doubled += sum(there.count(text) > 1 for text in texts)
    return lost, doubled


if __name__ == "__main__":
    sys.exit(main())
