"""A quick look that most texts pass: no word of theirs, however it is read, can be part of an order to a model.

A word is judged once for all texts that hold it. Owns no pattern: it may let too much through to the patterns, never
too little. Only for texts of ASCII; all else is looked at in full.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from nanomem_tui.memory import injection

CLEAN, OPEN, HIDDEN = 0, 1, 2
"""What a text may hold: nothing, an order in words that can be read, an order that is hidden."""
_JOINS = 3
"""A word that is part of a sign of several words."""
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

    def may_hold(self, text: str) -> int:
        """CLEAN where nothing in a text can be an order, OPEN where `reason` need not look for hidden ones, HIDDEN
        where it must."""
        if not text.isascii():
            return HIDDEN
        short, joins, found = 0, False, CLEAN
        words = text.lower().split()
        for word in words:
            known = self._words.get(word)
            if known is None:
                known = self._learned(word)
            if known == HIDDEN:
                return HIDDEN
            if known == _JOINS:
                joins = True
            elif known:
                found = OPEN
            short += len(word) <= 2
        if short >= _SHORT_WORDS and _spelled(words):
            return HIDDEN
        return max(found, self._joined(f" {' '.join(words)} ")) if joins else found

    def _learned(self, word: str) -> int:
        if len(self._words) > _MOST_WORDS:
            self._words.clear()
        known = self._words[word] = self._judged(word)
        return known

    def _judged(self, word: str) -> int:
        if _ENCODED.search(word) or len(_SIGNS.findall(word)) > 2:
            return HIDDEN
        found, joins = _where(word, self._within), _where(word, self._parts)
        if found == OPEN and joins == HIDDEN:
            return HIDDEN  # as a part of a hidden sign it would have to be looked at twice
        return found or (_JOINS if joins else CLEAN)

    def _joined(self, line: str) -> int:
        """Whether a sign of several words is in any reading of a line, and in which."""
        return _where(line, self._spaced)


def _where(text: str, signs: Sequence[str]) -> int:
    """HIDDEN where a sign stands in a text in rot13 or backwards, OPEN where one does as it is, or with digits for
    letters, else CLEAN."""
    if any(sign in form for form in (codecs.encode(text, "rot13"), text[::-1]) for sign in signs):
        return HIDDEN
    return OPEN if any(sign in form for form in (text, text.translate(_LEET)) for sign in signs) else CLEAN


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
