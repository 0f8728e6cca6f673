"""How a text says something: that it is so, or that it is not.

Owns the words that deny, in English and Chinese, for all who compare what two texts say. Knows no line, no entry and no
edit. Pure functions over text.
"""

from __future__ import annotations

import re
from functools import lru_cache

_I = re.IGNORECASE
_NOT = r"\b(?:not|no|never|without|cannot)\b|n['’]t\b|[不没无未]"
"""What denies wherever it stands."""
_COUNTED = re.compile(rf"{_NOT}|\bstopped\b|[别勿非]", _I)
_TAKEN_OUT = re.compile(
    rf"\b(?:no longer|any ?more)\b|\b(?:does|do|did|is|are|was|were|ca|wo)n['’]t\b|不再|再也不|没有|{_NOT}", _I
)
_DENIES = re.compile(
    rf"{_NOT}|\b(?:nor|stopped|stops|quit|left|leaves|ended|former|formerly|avoids?|dislikes?|hates?|refuse[sd]?|"
    r"anymore|none|nothing(?=\s+\w)|nobody|neither|isn|doesn|rejects?|rejected|declined|denied|denies|failed|hardly|"
    r"rarely|seldom|false|untrue|wrong|lacks?|instead of|rather than)\b|"
    r"[無别勿非]|避免|讨厌|拒绝|停止|取消|戒|离开|离职|ไม่|เลิก",
    _I,
)
_NO_DENIAL = re.compile(
    r"\b(?:not only|left[- ]hand\w*|no\. ?\d+)\b|[特分级类性识告区差]别|别[名的墅致]|非[常洲]|未来|无[锡线论]|"
    r"不[同错久断少]|没错",
    _I,
)


@lru_cache(maxsize=16384)
def negations(text: str) -> int:
    """How many words of `text` deny something: two lines that say the same have as many."""
    return len(_COUNTED.findall(text))


def has_denial(text: str) -> bool:
    """Whether a word of `text` says that something is not so, or no more."""
    return _TAKEN_OUT.search(text) is not None


def undenied(text: str) -> str:
    """What `text` denies, as if it were so: `is allergic to nuts` of `is not allergic to nuts`."""
    return " ".join(_TAKEN_OUT.sub(" ", text).split())


def denies(text: str) -> bool:
    """Whether a text denies something, in whatever words: `dislikes`, `left`, `instead of`."""
    return _DENIES.search(_NO_DENIAL.sub(" ", text)) is not None


def is_denial(word: str) -> bool:
    """Whether a single word does nothing but deny."""
    return _DENIES.fullmatch(word) is not None
