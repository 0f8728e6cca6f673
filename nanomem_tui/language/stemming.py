"""English word forms: one stem for `run`, `runs`, `running` and `ran`, so that a question finds it told otherwise.

Follows the published Porter2 algorithm; its suffixes and a table of irregular forms are data
(`packs/word-forms.json`). Knows no index; `tokens` decides which words come here: lower-case ASCII only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from nanomem_tui.language import tables

_VOWELS = "aeiouy"
_VALID_LI = "cdeghkmnrt"
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_REGION = re.compile(r"[aeiouy][^aeiouy]")
_HAS_VOWEL = re.compile(r"[aeiouy]")
_CONSONANT_Y = re.compile(r"(^|[aeiouy])y")
_LONG_PREFIXES = ("gener", "commun", "arsen", "organ", "univers", "past", "later", "emerg", "inter")
_WHOLE = frozenset(
    "only early sky outing evening inning earring herring canning succeed proceed exceed wedding building anything "
    "everything something nothing morning during news bias atlas cosmos".split()
)
_IRREGULAR = tables.meanings("word-forms", "forms")  # read now, for a question opens no file


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words of two letters and words with digits stay as they are."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 3 or not word.isalpha():
        return word
    if word in _WHOLE or word.removesuffix("s") in _WHOLE:
        return word if word in _WHOLE else word.removesuffix("s")
    if "y" in word:
        word = _CONSONANT_Y.sub(r"\1Y", word)
    if word.startswith(_LONG_PREFIXES):
        r1 = next(len(prefix) for prefix in _LONG_PREFIXES if word.startswith(prefix))
    else:
        r1 = _after_region(word, 0)
    r2 = _after_region(word, r1)
    word = _past(_plural(word), r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _derived(word, r1, r2)
    word, has_suffix = _without_suffix(word, "step_4", r2)
    if not has_suffix and word.endswith(("sion", "tion")) and len(word) - 3 >= r2:
        word = word[:-3]
    return _final(word, r1, r2).lower()


def _after_region(word: str, start: int) -> int:
    """Where the region after the first consonant that follows a vowel begins."""
    found = _REGION.search(word, start)
    return found.end() if found else len(word)


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _HAS_VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _past(word: str, r1: int) -> str:
    if not word.endswith(("d", "g", "ly")):
        return word
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: -len(suffix)] + "ee" if len(word) - len(suffix) >= r1 else word
    suffix = next((suffix for suffix in ("ingly", "edly", "ing", "ed") if word.endswith(suffix)), "")
    base = word.removesuffix(suffix)
    if not suffix or not _HAS_VOWEL.search(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base.endswith(_DOUBLES):
        return base[:-1] if len(base) > 3 or base[0] not in _VOWELS else base
    return base + "e" if r1 >= len(base) and _ends_short(base) else base


def _ends_short(word: str) -> bool:
    """Whether the word ends in a short syllable: vowel between consonants (the last not w, x, Y), or vowel first."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    if len(word) < 2 or word[-1] in _VOWELS or word[-1] in "wxY":
        return False
    return word[-2] in _VOWELS and word[-3] not in _VOWELS


def _derived(word: str, r1: int, r2: int) -> str:
    """Steps 2 and 3: `ization` to `ize`, then `ize` to nothing further; only behind the first region."""
    word, has_suffix = _without_suffix(word, "step_2", r1)
    if not has_suffix and word.endswith("ogi") and len(word) - 3 >= r1 and word[-4:-3] == "l":
        word = word[:-1]
    elif not has_suffix and word.endswith("li") and len(word) - 2 >= r1 and word[-3:-2] in _VALID_LI:
        word = word[:-2]
    word, has_suffix = _without_suffix(word, "step_3", r1)
    return word[:-5] if not has_suffix and word.endswith("ative") and len(word) - 5 >= r2 else word


@lru_cache(None)
def _suffixes(step: str) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The suffixes of a step, the longer ones first, and what stands in the place of each."""
    rests = tables.meanings("word-forms", step)
    return tuple(sorted(rests, key=len, reverse=True)), rests


def _without_suffix(word: str, step: str, region: int) -> tuple[str, bool]:
    """The word with what stands for its longest suffix, where that is within the region; and whether it has one."""
    suffixes, rests = _suffixes(step)
    if not word.endswith(suffixes):
        return word, False
    suffix = next(filter(word.endswith, suffixes))
    base = word[: -len(suffix)]
    return (base + rests[suffix] if len(base) >= region else word), True


def _final(word: str, r1: int, r2: int) -> str:
    if word.endswith("e"):
        base = word[:-1]
        return base if len(base) >= r2 or (len(base) >= r1 and not _ends_short(base)) else word
    return word[:-1] if word.endswith("ll") and len(word) - 1 >= r2 else word
