"""Which findings are given within a budget of tokens: the best first, none twice, a long one shortened; and the block
that a model is given of them, fenced and labelled as data, as the block of recall is.

Owns the budget, the reason for each finding that is left out, and the form of the block: what is in it is hostile, so
nothing can end the fence, begin a line of its own or hide a character, and what reads as an order is left out.

Two texts are near-duplicates when their letters agree to `NEAR` per cent (rapidfuzz, without case, width and white
space), and when the second one has no word that the first has not: at most a slip of one letter in a longer word, and
words that say nothing. Numbers, names and denials must be the same: `web-1` is never `web-2`, and `is not` never `is`.

One scale for what all tiers say of a task: how near it is to the words, how new, how important.

    match     = lexical + (1 - lexical) * nearness
    relevance = match * tier * (1 + 0.15 * recency + 0.15 * importance) / 1.3

`lexical`: the share of the task's words that a finding holds, each by how rare it is among the findings, a word less
where it stands once in a text that is long for its kind. `nearness`: in meaning, where that was asked. `recency` halves
in 30 days, by whole days, so that an answer stays the same for a day. Words that no finding holds count as much as the
others do on average. A finding that shares only common words with the task, and no more than half of its words, has no
bearing on it unless it is near in meaning. Owns the ranking; must not know where findings come from. Equal ones: the
newest first, then by source.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.memory import injection
from nanomem_tui.memory.prompt import HEAD, LEFT_OUT, plain, plain_lines
from nanomem_tui.memory.safety import FENCE_CLOSE, FENCE_OPEN
from nanomem_tui.store.word_index import saturated
from nanomem_tui.text import clusters, counted
from nanomem_tui.tiers.common_words import is_common
from nanomem_tui.tiers.context_values import MARK, TIERS, UNRELATED, ContextChunk, Finding, LeftOut
from nanomem_tui.tokens import fold, tokens

LEAST = 24
"""Tokens that a part of a finding has at least."""
SHARE = 0.5
"""Of the budget, that one finding may take while others wait."""
FLOOR = 0.05
"""Of the best relevance: what has less to do with the task is left out, whatever room there is."""
_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")

Count = Callable[[str], int]


class Fitted(NamedTuple):
    """What is given, best first, and what is not."""

    chunks: list[ContextChunk]
    cut: list[LeftOut]


class Budget:
    """Room for so many tokens. `cost`: the tokens of a finding of a source with that content."""

    def __init__(self, room: int, count: Count, cost: Callable[[str, str], int]) -> None:
        self.room = room
        self._most = max(LEAST, int(room * SHARE))
        self._count, self._cost = count, cost
        self._given: list[ContextChunk] = []
        self._cut: list[LeftOut] = []
        self._said: list[Said] = []
        self._keys: dict[tuple[str, str], str] = {}

    def fit(self, ranked: Sequence[Ranked]) -> Fitted:
        """The findings, best first, that there is room for."""
        least = max((one.relevance for one in ranked if one.is_related), default=0.0) * FLOOR
        for place, one in enumerate(ranked):
            alone = place + 1 == len(ranked)
            why = self._useless(one, least) or self._take(one, self.room if alone else min(self._most, self.room))
            if why:
                found = one.finding
                self._cut.append(
                    LeftOut(
                        found.source, one.relevance, why, found.tier, found.kind, found.id, found.content, one.parts
                    )
                )
        self._lengthen(ranked)
        return Fitted(self._given, self._cut)

    def _useless(self, one: Ranked, least: float) -> str:
        """Why a finding is not wanted though there may be room; empty when it is."""
        finding = one.finding
        if not one.is_related:
            return UNRELATED
        if one.relevance < least:
            return f"too little to do with the task: less than a twentieth of the best, which has {least / FLOOR:.2f}"
        if finding.key in self._keys:
            return f"the same as {self._keys[finding.key]}"
        if self.room < LEAST and self._given:
            return "the budget is full"
        found = said(finding.said)
        known = like(found, self._said)
        if known is not None:
            place, share = known
            return f"says what {self._given[place].source} says ({share:.0f} % the same)"
        self._said.append(found)
        return ""

    def _take(self, one: Ranked, most: int) -> str:
        """Give a finding in at most that many tokens; why that cannot be."""
        finding = one.finding
        whole = self._cost(finding.source, finding.content)
        content = finding.content
        if whole > most:
            content = self._shortened(one, most)
        if not content:
            self._said.pop()
            return f"{counted(whole, 'token')}, and {self.room:,} are left" if whole > self.room else "no room"
        shortened = content != finding.content
        cost = self._cost(finding.source, content)
        self.room -= cost
        self._keys[finding.key] = finding.source
        self._given.append(
            ContextChunk(
                finding.source, content, one.relevance, self._count(content), finding.tier, finding.kind, finding.id,
                finding.at, self._count(finding.content) if shortened else 0, one.parts,
            )
        )  # fmt: skip
        return ""

    def _shortened(self, one: Ranked, most: int) -> str:
        finding = one.finding
        if most < LEAST:
            return ""
        return shortened(finding.content, one.parts["terms"], lambda text: self._cost(finding.source, text) <= most)

    def _lengthen(self, ranked: Sequence[Ranked]) -> None:
        """What was shortened for others that took less, or did not come, gets the room that is left."""
        found = {(one.finding.source, one.finding.id): one for one in ranked}
        for place, chunk in enumerate(self._given):
            if chunk.whole and self.room >= LEAST:
                one = found[chunk.source, chunk.id]
                cost = self._cost(chunk.source, chunk.content)
                whole = one.finding.content
                fits = self._cost(chunk.source, whole) <= cost + self.room
                content = whole if fits else self._shortened(one, cost + self.room)
                longer = self._cost(chunk.source, content)
                if content and longer > cost:
                    self.room -= longer - cost
                    self._given[place] = chunk._replace(
                        content=content, tokens=self._count(content), whole=0 if fits else chunk.whole
                    )


def shortened(text: str, terms: Collection[str], fits: Callable[[str], bool]) -> str:
    """The beginning of a text that `fits`, cut at the end of a line or a sentence, else within one, with a mark where
    it is cut. Where the first of the `terms` is behind the cut: its first line, and then from the sentence on that
    holds it. Empty where nothing fits."""
    pieces = _pieces(text)
    part = _beginning(pieces, "", fits)
    wanted = frozenset(terms)
    if wanted and not wanted & {*tokens(part)}:
        start = next((place for place, piece in enumerate(pieces) if wanted & {*tokens(piece)}), 0)
        heads = (f"{pieces[0].rstrip()}{MARK}\n", f"{MARK.strip()} ") if start else ()
        part = next((later for head in heads if (later := _beginning(pieces[start:], head, fits))), part)
    return part


def _pieces(text: str) -> list[str]:
    """A text in its lines and sentences, each with what ends it."""
    edges = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]


def _beginning(pieces: Sequence[str], mark: str, fits: Callable[[str], bool]) -> str:
    """As many pieces as fit, behind a mark; of the first one a part where not even that fits."""

    def upto(number: int) -> str:
        body = "".join(pieces[:number]).rstrip()
        return mark + body + (MARK if number < len(pieces) else "")

    many = bisect_right(range(1, len(pieces) + 1), False, key=lambda number: not fits(upto(number)))
    if many:
        return upto(many)
    letters = list(clusters(pieces[0])) if pieces else []

    def cut(number: int) -> str:
        body = "".join(letters[:number])
        words = body.rpartition(" ")[0]
        return mark + (words if len(words) > len(body) // 2 else body).rstrip() + MARK

    some = bisect_right(range(1, len(letters) + 1), False, key=lambda number: not fits(cut(number)))
    return cut(some) if some else ""


# -- what is said already ---------------------------------------------------------------------------------------------

NEAR = 90.0
"""Per cent of the letters that agree."""
SLIP = 5
"""Letters that a word has at least, in which one may differ."""
MOST = 4_000
"""Characters that are compared; of longer texts the rest has to be equal."""

_NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"[_/@\\]|\w[.:]\w|[a-z][A-Z]")
_SIGNS = ".,;:!?()[]{}<>\"'“”‘’«»"
_DENIALS = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|nothing|нет|не|ни|без|nicht|kein\w*|nie|ohne|pas|jamais|sans|sin|"
    r"nunca)\b|n['’]t\b|[不没無无未非别勿]|ไม่",
    re.IGNORECASE,
)


class Said(NamedTuple):
    """A text as it is compared: its letters, what must be the same, its words, and those that may be names."""

    folded: str
    telling: tuple[tuple[str, int], ...]
    words: frozenset[str]
    capital: frozenset[str]
    rest: str = ""


def said(text: str) -> Said:
    """A text, read to be compared."""
    head = text[:MOST]
    telling: Counter[str] = Counter(_NUMBERS.findall(head))
    capital: list[str] = []
    before = "."
    for written in head.split():
        word = written.strip(_SIGNS)
        if word[:1].isupper():
            capital.append(word)
        if _NAME.search(word) or (word[:1].isupper() and before[-1] not in ".!?:"):
            telling[word.casefold()] += 1
        before = written
    telling["not"] = len(_DENIALS.findall(head))
    words = frozenset(word for word in tokens(head) if len(word) != 2 or word.isascii())
    return Said(fold(head), tuple(sorted(telling.items())), words, frozenset(tokens(" ".join(capital))), text[MOST:])


def like(one: Said, others: Sequence[Said]) -> tuple[int, float] | None:
    """The first of the `others` that says what `one` says: its place, and the per cent of letters that agree."""
    from rapidfuzz import fuzz

    for place, other in enumerate(others):
        if one.telling != other.telling or one.rest != other.rest:
            continue
        share = fuzz.ratio(one.folded, other.folded, score_cutoff=NEAR)
        if share and _held(one, other):
            return place, share
    return None


def _held(one: Said, other: Said) -> bool:
    """Whether the other holds every word of one, with at most a slip in each that is no name."""
    from rapidfuzz.distance import OSA

    more = [word for word in other.words - one.words - other.capital if len(word) >= SLIP]
    return all(
        len(word) >= SLIP
        and word not in one.capital
        and any(OSA.distance(word, near, score_cutoff=1) <= 1 for near in more)
        for word in one.words - other.words
    )


# -- the block that a model is given ----------------------------------------------------------------------------------

_PARTS = re.compile(r"[/#>]+")
"""What stands between the parts of a source."""
_BELOW = 400
"""Characters of a text that are read together with its heading."""
FRAME = f"{FENCE_OPEN}\n{HEAD}\n\n{FENCE_CLOSE}"
"""The block without anything in it."""


def rendered(chunks: Iterable[ContextChunk]) -> str:
    """The block of these chunks, best first; empty where there is none."""
    lines = [entry(chunk.source, chunk.content) for chunk in chunks]
    return "\n".join([FENCE_OPEN, HEAD, "", *lines, FENCE_CLOSE]) if lines else ""


@lru_cache(1024)
def entry(source: str, content: str) -> str:
    """One chunk in the block: where it comes from, and what it says, the lines after the first one indented."""
    said = LEFT_OUT if injection.reason(content) else plain_lines(content).replace("\n", "\n  ")
    tier = source.partition("/")[0]
    named = plain(source) if not _orders(source, content) else f"{tier}/{LEFT_OUT}" if tier in TIERS else LEFT_OUT
    return f"- [{named}] {said}"


def warning(source: str, content: str) -> str:
    """Why a chunk reads as an order to a model, or where it comes from does; empty when neither does."""
    return injection.reason(content) or _orders(source, content)


def _orders(source: str, content: str) -> str:
    """The same of where it comes from, alone or with what stands below it: who writes a document writes its title and
    its headings too."""
    written = _PARTS.sub(" ", source)
    below = "" if injection.reason(content) else content[:_BELOW]
    return injection.reason(written) or injection.reason(f"{written} {below}")


# -- one scale for what all tiers say ---------------------------------------------------------------------------------

TIER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"operational": 1.0, "working": 1.0, "longterm": 0.95, "knowledge": 0.9}
)
"""What a tier counts: what happens now a little more than what was, and that more than what stands in books."""
RECENCY, IMPORTANCE = 0.15, 0.15
HALF_LIFE = 30.0
"""Days after which a finding is half as new."""
MOST_SHARED = 0.5
"""The share of a task's words up to which common words alone make no connection."""
LEAST_NEAR = 0.2
"""The nearness in meaning from which on a finding needs no words of the task."""
MOST_READ = 8_000
"""Characters of a finding that are read for the words in it."""


