"""Words and meaning joined into one score: what a distance counts beside the best that words found.

Pure functions over values: min-max of both, the distance cut off. Must not embed anything or know an index.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

WEIGHT = 0.4
"""The weight of meaning; words have the rest."""

FAR = 0.7
"""Cosine distance from which on a fact is not near (seed 003)."""

SPREAD = 0.2
"""The least distance between near and far: where everything is far, the nearest is not near."""


def shares(found: Iterable[tuple[K, float]], far: float = FAR) -> dict[K, float]:
    """By key, how near it is: 1 for the nearest, falling to 0 at the distance `far`, beyond which nothing is told."""
    near = [(key, distance) for key, distance in found if distance < far]
    if not near:
        return {}
    span = max(far - min(distance for _, distance in near), SPREAD)
    return {key: (far - distance) / span for key, distance in near}
