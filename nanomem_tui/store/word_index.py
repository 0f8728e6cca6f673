"""Find rows by words in RAM: an inverted index ranked by BM25, and words that are spelled almost alike.

Gives candidates with what the scorer needs: which words a row holds, how often, and how long it is. Who may see a group
of rows is decided by the caller, and applied here before anything is cut off. Knows no items: `item_index` keeps one of
these for the rows in RAM. Ranking by importance, age and profile is that of recall; `database.full_text` asks the
database.
"""

from __future__ import annotations

import heapq
import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from nanomem_tui.language.tokens import LONG_STOP_WORDS, alike, index_tokens, is_common, is_part, is_piece

K1 = 0.9
"""BM25: how soon a repeated word stops to count (tuned on dialogues)."""
B_SHORT, B_LONG = 0.3, 0.9
FEW_WORDS, MANY_WORDS = 20, 150
"""BM25: how much a long text is held back, among texts of so many words on average: a long turn of a dialogue tells
more, a long answer of an assistant only says more. Between the two by the logarithm (docs/decisions/0018)."""
LONGEST = 2000
"""Texts of more words count as texts of this many."""
FEW = 32
"""Words that no more rows hold are added up row by row: quicker than to ask whether they matter."""
ALIKE = 0.3
"""What a word counts that may stand for one of the question."""
LONG = 60
"""Rows that have more words on average are long."""
_ROUNDING = 1e-9
"""Sums of the same numbers in another order differ by less."""


def idf(count: int, rows: int) -> float:
    """The weight of a word that `rows` of `count` rows hold; never negative."""
    return math.log(1 + (count - rows + 0.5) / (rows + 0.5))


@lru_cache(64)
def _held_back(mean: float) -> float:
    share = math.log(max(mean, FEW_WORDS) / FEW_WORDS) / math.log(MANY_WORDS / FEW_WORDS)
    return B_SHORT + (B_LONG - B_SHORT) * min(1.0, share)


def saturated(times: int, length: int, mean: float) -> float:
    """The share of a word's weight that a row of `length` words gets for holding it that many times."""
    b = _held_back(mean)
    return times * (K1 + 1) / (times + K1 * (1 - b + b * min(length, LONGEST) / mean))


@lru_cache(8)
def _shares(mean: float) -> list[float]:
    """What a word that a row holds once is worth there, by the length of the row."""
    return [saturated(1, length, mean) for length in range(LONGEST + 1)]


class Statistics(NamedTuple):
    """What BM25 needs to know of the whole: rows, their mean length in words, and how many rows hold each word."""

    total: int
    mean: float
    rows_with: Mapping[str, int]


