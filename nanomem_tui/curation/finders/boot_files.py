"""What SOUL.md, USER.md and MEMORY.md say, statement by statement, and whether a text says only what one of them says.

Owns which statements there are and with which of them a text is held; whether two say the same is for the one judge,
`language.compare`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import spoken
from nanomem_tui.language.compare import compared
from nanomem_tui.language.tokens import tokens

SHARED = 0.5
"""The share of the words of each that the other has at least, for the judge to be asked."""
HELD = 3
"""Statements that a text is held against at most: those that share most with it."""
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?|^\s*>\s?")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NAME = re.compile(r"[^\W\d_]{2,}")
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|[；。！？]")


class Statement(NamedTuple):
    """One statement of a boot file: the file, its line from 1, the line, what it says, and the heading over it."""

    file: str
    line: int
    text: str
    said: str
    heading: str


class Book:
    """The statements of all boot files, found by their words."""

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        texts = list(files)
        names = [word for _, text in texts for name in spoken.names_given(text) for word in _NAME.findall(name)]
        self._name = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b" if names else "(?!)")
        self._words: dict[Statement, int] = {}
        self._by_word: dict[str, list[Statement]] = {}
        for name, text in texts:
            for statement in _statements(name, text):
                words = {*tokens(statement.said)}
                self._words[statement] = len(words)
                for word in {*words, *tokens(statement.heading)}:
                    self._by_word.setdefault(word, []).append(statement)

    def find(self, text: str) -> Statement | None:
        """The statement that says all that `text` says; None where none does."""
        words = {*tokens(text)}
        met = [word for word in words if word in self._by_word]
        if not met or len(met) < SHARED * len(words):  # most texts end here
            return None
        shared = Counter(one for word in met for one in self._by_word[word])
        near = [
            one for one, count in shared.most_common(HELD)
            if count >= SHARED * len(words) and count >= SHARED * self._words[one]
        ]  # fmt: skip
        return next((one for one in near if self._says(one, text)), None)

    def _says(self, one: Statement, text: str) -> bool:
        bare = self._name.sub("User", text)
        said = [self._name.sub("User", one.said), *([f"{one.heading}: {one.said}"] if one.heading else [])]
        return any("same" in (compared(line, bare).relation, compared(bare, line).relation) for line in said)


def _statements(name: str, text: str) -> Iterator[Statement]:
    heading, fenced = "", False
    for number, line in enumerate(_COMMENT.sub(_blank_lines, text).split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (found := _HEADING.match(line)):
            heading = found[2].strip()
        elif not fenced and line.strip():
            bare = _MARKUP.sub("", _BULLET.sub("", line)).strip()
            for part in dict.fromkeys((bare, *(filter(None, map(str.strip, _CLAUSE.split(bare)))))):
                yield Statement(name, number, line.strip(), part, heading)


def _blank_lines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


@lru_cache(8)
def book_of(files: tuple[tuple[str, str], ...]) -> Book:
    """The statements of these files, each its name and its text."""
    return Book(files)
