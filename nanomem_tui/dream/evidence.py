"""Why a line was written: the history entries that ask for it, and the messages of a session that these came from.

What a Dream of ours recorded is taken as it stands. Of an agent's Dream only the entries are known that it read; of
these, and of the messages of their session, those count that share the line's words and details, rare ones most. What
shares too little is left out: no evidence is better than a wrong one. Pure functions over values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry, marks
from nanomem_tui.core import clock
from nanomem_tui.dream.details import details, words

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message

MOST = 3  # entries, or messages, that are named for a line
ENOUGH = 0.4  # share of a line's words, by weight, that an entry holds
SAID = 0.34  # the same for a message: people say things in words of their own
_NEAR_BEST = 0.6
_AFTER = 120.0  # seconds: an entry is stamped by the minute in which it was written
_MOST_TEXT = 4000  # characters of a statement that are compared


class EntryEvidence(NamedTuple):
    """A history entry that asks for a line. `text` is the statement in it that does; `timestamp` is as the agent wrote
    it, `line` where it stands in the archive. `recorded`: the Dream said so itself; else `score` (0 to 1) says how much
    of the line it holds.
    """

    cursor: int
    timestamp: str
    session_key: str | None
    text: str
    score: float
    recorded: bool = False
    line: int = 0


class MessageEvidence(NamedTuple):
    """A message of a session that an entry, and so a line, came from; `index` as in `session show`."""

    session_key: str
    index: int  # type: ignore[assignment]  # a tuple's own `index` is never asked for
    role: str
    timestamp: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """What a Dream of ours recorded of one edit: the line it wrote, and the cursors of its evidence."""

    file: str
    line: str
    cursors: tuple[int, ...]


@lru_cache(maxsize=32768)
def features(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, and its details: names, numbers, addresses, code."""
    return words(text[:_MOST_TEXT]) | {f"={detail}" for detail in details(text[:_MOST_TEXT])}


def plain(line: str) -> str:
    """What a line says, without bullet, mark and white space around it."""
    found = marks(line)
    return found[0][1] if found else ""


def is_statement(line: str) -> bool:
    """Whether a line says something that an entry could have asked for: neither blank, a heading nor a rule."""
    text = line.strip()
    return not text.startswith("#") and any(character.isalnum() for character in text)


class Weights:
    """How much a word or a detail says among some texts: the fewer of them hold it, the more."""

    def __init__(self, texts: Iterable[frozenset[str]]) -> None:
        self._count: dict[str, int] = {}
        self._texts = 0
        for found in texts:
            self._texts += 1
            for feature in found:
                self._count[feature] = self._count.get(feature, 0) + 1

    def share(self, wanted: frozenset[str], there: frozenset[str]) -> float:
        """How much of `wanted`, by weight, `there` holds: 0 to 1. One shared word of several is nothing."""
        both = wanted & there
        if not both or (len(both) == 1 and len(wanted) > 2):
            return 0.0
        return sum(map(self._weight, both)) / sum(map(self._weight, wanted))

    def _weight(self, feature: str) -> float:
        return math.log(2 + self._texts / (1 + self._count.get(feature, 0))) * (1.5 if feature[0] == "=" else 1.0)


class Candidates:
    """The entries that one Dream read, ready to be asked about many lines."""

    def __init__(self, entries: Sequence[HistoryEntry]) -> None:
        self._statements = [
            (entry, text, features(text)) for entry in entries for _, text in marks(entry.content[: 16 * _MOST_TEXT])
        ]
        self._weights = Weights(found for _, _, found in self._statements)

    def about(self, line: str) -> tuple[EntryEvidence, ...]:
        """The entries that ask for `line`, the best first, the newest of equals."""
        wanted = features(plain(line)) if is_statement(line) else frozenset()
        best: dict[int, EntryEvidence] = {}
        for entry, text, found in self._statements if wanted else ():
            score = self._weights.share(wanted, found)
            known = best.get(entry.cursor)
            if score >= ENOUGH and (known is None or score > known.score):
                best[entry.cursor] = _found(entry, text, score)
        return _best(best.values(), lambda one: (one.score, one.cursor))


def _found(entry: HistoryEntry, text: str, score: float) -> EntryEvidence:
    return EntryEvidence(entry.cursor, entry.timestamp, entry.session_key, text, score, line=entry.line)


def recorded(line: str, cursors: Sequence[int], entries: Mapping[int, HistoryEntry]) -> tuple[EntryEvidence, ...]:
    """The entries that a Dream named for `line`, each with the statement in it that is most like the line."""
    wanted = features(plain(line))
    result = []
    for cursor in cursors:
        entry = entries.get(cursor)
        if entry is None:  # compacted away since
            result.append(EntryEvidence(cursor, "", None, "", 1.0, True))
            continue
        texts = [text for _, text in marks(entry.content[: 16 * _MOST_TEXT])]
        text = max(texts, key=lambda text: len(wanted & features(text)), default="")
        result.append(_found(entry, text, 1.0)._replace(recorded=True))
    return tuple(result)


class Said:
    """What was said in one session, ready to be asked about many lines."""

    def __init__(self, key: str, messages: Sequence[Message]) -> None:
        self.key = key
        self._messages = [
            (message, features(message.content), clock.parse(message.timestamp))
            for message in messages
            if message.role in {"user", "assistant"} and not message.hidden and message.content.strip()
        ]
        self._weights = Weights(found for _, found, _ in self._messages)

    def about(self, line: str, entry: EntryEvidence, after: str = "") -> tuple[MessageEvidence, ...]:
        """The messages that `entry`, and by it `line`, came from, the best first, what a person said before answers.

        Nothing said after the entry counts. `after` is the time of the entry before it of the same session: what was
        said since comes first, older messages only where there is none, for sessions are also archived late.
        """
        end, start = clock.parse(entry.timestamp), clock.parse(after)
        within: list[MessageEvidence] = []
        before: list[MessageEvidence] = []
        asked = [features(plain(line)), features(entry.text)]
        for message, found, at in self._messages:
            if end is not None and at is not None and (at - end).total_seconds() > _AFTER:
                continue
            score = max(self._weights.share(wanted, found) for wanted in asked)
            if score >= SAID:
                late = start is None or at is None or at > start
                (within if late else before).append(
                    MessageEvidence(self.key, message.index, message.role, message.timestamp, message.content, score)
                )
        return _best(within or before, lambda one: (one.score, one.role == "user", one.index))


def _best(found: Iterable[Any], order: Callable[[Any], Any]) -> tuple[Any, ...]:
    ranked = sorted(found, key=order, reverse=True)
    return tuple(one for one in ranked[:MOST] if one.score >= _NEAR_BEST * ranked[0].score)
