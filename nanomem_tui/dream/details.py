"""What a line must not lose and must not be confused over: names, numbers, dates, addresses, code, colours.

Owns telling whether one line says what another says. Errs towards "different": a fact kept twice can be merged later,
two facts taken for one are gone. Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nanomem_tui.language.tokens import fold, tokens
from nanomem_tui.language.vetoes import is_said

_WORDS = (
    "red orange yellow green blue purple violet pink brown black white grey gray monday tuesday wednesday thursday "
    "friday saturday sunday january february march april may june july august september october november december"
).split()
_DETAIL = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|(?P<url>[a-z][a-z0-9+.-]*://[^\s<>\"'）)，。；]+)"
    r"|[「『“《\"](?P<quoted>[^「」『』“”《》\"\n]{1,60})[」』”》\"]"
    r"|(?P<address>[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[\w-]+(?:[./:][\w-]+)*[./][\w-]+(?:[./:][\w-]+)*|/[\w./-]+)"
    r"|(?P<number>[+-]?\d[\d.,:/–-]*)"
    r"|(?P<name>(?<![\w'])[A-Z][\w'’+#-]*|[^\W\d_]+\d[\w-]*)"
    r"|(?P<day>(?:周|星期|礼拜)[一二三四五六日天])"
    rf"|\b(?P<word>(?i:{'|'.join(_WORDS)}))\b"
)
_SUBJECT = re.compile(r"\s+(?:is|was|are|were|has|had|said|says|likes?|works?|lives?|and|'s)\b|['’]s\b|\s+[A-Z]")
_PRONOUNS = frozenset("I I'm I've I'll I'd The A An He She It We They This That There User My".split())


@lru_cache(maxsize=16384)
def details(text: str) -> tuple[str, ...]:
    """The details of `text` in order, folded: code, addresses, numbers, quotes, names, days and colours."""
    found = []
    for match in _DETAIL.finditer(text):
        kind, value = match.lastgroup, match[match.lastgroup or 0]
        if kind == "name" and not _is_name(text, match.start(), match.end(), value):
            continue
        value = fold(value).strip(".,:;/–-'’" if kind in ("number", "name") else ".,;")
        if value:
            found.append(value)
    return tuple(found)


def _is_name(text: str, start: int, end: int, value: str) -> bool:
    """A capital alone makes no name at the start of a sentence, unless what follows treats it as one."""
    if value in _PRONOUNS:
        return False
    if any(c.isupper() or c.isdigit() for c in value[1:]):
        return True
    before = text[:start].rstrip(' *_"“「(（')
    opens = not before or before[-1] in ".!?:：。！？-•;；\n"
    return not opens or _SUBJECT.match(text, end) is not None


def holds(text: str, detail: str) -> bool:
    """Whether folded `detail` stands in folded `text` as a whole word."""
    left = r"(?<![0-9a-z])" if detail[:1].isascii() and detail[:1].isalnum() else ""
    right = r"(?![0-9a-z])" if detail[-1:].isascii() and detail[-1:].isalnum() else ""
    return detail in text and re.search(left + re.escape(detail) + right, text) is not None


def unaccounted(text: str, *sources: str) -> tuple[str, ...]:
    """The details of `text` that stand in none of `sources`."""
    folded = [fold(source) for source in sources]
    return tuple(dict.fromkeys(d for d in details(text) if not any(holds(source, d) for source in folded)))


@lru_cache(maxsize=16384)
def words(text: str) -> frozenset[str]:
    """The tokens of `text` that carry meaning."""
    return frozenset(tokens(text))


def says(new: str, old: str) -> bool:
    """Whether `old` says all that `new` says, of the same one: in its words one after the other, with its details."""
    wanted = words(new)
    if not wanted <= words(old) or not wanted:  # the quick answer for almost every pair of lines
        return not wanted and fold(new) == fold(old)
    return fold(new) == fold(old) or (is_said(new, old) and not unaccounted(new, old))


_NEARLY = 4  # letters that two forms of a word have in common at least


def missing(wanted: Iterable[str], there: frozenset[str]) -> frozenset[str]:
    """The wanted words that are missing in any form."""
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_NEARLY], []).append(word)
    return frozenset(
        word
        for word in wanted
        if word not in there and not any(_alike(word, other) for other in near.get(word[:_NEARLY], ()))
    )


def _alike(word: str, other: str) -> bool:
    """Whether two words are forms of one: much the same beginning, no number."""
    shortest = min(len(word), len(other))
    common = max(_NEARLY, shortest - 2)
    return shortest > _NEARLY and word[:common] == other[:common] and word.isalpha() and other.isalpha()
