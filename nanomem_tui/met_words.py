"""Whether a text is worth a costly pattern, told by its words: each word is looked at once for all texts that hold it.

Must not pass over a text in which the pattern of words finds something within one word.
"""

from __future__ import annotations

import re

MOST_WORDS = 30_000
"""Words that are kept: most that are met once are a number or a name of one text, and would fill the memory."""


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
        strange = set(words) - self._plain
        told = {word for word in strange if self._telling.search(word)}
        if len(self._plain) > MOST_WORDS:
            self._plain = set()
        self._plain |= strange - told
        return bool(told)
