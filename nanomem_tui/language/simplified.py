"""Text as our patterns are written: with straight apostrophes, and the traditional characters in them simplified.

The table (`packs/traditional.toml`) has one character for one, so that a place in what comes out is the same place in
what went in. It is no translation: words that only Taiwan or Hong Kong use stand in the patterns beside the others.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from nanomem_tui.language.tables import table


@lru_cache(1)
def _characters() -> dict[int, str]:
    return {ord(one): other for one, other in table("traditional")["characters"].split()}


def straight(text: str) -> str:
    """A sentence with the apostrophes that our patterns have, and without blanks around it."""
    return text.replace("’", "'").strip()


def simplified(text: str) -> str:
    """`text` with each traditional character that our patterns know as the simplified one; of the same length."""
    return text if text.isascii() else text.translate(_characters())


def without_accents(text: str) -> str:
    """`text` without the accents over its letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
