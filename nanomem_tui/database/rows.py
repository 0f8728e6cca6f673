"""Rows of the database as values, and values as rows: which column holds which field, and the words of the index.

Owns the mapping between `Item`, `Lesson` and `Record` and their tables, for both databases. Counters (hits, last use)
are fields of the values and rows of `usage`. Must not decide what may be written: `operations` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Insert, Select, bindparam, delete, func, insert, literal_column, select, text, update

from nanomem_tui import tokens
from nanomem_tui.database import models
from nanomem_tui.store.values import ROW_TYPES, AnyRow, Item
from nanomem_tui.text import normalised

ITEMS = models.table(models.MemoryEntry)
LESSONS = models.table(models.LessonRow)
RECORDS = models.table(models.RecordRow)
USAGE = models.table(models.UsageRow)
TABLES = {"item": ITEMS, "lesson": LESSONS, "record": RECORDS}

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "item": ("hits", "last_accessed_at"), "lesson": ("hits", "last_applied_at"), "record": (),
}  # fmt: skip
"""The fields of each kind that are counters, in the order of the columns `hits`, `last_at` of `usage`."""
_COLUMN_OF = {"item": {"text": "content"}, "lesson": {}, "record": {}}
_TRUTHS = frozenset({"enabled", "pinned", "is_deleted"})
_CHUNK = 500
_NUL, _ESCAPE = "\0", "\U0010fffe"
"""A server takes no NUL in a text. It is stored as the escape and `0`, the escape itself as the escape and `1`."""
_LAST_NUMBER = select(func.coalesce(func.max(ITEMS.c.number), 0))
_NUMBER_OF = select(ITEMS.c.number).where(ITEMS.c.id == bindparam("entry"))
_FTS_INSERT = text("INSERT INTO memory_entries_fts (rowid, entry_id, content) VALUES (:number, :entry, :words)")
_FTS_DELETE = text("DELETE FROM memory_entries_fts WHERE rowid = :number")


def read(
    connection: Connection, layer: str, *, since: int | None = None, ids: Sequence[str] | None = None
) -> Iterator[AnyRow]:
    """Read the rows of a layer: all of them, those written after revision `since`, or those of `ids`."""
    if ids is not None:
        for part in _chunks(ids):
            yield from _values(connection.execute(_select_ids(layer), {"ids": part}), layer)
    elif since is not None:
        yield from _values(connection.execute(_select_since(layer), {"since": since}), layer)
    else:
        yield from _values(connection.execute(_select(layer)), layer)


def insert_rows(connection: Connection, layer: str, rows: Sequence[AnyRow]) -> None:
    """Insert rows; those of items go into the full-text index too."""
    if not rows:
        return
    values = [_to_columns(layer, row._asdict()) for row in rows]
    if layer == "item":
        last = connection.execute(_LAST_NUMBER).scalar_one()
        for number, each in enumerate(values, last + 1):
            each["number"] = number
    connection.execute(_insert(layer), values)
    _add_brought_counts(connection, layer, rows)
    if layer == "item" and _has_fts(connection):
        added = [
            {"number": number, "entry": row.id, "words": " ".join(tokens.tokens(row.text))}
            for number, row in enumerate(rows, last + 1)
            if isinstance(row, Item) and not row.is_deleted
        ]
        if added:
            connection.execute(_FTS_INSERT, added)


def update_row(connection: Connection, layer: str, row: AnyRow, fields: Iterable[str]) -> None:
    """Write these fields of a row that is there, and its revision."""
    named = {name: value for name, value in row._asdict().items() if name in fields or name == "revision"}
    values = _to_columns(layer, named)
    connection.execute(update(TABLES[layer]).where(TABLES[layer].c.id == row.id).values(values))
    if isinstance(row, Item) and {"text", "is_deleted"} & set(fields) and _has_fts(connection):
        number = connection.execute(_NUMBER_OF, {"entry": row.id}).scalar_one()
        connection.execute(_FTS_DELETE, {"number": number})
        if not row.is_deleted:
            words = " ".join(tokens.tokens(row.text))
            connection.execute(_FTS_INSERT, {"number": number, "entry": row.id, "words": words})


def delete_rows(connection: Connection, layer: str, ids: Sequence[str]) -> None:
    """Delete rows for good, with their counters and their words in the full-text index."""
    if not ids:
        return
    if layer == "item" and _has_fts(connection):
        for key in ids:
            number = connection.execute(_NUMBER_OF, {"entry": key}).scalar_one()
            connection.execute(_FTS_DELETE, {"number": number})
    for table, column in ((TABLES[layer], TABLES[layer].c.id), (USAGE, USAGE.c.id)):
        here = column == bindparam("of")
        deleted = delete(table).where(here & (USAGE.c.layer == layer) if table is USAGE else here)
        connection.execute(deleted, [{"of": key} for key in ids])


def rebuild_index(connection: Connection) -> None:
    """Write the full-text index anew, so that no word of a row that is gone is left in it."""
    if _has_fts(connection):
        connection.execute(text("INSERT INTO memory_entries_fts (memory_entries_fts) VALUES ('rebuild')"))


def add_counts(connection: Connection, revision: int, counts: Mapping[tuple[str, str], tuple[int, str]]) -> None:
    """Add to counters: (layer, id) → how many hits more, and the time of the last."""
    for (layer, key), (hits, last_at) in counts.items():
        found = connection.execute(
            update(USAGE)
            .where(USAGE.c.layer == layer, USAGE.c.id == key)
            .values(hits=USAGE.c.hits + hits, last_at=_later(connection, last_at), revision=revision)
        )
        if not found.rowcount:
            row = {"layer": layer, "id": key, "hits": hits, "last_at": last_at, "revision": revision}
            connection.execute(insert(USAGE), row)


def counted_since(connection: Connection, layer: str, revision: int) -> list[str]:
    """List the ids whose counters were saved after a revision."""
    asked = select(USAGE.c.id).where(USAGE.c.layer == layer, USAGE.c.revision > revision)
    return list(connection.execute(asked).scalars())


def _later(connection: Connection, last_at: str) -> Any:
    """The later of the time in the row and another one; SQLite calls that `max`."""
    greatest = func.max if connection.dialect.name == "sqlite" else func.greatest
    return greatest(USAGE.c.last_at, last_at)


def _add_brought_counts(connection: Connection, layer: str, rows: Sequence[AnyRow]) -> None:
    """Save counters that rows bring along from elsewhere, such as an import."""
    if not COUNTERS[layer]:
        return
    hits, last = COUNTERS[layer]
    brought = {
        (layer, row.id): (getattr(row, hits), getattr(row, last) or "")
        for row in rows
        if getattr(row, hits) or getattr(row, last)
    }
    add_counts(connection, rows[0].revision, brought)


@cache
def _select(layer: str) -> Select[Any]:
    """Every column of a layer in the order of its value's fields, counters joined to them."""
    table, kind, counted = TABLES[layer], ROW_TYPES[layer], COUNTERS[layer]
    columns: list[Any] = []
    for name in kind._fields:
        if name not in counted:
            columns.append(table.c[_COLUMN_OF[layer].get(name, name)])
        elif name == "hits":
            columns.append(func.coalesce(USAGE.c.hits, 0))
        else:
            columns.append(func.coalesce(USAGE.c.last_at, literal_column("''")))
    if not counted:
        return select(*columns)
    joined = table.outerjoin(USAGE, (USAGE.c.layer == literal_column(f"'{layer}'")) & (USAGE.c.id == table.c.id))
    return select(*columns).select_from(joined)


