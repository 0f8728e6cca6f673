"""Rank recalled items: our own profile, those of seeds 000 and 001, and whether a hit bears on the message at all.

Pure functions over values; every score carries its parts. `bearing_*` estimates the chance that a reader would call a
memory needed there: how much of the message it covers, how rare those words are in this memory, how it compares with
the best hit, how near it is in meaning, and whether the message is about the person. Its weights are learned
(`scripts/language/teach_bearing.py`). Must not find candidates or decide who sees them.
"""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from nanomem_tui.core import clock
from nanomem_tui.language import cues, pack_files
from nanomem_tui.language.tokens import (
    alike,
    index_tokens,
    is_english,
    is_part,
    is_piece,
    light_words,
    readable,
    shown,
    tokens,
)
from nanomem_tui.store.item_index import Candidate
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import Statistics, idf

Weights = Mapping[str, float]

PROFILES: Mapping[str, Weights] = MappingProxyType(
    {
        "default": MappingProxyType({"importance": 0.02, "recency": 0.02, "hits": 0.01}),
        "seed000": MappingProxyType({"overlap": 1.0, "coverage": 0.75, "recency": 0.2, "hits": 0.05}),
        "seed001": MappingProxyType({"fts": 0.65, "importance": 0.2, "recency": 0.15}),
    }
)
"""The weights of each profile. In `default` they are shares by which the lexical score grows: 5 % at most in all."""

MAX_DISTANCE = 0.8
"""Cosine distance from which on a text is far in meaning, and no model is given it for that."""

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


def item_shares(item: Item, weights: Weights, today: date) -> Shares:
    """Return the shares of an item in `default`."""
    hits = item.hits
    return (
        weights["importance"] * item.importance,
        weights["recency"] * _recency(item.updated_at[:10], today),
        weights["hits"] * min(1.0, math.log1p(hits) / 5) if hits > 0 else 0.0,
    )


def item_factor(weights: Weights, today: date) -> Callable[[Item], float]:
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


class ScoreParts(Mapping[str, Any]):
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

    def timed(self, worth: float) -> ScoreParts:
        """Return the same with what the item gets for being of the time that is asked for."""
        return self._with(self._bearing, worth)

    def judged(self, chance: float) -> ScoreParts:
        """Return the same with the chance that the item has a bearing on the message: it is no part of the score."""
        return self._with(chance, self._time)

    def _with(self, bearing: float | None, time: float | None) -> ScoreParts:
        found = ScoreParts(self._item, self._lexical, self._asked, self._vector, self._distance, self._of)
        found._bearing, found._time = bearing, time
        return found

    def _parts(self) -> dict[str, Any]:
        if self._made is None:
            weights, today, words, added = self._asked
            importance, recency, hits = item_shares(self._item, weights, today)
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


def rank_default(
    candidates: Iterable[Candidate],
    wanted: int,
    weights: Weights,
    today: date,
    words: Iterable[str],
    added: frozenset[str] = frozenset(),
) -> list[Scored]:
    """Return the `wanted` best: lexical x (1 + importance + recency + hits), equal ones by id."""
    growth_of = item_factor(weights, today)
    rated = [(-one.score * growth_of(one.item), one.item.id, one) for one in candidates]
    if len(rated) > MANY * wanted > 0:
        least = sorted([one[0] for one in rated])[wanted - 1]
        rated = [one for one in rated if one[0] <= least]
    rated.sort()
    asked = LookedFor(weights, today, words, added)
    return [
        Scored(one.item, -score, ScoreParts(one.item, one.score, asked, of=one.of)) for score, _, one in rated[:wanted]
    ]


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
    """Return the terms of seed 000: a run of Chinese is one term, and names its subject beside it."""
    words = []
    for run in _SEED000_WORDS.findall(text.lower()):
        word = _SEED000_SAME.get(run, run)
        if len(run) > 1 and word not in _SEED000_STOP:
            words.append(word)
        if run[0] >= "\u4e00":
            words += [subject for part, subject in _SEED000_CHINESE.items() if part in run]
    return tuple(words)


