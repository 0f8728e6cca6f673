"""Every question that reading asks the database, by name: statements of SQLAlchemy Core, built from the models.

`scripts/statements.py` compiles them for SQLite into `statements`, so that a command that only reads need not import
SQLAlchemy. `CoreReading` runs them as they are: on a server, and inside the transaction of a writer. Must not know what
the answers mean: `reading` does. A list is one parameter, the text of a JSON array.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import (
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    case,
    distinct,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ColumnElement
from sqlalchemy.sql.functions import FunctionElement

from nanomem_tui.store.database.models import (
    FOREIGN,
    ITEMS,
    KEYS,
    MARKERS,
    META,
    OPERATIONS,
    RECORDS,
    TABLES,
    USAGE,
    version_table,
)
from nanomem_tui.store.database.reading import COLUMN_OF, COUNTERS, LARGE
from nanomem_tui.store.values import ROW_TYPES

READ_META = select(META.c.revision, META.c.epoch, META.c.moved_to, META.c.workspace_id)


class _Elements(FunctionElement[str]):
    """The elements of a JSON array of texts, as a table with the column `value`."""

    inherit_cache = True


@compiles(_Elements)
def _on_sqlite(element: _Elements, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **kw)})"


@compiles(_Elements, "postgresql")
def _on_postgres(element: _Elements, compiler: SQLCompiler, **kw: Any) -> str:
    return f"jsonb_array_elements_text(CAST({compiler.process(element.clauses, **kw)} AS jsonb))"


def _among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """The condition that a column is one of the values of a list parameter."""
    return column.in_(select(_Elements(bindparam(name)).table_valued("value").c.value))


def _rows(layer: str) -> Select[Any]:
    """Every column of a layer in the order of its value's fields, counters joined to them."""
    table, kind, counted = TABLES[layer], ROW_TYPES[layer], COUNTERS[layer]
    counters: dict[str, Any] = {"hits": func.coalesce(USAGE.c.hits, 0).label("hits")}
    if layer == "item":
        counters["last_accessed_at"] = func.nullif(USAGE.c.last_at, "").label("last_accessed_at")
    else:
        counters["last_applied_at"] = func.coalesce(USAGE.c.last_at, "").label("last_applied_at")
    columns = [
        counters[name] if name in counted else table.c[COLUMN_OF.get((layer, name), name)] for name in kind._fields
    ]
    if not counted:
        return select(*columns)
    return select(*columns).select_from(table.outerjoin(USAGE, (USAGE.c.layer == layer) & (USAGE.c.id == table.c.id)))


def _rows_of(layer: str) -> dict[str, Select[Any]]:
    table = TABLES[layer]
    return {
        f"{layer}_rows": _rows(layer),
        f"{layer}_rows_since": _rows(layer).where(table.c.revision > bindparam("since")),
        f"{layer}_rows_by_id": _rows(layer).where(_among(table.c.id, "ids")),
    }


_LIGHT = [
    case((OPERATIONS.c.touched <= LARGE, column)).label("changes_json") if column.name == "changes_json" else column
    for column in OPERATIONS.c
]
"""The columns of the log, without the changes of a large operation."""
_LOG = select(*_LIGHT).order_by(OPERATIONS.c.seq.desc())
_NEWEST = _LOG.limit(1)
_ITEM, _LESSON, _RECORD = (table.c.is_deleted == 0 for table in TABLES.values())
"""Conditions: it is not deleted."""
_ITEM_GROUP = (ITEMS.c.kind, ITEMS.c.scope_type, ITEMS.c.source)
_INBOX = '"inbox"'
"""A part of the free fields of each row that waits in the inbox, and of few others."""

