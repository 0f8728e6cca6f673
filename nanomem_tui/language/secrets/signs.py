"""Whether a text is worth the patterns of secrets: a quick look that most texts pass, and never one with a secret.

Owns what every secret has: a long run of letters and digits, eight digits, the name of what it is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from nanomem_tui.language.pack_files import MetWords, expand, table

_DIGITS = re.compile(r"\d(?:[ -]?\d){7}", re.ASCII)
"""Numbers of cards, accounts, persons."""
UNSEEN = re.compile("[\ufdd0\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]")
"""Signs that nobody sees, and the one that `secrets` puts where something was taken out."""


@cache
def _pattern(name: str) -> str:
    pack = table("secrets-signs")
    return expand(pack["signs"][name], pack["parts"])


@cache
def _words() -> MetWords:
    """Compiled at the first text that is looked at."""
    return MetWords(re.compile(_pattern("telling")))


@cache
def _private() -> re.Pattern[str]:
    return re.compile(_pattern("private"), re.IGNORECASE)


def is_private(text: str) -> bool:
    """Whether a text names a secret or leads to one, also where it does not hold one.

    >>> is_private("my PIN is the year I was born")
    True
    """
    return _private().search(text) is not None


def may_hold(text: str) -> bool:
    """Whether `secrets.find` may find something in a text; False only where it finds nothing."""
    if not text.isascii() and (UNSEEN.search(text) or not unicodedata.is_normalized("NFKC", text)):
        return True
    return tell(text)


def tell(text: str) -> bool:
    """The same of a text without full-width and invisible signs."""
    return _words().tell(text) or _DIGITS.search(text) is not None
