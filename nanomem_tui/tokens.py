"""The one tokenizer of recall: the same words for the full-text index, the RAM scorer and the query.

Text is folded (NFKC, case), cut into words, and scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese)
into single characters and bigrams, so that a two-character query finds its item. Borders between scripts are word
borders. English words are reduced by a few regular endings.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

VERSION = 1
"""Grows when the same text gives other tokens; an index built by another version is rebuilt."""

_UNSPACED = "぀-ヿ㐀-䶿一-鿿豈-﫿ㇰ-ㇿ฀-๿຀-໿ក-៿က-႟𠀀-𲎯"
_ASCII_WORDS = re.compile(r"\w+", re.ASCII)
_STOP = frozenset(
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in is it its "
    "me my no not of on or our she so that the their them then there these they this to us was we were what when "
    "where which who why will with would you your".split()
)


@lru_cache(1)
def _any_words() -> re.Pattern[str]:
    # 15 ms to compile: a program that meets plain ASCII only, or no text at all, does not pay for it.
    return re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")


@lru_cache(1)
def _unspaced() -> re.Pattern[str]:
    return re.compile(rf"[{_UNSPACED}]")


def _runs(text: str) -> list[str]:
    """The runs of word characters of one script, folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return (_ASCII_WORDS if folded.isascii() else _any_words()).findall(folded)


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _unspaced().match(run) is not None


def fold(text: str) -> str:
    """`text` with width and case differences removed and white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def tokens(text: str) -> list[str]:
    """The tokens of `text`, in order, with repeats; stop words are left out."""
    found: list[str] = []
    for run in _runs(text):
        if _is_unspaced(run):
            found.extend(run)
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        elif run not in _STOP:
            found.append(_stem(run))
    return found


def query_tokens(text: str, limit: int = 32) -> list[str]:
    """The distinct tokens of a query; single characters of unspaced scripts only where no bigram holds them."""
    words: list[str] = []
    for run in _runs(text):
        if not _is_unspaced(run):
            words.extend([_stem(run)] if run not in _STOP else [])
        elif len(run) == 1:
            words.append(run)
        else:
            words.extend(run[i : i + 2] for i in range(len(run) - 1))
    return list(dict.fromkeys(words))[:limit]


@lru_cache(20_000)
def _stem(word: str) -> str:
    if len(word) < 4 or not word.isascii():
        return word
    for ending, rest in (("sses", "ss"), ("ies", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("ly", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _undouble(word[: -len(ending)] + rest)
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _undouble(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word
