"""Engines behind one interface, for `recall.py` and for any harness that makes one per collection and calls
`index(items)` with (id, text, meta), `search(query, k)` and, where it is there, `close()`:

    locomo_retrieval.py --engine benchmarks/adapters.py:Nanomem --engine benchmarks/adapters.py:Taosmd

`Nanomem` is ours for turns in their order, `NanomemFacts` for texts that stand alone (Chinese sentences, items),
`NanomemSessions` for whole sessions. An engine whose package is not there raises ImportError when it is made or filled.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from nanomem_tui.store.word_index import drop_common_characters

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nanomem_tui.core import clock
from nanomem_tui.language.cues import asked_speaker
from nanomem_tui.language.tokens import query_words
from nanomem_tui.memory.recall import recall as questions
from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.conversations import ROLES
from nanomem_tui.memory.recall.passages import OrderedRecall, Passage
from nanomem_tui.store.item_index import Candidate
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import Vocabulary, WordIndex, add_similar_words

DocumentItem = tuple[str, str, dict[str, Any]]
ROOT = Path(__file__).resolve().parents[1]
STOP = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her here "
    "hers him his how i if in into is it its itself just me might mine more most my myself no nor not now of off "
    "on once only or other our ours out over own same she should so some such than that the their theirs them "
    "then there these they this those through to too under until up us very was we were what when where which "
    "while who whom whose why will with would you your yours".split()
)


class Nanomem:
    """Turns in their order: neighbours, session, speaker and dates count."""

    name = "nanomem, ordered"

    def index(self, items: list[DocumentItem]) -> None:
        self.recall = OrderedRecall(map(_passage, items))

    def search(self, query: str, k: int) -> list[str]:
        return [hit.passage.key for hit in self.recall.search(query, k)]


class NanomemChats(Nanomem):
    """Chats of a person and an agent, as `recall` reads sessions: a question of oneself asks for one's own words."""

    name = "nanomem, chats"

    def index(self, items: list[DocumentItem]) -> None:
        self.recall = OrderedRecall(map(_passage, items), ROLES)

    def search(self, query: str, k: int) -> list[str]:
        return [hit.passage.key for hit in self.recall.search(query, k, asked_speaker(query))]


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
        asked = drop_common_characters(
            questions.weighted_words(questions.Question(query)), len(self.words), self.words.rows_with
        )
        words, _ = questions.correct_spelling(
            asked,
            query_words(query),
            self.words.has,
            lambda word: self.vocabulary.nearest(word, self.words.rows_with),
            lambda word: self.vocabulary.longer(word, self.words.rows_with),
        )
        words = add_similar_words(words, len(self.words), self.words.mean, self.words.rows_with)
        found = self.words.search(words, k, slack=0.05)
        rated = [Candidate(self.items[key], score) for score, key in found]
        return [one.item.id for one in scoring.rank_default(rated, k, self.weights, self.today, words)]


