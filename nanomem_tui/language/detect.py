"""Which language a text is in, told by its script and, for Latin letters, by the small words in it."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from nanomem_tui.language.features import tokens
from nanomem_tui.language.tables import table

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_LETTER = re.compile(r"[^\W\d_]")
LIKELY = 0.6
"""How many of the small words of the likeliest language another one needs to be likely too."""
LATIN = ("en", "de", "es", "fr", "pt", "it")


@lru_cache(256)  # a statement is compared with many
def language_of(text: str) -> str:
    """Return the code of the language that a text is most likely in; English where nothing tells.

    >>> language_of("Ich wohne in Köln und arbeite bei der Bahn")
    'de'
    """
    letters = len(_LETTER.findall(text)) or 1
    for code, pattern in _SCRIPTS:
        if len(pattern.findall(text)) > (0.05 if code == "ja" else 0.2) * letters:
            return code
    return next(iter(latin_languages_of(text)), "en")


def latin_languages_of(text: str) -> list[str]:
    """Return the languages with Latin letters of which small words stand in a text, the likeliest first.

    >>> latin_languages_of("mi chiamo Giulia e vivo a Bologna")
    ['es', 'it']
    """
    votes: Counter[str] = Counter()
    known = table("words")  # the languages of each word that few languages share and that is common in one
    for word in set(tokens(text)):
        for code in known.get(word, ()):
            votes[code] += 1
    least = LIKELY * max(votes.values(), default=0)
    return sorted((code for code in LATIN if votes[code] and votes[code] >= least), key=lambda code: -votes[code])
