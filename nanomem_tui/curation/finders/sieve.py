"""A quick look that most texts pass: no word of theirs, however it is read, can be part of an order to a model.

A word is judged once for all texts that hold it. Owns no pattern: it may let too much through to the patterns, never
too little. Only for texts of ASCII; all else is looked at in full.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from nanomem_tui.memory import injection

CLEAN, JOINS, SUSPECT = 0, 1, 2
"""What a word is: nothing, a part of a sign of several words, a sign itself."""
_MOST_WORDS = 200_000
_SHORT_WORDS = 4
"""Words of one or two letters from which a text may be spelled letter by letter."""
_ENCODED = re.compile(r"[a-z0-9+/_=-]{12}|[%&\\]|0x", re.IGNORECASE)
"""What may hide a text: a long run of letters and digits, a code of a character."""
_LEET = str.maketrans("013457@$!|", "oieastasil")
_SIGNS = re.compile(r"[^a-z0-9]")


class Sieve:
    """Whether a text is worth the patterns; keeps what it knows of words."""

    def __init__(self) -> None:
        signs = injection.signs()
        self._within = tuple(sign for sign in signs if " " not in sign)
        self._spaced = tuple(sign for sign in signs if " " in sign)
        self._parts = tuple(_longest(sign) for sign in self._spaced)
        self._words: dict[str, int] = {}

    def is_clean(self, text: str) -> bool:
        """Whether nothing in a text can be an order; False where that takes a closer look."""
        if not text.isascii():
            return False
        short, joins = 0, False
        words = text.lower().split()
        for word in words:
            known = self._words.get(word)
            if known is None:
                known = self._learned(word)
            if known == SUSPECT:
                return False
            joins = joins or known == JOINS
            short += len(word) <= 2
        if short >= _SHORT_WORDS and _spelled(words):
            return False
        return not joins or not self._joined(f" {' '.join(words)} ")

    def _learned(self, word: str) -> int:
        if len(self._words) > _MOST_WORDS:
            self._words.clear()
        known = self._words[word] = self._judged(word)
        return known

    def _judged(self, word: str) -> int:
        if _ENCODED.search(word) or len(_SIGNS.findall(word)) > 2:
            return SUSPECT
        forms = _readings(word)
        if any(sign in form for form in forms for sign in self._within):
            return SUSPECT
        return JOINS if any(part in form for form in forms for part in self._parts) else CLEAN

    def _joined(self, line: str) -> bool:
        """Whether a sign of several words is in any reading of a line."""
        return any(sign in form for form in _readings(line) for sign in self._spaced)


def _readings(text: str) -> tuple[str, ...]:
    """As it stands, digits read as letters, in rot13, and backwards."""
    return text, text.translate(_LEET), codecs.encode(text, "rot13"), text[::-1]


def _longest(sign: str) -> str:
    """The longest word of a sign of several."""
    return max(sign.split(" "), key=len)


def _spelled(words: Sequence[str]) -> bool:
    """Whether four short words stand side by side, as the letters of a word that is spelled out."""
    run = 0
    for word in words:
        run = run + 1 if len(word) <= 2 else 0
        if run >= _SHORT_WORDS:
            return True
    return False
