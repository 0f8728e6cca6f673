"""By which names the speakers of a chat are addressed: a transcript calls them `user` and `assistant`.

Owns when a name that others say to a speaker counts as theirs. Knows no index; numbers stand for chats and speakers.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from nanomem_tui.language import cues
from nanomem_tui.language.common_words import is_common
from nanomem_tui.language.tokens import tokens

SURE = 3
"""How often somebody is addressed by a name before it counts: a capital behind a comma may be a place."""

SHARE = 0.2
"""How often, beside the commonest name of the same speaker, another one is used for them (`Mel`, `Melanie`)."""

INTRODUCED = 3
"""What it counts when somebody says their own name."""


class Addressed:
    """The names of speakers, taken from how others address them.

    >>> names = Addressed()
    >>> for _ in range(3):
    ...     names.add(0, 1, 0, "Thanks, Ana!")
    >>> names.speakers("ana")
    {0: {0}}
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        self._names: dict[str, dict[int, set[int]]] = {}

    def add(self, chat: int, speaker: int, other: int, text: str) -> None:
        """Take note of a passage of `speaker`, who spoke after `other` (negative: after nobody)."""
        for name in cues.called(text) if other >= 0 else ():
            if not all(map(is_common, tokens(name))):  # "Hello, World!"
                self._count(chat, other, name, 1)
        for name in cues.introduced(text):
            self._count(chat, speaker, name, INTRODUCED)

    def _count(self, chat: int, speaker: int, name: str, times: int) -> None:
        counts = self._counts[chat, speaker]
        for token in tokens(name):
            counts[token] += times
            if counts[token] >= max(SURE, SHARE * max(counts.values())):
                self._names.setdefault(token, {}).setdefault(chat, set()).add(speaker)

    def names(self) -> list[str]:
        """All names, as words of the index."""
        return list(self._names)

    def speakers(self, token: str) -> dict[int, set[int]]:
        """By chat, the speakers whose name that word is."""
        return self._names.get(token, {})
