"""The words of records that a transaction on a server changes: gathered, and written with a few statements at its end.

A record shares its rows of words with its neighbours: written with each record, they would leave as many dead ones
behind. Must not know what a word is, nor how words are searched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from nanomem_tui.store.sql import Connection

Place = tuple[str, int]
"""A word, and a block of rows."""


class Gathered:
    """What changes, by table: the bits that a word gets, and those that it loses."""

    def __init__(self) -> None:
        self._gets: defaultdict[str, dict[Place, int]] = defaultdict(dict)
        self._loses: defaultdict[str, dict[Place, int]] = defaultdict(dict)

    def add(self, table: str, words: Iterable[str], block: int, bit: int) -> None:
        """A row holds these words."""
        _mark(self._gets[table], self._loses[table], words, block, bit)

    def forget(self, table: str, words: Iterable[str], block: int, bit: int) -> None:
        """A row does not hold these words any more."""
        _mark(self._loses[table], self._gets[table], words, block, bit)

    def write(self, connection: Connection, workspace_id: str) -> None:
        """Write it, and begin anew."""
        for table, bits in self._loses.items():
            _take(connection, workspace_id, table, bits)
        for table, bits in self._gets.items():
            _give(connection, workspace_id, table, bits)
        self._gets.clear()
        self._loses.clear()


_WAITING: WeakKeyDictionary[Any, Gathered] = WeakKeyDictionary()


def of(connection: Connection) -> Gathered:
    """What waits in the transaction of a connection."""
    return _WAITING.setdefault(connection, Gathered())


def write(connection: Connection, workspace_id: str) -> None:
    """Write what waits."""
    if (waiting := _WAITING.pop(connection, None)) is not None:
        waiting.write(connection, workspace_id)


def drop(connection: Connection) -> None:
    """Forget what waits: it is rolled back."""
    _WAITING.pop(connection, None)


def _mark(these: dict[Place, int], others: dict[Place, int], words: Iterable[str], block: int, bit: int) -> None:
    for word in words:
        place = word, block
        these[place] = these.get(place, 0) | bit
        if others.get(place, 0) & bit:
            others[place] &= ~bit


def _columns(bits: Mapping[Place, int]) -> tuple[list[str], list[int], list[int]]:
    rows = [(word, block, mask) for (word, block), mask in sorted(bits.items()) if mask]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


_U = "unnest(CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bigint[]))"


def _give(connection: Connection, workspace_id: str, table: str, bits: Mapping[Place, int]) -> None:
    words, blocks, masks = _columns(bits)
    query = (
        f"INSERT INTO {table}_words (workspace_id, word, block, held) SELECT ?, u.* FROM {_U} AS u"
        " ON CONFLICT (workspace_id, word, block)"
        f" DO UPDATE SET held = {table}_words.held | excluded.held"
    )
    if words:
        connection.execute(query, (workspace_id, words, blocks, masks))


def _take(connection: Connection, workspace_id: str, table: str, bits: Mapping[Place, int]) -> None:
    words, blocks, masks = _columns(bits)
    change = (
        f"UPDATE {table}_words AS w SET held = w.held & ~u.held FROM {_U} AS u (word, block, held)"
        " WHERE w.workspace_id = ? AND w.word = u.word AND w.block = u.block"
    )
    empty = (
        f"DELETE FROM {table}_words WHERE workspace_id = ? AND word = ANY(CAST(? AS text[]))"
        " AND block = ANY(CAST(? AS bigint[])) AND held = 0"
    )
    if words:
        connection.execute(change, (words, blocks, masks, workspace_id))
        connection.execute(empty, (workspace_id, words, sorted(set(blocks))))
