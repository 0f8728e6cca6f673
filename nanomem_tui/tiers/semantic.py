"""Records found by words and by meaning at once, across the collections of seed 004: what was like this before?

    score = lexical + (1 - lexical) * nearness

`lexical` is the share of the question's words that a record holds, `nearness` what its distance in meaning leaves of
the distance where nothing is near. Neither depends on what else was found, so scores can be compared between
collections, indexes and questions. Owns how both are joined, and what is said where only words were compared. Must not
embed anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.language.tokens import query_weights
from nanomem_tui.memory.recall.scoring import FAR, nearness
from nanomem_tui.store.work.kinds import RECORD_KINDS, Kind, kind_of
from nanomem_tui.store.work.search import MOST_WORDS
from nanomem_tui.store.work.values import TierHit

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import KnowledgeHit
    from nanomem_tui.tiers.knowledge import KnowledgeBase as Documents
    from nanomem_tui.tiers.records import TierRecords
    from nanomem_tui.vectors.records import NearRecord, RecordMeaning

MOST = 100
"""Hits of one answer."""
BESIDE = 4
"""How many times as many as are wanted each way of finding is asked for."""
MAX_QUERY = 20_000


class SemanticAnswer(NamedTuple):
    """What was found, best first, with a score from 0 to 1; `note`: why meaning was not asked, empty when it was."""

    hits: tuple[TierHit, ...]
    note: str = ""

    @property
    def by(self) -> str:
        """How it was found."""
        return "words" if self.note else "words and meaning"


def answer(
    search: Callable[..., list[TierHit]],
    meaning: Callable[[], RecordMeaning] | None,
    query: str,
    collections: Sequence[str] = (),
    n_results: int = 5,
) -> SemanticAnswer:
    """The records most like a question; `search` finds by words, `meaning` gives what finds by it.

    `collections`: of these alone, by their names or those of their kinds. Those that are not embedded, as patterns, are
    found by their words. Raises BadInput for a question that is empty, or no such collection or number.
    """
    kinds = _kinds(collections)
    if not query.strip() or len(query) > MAX_QUERY:
        raise BadInput("no usable question", "query", f"give 1 to {MAX_QUERY:,} characters")
    if not 1 <= n_results <= MOST:
        raise BadInput("no such number of results", str(n_results), f"give 1 to {MOST}")
    by_words = search(query, [kind.name for kind in kinds], limit=BESIDE * n_results)
    near: Sequence[NearRecord] = ()
    note = "" if meaning is not None else "nothing here finds by meaning"
    if meaning is not None:
        try:
            near = meaning().nearest(query, [kind.name for kind in kinds if kind.embedded], BESIDE * n_results)
        except NanomemError as error:
            note = error.line()
    return SemanticAnswer(tuple(_joined(query, by_words, near)[:n_results]), note)


def _joined(query: str, by_words: Sequence[TierHit], near: Sequence[NearRecord]) -> list[TierHit]:
    """The records of both, best first; of equal ones those that hold rarer words, then the newest."""
    weights = query_weights(query, MOST_WORDS)
    whole = sum(weights.values())
    lexical = {hit.record.key: hit for hit in by_words}
    distances = {one.record.key: one.distance for one in near if one.distance < FAR}
    records = {one.record.key: one.record for one in near} | {one.record.key: one.record for one in by_words}
    hits = []
    for key in dict.fromkeys((*lexical, *distances)):
        words = list(lexical[key].parts["words"]) if key in lexical else []
        share = min(1.0, sum(weights.get(word, 0.0) for word in words) / whole) if words else 0.0
        meant = (1 - share) * nearness(distances.get(key))
        parts: dict[str, object] = {"lexical": round(share, 6), "meaning": round(meant, 6)}
        if key in distances:
            parts["distance"] = round(distances[key], 6)
        parts["words"] = words
        hits.append(TierHit(records[key], share + meant, parts))
    hits.sort(key=lambda hit: (hit.record.at, hit.record.key), reverse=True)
    rarity = {key: hit.score for key, hit in lexical.items()}
    return sorted(hits, key=lambda hit: (-hit.score, -rarity.get(hit.record.key, 0.0)))


def _kinds(collections: Sequence[str]) -> list[Kind]:
    return list({kind.name: kind for kind in map(kind_of, collections or RECORD_KINDS)}.values())


# -- for a program with an event loop ---------------------------------------------------------------------------------

Hit = TypeVar("Hit")


class Results(list[Hit]):
    """Hits, best first, each with a `score` from 0 to 1; `note`: why only words were compared, empty otherwise."""

    def __init__(self, hits: Iterable[Hit], note: str = "") -> None:
        super().__init__(hits)
        self.note = note


class Memory:
    """The records of an agent's work, searched by words and meaning."""

    def __init__(self, records: Callable[[], TierRecords]) -> None:
        self._records = records

    async def semantic_search(
        self, query: str, collections: Sequence[str] = (), n_results: int = 5
    ) -> Results[TierHit]:
        """Return the records most like a question. `collections`: of these alone, such as incidents or procedures.

        Raises BadInput for an empty question, or a collection or number that does not exist.
        """
        answer = await asyncio.to_thread(self._records().semantic_search, query, collections, n_results)
        return Results(answer.hits, answer.note)


class KnowledgeBase:
    """Documents, searched by words."""

    def __init__(self, documents: Callable[[], Documents]) -> None:
        self._documents = documents

    async def search(self, query: str, n_results: int = 5, sources: Sequence[str] = ()) -> Results[KnowledgeHit]:
        """Return the chunks that answer a question best. `sources`: of these kinds of documents alone.

        Raises BadInput for a kind that does not exist.
        """
        return Results(await asyncio.to_thread(self._documents().search, query, n_results, sources))
