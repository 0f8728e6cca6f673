"""An inverted index in RAM: which rows hold which words, kept current row by row.

Owns postings and the search for the best rows by BM25 within what is visible. Knows no scope, no weight beyond BM25 and
no file: who may see a group of rows is decided by the caller, and applied here before anything is cut off.

A word that one row holds is a number, others are an array of row numbers in growing order; counts above one lie beside.
That is 5 bytes a posting; a dict per word is 40 and no faster, as common words are looked at last and for few rows.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

from nanomem_tui.tokens import tokens

K1, B = 0.9, 0.3
"""BM25: how soon a repeated word stops to count, and how much a long text is held back (both tuned on dialogues)."""

LONGEST = 255
"""Texts of more words count as texts of this many."""

FEW = 32
"""Words that no more rows hold are added up without asking whether that is needed."""

_ROUNDING = 1e-9
"""Sums of the same numbers in another order differ by less."""


class Statistics(NamedTuple):
    """What BM25 needs to know of the whole: rows, their mean length in words, and how many rows hold each word."""

    total: int
    mean: float
    rows_with: Mapping[str, int]

    def idf(self, word: str) -> float:
        """How rare a word is; never negative."""
        return idf(self.total, self.rows_with.get(word, 0))


def idf(count: int, rows: int) -> float:
    """The weight of a word that `rows` of `count` rows hold; never negative."""
    return math.log(1 + (count - rows + 0.5) / (rows + 0.5))


def saturated(times: int, length: int, mean: float) -> float:
    """The share of a word's weight that a row of `length` words gets for holding it that many times."""
    return times * (K1 + 1) / (times + K1 * (1 - B + B * min(length, LONGEST) / mean))


