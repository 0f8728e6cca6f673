"""A fleet of agents on one PostgreSQL: how many turns a second, how long a recall and a durable write take, how many
changes meet, what becomes of them when the server is killed; beside the bare SQL of the same work.

    .peers/vectors/bin/python benchmarks/fleet.py [--agents 1000] [--turns 12] [--processes 4] [--json FILE]

Each agent is a workspace of its own, opened in one of a few processes on this machine (bounded: so many turns each, on
a socket of this machine). A turn is what an agent calls, its begin with the block of memory and its end; in every third
one the person says what is to be remembered, which is acknowledged when a power cut costs it no more. One agent in
twenty is opened in two processes, as on two machines, and a person at each changes the same item. The server is killed
in the middle and started anew; what was acknowledged is counted afterwards, texts and operations. The bare SQL is one
INSERT and COMMIT of a row as large as an item with its operation, and one full-text SELECT, by as many processes on as
many connections.
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
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict, NanomemError, StoreError
from nanomem_tui.memory.turns.request import turn_end, turn_input
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer, needed

WORDS = ("ferry", "window", "seat", "tea", "sugar", "Porto", "train", "meeting", "budget", "garden", "violin", "doctor",
         "invoice", "server", "backup", "lamp", "station", "bread", "river", "garage")  # fmt: skip
ITEMS = 20
"""Items that each agent has at first."""
AWAY = 5.0
"""Seconds for which the server is gone."""
PATIENCE = 60.0
"""Seconds for which an agent tries to write what the server did not take."""


class Plan(NamedTuple):
    """What one process does: the homes of its agents, which of them another process has too, and how many turns."""

    homes: list[str]
    shared: frozenset[str]
    turns: int
    seed: int


class Done(NamedTuple):
    """What a process did: ms of each recall, begin of a turn, durable write and change of a person; when (by the clock
    that all processes have in common) each durable write was acknowledged; what was kept and the operations that were
    acknowledged, each with its home; how many changes of a person met another's, and how many were refused, as nobody
    could tell what others had changed."""

    recall: list[float]
    begin: list[float]
    write: list[float]
    change: list[float]
    acknowledged: list[float]
    kept: list[tuple[str, str]]
    operations: list[tuple[str, str]]
    conflicts: int
    refused: int
    seconds: float


def work(plan: Plan, ready: Any, go: Any) -> Done:
    """All turns of the agents of one process, in an order drawn at random."""
    warnings.simplefilter("ignore")
    draw = random.Random(plan.seed)
    opened = [open_workspace(home) for home in plan.homes]
    for ws in opened:
        ws.recall.warm(background=False)  # rows and words into RAM, as a running agent has them
    ready.release()
    go.wait()
    done = Done([], [], [], [], [], [], [], 0, 0, 0.0)
    turns = [at for at in range(len(opened)) for _ in range(plan.turns)]
    draw.shuffle(turns)
    began = time.monotonic()
    for number, at in enumerate(turns):
        home, ws = plan.homes[at], opened[at]
        turn(ws, home, f"{plan.seed}-{number}" if number % 3 == 0 else "", draw, done)
        if home in plan.shared:
            done = changed(ws, home, f"the gate is at {plan.seed}.{number}", done)
    done = done._replace(seconds=time.monotonic() - began)
    for ws in opened:
        closed(ws)
    return done


def turn(ws: Workspace, home: str, remember: str, draw: random.Random, done: Done) -> None:
    """One turn, with something to be remembered that nobody said before, or only a question."""
    said = f"Where is the {' '.join(draw.sample(WORDS, 3))}?"
    if remember:
        said = f"Remember that the {' '.join(draw.sample(WORDS, 3))} opens with {remember}"
    start = time.perf_counter()
    fields = {"session_key": "cli:direct", "channel": "cli", "chat_id": "direct", "sender_id": "ana", "text": said}
    begun = ws.engine.begin_turn(turn_input(fields))
    between = time.perf_counter()
    ended = ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "Here it is."}))
    end = time.perf_counter()
    done.begin.append((between - start) * 1000)
    if begun.found is not None:
        done.recall.append(begun.found.ms)
    if ended.operation:
        done.operations.append((home, ended.operation))
    if remember:
        if not ended.saved:
            raise AssertionError(f"not remembered: {said!r}: {ended}")
        done.write.append((end - between) * 1000)
        done.acknowledged.append(time.monotonic())
        done.kept.append((home, remember))


def changed(ws: Workspace, home: str, text: str, done: Done) -> Done:
    """A person changes the item that two processes have."""
    shared = next(item for item in ws.items.all() if item.text.startswith("the gate is"))
    start = time.perf_counter()
    try:
        operation = ws.items.edit(shared.id, expected=shared, text=text)
    except Conflict:
        return done._replace(conflicts=done.conflicts + 1)
    except StoreError:
        return done._replace(refused=done.refused + 1)
    finally:
        done.change.append((time.perf_counter() - start) * 1000)
    done.operations.append((home, operation.id))
    return done


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
            ws.items.add("the gate is closed", importance=0.5)
            for at in range(ITEMS - 1):
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
    needed()
    with (
        tempfile.TemporaryDirectory(prefix="nanomem-fleet-") as name,
        tempfile.TemporaryDirectory(prefix="nanomem-pg-") as data,
    ):
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
    return 1 if found["lost"] or found["doubled"] else 0


def fleet(folder: Path, server: PostgresServer, url: str, options: argparse.Namespace) -> dict[str, Any]:
    """Everything, one after the other."""
    places = homes(folder, options.agents)
    context = multiprocessing.get_context("spawn")
    shared = places[:: max(1, len(places) // max(1, len(places) // 20))]
    plans = []
    for number in range(options.processes):
        mine = places[number :: options.processes]
        others = [home for home in shared if home not in mine][: len(shared) // options.processes]
        plans.append(Plan([*mine, *others], frozenset(shared), options.turns, number))
    ready, go = context.Manager().Semaphore(0), context.Manager().Event()
    with context.Pool(options.processes) as pool:
        jobs = [pool.apply_async(work, (plan, ready, go)) for plan in plans]
        for _ in plans:
            ready.acquire()
        away = back = 0.0
        go.set()
        if not options.no_failover:
            time.sleep(5)
            away = time.monotonic()
            os.kill(server.server.get_pid(), signal.SIGKILL)
            time.sleep(AWAY)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                server.server.ensure_postgres_running()
            back = time.monotonic()
        done = [job.get() for job in jobs]
        server.run(
            "postgres", "CREATE TABLE bare_items (agent int, id text, content text, words tsvector, body text)",
            "CREATE INDEX ON bare_items USING gin (words)", "CREATE INDEX ON bare_items (agent)",
            "INSERT INTO bare_items SELECT n % 1000, 'b' || n, 'ferry tea ' || n,"
            " to_tsvector('simple', 'ferry tea ' || n), repeat('x', 900) FROM generate_series(1, 20000) n", "ANALYZE",
        )  # fmt: skip
        rounds = sum(len(one.recall) for one in done) // options.processes
        floors = pool.starmap(bare, [(url, rounds, number) for number in range(options.processes)])
    spreads = {
        name: spread([ms for one in done for ms in getattr(one, field)])
        for name, field in (
            ("recall ms", "recall"), ("begin of a turn ms", "begin"), ("durable write ms", "write"),
            ("change of a person ms", "change"),
        )
    }  # fmt: skip
    floors_of = {
        "bare full-text SELECT ms": spread([ms for asked, _ in floors for ms in asked]),
        "bare INSERT and COMMIT ms": spread([ms for _, wrote in floors for ms in wrote]),
    }
    kept = [one for each in done for one in each.kept]
    operations = [one for each in done for one in each.operations]
    turns, seconds = sum(len(one.begin) for one in done), max(one.seconds for one in done)
    return {
        "runs": 1, "agents": options.agents, "processes": options.processes, "turns": turns,
        "turns a second": turns / seconds,
        **spreads, **floors_of,
        "changes of a person": sum(len(one.change) for one in done), "conflicts": sum(one.conflicts for one in done),
        "changes refused while the server was away": sum(one.refused for one in done),
        "durable writes while it was away": sum(away < at < back for one in done for at in one.acknowledged),
        "kept": len(kept), "operations": len(operations), **counted_of(kept, operations),
        "server": server.run("postgres", "SHOW server_version")[0][0],
        "machine": f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}",
    }  # fmt: skip


def counted_of(kept: list[tuple[str, str]], operations: list[tuple[str, str]]) -> dict[str, int]:
    """How many of the texts and operations that were acknowledged are not there, or twice."""
    texts, made = by_home(kept), by_home(operations)
    lost = doubled = 0
    for home in {*texts, *made}:
        with open_workspace(home) as ws:
            there = "\n".join(f"{item.text}." for item in ws.items.all())
            logged = Counter(entry.operation.id for entry in ws.log(limit=1_000_000))
        found = [*(there.count(f" {text}.") for text in texts[home]), *(logged[one] for one in made[home])]
        lost += sum(times == 0 for times in found)
        doubled += sum(times > 1 for times in found)
    return {"lost": lost, "doubled": doubled}


def by_home(found: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Each home with what was acknowledged there."""
    homes: dict[str, list[str]] = defaultdict(list)
    for home, one in found:
        homes[home].append(one)
    return homes


if __name__ == "__main__":
    sys.exit(main())
