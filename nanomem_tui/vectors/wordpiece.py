"""WordPiece, as the BERT family of models cuts text into tokens: lower case, accents off, punctuation apart.

Owns the way from a text to token ids. Reads a text only as far as its tokens are wanted, so that one of a megabyte
costs no more than one of a page. Pure Python; must not know a model or a file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

CLS, SEP, UNKNOWN, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
_CONTINUED = "##"
_LONGEST = 100
"""Characters of a word; a longer one is unknown."""

_PIECE = 4096
"""Characters that are looked at at once."""

_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ideographs, each of which is a word of its own."""


_CONTROLS = ("Cc", "Cf", "Co", "Cs")
"""Kinds of characters that say nothing; one that Unicode does not know yet may be a letter."""


class _Written(dict[int, str]):
    """What each character becomes before words are looked up, made when it is first met: for `str.translate`."""

    def __init__(self, *, lower: bool, accents: bool) -> None:
        super().__init__()
        self._lower = lower
        self._accents = accents

    def __missing__(self, code: int) -> str:
        self[code] = found = self._of(chr(code))
        return found

    def _of(self, char: str) -> str:
        kind = unicodedata.category(char)
        if char in "\t\n\r" or kind[0] == "Z":
            return " "
        if char == "\ufffd" or kind in _CONTROLS:
            return ""
        plain = char if self._accents else _without_marks(char)
        plain = "".join(one.lower() for one in plain) if self._lower else plain
        if any(first <= ord(char) <= last for first, last in _CHINESE):
            return f" {plain} "
        return "".join(f" {one} " if _is_punctuation(one) else one for one in plain)


class WordPiece:
    """Token ids of texts by one vocabulary (word: id).

    `lower` and `accents` say whether it is of lower case only, and knows accents. Raises KeyError for a vocabulary
    without the words that mark the beginning, the end and the unknown.
    """

    def __init__(self, vocabulary: Mapping[str, int], *, lower: bool = True, accents: bool = False) -> None:
        self._ids = vocabulary
        self._first, self._last, self._unknown = vocabulary[CLS], vocabulary[SEP], vocabulary[UNKNOWN]
        self._written = _Written(lower=lower, accents=accents)

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of at most `limit` tokens, the marks of beginning and end among them (`limit` is 2 or more).

        What looks like a mark in the text is text. Never raises; a lone surrogate is left out as a control character.
        """
        found = [self._first]
        room = limit - 1
        for word in self._words(text):
            found += self._pieces(word)
            if len(found) >= room:
                break
        return [*found[:room], self._last]

    def _words(self, text: str) -> Iterator[str]:
        """The words of `text`, one after the other; of a word beyond all measure only so much as tells that it is."""
        tail = ""
        for start in range(0, len(text), _PIECE):
            piece = tail + text[start : start + _PIECE].translate(self._written)
            *words, tail = piece.split(" ")
            tail = tail[: _LONGEST + 1]
            yield from filter(None, words)
        if tail:
            yield tail

    def _pieces(self, word: str) -> list[int]:
        """The ids of a word: the longest beginning that is known, then again of the rest."""
        whole = self._ids.get(word)
        if whole is not None and len(word) <= _LONGEST:
            return [whole]
        found: list[int] = []
        start, end = 0, len(word)
        while start < len(word) <= _LONGEST:
            known = self._ids.get((_CONTINUED if start else "") + word[start:end])
            if known is not None:
                found.append(known)
                start, end = end, len(word)
            elif end - start > 1:
                end -= 1
            else:
                break
        return found if found and start == len(word) else [self._unknown]


def _without_marks(char: str) -> str:
    """A character without its accents."""
    return "".join(one for one in unicodedata.normalize("NFD", char) if unicodedata.category(one) != "Mn")


def _is_punctuation(char: str) -> bool:
    return char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(char)[0] == "P"
