"""Which text says what another one says already, in nearly the same letters.

Two texts are near-duplicates when their letters agree to `NEAR` per cent (rapidfuzz, without case, width and white
space), and when the second one has no word that the first has not: at most a slip of one letter in a longer word, and
words that say nothing. Numbers, names and denials must be the same: `web-1` is never `web-2`, and `is not` never `is`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from nanomem_tui.tokens import fold, tokens

NEAR = 90.0
"""Per cent of the letters that agree."""
SLIP = 5
"""Letters that a word has at least, in which one may differ."""
MOST = 4_000
"""Characters that are compared; of longer texts the rest has to be equal."""

_NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"[_/@\\]|\w[.:]\w|[a-z][A-Z]")
_SIGNS = ".,;:!?()[]{}<>\"'“”‘’«»"
_DENIALS = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|nothing|нет|не|ни|без|nicht|kein\w*|nie|ohne|pas|jamais|sans|sin|"
    r"nunca)\b|n['’]t\b|[不没無无未非别勿]|ไม่",
    re.IGNORECASE,
)


class Said(NamedTuple):
    """A text as it is compared: its letters, what must be the same, its words, and those that may be names."""

    folded: str
    telling: tuple[tuple[str, int], ...]
    words: frozenset[str]
    capital: frozenset[str]
    rest: str = ""


def said(text: str) -> Said:
    """A text, read to be compared."""
    head = text[:MOST]
    telling: Counter[str] = Counter(_NUMBERS.findall(head))
    capital: list[str] = []
    before = "."
    for written in head.split():
        word = written.strip(_SIGNS)
        if word[:1].isupper():
            capital.append(word)
        if _NAME.search(word) or (word[:1].isupper() and before[-1] not in ".!?:"):
            telling[word.casefold()] += 1
        before = written
    telling["not"] = len(_DENIALS.findall(head))
    words = frozenset(word for word in tokens(head) if len(word) != 2 or word.isascii())
    return Said(fold(head), tuple(sorted(telling.items())), words, frozenset(tokens(" ".join(capital))), text[MOST:])


def like(one: Said, others: Sequence[Said]) -> tuple[int, float] | None:
    """The first of the `others` that says what `one` says: its place, and the per cent of letters that agree."""
    from rapidfuzz import fuzz

    for place, other in enumerate(others):
        if one.telling != other.telling or one.rest != other.rest:
            continue
        share = fuzz.ratio(one.folded, other.folded, score_cutoff=NEAR)
        if share and _held(one, other):
            return place, share
    return None


def _held(one: Said, other: Said) -> bool:
    """Whether the other holds every word of one, with at most a slip in each that is no name."""
    from rapidfuzz.distance import OSA

    more = [word for word in other.words - one.words - other.capital if len(word) >= SLIP]
    return all(
        len(word) >= SLIP
        and word not in one.capital
        and any(OSA.distance(word, near, score_cutoff=1) <= 1 for near in more)
        for word in one.words - other.words
    )