STATEMENTS: dict[str, Select[Any] | CompoundSelect[Any]] = {
    # the state of the whole
    "schema": select(version_table("alembic_version").c.version_num),
    "meta": READ_META,
    "markers": select(MARKERS.c.key, MARKERS.c.value),
    "foreign_rows": select(FOREIGN.c.id, FOREIGN.c.raw_json).where(FOREIGN.c.source == bindparam("source")),
    # rows
    **_rows_of("item"),
    **_rows_of("lesson"),
    **_rows_of("record"),
    "counted_since": select(USAGE.c.id).where(
        USAGE.c.layer == bindparam("layer"), USAGE.c.revision > bindparam("since")
    ),
    "items_newest": (
        _rows("item").where(_ITEM).order_by(ITEMS.c.updated_at.desc(), ITEMS.c.id.desc())
        .limit(bindparam("limit")).offset(bindparam("offset"))
    ),
    "items_of_words": _rows("item").where(_ITEM, ITEMS.c.content_hash == bindparam("hash")),
    "lessons_there": _rows("lesson").where(_LESSON),
    "records_of_kind": _rows("record").where(_RECORD, RECORDS.c.kind == bindparam("kind")),
    # counts
    "item_count": select(func.count()).select_from(ITEMS),
    "item_groups": (
        select(*_ITEM_GROUP, ITEMS.c.enabled, func.count()).where(_ITEM).group_by(*_ITEM_GROUP, ITEMS.c.enabled)
    ),
    "item_inbox": (
        select(*_ITEM_GROUP, ITEMS.c.meta_json)
        .where(_ITEM, ITEMS.c.enabled == 0, ITEMS.c.meta_json.contains(_INBOX))
    ),
    "record_groups": (
        select(RECORDS.c.kind, RECORDS.c.source, func.count()).where(_RECORD)
        .group_by(RECORDS.c.kind, RECORDS.c.source)
    ),
    "record_meta": select(RECORDS.c.source, RECORDS.c.meta_json).where(_RECORD, RECORDS.c.kind == bindparam("kind")),
    "record_subjects": (
        select(func.count(distinct(RECORDS.c.about))).where(_RECORD, RECORDS.c.kind == bindparam("kind"))
    ),
    # the log
    "log": _LOG.limit(bindparam("limit")).offset(bindparam("offset")),
    "log_of_key": (
        _LOG.where(OPERATIONS.c.seq.in_(select(KEYS.c.seq).where(KEYS.c.key == bindparam("key"))))
        .limit(bindparam("limit")).offset(bindparam("offset"))
    ),
    "log_touching": (
        _LOG.where(
            OPERATIONS.c.actor == bindparam("actor"),
            OPERATIONS.c.seq.in_(select(KEYS.c.seq).where(_among(KEYS.c.key, "keys"))),
        )
    ),
    "operation": select(*_LIGHT).where(OPERATIONS.c.id == bindparam("id")),
    "operations_known": select(OPERATIONS.c.id).where(_among(OPERATIONS.c.id, "ids")),
    "operation_newest": _NEWEST.where(OPERATIONS.c.kind == bindparam("kind"), OPERATIONS.c.actor == bindparam("actor")),
    "operations_after": select(OPERATIONS).where(OPERATIONS.c.seq > bindparam("seq")).order_by(OPERATIONS.c.seq),
    "operation_count": select(func.count()).where(OPERATIONS.c.seq > bindparam("seq")),
    "operation_changes": select(OPERATIONS.c.changes_json).where(OPERATIONS.c.seq == bindparam("seq")),
    "operation_keys": select(KEYS.c.key).where(KEYS.c.seq == bindparam("seq")),
    "operation_standing": select(KEYS.c.key).where(KEYS.c.seq == bindparam("seq"), KEYS.c.undone == 0),
}  # fmt: skip


# -- asking them through SQLAlchemy -----------------------------------------------------------------------------------


class CoreReading:
    """Any database through SQLAlchemy. `connect` gives a connection in a transaction of its own. Any thread may ask."""

    def __init__(
        self, connect: Callable[[], contextlib.AbstractContextManager[Connection]], where: str = "the database"
    ) -> None:
        self._connect = connect
        self.where = where
        self._here = threading.local()

    @property
    def exists(self) -> bool:
        """See `Reading.exists`."""
        with self.open():
            return bool(inspect(self._here.connection).has_table("meta"))

    @property
    def on_server(self) -> bool:
        """See `Reading.on_server`."""
        return bool(self._here.connection.dialect.name == "postgresql")

    def all(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `Reading.all`."""
        with self.open():
            return [tuple(row) for row in self._here.connection.execute(STATEMENTS[name], values)]

    def each(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """See `Reading.each`."""
        yield from map(tuple, self._here.connection.execute(text(sql), values))

    @contextlib.contextmanager
    def open(self) -> Iterator[CoreReading]:
        """See `Reading.open`. A block within another belongs to that one's transaction."""
        if getattr(self._here, "connection", None) is not None:
            yield self
            return
        with self._connect() as connection:
            self._here.connection = connection
            try:
                yield self
            finally:
                self._here.connection = None

    def kept_open(self) -> contextlib.AbstractContextManager[CoreReading]:
        """See `Reading.kept_open`: the pool keeps the connection."""
        return contextlib.nullcontext(self)


def within(connection: Connection) -> CoreReading:
    """Read in the transaction of a connection of SQLAlchemy."""
    return CoreReading(lambda: contextlib.nullcontext(connection))
