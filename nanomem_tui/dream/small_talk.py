"""Which sentences of a conversation between people are worth a note: most of them are not. Learned from messages of
friends (`scripts/language/teach_talk.py`, `packs/talk.json`), on top of what the readers of messages and of lines
make of a sentence; only marks that every language has are counted beside, so that one pack serves all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nanomem_tui.language import lines, tables
from nanomem_tui.language.reader import Reading
from nanomem_tui.language.topics import topics_of_line

CHATTY, FEWEST = 0.12, 10
"""The share of sentences that only keep the talk going, from which on a conversation is talk between people; and of how
many sentences at least. Of what people write to an assistant it is half as many."""
_NEARLY = 0.01
_OPENING = 40
_pattern = tables.patterns("small-talk")


def is_small_talk(readings: Sequence[Reading]) -> bool:
    """Return whether a conversation, given as its sentences, is talk between people."""
    chatter = sum(reading.act == "chatter" for reading in readings)
    return len(readings) >= FEWEST and chatter >= CHATTY * len(readings)


def is_worth_a_note(sentence: str, reading: Reading) -> float:
    """Return how likely a sentence of such talk is worth a note, from 0 to 1."""
    weights = _weights()
    total = weights["always"] + sum(weights[name] * value for name, value in signs(sentence, reading))
    return 1 / (1 + math.exp(-total))


def signs(sentence: str, reading: Reading) -> Iterator[tuple[str, float]]:
    """Return what is weighed of a sentence, by name."""
    line = lines.read(f"- {sentence}")
    others = [word for word in sentence.split()[1:] if len(word) > 1 and word[1] not in "'’"]
    yield "lasting", odds(reading.lasting)
    yield "noted", odds(line.lasting)
    yield "person", line.shares["person"]
    yield "preference", line.shares["preference"]
    yield "own", _pattern("own").match(sentence[:_OPENING]) is not None
    yield "own later", _pattern("own").search(sentence) is not None
    yield "named", any(word[0].isupper() for word in others)
    yield "topics", min(len(topics_of_line(sentence)), 2)
    yield "shouts", "!" in sentence or "！" in sentence
    yield "back", points_back(sentence)


def points_back(sentence: str) -> bool:
    """Return whether a sentence says nothing without the one before it.

    >>> points_back("It took two hours"), points_back("I go there now and then")
    (True, True)
    """
    return _pattern("back").match(sentence[:_OPENING]) is not None


def odds(share: float) -> float:
    """Return the logarithm of the odds of a share, never without end."""
    return math.log((share + _NEARLY) / (1 + _NEARLY - share))


@lru_cache(1)
def _weights() -> dict[str, float]:
    return dict(tables.table("talk")["weights"])
