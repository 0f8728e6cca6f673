"""The index of the items in RAM by their words, and how well an item fits the words of a question.

Follows the snapshot. `word_index` holds the words; it knows no items.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.language.tokens import index_tokens
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import Statistics, Vocabulary, WordIndex, idf, saturated

REPLACED = '"superseded":'
"""What the free fields of a row hold in whose place another one stands."""

Group = tuple[str, str, str, str | None, str | None]
"""Scope type, scope key and kind; of what follows a person also who said it, and in which chat. Rows that agree in
these are visible to the same people."""


class Candidate(NamedTuple):
    """A row that holds some of the words, and its BM25 score. `of`: another row that holds them, where this one took
    its place."""

    item: Item
    score: float
    of: Item | None = None


def group_of(item: Item) -> Group:
    """The group of a row in the index."""
    if item.scope_type != "user":
        return item.scope_type, item.scope_key, item.kind, None, None
    return item.scope_type, item.scope_key, item.kind, item.sender_id, item.chat_id


def is_replaced(item: Item) -> bool:
    """Whether another row took the place of a row (`memory.retention`)."""
    return not item.enabled and REPLACED in item.meta_json


def example_of(group: Hashable) -> Item:
    """Return a row that has the fields of a group and no text, to ask who may see the group."""
    assert isinstance(group, tuple)
    scope_type, scope_key, kind, sender_id, chat_id = group
    return Item("", "", kind, scope_type, scope_key, sender_id=sender_id, chat_id=chat_id)


def rate(items: Iterable[Item], weights: Mapping[str, float], statistics: Statistics) -> list[Candidate]:
    """The rows that hold any of the words, as candidates, in no order."""
    total, mean, rows_with = statistics
    found = []
    for item in items:
        words = index_tokens(item.text)
        matched = Counter(word for word in words if word in weights)
        shares = ((weights[word] * idf(total, rows_with.get(word, 0)), times) for word, times in matched.items())
        if matched:
            found.append(Candidate(item, sum(worth * saturated(times, len(words), mean) for worth, times in shares)))
    return found


class ItemIndex:
    """The word index over the items of a snapshot, in step with it; every method may be called from any thread.

    Deleted rows are not in it, and of disabled ones only those that others took the place of: whoever asks gets these.
    Reads no file.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._building = threading.Lock()
        self._changed: set[str] = set()
        self._index = WordIndex()
        self._vocabulary = Vocabulary()
        self.ready = False
        """Whether the index has been built; nothing is asked before."""

    def build(self, *, pause: float = 0.0) -> None:
        """Index every row, once. `pause`: seconds to sleep after each 64 rows, so that a screen stays quick.

        Call it without the snapshot's lock: it waits for a thread that builds, and that one needs the lock at first.
        """
        with self._building:
            if self.ready:
                return
            with self._snapshot.lock:
                self._changed = self._snapshot.watch()
                rows = list(self._snapshot.items.values())
            for number, row in enumerate(rows, 1):
                self._take(row.id, row)
                if pause and number % 64 == 0:
                    time.sleep(pause)
            self.ready = True

    def _take(self, key: str, row: Item | None) -> None:
        if row is None or row.is_deleted or not (row.enabled or is_replaced(row)):
            self._index.remove(key)
        else:
            self._vocabulary.add(self._index.put(key, row.text, group_of(row)))

    def current(self) -> WordIndex:
        """The index with every change in it. Call it, and use what it gives, holding the snapshot's lock."""
        items = self._snapshot.items
        for key in self._changed:
            self._take(key, items.get(key))
        self._changed.clear()
        return self._index

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

        `slack`: also every row that the last of these beats by no more than that share.
        """
        with self._snapshot.lock:
            index, items = self.current(), self._snapshot.items
            found = index.search(weights, limit, shown, slack)
            return [Candidate(items[key], score) for score, key in found]
