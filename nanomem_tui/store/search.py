"""Finding rows by words: the RAM index over the snapshot, and the full-text index of the database.

Both give candidates with what the scorer needs: which words a row holds, how often, and how long it is. Ranking by
importance, age and profile is `memory.scoring`'s; who may see what is the caller's.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.store import reader, row_queries
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item, row_hash
from nanomem_tui.store.vocabulary import LEAST, MOST_LONGER, Vocabulary, nearest
from nanomem_tui.store.word_index import Statistics, WordIndex
from nanomem_tui.store.word_search import saturated
from nanomem_tui.tokens import tokens

CANDIDATES = 200
Accept = Callable[[Item], bool]
Group = tuple[str, str, str, str | None, str | None]
"""Scope type, scope key and kind; of what follows a person also who said it, and in which chat. Rows that agree in
these are visible to the same people."""


class Candidate(NamedTuple):
    """A row that holds some of the words, and its BM25 score."""

    item: Item
    score: float


def group_of(item: Item) -> Group:
    """The group of a row in the index."""
    if item.scope_type != "user":
        return item.scope_type, item.scope_key, item.kind, None, None
    return item.scope_type, item.scope_key, item.kind, item.sender_id, item.chat_id


def example_of(group: Hashable) -> Item:
    """A row of the group, of which nothing else is known."""
    assert isinstance(group, tuple)
    scope_type, scope_key, kind, sender_id, chat_id = group
    return Item("", "", kind, scope_type, scope_key, sender_id=sender_id, chat_id=chat_id)


def weigh(matched: Mapping[str, int], length: int, weights: Mapping[str, float], statistics: Statistics) -> float:
    """The BM25 score of a row for weighted words."""
    return sum(
        weights[word] * statistics.idf(word) * saturated(times, length, statistics.mean)
        for word, times in matched.items()
    )


def rate(items: Iterable[Item], weights: Mapping[str, float], statistics: Statistics) -> list[Candidate]:
    """The rows that hold any of the words, as candidates, in no order."""
    found = []
    for item in items:
        words = tokens(item.text)
        matched = Counter(word for word in words if word in weights)
        if matched:
            score = weigh(matched, len(words), weights, statistics)
            found.append(Candidate(item, score))
    return found


class ItemIndex:
    """The word index over the items of a snapshot, in step with it; every method may be called from any thread.

    Disabled and deleted rows are not in it. Reads no file.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._building = threading.Lock()
        self._changed: set[str] | None = None
        self._index = WordIndex()
        self._vocabulary = Vocabulary()

    @property
    def ready(self) -> bool:
        """Whether the index has been built."""
        return self._changed is not None

    def build(self, *, pause: float = 0.0) -> None:
        """Index every row, once. `pause`: seconds to sleep after each 64 rows, so that a screen stays quick.

        Call it without the snapshot's lock: it waits for a thread that builds, and that one needs the lock at its end.
        """
        with self._building:
            if self._changed is not None:
                return
            with self._snapshot.lock:
                changed = self._snapshot.watch()
                rows = list(self._snapshot.items.values())
            index, vocabulary = WordIndex(), Vocabulary()
            for number, row in enumerate(rows, 1):
                if row.enabled and not row.is_deleted:
                    vocabulary.add(index.put(row.id, row.text, group_of(row)))
                if pause and number % 64 == 0:
                    time.sleep(pause)
            with self._snapshot.lock:
                if self._changed is None:
                    self._index, self._vocabulary, self._changed = index, vocabulary, changed

    def current(self) -> WordIndex:
        """The index with every change in it, made now where it was not built. Call it, and use what it gives, holding
        the snapshot's lock."""
        if self._changed is None:  # not `build`: a thread that builds may wait for the lock that is held here
            self._index, self._vocabulary = WordIndex(), Vocabulary()
            self._changed = self._snapshot.watch()
            self._changed.update(self._snapshot.items)
        items, index = self._snapshot.items, self._index
        for key in self._changed:
            row = items.get(key)
            if row is None or row.is_deleted or not row.enabled:
                index.remove(key)
            else:
                self._vocabulary.add(index.put(key, row.text, group_of(row)))
        self._changed.clear()
        return index

    def nearest(self, word: str) -> str | None:
        """The word that some row holds and that `word` was probably meant to be; None when nothing is near."""
        with self._snapshot.lock:
            return self._vocabulary.nearest(word, self.current().rows_with)

    def longer(self, beginning: str) -> list[str]:
        """The commonest words that begin like that and go on."""
        with self._snapshot.lock:
            return self._vocabulary.longer(beginning, self.current().rows_with)

    def best(
        self, weights: Mapping[str, float], limit: int, shown: Sequence[bool] | None = None, slack: float = 0.0
    ) -> list[Candidate]:
        """The best `limit` rows for weighted words within the groups that are shown (None: all), best first.

        `slack`: also every row that the last of these beats by no more than that share, and all in no order.
        """
        with self._snapshot.lock:
            index, items = self.current(), self._snapshot.items
            found = index.ranked(weights, limit, shown, slack)
            return [Candidate(items[key], -score) for score, key in found]


