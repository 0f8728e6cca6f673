"""Which of the ranked memories have a bearing on a message: one that shares only small words with it has none.

Owns the chance that a reader would call a memory needed or useful there: how much of the message it covers, how rare
what it covers is in this very memory, how it stands beside the best, how near it is in meaning, and whether the message
is about the person at all. What each of these counts is learned (`scripts/language/teach_bearing.py`). Pure functions
over values; a few numbers, no model.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import cues, tables
from nanomem_tui.language.tokens import (
    alike,
    is_english,
    is_part,
    light_words,
    tokens,
)
from nanomem_tui.store.word_index import Statistics, idf

LEAST = 0.18
"""A memory with less of a chance is not given."""

LEAST_BY_MEANING = 0.26
"""The same where meaning was asked. What stands out in meaning is recalled whatever its chance."""

LEAST_ELSEWHERE = 0.05
"""The same in other languages than English, of which it was not learned."""

LEAST_ASKED = 0.15
"""A message with less of a chance to need any memory gets none."""

LEAST_COVERED = 0.06
"""The same where a memory has half of what the message is about: “tell me a joke about a vet”. Not among few rows, nor
of a message of one or two words, which is what it is about."""

MOST, MOST_OF_FEW = 0.5, 0.3
"""A memory that covers so much of what a message is about has a bearing on it, whatever else is learned; the second
among few rows."""

FEW = 50
"""Among fewer rows, how many hold a word tells nothing of how rare it is: each counts the same."""

ALIKE = 0.7
"""How much of a word a memory has that has another in its place."""

FAR = 0.8
"""Cosine distance from which on a memory is not near."""
NEAR = 0.55
"""Cosine distance up to which the nearest memory has a bearing on a message that needs some."""

_NAMED = re.compile(r"(?<![.!?:]\s)(?<!^)\b[^\W\d_a-z][\w'’-]+")


Found = tuple[AbstractSet[str], float, float | None]
"""What was found: the words that it holds of those looked for, its score, its distance in meaning (None: far)."""


class Message(NamedTuple):
    """What a message asks for, as the judge looks at it.

    `words`: what each word counts that is looked for, `parts`: the same of parts of words; `heavy`: those of the words
    that tell what a message is about. `subjects`: what each of its own words counts that does; `covers`: by token, the
    places of those of which it says something, each with how much. `total`: what all its words count together,
    `unknown`: those that no row holds, `most`: the rarest word. `rows` of the memory, `length` in words. `names`: the
    tokens of the names in it, `strange`: the share of them that no row holds. `of_people`: it speaks of the person, or
    of somebody they mean. `greets`: it does nothing else.
    """

    words: Mapping[str, float]
    parts: Mapping[str, float]
    heavy: frozenset[str]
    subjects: tuple[float, ...]
    covers: Mapping[str, Sequence[tuple[int, float]]]
    total: float
    unknown: float
    most: float
    rows: int
    length: int
    names: frozenset[str]
    strange: float
    of_people: bool
    is_english: bool
    greets: bool


def message(
    text: str, words: Mapping[str, float], written: Mapping[str, tuple[str, ...]], known: Statistics
) -> Message:
    """The message `text`, which is looked for by `words`, each with what it counts; `written`: its own words, each with
    the tokens that it may mean."""
    total = max(1, known.total)
    worth = {word: weight * idf(total, known.rows_with.get(word, 0)) for word, weight in words.items()}
    meant = [found for one in written.values() if (found := tuple(token for token in one if token in worth))]
    values = [(max(worth[token] for token in one), one) for one in meant]
    names = frozenset(token for name in _NAMED.findall(text) for token in tokens(name))
    english = is_english(text)
    light = light_words(english=english)
    about = [(value, one) for value, one in values if not light.issuperset(one)]
    whole = {word: value for word, value in worth.items() if not is_part(word)}
    return Message(
        whole,
        {word: value for word, value in worth.items() if word not in whole},
        frozenset(whole.keys() - light),
        tuple(1.0 if total < FEW else value for value, _ in about),
        _covering(worth, {token for one in meant for token in one}, [one for _, one in about]),
        sum(value for value, _ in values) or 1.0,
        sum(value for value, one in values if not any(known.rows_with.get(token) for token in one)),
        max(idf(total, 1), 1e-9),
        total,
        len(values),
        names,
        sum(not known.rows_with.get(name) for name in names) / max(1, len(names)),
        cues.is_of_people(text),
        english,
        cues.only_greets(text),
    )


def features(
    asked: Message, held: AbstractSet[str], rank: int, share: float, distance: float | None, nearest: float | None
) -> list[float]:
    """What the judge knows of one memory. `held`: the words that it has of those that are looked for; `share`: its
    score beside that of the best; `rank` from 0 on; `distance` in meaning, and that of the nearest (None: far, or
    nobody was asked)."""
    worth = [asked.words[word] for word in held if word in asked.words]
    said, most = sum(worth), max(worth, default=0.0) / asked.most
    parts = sum([asked.parts[word] for word in held if word in asked.parts]) if asked.parts else 0.0
    cover = min(1.5, max(said, parts / 3) / asked.total)
    near = max(0.0, FAR - distance) if distance is not None else 0.0
    best = max(0.0, FAR - nearest) if nearest is not None else 0.0
    return [
        share,
        math.log1p(rank),
        cover,
        most,
        math.log1p(said / asked.most),
        math.log1p(len(asked.heavy & held)),
        asked.unknown / asked.total,
        math.log1p(asked.length),
        float(asked.of_people),
        float(bool(asked.names)),
        asked.strange,
        float(not asked.names.isdisjoint(held)),
        cover * float(asked.of_people or bool(asked.names)),
        near,
        best - near,
        near * cover,
        math.log10(asked.rows),
    ]


def chances(asked: Message, hits: Sequence[Found], *, by_meaning: bool, clear: Sequence[bool] = ()) -> list[float]:
    """The chance of each hit, best first. All are 0 where the message needs no memory: it only greets, or the best of
    them shows it, which was learned of English messages alone. `clear`: whether each stands out of all the others in
    meaning."""
    if asked.greets:
        return [0.0] * len(hits)
    weights = "by meaning" if by_meaning else "by words"
    most = MOST_OF_FEW if asked.rows < FEW else MOST
    has_words = [covers(asked, held) >= most for held, _, _ in hits]
    tells = asked.rows >= FEW and asked.length > 2
    least_asked = LEAST_ASKED if not any(has_words) else LEAST_COVERED if tells else 0.0
    if asked.is_english and hits and least_asked:
        (best,) = looked_at(asked, hits, (0,))
        if _chance(_weights(weights, "message"), best) < least_asked:
            return [0.0] * len(hits)
    nearest = min((distance for _, _, distance in hits if distance is not None), default=FAR)
    is_sure = [
        has or is_clear or distance == nearest < NEAR
        for has, is_clear, (_, _, distance) in zip(has_words, clear or has_words, hits, strict=True)
    ]
    chances = [1.0] * len(hits)
    unsure = [place for place, sure in enumerate(is_sure) if not sure]
    of_memory = _weights(weights, "memory")
    for place, known in zip(unsure, looked_at(asked, hits, unsure), strict=True):
        chances[place] = _chance(of_memory, known)
    return chances


def covers(asked: Message, held: AbstractSet[str]) -> float:
    """How much a memory has of the words that tell what a message is about, 0 to 1."""
    shares = _shares(asked, held)
    found = sum(asked.subjects[place] * share for place, share in shares.items())
    return found / sum(asked.subjects) if shares else 0.0


def newer_first(asked: Message, rows: Sequence[tuple[AbstractSet[str], str]]) -> list[int]:
    """The places of rows, best first, in the order in which they are given: of two of which the newer has all that the
    other has of the message, the newer first; it may be another value. Of each row: the words of those looked for that
    it holds, and when it was said last."""
    said = [frozenset(place for place, share in _shares(asked, held).items() if share >= 1) for held, _ in rows]
    order: list[int] = []
    for place, (_, at) in enumerate(rows):
        older = (
            index
            for index, other in enumerate(order)
            if said[other] and said[other] <= said[place] and rows[other][1] < at
        )
        order.insert(next(older, len(order)), place)
    return order


def _shares(asked: Message, held: AbstractSet[str]) -> dict[int, float]:
    """By the place of a subject, how much of it a memory has; those that it has nothing of are left out."""
    found: dict[int, float] = {}
    for token in held & asked.covers.keys():
        for place, share in asked.covers[token]:
            found[place] = max(share, found.get(place, 0.0))
    return found


def _covering(
    looked_for: Iterable[str], written: AbstractSet[str], subjects: Sequence[tuple[str, ...]]
) -> dict[str, list[tuple[int, float]]]:
    """By token, the subjects of which it says something, and how much: all of a word that is itself, or is joined of it
    and its neighbour (`vs code`, `vscode`); of one that stands for it, and of a part, a share."""
    found: dict[str, list[tuple[int, float]]] = {}
    for place, words in enumerate(subjects):
        for word in words:
            found.setdefault(word, []).append((place, 1.0))
            for other in alike(word):
                found.setdefault(other, []).append((place, ALIKE))
    for token in looked_for:
        if token in written or token in found:
            continue
        for place, words in enumerate(subjects):
            share = max(_share_of(token, word) for word in words)
            if share:
                found.setdefault(token, []).append((place, share))
    return found


def _share_of(token: str, word: str) -> float:
    """How much of a word a part of it has, or what is joined of it and its neighbour."""
    if is_part(token):
        return len(token) / (len(word) + 1) if token[:-1] in word else 0.0
    return 1.0 if len(word) > 1 and word in token else 0.0


def least(asked: Message, *, by_meaning: bool) -> float:
    """The chance that a memory has at least to be given for that message."""
    return (LEAST_BY_MEANING if by_meaning else LEAST) if asked.is_english else LEAST_ELSEWHERE


def looked_at(asked: Message, hits: Sequence[Found], places: Iterable[int]) -> list[list[float]]:
    """The `features` of the hits at some places; `hits` are all, best first."""
    best = max((score for _, score, _ in hits), default=0.0) or 1.0
    nearest = min((distance for _, _, distance in hits if distance is not None), default=None)
    return [
        features(asked, held, place, score / best, distance, nearest)
        for place in places
        for held, score, distance in (hits[place],)
    ]


def _chance(weights: Sequence[float], values: Sequence[float]) -> float:
    return 1 / (1 + math.exp(-weights[0] - math.fsum(map(operator.mul, weights[1:], values))))


@lru_cache(4)
def _weights(name: str, of: str) -> tuple[float, ...]:
    """First what nothing of it counts, then a weight for each of `features`."""
    return tuple(tables.table("bearing")[name][of])
