"""What a person says takes the place of what they said before: “I moved to Lisbon” after “I live in Porto”.

Owns which memories are compared with a new one, and which of them give way: those of the person who speaks, where
`language.compare` says that the new one is a newer value of the same thing, or its denial. A pinned memory stays, for a
person to decide. Pure: the mark of what gives way is that of `superseded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from nanomem_tui.language.compare import shares_of
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.pair_features import LIGHT
from nanomem_tui.language.remembering import WEIGHTS
from nanomem_tui.language.statement import statement
from nanomem_tui.memory.capture import Candidate, Origin
from nanomem_tui.store.values import Item

KNOWN, NEAR = 500, 20
"""How many memories of a person, the newest first, are looked at; and how many of them, the nearest, are compared."""
LIKELY = (0.9, 0.6, 0.4)
"""How likely an old memory has to be no longer so, to give way: one that has nothing in common with the new one, one
word, or two."""
MOST = 2
"""How many memories give way to one statement: what seems to end more of them says something else."""
LASTING = ("fact", "preference")


def of_speaker(origin: Origin, of_scope: Callable[[str], Iterable[Item]]) -> list[Item]:
    """List what holds of the person who speaks, and what that person told this chat, the newest first. Raises BadInput
    for a malformed chat or sender."""
    who = origin.audience
    rows = [*of_scope(who.user_key)] if who.user_key else []
    if who.chat_key:
        rows += [row for row in of_scope(who.chat_key) if row.sender_id == who.sender_id]
    active = [row for row in rows if row.enabled and not row.is_deleted]
    return sorted(active, key=lambda row: row.updated_at, reverse=True)


def given_up(text: str, rows: Sequence[Item]) -> list[Item]:
    """List the memories that a new statement takes the place of. `rows`: those of the speaker, the newest first."""
    language = language_of(text)
    topics = _topics(text, language)
    others = [
        (len(topics & _topics(row.text, language)), row) for row in rows[:KNOWN] if row.text != text and not row.pinned
    ]
    others.sort(key=lambda one: one[0], reverse=True)
    found = [(_no_longer_so(row.text, text), shared, row) for shared, row in others[:NEAR]]
    found.sort(key=lambda one: one[0], reverse=True)
    return [row for likely, shared, row in found[:MOST] if likely >= LIKELY[min(shared, 2)]]


def _no_longer_so(old: str, new: str) -> float:
    """How likely a new statement is a newer value of an old one, or its denial. Of two that follow each other in a talk
    that is likelier than of any two, and it is undone: so less is asked here than `compare` asks."""
    shares = shares_of(old, new)
    return shares["newer"] + shares["denial"]


@lru_cache(1024)
def _topics(text: str, language: str) -> frozenset[str]:
    """The words of a statement, and the things that they mean: what two statements have in common."""
    found = statement(text, language)
    told = (topic for token in found.tokens for topic in (token.stem, *token.notions))
    return frozenset(topic for topic in told if topic not in LIGHT and not topic.startswith("mark:"))


def in_place(candidate: Candidate, over: Sequence[Item]) -> Candidate:
    """The candidate as the memories that it takes the place of ask for it: what was a lasting fact stays one, so that
    it is given wherever the old one was."""
    lasting = next((row.kind for row in over if row.kind in LASTING), "")
    if not lasting or candidate.kind in LASTING:
        return candidate
    sure, weight = WEIGHTS[lasting]
    return candidate._replace(
        kind=lasting, confidence=max(sure, candidate.confidence), importance=max(weight, candidate.importance)
    )
