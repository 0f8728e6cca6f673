"""What a wish names: of “scratch the note about my therapist” it is the therapist."""

from __future__ import annotations

import re
from typing import NamedTuple

from nanomem_tui.language import detect, features, reader

_CLAUSE = re.compile(r"[,;:，；：、。!！?？\n]+")
_RUN = re.compile(r"[^\W_]+")


class Name(NamedTuple):
    """A word that names what is meant; whether it is rare in its language, so that it names one thing."""

    word: str
    is_rare: bool = False


def named(wish: str) -> list[list[Name]]:
    """Return for each clause of a wish to forget the words that name what is meant; in Chinese and Japanese runs of two
    characters, else single ones. Where every word stands in such wishes anyhow, those that are no small words.

    >>> named("scratch the note about my therapist")
    [[Name(word='therapist', is_rare=True)]]
    """
    language = detect.language_of(wish)
    learned = reader.pack(language)
    clauses = [clause for part in _CLAUSE.split(wish) if (clause := part.strip())]
    for known in (learned.forgetting | learned.common, learned.common):
        found = [
            _of_characters(one, learned.forgetting) if features.is_wide(one) else _of_words(one, known)
            for one in clauses
        ]
        if any(found):
            return [[Name(word, word not in learned.weights) for word in words] for words in found if words]
    return []


def _of_words(clause: str, known: frozenset[str]) -> list[str]:
    words = (one for one in features.tokens(clause) if one[0].isalnum())
    return [word for word in words if word not in known and word.partition("'")[0] not in known]


def _of_characters(clause: str, known: frozenset[str]) -> list[str]:
    """What is left of a clause without the longest runs that are known, in runs of two characters."""
    rest = clause.rstrip("了吧啊呀啦")
    for length in (3, 2, 1):
        for run in {clause[at : at + length] for at in range(len(clause) - length + 1)} & known:
            rest = rest.replace(run, " " * length)
    runs = _RUN.findall(rest)
    words = [run for run in runs if run.isascii()]
    wide = [run for run in runs if not run.isascii()]
    return [*words, *(run[at : at + 2] for run in wide for at in range(len(run) - 1))] or wide
