"""How well recall finds what was told: ours beside FTS5, tantivy and a peer, in one run, on the reader's own data.

    python benchmarks/recall.py --locomo locomo10.json --cmrc cmrc2018_dev.json

The data sets are not part of this repository (LoCoMo by snap-research, CC BY-NC 4.0; CMRC 2018 by ymcui, CC BY-SA 4.0);
paths also come from NANOMEM_LOCOMO and NANOMEM_CMRC. `tantivy` and `rank_bm25` are measured where they are installed.
The classes serve any harness that makes an engine, calls `index(items)` with (id, text, meta) and `search(query, k)`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui import clock
from nanomem_tui.memory import scoring
from nanomem_tui.memory.sequences import OrderedRecall, Passage
from nanomem_tui.store.search import Candidate
from nanomem_tui.store.values import Item
from nanomem_tui.store.vocabulary import Vocabulary
from nanomem_tui.store.word_index import WordIndex, without_common
from nanomem_tui.tokens import query_weights

DocumentItem = tuple[str, str, dict[str, Any]]
EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
STOP = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her here "
    "hers him his how i if in into is it its itself just me might mine more most my myself no nor not now of off "
    "on once only or other our ours out over own same she should so some such than that the their theirs them "
    "then there these they this those through to too under until up us very was we were what when where which "
    "while who whom whose why will with would you your yours".split()
)


# -- engines ----------------------------------------------------------------------------------------------------------


class Nanomem:
    """Turns in their order: neighbours, session, speaker and dates count."""

    name = "nanomem, ordered"

    def index(self, items: list[DocumentItem]) -> None:
        self.recall = OrderedRecall(map(_passage, items))

    def search(self, query: str, k: int) -> list[str]:
        return [hit.passage.key for hit in self.recall.search(query, k)]


class NanomemSessions(Nanomem):
    """Whole sessions, each asked for by its turns: the id of a document is that of its session."""

    name = "nanomem, sessions"

    def index(self, items: list[DocumentItem]) -> None:
        self.recall = OrderedRecall(
            Passage(f"{key}#{number}", line.partition(": ")[2] or line, key, line.partition(": ")[0], _day(meta))
            for key, text, meta in items
            for number, line in enumerate(text.split("\n"))
        )

    def search(self, query: str, k: int) -> list[str]:
        return [session for session, _ in self.recall.sessions(query, k)]


class NanomemFacts:
    """Plain facts: every text for itself, as `memory search` ranks items (profile `default`, RAM index)."""

    name = "nanomem, facts"

    def index(self, items: list[DocumentItem]) -> None:
        self.words, self.vocabulary = WordIndex(), Vocabulary()
        self.items = {key: Item(key, text) for key, text, _ in items}
        for key, text, _ in items:
            self.vocabulary.add(self.words.put(key, text, 0))
        self.weights, self.today = scoring.PROFILES["default"], clock.now().date()

    def search(self, query: str, k: int) -> list[str]:
        words = {}
        asked = without_common(query_weights(query), len(self.words), self.words.rows_with)
        for word, weight in asked.items():
            there = word if self.words.has(word) else self.vocabulary.nearest(word, self.words.rows_with)
            words[there or word] = weight
        found = self.words.search(words, k, slack=0.05)
        rated = [Candidate(self.items[key], score, list(self.words.matched(key, words))) for score, key in found]
        scored = [scoring.default(one, scoring.shares(one.item, self.weights, self.today)) for one in rated]
        scored.sort(key=lambda one: -one.score)
        return [one.item.id for one in scored[:k]]


class FullTextPorter:
    """SQLite's full-text index with its stemmer, the words joined by OR, stop words left out."""

    name = "FTS5 porter"

    def index(self, items: list[DocumentItem]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE VIRTUAL TABLE f USING fts5(text, tokenize='porter unicode61')")
        self.keys = [key for key, _, _ in items]
        self.db.executemany("INSERT INTO f(rowid, text) VALUES (?, ?)", enumerate(text for _, text, _ in items))

    def search(self, query: str, k: int) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in _content(query))
        if not match:
            return []
        rows = self.db.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?", (match, k))
        return [self.keys[row] for (row,) in rows]


