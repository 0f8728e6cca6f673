"""Search by meaning: what it finds beside Chroma, MiniLM alone and words alone, how fast, and what one more fact costs.

    python benchmarks/vectors.py --locomo locomo10.json --cmrc cmrc2018_dev.json [--json FILE] [--quick]

Needs the extra `vector`; `chromadb` is measured where it is installed, with the same vectors, a database of its own and
nothing sent. Paths of the data also come from NANOMEM_LOCOMO and NANOMEM_CMRC; without them there are times only. Every
text is embedded once for all engines, so that the milliseconds are those of the search with one question embedded.
`--quick`: two conversations, fewer Chinese questions, 5,000 facts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import recall as words
from adapters import DocumentItem, FullTextPorter, Nanomem, NanomemFacts

from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.collection import PassageVectors, RamCollection, Row
from nanomem_tui.vectors.embedders import CheckedEmbedder, mini_lm
from nanomem_tui.vectors.semantic_search import SemanticSearch

SEED = 7
GOALS = {"R@5": 0.71, "R@10": 0.79, "R@20": 0.84, "MRR": 0.62}
COLUMNS = tuple(GOALS)
RUNS = 3
"""Of the searches by vectors, of which the best counts."""
QUESTIONS = 300
"""Chinese questions, evenly spread."""


class Once:
    """MiniLM, which embeds every text once: questions anew, as they are timed."""

    def __init__(self) -> None:
        self._embedder = mini_lm()
        self.name, self.dimension = self._embedder.name, self._embedder.dimension
        self._known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) == 1:
            return self._embedder.embed(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(missing), 256):
            part = missing[start : start + 256]
            self._known.update(zip(part, self._embedder.embed(part), strict=True))
        return np.array([self._known[text] for text in texts], np.float32).reshape(len(texts), self.dimension)


@cache
def embedder() -> Once:
    return Once()


# -- engines ----------------------------------------------------------------------------------------------------------


class Hybrid(Nanomem):
    """Turns in their order, by words and meaning, as the search in conversations has them."""

    name = "nanomem, hybrid"

    def index(self, items: list[DocumentItem]) -> None:
        super().index(items)
        self.folder = tempfile.TemporaryDirectory()
        maker = CheckedEmbedder(embedder())
        vectors = PassageVectors(lambda: maker, Path(self.folder.name, "vectors.db"))
        texts = [passage.text for passage in self.recall.passages]
        embedder().embed([text[:600] for text in texts])
        vectors.make(vectors.wanting(texts))
        self.nearest = lambda text, limit: vectors.nearest(text, texts, limit)

    def search(self, query: str, k: int) -> list[str]:
        return [hit.passage.key for hit in self.recall.search(query, k, nearest=self.nearest)]

    def close(self) -> None:
        self.folder.cleanup()


class HybridFacts:
    """Texts that stand alone, as items of a workspace: `Recall.ask` with the backend `hybrid`."""

    name = "nanomem, facts, hybrid"

    def index(self, items: list[DocumentItem]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        home = Path(self.folder.name, "workspace")
        (home / "memory").mkdir(parents=True)
        self.ws = open_workspace(home)
        self.ws.store.load("item").put("item", [Item(key, text) for key, text, _ in items])
        embedder().embed([text for _, text, _ in items])
        self.meaning = SemanticSearch(self.ws.store, Settings(), embedder)
        self.meaning.sync()
        self.recall = Recall(self.ws.store, Settings(recall_backend="hybrid"), lambda: self.meaning)
        self.recall.warm(background=False)

    def search(self, query: str, k: int) -> list[str]:
        found = self.recall.ask(Question(query, limit=k, whole=True))
        assert found.backend == "hybrid" or found.note
        return [hit.item.id for hit in found.hits]

    def close(self) -> None:
        self.meaning.close()
        self.ws.store.close()
        self.folder.cleanup()


class MiniLm:
    """MiniLM alone: the nearest vectors, compared one by one."""

    name = "MiniLM alone"

    def index(self, items: list[DocumentItem]) -> None:
        self.keys = [key for key, _, _ in items]
        self.matrix = embedder().embed([text for _, text, _ in items])

    def search(self, query: str, k: int) -> list[str]:
        similar = self.matrix @ embedder().embed([query])[0]
        return [self.keys[place] for place in np.argsort(-similar)[:k]]


class Chroma:
    """Chroma with the same vectors, as a program uses it that keeps its folder."""

    name = "Chroma, MiniLM"

    def index(self, items: list[DocumentItem]) -> None:
        self.folder, self.collection = chroma()
        vectors = embedder().embed([text for _, text, _ in items])
        put(self.collection, [key for key, _, _ in items], vectors)

    def search(self, query: str, k: int) -> list[str]:
        return list(self.collection.query(query_embeddings=[embedder().embed([query])[0]], n_results=k)["ids"][0])

    def close(self) -> None:
        self.folder.cleanup()


def chroma() -> tuple[Any, Any]:
    """A folder and a collection in it. Raises ImportError."""
    import chromadb
    from chromadb.config import Settings as Chosen

    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    client = chromadb.PersistentClient(folder.name, Chosen(anonymized_telemetry=False))
    return folder, client.create_collection("bench", metadata={"hnsw:space": "cosine"}, embedding_function=None)


def put(collection: Any, keys: list[str], vectors: Any) -> None:
    for start in range(0, len(keys), 5000):
        part = slice(start, start + 5000)
        collection.add(ids=keys[part], embeddings=vectors[part])


# -- measuring --------------------------------------------------------------------------------------------------------


def quality(
    title: str, engines: Sequence[Callable[[], Any]], collections: list[dict[str, Any]], most: int = 0
) -> list[dict[str, Any]]:
    """One table; an engine that is not installed is left out."""
    print(f"\n{title}\n{'engine':24s}" + "".join(f"{name:>8s}" for name in COLUMNS) + "      ms questions")
    rows = []
    for engine in engines:
        try:
            row = words.measure(engine, collections, most=most)
        except ImportError as missing:
            print(f"{getattr(engine, 'name', engine)}: left out: {missing}")
            continue
        rows.append(row)
        figures = "".join(f"{row[name]:8.3f}" for name in COLUMNS)
        print(f"{row['engine']:24s}{figures}{row['ms']:8.2f} {row['questions']:9d}", flush=True)
    return rows


def sessions(talks: list[dict[str, Any]]) -> dict[str, float]:
    """How often a session with any evidence is among the first five and ten, by words and meaning."""
    hits, count = {5: 0, 10: 0}, 0
    for talk in talks:
        engine = Hybrid()
        engine.index(talk["documents"])
        for query, _, gold in talk["queries"]:
            found = [session for session, _ in engine.recall.sessions(query, 10, engine.nearest)]
            count += 1
            for k in hits:
                hits[k] += bool(set(found[:k]) & gold)
        engine.close()
    return {f"hit@{k}": value / count for k, value in hits.items()}


def median_ms(work: Callable[[Any], Any], values: Sequence[Any]) -> float:
    """The median milliseconds of a piece of work; three runs before are not counted."""
    for value in values[:3]:
        work(value)
    times = []
    for value in values:
        started = time.perf_counter()
        work(value)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def searching(count: int, left_out: dict[str, str]) -> dict[str, float]:
    """The ten nearest of so many vectors: bare numpy, our index, Chroma; milliseconds, in turns, the best of three."""
    chance = np.random.default_rng(SEED)
    centres = chance.normal(size=(200, 384))
    vectors = (centres[chance.integers(200, size=count)] + chance.normal(size=(count, 384))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = [vectors[place] for place in chance.integers(count, size=100)]
    keys = [f"fact_{number}" for number in range(count)]
    index = RamCollection(384)
    index.upsert([Row(key, "", vector) for key, vector in zip(keys, vectors, strict=True)])

    def bare(vector: Any) -> Any:
        similar = vectors @ vector
        places = np.argpartition(-similar, 10)[:10]
        return places[np.argsort(-similar[places])]

    works: dict[str, Callable[[Any], Any]] = {"numpy": bare, "ours": lambda vector: index.nearest(vector, 10)}
    folder = None
    try:
        folder, collection = chroma()
        put(collection, keys, vectors)
        works["Chroma"] = lambda vector: collection.query(query_embeddings=[vector], n_results=10)
    except ImportError as missing:
        left_out["Chroma"] = str(missing)
        print(f"Chroma: left out: {missing}")
    for vector in asked[:20]:
        assert [near.key for near in index.nearest(vector, 10)] == [keys[place] for place in bare(vector)]
    found = {name: min(median_ms(work, asked) for _ in range(RUNS)) for name, work in works.items()}
    if folder is not None:
        folder.cleanup()
    return found


def adding(rounds: int) -> dict[str, float]:
    """Milliseconds until a new fact is acknowledged and found by its meaning, as an agent adds them, and of embedding
    the same text; taken in turns. Of each the tenth percentile, which other programs on the machine disturb least."""
    chance = random.Random(SEED)
    pool = "meeting kitchen budget server release holiday garden invoice doctor train painting violin coffee".split()
    model = mini_lm()
    adds, embeds = [], []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "workspace")
        (home / "memory").mkdir(parents=True)
        with open_workspace(home) as ws:
            ws.items.add("the first one")
            ws.flush()
            ws.meaning.sync()
            for number in range(rounds + 5):
                value = f"the {' '.join(chance.choices(pool, k=9))} number {number} is on Monday"
                started = time.perf_counter()
                ws.items.add(value, "fact")
                ws.meaning.nearest("what is new", 1)  # a known question: what it embeds is the new text
                added = time.perf_counter()
                model.embed([value])
                done = time.perf_counter()
                if number >= 5:  # both models are warm
                    adds.append((added - started) * 1000)
                    embeds.append((done - added) * 1000)
            assert ws.meaning.nearest(value, 1)[0][1] < 0.01
    return {"add": statistics.quantiles(adds, n=10)[0], "embedding": statistics.quantiles(embeds, n=10)[0]}


def main() -> int:
    """Run what there is data for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=os.environ.get("NANOMEM_LOCOMO") or None)
    parser.add_argument("--cmrc", type=Path, default=os.environ.get("NANOMEM_CMRC") or None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    count = 5_000 if given.quick else 20_000
    left_out: dict[str, str] = {}
    figures: dict[str, Any] = {"seed": SEED, "runs": RUNS, "quick": given.quick, "facts": count, "left out": left_out}
    found = figures["search"] = searching(count, left_out)
    print(f"\nthe ten nearest of {count:,}, ms, of numpy (goal 1.2)")
    for name, ms in found.items():
        print(f"{name:24s}{ms:8.2f}{ms / found['numpy']:8.2f}x", flush=True)
    added = figures["add"] = adding(20 if given.quick else 200)
    ratio = added["add"] / added["embedding"]
    print(
        f"\na fact added and found {added['add']:.2f} ms, its embedding {added['embedding']:.2f} ms: {ratio:.2f}x (1.2)"
    )
    if given.locomo and Path(given.locomo).is_file():
        talks = words.locomo(Path(given.locomo))[: 2 if given.quick else None]
        engines = (Nanomem, Hybrid, NanomemFacts, HybridFacts, MiniLm, Chroma, FullTextPorter)
        rows = quality("LoCoMo turns, categories 1 to 4", engines, talks)
        print("goal" + " " * 20 + "".join(f"{goal:8.3f}" for goal in GOALS.values()))
        hits = sessions(talks)
        print(f"sessions with any evidence: hit@5 {hits['hit@5']:.3f}, hit@10 {hits['hit@10']:.3f}")
        figures["locomo"] = {"turns": rows, "sessions": hits}
    if given.cmrc and Path(given.cmrc).is_file():
        sentences = words.cmrc(Path(given.cmrc))
        most = QUESTIONS // 5 if given.quick else QUESTIONS
        engines = (NanomemFacts, HybridFacts)
        figures["cmrc"] = quality("CMRC 2018, Chinese sentences, which MiniLM cannot read", engines, sentences, most)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
