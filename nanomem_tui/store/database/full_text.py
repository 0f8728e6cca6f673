"""The full-text index of the memories: FTS5 in a file, a table with a `tsvector` on a server.

Owns the one index, `memory_entries_fts`, and all its SQL: making it, keeping it in step with the rows inside a writer's
transaction, and asking it. It holds what our own tokenizer makes of a text. It gives candidates, never a rank: who asks
rates them (`word_index.rate`). Must not import SQLAlchemy for who only asks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.language import tokens
from nanomem_tui.store.database import reading
from nanomem_tui.store.database.reading import Reading
from nanomem_tui.store.values import Item
from nanomem_tui.store.word_index import LEAST, MOST_LONGER, Statistics, idf, nearest

if TYPE_CHECKING:
    from sqlalchemy import Connection


CANDIDATES = 200
MARKER = "tokens"
"""The named value that says which version of the tokenizer made the index."""
_LAST = "\U0010ffff"
_CHUNK = 1_000
_LONGEST_WORD, _LONGEST_TEXT = 2_000, 900_000
"""Bytes that a server takes at most of a word (2 KB), and of all different words of a text (1 MB)."""

_MAKE = {
    "sqlite": (
        # Every character but a blank is part of a word: our tokenizer cut them, and knows marks that FTS5 drops.
        """CREATE VIRTUAL TABLE memory_entries_fts USING fts5(
            entry_id UNINDEXED, content,
            tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'")""",
        # Parts are merged when there are 16 of a size, not four: a write takes two thirds of the time.
        "INSERT INTO memory_entries_fts (memory_entries_fts, rank) VALUES ('automerge', 16)",
        "CREATE VIRTUAL TABLE memory_words USING fts5vocab(memory_entries_fts, row)",
    ),
    "postgresql": (
        """CREATE TABLE memory_entries_fts (
            number bigint PRIMARY KEY, entry_id text NOT NULL, length integer NOT NULL, words tsvector NOT NULL)""",
        "CREATE INDEX idx_memory_fts ON memory_entries_fts USING gin (words)",
    ),
}
_INSERT = {
    "sqlite": "INSERT INTO memory_entries_fts (rowid, entry_id, content) VALUES (:number, :entry, :words)",
    "postgresql": "INSERT INTO memory_entries_fts (number, entry_id, length, words)"
    " VALUES (:number, :entry, :length, array_to_tsvector(CAST(:words AS text[])))",
}
_DELETE = {
    "sqlite": "DELETE FROM memory_entries_fts WHERE rowid = :number",
    "postgresql": "DELETE FROM memory_entries_fts WHERE number = :number",
}

Accept = Callable[[Item], bool]

AT_ONCE = 2_000
"""Texts that one change takes into an index that is made anew: a tenth of a second."""
_AFTER = " after "
"""Stands in the marker of an index that is being made between its version and the last row that it has."""


class IndexState(NamedTuple):
    """How many memories there are, how many of them the index holds, and whether it is right to ask it."""

    items: int
    indexed: int
    current: bool


# -- asking -----------------------------------------------------------------------------------------------------------


def full_text(of: Reading) -> FullText | None:
    """Return the index, for questions within the `open` block of a reading; None where another version's tokenizer made
    it: the next writer makes it anew."""
    if reading.markers(of).get(MARKER) != str(tokens.VERSION):
        return None
    return ServerFullText(of) if of.on_server else FullText(of)


def index_state(of: Reading) -> IndexState:
    """Return how the index fits the rows; a lack is damage, for both are written in one transaction."""
    with of.open():
        table = "memory_entries_fts" if of.on_server else "memory_entries_fts_docsize"
        ((indexed,),) = of.each(f"SELECT count(*) FROM {table}")
        items = sum(number for *_, number in of.all("item_groups"))
        return IndexState(items, indexed, indexed == items and full_text(of) is not None)


def is_of_another_version(of: Reading) -> bool:
    """Return whether another version's tokenizer made the index, or it is being made anew: that is no damage."""
    with of.open():
        return reading.markers(of).get(MARKER) != str(tokens.VERSION)


