"""An inverted index in RAM: which rows hold which words, kept current row by row.

Owns postings and the search for the best rows by BM25 within what is visible. Knows no scope, no weight beyond BM25 and
no file: who may see a group of rows is decided by the caller, and applied here before anything is cut off.

A word that one row holds is a number, others are an array of row numbers in growing order; counts above one lie beside.
That is 5 bytes a posting; a dict per word is 40 and no faster, as common words are looked at last and for few rows.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from nanomem_tui.store.bitmaps import Bitmaps, packed, places_of
from nanomem_tui.store.word_search import LONGEST, Rows, Search, plan_of, saturated
from nanomem_tui.tokens import tokens

SPARSE = 8
"""Where less than this part of the rows is shown, their keys are told as a set."""

AUDIENCES = 16
"""Of so many audiences it is kept which rows they see."""

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
        self._bitmaps = Bitmaps()
        self._visible: dict[bytes, tuple[int, int]] = {}

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

    # -- changing -----------------------------------------------------------------------------------------------

    def put(self, key: str, text: str, group: Hashable) -> list[str]:
        """Index a row, or index it anew when its text or group changed; the words that no row held before."""
        number = self._groups.setdefault(group, len(self._groups))
        place = self._place.get(key)
        if place is not None:
            if self._texts[key] == text:
                if self._group_of[place] != number:
                    self._group_of[place] = number
                    self._visible.clear()
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
        distinct = set(words)
        fresh = self._hold(distinct, place)
        if len(distinct) != len(words):
            self._repeat(words, distinct, place)
        return fresh

    def _hold(self, words: set[str], place: int) -> list[str]:
        """Add a row to those of its words; the words that no row held before."""
        rows, fresh = self._rows, []
        get = rows.get
        for word in words:
            held = get(word)
            if held is None:
                rows[word] = place
                fresh.append(word)
            elif type(held) is int:
                rows[word] = array("I", (held, place))
            else:
                held.append(place)  # type: ignore[union-attr]
        return fresh

    def _repeat(self, words: list[str], distinct: Iterable[str], place: int) -> None:
        """Count the words that a row holds more than once."""
        left = words.copy()
        for word in distinct:
            left.remove(word)
        for word in set(left):
            times = left.count(word) + 1
            self._times.setdefault(word, {})[place] = times
            if times > self._often.get(word, 0):
                self._often[word] = times

    def remove(self, key: str) -> None:
        """Forget a row; nothing happens when it is not there."""
        place = self._place.pop(key, None)
        if place is None:
            return
        words = set(tokens(self._texts.pop(key)))
        self._bitmaps.discard(words, place)
        for word in words:
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
        self._bitmaps.clear()
        self._visible.clear()

    # -- searching ----------------------------------------------------------------------------------------------

    def search(
        self, weights: Mapping[str, float], limit: int, shown: Sequence[bool] | None = None, slack: float = 0.0
    ) -> list[Found]:
        """The best `limit` rows for weighted words, best first, equal ones by key.

        `slack`: also every row that the last of these beats by no more than that share, for a caller that ranks anew.
        `shown`: by group number, whether its rows may be found; None: all may.
        """
        return [Found(-score, key) for score, key in sorted(self.ranked(weights, limit, shown, slack))]

    def ranked(
        self, weights: Mapping[str, float], limit: int, shown: Sequence[bool] | None = None, slack: float = 0.0
    ) -> list[tuple[float, str]]:
        """What `search` gives, as plain pairs of the score below zero and the key; in no order where there is slack."""
        if limit < 1:
            return []
        count = len(self._place)
        shares = self._share_table()
        rows = Rows(self._lengths, self._group_of, shares, self._shares[0], self._bitmaps)
        plan = plan_of(weights, self._rows.get, self._times.get, self._often, lambda held: idf(count, held), rows)
        search = Search(plan, rows, limit, slack, shown, self._visible_rows)
        least, keys = search.run(), self._keys
        ranked = [(-score, keys[place] or "") for place, score in search.scores.items() if score >= least]
        if slack:
            return ranked
        ranked.sort()
        return ranked[:limit]

    def keys_of(self, shown: Sequence[bool]) -> Container[str]:
        """The keys of the rows of the groups that are shown; a set where they are few."""
        keys, rows = self._keys, self._visible_rows(shown)
        if rows.bit_count() * SPARSE > len(self._place):
            return _Shown(self._place, self._group_of, shown)
        return {key for place in places_of(rows) if (key := keys[place])}

    def _share_table(self) -> list[float]:
        """What a word that a row holds once is worth there, by the length of the row."""
        if self._shared != (self._total, len(self._place)):
            self._shared = (self._total, len(self._place))
            mean = round(self.mean, 2)
            if self._shares[0] != mean:
                self._shares = (mean, [saturated(1, length, mean) for length in range(LONGEST + 1)])
        return self._shares[1]

    def _visible_rows(self, shown: Sequence[bool]) -> int:
        """The rows of the groups that are shown, as a whole number; kept for the next question of the audience."""
        key, count = bytes(shown), len(self._group_of)
        found, until = self._visible.pop(key, (0, 0))
        if until < count:
            found |= packed(bytes(map(shown.__getitem__, self._group_of[until:]))) << until
        self._visible[key] = found, count
        if len(self._visible) > AUDIENCES:
            del self._visible[next(iter(self._visible))]
        return found


class _Shown:
    """The keys of an index whose groups are shown; asked one by one, also while rows come and go."""

    def __init__(self, place: Mapping[str, int], group_of: Sequence[int], shown: Sequence[bool]) -> None:
        self._place, self._group_of, self._shown = place, group_of, shown

    def __contains__(self, key: object) -> bool:
        place = self._place.get(key, -1) if isinstance(key, str) else -1
        group = self._group_of[place] if 0 <= place < len(self._group_of) else len(self._shown)
        return group < len(self._shown) and self._shown[group]


def _holds(rows: int | array[int], place: int) -> bool:
    if isinstance(rows, int):
        return rows == place
    at = bisect_left(rows, place)
    return at < len(rows) and rows[at] == place
