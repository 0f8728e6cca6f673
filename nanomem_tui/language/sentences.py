"""Where a sentence ends: one splitter for what people write in chats, in English, Chinese and their neighbours.

The abbreviations are data (`packs/sentences.toml`). Between cutting too early and too late it chooses late: half a
sentence in memory is wrong, two sentences are only long. So a point ends a sentence only before white space, and not
within abbreviations, initials, numbers, versions, addresses and names of files. Must not know what a sentence says.
"""

from __future__ import annotations

import re
from functools import partial

from nanomem_tui.language import tables

_pattern = tables.patterns("sentences")
_words = partial(tables.words, "sentences")


def split(text: str, *, spaced: bool = False) -> list[str]:
    """The sentences of a text without the white space around them, none empty.

    A line ends one, and so does a Chinese end mark. `spaced`: only where an end mark is followed by white space.
    """
    cuts = [found.end() for found in _pattern("end").finditer(text) if _ends(text, found)]
    cuts += [found.end() for found in _pattern("wide_end_spaced" if spaced else "wide_end").finditer(text)]
    pieces, last = [], 0
    for cut in (*sorted(set(cuts)), len(text)):
        piece = text[last:cut].strip()
        last = cut
        if piece:
            pieces.append(piece)
    return pieces


def _ends(text: str, found: re.Match[str]) -> bool:
    """Whether a mark with white space after it ends a sentence."""
    rest = text[found.end() : found.end() + 40]
    if not rest or "\n" in found["gap"]:
        return True
    token = _pattern("token").search(text, max(0, found.start() - 40), found.start())
    word = token[0] if token is not None else ""
    bare, mark = word.lower(), found["mark"]
    if mark == "!":
        return not (bare in _words("exclaimed") and rest[0].islower())
    if "?" in mark or "!" in mark:
        return True
    starts = _pattern("starts").match(rest) is not None
    if mark != ".":
        return starts or _pattern("small_starts").match(rest) is not None
    before = text[text.rfind("\n", 0, found.start()) + 1 : found.start() - len(word)]
    if word.isdigit():
        marks_list = not before.strip(" -*•·\t")
        month = _pattern("month").match(rest)
        return marks_list and not month if len(word) <= 3 and (marks_list or month) else True
    if bare in _words("never") or (bare in _words("numbered") and (rest[0].isdigit() or rest[0] == "#")):
        return False
    before = before.rstrip()
    inside = word in ("No", "Nos") and before and before[-1] not in ".!?…\"'”’"
    return starts if inside or _is_short(word) else True


def _is_short(word: str) -> bool:
    """Whether a word may be an abbreviation that also ends sentences."""
    if word.lower() in _words("mostly") or word.lower().endswith("str") or _pattern("initial").fullmatch(word):
        return True
    return _pattern("no_vowel").fullmatch(word) is not None and not word.isupper()
