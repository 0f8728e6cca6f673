"""How fast recall is, and what a change costs it: `Recall.ask` and the RAM index beside FTS5 on a file and tantivy.

    python benchmarks/recall_speed.py                 # 1,000, 10,000 and 100,000 items
    python benchmarks/recall_speed.py --n 1000000

Items are made of words whose frequencies fall as in natural text; a vocabulary of names grows with their number. Half
of the questions are a few words of one item, half are words drawn as the items are. Every figure is a median, and every
ratio is to FTS5 (porter, OR) in the same run. `tantivy` is measured where it is installed.
"""

from __future__ import annotations

import argparse
import math
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import open_workspace
from nanomem_tui.memory.recall import Question, Recall
from nanomem_tui.settings import Settings
from nanomem_tui.store.values import Item

SYLLABLES = (
    "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bel cor dam fen gil hos jar kem lun mir".split()
)
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


def corpus(count: int, seed: int = 1) -> tuple[list[Item], list[str]]:
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


def median_ms(work: Callable[[Any], Any], values: list[Any]) -> float:
    """The median milliseconds of a piece of work; five runs before are not counted."""
    for value in values[:5]:
        work(value)
    times = []
    until = time.perf_counter() + 60
    for value in values:
        started = time.perf_counter()
        work(value)
        times.append((time.perf_counter() - started) * 1000)
        if time.perf_counter() > until:
            break
    return statistics.median(times)


def full_text(items: list[Item], questions: list[str], fresh: list[Item]) -> dict[str, float]:
    """FTS5 on a file, as an agent would have it."""
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder, "items.db"))
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

        figures = {"ask": median_ms(ask, questions), "build": built, "add": once(add, fresh)}
        db.close()
        return figures


def tantivy_of(items: list[Item], questions: list[str]) -> dict[str, float]:
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

    return {"ask": median_ms(ask, questions), "build": built}


def ours(items: list[Item], questions: list[str], fresh: list[Item]) -> dict[str, float]:
    """`Recall.ask` in a workspace, as a turn asks; and with what every score is made of, as a person does."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "workspace")
        (home / "memory").mkdir(parents=True)
        with open_workspace(home) as ws:
            snapshot = ws.store.load("item")
            snapshot.replace_all(items, [])
            recall = Recall(ws.store, Settings())
            started = time.perf_counter()
            recall.warm(background=False)
            built = time.perf_counter() - started

            def add(row: Item) -> None:
                snapshot.put("item", row, dirty=False)
                with snapshot.lock:
                    recall.index.current()

            def explained(question: str) -> None:
                recalled = recall.ask(Question(question))
                for hit in (*recalled.hits, *(cut.hit for cut in recalled.cut)):
                    dict(hit.parts)

            return {
                "ask": median_ms(lambda question: recall.ask(Question(question)), questions),
                "explained": median_ms(explained, questions),
                "build": built,
                "add": once(add, fresh),
            }


def once(work: Callable[[Any], Any], values: list[Any]) -> float:
    """The median milliseconds of something that is done once with each value."""
    times = []
    for value in values:
        started = time.perf_counter()
        work(value)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def main() -> int:
    """Print one table for each number of items."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    for count in parser.parse_args().n:
        items, questions = corpus(count + 64)
        items, fresh = items[:count], items[count:]
        rows = {"FTS5 porter": full_text(items, questions, fresh)}
        try:
            rows["tantivy en_stem"] = tantivy_of(items, questions)
        except ImportError:
            print("tantivy is not installed")
        rows["nanomem"] = ours(items, questions, fresh)
        base = rows["FTS5 porter"]["ask"]
        print(f"\n{count:,} items{'':12s}ask ms   of FTS5    add ms   build s")
        rows["nanomem, explained"] = {"ask": rows["nanomem"]["explained"], "build": rows["nanomem"]["build"]}
        for name, row in rows.items():
            added = f"{row['add']:9.4f}" if "add" in row else " " * 9
            print(f"{name:22s}{row['ask']:9.3f}{row['ask'] / base:9.3f}x{added}{row['build']:10.2f}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