class Tantivy:
    """tantivy with its English stemmer."""

    name = "tantivy en_stem"

    def index(self, items: list[DocumentItem]) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", stored=False, tokenizer_name="en_stem")
        schema.add_unsigned_field("number", stored=True, fast=True)
        self.index_ = tantivy.Index(schema.build())
        writer = self.index_.writer(heap_size=50_000_000, num_threads=1)
        for number, (_, text, _) in enumerate(items):
            document = tantivy.Document()
            document.add_text("body", text)
            document.add_unsigned("number", number)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self.index_.reload()
        self.searcher = self.index_.searcher()
        self.keys = [key for key, _, _ in items]

    def search(self, query: str, k: int) -> list[str]:
        words = " ".join(f'"{word}"' for word in _content(query) if word.isalnum())
        if not words:
            return []
        try:
            asked = self.index_.parse_query(words, ["body"])
        except ValueError:  # its tokenizer drops every word, as it does with long runs of Chinese
            return []
        found = self.searcher.search(asked, k)
        return [self.keys[self.searcher.doc(address)["number"][0]] for _, address in found.hits]


class RankBm25:
    """The peer: rank_bm25, the library that most Python memories without a model use."""

    name = "rank_bm25"

    def index(self, items: list[DocumentItem]) -> None:
        from rank_bm25 import BM25Okapi

        self.keys = [key for key, _, _ in items]
        self.bm25 = BM25Okapi([_content(text) for _, text, _ in items])

    def search(self, query: str, k: int) -> list[str]:
        scores = self.bm25.get_scores(_content(query))
        return [self.keys[at] for at in sorted(range(len(scores)), key=lambda at: -scores[at])[:k]]


ENGINES = (Nanomem, NanomemFacts, FullTextPorter, Tantivy, RankBm25)


