"""How fast recall is, and what a change costs it: `Recall.ask` and the RAM index beside FTS5 on a file and tantivy.

    python benchmarks/recall_speed.py                 # 1,000, 10,000 and 100,000 items
    python benchmarks/recall_speed.py --n 1000000 [--json FILE]

Items are made of words whose frequencies fall as in natural text; a vocabulary of names grows with their number. Half
of the questions are a few words of one item, half are words drawn as the items are. Every figure is a median, and every
ratio is to FTS5 (porter, OR) in the same run. `tantivy` is measured where it is installed. The JSON has the time of
the processor, too, which other programs on the machine change little.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.store.values import Item

SYLLABLES = (
    "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bel cor dam fen gil hos jar kem lun mir".split()
)
SEED = 1
MEASURED = 200
STOP_WORDS = 12
"""The words of the first ranks stand in most items and in no question: as in a real language, where every engine leaves
them out. The commonest word left is in a sixth of the items."""


def word(rank: int) -> str:
    """The word of a rank: short for frequent ones."""
    letters = ""
    rank += 30
    while rank:
        rank, at = divmod(rank, 30)
        letters += SYLLABLES[at]
    return letters


def corpus(count: int, seed: int = SEED) -> tuple[list[Item], list[str]]:
    """Items of about 17 words, and questions."""
    chance = random.Random(seed)

    def draw() -> str:
        if chance.random() < 0.07:  # names and identifiers: ever new ones
            return word(int(math.exp(chance.random() * 16.6)))
        return word(int(math.exp(chance.random() * 8.3)))

    items = []
    for number in range(count):
        length = max(5, min(60, int(chance.gauss(17, 7))))
        text = " ".join(draw() for _ in range(length))
        items.append(Item(f"i{number}", text, importance=0.7, updated_at="2026-01-01T00:00:00+00:00"))
    questions = []
    left_out = {word(rank) for rank in range(STOP_WORDS)}
    for _ in range(MEASURED):
        if chance.random() < 0.5:
            words = [one for one in dict.fromkeys(chance.choice(items).text.split()) if one not in left_out]
            questions.append(" ".join(chance.sample(words, min(len(words), chance.randint(2, 5)))))
        else:
            drawn = (draw() for _ in range(chance.randint(4, 8)))
            questions.append(" ".join(one for one in drawn if one not in left_out) or draw())
    return items, questions


class Engine(NamedTuple):
    """One engine, filled: how it is asked, how long it took to build, and how an item is added to it."""

    ask: Callable[[str], Any]
    built: float
    add: Callable[[Item], Any] | None = None


def asked(work: Callable[[str], Any], questions: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of each question, on the clock and of the processor; five runs before do not count."""
    for question in questions[:5]:
        work(question)
    times, used = [], []
    until = time.perf_counter() + 60
    for question in questions:
        started, begun = time.perf_counter(), time.process_time()
        work(question)
        times.append((time.perf_counter() - started) * 1000)
        used.append((time.process_time() - begun) * 1000)
        if time.perf_counter() > until:
            break
    return times, used