def rank_seed000(query: str, items: Sequence[Item], weights: Weights, now: datetime) -> list[Scored]:
    """Return every item, best first: sum of (1 + log1p(times asked)) x idf over shared terms by the root of the item's
    terms, + coverage + recency + hits. Equal ones by relevance, hits and time."""
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
    """Return the words that seed 001 asks for: 16 at most, each of two or more ASCII letters, digits or underscores."""
    return list(dict.fromkeys(_SEED001_WORDS.findall(query.lower())))[:16]


@lru_cache(65_536)
def full_text_words(text: str) -> tuple[str, ...]:
    """Return the words of a text as SQLite's unicode61 tokenizer cuts it."""
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


def rank_seed001(query: str, rated: Sequence[tuple[Item, float]], weights: Weights, now: datetime) -> list[Scored]:
    """Return the items, best first: .65 inverted bm25 + .20 importance + .15 exp(-days / 180)."""
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
    """Return the weights of a profile; ours with `vector` where meaning is asked and `time` where `timed`."""
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


def semantic_candidates(
    found: Iterable[Candidate], distances: Mapping[str, float], items: Mapping[str, Item], far: float
) -> list[Candidate]:
    """Return what is near in meaning and shares no word with the question, as candidates."""
    known = {one.item.id for one in found}
    near = (key for key, distance in distances.items() if distance < far and key not in known)
    return [Candidate(items[key], 0.0) for key in near if key in items]