class FullText:
    """The full-text index of a file, for one question."""

    def __init__(self, of: Reading) -> None:
        self._reading = of
        self._held: dict[str, int] = {}
        self._sums: tuple[int, int] | None = None

    def statistics(self, words: Iterable[str]) -> Statistics:
        """Return what the scorer needs to know about these words."""
        asked = list(words)
        if new := [word for word in asked if word not in self._held]:
            self._held |= dict.fromkeys(new, 0) | dict(self._counts(new))
        rows, length = self._sums = self._sums or self._totals()
        return Statistics(rows, max(1.0, length / rows) if rows else 1.0, {word: self._held[word] for word in asked})

    def nearest(self, word: str) -> str | None:
        """Find the word with the same first letter that `word` was probably meant to be; None when nothing is near."""
        found = dict(self._words_like(word))
        self._held |= found
        return nearest(word, [*found], found.__getitem__)

    def longer(self, beginning: str) -> list[str]:
        """List the commonest words that begin like that and go on."""
        if len(beginning) < LEAST:
            return []
        return [word for word, _ in self._words_from(beginning)]

    def candidates(self, words: Iterable[str], accept: Accept) -> list[Item]:
        """Return the first accepted rows that hold any of the words, those first that are probably the best."""
        ids = self._ranked(list(words))
        accepted: list[Item] = []
        while len(accepted) < CANDIDATES and (part := [key for (key,) in islice(ids, CANDIDATES)]):
            found = self.rows(part)
            accepted += [found[key] for key in part if key in found and accept(found[key])]
        return accepted[:CANDIDATES]

    def every(self) -> Iterator[Item]:
        """Read the rows that are not deleted, whatever words they hold."""
        return (row for row in reading.rows(self._reading, "item") if isinstance(row, Item) and not row.is_deleted)

    def rows(self, ids: list[str]) -> dict[str, Item]:
        """Return the rows with these ids, by id."""
        return {row.id: row for row in reading.rows(self._reading, "item", ids=ids) if isinstance(row, Item)}

    def _totals(self) -> tuple[int, int]:
        """How many rows there are and how many words they hold: the record that FTS5 keeps for its own bm25."""
        block = next(self._reading.each("SELECT block FROM memory_entries_fts_data WHERE id = 1"), None)
        numbers = list(_varints(block[0])) if block else []
        return (numbers[0], sum(numbers[1:])) if numbers else (0, 0)

    def _counts(self, words: list[str]) -> Iterator[tuple[Any, ...]]:
        asked = "SELECT term, doc FROM memory_words WHERE term IN (SELECT value FROM json_each(:words))"
        return self._reading.each(asked, words=reading.json_list(words))

    def _words_like(self, word: str) -> Iterator[tuple[Any, ...]]:
        asked = (
            "SELECT term, doc FROM memory_words"
            " WHERE term >= :first AND term < :last AND length(term) BETWEEN :a AND :b AND substr(term, -1) <> :part"
        )
        bounds = {"first": word[:1], "last": word[:1] + _LAST, "a": len(word) - 2, "b": len(word) + 2}
        return self._reading.each(asked, **bounds, part=tokens.PART)

    def _words_from(self, beginning: str) -> Iterator[tuple[Any, ...]]:
        asked = (
            "SELECT term, doc FROM memory_words"
            " WHERE term > :first AND term < :last AND substr(term, -1) <> :part ORDER BY doc DESC, term LIMIT :most"
        )
        bounds = {"first": beginning, "last": beginning + _LAST}
        return self._reading.each(asked, **bounds, part=tokens.PART, most=MOST_LONGER)

    def _ranked(self, words: list[str]) -> Iterator[tuple[Any, ...]]:
        if not words:
            return iter(())
        asked = "SELECT entry_id FROM memory_entries_fts WHERE memory_entries_fts MATCH :query ORDER BY rank, rowid"
        return self._reading.each(asked, query=" OR ".join(f'"{word}"' for word in words))


class ServerFullText(FullText):
    """The same on a server. How rare each word is decides which rows are tried first."""

    def _totals(self) -> tuple[int, int]:
        ((count, total),) = self._reading.each("SELECT count(*), coalesce(sum(length), 0) FROM memory_entries_fts")
        return int(count), int(total)

    def _counts(self, words: list[str]) -> Iterator[tuple[Any, ...]]:
        asked = (
            "SELECT asked.word, (SELECT count(*) FROM memory_entries_fts WHERE words @@ CAST(asked.query AS tsquery))"
            " FROM unnest(CAST(:words AS text[]), CAST(:queries AS text[])) AS asked (word, query)"
        )
        short = [word for word in words if _fits(word)]
        return self._reading.each(asked, words=short, queries=[*map(lexeme, short)])

    def _words_like(self, word: str) -> Iterator[tuple[Any, ...]]:
        asked = (
            "SELECT word, ndoc FROM ts_stat('SELECT words FROM memory_entries_fts')"
            " WHERE starts_with(word, :first) AND length(word) BETWEEN :a AND :b AND right(word, 1) <> :part"
        )
        return self._reading.each(asked, first=word[:1], a=len(word) - 2, b=len(word) + 2, part=tokens.PART)

    def _words_from(self, beginning: str) -> Iterator[tuple[Any, ...]]:
        if not _fits(beginning):
            return iter(())
        asked = (
            "SELECT word, ndoc FROM ts_stat(format('SELECT words FROM memory_entries_fts WHERE words @@ %L::tsquery',"
            " CAST(:query AS text))) WHERE starts_with(word, :first) AND word <> :first AND right(word, 1) <> :part"
            ' ORDER BY ndoc DESC, word COLLATE "C" LIMIT :most'
        )
        told = {"query": f"{lexeme(beginning)}:*", "first": beginning, "part": tokens.PART}
        return self._reading.each(asked, **told, most=MOST_LONGER)

    def _ranked(self, words: list[str]) -> Iterator[tuple[Any, ...]]:
        total, _, held = self.statistics(words)
        found = [word for word in words if held[word]]
        if not found:
            return
        worth = " + ".join(
            f"CASE WHEN words @@ CAST(:query{n} AS tsquery) THEN CAST(:worth{n} AS float8) ELSE 0 END"
            for n in range(len(found))
        )
        asked = (
            "SELECT entry_id FROM memory_entries_fts WHERE words @@ CAST(:query AS tsquery)"
            f" ORDER BY {worth} DESC, length, number LIMIT :limit OFFSET :offset"
        )
        values: dict[str, Any] = {"query": " | ".join(map(lexeme, found)), "offset": 0}
        for n, word in enumerate(found):
            values |= {f"query{n}": lexeme(word), f"worth{n}": idf(total, held[word])}
        for power in count():  # nearly always the first part is enough
            values["limit"] = CANDIDATES * 10**power
            part = list(self._reading.each(asked, **values))
            yield from part
            if len(part) < values["limit"]:
                return
            values["offset"] += values["limit"]


