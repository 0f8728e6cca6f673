"""Where two texts differ, in words: what a person looks at before deciding which of them stays.

Pure functions over text; whether the difference matters is for `language.compare`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

MOST = 2_000
"""Characters of a text that are looked at."""
_WORDS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_]+(?:[.,:'’@-][^\W_]+)*|[^\w\s.,;:!?]")


def swapped(one: str, other: str) -> Iterator[tuple[str, str]]:
    """The runs of words in which two texts differ: those of the one, and those of the other in their place."""
    ours, theirs = list(_WORDS.finditer(one[:MOST])), list(_WORDS.finditer(other[:MOST]))
    old, new = ([word[0].casefold() for word in words] for words in (ours, theirs))
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how != "equal":
            yield (
                one[ours[a].start() : ours[b - 1].end()] if b > a else "",
                other[theirs[c].start() : theirs[d - 1].end()] if d > c else "",
            )


def differing(one: str, other: str) -> list[str]:
    """The differences of two texts, each as a person reads it, of the other as it stands beside the one."""
    return [
        f"“{left}” ≠ “{right}”" if left and right else f"says more: {right}" if right else f"leaves out: {left}"
        for left, right in swapped(one, other)
    ]
