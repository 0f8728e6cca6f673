"""Words and meaning joined into one score: what a distance counts beside the best that words found.

Pure functions over values: min-max of both, the distance cut off. Must not embed anything or know an index.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import TypeVar

from nanomem_tui.memory.scoring import PROFILES, Parts, Scored, Weights, growth
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import Candidate

K = TypeVar("K", bound=Hashable)

WEIGHT = 0.4
"""The weight of meaning; words have the rest."""

FAR = 0.7
"""Cosine distance from which on a fact is not near (seed 003)."""

SPREAD = 0.2
"""The least distance between near and far: where everything is far, the nearest is not near."""


def weights_of(profile: str, *, by_meaning: bool) -> dict[str, float]:
    """The weights of a profile; of our own with that of meaning, where meaning is asked."""
    return {**({"vector": WEIGHT} if by_meaning and profile == "default" else {}), **PROFILES[profile]}


def shares(found: Iterable[tuple[K, float]], far: float = FAR) -> dict[K, float]:
    """By key, how near it is: 1 for the nearest, falling to 0 at the distance `far`, beyond which nothing is told."""
    near = [(key, distance) for key, distance in found if distance < far]
    if not near:
        return {}
    span = max(far - min(distance for _, distance in near), SPREAD)
    return {key: (far - distance) / span for key, distance in near}


def nearness(distance: float | None) -> float:
    """A cosine distance as a share: 1 for the same, 0 from where nothing is near, or where it is not known."""
    return 0.0 if distance is None else max(0.0, 1 - distance / FAR)


def unspoken(
    found: Iterable[Candidate], distances: Mapping[str, float], items: Mapping[str, Item], far: float = FAR
) -> list[Candidate]:
    """What is near in meaning and shares no word with the question, as candidates."""
    known = {one.item.id for one in found}
    near = (key for key, distance in distances.items() if distance < far and key not in known)
    return [Candidate(items[key], 0.0) for key in near if key in items]


def ranked(
    candidates: Sequence[Candidate],
    distances: Mapping[str, float],
    wanted: int,
    weights: Weights,
    today: date,
    words: Iterable[str],
    far: float = FAR,
) -> list[Scored]:
    """The `wanted` best candidates, best first, equal ones by id: score = (words + meaning) x (1 + the small shares).

    Words count (1 - w) for the best of them, meaning w for the nearest, w being the weight `vector`.
    """
    weight = min(1.0, max(0.0, weights["vector"]))
    near, growth_of = shares(distances.items(), far), growth(weights, today)
    most = max((one.score for one in candidates), default=0.0) or 1.0
    asked = (weights, today, tuple(words))
    rated = []
    for one in candidates:
        lexical, vector = (1 - weight) * one.score / most, weight * near.get(one.item.id, 0.0)
        rated.append((-(lexical + vector) * growth_of(one.item), one.item.id, one, lexical, vector))
    rated.sort(key=lambda row: row[:2])
    return [
        Scored(one.item, -score, Parts(one.item, lexical, asked, vector, distances.get(key), one.of))
        for score, key, one, lexical, vector in rated[:wanted]
    ]
