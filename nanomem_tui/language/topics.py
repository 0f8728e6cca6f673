"""What a heading is for and what a line is about, by the words of both in ten languages (`packs/topics.json`)."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from nanomem_tui.language.detect import language_of
from nanomem_tui.language.features import tokens

_WHOLE = 4  # a shorter word of the table has to be the whole word


class Topic(NamedTuple):
    """One subject: its heading by language, how headings about it begin, and words of lines about it."""

    name: str
    titles: dict[str, str]
    headings: tuple[str, ...]
    words: tuple[str, ...]


@lru_cache(1)
def topics() -> tuple[Topic, ...]:
    """Return all topics."""
    file = resources.files(__package__).joinpath("packs", "topics.json")
    body = json.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Topic(name, one["titles"], tuple(one["headings"].split()), tuple(one["words"].split()))
        for name, one in body.items()
    )


@lru_cache(2048)
def topics_of_heading(title: str) -> frozenset[str]:
    """Return what a heading says that the lines under it are about.

    >>> topics_of_heading("Communication Style")
    frozenset({'style'})
    """
    return frozenset(topic.name for topic in topics() if _has(title, topic.headings))


@lru_cache(4096)
def topics_of_line(text: str) -> frozenset[str]:
    """Return what a line is about."""
    return frozenset(topic.name for topic in topics() if _has(text, topic.words))


def title_of(topic: str, text: str) -> str:
    """Return the heading of a topic in the language of a text."""
    titles = next(one.titles for one in topics() if one.name == topic)
    return titles.get(language_of(text), titles["en"])


def _has(text: str, begins: tuple[str, ...]) -> bool:
    words, lower = tokens(text), text.lower()
    for start in begins:
        if not start[0].isascii() and start[0] > "\u3000":
            if start in lower:
                return True
        elif any(word == start or (len(start) > _WHOLE and word.startswith(start)) for word in words):
            return True
    return False
