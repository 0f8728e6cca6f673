"""What is wrong with the database of a workspace, and what `nanomem doctor --fix` does about it (SQLite).

Structural damage is found by SQLite's own check of every page and index. A bit that flipped inside a text is found
where an operation or a copy says what the text was.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import inspect, select
from sqlalchemy.schema import CreateIndex

from nanomem_tui.core.errors import DiskFull, NanomemError, Problem
from nanomem_tui.store import driver_errors, models, operations, oplog, rows
from nanomem_tui.store.engine import SqliteDatabase
from nanomem_tui.store.snapshot import NOT_COMPARED
from nanomem_tui.store.values import AnyRow

_MOST = 20
MISSING = ""
"""Stands for the field of a row that is not there at all."""
FIX = "`nanomem doctor --fix` makes it anew from the newest copy and the operations since, and keeps this file"
NO_COPY = (
    "no copy of it is whole: restore a backup (`nanomem backup list`), or move the folder of nanomem's data away, so "
    "that the agent's own files are read anew; the history is lost then"
)


def problems(database: SqliteDatabase, copies: list[Path]) -> Iterator[Problem]:
    """List what is wrong with a database: pages, tables, indexes, and rows that are not what was written. `copies`:
    the whole ones. Reads only."""
    where = database.where
    damaged = list(damage(database))
    fix = FIX if copies else NO_COPY
    yield from (Problem(f"damaged: {one}", where, None, fix) for one in damaged[:_MOST])
    if damaged:
        return
    for name in missing_indexes(database):
        yield Problem(f"lacks index {name}", where, None, "`nanomem doctor --fix` makes it anew")
    for op_id in list(unreadable(database))[:_MOST]:
        yield Problem(f"operation {op_id} cannot be read", where, None, "it cannot be undone; a backup has it whole")
    for layer, key, name in list(dict.fromkeys(altered(database, copies)))[:_MOST]:
        how = f": its field {name} is not what was written" if name != MISSING else " is missing"
        yield Problem(f"{layer} {key}{how}", where, None, f"look at it: `nanomem log --key {key}` says what it was")


def unreadable(database: SqliteDatabase) -> Iterator[str]:
    """Find the ids of operations whose changes cannot be read."""
    with database.reading() as connection:
        for found in connection.execute(select(operations.OPERATIONS).where(operations.OPERATIONS.c.touched > 0)):
            entry = oplog.entry_of(found)
            if not entry.operation.changes:
                yield entry.operation.id


def damage(database: SqliteDatabase) -> Iterator[str]:
    """Say in words what keeps the file from being used as it is. Raises DiskFull: that is no damage."""
    try:
        if driver_errors.is_closed_to_writers(database.file):
            yield "its header keeps everybody from writing to it"
        with database.reading() as connection:
            found = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST})")]
            yield from (one for one in found if one != "ok" and "index" not in one)
            there = inspect(connection)
            names = there.get_table_names()
            if not names:
                yield "it is empty"
                return
            if driver_errors.are_anothers(names):
                yield driver_errors.anothers(database.file, min(names)).what
                return
            for table in models.METADATA.sorted_tables:
                if not there.has_table(table.name):
                    yield f"its table {table.name} is missing"
                elif {column.name for column in table.columns} - {c["name"] for c in there.get_columns(table.name)}:
                    yield f"its table {table.name} is not as it was made"
    except DiskFull:
        raise
    except (NanomemError, sqlite3.Error) as error:
        yield error.what if isinstance(error, NanomemError) else str(error)


def missing_indexes(database: SqliteDatabase) -> list[str]:
    """List the indexes that the tables should have and have not, or that do not have what their tables have."""
    with database.reading() as connection:
        there = inspect(connection)
        found = {index["name"] for table in models.METADATA.sorted_tables for index in there.get_indexes(table.name)}
        wanted = {str(index.name) for table in models.METADATA.sorted_tables for index in table.indexes}
        harmed = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    torn = {name for name in wanted if any(line.endswith(f"index {name}") for line in harmed)}
    return sorted((wanted - found) | torn)


def make_indexes(database: SqliteDatabase, names: list[str]) -> None:
    """Make indexes anew. Raises StoreError."""
    with database.writing(durable=True) as connection:
        for table in models.METADATA.sorted_tables:
            for index in table.indexes:
                if index.name in names:
                    connection.exec_driver_sql(f'DROP INDEX IF EXISTS "{index.name}"')
                    connection.execute(CreateIndex(index))


def altered(database: SqliteDatabase, copies: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Find (layer, id, field) of rows that are not what the newest operation on them, or the newest copy, says."""
    with database.reading() as connection:
        here = {layer: {row.id: row for row in rows.read(connection, layer)} for layer in rows.TABLES}
        told: dict[tuple[str, str], dict[str, Any]] = {}
        every = select(operations.OPERATIONS).order_by(operations.OPERATIONS.c.seq)
        for found in connection.execute(every):
            entry = oplog.entry_of(found)
            for change in entry.operation.changes:
                if change.layer in here:
                    fields = told.setdefault((change.layer, change.key), {})
                    fields |= dict(change.after) if change.after is not None else {"is_deleted": True}
    for (layer, key), fields in told.items():
        row = here[layer].get(key)
        if row is None:
            yield layer, key, MISSING
        else:
            yield from ((layer, key, name) for name in _differing(row, fields))
    if copies:
        yield from _unlike_copy(here, copies[0])


def _differing(row: AnyRow, fields: dict[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if name in row._fields and name not in NOT_COMPARED and getattr(row, name) != value:
            yield name


def _unlike_copy(here: dict[str, dict[str, AnyRow]], copy: Path) -> Iterator[tuple[str, str, str]]:
    """Rows that were not written since a copy was made, and are not what it has."""
    other = SqliteDatabase(copy)
    with contextlib.closing(other), contextlib.suppress(NanomemError), other.reading() as connection:
        for layer, table in here.items():
            for row in rows.read(connection, layer):
                now = table.get(row.id)
                if now is None:
                    yield layer, row.id, MISSING
                elif now.revision == row.revision:
                    yield from ((layer, row.id, name) for name in _differing(now, row._asdict()))