def rank_fused(
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
    """Return the `wanted` best candidates, best first, equal ones by id: score = (words + meaning) x (1 + the small
    shares).

    Words count (1 - w) for the whole question, meaning w for what is certainly near, w being the weight `vector`.
    `total`: what all words of the question count together.
    """
    weight = min(1.0, max(0.0, weights["vector"]))
    near, growth_of = fused_shares(distances.items(), far), item_factor(weights, today)
    asked = LookedFor(weights, today, tuple(words), added)
    rated = []
    for one in candidates:
        lexical, vector = (1 - weight) * one.score / total, weight * near.get(one.item.id, 0.0)
        rated.append((-(lexical + vector) * growth_of(one.item), one.item.id, one, lexical, vector))
    rated.sort(key=lambda row: row[:2])
    return [
        Scored(one.item, -score, ScoreParts(one.item, lexical, asked, vector, distances.get(key), one.of))
        for score, key, one, lexical, vector in rated[:wanted]
    ]


# Which of the ranked memories have a bearing on a message: one that shares only small words with it has none.

LEAST = 0.18
"""A memory with less of a chance is not given."""

LEAST_BY_MEANING = 0.26
"""The same where meaning was asked. What stands out in meaning is recalled whatever its chance."""

LEAST_ELSEWHERE = 0.08
"""The same in other languages than English, which have a judge of their own."""

LEAST_ASKED = 0.15
"""A message with less of a chance to need any memory gets none."""

LEAST_COVERED = 0.06
"""The same where a memory has half of what the message is about: “tell me a joke about a vet”. Not among few rows, nor
of a message of one or two words, which is what it is about."""

MOST, MOST_OF_FEW = 0.5, 0.3
"""A memory that covers so much of what an English message is about, or one of a single word, has a bearing on it,
whatever else is learned; the second among few rows."""

FEW = 50
"""Among fewer rows, how many hold a word tells nothing of how rare it is: each counts the same."""

SHARE_ALIKE = 0.7
"""How much of a word a memory has that has another in its place."""

ENOUGH_PIECES = 0.7
"""How much of them is all, where a script has no spaces: a word put between two others takes a few pieces away."""

FAR_IN_MEANING = 0.8
"""Cosine distance from which on a memory is not near."""
NEAR = 0.55
"""Cosine distance up to which the nearest memory has a bearing on a message that needs some."""

_SOUNDS = re.compile("[\u3040-\u309f]+|[\u30a0-\u30ff\uac00-\ud7af]|[\uac00-\ud7af][는은을를에의]")
"""Kana, and Hangul with a particle: what endings and small words are written in."""
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
    of somebody they mean. `needs_none`: it greets, or is a sum, and nothing else.
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
    needs_none: bool


def read_message(
    text: str, words: Mapping[str, float], written: Mapping[str, tuple[str, ...]], known: Statistics
) -> Message:
    """Return a message as it is judged; `words`: with weights, `written`: its own with their tokens."""
    total = max(1, known.total)
    worth = {word: weight * idf(total, known.rows_with.get(word, 0)) for word, weight in words.items()}
    meant = [found for one in written.values() if (found := tuple(token for token in one if token in worth))]
    values = [(max(worth[token] for token in one), one) for one in meant]
    names = frozenset(token for name in _NAMED.findall(text) if name[0].isupper() for token in tokens(name))
    english = is_english(text)
    light = light_words(english=english)
    about = [(value, one) for value, one in values if not all(word in light or _tells_nothing(word) for word in one)]
    of_people = cues.is_of_people(text)
    if not about and (of_people or len(values) == 1):
        about = values  # “where do I work?”
    whole = {word: value for word, value in worth.items() if not is_part(word) and not _tells_nothing(word)}
    return Message(
        whole,
        {word: value for word, value in worth.items() if is_part(word)},
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
        of_people,
        english,
        cues.needs_no_memory(text),
    )


def _tells_nothing(piece: str) -> bool:
    """Whether a piece of Chinese, Japanese or Korean tells nothing by itself: it has a particle, or sounds alone."""
    if len(piece) == 2 and not piece.isascii() and not _particles().isdisjoint(piece):
        return True
    return _SOUNDS.fullmatch(piece) is not None


@lru_cache(1)
def _particles() -> frozenset[str]:
    return frozenset(pack_files.table("tokens")["particles"])


def bearing_features(
    asked: Message, held: AbstractSet[str], rank: int, share: float, distance: float | None, nearest: float | None
) -> list[float]:
    """Return what the judge knows of one memory. `held`: the words that it has of those that are looked for; `share`:
    its score beside that of the best; `rank` from 0 on; `distance` in meaning, and that of the nearest (None: far, or
    nobody was asked)."""
    worth = [asked.words[word] for word in held if word in asked.words]
    said, most = sum(worth), max(worth, default=0.0) / asked.most
    parts = sum([asked.parts[word] for word in held if word in asked.parts]) if asked.parts else 0.0
    cover = min(1.5, max(said, parts / 3) / asked.total)
    near = max(0.0, FAR_IN_MEANING - distance) if distance is not None else 0.0
    best = max(0.0, FAR_IN_MEANING - nearest) if nearest is not None else 0.0
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


def bearing_chances(
    asked: Message, hits: Sequence[Found], *, by_meaning: bool, clear: Sequence[bool] = ()
) -> list[float]:
    """Return the chance of each hit, best first. All are 0 where the message needs no memory: it only greets, or, in
    English, the best of them shows it. `clear`: whether each stands out of all the others in meaning."""
    if asked.needs_none:
        return [0.0] * len(hits)
    weights = ("by meaning" if by_meaning else "by words") if asked.is_english else "elsewhere"
    most = MOST_OF_FEW if asked.rows < FEW else MOST
    may_be_sure = asked.is_english or asked.length == 1
    has_words = [may_be_sure and coverage(asked, held) >= most for held, _, _ in hits]
    tells = asked.rows >= FEW and asked.length > 2
    least_asked = LEAST_ASKED if not any(has_words) else LEAST_COVERED if tells else 0.0
    if asked.is_english and hits and least_asked:
        (best,) = collect_features(asked, hits, (0,))
        if _chance(_weights(weights, "message"), best) < least_asked:
            return [0.0] * len(hits)
    nearest = min((distance for _, _, distance in hits if distance is not None), default=FAR_IN_MEANING)
    is_sure = [
        has or is_clear or distance == nearest < NEAR
        for has, is_clear, (_, _, distance) in zip(has_words, clear or has_words, hits, strict=True)
    ]
    chances = [1.0] * len(hits)
    unsure = [place for place, sure in enumerate(is_sure) if not sure]
    of_memory = _weights(weights, "memory")
    for place, known in zip(unsure, collect_features(asked, hits, unsure), strict=True):
        chances[place] = _chance(of_memory, known)
    return chances


def coverage(asked: Message, held: AbstractSet[str]) -> float:
    """Return how much a memory has of the words that tell what a message is about, 0 to 1."""
    shares = _shares(asked, held)
    found = sum(asked.subjects[place] * share for place, share in shares.items())
    return found / sum(asked.subjects) if shares else 0.0


def newer_first(asked: Message, rows: Sequence[tuple[AbstractSet[str], str]]) -> list[int]:
    """Return the places of rows, best first, in the order in which they are given: of two of which the newer has all
    that the other has of the message, or what stands for it, the newer first; it may be another value. Of each row: the
    words of those looked for that it holds, and when it was said last."""
    said = [{place for place, share in _shares(asked, held).items() if share >= 1} for held, _ in rows]
    meant = [_shares(asked, {word for word in held if _may_renew(asked, word)}).keys() for held, _ in rows]
    enough = ENOUGH_PIECES if any(map(is_piece, asked.covers)) else 1
    order: list[int] = []
    for place, (_, at) in enumerate(rows):
        older = (
            index
            for index, other in enumerate(order)
            if said[other] and len(said[other] & meant[place]) >= enough * len(said[other]) and rows[other][1] < at
        )
        order.insert(next(older, len(order)), place)
    return order


def _may_renew(asked: Message, word: str) -> bool:
    """Whether who says that word of what is asked may tell a newer value: it is the word itself, most of it, or one of
    change ("moved" where "live" is asked)."""
    most = max((share for _, share in asked.covers.get(word, ())), default=0.0)
    return most >= 1 or (most >= SHARE_ALIKE and (is_part(word) or word in pack_files.words("questions", "of_change")))


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
                found.setdefault(other, []).append((place, SHARE_ALIKE))
    for token in looked_for:
        if token in written or token in found:
            continue
        for place, words in enumerate(subjects):
            share = max(_share_of(token, word) for word in words)
            if share:
                found.setdefault(token, []).append((place, share))
    return found


def _share_of(token: str, word: str) -> float:
    if is_part(token):
        return len(token) / (len(word) + 1) if token[:-1] in word else 0.0
    return 1.0 if len(word) > 1 and word in token else 0.0


def least_chance(asked: Message, *, by_meaning: bool) -> float:
    """Return the chance that a memory has at least to be given for that message."""
    return (LEAST_BY_MEANING if by_meaning else LEAST) if asked.is_english else LEAST_ELSEWHERE


def collect_features(asked: Message, hits: Sequence[Found], places: Iterable[int]) -> list[list[float]]:
    """Return the features of the hits at some places; `hits` are all, best first. In other languages than English also
    how much of the message a hit has, and the longest word of it."""
    best = max((score for _, score, _ in hits), default=0.0) or 1.0
    nearest = min((distance for _, _, distance in hits if distance is not None), default=None)
    return [
        [
            *bearing_features(asked, held, place, score / best, distance, nearest),
            *(() if asked.is_english else (coverage(asked, held), _longest(asked, held))),
        ]
        for place in places
        for held, score, distance in (hits[place],)
    ]


def _longest(asked: Message, held: AbstractSet[str]) -> float:
    return float(max((len(word) - is_part(word) for word in held & asked.covers.keys()), default=0))


def _chance(weights: Sequence[float], values: Sequence[float]) -> float:
    return 1 / (1 + math.exp(-weights[0] - math.fsum(map(operator.mul, weights[1:], values))))


@lru_cache(8)
def _weights(name: str, of: str) -> tuple[float, ...]:
    return tuple(pack_files.table("bearing")[name][of])
