"""Which items hold a word, in PostgreSQL: a row of the table `memory_postings` for each word and block of items that
follow each other, with a number of 32 bits for each that holds it.

Owns what such a row says, and how it is kept in step with the items. Row level security lets its key be used, which it
does not let an index of `tsvector` (docs/decisions, 0071). Must not know what a word is worth.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

BLOCK = 2_048
"""Items of a block: a word that each sixth of them holds has a row of 1.4 kB."""
MOST = 255
"""Beyond which neither the times of a word nor the length of an item are counted."""
TABLE = """CREATE TABLE memory_postings (
    workspace_id TEXT COLLATE "C" NOT NULL, word TEXT COLLATE "C" NOT NULL, block BIGINT NOT NULL,
    held BYTEA NOT NULL, PRIMARY KEY (workspace_id, word, block))"""
_U = "unnest(CAST(? AS text[]), CAST(? AS bigint[]))"

Place = tuple[str, int]
"""A word, and a block of items."""


Held = tuple[int, "array[int]"]
"""The number of a block's first item, and what is said of each of its items that hold a word, by its place there."""


def posting(place: int, times: int, length: int) -> int:
    """What is said of an item at a place of its block that holds a word so often, and has so many words in all."""
    return place << 16 | min(times, MOST) << 8 | min(length, MOST)


def read(said: int) -> tuple[int, int, int]:
    """Place, times and length."""
    return said >> 16, said >> 8 & MOST, said & MOST


class Changed(NamedTuple):
    """The words of an item before and after; none of one that is new, or gone."""

    number: int
    before: Sequence[str]
    after: Sequence[str]


def write(connection: Connection, workspace_id: str, changed: Iterable[Changed]) -> None:
    """Bring the postings into step with items that were written."""
    given: dict[Place, dict[int, int]] = {}
    taken: dict[Place, set[int]] = {}
    for one in changed:
        block, place = divmod(one.number, BLOCK)
        for word in set(one.before):
            taken.setdefault((word, block), set()).add(place)
        for word, times in Counter(one.after).items():
            given.setdefault((word, block), {})[place] = posting(place, times, len(one.after))
    places = sorted(given.keys() | taken.keys())
    there = _read(connection, workspace_id, places)
    full: list[tuple[str, int, bytes]] = []
    empty: list[Place] = []
    for at in places:
        new, gone = given.get(at, {}), taken.get(at, set())
        old = _unpacked(there[at]) if at in there else array("I")
        kept = [said for said in old if (said >> 16) not in new and (said >> 16) not in gone]
        held = sorted([*kept, *new.values()])
        if held:
            full.append((*at, _packed(held)))
        elif at in there:
            empty.append(at)
    _put(connection, workspace_id, full, empty)


def _put(
    connection: Connection, workspace_id: str, full: Sequence[tuple[str, int, bytes]], empty: Sequence[Place]
) -> None:
    if full:
        connection.execute(
            "INSERT INTO memory_postings (workspace_id, word, block, held) SELECT ?, u.* FROM"
            " unnest(CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bytea[])) AS u"
            " ON CONFLICT (workspace_id, word, block) DO UPDATE SET held = excluded.held",
            (workspace_id, *map(list, zip(*full, strict=True))),
        )
    if empty:
        connection.execute(
            f"DELETE FROM memory_postings AS p USING {_U} AS u (word, block)"
            " WHERE p.workspace_id = ? AND p.word = u.word AND p.block = u.block",
            (*map(list, zip(*empty, strict=True)), workspace_id),
        )


def _read(connection: Connection, workspace_id: str, places: Collection[Place]) -> dict[Place, bytes]:
    if not places:
        return {}
    query = (
        f"SELECT p.word, p.block, p.held FROM {_U} AS u (word, block) JOIN memory_postings AS p"
        " ON p.workspace_id = ? AND p.word = u.word AND p.block = u.block"
    )
    values = (*map(list, zip(*places, strict=True)), workspace_id)
    return {(word, block): held for word, block, held in connection.execute(query, values)}


def of_words(connection: Connection, workspace_id: str, words: Sequence[str]) -> dict[str, list[Held]]:
    """The items that hold each of some words, block by block."""
    found: dict[str, list[Held]] = {word: [] for word in words}
    query = "SELECT word, block, held FROM memory_postings WHERE workspace_id = ? AND word = ANY(CAST(? AS text[]))"
    for word, block, held in connection.execute(query, (workspace_id, [*words])) if words else ():
        found[word].append((block * BLOCK, _unpacked(held)))
    return found


def of_items(connection: Connection, workspace_id: str, word: str, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Which of some items hold a word: their numbers, and what is said of them."""
    places: dict[int, list[int]] = {}
    for number in numbers:
        places.setdefault(number // BLOCK, []).append(number % BLOCK)
    query = (
        "SELECT block, held FROM memory_postings WHERE workspace_id = ? AND word = ?"
        " AND block = ANY(CAST(? AS bigint[]))"
    )
    for block, data in connection.execute(query, (workspace_id, word, list(places))):
        held = _unpacked(data)
        for place in places[block]:
            at = bisect_left(held, place << 16)
            if at < len(held) and held[at] >> 16 == place:
                yield block * BLOCK + place, held[at]


def take_out(connection: Connection, workspace_id: str, numbers: Iterable[int]) -> None:
    """Take some items out of every word of their blocks, whatever words they had."""
    gone: dict[int, set[int]] = {}
    for number in numbers:
        gone.setdefault(number // BLOCK, set()).add(number % BLOCK)
    query = "SELECT word, held FROM memory_postings WHERE workspace_id = ? AND block = ?"
    for block, places in gone.items():
        full: list[tuple[str, int, bytes]] = []
        empty: list[Place] = []
        for word, data in connection.execute(query, (workspace_id, block)).fetchall():
            old = _unpacked(data)
            held = [said for said in old if (said >> 16) not in places]
            if not held:
                empty.append((word, block))
            elif len(held) < len(old):
                full.append((word, block, _packed(held)))
        _put(connection, workspace_id, full, empty)


def number(connection: Connection, workspace_id: str) -> int:
    """How many there are."""
    query = "SELECT coalesce(sum(octet_length(held)), 0) FROM memory_postings WHERE workspace_id = ?"
    return int(connection.execute(query, (workspace_id,)).fetchone()[0]) // 4


def _packed(postings: Iterable[int]) -> bytes:
    found = array("I", postings)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def _unpacked(data: bytes) -> array[int]:
    found = array("I")
    found.frombytes(data)
    if sys.byteorder == "big":
        found.byteswap()
    return found
