"""Misspelt words of a question: the nearest word that is really there.

Owns how near is near enough. Knows words only: which ones there are is told by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def nearest(written: str, word: str, known: Iterable[str], rows_with: Callable[[str], int]) -> str | None:
    """The known word that `written` (its stem: `word`) was probably meant to be; None when nothing is near.

    One slip (a letter more, less, other, or two swapped) is allowed from four letters on, two from eight on. Of equally
    near words that with the same first letter wins, then the one that more rows hold. Digits are never corrected.
    """
    if len(word) < 4 or not word.isalpha():
        return None
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    most = 1 if len(word) < 8 else 2
    choices = [other for other in known if abs(len(other) - len(word)) <= most]
    best: tuple[float, bool, int, str] | None = None
    for other, distance, _ in process.extract(word, choices, scorer=OSA.distance, score_cutoff=most, limit=20):
        rank = (distance, other[0] != word[0], -rows_with(other), other)
        if best is None or rank < best:
            best = rank
    return best[3] if best else None
