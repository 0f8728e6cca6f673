"""What a heading is for and what a line is about, by the words of both in ten languages (`packs/topics.json`), and what
words give away of a line: that it is of a stranger, supposed, a joke, of today, over … (`packs/cues.json`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from nanomem_tui.language import tables
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.features import tokens

_WHOLE = {"headings": 4}
"""A word of a table that is not longer has to be the whole word; 4 elsewhere."""
_PATHS = re.compile(
    r"https?://\S+|(?<![^\s`\"'(=:])(?:[A-Za-z]:[\\/]|~/|\.{1,2}/|/(?=\w))[^\s`\"'),;]*|"
    r"(?<![\w./-])[\w.-]{1,80}(?:/[\w-]{1,80})+/[\w-]*\.\w{1,5}"
)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Words:
    """Which subjects the words of a text belong to: whole words, beginnings of longer ones, parts of scripts that put
    no spaces."""

    def __init__(self, tables: Mapping[str, str], longest: int = 4) -> None:
        self._begins: dict[str, set[str]] = {}
        self._parts: dict[str, set[str]] = {}
        for name, words in tables.items():
            for word in words.split():
                table = self._parts if _UNSPACED.match(word) else self._begins
                table.setdefault(word.lower(), set()).add(name)
        self._lengths = sorted({len(word) for word in self._begins if len(word) > longest})
        self._pattern = re.compile("|".join(sorted(map(re.escape, self._parts), key=len, reverse=True)) or "(?!)")

    def of(self, text: str) -> frozenset[str]:
        """Return the subjects of a text."""
        found: set[str] = set()
        for word in tokens(text):
            found |= self._begins.get(word, set())
            for length in self._lengths:
                if length >= len(word):
                    break
                found |= self._begins.get(word[:length], set())
        for part in self._pattern.findall(text.lower()):
            found |= self._parts[part]
        return frozenset(found)


@lru_cache(3)
def _words(table: str) -> Words:
    if table == "cues":
        return Words(tables.table("cues"))
    return Words({name: topic[table] for name, topic in tables.table("topics").items()}, _WHOLE.get(table, 4))


def without_paths(text: str) -> str:
    """Return a text without addresses of pages and files: the names of their folders say nothing of what it is about.

    >>> without_paths("see /home/al/report.html")
    'see  '
    """
    return _PATHS.sub(" ", text)


@lru_cache(2048)
def topics_of_heading(title: str) -> frozenset[str]:
    """Return what a heading says that the lines under it are about.

    >>> topics_of_heading("Communication Style")
    frozenset({'style'})
    """
    return _words("headings").of(title)


def names_of_heading(title: str) -> tuple[str, ...]:
    """Return the words of a heading that name somebody or something: `Kestrel` of `Kestrel project`."""
    words = _words("headings")
    return tuple(word for word in tokens(title) if word.isalnum() and not words.of(word))


_pattern = tables.patterns("titles")


def without_subjects(title: str) -> str:
    """Return a heading without the Chinese words that only name a subject."""
    return _pattern("subjects").sub(" ", title)


def people_in(title: str) -> frozenset[str]:
    """Return the Chinese words of a heading by which it is of others than the user."""
    return frozenset(_pattern("people").findall(title))


@lru_cache(4096)
def topics_of_line(text: str) -> frozenset[str]:
    """Return what a line is about."""
    return _words("words").of(without_paths(text))


@lru_cache(4096)
def cues_of(text: str) -> frozenset[str]:
    """Return what the words of a line give away."""
    return _words("cues").of(text)


def is_needed_once(text: str) -> bool:
    """Return whether a line tells what matters when it is needed once: health, birth, family, emergencies.

    >>> is_needed_once("Tom is allergic to penicillin")
    True
    """
    return "needed" in cues_of(text) or not topics_of_line(text).isdisjoint(("identity", "family", "health"))


def title_of(topic: str, text: str) -> str:
    """Return the heading of a topic in the language of a text."""
    titles: dict[str, str] = tables.table("topics")[topic]["titles"]
    return titles.get(language_of(text), titles["en"])
