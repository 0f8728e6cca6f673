"""Whether a text is worth a costly pattern, told by its words: each word is looked at once for all texts that hold it.

Must not pass over a text in which the pattern of words finds something within one word.
"""

from __future__ import annotations

import re

MOST_WORDS = 20_000
_DIGIT = re.compile(r"\d")


def is_worth_knowing(word: str, known: int) -> bool:
    """Whether a word that was judged is kept, where so many are known: one with a number in it hardly comes again."""
    return known < MOST_WORDS and len(word) < 24 and _DIGIT.search(word) is None


class MetWords:
    """Texts whose words all are known to tell nothing are passed over at the cost of splitting them. Thread-safe."""

    def __init__(self, telling: re.Pattern[str]) -> None:
        """`telling`: what a word has that makes its text worth a look."""
        self._telling = telling
        self._plain: set[str] = set()

    def tell(self, text: str) -> bool:
        """Whether a word of the text is a telling one."""
        words = text.split()
        if self._plain.issuperset(words):
            return False
        for word in set(words) - self._plain:
            if self._telling.search(word):
                return True
            if is_worth_knowing(word, len(self._plain)):
                self._plain.add(word)
        return False
