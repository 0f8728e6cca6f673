"""The profiles that rank recalled items: our own, and those of seeds 000 and 001, each exact to its seed.

Pure functions over values. Every score says what it is made of. Must not find candidates or decide who sees them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from nanomem_tui.core import clock
from nanomem_tui.language.tokens import alike, index_tokens, readable, shown
from nanomem_tui.store.item_index import Candidate
from nanomem_tui.store.values import Item

Weights = Mapping[str, float]

PROFILES: Mapping[str, Weights] = MappingProxyType(
    {
        "default": MappingProxyType({"importance": 0.02, "recency": 0.02, "hits": 0.01}),
        "seed000": MappingProxyType({"overlap": 1.0, "coverage": 0.75, "recency": 0.2, "hits": 0.05}),
        "seed001": MappingProxyType({"fts": 0.65, "importance": 0.2, "recency": 0.15}),
    }
)
"""The weights of each profile. In `default` they are shares by which the lexical score grows: 5 % at most in all."""

MANY = 16
"""From so many candidates on for each one that is wanted, most are put aside before they are sorted."""

HALF_YEAR = 180.0
"""Days after which the recency of `default` and seed 001 is 1/e."""


class Scored(NamedTuple):
    """An item with its score and what the score is made of."""

    item: Item
    score: float
    parts: Mapping[str, Any]


# -- our own ----------------------------------------------------------------------------------------------------------


Shares = tuple[float, float, float]
"""By how much the lexical score of an item grows for its importance, its age and its hits."""


def shares(item: Item, weights: Weights, today: date) -> Shares:
    """The shares of an item in `default`."""
    hits = item.hits
    return (
        weights["importance"] * item.importance,
        weights["recency"] * _recency(item.updated_at[:10], today),
        weights["hits"] * min(1.0, math.log1p(hits) / 5) if hits > 0 else 0.0,
    )


def growth(weights: Weights, today: date) -> Callable[[Item], float]:
    """A function that tells what the lexical score of an item is multiplied by: one, and its shares."""
    by_importance, by_recency, by_hits = weights["importance"], weights["recency"], weights["hits"]
    recencies: dict[str, float] = {}

    def grown(item: Item) -> float:
        day, hits = item.updated_at[:10], item.hits
        recency = recencies.get(day)
        if recency is None:
            recency = recencies[day] = by_recency * _recency(day, today)
        factor = 1 + by_importance * item.importance + recency
        return factor + by_hits * min(1.0, math.log1p(hits) / 5) if hits > 0 else factor

    return grown


class LookedFor(NamedTuple):
    """The weights of a question, its day, the words that were looked for, and those of them that stand for others."""

    weights: Weights
    today: date
    words: Iterable[str]
    added: frozenset[str] = frozenset()


class Parts(Mapping[str, Any]):
    """What a score of `default` is made of, found out when somebody looks: a turn shows texts, and few people ask why.

    Values only: it says the same whenever it is asked.
    """

    __slots__ = ("_asked", "_bearing", "_distance", "_item", "_lexical", "_made", "_of", "_time", "_vector")

    def __init__(
        self,
        item: Item,
        lexical: float,
        asked: LookedFor,
        vector: float | None = None,
        distance: float | None = None,
        of: Item | None = None,
    ) -> None:
        """`of`: the row whose words were found, where the item took its place; `asked`: what was looked for; `vector`
        (None: nobody was asked) and `distance` (None: far): what it gets for its meaning, and how far that is from the
        question."""
        self._item, self._lexical, self._asked = item, lexical, asked
        self._vector, self._distance, self._of = vector, distance, of
        self._bearing: float | None = None
        self._time: float | None = None
        self._made: dict[str, Any] | None = None

    @property
    def base(self) -> float:
        """What words and meaning give: the score before its small shares."""
        return self._lexical + (self._vector or 0.0)

    @property
    def is_timed(self) -> bool:
        """Whether the item is of the time that is asked for."""
        return self._time is not None

    def timed(self, worth: float) -> Parts:
        """The same with what the item gets for being of the time that is asked for."""
        return self._with(self._bearing, worth)

    def judged(self, chance: float) -> Parts:
        """The same with the chance that the item has a bearing on the message: it is no part of the score."""
        return self._with(chance, self._time)

    def _with(self, bearing: float | None, time: float | None) -> Parts:
        found = Parts(self._item, self._lexical, self._asked, self._vector, self._distance, self._of)
        found._bearing, found._time = bearing, time
        return found

    def _parts(self) -> dict[str, Any]:
        if self._made is None:
            weights, today, words, added = self._asked
            importance, recency, hits = shares(self._item, weights, today)
            held = set(words).intersection(index_tokens((self._of or self._item).text))
            asked = [word for word in words if word not in added]
            stand_for = {shown(other): shown(word) for word in asked for other in alike(word) if other in held & added}
            self._made = {
                "terms": readable(held),
                **({"alike": stand_for} if stand_for else {}),
                **({} if self._of is None else {"replaced": self._of.id}),
                "lexical": self._lexical,
                **({} if self._time is None else {"time": self._time}),
                **({} if self._vector is None else {"vector": self._vector}),
                "importance": importance,
                "recency": recency,
                "hits": hits,
                **({} if self._distance is None else {"distance": self._distance}),
                **({} if self._bearing is None else {"bearing": self._bearing}),
            }
        return self._made

    def __getitem__(self, name: str) -> Any:
        return self._parts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts())

    def __len__(self) -> int:
        return len(self._parts())

    def __repr__(self) -> str:
        return repr(self._parts())


def default(
    candidates: Iterable[Candidate],
    wanted: int,
    weights: Weights,
    today: date,
    words: Iterable[str],
    added: frozenset[str] = frozenset(),
) -> list[Scored]:
    """The `wanted` best candidates, best first, equal ones by id: score = lexical x (1 + importance + recency + hits),
    each of the three a small share."""
    growth_of = growth(weights, today)
    rated = [(-one.score * growth_of(one.item), one.item.id, one) for one in candidates]
    if len(rated) > MANY * wanted > 0:
        least = sorted([one[0] for one in rated])[wanted - 1]
        rated = [one for one in rated if one[0] <= least]
    rated.sort()
    asked = LookedFor(weights, today, words, added)
    return [Scored(one.item, -score, Parts(one.item, one.score, asked, of=one.of)) for score, _, one in rated[:wanted]]


@lru_cache(4096)
def _recency(day: str, today: date) -> float:
    try:
        days = max(0, (today - date.fromisoformat(day)).days)
    except ValueError:
        days = 365
    return math.exp(-days / HALF_YEAR)


# -- seed 000 ---------------------------------------------------------------------------------------------------------

_SEED000_WORDS = re.compile(r"[A-Za-z0-9_]+|[\u4e00-\u9fff]+")
_SEED000_STOP = frozenset(
    "a an the and or for with this that you your are is to of in on it we our can please from now then still first "
    "just 这个 那个 一下 然后 就是 我们 你们 还有 以及 是否 可以 需要 已经 现在".split()
)
_SEED000_CHINESE = MappingProxyType(
    dict(
        zip(
            "路径 仓库 项目 配置 数据库 记忆 教训".split(),
            "path repo project config database memory lesson".split(),
            strict=True,
        )
    )
)
_SEED000_SAME = MappingProxyType(
    {
        **_SEED000_CHINESE,
        "paths": "path", "repository": "repo", "projects": "project", "configuration": "config",
        "databases": "database", "memories": "memory", "lessons": "lesson",
    }
)  # fmt: skip


@lru_cache(20_000)
def seed000_words(text: str) -> tuple[str, ...]:
    """The terms of seed 000: a run of Chinese is one term, and names its subject beside it."""
    words = []
    for run in _SEED000_WORDS.findall(text.lower()):
        word = _SEED000_SAME.get(run, run)
        if len(run) > 1 and word not in _SEED000_STOP:
            words.append(word)
        if run[0] >= "\u4e00":
            words += [subject for part, subject in _SEED000_CHINESE.items() if part in run]
    return tuple(words)


def seed000(query: str, items: Sequence[Item], weights: Weights, now: datetime) -> list[Scored]:
    """Every item, best first: sum of (1 + log1p(times asked)) x idf over shared terms by the root of the item's terms,
    + coverage + recency + hits. Equal ones by relevance, hits and time."""
    asked = Counter(seed000_words(query))
    held = [frozenset(seed000_words(item.text)) for item in items]
    rows_with = Counter(word for words in held for word in words)
    total = max(1, len(items))
    scored = []
    for item, words in zip(items, held, strict=True):
        shared = sorted(asked.keys() & words)
        overlap = sum(
            (1 + math.log1p(asked[word])) * (1 + math.log((total + 1) / (rows_with[word] + 1))) for word in shared
        ) / math.sqrt(max(1, len(words)))
        coverage = len(shared) / max(1, len(asked))
        parts = {
            "terms": shared,
            "overlap": weights["overlap"] * overlap,
            "coverage": weights["coverage"] * coverage,
            "recency": weights["recency"] * _seed000_recency(item.updated_at, now),
            "hits": weights["hits"] * math.log1p(max(0, item.hits)),
        }
        scored.append(Scored(item, _sum(parts), parts))
    return sorted(scored, key=_seed000_order, reverse=True)


def _seed000_order(one: Scored) -> tuple[float, float, int, str]:
    return one.score, one.parts["overlap"] + one.parts["coverage"], one.item.hits, one.item.updated_at


def _seed000_recency(updated_at: str, now: datetime) -> float:
    moment = clock.parse(updated_at)
    if moment is None:
        return 0.0
    return 1 / (1 + math.log1p(max(0.0, (now - moment).total_seconds() / 3600)))


# -- seed 001 ---------------------------------------------------------------------------------------------------------

_SEED001_WORDS = re.compile(r"[a-z0-9_]{2,}")
_SEED001_K1, _SEED001_B = 1.2, 0.75
_FULL_TEXT_WORDS = re.compile(r"[^\W_]+")
_DIACRITIC = re.compile("[\u0300-\u036f]+")


def seed001_words(query: str) -> list[str]:
    """The words that seed 001 asks for: 16 at most, each of two or more ASCII letters, digits or underscores."""
    return list(dict.fromkeys(_SEED001_WORDS.findall(query.lower())))[:16]


@lru_cache(65_536)
def full_text_words(text: str) -> tuple[str, ...]:
    """The words of a text as SQLite's unicode61 tokenizer cuts it."""
    lowered = " ".join(text.split()).lower()
    if not lowered.isascii():
        lowered = unicodedata.normalize("NFC", _DIACRITIC.sub("", unicodedata.normalize("NFD", lowered)))
    return tuple(_FULL_TEXT_WORDS.findall(lowered))