def without_common(weights: Mapping[str, float], total: int, rows_with: Callable[[str], int]) -> dict[str, float]:
    """The weighted words of a query without the single characters of a longer question that many rows hold: they cost
    time and tell nothing."""
    most = max(50, total // 50)
    return {word: weight for word, weight in weights.items() if len(word) > 1 or weight >= 1 or rows_with(word) <= most}


class Found(NamedTuple):
    """A row that holds some of the words: its BM25 score and its key."""

    score: float
    key: str


class WordIndex:
    """Rows by word. `put` and `remove` cost what the row has words. Not thread-safe: its owner holds a lock."""

    def __init__(self) -> None:
        self._rows: dict[str, int | array[int]] = {}
        self._times: dict[str, dict[int, int]] = {}
        self._often: dict[str, int] = {}
        self._keys: list[str | None] = []
        self._lengths = bytearray()
        self._group_of = array("I")
        self._groups: dict[Hashable, int] = {}
        self._place: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._total = 0
        self._shared = (-1, -1)
        self._shares: tuple[float, list[float]] = (0.0, [])

    # -- what is in it ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, key: object) -> bool:
        return key in self._place

    @property
    def words(self) -> Iterable[str]:
        """Every word that a row holds."""
        return self._rows.keys()

    def has(self, word: str) -> bool:
        """Whether some row holds the word."""
        return word in self._rows

    def groups(self, since: int = 0) -> list[Hashable]:
        """The groups that were ever seen, from that number on; a group keeps its number."""
        return list(islice(self._groups, since, None)) if since < len(self._groups) else []

    @property
    def mean(self) -> float:
        """The mean length of a row in words, at least one."""
        return max(1.0, self._total / len(self._place)) if self._place else 1.0

    def statistics(self, words: Iterable[str]) -> Statistics:
        """What the scorer needs to know about these words."""
        counts = {word: self.rows_with(word) for word in words}
        return Statistics(len(self._place), self.mean, counts)

    def rows_with(self, word: str) -> int:
        """How many rows hold the word."""
        rows = self._rows.get(word)
        return 0 if rows is None else 1 if isinstance(rows, int) else len(rows)

    def idf(self, word: str) -> float:
        """How rare a word is."""
        return idf(len(self._place), self.rows_with(word))

    def add_scores(self, weights: Mapping[str, float], scale: float, scores: dict[int, float]) -> Iterable[int]:
        """Add to the scores of rows what they get for words of these weights (rarity is in them) times `scale`.

        The rows that hold any of the words, with repeats.
        """
        touched: list[Iterable[int]] = []
        lengths, get, shares = self._lengths, scores.get, self._share_table()
        for word, weight in weights.items():
            held = self._rows.get(word)
            if held is None:
                continue
            rows: Sequence[int] = (held,) if isinstance(held, int) else held
            touched.append(rows)
            value = weight * scale
            for place in rows:
                scores[place] = get(place, 0.0) + value * shares[lengths[place]]
            times = self._times.get(word)
            if times:
                mean = self._shares[0]
                for place, many in times.items():
                    length = lengths[place]
                    scores[place] += value * (saturated(many, length, mean) - shares[length])
        return touched[0] if len(touched) == 1 else chain.from_iterable(touched)

    def matched(self, key: str, words: Iterable[str]) -> dict[str, int]:
        """Which of the words a row holds, and how often."""
        place = self._place.get(key)
        found: dict[str, int] = {}
        if place is None:
            return found
        for word in words:
            rows = self._rows.get(word)
            if rows is None or not _holds(rows, place):
                continue
            found[word] = self._times.get(word, {}).get(place, 1)
        return found

    def terms(self, keys: Iterable[str], words: Iterable[str]) -> dict[str, list[str]]:
        """Which of the words each row holds, in the order of the words; nothing for a row that is not there."""
        places = [(self._place[key], key) for key in keys if key in self._place]
        found: dict[str, list[str]] = {key: [] for _, key in places}
        for word in words:
            held = self._rows.get(word)
            if held is None:
                continue
            rows: Sequence[int] = (held,) if isinstance(held, int) else held
            end = len(rows)
            for place, key in places:
                at = bisect_left(rows, place)
                if at < end and rows[at] == place:
                    found[key].append(word)
        return found

    def length(self, key: str) -> int:
        """The length of a row in words, at most `LONGEST`."""
        return self._lengths[self._place[key]]

    def keys_of(self, shown: Sequence[bool] | None) -> list[str]:
        """The rows of the groups that are shown; None: all."""
        if shown is None:
            return list(self._place)
        return [key for key, place in self._place.items() if shown[self._group_of[place]]]

    # -- changing -----------------------------------------------------------------------------------------------

    def put(self, key: str, text: str, group: Hashable) -> list[str]:
        """Index a row, or index it anew when its text or group changed; the words that no row held before."""
        number = self._groups.setdefault(group, len(self._groups))
        place = self._place.get(key)
        if place is not None:
            if self._texts[key] == text:
                self._group_of[place] = number
                return []
            self.remove(key)
        words = tokens(text)
        place = len(self._keys)
        self._place[key] = place
        self._texts[key] = text
        self._keys.append(key)
        self._lengths.append(min(len(words), LONGEST))
        self._group_of.append(number)
        self._total += min(len(words), LONGEST)
        rows = self._rows
        distinct = set(words)
        fresh = []
        for word in distinct:
            held = rows.get(word)
            if held is None:
                rows[word] = place
                fresh.append(word)
            elif isinstance(held, int):
                rows[word] = array("I", (held, place))
            else:
                held.append(place)
        if len(distinct) != len(words):
            for word, times in Counter(words).items():
                if times > 1:
                    self._times.setdefault(word, {})[place] = times
                    self._often[word] = max(times, self._often.get(word, 0))
        return fresh

    def remove(self, key: str) -> None:
        """Forget a row; nothing happens when it is not there."""
        place = self._place.pop(key, None)
        if place is None:
            return
        words = tokens(self._texts.pop(key))
        for word in set(words):
            held = self._rows[word]
            if isinstance(held, int):
                del self._rows[word]
            elif len(held) == 2:
                self._rows[word] = held[0] if held[1] == place else held[1]
            else:
                del held[bisect_left(held, place)]
            times = self._times.get(word)
            if times is not None:
                times.pop(place, 0)
                if not times:
                    del self._times[word], self._often[word]
        self._keys[place] = None
        self._total -= self._lengths[place]
        if len(self._keys) > 2 * len(self._place) + 1000:
            self._renumber()

    def _renumber(self) -> None:
        """Close the gaps that removed rows left; the order of rows stays."""
        kept = [place for place, key in enumerate(self._keys) if key is not None]
        moved = dict(zip(kept, range(len(kept)), strict=True))
        for word, held in self._rows.items():
            self._rows[word] = moved[held] if isinstance(held, int) else array("I", map(moved.__getitem__, held))
        self._times = {
            word: {moved[place]: times for place, times in counts.items()} for word, counts in self._times.items()
        }
        self._lengths = bytearray(self._lengths[place] for place in kept)
        self._group_of = array("I", (self._group_of[place] for place in kept))
        self._keys = [self._keys[place] for place in kept]
        self._place = {key: moved[place] for key, place in self._place.items()}

    # -- searching ----------------------------------------------------------------------------------------------

    def search(
        self, weights: Mapping[str, float], limit: int, shown: Sequence[bool] | None = None, slack: float = 0.0
    ) -> list[Found]:
        """The best `limit` rows for weighted words, best first, equal ones by key.

        `slack`: also every row that the last of these beats by no more than that share, for a caller that ranks anew.
        `shown`: by group number, whether its rows may be found; None: all may. Rare words come first; once no row that
        holds only what is left can be among the best, common words are only looked up for the rows already found.
        """
        if limit < 1:
            return []
        plan = self._plan(weights)
        rest = [0.0] * (len(plan) + 1)
        for at in range(len(plan) - 1, -1, -1):
            rest[at] = rest[at + 1] + plan[at].most
        scores: dict[int, float] = {}
        for at, term in enumerate(plan):
            if len(scores) >= limit and term.number > FEW and rest[at] < max(scores.values()):
                least = heapq.nlargest(limit, scores.values())[-1] * (1 - slack)
                if rest[at] < least - _ROUNDING:
                    self._look_up(plan[at:], rest[at:], scores, least)
                    break
            self._accumulate(term, scores, shown)
        return self._best(scores, limit, slack)

    def _plan(self, weights: Mapping[str, float]) -> list[_Term]:
        count, shares = len(self._place), self._share_table()
        plan = []
        for word, weight in weights.items():
            rows = self._rows.get(word)
            if rows is None:
                continue
            number = 1 if isinstance(rows, int) else len(rows)
            value = weight * idf(count, number)
            times = self._times.get(word)
            most = shares[1]
            if times:
                often = self._often[word]
                most = max(most, saturated(often, often, self._shares[0]))
            plan.append(_Term(number, word, value, value * most, rows, times))
        plan.sort(key=itemgetter(0, 1))
        return plan

    def _share_table(self) -> list[float]:
        """What a word that a row holds once is worth there, by the length of the row."""
        if self._shared != (self._total, len(self._place)):
            self._shared = (self._total, len(self._place))
            mean = round(self.mean, 2)
            if self._shares[0] != mean:
                self._shares = (mean, [saturated(1, length, mean) for length in range(LONGEST + 1)])
        return self._shares[1]

    def _accumulate(self, term: _Term, scores: dict[int, float], shown: Sequence[bool] | None) -> None:
        rows: Iterable[int] = (term.rows,) if isinstance(term.rows, int) else term.rows
        if shown is not None:
            groups = self._group_of
            rows = [place for place in rows if shown[groups[place]]]
        value, lengths, (mean, shares) = term.value, self._lengths, self._shares
        if term.number > LONGEST:
            value, shares = 1.0, [value * share for share in shares]
        if not scores:
            scores.update({place: value * shares[lengths[place]] for place in rows})
        else:
            get = scores.get
            for place in rows:
                scores[place] = get(place, 0.0) + value * shares[lengths[place]]
        if term.times:
            shares = self._shares[1]
            for place, times in term.times.items():
                if place in scores:
                    length = lengths[place]
                    scores[place] += term.value * (saturated(times, length, mean) - shares[length])

    def _look_up(self, plan: list[_Term], rest: list[float], scores: dict[int, float], least: float) -> None:
        """Add the common words to the rows that can still be among the best; forget the others."""
        lengths, (mean, shares) = self._lengths, self._shares
        for at, term in enumerate(plan):
            bound = least - rest[at] - _ROUNDING
            for place in [place for place, score in scores.items() if score < bound]:
                del scores[place]
            value, times = term.value, term.times or {}
            for place in self._held(term, scores):
                length, many = lengths[place], times.get(place)
                scores[place] += value * (saturated(many, length, mean) if many else shares[length])

    @staticmethod
    def _held(term: _Term, scores: Mapping[int, float]) -> Iterable[int]:
        """The rows among `scores` that hold a word: by looking each up, or by going through all that hold it."""
        rows = term.rows
        if isinstance(rows, int):
            return (rows,) if rows in scores else ()
        if len(rows) < 6 * len(scores):
            return scores.keys() & rows
        end, found = len(rows), []
        for place in scores:
            at = bisect_left(rows, place)
            if at < end and rows[at] == place:
                found.append(place)
        return found

    def _best(self, scores: Mapping[int, float], limit: int, slack: float) -> list[Found]:
        keys = self._keys
        if len(scores) > limit:
            least = heapq.nlargest(limit, scores.values())[-1] * (1 - slack)
            ranked = [(-score, keys[place] or "") for place, score in scores.items() if score >= least]
        else:
            ranked = [(-score, keys[place] or "") for place, score in scores.items()]
        ranked.sort()
        found = [Found(-score, key) for score, key in ranked]
        return found if slack else found[:limit]


class _Term(NamedTuple):
    number: int
    word: str
    value: float
    most: float
    rows: int | array[int]
    times: dict[int, int] | None


def _holds(rows: int | array[int], place: int) -> bool:
    if isinstance(rows, int):
        return rows == place
    at = bisect_left(rows, place)
    return at < len(rows) and rows[at] == place
