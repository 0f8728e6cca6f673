"""Words and meaning joined into one score: how much of the question a row covers, and how clearly it is near.

Pure functions over values. Words count by the share of the question that they cover, and meaning by how far a distance
stands out of all the others, so that meaning decides where words cover little. Must not embed anything or know an
index.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import TypeVar

from nanomem_tui.memory.scoring import PROFILES, LookedFor, Parts, Scored, Weights, growth
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import Candidate

K = TypeVar("K", bound=Hashable)

WEIGHT = 0.34
"""The weight of meaning; words have the rest. Learned on the open sets of `benchmarks/block.py`."""

TIMED = 0.5
"""What a memory of the time that is asked for gains, as a share of the best score of the words."""

FAR = 0.7
"""Cosine distance from which on a record of work is not near (seed 003)."""

CLEAR = 6.0
"""Standard deviations by which what is certainly near stands out of the rest."""

OBVIOUS = 0.54
"""How near a fact is that has a bearing on a question whatever its words are."""

UNRELATED, DEVIATION = 0.93, 0.08
"""Mean and standard deviation of the distances of texts that have nothing to do with each other (all-MiniLM-L6-v2)."""

ALIKE = 10
"""So many unrelated texts are thought of beside those that were found: a few distances tell little of the rest."""


def weights_of(profile: str, *, by_meaning: bool, timed: bool = True) -> dict[str, float]:
    """The weights of a profile; of our own with that of meaning, where meaning is asked, and with that of the time that
    a question names (`timed`)."""
    if profile != "default":
        return {**PROFILES[profile]}
    return {
        **({"vector": WEIGHT} if by_meaning else {}),
        **PROFILES[profile],
        **({"time": TIMED} if timed else {}),
    }


def fused_shares(found: Iterable[tuple[K, float]], far: float = math.inf) -> dict[K, float]:
    """By key, how near it is, 0 to 1; nothing from the distance `far` on.

    A distance counts by how many standard deviations it is below the mean of all that were found: models differ in how
    near they call texts that have nothing in common, and so do questions.
    """
    distances = dict(found)
    count = len(distances) + ALIKE
    mean = (sum(distances.values()) + ALIKE * UNRELATED) / count
    squares = sum((one - mean) ** 2 for one in distances.values())
    deviation = math.sqrt((squares + ALIKE * (DEVIATION**2 + (UNRELATED - mean) ** 2)) / count)
    clear = CLEAR * deviation
    return {key: min(1.0, (mean - one) / clear) for key, one in distances.items() if one < far and one < mean}


def nearness(distance: float | None) -> float:
    """A cosine distance as a share: 1 for the same, 0 from where nothing is near, or where it is not known."""
    return 0.0 if distance is None else max(0.0, 1 - distance / FAR)


def unspoken(
    found: Iterable[Candidate], distances: Mapping[str, float], items: Mapping[str, Item], far: float
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
    total: float,
    far: float,
    added: frozenset[str] = frozenset(),
) -> list[Scored]:
    """The `wanted` best candidates, best first, equal ones by id: score = (words + meaning) x (1 + the small shares).

    Words count (1 - w) for the whole question, meaning w for what is certainly near, w being the weight `vector`.
    `total`: what all words of the question count together.
    """
    weight = min(1.0, max(0.0, weights["vector"]))
    near, growth_of = fused_shares(distances.items(), far), growth(weights, today)
    asked = LookedFor(weights, today, tuple(words), added)
    rated = []
    for one in candidates:
        lexical, vector = (1 - weight) * one.score / total, weight * near.get(one.item.id, 0.0)
        rated.append((-(lexical + vector) * growth_of(one.item), one.item.id, one, lexical, vector))
    rated.sort(key=lambda row: row[:2])
    return [
        Scored(one.item, -score, Parts(one.item, lexical, asked, vector, distances.get(key), one.of))
        for score, key, one, lexical, vector in rated[:wanted]
    ]
