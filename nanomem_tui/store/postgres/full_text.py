"""The words of a store in PostgreSQL, with the face of `search.FullText`: a `tsvector` beside each item under a GIN
index, and a table of how many rows hold each word. One connection, for one question.

What the server gives are candidates, by words and length; they are rated as everywhere by who asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from nanomem_tui.store import item_words, reader
from nanomem_tui.store.vocabulary import LEAST, MOST_LONGER, nearest
from nanomem_tui.store.word_index import Statistics, idf

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection
    from nanomem_tui.store.values import Item

CANDIDATES = 200
SHORTER = 0.4
"""How much the length of a row counts, as in BM25."""


class PgFullText:
    """The words of the items of one workspace."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id

    def statistics(self, words: Iterable[str]) -> Statistics:
        """What the scorer needs to know about these words."""
        count, length = self._sums()
        return Statistics(count, max(1.0, length / count) if count else 1.0, self._held(list(words)))

    def rows_with(self, word: str) -> int:
        """How many rows hold the word."""
        return self._held([word])[word]

    def _held(self, words: list[str]) -> dict[str, int]:
        found = dict.fromkeys(words, 0)
        if words:
            marks = ", ".join("?" * len(words))
            query = f"SELECT word, held FROM memory_words WHERE workspace_id = ? AND word IN ({marks})"
            found |= dict(self._connection.execute(query, (self._workspace_id, *words)).fetchall())
        return found

    def _sums(self) -> tuple[int, int]:
        meta = reader.meta(self._connection, self._workspace_id)
        return int(meta.get(item_words.ROWS, 0)), int(meta.get(item_words.LENGTH, 0))

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
        """The first accepted rows that hold any of the words, those with the rarer words in shorter texts first."""
        held = {word: number for word, number in self._held(list(dict.fromkeys(words))).items() if number > 0}
        if not held:
            return []
        count, length = self._sums()
        mean = max(1.0, length / count) if count else 1.0
        worth = {word: idf(max(count, number), number) for word, number in held.items()}
        rank = " + ".join(["CASE WHEN words @@ CAST(? AS tsquery) THEN CAST(? AS float8) ELSE 0 END"] * len(worth))
        query = (
            "SELECT id FROM memory_entries WHERE workspace_id = ? AND words @@ CAST(? AS tsquery) AND is_deleted = 0"
            f" ORDER BY ({rank}) / ({1 - SHORTER} + {SHORTER} * length / CAST(? AS float8)) DESC, number"
            " LIMIT ? OFFSET ?"
        )
        each = [value for word, much in worth.items() for value in (item_words.quoted(word), much)]
        any_of = " | ".join(map(item_words.quoted, worth))
        accepted: list[Item] = []
        seen, size = 0, CANDIDATES
        while len(accepted) < CANDIDATES:
            values = (self._workspace_id, any_of, *each, mean, size, seen)
            part = [row[0] for row in self._connection.execute(query, values)]
            found = reader.items_by_id(self._connection, self._workspace_id, part)
            accepted += [found[key] for key in part if key in found and accept(found[key])]
            if len(part) < size:
                break
            seen, size = seen + size, size * 10
        return accepted[:CANDIDATES]
