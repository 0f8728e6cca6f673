"""Copy tables from one database to another, in a transaction of each, and compare what arrived."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select

from nanomem_tui.core.errors import StoreError
from nanomem_tui.store.database import models
from nanomem_tui.store.database.models import MARKERS

ARRIVED = "arrived"
"""The marker at the target: of which epoch of which source it is a copy, and which commit was its last."""

_AT_ONCE = 1_000


_OF_A_PLACE = {"meta", "leases", "work_meta"}
"""Tables that are not copied: they are about the database, not the memory."""


def copy_tables(old: Connection, new: Connection, tables: Iterable[Table], where: str) -> dict[str, int]:
    """Make tables of the target equal to those of the source, but for what is about the place; return the rows of
    each. Raises StoreError where they do not come out the same."""
    counts = {}
    for table in tables:
        if table.name in _OF_A_PLACE:
            continue
        new.execute(delete(table))
        taken = _sum(old, table, partial(new.execute, insert(table)))
        arrived = _sum(new, table)
        if (arrived.count, arrived.content) != (taken.count, taken.content):
            what = f"{arrived.count:,} of {taken.count:,} rows of {table.name} arrived, or not as they were"
            raise StoreError(what, where, "nothing was changed; try again, and run `nanomem doctor`")
        counts[table.name] = taken.count
    return counts


def sum_tables(
    connection: Connection, tables: Iterable[Table] = models.METADATA.sorted_tables
) -> dict[str, tuple[int, int]]:
    """Return, of each table that moves, how many rows it has and the sum of their hashes, whatever their order."""
    found = {table.name: _sum(connection, table) for table in tables if table.name not in _OF_A_PLACE}
    return {name: (one.count, one.content) for name, one in found.items()}


def count_rows(connection: Connection) -> dict[str, int]:
    """Return how many rows each table has that moves."""
    moved = [table for table in models.METADATA.sorted_tables if table.name not in _OF_A_PLACE]
    return {table.name: connection.execute(select(func.count()).select_from(table)).scalar_one() for table in moved}


class _Sum:
    """How many rows there are, and the sum of their hashes: the same in whichever order a database gives them."""

    def __init__(self) -> None:
        self.count = 0
        self.content = 0

    def add(self, part: list[Row[Any]]) -> None:
        self.count += len(part)
        for row in part:
            digest = hashlib.sha256(repr(tuple(row)).encode("utf-8", "surrogatepass")).digest()
            self.content = (self.content + int.from_bytes(digest)) % (1 << 256)


def _sum(
    connection: Connection, table: Table, take: Callable[[list[dict[str, Any]]], object] = lambda _rows: None
) -> _Sum:
    found = _Sum()
    asked = select(table)
    if table is MARKERS:
        asked = asked.where(MARKERS.c.key != ARRIVED)
    for part in connection.execute(asked, execution_options={"yield_per": _AT_ONCE}).partitions():
        found.add(list(part))
        take([dict(row._mapping) for row in part])
    return found