def seed001_bm25(query: str, items: Sequence[Item]) -> dict[str, float]:
    """SQLite's bm25() of the items that hold any word of the query, by id: lower is better."""
    phrases = [full_text_words(word) for word in seed001_words(query)]
    phrases = [phrase for phrase in phrases if phrase]
    total = words = 0
    counts: list[tuple[Item, int, list[int]]] = []
    for item in items:
        held = full_text_words(item.text)
        total += 1
        words += len(held)
        counts.append((item, len(held), [_occurrences(phrase, held) for phrase in phrases]))
    mean = words / total if total else 1.0
    rows_with = [sum(1 for _, _, times in counts if times[at]) for at in range(len(phrases))]
    idfs = [max(1e-6, math.log((total - rows + 0.5) / (rows + 0.5))) for rows in rows_with]
    return {
        item.id: -sum(
            weight * (n * (_SEED001_K1 + 1)) / (n + _SEED001_K1 * (1 - _SEED001_B + _SEED001_B * length / mean))
            for weight, n in zip(idfs, times, strict=True)
        )
        for item, length, times in counts
        if any(times)
    }


def _occurrences(phrase: tuple[str, ...], held: tuple[str, ...]) -> int:
    if len(phrase) == 1:
        return held.count(phrase[0])
    return sum(1 for at in range(len(held) - len(phrase) + 1) if held[at : at + len(phrase)] == phrase)


