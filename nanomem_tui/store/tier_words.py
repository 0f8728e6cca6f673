"""The words of records: which rows of a table hold each, in step with them, and the newest of these rows.

SQLite has an FTS5 index for each table. On a server a whole number says by its bits which of `BITS` rows, one after the
other, hold a word: a search reads some numbers by their key, whatever the size, which the walls between workspaces do
not hinder, as they do any index that holds words of its own (docs/decisions, 0065). Owns both forms. Must not know what
a word is worth, nor which rows are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection

BITS = 62
"""Rows that one number tells of: as many as a `bigint` has bits without its sign, less one."""
BLOCKS = 128
"""Numbers of a word that are read at a time where rows are narrowed further."""
PART = 500
"""Rows that one statement names."""
MOST_OF_A_WORD = 1_000
"""Bytes beyond which a word is in no index of a server, whose keys have a size."""


class Rows(NamedTuple):
    """Which rows count: the `newest` of those that fit a condition, which may be empty."""

    newest: int
    condition: str = ""
    values: tuple[Any, ...] = ()


def add(connection: Connection, workspace_id: str, table: str, number: int, words: str) -> None:
    """Put a row into the index."""
    if sql.is_sqlite(connection):
        connection.execute(f"INSERT INTO {table}_words (rowid, words) VALUES (?, ?)", (number, words))
        return
    block, bit = place(number)
    query = (
        f"INSERT INTO {table}_words (workspace_id, word, block, held)"
        " SELECT ?, unnest(CAST(? AS text[])), ?, ? ON CONFLICT (workspace_id, word, block)"
        f" DO UPDATE SET held = {table}_words.held | excluded.held"
    )
    if known := kept(words.split()):
        connection.execute(query, (workspace_id, known, block, bit))


def forget(connection: Connection, workspace_id: str, table: str, number: int, words: str) -> None:
    """Take a row out of the index, which has to be told what it held."""
    if sql.is_sqlite(connection):
        query = f"INSERT INTO {table}_words ({table}_words, rowid, words) VALUES ('delete', ?, ?)"
        connection.execute(query, (number, words))
        return
    block, bit = place(number)
    where = "WHERE workspace_id = ? AND block = ? AND word = ANY(CAST(? AS text[]))"
    if known := kept(words.split()):
        change = f"UPDATE {table}_words SET held = held & ~CAST(? AS bigint) {where}"
        connection.execute(change, (bit, workspace_id, block, known))
        connection.execute(f"DELETE FROM {table}_words {where} AND held = 0", (workspace_id, block, known))


def replace(connection: Connection, workspace_id: str, table: str, number: int, was: str, now: str) -> None:
    """Let the index know that the words of a row changed."""
    if sql.is_sqlite(connection):
        forget(connection, workspace_id, table, number, was)
        add(connection, workspace_id, table, number, now)
        return
    before, after = dict.fromkeys(was.split()), dict.fromkeys(now.split())
    forget(connection, workspace_id, table, number, " ".join(word for word in before if word not in after))
    add(connection, workspace_id, table, number, " ".join(word for word in after if word not in before))


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


def of_each(
    connection: Connection, workspace_id: str, table: str, words: Iterable[str], rows: Rows
) -> dict[str, list[int]]:
    """The newest rows that hold each word."""
    if sql.is_sqlite(connection):
        return {word: _matching(connection, table, f'"{word}"', rows) for word in words}
    if rows.condition:
        return {word: _narrowed(connection, workspace_id, table, word, rows) for word in words}
    part = (
        f"(SELECT CAST(? AS text) AS word, block, held FROM {table}_words WHERE workspace_id = ? AND word = ?"
        " ORDER BY block DESC LIMIT ?)"
    )
    found: dict[str, list[int]] = {word: [] for word in words}
    values = [value for word in found for value in (word, workspace_id, word, rows.newest)]
    for word, block, held in connection.execute(" UNION ALL ".join([part] * len(found)), values) if found else ():
        if len(found[word]) < rows.newest:
            found[word] += rows_in(block, held)
    return {word: numbers[: rows.newest] for word, numbers in found.items()}


def of_all(
    connection: Connection, workspace_id: str, table: str, words: Sequence[str], rows: Rows, since: int
) -> list[int]:
    """The newest rows that hold every one of some words, from the number `since` on."""
    if sql.is_sqlite(connection):
        return _matching(connection, table, " ".join(f'"{word}"' for word in words), rows, since)
    names = [f"w{number}" for number in range(len(words))]
    first = f"{table}_words {names[0]}"
    others = [
        f"JOIN {table}_words {name} ON {name}.workspace_id = w0.workspace_id AND {name}.block = w0.block"
        f" AND {name}.word = ?"
        for name in names[1:]
    ]
    query = (
        f"SELECT w0.block, {' & '.join(f'{name}.held' for name in names)} FROM {' '.join([first, *others])}"
        " WHERE w0.workspace_id = ? AND w0.word = ? AND w0.block >= ? ORDER BY w0.block DESC"
    )
    blocks = connection.execute(query, (*words[1:], workspace_id, words[0], max(since, 0) // BITS)).fetchall()
    numbers = [number for block, held in blocks for number in rows_in(block, held) if number >= since]
    if not rows.condition:
        return numbers[: rows.newest]
    fit = _fitting(connection, table, numbers, rows)
    return [number for number in numbers if number in fit][: rows.newest]


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


def _matching(connection: Connection, table: str, match: str, rows: Rows, since: int = 0) -> list[int]:
    """The newest rows that the index of SQLite gives."""
    fits = f"{table}_words.rowid AND {rows.condition}"
    narrowed = f" AND EXISTS (SELECT 1 FROM {table} WHERE number = {fits})" if rows.condition else ""
    query = (
        f"SELECT rowid FROM {table}_words WHERE {table}_words MATCH ? AND rowid >= ?{narrowed} "
        f"ORDER BY rowid DESC LIMIT {rows.newest}"
    )
    return [row[0] for row in connection.execute(query, (match, since, *rows.values))]


def _narrowed(connection: Connection, workspace_id: str, table: str, word: str, rows: Rows) -> list[int]:
    """The newest rows of a server that hold a word and fit: as many are looked at as it takes."""
    query = (
        f"SELECT block, held FROM {table}_words WHERE workspace_id = ? AND word = ? AND block < ?"
        " ORDER BY block DESC LIMIT ?"
    )
    found: list[int] = []
    before = 2**62
    while len(found) < rows.newest:
        blocks = connection.execute(query, (workspace_id, word, before, BLOCKS)).fetchall()
        numbers = [number for block, held in blocks for number in rows_in(block, held)]
        fit = _fitting(connection, table, numbers, rows)
        found += [number for number in numbers if number in fit]
        if len(blocks) < BLOCKS:
            break
        before = blocks[-1][0]
    return found[: rows.newest]


def _fitting(connection: Connection, table: str, numbers: Sequence[int], rows: Rows) -> set[int]:
    """Those of some rows that fit the condition."""
    found: set[int] = set()
    for part in parts(numbers):
        query = f"SELECT number FROM {table} WHERE number IN ({', '.join('?' * len(part))}) AND {rows.condition}"
        found |= {number for (number,) in connection.execute(query, (*part, *rows.values))}
    return found
