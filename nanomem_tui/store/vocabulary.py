"""Words of a question that nobody wrote that way: the nearest ones that are really there, and those of the same root.

Owns how near is near enough. Knows words only; by how many rows a word is held is told by the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from nanomem_tui.tokens import LONG_STOP_WORDS

LEAST = 4
"""Letters of a word that is taken for the beginning of a longer one."""

MOST_LONGER = 3
"""Of the words that begin alike, so many are looked for."""

SHORT, SHORT_WEIGHT = 6, 0.7
"""A word of fewer letters is near to many others: what it is corrected to counts less."""


class _Rank(NamedTuple):
    distance: float
    other_letter: bool
    rarity: int
    word: str


def nearest(word: str, known: Iterable[str], rows_with: Callable[[str], int]) -> str | None:
    """The known word that `word` was probably meant to be; None when nothing is near.

    One slip (a letter more, less, other, or two swapped) is allowed from four letters on, two from eight on. Of equally
    near words that with the same first letter wins, then the one that more rows hold. Words with digits are never
    corrected, nor common English ones, nor one to which no row holds an answer.
    """
    if len(word) < 4 or not word.isalpha():
        return None
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    from nanomem_tui.store.common_words import is_common

    if is_common(word):
        return None

    most = 1 if len(word) < 8 else 2
    best: _Rank | None = None
    distance_of: Any = OSA.distance
    for other, distance, _ in process.extract(word, known, scorer=distance_of, score_cutoff=most, limit=20):
        rank = _Rank(distance, other[0] != word[0], -rows_with(other), other)
        if rank.rarity and (best is None or rank < best):
            best = rank
    return best.word if best else None


def trust(word: str) -> float:
    """What the nearest word counts beside one that stands there as it was written."""
    return SHORT_WEIGHT if len(word) < SHORT else 1.0


def is_stop_word_misspelt(word: str) -> bool:
    """Whether the word is one slip away from a word that says nothing (`waht`)."""
    return nearest(word, LONG_STOP_WORDS, lambda _: 1) is not None


class Vocabulary:
    """The words of an index, found by their ends: a slip leaves the first or the last letter as it was.

    A word that no row holds any more may stay in it.
    """

    def __init__(self) -> None:
        self._all: set[str] = set()
        self._by_ends: dict[tuple[str, int], list[str]] = {}
        self._by_start: dict[str, list[str]] = {}
        self._by_beginning: dict[str, list[str]] = {}
        self._related: dict[str, list[tuple[str, float]]] = {}

    def add(self, words: Iterable[str]) -> None:
        """Take words up; known ones change nothing."""
        for word in words:
            if word in self._all:
                continue
            self._all.add(word)
            if len(word) > LEAST and word[:LEAST].isalpha():
                self._by_beginning.setdefault(word[:LEAST], []).append(word)
            if len(word) < 3 or not word.isalpha():
                continue
            self._by_ends.setdefault((word[0], len(word)), []).append(word)
            self._by_ends.setdefault((word[-1], -len(word)), []).append(word)
            if len(word) > 3:
                self._by_start.setdefault(word[:4], []).append(word)
                if self._related:
                    self._related.clear()

    def nearest(self, word: str, rows_with: Callable[[str], int]) -> str | None:
        """The word that `word` was probably meant to be; None when nothing is near, or a stop word is."""
        if len(word) < 4 or is_stop_word_misspelt(word):
            return None
        most = 1 if len(word) < 8 else 2
        near: list[str] = []
        for length in range(len(word) - most, len(word) + most + 1):
            near += self._by_ends.get((word[0], length), ())
            near += [other for other in self._by_ends.get((word[-1], -length), ()) if other[0] != word[0]]
        return nearest(word, near, rows_with) if near else None

    def longer(self, beginning: str, rows_with: Callable[[str], int]) -> list[str]:
        """The words that begin like that and go on, those that most rows hold first; at most MOST_LONGER."""
        if len(beginning) < LEAST:
            return []
        found = [word for word in self._by_beginning.get(beginning[:LEAST], ()) if word.startswith(beginning)]
        held = [(-rows_with(word), word) for word in found if word != beginning]
        return [word for rows, word in sorted(held) if rows][:MOST_LONGER]

    def related(self, word: str) -> list[tuple[str, float]]:
        """The other words that share their first letters with one, each with the share of letters in common."""
        known = self._related.get(word)
        if known is None:
            known = self._related[word] = self._compare(word)
        return known

    def _compare(self, word: str) -> list[tuple[str, float]]:
        found = []
        for other in self._by_start.get(word[:4], ()) if word.isalpha() else ():
            longer, shorter = max(len(word), len(other)), min(len(word), len(other))
            if other == word or longer - shorter > 4:
                continue
            common = 4
            while common < shorter and word[common] == other[common]:
                common += 1
            if (common >= shorter - 1 and longer - common <= 4) or (common >= 5 and common >= 0.7 * longer):
                found.append((other, common / longer))
        return found
