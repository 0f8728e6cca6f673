"""One scale for what all tiers say of a task: how near it is to the words, how new, how important.

    match     = lexical + (1 - lexical) * nearness
    relevance = match * tier * (1 + 0.15 * recency + 0.15 * importance) / 1.3

`lexical`: the share of the task's words that a finding holds, each by how rare it is among the findings, a word less
where it stands once in a text that is long for its kind. `nearness`: in meaning, where that was asked. `recency` halves
in 30 days, by whole days, so that an answer stays the same for a day. Words that no finding holds count as much as the
others do on average. A finding that shares only common words with the task, and no more than half of its words, has no
bearing on it unless it is near in meaning. Owns the ranking; must not know where findings come from. Equal ones: the
newest first, then by source.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.store.word_search import saturated
from nanomem_tui.tiers.common_words import is_common
from nanomem_tui.tiers.context_values import Finding
from nanomem_tui.tokens import tokens

TIER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"operational": 1.0, "working": 1.0, "longterm": 0.95, "knowledge": 0.9}
)
"""What a tier counts: what happens now a little more than what was, and that more than what stands in books."""
RECENCY, IMPORTANCE = 0.15, 0.15
HALF_LIFE = 30.0
"""Days after which a finding is half as new."""
MOST_SHARED = 0.5
"""The share of a task's words up to which common words alone make no connection."""
LEAST_NEAR = 0.2
"""The nearness in meaning from which on a finding needs no words of the task."""
MOST_READ = 8_000
"""Characters of a finding that are read for the words in it."""


class Ranked(NamedTuple):
    """A finding with its relevance (0 to 1), what that is made of, and whether it has a bearing on the task."""

    finding: Finding
    relevance: float
    parts: Mapping[str, Any]
    is_related: bool = True


def rank(findings: Sequence[Finding], words: Mapping[str, float], today: date) -> list[Ranked]:
    """The findings that have to do with the words or are near in meaning, best first."""
    held = [Counter(tokens(f"{one.heading}\n{one.said[:MOST_READ]}")) for one in findings]
    lengths = [sum(counts.values()) for counts in held]
    means = _means(findings, lengths)
    holders = Counter(word for counts in held for word in words if word in counts)
    many = len(findings)
    worth = {word: words[word] * math.log(1 + many / holders[word]) for word in words if holders[word]}
    unknown = sum(words[word] for word in words if not holders[word])
    known = sum(words[word] for word in worth)
    every = sum(worth.values()) * (1 + unknown / known) if known else 0.0
    ranked = []
    for one, counts, length in zip(findings, held, lengths, strict=True):
        mean = means[one.kind]
        terms = [word for word in worth if word in counts]
        found = sum(worth[word] * min(1.0, saturated(counts[word], length, mean)) for word in terms)
        lexical = found / every if every else 0.0
        match = lexical + (1 - lexical) * one.nearness
        if match > 0:
            made = _ranked(one, match, lexical, terms, today)
            ranked.append(made._replace(is_related=_is_related(one, terms, words)))
    ranked.sort(key=lambda entry: entry.finding.source)
    ranked.sort(key=lambda entry: entry.finding.at, reverse=True)
    return sorted(ranked, key=lambda entry: -entry.relevance)


def _is_related(one: Finding, terms: Sequence[str], words: Mapping[str, float]) -> bool:
    """Whether a finding is near in meaning, or shares a telling word or most words with the task."""
    if one.nearness >= LEAST_NEAR or not all(map(is_common, terms)):
        return True
    return sum(words[word] for word in terms) > MOST_SHARED * sum(words.values())


def _means(findings: Sequence[Finding], lengths: Sequence[int]) -> dict[str, float]:
    """How many words a finding of a kind has, on average."""
    sums: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for one, length in zip(findings, lengths, strict=True):
        sums[one.kind] += length
        numbers[one.kind] += 1
    return {key: max(1.0, sums[key] / number) for key, number in numbers.items()}


def _ranked(one: Finding, match: float, lexical: float, terms: Sequence[str], today: date) -> Ranked:
    tier, new = TIER_WEIGHTS[one.tier], _recency(one.at, today)
    whole = 1 + RECENCY + IMPORTANCE
    relevance = match * tier * (1 + RECENCY * new + IMPORTANCE * one.importance) / whole
    parts: dict[str, Any] = {
        "lexical": round(lexical, 4),
        "vector": round(one.nearness, 4),
        "recency": round(new, 4),
        "importance": round(one.importance, 4),
        "tier": tier,
        "terms": tuple(terms),
    }
    if not one.nearness:
        del parts["vector"]
    return Ranked(one, round(min(1.0, relevance), 4), MappingProxyType(parts))


def _recency(at: str, today: date) -> float:
    """1 for what is of today, half of it after `HALF_LIFE` days; 0 for what has no time."""
    try:
        days = max(0, (today - date.fromisoformat(at[:10])).days)
    except ValueError:
        return 0.0
    return float(0.5 ** (days / HALF_LIFE))
