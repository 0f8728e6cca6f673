"""How much of a text a model can read, as far as its name tells: one that knows English sees only noise in Chinese.

Pure. Must not load a model.
"""

from __future__ import annotations

import re

_ENGLISH = re.compile(r"minilm-l\d|(?<![a-z])all-minilm|english|[-_]en(?:[-_. ]|$)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[a-zA-Z\u00c0-\u024f]")


def share_read(model: str, text: str) -> float:
    """The share of the letters of a text that a model of that name was taught, 0 to 1; 1 where nothing tells."""
    if _ENGLISH.search(model) is None or "multilingual" in model.lower() or text.isascii():
        return 1.0
    letters = len(_LETTER.findall(text))
    return len(_LATIN.findall(text)) / letters if letters else 1.0