@contextlib.contextmanager
def full_text(items: list[Item]) -> Iterator[dict[str, Engine]]:
    """FTS5 on a file, as an agent would have it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(sqlite3.connect(Path(folder, "items.db"))) as db:
        db.executescript("PRAGMA journal_mode=wal; PRAGMA synchronous=normal")
        db.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, key TEXT UNIQUE, text TEXT)")
        db.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize='porter unicode61')")
        started = time.perf_counter()
        with db:
            db.executemany("INSERT INTO item VALUES (?, ?, ?)", ((n, row.id, row.text) for n, row in enumerate(items)))
            db.executemany("INSERT INTO f(rowid, text) VALUES (?, ?)", ((n, row.text) for n, row in enumerate(items)))
        built = time.perf_counter() - started
        best = "SELECT rowid AS r FROM f WHERE f MATCH ? ORDER BY rank LIMIT 8"
        find = f"SELECT i.key, i.text FROM ({best}) JOIN item i ON i.id = r"

        def ask(question: str) -> None:
            db.execute(find, (" OR ".join(f'"{one}"' for one in dict.fromkeys(question.split())),)).fetchall()

        def add(row: Item) -> None:
            with db:
                place = db.execute("INSERT INTO item(key, text) VALUES (?, ?)", (row.id, row.text)).lastrowid
                db.execute("INSERT INTO f(rowid, text) VALUES (?, ?)", (place, row.text))

        yield {"FTS5 porter": Engine(ask, built, add)}


def tantivy_of(items: list[Item]) -> dict[str, Engine]:
    """tantivy in RAM. Raises ImportError."""
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("body", stored=False, tokenizer_name="en_stem")
    schema.add_text_field("key", stored=True, tokenizer_name="raw")
    index = tantivy.Index(schema.build())
    started = time.perf_counter()
    writer = index.writer(heap_size=64_000_000, num_threads=1)
    for row in items:
        writer.add_document(tantivy.Document(key=row.id, body=row.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    built = time.perf_counter() - started
    searcher = index.searcher()

    def ask(question: str) -> None:
        found = searcher.search(index.parse_query(" ".join(dict.fromkeys(question.split())), ["body"]), 8)
        for _, address in found.hits:
            searcher.doc(address)

    return {"tantivy en_stem": Engine(ask, built)}


@contextlib.contextmanager
def ours(items: list[Item]) -> Iterator[dict[str, Engine]]:
    """`Recall.ask` in a workspace, as a turn asks; and with what every score is made of, as a person does."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "workspace")
        (home / "memory").mkdir(parents=True)
        with open_workspace(home) as ws:
            snapshot = ws.store.load("item")
            snapshot.put("item", items)
            recall = Recall(ws.store, Settings())
            started = time.perf_counter()
            recall.warm(background=False)
            built = time.perf_counter() - started

            def add(row: Item) -> None:
                snapshot.put("item", [row])
                with snapshot.lock:
                    recall.index.current()

            def explained(question: str) -> None:
                recalled = recall.ask(Question(question))
                for hit in (*recalled.hits, *(cut.hit for cut in recalled.cut)):
                    dict(hit.parts)

            yield {
                "nanomem": Engine(lambda question: recall.ask(Question(question)), built, add),
                "nanomem, explained": Engine(explained, built),
            }


def once(work: Callable[[Any], Any], values: list[Any]) -> float:
    """The median milliseconds of something that is done once with each value."""
    times = []
    for value in values:
        started = time.perf_counter()
        work(value)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def beside(count: int, passes: int, left_out: dict[str, str]) -> dict[str, dict[str, float]]:
    """Every engine's figures at one number of items; who is not installed is told in `left_out`."""
    items, questions = corpus(count + 64)
    items, fresh = items[:count], items[count:]
    with full_text(items) as theirs, ours(items) as mine:
        engines = {**theirs, **mine}
        try:
            engines |= tantivy_of(items)
        except ImportError:
            left_out["tantivy"] = "not installed: `make bench` installs it"
        found = [{name: asked(one.ask, questions) for name, one in engines.items()} for _ in range(passes)]
        rows = {}
        for name, one in engines.items():
            times, used = ([min(row) for row in zip(*(f[name][part] for f in found), strict=False)] for part in (0, 1))
            rows[name] = {"ask ms": statistics.median(times), "ask cpu ms": statistics.median(used)}
            rows[name] |= {"build s": one.built}
            if one.add is not None:
                rows[name] |= {"add ms": once(one.add, fresh)}
    return rows


def tell(count: int, rows: dict[str, dict[str, float]]) -> None:
    """Print the table of one number of items."""
    base = rows["FTS5 porter"]["ask ms"]
    print(f"\n{count:,} items{'':12s}ask ms   of FTS5    add ms   build s")
    for name, row in rows.items():
        added = f"{row['add ms']:9.4f}" if "add ms" in row else " " * 9
        print(f"{name:22s}{row['ask ms']:9.3f}{row['ask ms'] / base:9.3f}x{added}{row['build s']:10.2f}", flush=True)


def main() -> int:
    """Print one table for each number of items."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--passes", type=int, default=1, help="of each question the least of so many, engines in turns")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {}
    left_out: dict[str, str] = {}
    for count in options.n:
        found[str(count)] = beside(count, options.passes, left_out)
        tell(count, found[str(count)])
    for who, why in left_out.items():
        print(f"{who} is left out: {why}")
    if options.json:
        body = {"benchmark": "recall_speed", "seed": SEED, "runs": MEASURED, "left out": left_out, "items": found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