class Ranked(NamedTuple):
    """A finding with its relevance (0 to 1), what that is made of, and whether it has a bearing on the task."""

    finding: Finding
    relevance: float
    parts: Mapping[str, Any]
    is_related: bool = True


def rank(findings: Sequence[Finding], words: Mapping[str, float], today: date) -> list[Ranked]:
    """The findings that have to do with the words or are near in meaning, best first."""
    held = [Counter(tokens(f"{one.heading}\n{one.said[:MOST_READ]}")) for one in findings]
    lengths = [sum(counts.values()) for counts in held]
    means = _means(findings, lengths)
    holders = Counter(word for counts in held for word in words if word in counts)
    many = len(findings)
    worth = {word: words[word] * math.log(1 + many / holders[word]) for word in words if holders[word]}
    unknown = sum(words[word] for word in words if not holders[word])
    known = sum(words[word] for word in worth)
    every = sum(worth.values()) * (1 + unknown / known) if known else 0.0
    ranked = []
    for one, counts, length in zip(findings, held, lengths, strict=True):
        mean = means[one.kind]
        terms = [word for word in worth if word in counts]
        found = sum(worth[word] * min(1.0, saturated(counts[word], length, mean)) for word in terms)
        lexical = found / every if every else 0.0
        match = lexical + (1 - lexical) * one.nearness
        if match > 0:
            made = _ranked(one, match, lexical, terms, today)
            ranked.append(made._replace(is_related=_is_related(one, terms, words)))
    ranked.sort(key=lambda entry: entry.finding.source)
    ranked.sort(key=lambda entry: entry.finding.at, reverse=True)
    return sorted(ranked, key=lambda entry: -entry.relevance)


