"""The rows of a layer as the database is asked for them. SQLite lets a value of any type into any column: each comes as
one of its column's type, and with a hash that fits nothing where it is none. A server lets none in.
"""

from __future__ import annotations

import functools

from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.values import ROW_TYPES, Item, Lesson, Record

ITEM_COLUMNS = tuple("content" if name == "text" else name for name in Item._fields)
LESSON_COLUMNS = Lesson._fields
RECORD_COLUMNS = Record._fields
ROW_TABLES = {"item": "memory_entries", "lesson": "lessons", "record": "records"}
"""The table of each layer of rows."""
_CASTS = {"int": "INTEGER", "bool": "INTEGER", "float": "REAL"}
_FITS = {
    "int": "typeof({0}) = 'integer'", "bool": "(typeof({0}) = 'integer' AND {0} IN (0, 1))",
    "float": "typeof({0}) IN ('real', 'integer')", "str": "typeof({0}) = 'text'",
    "str | None": "typeof({0}) IN ('text', 'null')",
}  # fmt: skip
_KEPT = {"item": ("content_norm", "content_hash")}
"""What else stands beside a row."""


def row_tables(connection: Connection) -> list[str]:
    """The tables of rows that a database of its schema has."""
    return [table for table in ROW_TABLES.values() if table != "records" or sql.schema_version(connection) >= 2]


def asked(connection: Connection, layer: str) -> str:
    """The query for the rows of a layer, in the order of its fields."""
    return _asked(layer, sql.is_sqlite(connection))


@functools.cache
def _asked(layer: str, is_sqlite: bool) -> str:
    names = [
        f"CAST({name} AS {_CASTS.get(kind, 'TEXT')})" if is_sqlite else name for name, kind in _columns(layer).items()
    ]
    return f"SELECT {', '.join(names)} FROM {ROW_TABLES[layer]} WHERE workspace_id = ?"


def hashed(connection: Connection, layer: str) -> str:
    """The hash that a row was written with, as SQL; "" where a value is none of its column's type."""
    return _hashed(layer) if sql.is_sqlite(connection) else "row_hash"


@functools.cache
def _hashed(layer: str) -> str:
    columns = _columns(layer) | dict.fromkeys(_KEPT.get(layer, ()), "str")
    fit = " AND ".join(_FITS[kind].format(name) for name, kind in columns.items())
    return f"CASE WHEN {fit} THEN row_hash ELSE '' END"


def _columns(layer: str) -> dict[str, str]:
    """The columns of a layer, with the type that the field of each has."""
    named = ROW_TYPES[layer].__annotations__.items()
    kinds = {name: str(getattr(kind, "__forward_arg__", kind)) for name, kind in named}
    return {"content" if name == "text" and layer == "item" else name: kind for name, kind in kinds.items()}


def nameless(connection: Connection) -> str:
    """What a row has in the place of its id or its number that is none, so that no change can reach it, or none be
    written; "" where no row has. Raises the driver's errors."""
    for table in row_tables(connection):
        wrong = ["typeof(workspace_id) <> 'text'", "typeof(id) <> 'text'"]
        if table == "memory_entries":
            wrong.append(f"typeof(number) <> 'integer' OR number NOT BETWEEN 0 AND {sql.HIGHEST}")
        query = f"SELECT 1 FROM {table} NOT INDEXED WHERE {' OR '.join(wrong)} LIMIT 1"
        if connection.execute(query).fetchone() is not None:
            return f"a row of {table} has an id or a number that is none"
    return ""
