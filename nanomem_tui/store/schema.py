"""How the schema of a database differs from what `migrations` made, and triggers, views and indexes made anew.

A guard that a flipped bit harmed keeps every change from being written; one that somebody exchanged guards nothing.
Goes through the driver alone. Owns what differs and its words; must not know rows.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nanomem_tui.store import migrations, reader, row_queries, sql

CACHE = "vectors"
"""The table of a cache, which whoever writes to it makes anew."""
_WORDS = "memory_entries_fts"
"""The full-text index and the tables that it is kept in: `reindex` makes them anew, under quoted names."""
_REMADE = ("trigger", "view", "index")
_AT_MOST = 100
_OF_AN_INDEX = ("missing from index", "wrong # of entries in index", "non-unique entry in index")

Objects = dict[tuple[str, str], tuple[str, str]]
"""(type, name) → the table that it belongs to, and its SQL."""


class Difference(NamedTuple):
    """One thing of a schema that is not as it was made; `found` and `made`: its SQL, "" where there is none."""

    kind: str
    name: str
    found: str
    made: str

    @property
    def remade(self) -> bool:
        """Whether it holds no rows, so that it can be dropped and made anew."""
        return self.kind in _REMADE

    def line(self) -> str:
        """In words, behind the name of the database."""
        if not self.found:
            return f"lacks {self.kind} {self.name}"
        if not self.made:
            return f"has a {self.kind} {self.name}, which is none of nanomem's: another program put it in"
        return f"its {self.kind} {self.name} is not as it was made"


def differences(connection: sqlite3.Connection) -> list[Difference]:
    """What differs from the schema of its version, tables first; none of a newer one. Raises the driver's errors."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if not 0 < version <= reader.SCHEMA_VERSION:
        return []
    made, found = _made(version), _objects(connection)
    tables = {table for table, _ in made.values()}
    unlike = [
        Difference(kind, name, found.get((kind, name), ("", ""))[1], text)
        for (kind, name), (_, text) in made.items()
        if _one_line(found.get((kind, name), ("", ""))[1]) != _one_line(text)
    ]
    # A trigger of somebody else's decides what is written; a view or an index of his decides nothing.
    strange = [
        Difference(kind, name, text, "")
        for (kind, name), (table, text) in found.items()
        if kind == "trigger" and table in tables and (kind, name) not in made
    ]
    return sorted([*unlike, *strange], key=lambda one: (one.kind != "table", one.kind, one.name))


def is_damaged(connection: sqlite3.Connection) -> str:
    """Why rows may be lost or refused with this schema, which nothing but another database mends; "" when not."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    later = _made(reader.SCHEMA_VERSION).keys() - _made(max(0, min(version, reader.SCHEMA_VERSION))).keys()
    if met := sorted(later & _objects(connection).keys()):
        return f"it says schema {version}, and has the {met[0][0]} {met[0][1]} of a later one"
    tables = [one for one in differences(connection) if one.kind == "table" and one.name != CACHE]
    return tables[0].line() if tables else row_queries.nameless(connection) if version else ""


def put_right(connection: sqlite3.Connection) -> list[Difference]:
    """Make triggers, views and indexes anew in the transaction of `connection`, those of others too; what differed.
    Raises the driver's errors."""
    unlike = [one for one in differences(connection) if one.remade]
    for one in unlike:
        name = one.name.replace('"', '""')
        connection.execute(f'DROP {one.kind.upper()} IF EXISTS "{name}"')
        if one.made:
            connection.execute(one.made)
    return unlike


def of_indexes(verdicts: Iterable[str]) -> tuple[str, ...]:
    """Of what SQLite found wrong with a database, what an index lacks or has otherwise: its table makes it anew."""
    return tuple(verdict for verdict in verdicts if any(sign in verdict for sign in _OF_AN_INDEX))


def integrity(connection: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong: every page is read, and every row looked up in every index. Raises the driver's
    errors."""
    found = [str(verdict) for (verdict,) in connection.execute(f"PRAGMA integrity_check({_AT_MOST})")]
    return [] if found == ["ok"] else found


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _objects(connection: sqlite3.Connection) -> Objects:
    query = "SELECT type, name, tbl_name, CAST(sql AS BLOB) FROM sqlite_master WHERE sql IS NOT NULL"
    rows = connection.execute(query).fetchall()
    return {
        (kind, name): (table, reader.tolerant(text)) for kind, name, table, text in rows if not name.startswith(_WORDS)
    }


@functools.cache
def _made(version: int) -> Objects:
    """What the steps up to a version make."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for number in range(1, version + 1):
            migrations.STEPS[number](connection)
        return _objects(connection)


def lines(connection: sqlite3.Connection) -> Iterator[str]:
    """What differs, each in a line; the table of a cache is none of it."""
    yield from (one.line() for one in differences(connection) if one.name != CACHE)
    if sql.schema_version(connection) and (reason := row_queries.nameless(connection)):
        yield reason