def drop_common_characters(
    weights: Mapping[str, float], total: int, rows_with: Callable[[str], int]
) -> dict[str, float]:
    """The weighted words of a query without the single characters of a longer question that many rows hold: they cost
    time and tell nothing."""
    most = max(50, total // 50)
    return {word: weight for word, weight in weights.items() if len(word) > 1 or weight >= 1 or rows_with(word) <= most}


def add_similar_words(
    weights: Mapping[str, float], total: int, mean: float, rows_with: Callable[[str], int]
) -> dict[str, float]:
    """The weighted words of a query with those that a row may have in their place: these count a share, and never more
    than the word that was asked for. Not where rows are long: they have something of everything."""
    found = dict(weights)
    if mean > LONG:
        return found
    for word, weight in weights.items():
        for other in alike(word):
            if other not in weights and (rows := rows_with(other)):
                worth = ALIKE * weight * min(1.0, idf(total, rows_with(word)) / idf(total, rows))
                found[other] = max(worth, found.get(other, 0.0))
    return found


class Found(NamedTuple):
    """A row that holds some of the words: its BM25 score and its key."""

    score: float
    key: str


class _Term(NamedTuple):
    """A word of a search: its weight, what it can be worth at most, the rows, and how often those hold it that hold it
    more than once."""

    value: float
    most: float
    rows: array[int]
    times: Mapping[int, int]


class WordIndex:
    """Rows by word. `put` and `remove` cost what the row has words. Not thread-safe: its owner holds a lock.

    A word has an array of row numbers in growing order, 4 bytes a posting; counts above one lie beside.
    """

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._times: dict[str, dict[int, int]] = {}
        self._keys: list[str | None] = []
        self._lengths = array("H")
        self._group_of = array("I")
        self._groups: dict[Hashable, int] = {}
        self._place: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._total = 0

    # -- what is in it ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._place)

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
        return round(max(1.0, self._total / len(self._place)), 2) if self._place else 1.0

    def statistics(self, words: Iterable[str]) -> Statistics:
        """What the scorer needs to know about these words."""
        return Statistics(len(self._place), self.mean, {word: self.rows_with(word) for word in words})

    def rows_with(self, word: str) -> int:
        """How many rows hold the word."""
        return len(self._rows.get(word, ()))

    def idf(self, word: str) -> float:
        """How rare a word is."""
        return idf(len(self._place), self.rows_with(word))

    def add_scores(self, weights: Mapping[str, float], scale: float, scores: dict[int, float]) -> Iterable[int]:
        """Add to the scores of rows what they get for words of these weights (rarity is in them) times `scale`.

        The rows that hold any of the words, with repeats.
        """
        touched: list[Iterable[int]] = []
        for word, weight in weights.items():
            rows = self._rows.get(word)
            if rows is not None:
                touched.append(rows)
                self._add(weight * scale, rows, self._times.get(word, {}), scores)
        return touched[0] if len(touched) == 1 else chain.from_iterable(touched)

    def terms(self, keys: Iterable[str], words: Iterable[str]) -> dict[str, list[str]]:
        """Which of the words each row holds, in the order of the words; nothing for a row that is not there."""
        places = [(self._place[key], key) for key in keys if key in self._place]
        found: dict[str, list[str]] = {key: [] for _, key in places}
        for word in words:
            rows = self._rows.get(word, ())
            for place, key in places:
                if _holds(rows, place):
                    found[key].append(word)
        return found

    def length(self, key: str) -> int:
        """The length of a row in words, at most `LONGEST`."""
        return self._lengths[self._place[key]]

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
        words = index_tokens(text)
        place = len(self._keys)
        self._place[key] = place
        self._texts[key] = text
        self._keys.append(key)
        self._lengths.append(min(len(words), LONGEST))
        self._group_of.append(number)
        self._total += min(len(words), LONGEST)
        rows, fresh = self._rows, []
        distinct = set(words)
        for word in distinct:
            held = rows.get(word)
            if held is None:
                rows[word] = array("I", (place,))
                fresh.append(word)
            else:
                held.append(place)
        if len(distinct) != len(words):
            for word, times in Counter(words).items():
                if times > 1:
                    self._times.setdefault(word, {})[place] = times
        return fresh

    def remove(self, key: str) -> None:
        """Forget a row; nothing happens when it is not there."""
        place = self._place.pop(key, None)
        if place is None:
            return
        for word in set(index_tokens(self._texts.pop(key))):
            held = self._rows[word]
            if len(held) == 1:
                del self._rows[word]
            else:
                del held[bisect_left(held, place)]
            self._times.get(word, {}).pop(place, 0)
        self._keys[place] = None
        self._total -= self._lengths[place]
        if len(self._keys) > 2 * len(self._place) + 1000:
            self._renumber()

    def _renumber(self) -> None:
        """Close the gaps that removed rows left; the order of rows stays."""
        kept = [place for place, key in enumerate(self._keys) if key is not None]
        moved = dict(zip(kept, range(len(kept)), strict=True))
        self._rows = {word: array("I", map(moved.__getitem__, rows)) for word, rows in self._rows.items()}
        self._times = {
            word: {moved[place]: times for place, times in counts.items()} for word, counts in self._times.items()
        }
        self._lengths = array("H", (self._lengths[place] for place in kept))
        self._group_of = array("I", (self._group_of[place] for place in kept))
        self._keys = [self._keys[place] for place in kept]
        self._place = {key: moved[place] for key, place in self._place.items()}

    # -- searching ----------------------------------------------------------------------------------------------

    def search(
        self, weights: Mapping[str, float], limit: int, shown: Sequence[bool] | None = None, slack: float = 0.0
    ) -> list[Found]:
        """The best `limit` rows for weighted words, best first, equal ones by key.

        `slack`: also every row that the last of these beats by no more than that share, for a caller that ranks anew.
        `shown`: by group number, whether its rows may be found; None: all may.

        Words are added up, rare ones first. Once no row that holds only the rest can be among the best, the rest is
        looked up for those that were found: nothing is estimated.
        """
        if limit < 1:
            return []
        plan, groups, keys = self._plan(weights), self._group_of, self._keys
        left = sum(term.most for term in plan)
        scores: dict[int, float] = {}
        least = 0.0
        for term in plan:
            if len(scores) >= limit and len(term.rows) > FEW:
                least = self._least(scores, limit, slack)
            if least and left < least - _ROUNDING:
                bound = least - left - _ROUNDING
                scores = {place: score for place, score in scores.items() if score >= bound}
                rows, many = term.rows, len(term.rows)
                held = [place for place in scores if (at := bisect_left(rows, place)) < many and rows[at] == place]
                self._add(term.value, held, term.times, scores)
            else:
                visible = term.rows if shown is None else [place for place in term.rows if shown[groups[place]]]
                self._add(term.value, visible, term.times, scores)
            left -= term.most
        if len(scores) >= limit:
            least = self._least(scores, limit, slack)
        found = sorted((-score, keys[place] or "") for place, score in scores.items() if score >= least)
        return [Found(-score, key) for score, key in (found if slack else found[:limit])]

    @staticmethod
    def _least(scores: Mapping[int, float], limit: int, slack: float) -> float:
        few = len(scores) < 4000
        return (sorted(scores.values())[-limit] if few else heapq.nlargest(limit, scores.values())[-1]) * (1 - slack)

    def _plan(self, weights: Mapping[str, float]) -> list[_Term]:
        """The words of a search that some row holds, rare ones first."""
        count, mean, shares = len(self._place), self.mean, _shares(self.mean)
        plan = []
        for word in sorted(weights, key=lambda word: (self.rows_with(word), word)):
            rows, times = self._rows.get(word), self._times.get(word, {})
            if rows is not None:
                value, often = weights[word] * idf(count, len(rows)), max(times.values(), default=1)
                plan.append(_Term(value, value * max(shares[1], saturated(often, often, mean)), rows, times))
        return plan

    def _add(self, value: float, rows: Sequence[int], times: Mapping[int, int], scores: dict[int, float]) -> None:
        lengths, mean, shares, get = self._lengths, self.mean, _shares(self.mean), scores.get
        if times:
            for place in rows:
                length, many = lengths[place], times.get(place)
                scores[place] = get(place, 0.0) + value * (saturated(many, length, mean) if many else shares[length])
        elif scores:
            for place in rows:
                scores[place] = get(place, 0.0) + value * shares[lengths[place]]
        else:
            scores.update({place: value * shares[lengths[place]] for place in rows})

    def keys_of(self, shown: Sequence[bool]) -> set[str]:
        """The keys of the rows of the groups that are shown."""
        groups = self._group_of
        return {key for key, place in self._place.items() if shown[groups[place]]}


def _holds(rows: Sequence[int], place: int) -> bool:
    at = bisect_left(rows, place)
    return at < len(rows) and rows[at] == place


# -- words of a question that nobody wrote that way -------------------------------------------------------------------

LEAST = 4
"""Letters of a word that is taken for the beginning of a longer one."""

MOST_LONGER = 3
"""Of the words that begin alike, so many are looked for."""

SHORT, SHORT_WEIGHT = 6, 0.7
"""A word of fewer letters is near to many others: what it is corrected to counts less."""


def nearest(word: str, known: Iterable[str], rows_with: Callable[[str], int]) -> str | None:
    """The known word that `word` was probably meant to be; None when nothing is near.

    One slip (a letter more, less, other, or two swapped) is allowed from four letters on, two from eight on. Of equally
    near words that with the same first letter wins, then the one that more rows hold. Words with digits are never
    corrected, nor common English ones, nor pieces of a script without spaces, nor one to which no row holds an answer.
    """
    if len(word) < 4 or not word.isalpha() or is_common(word) or is_piece(word):
        return None
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    distance_of: Any = OSA.distance
    found = process.extract(word, known, scorer=distance_of, score_cutoff=_slips(word), limit=20)
    ranks = [(distance, other[0] != word[0], -rows_with(other), other) for other, distance, _ in found]
    best = min((rank for rank in ranks if rank[2]), default=None)
    return best[-1] if best else None


def _slips(word: str) -> int:
    return 1 if len(word) < 8 else 2


def trust(word: str) -> float:
    """What the nearest word counts beside one that stands there as it was written."""
    return SHORT_WEIGHT if len(word) < SHORT else 1.0


class Vocabulary:
    """The words of an index, found by their ends: a slip leaves the first or the last letter as it was.

    A word that no row holds any more may stay in it.
    """

    def __init__(self) -> None:
        self._all: set[str] = set()
        self._by_ends: dict[tuple[str, int], list[str]] = {}
        self._by_start: dict[str, list[str]] = {}

    def add(self, words: Iterable[str]) -> None:
        """Take words up; known ones change nothing."""
        for word in words:
            if word in self._all or is_part(word):
                continue
            self._all.add(word)
            if len(word) >= LEAST and word[:LEAST].isalpha():
                self._by_start.setdefault(word[:LEAST], []).append(word)
            if len(word) < 3 or not word.isalpha():
                continue
            self._by_ends.setdefault((word[0], len(word)), []).append(word)
            self._by_ends.setdefault((word[-1], -len(word)), []).append(word)

    def nearest(self, word: str, rows_with: Callable[[str], int]) -> str | None:
        """The word that `word` was probably meant to be; None when nothing is near, or a stop word is."""
        if len(word) < 4 or nearest(word, LONG_STOP_WORDS, lambda _: 1) is not None:
            return None
        near: list[str] = []
        for length in range(len(word) - _slips(word), len(word) + _slips(word) + 1):
            near += self._by_ends.get((word[0], length), ())
            near += [other for other in self._by_ends.get((word[-1], -length), ()) if other[0] != word[0]]
        return nearest(word, near, rows_with) if near else None

    def longer(self, beginning: str, rows_with: Callable[[str], int]) -> list[str]:
        """The words that begin like that and go on, those that most rows hold first; at most MOST_LONGER."""
        if len(beginning) < LEAST:
            return []
        found = [word for word in self._by_start.get(beginning[:LEAST], ()) if word.startswith(beginning)]
        held = [(-rows_with(word), word) for word in found if word != beginning]
        return [word for rows, word in sorted(held) if rows][:MOST_LONGER]

    def related(self, word: str) -> list[tuple[str, float]]:
        """The other words that share their first letters with one, each with the share of letters in common."""
        found = []
        for other in self._by_start.get(word[:LEAST], ()) if word.isalpha() else ():
            longer, shorter = max(len(word), len(other)), min(len(word), len(other))
            if other == word or longer - shorter > 4 or not other.isalpha():
                continue
            common = LEAST
            while common < shorter and word[common] == other[common]:
                common += 1
            if (common >= shorter - 1 and longer - common <= 4) or (common >= 5 and common >= 0.7 * longer):
                found.append((other, common / longer))
        return found
