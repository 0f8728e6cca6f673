"""The mark of the block of memory before a model, and text that cannot end it.

Owns what counts as the mark: in any case and width, with other dashes, blanks and brackets that look like its own, for
a model reads it so. Needs the standard library only: an agent's process imports it.
"""

from __future__ import annotations

import re
import unicodedata

OPEN, CLOSE = "<recalled-memory>", "</recalled-memory>"

_BRACKETS = "<\uff1c\ufe64\u2039\u3008\u2329\u27e8\u276c\u276e\u2770\u300a\u226a\u00ab\u02c2\u1438"
_ANY = re.compile(f"[{_BRACKETS}]")
_BETWEEN = r"[^a-z]{0,8}?"  # bounded, so that a text of brackets alone is read in a moment
_MARK = re.compile(
    rf"[{_BRACKETS}](?=[\W_]{{0,99}}{_BETWEEN.join('recalled')}[\W_]{{0,99}}{_BETWEEN.join('memory')})", re.IGNORECASE
)
_ALIKE = str.maketrans(
    {letter: one for one, letters in {
        "a": "\u0430\u03b1\u0251\u1d00@4", "c": "\u0441\u03f2\u1d04", "d": "\u0501\u1d05", "e": "\u0435\u03b5\u1d073",
        "l": "\u04cf\u0399\u0131\u029fiI1|", "m": "\u043c\u041c\u1d0d", "o": "\u043e\u03bf\u1d0f0", "r": "\u0433\u0280",
        "y": "\u0443\u03b3\u028f",
    }.items() for letter in letters}
)  # fmt: skip
"""Letters of other scripts and signs that look like those of the mark."""


def defused(text: str) -> str:
    """The text with a `(` for each bracket that could begin the mark."""
    if not _ANY.search(text):
        return text
    read = (text if text.isascii() else "".join(map(_read, text))).translate(_ALIKE)
    places = {found.start() for found in _MARK.finditer(read)}
    return "".join("(" if place in places else one for place, one in enumerate(text)) if places else text


def _read(letter: str) -> str:
    """A letter as it looks, one for one; a bracket stays what it is."""
    return letter if letter.isascii() or letter in _BRACKETS else unicodedata.normalize("NFKD", letter)[:1] or " "