def seed001(query: str, rated: Sequence[tuple[Item, float]], weights: Weights, now: datetime) -> list[Scored]:
    """The items with their bm25, best first: .65 min-max inverted bm25 + .20 importance + .15 exp(-days / 180)."""
    values = [value for _, value in rated]
    least, most = min(values, default=0.0), max(values, default=0.0)
    asked = set(seed001_words(query))
    scored = []
    for item, value in rated:
        inverted = 1.0 if most - least < 1e-9 else (most - value) / (most - least)
        parts = {
            "terms": sorted(asked & set(full_text_words(item.text))),
            "fts": weights["fts"] * max(0.0, min(1.0, inverted)),
            "importance": weights["importance"] * item.importance,
            "recency": weights["recency"] * _seed001_recency(item.updated_at, now),
        }
        scored.append(Scored(item, _sum(parts), parts))
    return sorted(scored, key=lambda one: one.score, reverse=True)


def _seed001_recency(updated_at: str, now: datetime) -> float:
    moment = clock.parse(updated_at)
    if moment is None:
        return 0.0
    return math.exp(-max(0.0, (now - moment).total_seconds() / 86400) / HALF_YEAR)


def _sum(parts: Mapping[str, Any]) -> float:
    return float(sum(value for name, value in parts.items() if name != "terms"))


# Words and meaning joined into one score: how much of the question a row covers, and how clearly it is near.

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