class FullTextPorter:
    """SQLite's full-text index with its stemmer, the words joined by OR, stop words left out."""

    name = "FTS5 porter"
    tokenizer = "porter unicode61"

    def index(self, items: list[DocumentItem]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(f"CREATE VIRTUAL TABLE f USING fts5(text, tokenize='{self.tokenizer}')")
        self.keys = [key for key, _, _ in items]
        self.db.executemany("INSERT INTO f(rowid, text) VALUES (?, ?)", enumerate(text for _, text, _ in items))

    def search(self, query: str, k: int) -> list[str]:
        return self._found(_content(query), k)

    def _found(self, words: Iterable[str], k: int) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return []
        rows = self.db.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?", (match, k))
        return [self.keys[row] for (row,) in rows]


class FullTextUnicode(FullTextPorter):
    """SQLite's full-text index as it comes: words as they are written, without marks and case."""

    name = "FTS5 unicode61"
    tokenizer = "unicode61"


class FullTextTrigrams(FullTextPorter):
    """SQLite's full-text index of all runs of three characters."""

    name = "FTS5 trigram"
    tokenizer = "trigram"

    def search(self, query: str, k: int) -> list[str]:
        runs = dict.fromkeys(query[at : at + 3].lower().replace('"', " ") for at in range(len(query) - 2))
        return self._found(runs, k)


class Bm25s(FullTextPorter):
    """bm25s with the stemmer of the language; words as they are written where it has none."""

    name = "bm25s, stemmed"
    stemmer = "english"

    def index(self, items: list[DocumentItem]) -> None:
        import bm25s
        import Stemmer

        self.keys, self.library = [key for key, _, _ in items], bm25s
        stems = Stemmer.Stemmer(self.stemmer) if self.stemmer else None
        self.cut = lambda texts: bm25s.tokenize(texts, stopwords=[], stemmer=stems, show_progress=False)
        self.bm25 = bm25s.BM25()
        self.bm25.index(self.cut([text for _, text, _ in items]), show_progress=False)

    def search(self, query: str, k: int) -> list[str]:
        found, _ = self.bm25.retrieve(self.cut([query]), k=min(k, len(self.keys)), show_progress=False)
        return [self.keys[at] for at in found[0]]


class FullTextBigrams(FullTextPorter):
    """The same, with runs of Chinese cut into overlapping pairs of characters before SQLite sees them."""

    name = "FTS5 porter, bigrams"

    def index(self, items: list[DocumentItem]) -> None:
        super().index([(key, _pairs(text), meta) for key, text, meta in items])

    def search(self, query: str, k: int) -> list[str]:
        return super().search(_pairs(query), k)


class Tantivy:
    """tantivy with the stemmer of the language; words as they are written where it has none."""

    name = "tantivy, stemmed"
    stemmer = "english"

    def index(self, items: list[DocumentItem]) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", stored=False, tokenizer_name="of_language")
        schema.add_unsigned_field("number", stored=True, fast=True)
        self.index_ = tantivy.Index(schema.build())
        words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
        stems = words.filter(tantivy.Filter.stemmer(self.stemmer)) if self.stemmer else words
        self.index_.register_tokenizer("of_language", stems.build())
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
    """rank_bm25, the library that most Python memories without a model use."""

    name = "rank_bm25"

    def index(self, items: list[DocumentItem]) -> None:
        from rank_bm25 import BM25Okapi

        self.keys = [key for key, _, _ in items]
        self.bm25 = BM25Okapi([_content(text) for _, text, _ in items])

    def search(self, query: str, k: int) -> list[str]:
        scores = self.bm25.get_scores(_content(query))
        return [self.keys[at] for at in sorted(range(len(scores)), key=lambda at: -scores[at])[:k]]


class Peer:
    """Another memory library, in a process and an environment of its own: `.peers/<folder>` (`make peer`), or the one
    whose Python the variable of the environment names."""

    folder = variable = program = name = ""
    slow = True

    def __init__(self) -> None:
        python = Path(os.environ.get(self.variable) or ROOT / ".peers" / self.folder / "bin" / "python")
        if not python.is_file():
            raise ImportError(f"{self.folder} is not installed: `make peer`")
        words = [str(python), str(ROOT / "benchmarks" / "peers" / self.program)]
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        self.child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=quiet)
        self.name = self._answer()["name"]

    def index(self, items: list[DocumentItem]) -> None:
        self._ask({"index": [(key, text) for key, text, _ in items]})

    def search(self, query: str, k: int) -> list[str]:
        return self._ask({"search": query, "k": k})["ids"]

    def close(self) -> None:
        self.child.communicate()

    def _ask(self, value: dict[str, Any]) -> dict[str, Any]:
        assert self.child.stdin
        self.child.stdin.write(json.dumps(value).encode() + b"\n")
        self.child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.child.stdout
        line = self.child.stdout.readline()
        if not line:
            self.child.communicate()
            raise ImportError(f"{self.folder} does not start: run benchmarks/peers/{self.program} in its environment")
        return dict(json.loads(line))


class Taosmd(Peer):
    """taosmd, the best memory that runs offline, with MiniLM."""

    folder, variable, program, name = "taosmd", "NANOMEM_PEER", "taosmd_peer.py", "taosmd, MiniLM"


class Mem0(Peer):
    """mem0's open-source library with MiniLM, told each text as a memory as it is: no language model is asked."""

    folder, variable, program, name = "mem0", "NANOMEM_MEM0", "mem0_peer.py", "mem0, MiniLM"


ENGINES = (
    Nanomem,
    NanomemFacts,
    FullTextPorter,
    FullTextUnicode,
    FullTextTrigrams,
    FullTextBigrams,
    Bm25s,
    Tantivy,
    RankBm25,
    Taosmd,
    Mem0,
)


def _content(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return list(dict.fromkeys(word for word in words if word not in STOP)) or words


def _pairs(text: str) -> str:
    return re.sub(r"[\u4e00-\u9fff]{2,}", lambda run: " ".join(map("".join, pairwise(run[0]))).join("  "), text)


def _passage(item: DocumentItem) -> Passage:
    key, text, meta = item
    speaker = meta.get("speaker") or ""
    return Passage(key, text.removeprefix(f"{speaker}: "), str(meta.get("session", "")), speaker, _day(meta))


def _day(meta: dict[str, Any]) -> str:
    return datetime.fromtimestamp(meta["ts"]).isoformat() if meta.get("ts") else ""
