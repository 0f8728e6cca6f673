"""Texts that stand inside longer words: `kayak` in `kayaks`, a number behind its country code. A word that holds one is
met as a whole, as what is left of it would say what it was. Case, width and signs make no difference. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nanomem_tui.store.word_runs import flat, run_of


def pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """What finds them in a text that is flat; None for no text."""
    runs = sorted({run_of(text) for text in texts}, key=lambda run: -len(run.words))
    every = [r"[\W_]*".join(map(re.escape, run.words)) for run in runs if run.words]
    return re.compile("|".join(every)) if every else None


def found_in(text: str, parts: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The places of the words that hold one."""
    plain = flat(text)
    if not parts.search(plain):
        return
    places = range(len(text)) if len(plain) == len(text) else _places(text)
    if len(places) != len(plain):
        plain = "".join(map(flat, text))
    for found in parts.finditer(plain):
        begin, end = places[found.start()], places[found.end() - 1] + 1
        while begin and text[begin - 1].isalnum():
            begin -= 1
        while end < len(text) and text[end].isalnum():
            end += 1
        yield begin, end


def _places(text: str) -> list[int]:
    """Where each character of the flat text is from."""
    return [place for place, char in enumerate(text) for _ in flat(char)]
