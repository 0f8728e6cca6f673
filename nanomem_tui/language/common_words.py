"""Common English words: who writes one of them meant it, and no name is made of them alone."""

from __future__ import annotations

from functools import lru_cache

from nanomem_tui.language.tables import table
from nanomem_tui.language.tokens import tokens

_LINES = table("common-words")["words"]  # read now, for a question opens no file


@lru_cache(1)
def _stems() -> frozenset[str]:
    return frozenset(tokens(" ".join(_LINES)))


def is_common(word: str) -> bool:
    """Whether a token is the stem of a common English word."""
    return word in _stems()
