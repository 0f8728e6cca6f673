"""Rows of the database as values, and values as rows: which column holds which field, and the words of the index.

Owns the mapping between `Item`, `Lesson` and `Record` and their tables, for both databases. Counters (hits, last use)
are fields of the values and rows of `usage`. Beside the rows stand named values, and what is remembered of an agent's
files. Every function works inside the transaction of its caller. Must not decide what may be written: `store.Store`
does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Insert, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from nanomem_tui.core.text import normalised
from nanomem_tui.store.database import full_text, queries, reading
from nanomem_tui.store.database.models import ITEMS, TABLES, USAGE
from nanomem_tui.store.database.reading import COLUMN_OF, COUNTERS, TRUTHS, escape_nul
from nanomem_tui.store.values import AnyRow, Item

_LAST_NUMBER = select(func.coalesce(func.max(ITEMS.c.number), 0))
_NUMBER_OF = select(ITEMS.c.number).where(ITEMS.c.id == bindparam("entry"))


def read(
    connection: Connection, layer: str, *, since: int | None = None, ids: Sequence[str] | None = None
) -> Iterator[AnyRow]:
    """See `reading.rows`."""
    return reading.rows(queries.within(connection), layer, since=since, ids=ids)


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
        full_text.add_texts(
            connection, [(n, row.id, row.text) for n, row in numbered if isinstance(row, Item) and not row.is_deleted]
        )


def update_row(connection: Connection, layer: str, row: AnyRow, fields: Iterable[str]) -> None:
    """Write these fields of a row that is there, and its revision."""
    named = {name: value for name, value in row._asdict().items() if name in fields or name == "revision"}
    values = _to_columns(layer, named)
    connection.execute(update(TABLES[layer]).where(TABLES[layer].c.id == row.id).values(values))
    if isinstance(row, Item) and {"text", "is_deleted"} & set(fields):
        number = connection.execute(_NUMBER_OF, {"entry": row.id}).scalar_one()
        full_text.remove_text(connection, number)
        if not row.is_deleted:
            full_text.add_texts(connection, [(number, row.id, row.text)])


def delete_rows(connection: Connection, layer: str, ids: Sequence[str]) -> None:
    """Delete rows for good, with their counters and their words in the full-text index."""
    if not ids:
        return
    for key in ids if layer == "item" else ():
        full_text.remove_text(connection, connection.execute(_NUMBER_OF, {"entry": key}).scalar_one())
    for table, column in ((TABLES[layer], TABLES[layer].c.id), (USAGE, USAGE.c.id)):
        here = column == bindparam("of")
        deleted = delete(table).where(here & (USAGE.c.layer == layer) if table is USAGE else here)
        connection.execute(deleted, [{"of": key} for key in ids])


def add_counts(connection: Connection, revision: int, counts: Mapping[tuple[str, str], tuple[int, str]]) -> None:
    """Add to counters: (layer, id) → how many hits more, and the time of the last."""
    more = [
        {"layer": layer, "id": key, "hits": hits, "last_at": last_at, "revision": revision}
        for (layer, key), (hits, last_at) in counts.items()
    ]
    if more:
        connection.execute(_adding(connection.dialect.name), more)


@cache
def _adding(dialect: str) -> Insert:
    """One statement for all counters: each of its own costs ten times what the database needs."""
    is_file = dialect == "sqlite"
    adding = (sqlite.insert if is_file else postgresql.insert)(USAGE)
    later = (func.max if is_file else func.greatest)(USAGE.c.last_at, adding.excluded.last_at)
    return adding.on_conflict_do_update(
        index_elements=[USAGE.c.layer, USAGE.c.id],
        set_={"hits": USAGE.c.hits + adding.excluded.hits, "last_at": later, "revision": adding.excluded.revision},
    )


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
    return escape_nul(value) if isinstance(value, str) else value
