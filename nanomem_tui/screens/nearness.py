"""Which facts are near to words or to a fact: in meaning, and where nothing can be found so, in words, with the reason.

Reads through the workspace only; may take a while: ask in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.memory.filters import fold
from nanomem_tui.store.values import Fact

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

ALIKE = 60.0  # percent of the words that two texts have in common at least
LONGEST = 2_000  # characters of a text that are compared in words


class Near(NamedTuple):
    """Facts, nearest first, each with its distance: 0 the same, 1 nothing in common (in meaning up to 2).

    `by` what they were found; `note`: why not by meaning, or what is missing of it; "" when nothing is. `fix`: what
    helps against it, where something does.
    """

    found: tuple[tuple[Fact, float], ...] = ()
    by: Literal["meaning", "words"] = "meaning"
    note: str = ""
    fix: str = ""


def near_words(ws: Workspace, words: str, facts: Sequence[Fact], limit: int) -> Near:
    """The facts among `facts` that are nearest to what somebody typed."""
    rows = {fact.id: fact for fact in facts}
    meaning = ws.meaning
    try:
        meaning.maker()
        found = meaning.nearest(words, limit, rows.keys())
        meaning.start()  # what has no vector yet gets one meanwhile
        return Near(tuple((rows[key], far) for key, far in found if key in rows), note=meaning.progress)
    except NanomemError as error:
        return Near(_in_words(words, facts, limit), "words", error.line(), error.fix)


def neighbours(ws: Workspace, fact: Fact, facts: Sequence[Fact], limit: int) -> Near:
    """The facts among `facts` that are nearest to one of them."""
    rows = {one.id: one for one in facts if one.id != fact.id}
    meaning = ws.meaning
    try:
        meaning.maker()
        found = meaning.near(fact.id, limit, rows.keys())
        meaning.start()
        return Near(tuple((rows[key], far) for key, far in found if key in rows), note=meaning.progress)
    except NanomemError as error:
        return Near(_in_words(fact.item.text, list(rows.values()), limit), "words", error.line(), error.fix)


def _in_words(words: str, facts: Sequence[Fact], limit: int) -> tuple[tuple[Fact, float], ...]:
    from rapidfuzz import fuzz, process

    texts = [fold(fact.item.text[:LONGEST]) for fact in facts]
    wanted = fold(words[:LONGEST])
    found = process.extract(wanted, texts, scorer=fuzz.token_set_ratio, score_cutoff=ALIKE, limit=limit)
    return tuple((facts[index], round(1 - score / 100, 4)) for _, score, index in found)
