"""The words of records: which rows of a table hold each, in step with them, and the newest of these rows.

SQLite has an FTS5 index for each table. On a server a whole number says by its bits which of `BITS` rows, one after the
other, hold a word: a search reads some numbers by their key, whatever the size, which the walls between workspaces do
not hinder, as they do any index that holds words of its own (docs/decisions, 0065). Owns both forms. Must not know what
a word is worth, nor which rows are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection

if TYPE_CHECKING:
    from nanomem_tui.store.postgres.word_bits import Gathered

BITS = 62
"""Rows that one number tells of: as many as a `bigint` has bits without its sign, less one."""
WINDOW = 10_000
"""The newest rows among which those are sought that hold some words together."""
PART = 500
"""Rows that one statement names."""
MOST_OF_A_WORD = 1_000
"""Bytes beyond which a word is in no index of a server, whose keys have a size."""


class Rows(NamedTuple):
    """Which rows count: the `newest` of those that fit a condition, which may be empty."""

    newest: int
    condition: str = ""
    values: tuple[Any, ...] = ()


def add(connection: Connection, table: str, number: int, words: str) -> None:
    """Put a row into the index; on a server with the end of the transaction."""
    if sql.is_sqlite(connection):
        connection.execute(f"INSERT INTO {table}_words (rowid, words) VALUES (?, ?)", (number, words))
    else:
        _gathered(connection).add(table, kept(words.split()), *place(number))


def forget(connection: Connection, table: str, number: int, words: str) -> None:
    """Take a row out of the index, which has to be told what it held."""
    if sql.is_sqlite(connection):
        query = f"INSERT INTO {table}_words ({table}_words, rowid, words) VALUES ('delete', ?, ?)"
        connection.execute(query, (number, words))
    else:
        _gathered(connection).forget(table, kept(words.split()), *place(number))


def replace(connection: Connection, table: str, number: int, was: str, now: str) -> None:
    """Let the index know that the words of a row changed."""
    if not sql.is_sqlite(connection):
        before, after = dict.fromkeys(was.split()), dict.fromkeys(now.split())
        was = " ".join(word for word in before if word not in after)
        now = " ".join(word for word in after if word not in before)
    forget(connection, table, number, was)
    add(connection, table, number, now)


def _gathered(connection: Connection) -> Gathered:
    from nanomem_tui.store.postgres import word_bits

    return word_bits.of(connection)


def place(number: int) -> tuple[int, int]:
    """The block of a row, and its bit there."""
    return number // BITS, 1 << (number % BITS)


def rows_in(block: int, held: int) -> Iterator[int]:
    """The rows of a block that hold a word, newest first."""
    while held:
        bit = held.bit_length() - 1
        yield block * BITS + bit
        held ^= 1 << bit


def kept(words: Iterable[str]) -> list[str]:
    """The different words that an index of a server takes up."""
    return [word for word in dict.fromkeys(words) if len(word.encode("utf-8", "replace")) <= MOST_OF_A_WORD]


# -- asking -----------------------------------------------------------------------------------------------------------


class Looked(Protocol):
    """What an index told of some words in a table: the highest number there, and the newest rows of each word."""

    newest: int
    each: dict[str, list[int]]

    def together(self, words: Sequence[str], since: int) -> list[int]:
        """The newest rows that hold every one of these words, from the number `since` on, which is within `WINDOW`."""


def look(connection: Connection, workspace_id: str, table: str, words: Iterable[str], rows: Rows) -> Looked:
    """Look some words up."""
    if sql.is_sqlite(connection):
        return _InFts(connection, table, list(words), rows)
    return _InBits(connection, workspace_id, table, list(words), rows)


class _InFts:
    def __init__(self, connection: Connection, table: str, words: Sequence[str], rows: Rows) -> None:
        self._connection, self._table, self._rows = connection, table, rows
        self.newest = int(connection.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0)
        self.each = {word: self._matching(f'"{word}"') for word in words} if self.newest else {}

    def together(self, words: Sequence[str], since: int) -> list[int]:
        return self._matching(" ".join(f'"{word}"' for word in words), since)

    def _matching(self, match: str, since: int = 0) -> list[int]:
        """The newest rows that the index gives."""
        table, rows = self._table, self._rows
        fits = f"{table}_words.rowid AND {rows.condition}"
        narrowed = f" AND EXISTS (SELECT 1 FROM {table} WHERE number = {fits})" if rows.condition else ""
        query = (
            f"SELECT rowid FROM {table}_words WHERE {table}_words MATCH ? AND rowid >= ?{narrowed} "
            f"ORDER BY rowid DESC LIMIT {rows.newest}"
        )
        return [row[0] for row in self._connection.execute(query, (match, since, *rows.values))]


class _InBits:
    """One statement, for as many blocks of each word as the window has; more are read where rows are narrowed."""

    def __init__(self, connection: Connection, workspace_id: str, table: str, words: Sequence[str], rows: Rows) -> None:
        self._connection, self._workspace_id, self._table, self._rows = connection, workspace_id, table, rows
        self._most = max(rows.newest, WINDOW // BITS + 2)
        self._blocks: dict[str, dict[int, int]] = {word: {} for word in words}
        part = (
            f"(SELECT CAST(? AS text) AS word, block, held FROM {table}_words WHERE workspace_id = ? AND word = ?"
            " ORDER BY block DESC LIMIT ?)"
        )
        newest = f"SELECT CAST('' AS text), max(number), 0 FROM {table} WHERE workspace_id = ?"
        values = [value for word in self._blocks for value in (word, workspace_id, word, self._most)]
        statement = " UNION ALL ".join([newest, *[part] * len(self._blocks)])
        self.newest = 0
        for word, block, held in connection.execute(statement, (workspace_id, *values)):
            if word:
                self._blocks[word][block] = held
            else:
                self.newest = int(block or 0)
        self.each = {word: self._newest_of(word) for word in self._blocks} if self.newest else {}

    def _newest_of(self, word: str) -> list[int]:
        blocks = self._blocks[word]
        found = self._fitting(_rows_of(blocks))
        while self._rows.condition and len(blocks) == self._most and len(found) < self._rows.newest:
            query = (
                f"SELECT block, held FROM {self._table}_words WHERE workspace_id = ? AND word = ? AND block < ?"
                " ORDER BY block DESC LIMIT ?"
            )
            values = (self._workspace_id, word, min(blocks), self._most)
            blocks = dict(self._connection.execute(query, values).fetchall())
            found += self._fitting(_rows_of(blocks))
        return found[: self._rows.newest]

    def together(self, words: Sequence[str], since: int) -> list[int]:
        shared = dict(self._blocks[words[0]])
        for word in words[1:]:
            others = self._blocks[word]
            shared = {block: both for block, held in shared.items() if (both := held & others.get(block, 0))}
        return self._fitting(number for number in _rows_of(shared) if number >= since)[: self._rows.newest]

    def _fitting(self, numbers: Iterable[int]) -> list[int]:
        """Those of some rows that fit the condition, in their order."""
        if not self._rows.condition:
            return list(islice(numbers, self._rows.newest))
        every = list(numbers)
        found: set[int] = set()
        for part in parts(every):
            named = f"number IN ({', '.join('?' * len(part))})"
            query = f"SELECT number FROM {self._table} WHERE {named} AND {self._rows.condition}"
            found |= {number for (number,) in self._connection.execute(query, (*part, *self._rows.values))}
        return [number for number in every if number in found]


def _rows_of(blocks: Mapping[int, int]) -> Iterator[int]:
    """The rows of blocks, newest first."""
    return (number for block in sorted(blocks, reverse=True) for number in rows_in(block, blocks[block]))


def of_any(connection: Connection, workspace_id: str, table: str, words: Sequence[str], most: int) -> list[int]:
    """The newest rows that hold any of some words; of a server."""
    query = (
        f"SELECT block, bit_or(held) FROM {table}_words WHERE workspace_id = ? AND word = ANY(CAST(? AS text[]))"
        " GROUP BY block ORDER BY block DESC LIMIT ?"
    )
    blocks = connection.execute(query, (workspace_id, [*words], most)).fetchall()
    return [number for block, held in blocks for number in rows_in(block, held)][:most]


def parts(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Numbers, as many at a time as one statement names."""
    return (numbers[start : start + PART] for start in range(0, len(numbers), PART))
