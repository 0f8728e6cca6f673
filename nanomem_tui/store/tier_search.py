"""Finding records by words, with work that has a bound however many rows there are.

A word that few rows hold is looked up whole. Of one that many hold, only the newest rows count, and those of the newest
that hold the rarest such words together: no list of half a million rows is ever read (decision 0040). Must not know
tiers or kinds of questions.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from nanomem_tui import tokens
from nanomem_tui.store import tier_rows, tier_words
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import Kind
from nanomem_tui.store.tier_rows import Where
from nanomem_tui.store.tier_tables import words_of
from nanomem_tui.store.tier_values import TierRecord
from nanomem_tui.store.tier_words import WINDOW, Rows
from nanomem_tui.store.word_search import saturated

NEWEST, FEWER = 128, 64
"""Rows of one word that are looked at in a table, the newest first, and where many tables are searched; as many as are
asked for, if that is more."""
MANY = 3
"""Tables that are many."""
TOGETHER = 3
"""Common words, the rarest of them, that such a row holds: of one that every other row holds, all would be read."""
RATED = 24
"""Rows that are read, and rated by what they hold; twice as many as are asked for, if that is more."""
MOST_WORDS = 12
Table = tuple[Kind, str]
"""A kind, and that one of its tables that is searched."""
Likely = tuple[float, int, int]
"""A row that may be among the best: its score by the words that the index told of it, the place of its table, and its
number."""


class Rated(NamedTuple):
    """A record that holds some of the words: its BM25 score, and which words it holds."""

    record: TierRecord
    score: float
    words: tuple[str, ...]


def find(
    connection: Connection,
    workspace_id: str,
    tables: Sequence[Table],
    question: str,
    limit: int,
    where: Where = Where(),  # noqa: B008  a value
) -> list[Rated]:
    """The best `limit` records of these tables for the words of a question, best first; equal ones newest first.

    `where`: of these alone; all rows that hold a word may be read then, however many they are.
    """
    most = max(FEWER if len(tables) >= MANY else NEWEST, limit)
    weights = dict(list(tokens.query_weights(question, MOST_WORDS).items())[:MOST_WORDS])
    likely: list[Iterable[Likely]] = []
    weighed: list[dict[str, float]] = []
    for place, (kind, table) in enumerate(tables if weights else ()):
        worth: dict[str, float] = {}
        if kind.words:
            fits = tier_rows.condition(connection, workspace_id, kind, table, where) if any(where) else ("", ())
            rows = Rows(most, *fits)
            worth, scores = _looked_up(connection, workspace_id, table, weights, rows)
            likely.append(zip(scores.values(), repeat(place), scores.keys()))
        weighed.append(worth)
    best = heapq.nlargest(max(RATED, 2 * limit), chain.from_iterable(likely))
    rated: list[Rated] = []
    for place, (kind, table) in enumerate(tables):
        numbers = [number for _, at, number in best if at == place]
        if numbers:
            records = tier_rows.by_numbers(connection, workspace_id, kind, table, numbers)
            rated += _rated(list(records.values()), weighed[place])
    rated.sort(key=lambda one: (one.record.at, one.record.key), reverse=True)
    return sorted(rated, key=lambda one: -one.score)[:limit]


def join_some(connection: Connection, table: str, *, first: bool) -> bool:
    """Join a few of the pieces that an index of SQLite grew in, for some milliseconds; whether there may be more to
    join. `first`: of all steps."""
    assert isinstance(connection, sqlite3.Connection)
    before = connection.total_changes
    pages = -200 if first else 200
    connection.execute(f"INSERT INTO {table}_words ({table}_words, rank) VALUES ('merge', {pages})")
    return connection.total_changes - before > 1


def tidy(connection: Connection, table: str) -> None:
    """Join the pieces that an index of SQLite grew in: a search reads one of them then, in half the time."""
    connection.execute(f"INSERT INTO {table}_words ({table}_words) VALUES ('optimize')")


def _looked_up(
    connection: Connection, workspace_id: str, table: str, weights: Mapping[str, float], rows: Rows
) -> tuple[dict[str, float], dict[int, float]]:
    """What each word is worth in a table, and what its rows may be worth."""
    scores: defaultdict[int, float] = defaultdict(float)
    looked = tier_words.look(connection, workspace_id, table, weights, rows)
    newest, holding = looked.newest, dict(looked.each)
    common = [word for word, found in holding.items() if len(found) == rows.newest]
    worth: dict[str, float] = {}
    for word, found in holding.items():
        frequency = _frequency(found, newest, rows.newest)
        worth[word] = weights[word] * math.log(1 + (newest - frequency + 0.5) / (frequency + 0.5))
    if len(common) > 1:
        rarest = sorted(common, key=lambda word: -worth[word])[:TOGETHER]
        both = looked.together(rarest, newest - WINDOW)
        for word in common:
            holding[word] = list({*both, *holding[word]})
    for word, found in holding.items():
        value = worth[word]
        for number in found:
            scores[number] += value
    return worth, scores


def _frequency(found: Sequence[int], newest: int, most: int) -> float:
    """How many rows hold a word: counted, or reckoned from how close together the newest of them lie."""
    if len(found) < most:
        return float(len(found))
    return most * newest / max(most, newest - found[-1] + 1)


def _rated(records: Sequence[TierRecord], worth: Mapping[str, float]) -> list[Rated]:
    held = [words_of(record).split() for record in records]
    mean = max(1.0, sum(map(len, held)) / max(1, len(held)))
    rated: list[Rated] = []
    for record, words in zip(records, held, strict=True):
        counts = Counter(word for word in words if word in worth)
        score = sum(worth[word] * saturated(times, len(words), mean) for word, times in counts.items())
        if counts:
            rated.append(Rated(record, score, tuple(counts)))
    return rated