def _content(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return list(dict.fromkeys(word for word in words if word not in STOP)) or words


def _passage(item: DocumentItem) -> Passage:
    key, text, meta = item
    speaker = meta.get("speaker") or ""
    return Passage(key, text.removeprefix(f"{speaker}: "), str(meta.get("session", "")), speaker, _day(meta))


def _day(meta: dict[str, Any]) -> str:
    return datetime.fromtimestamp(meta["ts"]).isoformat() if meta.get("ts") else ""


# -- data -------------------------------------------------------------------------------------------------------------


def locomo(path: Path) -> list[dict[str, Any]]:
    """The conversations: documents are turns; queries are those of categories 1 to 4 that name their evidence."""
    found = []
    for sample in json.loads(path.read_text(encoding="utf-8")):
        talk = sample["conversation"]
        documents: list[DocumentItem] = []
        for name in sorted((n for n in talk if re.fullmatch(r"session_\d+", n) and talk[n]), key=lambda n: int(n[8:])):
            moment = datetime.strptime(talk[f"{name}_date_time"].strip(), "%I:%M %p on %d %B, %Y").timestamp()
            for turn in talk[name]:
                shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                meta = {"session": name[8:], "speaker": turn["speaker"], "ts": moment}
                documents.append((turn["dia_id"], f"{turn['speaker']}: {turn.get('text', '')}{shared}", meta))
        known = {key for key, _, _ in documents}
        queries = []
        for asked in sample["qa"]:
            named = [f"D{int(a)}:{int(b)}" for e in asked.get("evidence") or [] for a, b in EVIDENCE.findall(e)]
            gold = [{key} for key in dict.fromkeys(named) if key in known]
            if gold and asked["category"] != 5:
                queries.append((asked["question"], gold, {key[1:].split(":")[0] for key in named}))
        found.append({"documents": documents, "queries": queries})
    return found


def cmrc(path: Path) -> list[dict[str, Any]]:
    """One collection of Chinese sentences; gold is the sentence that holds the answer."""
    documents: list[DocumentItem] = []
    queries = []
    for article, body in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for paragraph in body["paragraphs"]:
            context, spans = paragraph["context"], []
            for match in re.finditer(r"[^。！？；!?;\n]+[。！？；!?;]?", context):
                key = f"{article}:{len(documents)}"
                spans.append((match.start(), match.end(), key))
                documents.append((key, match.group().strip(), {"session": article}))
            for asked in paragraph["qas"]:
                starts = [context.find(answer["text"]) for answer in asked["answers"]]
                gold = {key for first, last, key in spans if any(first <= start < last for start in starts)}
                if gold:
                    queries.append((asked["question"], [gold], {str(article)}))
    return [{"documents": documents, "queries": queries}]


def two_characters(collections: list[dict[str, Any]], count: int = 500) -> list[dict[str, Any]]:
    """The same sentences asked for by two characters that few of them hold."""
    documents = collections[0]["documents"]
    holders: dict[str, set[str]] = {}
    for key, text, _ in documents:
        for run in re.findall(r"[\u4e00-\u9fff]{2,}", text):
            for at in range(len(run) - 1):
                holders.setdefault(run[at : at + 2], set()).add(key)
    rare = sorted(word for word, keys in holders.items() if len(keys) <= 5)
    chosen = random.Random(1).sample(rare, min(count, len(rare)))
    return [{"documents": documents, "queries": [(word, [holders[word]], set()) for word in chosen]}]


def misspelt(query: str, chance: random.Random) -> str:
    """The question with one slip in one of its longer words."""
    places = [match.span() for match in re.finditer(r"[A-Za-z]{4,}", query) if match.group().lower() not in STOP]
    if not places:
        return query
    start, end = chance.choice(places)
    at = chance.randrange(start + 1, end - 1)
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    kind = chance.randrange(4)
    changed = (letter, "", query[at + 1] + query[at], letter + query[at])[kind]
    return query[:at] + changed + query[at + (2 if kind == 2 else 1) :]


# -- measuring --------------------------------------------------------------------------------------------------------


def measure(make: Callable[[], Any], collections: list[dict[str, Any]], *, slips: bool = False) -> dict[str, float]:
    """R@5, R@10, R@20 and MRR over all questions, and the median milliseconds of a search."""
    sums, count, times = dict.fromkeys(("R@5", "R@10", "R@20", "hit@10", "MRR"), 0.0), 0, []
    chance = random.Random(7)
    for collection in collections:
        engine = make()
        engine.index(collection["documents"])
        for query, _, _ in collection["queries"][:3]:
            engine.search(query, 20)
        for query, gold, _ in collection["queries"]:
            asked = misspelt(query, chance) if slips else query
            started = time.perf_counter()
            found = list(engine.search(asked, 20))
            times.append((time.perf_counter() - started) * 1000)
            ranks = [min((found.index(key) for key in one if key in found), default=99) for one in gold]
            for k in (5, 10, 20):
                sums[f"R@{k}"] += sum(rank < k for rank in ranks) / len(ranks)
            sums["hit@10"] += min(ranks) < 10
            sums["MRR"] += 1 / (min(ranks) + 1) if min(ranks) < 20 else 0.0
            count += 1
    return {**{name: value / count for name, value in sums.items()}, "ms": statistics.median(times)}


def sessions_found(collections: list[dict[str, Any]]) -> dict[str, float]:
    """How often a session with any evidence is among the first five and ten."""
    hits, count = {5: 0, 10: 0}, 0
    for collection in collections:
        engine = Nanomem()
        engine.index(collection["documents"])
        for query, _, gold in collection["queries"]:
            found = [session for session, _ in engine.recall.sessions(query, 10)]
            count += 1
            for k in hits:
                hits[k] += bool(set(found[:k]) & gold)
    return {f"hit@{k}": value / count for k, value in hits.items()}


def compare(title: str, collections: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Print one table: every engine that is installed, times as ratios to FTS5's."""
    print(f"\n{title}\n{'engine':24s}" + "".join(f"{name:>8s}" for name in columns) + f"{'of FTS5':>10s}")
    rows = []
    for engine in ENGINES:
        try:
            rows.append((engine.name, measure(engine, collections)))
        except ImportError:
            print(f"{engine.name:24s} not installed")
    base = next(row["ms"] for name, row in rows if name == FullTextPorter.name)
    for name, row in rows:
        figures = "".join(f"{row[column]:8.3f}" for column in columns)
        print(f"{name:24s}{figures}{row['ms'] / base:9.2f}x", flush=True)


def main() -> int:
    """Run what there is data for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=os.environ.get("NANOMEM_LOCOMO"))
    parser.add_argument("--cmrc", type=Path, default=os.environ.get("NANOMEM_CMRC"))
    given = parser.parse_args()
    paths = {name: Path(path) for name, path in vars(given).items() if path}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing or not paths:
        print(f"no data: {', '.join(missing) or 'give --locomo and --cmrc, or NANOMEM_LOCOMO and NANOMEM_CMRC'}")
        return 2
    if "locomo" in paths:
        talks = locomo(paths["locomo"])
        compare("LoCoMo turns, categories 1 to 4", talks, ("R@5", "R@10", "R@20", "MRR"))
        print("\nsessions with any evidence: " + " ".join(f"{k} {v:.3f}" for k, v in sessions_found(talks).items()))
        print("\none slip in each question, R@10 that is lost:")
        for engine in (Nanomem, NanomemFacts, FullTextPorter):
            clean, wrong = measure(engine, talks)["R@10"], measure(engine, talks, slips=True)["R@10"]
            print(f"{engine.name:24s}{1 - wrong / clean:8.1%}")
    if "cmrc" in paths:
        sentences = cmrc(paths["cmrc"])
        compare("CMRC 2018, Chinese sentences", sentences, ("R@5", "R@10", "R@20", "MRR"))
        compare("two Chinese characters", two_characters(sentences), ("hit@10",))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
