"""The full-text index of items, in step with their rows: FTS5 in SQLite; in PostgreSQL which items hold a word, and how
many do. Both hold what our own tokenizer makes of a text.

Owns what a checkpoint writes for it. Must not know how it is searched (`search`, `postgres.full_text`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nanomem_tui import tokens
from nanomem_tui.store import sql
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

MOST_OF_A_WORD = 1_000
"""Bytes beyond which a word is in no index: a key of PostgreSQL has 2,704 at most."""
ROWS, LENGTH = "posted_rows", "posted_length"
"""The markers of how many rows the index of a server has, and how many words they hold."""
RUN = "words_anew"
"""That of who makes it anew."""


class Changed(NamedTuple):
    """An item that is written: its number, and what it was, None for a new one."""

    number: int
    before: Item | None
    after: Item

    @property
    def is_due(self) -> bool:
        """Whether its words, or that it has any, changed."""
        old = self.before
        return old is None or old.text != self.after.text or old.is_deleted != self.after.is_deleted


class ItemWords(Protocol):
    """What a checkpoint asks of an index."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns beside those of an item that a row has for it."""

    def values(self, item: Item) -> tuple[Any, ...]:
        """What stands in these."""

    def named(self, changed: Sequence[str]) -> tuple[str, ...]:
        """Which of the columns an update of these columns of an item has to name."""

    def write(self, connection: Connection, workspace_id: str, changed: Iterable[Changed], *, current: bool) -> None:
        """Bring the rest of the index into step with items that were written. Not `current`: another version's
        tokenizer made it, and it is made anew later; what is gone goes from it all the same."""


def of(connection: Connection) -> ItemWords:
    """The index that a database has."""
    return _Fts() if sql.is_sqlite(connection) else _Postings()


def clear(connection: Connection, workspace_id: str) -> None:
    """Take every item of a workspace out of the index."""
    if sql.is_sqlite(connection):
        numbers = "SELECT number FROM memory_entries WHERE workspace_id = ?"
        connection.execute(f"DELETE FROM memory_entries_fts WHERE rowid IN ({numbers})", (workspace_id,))
        return
    from nanomem_tui.store.postgres.schema import ITEM_WORDS

    for table in ITEM_WORDS:
        connection.execute(f"DELETE FROM {table} WHERE workspace_id = ?", (workspace_id,))
    sums = [(f"{workspace_id}:{name}",) for name in (ROWS, LENGTH)]
    connection.executemany("DELETE FROM memory_meta WHERE key = ?", sums)


class _Fts:
    columns: tuple[str, ...] = ()

    def values(self, item: Item) -> tuple[Any, ...]:
        return ()

    def named(self, changed: Sequence[str]) -> tuple[str, ...]:
        return ()

    def write(self, connection: Connection, workspace_id: str, changed: Iterable[Changed], *, current: bool) -> None:
        due = [one for one in changed if one.is_due]
        stale = [(one.number,) for one in due if one.before is not None]
        connection.executemany("DELETE FROM memory_entries_fts WHERE rowid = ?", stale)
        connection.executemany(
            "INSERT INTO memory_entries_fts(rowid, entry_id, content) VALUES (?, ?, ?)",
            [(one.number, one.after.id, " ".join(words_of(one.after))) for one in due if current and _has(one.after)],
        )


class _Postings:
    columns = ("waits", "length")

    def values(self, item: Item) -> tuple[Any, ...]:
        return item.waits, len(words_of(item))

    def named(self, changed: Sequence[str]) -> tuple[str, ...]:
        words = ("length",) if {"content", "is_deleted"} & set(changed) else ()
        return (*(("waits",) if {"enabled", "meta_json"} & set(changed) else ()), *words)

    def write(self, connection: Connection, workspace_id: str, changed: Iterable[Changed], *, current: bool) -> None:
        from nanomem_tui.store.postgres import postings

        if not current:
            return
        held: Counter[str] = Counter()
        rows = length = 0
        places: list[postings.Changed] = []
        for one in changed:
            if one.is_due:
                before, after = (kept(words_of(item)) if item is not None else [] for item in (one.before, one.after))
                places.append(postings.Changed(one.number, before, after))
                held.subtract(set(before))
                held.update(set(after))
                rows += _has(one.after) - _has(one.before)
                length += len(after) - len(before)
        postings.write(connection, workspace_id, places)
        count(connection, workspace_id, held, rows, length)


def count(connection: Connection, workspace_id: str, held: Counter[str], rows: int, length: int) -> None:
    """Add to how many rows hold each word, and to the sums over all of them."""
    changed = {word: number for word, number in sorted(held.items()) if number}
    if changed:
        connection.execute(
            "INSERT INTO memory_words (workspace_id, word, held) SELECT ?, u.*"
            " FROM unnest(CAST(? AS text[]), CAST(? AS bigint[])) AS u"
            " ON CONFLICT (workspace_id, word) DO UPDATE SET held = memory_words.held + excluded.held",
            (workspace_id, [*changed], [*changed.values()]),
        )
    if fewer := [word for word, number in changed.items() if number < 0]:
        gone = "DELETE FROM memory_words WHERE workspace_id = ? AND word = ANY(CAST(? AS text[])) AND held <= 0"
        connection.execute(gone, (workspace_id, fewer))
    sums = [(f"{workspace_id}:{name}", str(number)) for name, number in ((ROWS, rows), (LENGTH, length)) if number]
    connection.executemany(
        "INSERT INTO memory_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value ="
        " CAST(CAST(memory_meta.value AS bigint) + CAST(excluded.value AS bigint) AS text)",
        sums,
    )


def words_of(item: Item) -> list[str]:
    """The words of an item in the index; a deleted one has none."""
    return tokens.tokens(item.text) if _has(item) else []


def kept(words: Iterable[str]) -> list[str]:
    """Those of some words that a server's index takes up."""
    return [word for word in words if len(word.encode("utf-8", "replace")) <= MOST_OF_A_WORD and "\0" not in word]


def _has(item: Item | None) -> bool:
    """Whether an item is in the index at all."""
    return item is not None and not item.is_deleted
