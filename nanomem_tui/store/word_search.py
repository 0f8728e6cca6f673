"""One search in the RAM index: the rows with the highest BM25 scores for weighted words, every one that counts.

Rare words are added up row by row. What a row must be worth to be among the best is known then; bitmaps tell which
other rows hold common words worth as much, and only those are looked at. Nothing is estimated: the result is that of
adding up everything. Owns no row: the index gives its arrays for the time of one search. Must not know keys, texts or
scopes.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.store.bitmaps import Bitmaps, Bounds, Held, places_of

K1, B = 0.9, 0.3
"""BM25: how soon a repeated word stops to count, and how much a long text is held back (both tuned on dialogues)."""

LONGEST = 255
"""Texts of more words count as texts of this many."""

FEW = 32
"""Words that no more rows hold (and one row of 256) are added up row by row: quicker than a bitmap."""

COMMON = 8
"""The most words that bitmaps are combined of; of more, the rarer ones are added up row by row too."""

SOFTER = 0.7
"""By how much less a row needs to be worth, when too few rows can be worth more."""

ROUNDING = 1e-9
"""Sums of the same numbers in another order differ by less."""


def saturated(times: int, length: int, mean: float) -> float:
    """The share of a word's weight that a row of `length` words gets for holding it that many times."""
    return times * (K1 + 1) / (times + K1 * (1 - B + B * min(length, LONGEST) / mean))


class Term(NamedTuple):
    """A word of a search: by how many rows it is held, its weight, what it can be worth at most, the rows, and how
    often those hold it that hold it more than once."""

    number: int
    word: str
    value: float
    most: float
    rows: int | array[int]
    times: dict[int, int] | None


class Rows(NamedTuple):
    """What a search needs to know of the rows: lengths and groups by place, what a word held once is worth by length,
    the mean length, and the bitmaps of common words."""

    lengths: bytearray
    groups: array[int]
    shares: list[float]
    mean: float
    bitmaps: Bitmaps


class Search:
    """A search for the best `limit` rows, and every row that the last of these beats by no more than the share `slack`.

    `plan`: its words, rare ones first. `shown`: by group, whether its rows may be found; None: all may. `visible`: the
    rows of those groups as a whole number.
    """

    def __init__(
        self,
        plan: list[Term],
        rows: Rows,
        limit: int,
        slack: float,
        shown: Sequence[bool] | None,
        visible: Callable[[Sequence[bool]], int],
    ) -> None:
        self.scores: dict[int, float] = {}
        self._plan = plan
        self._rows = rows
        self._limit = limit
        self._kept = 1 - slack
        self._shown = shown
        self._visible = visible
        rest = self._rest = [0.0] * (len(plan) + 1)
        for at in range(len(plan) - 1, -1, -1):
            rest[at] = rest[at + 1] + plan[at].most

    def run(self) -> float:
        """Fill `scores`; the score that a row has at least to be kept. Others may stand there with less than theirs."""
        plan, rest, scores = self._plan, self._rest, self.scores
        few = FEW + (len(self._rows.groups) >> 8)
        for at, term in enumerate(plan):
            if term.number > few and (len(scores) >= self._limit or at + 1 < len(plan)):
                least = self._least()
                if rest[at] < least - ROUNDING or len(plan) - at <= COMMON:
                    return self._add_common(at, least)
            self._accumulate(term)
        return self._least()

    def _least(self) -> float:
        """What a row must be worth as far as is known; zero while there are too few."""
        scores, limit = self.scores, self._limit
        if len(scores) < limit:
            return 0.0
        if len(scores) > 4000:
            return heapq.nlargest(limit, scores.values())[-1] * self._kept
        return sorted(scores.values())[-limit] * self._kept

    def _accumulate(self, term: Term) -> None:
        """Add a word to the scores of every row that holds it."""
        lengths, groups, shares, mean, _ = self._rows
        scores, shown = self.scores, self._shown
        rows: Iterable[int] = (term.rows,) if isinstance(term.rows, int) else term.rows
        if shown is not None:
            rows = [place for place in rows if shown[groups[place]]]
        value, times, get = term.value, term.times, scores.get
        if times:
            for place in rows:
                length, many = lengths[place], times.get(place)
                scores[place] = get(place, 0.0) + value * (saturated(many, length, mean) if many else shares[length])
        elif scores:
            for place in rows:
                scores[place] = get(place, 0.0) + value * shares[lengths[place]]
        else:
            scores.update({place: value * shares[lengths[place]] for place in rows})

    def _add_common(self, at: int, least: float) -> float:
        """Add the words from `at` on to the rows found so far, then find the rows that hold enough of those words."""
        plan, rest, scores, limit = self._plan[at:], self._rest[at:], self.scores, self._limit
        count = len(self._rows.groups)
        held = [self._rows.bitmaps.of(term.word, term.rows, term.times, count) for term in plan]
        if scores:
            self._look_up(plan, rest, held, scores, least)
            least = self._least()
        if least and rest[0] < least - ROUNDING:
            return least
        share = self._rows.shares[1]
        bounds = Bounds(held, [term.value * share for term in plan], [term.most for term in plan])
        visible = -1 if self._shown is None else self._visible(self._shown)
        lowest = min(term.value for term in plan) / 100
        need = least
        if not least:
            need = rest[0] * SOFTER
            while need > lowest and (bounds.reaching(need) & visible).bit_count() < limit - len(scores):
                need *= SOFTER
        while True:
            need = max(need - ROUNDING, lowest)
            fresh = [place for place in places_of(bounds.reaching(need) & visible) if place not in scores]
            scores.update(dict.fromkeys(fresh, 0.0))
            self._look_up(plan, rest, held, fresh, 0.0)
            least = self._least() if fresh else least
            if least >= need or need <= lowest:
                return least
            need = least or need * SOFTER

    def _look_up(
        self, plan: list[Term], rest: list[float], held: list[Held], places: Iterable[int], least: float
    ) -> None:
        """Add words to the scores of these rows, as long as they can reach `least`."""
        (lengths, _, shares, mean, _), scores = self._rows, self.scores
        for term, one, left in zip(plan, held, rest, strict=False):
            value, times, data = term.value, term.times or (), one.rows.data
            if least:
                bound = least - left - ROUNDING
                places = [place for place in places if scores[place] >= bound]
            for place in places:
                if data[place >> 3] >> (place & 7) & 1:
                    if place in times:
                        scores[place] += value * saturated(term.times[place], lengths[place], mean)  # type: ignore[index]
                    else:
                        scores[place] += value * shares[lengths[place]]


def plan_of(
    weights: Mapping[str, float],
    rows_of: Callable[[str], int | array[int] | None],
    times_of: Callable[[str], dict[int, int] | None],
    often: Mapping[str, int],
    idf: Callable[[int], float],
    rows: Rows,
) -> list[Term]:
    """The words of a search that some row holds, rare ones first."""
    plan, most = [], rows.shares[1]
    for word, weight in weights.items():
        held = rows_of(word)
        if held is not None:
            number = 1 if isinstance(held, int) else len(held)
            value, times = weight * idf(number), times_of(word)
            top = most if not times else max(most, saturated(often[word], often[word], rows.mean))
            plan.append(Term(number, word, value, value * top, held, times))
    plan.sort(key=_rarity)
    return plan


def _rarity(term: Term) -> tuple[int, str]:
    return term.number, term.word
