"""A memory in PostgreSQL beside the bare SQL of the same work: a search, a durable change, a checkpoint, an opening.

    .peers/vectors/bin/python benchmarks/server_speed.py [--n 1000,100000] [--rounds 60] [--json FILE]

A server is started out of a package, on a socket. Items and questions are those of `recall_speed.py`. The floors are on
the same server: a full-text SELECT of the best ten by ts_rank over the same words of a table of its own, as who had no
nanomem would write it; an INSERT of a row as large with its COMMIT; for the opening, a full read of the rows. In turns;
ratios are of the medians. A durable change counts until it is acknowledged, when others see it and a power cut costs it
no more: `agent` as an agent's explicit memory, `person` as what is changed in the console.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recall_speed import corpus

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.language.tokens import query_weights, tokens
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.store.database import rows
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer, needed

GOALS = {"search": 1.3, "durable change, agent": 1.5}
CHUNK = 5_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", default="1000,100000")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    needed()
    machine = f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}"
    found: dict[str, Any] = {"machine": machine, "runs": options.rounds}
    with tempfile.TemporaryDirectory(prefix="nanomem-pg-") as data:
        server = PostgresServer(Path(data))
        try:
            found["server"] = server.run("postgres", "SHOW server_version")[0][0]
            for count in map(int, options.n.split(",")):
                found[str(count)] = measured(server, count, options.rounds)
                for name, row in found[str(count)].items():
                    print(f"{count:>9,} {name:28} {row}", flush=True)
        finally:
            server.server.cleanup()
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def measured(server: PostgresServer, count: int, rounds: int) -> dict[str, Any]:
    """Every figure at one size, in a schema of its own."""
    import psycopg

    _, url = server.fresh()
    url = url.replace("%20-csynchronous_commit%3Doff", "")
    os.environ |= {"NANOMEM_DATABASE_URL": url, "NANOMEM_RECALL_BACKEND": "sqlite_fts", "NANOMEM_MAX_ITEMS": "0"}
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        workspace = Path(folder) / "home" / "workspace"
        (workspace / "memory").mkdir(parents=True)
        items, questions = corpus(count)
        began = time.perf_counter()
        fill(workspace, items)
        filled = time.perf_counter() - began
        with psycopg.connect(url, autocommit=True) as raw:
            bare_items(raw, items)
            raw.execute("VACUUM ANALYZE")
            raw.execute("CREATE TABLE bare (id text PRIMARY KEY, content text, words tsvector, body text)")
            raw.execute("CREATE INDEX ON bare USING gin (words)")
            with open_workspace(workspace) as ws:
                assert ws.store.server is not None
                memories = f"{ws.store.server.quoted(ws.store.server.schema)}.memory_entries"
                figures = {"search": search(ws, raw, questions[:rounds])}
            figures |= durable(workspace, raw, rounds)
            figures |= opened(workspace, raw, memories) if count <= 100_000 else {}
        figures["fill"] = {"s": round(filled, 1), "items a second": round(count / filled)}
    return figures


def fill(workspace: Path, items: list[Item]) -> None:
    """The items, as an import writes them."""
    with open_workspace(workspace) as ws:
        ws.items.add("the first one")
        ws.flush()
        for start in range(0, len(items), CHUNK):
            part = [row._replace(scope_key=f"workspace:{ws.id}:global") for row in items[start : start + CHUNK]]
            with ws.store.writer.database.writing(durable=True) as connection:
                rows.insert_rows(connection, "item", part)


def bare_items(raw: Any, items: list[Item]) -> None:
    """The same items as who had no nanomem would keep them to be searched."""
    raw.execute("CREATE TABLE bare_items (id text PRIMARY KEY, content text, words tsvector)")
    with raw.cursor().copy("COPY bare_items FROM STDIN") as copy:
        for row in items:
            copy.write_row((row.id, row.text, " ".join(quoted(word) for word in sorted(set(tokens(row.text))))))
    raw.execute("CREATE INDEX ON bare_items USING gin (words)")


def quoted(word: str) -> str:
    """A word as it stands in a tsvector or a tsquery."""
    doubled = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


def search(ws: Workspace, raw: Any, questions: list[str]) -> dict[str, float]:
    """One question after the other, ours and bare in turns, ours without the rows in RAM."""
    ours, floor = [], []
    bare = (
        "SELECT id, content FROM bare_items WHERE words @@ %s::tsquery ORDER BY ts_rank(words, %s::tsquery) DESC"
        " LIMIT 10"
    )
    for number, question in enumerate(questions):
        asked = " | ".join(quoted(word) for word in query_weights(question))
        ours.append(ms(lambda question=question: ws.recall.ask(Question(question))))
        floor.append(ms(lambda asked=asked: raw.execute(bare, (asked, asked)).fetchall()))
        if number == 4:  # what was warmed up is not counted
            ours, floor = [], []
    return ratio(ours, floor)


def durable(workspace: Path, raw: Any, rounds: int) -> dict[str, Any]:
    """A durable change of an agent and of a person, beside an INSERT with its COMMIT."""
    agent, person, floor = [], [], []
    with open_workspace(workspace) as ws:
        key = ws.items.add("changed again and again")[1].id
        for number in range(rounds):
            agent.append(ms(lambda number=number: remember(ws, f"remembered {number} about ferries and windows")))
            body = "x" * 900
            values = (f"b{time.time_ns()}", f"remembered {number} about ferries", "'ferry' 'window'", body)
            floor.append(ms(lambda values=values: raw.execute("INSERT INTO bare VALUES (%s, %s, %s, %s)", values)))
            began = time.perf_counter()
            ws.items.edit(key, text=f"changed {number}")
            person.append((time.perf_counter() - began) * 1000)
        ws.store.checkpoint()
    return {
        "durable change, agent": ratio(agent, floor), "durable change, person": ratio(person, floor),
    }  # fmt: skip


def remember(ws: Workspace, text: str) -> None:
    """An explicit memory of an agent, acknowledged when a power cut costs it no more."""
    row = Item(f"a{time.time_ns()}", text, scope_key=f"workspace:{ws.id}:global", source="explicit_user")
    ws.perform(new_operation("items.add", "remember", [change_of("item", None, row)], actor="agent"))


def opened(workspace: Path, raw: Any, memories: str) -> dict[str, Any]:
    """Open to the first answer with every row in RAM, beside a full read of the rows."""
    ours, floor = [], []
    for _ in range(3):

        def first() -> None:
            with open_workspace(workspace) as ws:
                ws.items.all()

        ours.append(ms(first))
        floor.append(ms(lambda: raw.execute(f"SELECT * FROM {memories}").fetchall()))
    return {"open, every row": ratio(ours, floor)}


def ms(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def ratio(ours: list[float], floor: list[float]) -> dict[str, float]:
    """Medians in ms, and the ratio of the one to the other."""
    mine, bare = statistics.median(ours), statistics.median(floor)
    return {"ms": round(mine, 3), "bare ms": round(bare, 3), "of bare": round(mine / bare, 2)}


if __name__ == "__main__":
    sys.exit(main())
