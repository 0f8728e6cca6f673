"""The words of a store in PostgreSQL, with the face of `search.FullText`: which items hold a word (`postings`), and a
table of how many do. One connection, for one question.

What is found are candidates by BM25; they are rated as everywhere by who asked.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from nanomem_tui.store import item_words, reader
from nanomem_tui.store.postgres import postings
from nanomem_tui.store.vocabulary import LEAST, MOST_LONGER, nearest
from nanomem_tui.store.word_index import Statistics, idf
from nanomem_tui.store.word_search import K1, saturated

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection
    from nanomem_tui.store.values import Item

CANDIDATES = 200
FEW = 5_000
"""Rows up to which those that hold a word are read at once, with those of other such words."""


class PgFullText:
    """The words of the items of one workspace."""

    def __init__(self, connection: Connection, workspace_id: str, meta: Mapping[str, str]) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._count, self._length = (int(meta.get(name, 0)) for name in (item_words.ROWS, item_words.LENGTH))
        self._rows_with: dict[str, int] = {}

    @staticmethod
    def is_told_by(meta: Mapping[str, str]) -> bool:
        """Whether there is such an index; the next change makes that of a server of an older schema."""
        return item_words.ROWS in meta

    def statistics(self, words: Iterable[str]) -> Statistics:
        """What the scorer needs to know about these words."""
        mean = max(1.0, self._length / self._count) if self._count else 1.0
        return Statistics(self._count, mean, self._held(list(words)))

    def rows_with(self, word: str) -> int:
        """How many rows hold the word."""
        return self._held([word])[word]

    def _held(self, words: list[str]) -> dict[str, int]:
        new = [word for word in dict.fromkeys(words) if word not in self._rows_with]
        if new:
            query = "SELECT word, held FROM memory_words WHERE workspace_id = ? AND word = ANY(CAST(? AS text[]))"
            found = dict(self._connection.execute(query, (self._workspace_id, new)).fetchall())
            self._rows_with |= {word: found.get(word, 0) for word in new}
        return {word: self._rows_with[word] for word in words}

    def nearest(self, word: str) -> str | None:
        """The word with the same first letter that `word` was probably meant to be; None when nothing is near."""
        query = (
            "SELECT word FROM memory_words WHERE workspace_id = ? AND held > 0 AND word >= ? AND word < ?"
            " AND length(word) BETWEEN ? AND ?"
        )
        values = (self._workspace_id, word[:1], word[:1] + "\U0010ffff", len(word) - 2, len(word) + 2)
        return nearest(word, [row[0] for row in self._connection.execute(query, values)], self.rows_with)

    def longer(self, beginning: str) -> list[str]:
        """The commonest words that begin like that and go on."""
        if len(beginning) < LEAST:
            return []
        query = (
            "SELECT word FROM memory_words WHERE workspace_id = ? AND held > 0 AND word > ? AND word < ?"
            " ORDER BY held DESC, word LIMIT ?"
        )
        values = (self._workspace_id, beginning, beginning + "\U0010ffff", MOST_LONGER)
        return [row[0] for row in self._connection.execute(query, values)]

    def candidates(self, words: Iterable[str], accept: Callable[[Item], bool]) -> list[Item]:
        """The first accepted rows that hold any of the words, by BM25."""
        ranking = _Ranking(self._connection, self._workspace_id, self.statistics(dict.fromkeys(words)))
        accepted: list[Item] = []
        seen, wanted = 0, CANDIDATES
        while True:
            numbers = ranking.best(wanted)
            rows = reader.items_numbered(self._connection, self._workspace_id, numbers[seen:])
            accepted += [rows[number] for number in numbers[seen:] if number in rows and accept(rows[number])]
            if len(accepted) >= CANDIDATES or len(numbers) < wanted:
                return accepted[:CANDIDATES]
            seen, wanted = wanted, wanted * 10


class _Ranking:
    """The rows that hold some words, by BM25: rarer words first, commoner ones of the rows alone that can be among the
    best."""

    def __init__(self, connection: Connection, workspace_id: str, known: Statistics) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._words = sorted((word for word, held in known.rows_with.items() if held), key=known.rows_with.__getitem__)
        held = [known.rows_with[word] for word in self._words]
        self._worth = [idf(max(known.total, number), number) for number in held]
        self._rest = [sum(self._worth[at:]) * (K1 + 1) for at in range(len(self._worth) + 1)]
        self._mean = known.mean
        self._once = [saturated(1, length, known.mean) for length in range(postings.MOST + 1)]
        few = [word for word, number in zip(self._words, held, strict=True) if number <= FEW]
        self._read = postings.of_words(connection, workspace_id, few)

    def best(self, wanted: int) -> list[int]:
        """The numbers of the best rows, in order; more only where all of them are asked for."""
        scores: dict[int, float] = {}
        for at in range(len(self._words)):
            if len(scores) >= wanted:
                least = heapq.nlargest(wanted, scores.values())[-1]
                if self._rest[at] < least:
                    scores = {row: score for row, score in scores.items() if score + self._rest[at] >= least}
                    self._add_to(scores, at)
                    continue
            self._add(scores, at)
        return heapq.nsmallest(wanted, scores, key=lambda row: (-scores[row], row))

    def _add(self, scores: dict[int, float], at: int) -> None:
        """What a word is worth to every row that holds it."""
        word, worth, once, mean, get = self._words[at], self._worth[at], self._once, self._mean, scores.get
        if word not in self._read:
            self._read |= postings.of_words(self._connection, self._workspace_id, [word])
        for first, held in self._read[word]:
            for said in held:
                place, times, length = said >> 16, said >> 8 & 255, said & 255  # as `postings.read`, without a call
                share = once[length] if times == 1 else saturated(times, length, mean)
                scores[first + place] = get(first + place, 0.0) + worth * share

    def _add_to(self, scores: dict[int, float], at: int) -> None:
        """What a word is worth to these rows."""
        found = postings.of_items(self._connection, self._workspace_id, self._words[at], scores)
        for number, said in found:
            _, times, length = postings.read(said)
            scores[number] += self._worth[at] * saturated(times, length, self._mean)
