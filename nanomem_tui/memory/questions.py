"""What is asked of recall: the question as a value, its words with their weights, and those that were misspelt.

Pure functions over values. Must not know an index: what is there is told by functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from nanomem_tui.memory.scopes import Audience
from nanomem_tui.tokens import query_weights, query_words

REPLY_WEIGHT = 0.5
"""What a word counts that stands only in the message replied to."""

MAX_QUERY = 20_000
"""Characters of a message that are looked at."""


class Question(NamedTuple):
    """What is asked: a message, what it replies to, for whom, and within which bounds (None: those of the settings).

    `whole`: a search by a person, without the budget of a prompt and the cap on the user layer.
    """

    text: str
    reply_to: str = ""
    audience: Audience = Audience()
    scope: str = "all"
    kinds: tuple[str, ...] = ()
    limit: int | None = None
    max_chars: int | None = None
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    whole: bool = False


def asked(question: Question) -> str:
    """The whole text of a question."""
    text = f"{question.text}\n{question.reply_to}" if question.reply_to else question.text
    return text[:MAX_QUERY]


def written(question: Question) -> dict[str, str]:
    """Its words as they were written, by token."""
    return query_words(asked(question))


def weighted(question: Question) -> dict[str, float]:
    """The words of a question with their weights; those of the message replied to count less."""
    words = query_weights(question.text[:MAX_QUERY])
    if question.reply_to:
        for word, weight in query_weights(question.reply_to[:MAX_QUERY]).items():
            words.setdefault(word, REPLY_WEIGHT * weight)
    return words


def corrected(
    words: Mapping[str, float],
    as_written: Mapping[str, str],
    known: Callable[[str], bool],
    nearest: Callable[[str], str | None],
) -> tuple[dict[str, float], dict[str, str]]:
    """The words with those that no row holds replaced by the nearest that is held, and what was replaced."""
    found: dict[str, float] = {}
    replaced: dict[str, str] = {}
    for word, weight in words.items():
        meant = None if known(word) else nearest(word)
        if meant is not None:
            replaced[as_written.get(word, word)] = meant
        found[meant or word] = max(weight, found.get(meant or word, 0.0))
    return found, replaced
