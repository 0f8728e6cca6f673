"""Whether two statements say the same: a stand-in until the learned judge is here."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from nanomem_tui.tokens import fold, tokens

Relation = Literal["same", "newer", "denial", "different", "unsure"]
_NOT = re.compile(r"\b(?:not|no|never|n't|without|kein\w*|nicht|nie|не|нет|без|no|nunca|pas|jamais|non|não)\b|n['’]t\b|[不没未]", re.I)
_NOW = re.compile(
    r"\b(?:now|instead|changed|moved|switched|new|since|from|not|no longer|any ?more|теперь|вместо|переш\w+|"
    r"не|jetzt|nun|statt|ab)\b|[改换不]",
    re.I,
)


class Comparison(NamedTuple):
    """How the second statement is to the first, and how sure that is, 0 to 1."""

    relation: Relation
    share: float


def stems(text: str) -> frozenset[str]:
    """The words of a text, cut to their beginnings."""
    words = (word for word in tokens(text) if len(word) > 1 or word.isdigit())
    return frozenset(word[:5] if word.isalpha() and len(word) > 5 else word for word in words)


def compared(a: str, b: str) -> Comparison:
    """Compare two statements of which `b` is said later."""
    if fold(a) == fold(b):
        return Comparison("same", 1.0)
    one, two = stems(a), stems(b)
    shared = one & two
    least = min(len(one), len(two)) or 1
    cover = len(shared) / least
    numbers = {word for word in one ^ two if word[0].isdigit()}
    if bool(_NOT.search(a)) != bool(_NOT.search(b)) and cover > 0.7:
        return Comparison("denial", cover * 0.8)
    if cover >= 0.75 and len(shared) > 1 and not {w for w in two - one if w[0].isdigit()}:
        return Comparison("same", cover)
    if cover >= 0.5 and len(shared) > 1 and (_NOW.search(b) or numbers):
        return Comparison("newer", cover)
    return Comparison("unsure" if cover > 0.6 else "different", 1 - cover)


def compare(a: str, b: str) -> Relation:
    """Return how the later statement `b` is to `a`."""
    return compared(a, b).relation


def holds(entry: str, line: str) -> float:
    """Return how plainly an entry says what a line says, 0 to 1."""
    one, two = stems(entry), stems(line)
    return len(one & two) / (len(two) or 1)
