"""What each sentence of a message is: a lasting statement and of what kind, a rule, a wish, a question, a task,
chatter, words of others. Learned from labelled sentences, a pack of weights for each language (0102).

A pack is JSON: `labels`, the `common` words, those of wishes to forget, names, and for each feature one letter a label,
its weight. Nothing of a message is kept or sent anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import tables
from nanomem_tui.language.features import features

KINDS = ("fact", "preference", "decision", "episodic")
LASTING = frozenset({*KINDS, "rule"})
ZERO, STEP = 79, 0.0625
"""The letter of a weight of nothing (`O`), and how much each letter after it is."""


class Reading(NamedTuple):
    """What a sentence is.

    `act`: fact, preference, decision, episodic (lasting statements), rule (how the assistant has to behave), moment (a
    statement of no weight), question, order, remember, forget, correction, chatter or quoted. `kind`: the kind of the
    memory that it would be. `lasting`: how likely it is worth to be kept, 0 to 1.
    """

    act: str
    kind: str
    lasting: float


class Pack(NamedTuple):
    """What was learned of one language."""

    labels: tuple[str, ...]
    common: frozenset[str]
    forgetting: frozenset[str]
    names: frozenset[str]
    weights: dict[str, bytes]

    def probabilities(self, found: set[str]) -> list[float]:
        """Return how likely each label is, for a sentence with these features."""
        rows = [self.weights["always"], *filter(None, map(self.weights.get, found))]
        sums = map(sum, zip(*rows, strict=True))
        shares = [1 / (1 + math.exp(-STEP * (total - ZERO * len(rows)))) for total in sums]
        whole = sum(shares)
        return [share / whole for share in shares]


@lru_cache(16)
def pack(language: str) -> Pack:
    """Return the pack of a language, of English where there is none."""
    body = tables.read(language)
    if not body:
        return pack("en")
    weights = {name: letters.encode() for name, letters in body["weights"].items()}
    common, forgetting, names = (frozenset(body[name]) for name in ("common", "forgetting", "names"))
    return Pack(tuple(body["labels"]), common, forgetting, names, weights)


def read(sentences: Sequence[str], language: str) -> list[Reading]:
    """Return what each sentence of a message is. `language`: the code of a pack (`en`, `zh`)."""
    return list(_read(tuple(sentences), language))


@lru_cache(64)  # a message is asked several times in one turn
def _read(sentences: tuple[str, ...], language: str) -> tuple[Reading, ...]:
    learned = pack(language)
    found: list[Reading] = []
    acts: list[str] = []
    for at in range(len(sentences)):
        shares = learned.probabilities(features(sentences, at, acts, learned.common))
        best = dict(zip(learned.labels, shares, strict=True))
        found.append(_reading(best))
        acts.append(found[-1].act)
    return tuple(found)


def _reading(shares: dict[str, float]) -> Reading:
    """The likeliest act, the likeliest kind of what lasts, and how likely it lasts."""
    lasting: dict[str, float] = {}
    for label, share in shares.items():
        act, _, kind = label.partition(":")
        if (kind or act) in LASTING:
            lasting[kind or act] = lasting.get(kind or act, 0.0) + share
    label = max(shares, key=shares.__getitem__)
    kind = max(lasting, key=lasting.__getitem__)
    return Reading(label.partition(":")[0], "preference" if kind == "rule" else kind, sum(lasting.values()))
