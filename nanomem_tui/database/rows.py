"""Rows of the database as values, and values as rows: which column holds which field, and the words of the index.

Owns the mapping between `Item`, `Lesson` and `Record` and their tables, for both databases. Counters (hits, last use)
are fields of the values and rows of `usage`. Must not decide what may be written: `operations` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Insert, bindparam, delete, func, insert, select, update

from nanomem_tui.database import models, reading, search
from nanomem_tui.database.reading import COLUMN_OF, COUNTERS, TRUTHS, escaped
from nanomem_tui.store.values import AnyRow, Item
from nanomem_tui.text import normalised

ITEMS = models.table(models.MemoryEntry)
LESSONS = models.table(models.LessonRow)
RECORDS = models.table(models.RecordRow)
USAGE = models.table(models.UsageRow)
TABLES = {"item": ITEMS, "lesson": LESSONS, "record": RECORDS}

_LAST_NUMBER = select(func.coalesce(func.max(ITEMS.c.number), 0))
_NUMBER_OF = select(ITEMS.c.number).where(ITEMS.c.id == bindparam("entry"))


def read(
    connection: Connection, layer: str, *, since: int | None = None, ids: Sequence[str] | None = None
) -> Iterator[AnyRow]:
    """See `reading.rows`."""
    return reading.rows(reading.within(connection), layer, since=since, ids=ids)


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
    if layer == "item":
        numbered = enumerate(rows, last + 1)
        search.add(
            connection, [(n, row.id, row.text) for n, row in numbered if isinstance(row, Item) and not row.is_deleted]
        )


def update_row(connection: Connection, layer: str, row: AnyRow, fields: Iterable[str]) -> None:
    """Write these fields of a row that is there, and its revision."""
    named = {name: value for name, value in row._asdict().items() if name in fields or name == "revision"}
    values = _to_columns(layer, named)
    connection.execute(update(TABLES[layer]).where(TABLES[layer].c.id == row.id).values(values))
    if isinstance(row, Item) and {"text", "is_deleted"} & set(fields):
        number = connection.execute(_NUMBER_OF, {"entry": row.id}).scalar_one()
        search.remove(connection, number)
        if not row.is_deleted:
            search.add(connection, [(number, row.id, row.text)])


def delete_rows(connection: Connection, layer: str, ids: Sequence[str]) -> None:
    """Delete rows for good, with their counters and their words in the full-text index."""
    if not ids:
        return
    for key in ids if layer == "item" else ():
        search.remove(connection, connection.execute(_NUMBER_OF, {"entry": key}).scalar_one())
    for table, column in ((TABLES[layer], TABLES[layer].c.id), (USAGE, USAGE.c.id)):
        here = column == bindparam("of")
        deleted = delete(table).where(here & (USAGE.c.layer == layer) if table is USAGE else here)
        connection.execute(deleted, [{"of": key} for key in ids])


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
def _insert(layer: str) -> Insert:
    return insert(TABLES[layer])


def _to_columns(layer: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        COLUMN_OF.get((layer, name), name): _to_column(name, value)
        for name, value in fields.items()
        if name not in COUNTERS[layer]
    }
    if layer == "item" and "content" in values:
        words = normalised(fields["text"])
        values["content_norm"] = _to_column("text", words)
        values["content_hash"] = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return values


def _to_column(name: str, value: Any) -> Any:
    if name in TRUTHS:
        return int(value)
    return escaped(value) if isinstance(value, str) else value