class Altered(Exception):
    """A row that was found is not what was written."""


class FullText:
    """The full-text index of a database, read with the driver; one connection, for one question. `checks`: whether
    each row that is found has to be what was written."""

    def __init__(self, connection: sqlite3.Connection, workspace_id: str, *, checks: bool = False) -> None:
        self._connection = connection
        self._checks = checks
        self._workspace_id = workspace_id
        with contextlib.suppress(sqlite3.OperationalError):  # there already
            connection.execute(
                "CREATE VIRTUAL TABLE temp.index_words USING fts5vocab('main', 'memory_entries_fts', 'row')"
            )

    def statistics(self, words: Iterable[str]) -> Statistics:
        """What the scorer needs to know about these words."""
        count, total = self._averages()
        return Statistics(count, max(1.0, total / count) if count else 1.0, {w: self.rows_with(w) for w in words})

    def rows_with(self, word: str) -> int:
        """How many rows hold the word."""
        query = "SELECT doc FROM temp.index_words WHERE term = ?"
        found = self._connection.execute(query, (word,)).fetchone()
        return int(found[0]) if found else 0

    def _averages(self) -> tuple[int, int]:
        """How many rows the index has and how many words they hold: the record that SQLite keeps for its own bm25."""
        found = self._connection.execute("SELECT block FROM memory_entries_fts_data WHERE id = 1").fetchone()
        numbers = list(_varints(found[0])) if found else []
        return (numbers[0], sum(numbers[1:])) if numbers else (0, 0)

    def nearest(self, word: str) -> str | None:
        """The word with the same first letter that `word` was probably meant to be; None when nothing is near."""
        query = "SELECT term FROM temp.index_words WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
        values = (word[:1], word[:1] + "\U0010ffff", len(word) - 2, len(word) + 2)
        return nearest(word, [row[0] for row in self._connection.execute(query, values)], self.rows_with)

    def longer(self, beginning: str) -> list[str]:
        """The commonest words that begin like that and go on."""
        if len(beginning) < LEAST:
            return []
        query = "SELECT term FROM temp.index_words WHERE term > ? AND term < ? ORDER BY doc DESC, term LIMIT ?"
        values = (beginning, beginning + "\U0010ffff", MOST_LONGER)
        return [row[0] for row in self._connection.execute(query, values)]

    def candidates(self, words: Iterable[str], accept: Accept) -> list[Item]:
        """The first accepted rows that the index ranks for any of the words. Raises Altered."""
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return []
        query = (
            "SELECT e.id FROM memory_entries_fts f JOIN memory_entries e ON e.number = f.rowid"
            " WHERE memory_entries_fts MATCH ? AND e.workspace_id = ? ORDER BY f.rank"
        )
        ids = self._connection.execute(query, (match, self._workspace_id))
        accepted: list[Item] = []
        while len(accepted) < CANDIDATES and (part := [row[0] for row in ids.fetchmany(CANDIDATES)]):
            found = reader.items_by_id(self._connection, self._workspace_id, part)
            if self._checks:
                self._check(found)
            accepted += [found[key] for key in part if key in found and accept(found[key])]
        return accepted[:CANDIDATES]

    def _check(self, found: Mapping[str, Item]) -> None:
        kept = row_queries.hashed(self._connection, "item")
        query = f"SELECT id, {kept} FROM memory_entries WHERE workspace_id = ? AND id IN ({{}})"
        values = (self._workspace_id, *found)
        written = dict(reader.fetched(self._connection, tuple, query.format(",".join("?" * len(found))), values))
        if any(written.get(key) != row_hash(row) for key, row in found.items()):
            raise Altered


def _varints(data: bytes) -> Iterable[int]:
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            yield value
            value = 0
