"""Which findings are given within a budget of tokens: the best first, none twice, a long one shortened.

Owns the budget, and the reason for each finding that is left out. Must not rank. Pure but for the counter it is given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from nanomem_tui.text import clusters, counted
from nanomem_tui.tiers import near_duplicates
from nanomem_tui.tiers.context_ranking import Ranked
from nanomem_tui.tiers.context_values import MARK, UNRELATED, ContextChunk, LeftOut
from nanomem_tui.tokens import tokens

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
        self._said: list[near_duplicates.Said] = []
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
        said = near_duplicates.said(finding.said)
        like = near_duplicates.like(said, self._said)
        if like is not None:
            place, share = like
            return f"says what {self._given[place].source} says ({share:.0f} % the same)"
        self._said.append(said)
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
