"""Which of many statements are worth comparing: those that share rare words or rare pairs of words.

Owns that statements with other numbers, denials, colours or days never meet: the guard would part them anyway. Pure;
must not judge a pair beyond how many of its letters agree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise

from nanomem_tui.curation import guard_words as known

RAREST = 6
"""Shingles of a statement by which it looks for others."""
CROWD = 40
"""Statements that share a shingle, beyond which it is none to look by."""
MOST = 1_000
"""Statements that are looked at for one that is new."""
FEW = 60
"""Statements that are compared one with all."""

_TELLING: dict[str, bool] = {}
_FREE = frozenset("to from in out on off up down for and or with by user you we it your our its read write".split())


def telling(key: str) -> tuple[str, ...]:
    """The words of a statement's key that another one has to have too, sorted."""
    return tuple(sorted(word for word in key.split() if _tells(word)))


def _tells(word: str) -> bool:
    found = _TELLING.get(word)
    if found is None:
        found = any(char.isdigit() for char in word) or word in _WORDS or word in known.CJK_TELLING
        if len(_TELLING) < 20_000:
            _TELLING[word] = found
    return found


_WORDS = (
    frozenset(known.GROUP_OF) | known.DENIALS | known.CONDITIONS | known.PAST | known.FUTURE | known.DISTANT
) - _FREE


def pairs(keys: Sequence[str], least: float) -> Iterator[tuple[str, str, float]]:
    """Of keys with the same telling words: those that are alike, each pair once, and how many per cent of the letters
    agree, `least` or more."""
    from rapidfuzz import fuzz

    ratio = fuzz.ratio
    words: dict[str, frozenset[str]] = {}
    for one, other in _worth(keys):
        score = ratio(one, other, score_cutoff=least)
        if score and _may_say_same(_words_of(one, words), _words_of(other, words)):
            yield one, other, score


def _words_of(key: str, known_words: dict[str, frozenset[str]]) -> frozenset[str]:
    found = known_words.get(key)
    if found is None:
        found = known_words[key] = frozenset(key.split())
    return found


def _may_say_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the guard need not part two statements at once: what one has alone, the other has in another form. Quick,
    as most pairs that share words are parted by one word in place of another."""
    left, right = one - other, other - one
    if not left or not right:
        return True
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    starts = {word[:2] for word in many if len(word) > 1}
    return all(word[:2] in starts for word in few)


def near(key: str, others: Sequence[str], least: float) -> list[tuple[str, float]]:
    """Those of the keys that are like one, as `pairs` gives them."""
    from rapidfuzz import fuzz, process

    found = process.extract(key, others, scorer=fuzz.ratio, score_cutoff=least, limit=MOST)
    words = frozenset(key.split())
    return [
        (other, score) for other, score, _ in found if other != key and _may_say_same(words, frozenset(other.split()))
    ]


def _worth(keys: Sequence[str]) -> Iterable[tuple[str, str]]:
    if len(keys) <= FEW:
        return combinations(keys, 2)
    found = [_shingles(key) for key in keys]
    counts = Counter(shingle for shingles in found for shingle in shingles)
    blocks: defaultdict[str, list[int]] = defaultdict(list)
    for at, shingles in enumerate(found):
        shared = [(counts[one], one) for one in shingles if 2 <= counts[one] <= CROWD]
        for _, shingle in sorted(shared)[:RAREST]:
            blocks[shingle].append(at)
    met = {pair for block in blocks.values() for pair in combinations(block, 2)}
    return ((keys[one], keys[other]) for one, other in sorted(met))


def _shingles(key: str) -> set[str]:
    words = key.split()
    found = {f"{one} {other}" for one, other in pairwise(words)}
    found.update(word for word in words if len(word) > 2)
    return found