@cache
def _select_ids(layer: str) -> Select[Any]:
    return _select(layer).where(TABLES[layer].c.id.in_(bindparam("ids", expanding=True)))


@cache
def _select_since(layer: str) -> Select[Any]:
    return _select(layer).where(TABLES[layer].c.revision > bindparam("since"))


@cache
def _insert(layer: str) -> Insert:
    return insert(TABLES[layer])


def _values(found: Iterable[Any], layer: str) -> Iterator[AnyRow]:
    kind = ROW_TYPES[layer]
    truths = [kind._fields.index(name) for name in kind._fields if name in _TRUTHS]
    accessed = kind._fields.index("last_accessed_at") if layer == "item" else -1
    for row in found:
        values = list(row)
        for place in truths:
            values[place] = bool(values[place])
        if accessed >= 0:
            values[accessed] = values[accessed] or None
        if any(isinstance(value, str) and _ESCAPE in value for value in values):
            values = [unescaped(value) if isinstance(value, str) else value for value in values]
        yield kind._make(values)


def _to_columns(layer: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        _COLUMN_OF[layer].get(name, name): _to_column(name, value)
        for name, value in fields.items()
        if name not in COUNTERS[layer]
    }
    if layer == "item" and "content" in values:
        words = normalised(fields["text"])
        values["content_norm"] = _to_column("text", words)
        values["content_hash"] = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return values


def _to_column(name: str, value: Any) -> Any:
    if name in _TRUTHS:
        return int(value)
    return escaped(value) if isinstance(value, str) else value


def escaped(text: str) -> str:
    """Return a text as both databases take it: without NUL."""
    if _NUL not in text and _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE, f"{_ESCAPE}1").replace(_NUL, f"{_ESCAPE}0")


def unescaped(text: str) -> str:
    """Return the text that `escaped` was given."""
    return text.replace(f"{_ESCAPE}0", _NUL).replace(f"{_ESCAPE}1", _ESCAPE)


def make_index(connection: Connection) -> None:
    """Make the full-text index of an empty database: FTS5 in SQLite; a server has a column for it."""
    if _has_fts(connection):
        connection.execute(text("CREATE VIRTUAL TABLE memory_entries_fts USING fts5(entry_id UNINDEXED, content)"))


def _has_fts(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def _chunks(ids: Sequence[str] | None) -> Iterator[list[str]]:
    for start in range(0, len(ids or ()), _CHUNK):
        yield list(ids or ())[start : start + _CHUNK]
