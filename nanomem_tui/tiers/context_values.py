"""What context assembly speaks of, as values: the task, what a tier has to say of it, what is given and what is not.

Owns the form of an answer, as a value and as JSON. Must not search, rank or count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import counted, one_line, whole
from nanomem_tui.language.tokens import query_weights, query_words, tokens
from nanomem_tui.memory.recall.questions import MAX_QUERY

TIERS = ("operational", "working", "longterm", "knowledge")
"""What is searched, in this order."""
NAME_WEIGHT = 1.5
"""What a word counts that is part of a name: of a metric, a file, a host, an id, a thing in quotation marks."""
MOST_WORDS = 32
UNRELATED = "shares only common words with the task"
"""Why a finding that has no bearing on the task is left out."""
MARK = " […]"
"""Stands where a text was cut."""
_NAME = re.compile(r"[`'\"“«]([^`'\"”»\n]{2,60})[`'\"”»]|(?<!\w)(~?/?\w[\w.:/@%+-]*\w)")
_TELLING = re.compile(r"[_./:@+%-]|\d|[a-z][A-Z]")
Nothing: Mapping[str, Any] = MappingProxyType({})


class Task(NamedTuple):
    """What is to be done: its words with what each counts, as tokens; as they were written; and the names in it."""

    text: str
    words: Mapping[str, float]
    written: Mapping[str, str]
    names: tuple[str, ...]

    @property
    def question(self) -> str:
        """The words that tell most, those of names first and then the longest: an index looks up a dozen."""
        ranked = sorted(self.words, key=lambda word: (-self.words[word], -len(self.written.get(word, word))))
        return " ".join(self.written.get(word, word) for word in ranked)


class Finding(NamedTuple):
    """What a tier has to say of a task. `said` is what is compared with others: the content without its time.

    `at`: UTC ISO; `importance` and `nearness` (in meaning, 0: not known) go from 0 to 1; `place` is where it stands,
    for what is not told by kind and id; `heading`: words above it that it is found by too.
    """

    tier: str
    kind: str
    id: str
    content: str
    said: str
    at: str = ""
    importance: float = 0.5
    nearness: float = 0.0
    place: str = ""
    heading: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is about: a record is one, in whatever tier it is, and a metric is one, whenever it was measured."""
        return self.kind, self.place if self.kind == "metric" else self.id

    @property
    def source(self) -> str:
        """Where it comes from, in a line: `working/decision/d0`, `knowledge/nginx.conf(5)#upstream`."""
        return one_line(f"{self.tier}/{self.place or f'{self.kind}/{self.id}'}")


class ContextChunk(NamedTuple):
    """A piece of context: where it comes from, what it says, its relevance from 0 to 1, its tokens.

    `whole`: the tokens of all that there is, where this was shortened, else 0. `parts`: what the relevance is made of.
    `why`: why it was found and is left out; empty for what is given.
    """

    source: str
    content: str
    relevance: float
    tokens: int
    tier: str
    kind: str
    id: str
    at: str = ""
    whole: int = 0
    parts: Mapping[str, Any] = Nothing
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """The chunk as the command line prints it; of one that is left out only where it is from and why."""
        if self.why:
            return {"source": self.source, "relevance": self.relevance, "why": self.why}
        row = self._asdict() | {"whole": self.whole or None, "parts": dict(self.parts)}
        return {name: value for name, value in row.items() if value not in ("", None)}


class Context(NamedTuple):
    """The answer: chunks best first, their tokens together, never more than `max_tokens`, what counted them, what was
    left out, and what else is to be known, in words."""

    task: Task
    chunks: tuple[ContextChunk, ...]
    total_tokens: int
    max_tokens: int
    counted_by: str
    tiers: tuple[str, ...] = TIERS
    cut: tuple[ContextChunk, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nothing(self) -> str:
        """Why there is no chunk, in a sentence; empty where there is one."""
        if self.chunks:
            return ""
        fitting = sum(one.why != UNRELATED for one in self.cut)
        if fitting:
            known = "1 thing is" if fitting == 1 else f"{fitting:,} things are"
            return f"{known} known for that task, and none fits into {counted(self.max_tokens, 'token')}: allow more."
        if self.cut:
            found = "1 thing" if len(self.cut) == 1 else f"Each of {len(self.cut):,} things"
            return f"Nothing is known for that task. {found} found shares only common words with it."
        return "Nothing is known for that task."

    def to_json(self) -> dict[str, Any]:
        """The answer as the command line prints it."""
        return {
            "chunks": [chunk.to_json() for chunk in self.chunks],
            "total_tokens": self.total_tokens,
            "max_tokens": self.max_tokens,
            "counted_by": self.counted_by,
            "tiers": list(self.tiers),
            "words": list(self.task.written.values()),
            "names": list(self.task.names),
            "cut": [one.to_json() for one in self.cut],
            "notes": list(self.notes),
        }


def task_of(text: str) -> Task:
    """What a person or an agent says is to be done, read. Raises BadInput where nothing is said."""
    text = whole(text).strip()[:MAX_QUERY]
    if not text:
        raise BadInput("no task", "", "say what is to be done")
    names = list(dict.fromkeys(name for name in map(_name, _NAME.finditer(text)) if name))
    of_names = {token for name in names for token in tokens(name)}
    weights = query_weights(text, 4 * MOST_WORDS)
    words = {word: weight * (NAME_WEIGHT if word in of_names else 1.0) for word, weight in weights.items()}
    kept = sorted(words, key=lambda word: -words[word])[:MOST_WORDS]
    written = query_words(text, 4 * MOST_WORDS)
    return Task(
        text,
        {word: words[word] for word in words if word in kept},
        {word: said for word, said in written.items() if word in kept},
        tuple(names[:MOST_WORDS]),
    )


def _name(match: re.Match[str]) -> str:
    if match[1]:
        return match[1].strip()
    return match[2] if _TELLING.search(match[2]) else ""


def tiers_of(names: Sequence[str]) -> tuple[str, ...]:
    """The tiers of these names, in their order; none given: all. Raises BadInput for one that there is not."""
    plain = {name: "".join(letter for letter in name.lower() if letter.isalpha()) for name in names}
    wrong = next((name for name, known in plain.items() if known not in TIERS), None)
    if wrong is not None:
        raise BadInput("no such tier", one_line(wrong, 40), f"one of {', '.join(TIERS)}")
    return tuple(tier for tier in TIERS if not names or tier in plain.values())
