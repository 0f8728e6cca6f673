"""Full-text indexes over the records of work and over the knowledge base: FTS5 in a file, `tsvector` on a server.

Make them, and keep them in step with the rows inside the transaction of a writer. They hold what our own tokenizer
makes of a text. `search` asks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    text,
)

from nanomem_tui.language import tokens
from nanomem_tui.store.database.full_text import fitting_words, lexeme
from nanomem_tui.store.work.kinds import KINDS, Kind, Tier
from nanomem_tui.store.work.values import Chunk, TierRecord, words_of

# Every character but a blank is part of a word: our tokenizer cut them, and knows marks that FTS5 drops.
_TOKENIZE = "tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'\""


def make_indexes(connection: Connection) -> None:
    """Make the indexes, empty."""
    names = [f"{kind.table}_words" for kind in KINDS.values() if kind.words]
    if is_file(connection):
        for name in names:
            how = f"words, detail=none, columnsize=0, {_TOKENIZE}"
            _execute(connection, f"CREATE VIRTUAL TABLE {name} USING fts5({how})")
        _execute(connection, f"CREATE VIRTUAL TABLE knowledge_words USING fts5(title, section, words, {_TOKENIZE})")
        _execute(connection, "CREATE VIRTUAL TABLE knowledge_terms USING fts5vocab(knowledge_words, row)")
        return
    for name in (*names, "knowledge_words"):
        _execute(connection, f"CREATE TABLE {name} (number bigint PRIMARY KEY, words tsvector NOT NULL)")
        _execute(connection, f"CREATE INDEX idx_{name} ON {name} USING gin (words)")


def drop_indexes(connection: Connection) -> None:
    """Let the indexes go, to be made anew."""
    for name in ("knowledge_terms", "knowledge_words", *(f"{kind.table}_words" for kind in KINDS.values())):
        _execute(connection, f"DROP TABLE IF EXISTS {name}")


def add(connection: Connection, kind: Kind, rows: Iterable[tuple[int, TierRecord]]) -> None:
    """Take records, each with its number, into the index of their kind. Their tier is a word of theirs: which rows of a
    tier hold a word is asked of the index alone."""
    words = ((number, [tier_word(record.tier), *words_of(record)]) for number, record in rows)
    if is_file(connection):
        sql = f"INSERT INTO {kind.table}_words (rowid, words) VALUES (:number, :words)"
        values = [{"number": number, "words": " ".join(said)} for number, said in words]
    else:
        sql = f"INSERT INTO {kind.table}_words VALUES (:number, array_to_tsvector(CAST(:words AS text[])))"
        values = [{"number": number, "words": fitting_words(said)} for number, said in words]
    if values:
        _execute(connection, sql, values)


def remove(connection: Connection, table: str, number: int) -> None:
    """Take a record, or a chunk of `knowledge`, out of its index."""
    _execute(connection, f"DELETE FROM {table}_words WHERE {key_column(connection)} = :number", {"number": number})


def tier_word(tier: Tier) -> str:
    return f"={tier}"  # no word that our tokenizer makes begins so


def add_chunks(connection: Connection, rows: Iterable[tuple[int, str, Chunk]]) -> None:
    """Take chunks into the index: number, the title of the document with what it is about, and the chunk."""
    cut = [
        (number, tokens.tokens(title), tokens.tokens(one.section), tokens.tokens(one.text))
        for number, title, one in rows
    ]
    if is_file(connection):
        sql = "INSERT INTO knowledge_words (rowid, title, section, words) VALUES (:number, :title, :section, :words)"
        values = [
            {"number": number, "title": " ".join(title), "section": " ".join(section), "words": " ".join(words)}
            for number, title, section, words in cut
        ]
    else:
        sql = "INSERT INTO knowledge_words VALUES (:number, CAST(:words AS tsvector))"
        values = [{"number": number, "words": _weighed(title, section, words)} for number, title, section, words in cut]
    if values:
        _execute(connection, sql, values)


def _weighed(title: Sequence[str], section: Sequence[str], words: Sequence[str]) -> str:
    """A vector in which a word's weight says where it stands: A in the title, B in the section."""
    held = []
    parts = (("1A", frozenset(title)), ("2B", frozenset(section)), ("3", frozenset(words)))
    for word in fitting_words([*title, *section, *words]):
        places = [place for place, part in parts if word in part]
        held.append(f"{lexeme(word)}:{','.join(places)}")
    return " ".join(held)


def drop_removed(connection: Connection) -> None:
    """Write the indexes of a file anew from what they hold, so that no word of a text that was taken out is left."""
    if is_file(connection):
        for name in ("knowledge", *(kind.table for kind in KINDS.values() if kind.words)):
            _execute(connection, f"INSERT INTO {name}_words ({name}_words) VALUES ('rebuild')")


def is_file(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def key_column(connection: Connection) -> str:
    return "rowid" if is_file(connection) else "number"


def _execute(connection: Connection, sql: str, values: Any = None) -> None:
    connection.execute(text(sql), values)
