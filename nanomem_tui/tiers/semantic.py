"""Records found by words and by meaning at once, across the collections of seed 004: what was like this before?

Owns how both are joined, and what is said where only words were compared. Must not embed anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.errors import BadInput, NanomemError
from nanomem_tui.memory.fusion import FAR, WEIGHT, shares
from nanomem_tui.store.tier_kinds import KINDS, RECORD_KINDS, Kind, kind_of
from nanomem_tui.tiers.records import TierHit

if TYPE_CHECKING:
    from nanomem_tui.vectors.record_meaning import NearRecord, RecordMeaning

COLLECTIONS = tuple(kind.table for kind in KINDS.values() if kind.embedded)
"""What is embedded, each in a collection of its own."""
MOST = 100
"""Hits of one answer."""
BESIDE = 4
"""How many times as many as are wanted each way of finding is asked for."""
MAX_QUERY = 20_000


class Search(Protocol):
    """Finds by words."""

    def __call__(self, question: str, kinds: Sequence[str] = (), *, limit: int = 20) -> list[TierHit]: ...


class SemanticAnswer(NamedTuple):
    """What was found, best first, with a score from 0 to 1; `note`: why meaning was not asked, empty when it was."""

    hits: tuple[TierHit, ...]
    note: str = ""

    @property
    def by(self) -> str:
        """How it was found."""
        return "words" if self.note else "words and meaning"


def answer(
    search: Search,
    meaning: Callable[[], RecordMeaning] | None,
    query: str,
    collections: Sequence[str] = (),
    n_results: int = 5,
    far: float = FAR,
) -> SemanticAnswer:
    """The records most like a question. `collections`: of these alone, by their names or those of their kinds. Those
    that are not embedded, such as patterns, are found by their words.

    Raises BadInput for a question that is empty, or no such collection or number.
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
    return SemanticAnswer(tuple(_joined(by_words, near, 0.0 if note else WEIGHT, far)[:n_results]), note)


def _joined(by_words: Sequence[TierHit], near: Sequence[NearRecord], weight: float, far: float) -> list[TierHit]:
    """Min-max of both, as items are ranked: the best by words counts (1 - weight), the nearest `weight`."""
    most = max((hit.score for hit in by_words), default=0.0) or 1.0
    lexical = {hit.record.key: hit for hit in by_words}
    distances = {one.record.key: one.distance for one in near if one.distance < far}
    known = {one.record.key: one.record for one in near} | {one.record.key: one.record for one in by_words}
    share = shares(distances.items(), far)
    hits = []
    for key in dict.fromkeys((*lexical, *distances)):
        found = lexical.get(key)
        words = (1 - weight) * found.score / most if found is not None else 0.0
        meant = weight * share.get(key, 0.0)
        parts: dict[str, object] = {"lexical": round(words, 6), "meaning": round(meant, 6)}
        if key in distances:
            parts["distance"] = round(distances[key], 6)
        parts["words"] = found.parts.get("words", []) if found is not None else []
        hits.append(TierHit(known[key], words + meant, parts))
    hits.sort(key=lambda hit: (hit.record.at, hit.record.key), reverse=True)
    return sorted(hits, key=lambda hit: -hit.score)


def _kinds(collections: Sequence[str]) -> list[Kind]:
    """The kinds of collections, of all records where none are named. Raises BadInput."""
    return list({kind.name: kind for kind in map(kind_of, collections or RECORD_KINDS)}.values())