def _varints(data: bytes) -> Iterator[int]:
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            yield value
            value = 0


def lexeme(word: str) -> str:
    """A word in a query of a server."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _fits(word: str) -> bool:
    return len(word.encode("utf-8", "replace")) <= _LONGEST_WORD


# -- writing, inside the transaction of a change ----------------------------------------------------------------------


def make_index(connection: Connection) -> None:
    """Make the index of an empty database."""
    from nanomem_tui.store.database import bookkeeping

    for sql in _MAKE[connection.dialect.name]:
        _execute(connection, sql)
    bookkeeping.set_markers(connection, {MARKER: str(tokens.VERSION)})


def add_texts(connection: Connection, texts: Iterable[tuple[int, str, str]]) -> None:
    """Take texts into the index: (number, id, text)."""
    on_server = connection.dialect.name == "postgresql"
    values = []
    for number, key, text in texts:
        words = tokens.index_tokens(text)
        held = fitting_words(words) if on_server else " ".join(words)
        values.append({"number": number, "entry": key, "length": len(words), "words": held})
    if values:
        _execute(connection, _INSERT[connection.dialect.name], values)


def remove_text(connection: Connection, number: int) -> None:
    """Take a text out of the index."""
    _execute(connection, _DELETE[connection.dialect.name], {"number": number})


def drop_removed(connection: Connection) -> None:
    """Write the index of a file anew from what it holds, so that no word of a text that was taken out is left in it."""
    if connection.dialect.name == "sqlite":
        _execute(connection, "INSERT INTO memory_entries_fts (memory_entries_fts) VALUES ('rebuild')")


def renew_index(connection: Connection) -> bool:
    """Go on with making the index anew where another version's tokenizer made the present one; return whether it is
    whole.

    Each change takes some rows into it. Until it has all, nobody asks it (`full_text`); what a change writes or takes
    out is in step already, wherever the making has come to."""
    from nanomem_tui.store.database import queries

    made = reading.markers(queries.within(connection)).get(MARKER, "")
    if made == str(tokens.VERSION):
        return True
    version, _, last = made.partition(_AFTER)
    if version != str(tokens.VERSION):
        _empty(connection)
        last = "0"
    return _take_in(connection, int(last))


def rebuild_index(connection: Connection) -> None:
    """Make the whole index anew from the rows."""
    _empty(connection)
    _take_in(connection, 0, at_once=sys.maxsize)


def _empty(connection: Connection) -> None:
    from nanomem_tui.store.database import postgres

    postgres.act_as_owner(connection)
    if connection.dialect.name == "sqlite":
        _execute(connection, "DROP TABLE IF EXISTS memory_words")
    _execute(connection, "DROP TABLE IF EXISTS memory_entries_fts")
    make_index(connection)


def _take_in(connection: Connection, last: int, at_once: int = AT_ONCE) -> bool:
    """Take the texts of the rows after number `last` into the index, of so many at most; return whether that were all.
    What a change wrote there meanwhile is written once more."""
    from sqlalchemy import select

    from nanomem_tui.store.database import bookkeeping, models

    items = models.table(models.MemoryEntry)
    columns = select(items.c.number, items.c.id, items.c.content).where(items.c.is_deleted == 0)
    while at_once > 0:
        size = min(_CHUNK, at_once)
        part = connection.execute(columns.where(items.c.number > last).order_by(items.c.number).limit(size)).all()
        if part:
            last = part[-1].number
            _execute(connection, _DELETE[connection.dialect.name], [{"number": number} for number, *_ in part])
            add_texts(connection, ((number, key, reading.unescape_nul(content)) for number, key, content in part))
        if len(part) < size:
            bookkeeping.set_markers(connection, {MARKER: str(tokens.VERSION)})
            return True
        at_once -= size
    bookkeeping.set_markers(connection, {MARKER: f"{tokens.VERSION}{_AFTER}{last}"})
    return False


def fitting_words(words: Iterable[str]) -> list[str]:
    """The different words of a text that a server takes."""
    room = _LONGEST_TEXT
    held = []
    for word in dict.fromkeys(words):
        room -= len(word.encode("utf-8", "replace"))
        if room < 0:
            break
        if _fits(word):
            held.append(word)
    return held


def _execute(connection: Connection, sql: str, values: Any = None) -> None:
    from sqlalchemy import text

    connection.execute(text(sql), values)