def _is_related(one: Finding, terms: Sequence[str], words: Mapping[str, float]) -> bool:
    """Whether a finding is near in meaning, or shares a telling word or most words with the task."""
    if one.nearness >= LEAST_NEAR or not all(map(is_common, terms)):
        return True
    return sum(words[word] for word in terms) > MOST_SHARED * sum(words.values())


def _means(findings: Sequence[Finding], lengths: Sequence[int]) -> dict[str, float]:
    """How many words a finding of a kind has, on average."""
    sums: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for one, length in zip(findings, lengths, strict=True):
        sums[one.kind] += length
        numbers[one.kind] += 1
    return {key: max(1.0, sums[key] / number) for key, number in numbers.items()}


def _ranked(one: Finding, match: float, lexical: float, terms: Sequence[str], today: date) -> Ranked:
    tier, new = TIER_WEIGHTS[one.tier], _recency(one.at, today)
    whole = 1 + RECENCY + IMPORTANCE
    relevance = match * tier * (1 + RECENCY * new + IMPORTANCE * one.importance) / whole
    parts: dict[str, Any] = {
        "lexical": round(lexical, 4),
        "vector": round(one.nearness, 4),
        "recency": round(new, 4),
        "importance": round(one.importance, 4),
        "tier": tier,
        "terms": tuple(terms),
    }
    if not one.nearness:
        del parts["vector"]
    return Ranked(one, round(min(1.0, relevance), 4), MappingProxyType(parts))


def _recency(at: str, today: date) -> float:
    """1 for what is of today, half of it after `HALF_LIFE` days; 0 for what has no time."""
    try:
        days = max(0, (today - date.fromisoformat(at[:10])).days)
    except ValueError:
        return 0.0
    return float(0.5 ** (days / HALF_LIFE))
