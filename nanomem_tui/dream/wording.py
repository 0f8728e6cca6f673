"""How a text puts what it says: its words one after the other, as far as another one would say something else.

Owns telling whether one statement is another, or goes on where that one ends. Prepositions and what is owned count;
articles, `is` and the user, of whom every line is that names nobody, do not. Errs towards another statement: a fact
kept twice can be merged later, what is said of a mother and taken for her daughter's is lost. Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language.tokens import fold

_I = re.IGNORECASE
_WORD = re.compile(
    r"(?<![\w.])[+-]\d+(?:[.,:/-]\d+)*|\d+(?:[.,:/-]\d+)*(?![^\W\d_])|[^\W_](?:[./:@&_+-]?[^\W_])*[+#]*|['’]\w+|"
    r"[^\w\s.,;:!?()\[\]{}\"'’“”‘*`，。；：！？（）、「」『』《》…—–-]"
)
_SAYS_NOTHING = frozenset("a an the is are am be do does now currently too also".split())
_OF_THE_USER = ("user", "i", "my", "用户")
_GOES_ON = re.compile(
    r"[*_`\"'”’)]*(?:\s*[.!。！]?\s*$|[.,;]\s|\s*[（(，。；、]|\s[-–—]\s|"
    r"\s+(?:and|since|because|as well as|in the (?:morning|afternoon|evening))\b)",
    _I,
)
"""What stands behind a statement that ends there: nothing, a remark, another statement, since when."""
_LIMITS = re.compile(
    r"\b(?:but|only|except|unless|if|when|while|until|till|before|without|instead|rather|formerly|previously|former|"
    r"maybe|perhaps|possibly|probably|might|could|unsure|used to|suspected|wrong|false|untrue|no longer|not|never|"
    r"said|says|thinks?|thought|believes?|according|heard|apparently|allegedly|reportedly|supposed\w*|seems?|guess\w*|"
    r"claims?|reported|rumou?r\w*|hopes?|wants?|wishes|dreams?)\b|n['’]t\b|[?？]|"
    r"如果|除非|但是?|只|可能|也许|或许|曾|以前|不|没|据说|听说|认为|觉得",
    _I,
)
"""Behind a statement: that it is so only at times, no more, or what somebody says."""


class Word(NamedTuple):
    """A word as it is compared, and where it ends in its text."""

    form: str
    end: int


@lru_cache(maxsize=16384)
def wording(text: str) -> tuple[Word, ...]:
    """The words of `text` in order, without those that say nothing and the user at its beginning."""
    found = [Word(_form(match[0]), match.end()) for match in _WORD.finditer(text.replace("**", "  "))]
    said = [word for word in found if word.form not in _SAYS_NOTHING]
    if len(said) > 1 and said[0].form in _OF_THE_USER:
        said = said[2:] if said[1].form == "'s" and len(said) > 2 else said[1:]
    return tuple(said)


def is_said(new: str, there: str) -> bool:
    """Whether `there` is the statement `new`, or begins with it and goes on with what does not touch it."""
    wanted, words = wording(new), wording(there)
    if not _begins(words, wanted):
        return False
    if len(words) == len(wanted) and not _LIMITS.search(there[words[-1].end :]):
        return True
    rest = there[words[len(wanted) - 1].end :]
    return _GOES_ON.match(rest) is not None and not _LIMITS.search(rest)


@lru_cache(maxsize=16384)
def limits(text: str) -> frozenset[str]:
    """The words of a text by which it is so only at times, no more, or as somebody says."""
    return frozenset(fold(word) for word in _LIMITS.findall(text))


def _begins(words: Sequence[Word], wanted: Sequence[Word]) -> bool:
    if not wanted or len(words) < len(wanted):
        return False
    return all(one.form == other.form for one, other in zip(wanted, words, strict=False))


def _form(word: str) -> str:
    """A word without what its number or person adds: `likes` and `like` say the same."""
    form = fold(word).replace("’", "'")
    plural = (
        form.endswith("s")
        and len(form) > 3
        and form not in _SAYS_NOTHING
        and not form.endswith(("ss", "us", "is", "'s"))
    )
    return form[:-1] if plural and form.isalpha() else form
