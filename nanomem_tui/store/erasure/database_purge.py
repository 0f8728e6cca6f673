"""Texts taken out of a database for good: rows, their index and vectors, what operations and others kept of them, and
the log beside a file.

Owns the statements and the order. What goes is decided by values alone, see `Cleaning`. Every other process that has
the memory open loads it anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, delete, select, update

from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.store.database import bookkeeping, full_text, models, operation_log, rows
from nanomem_tui.store.database.engine import Database
from nanomem_tui.store.database.models import KEYS, META, OPERATIONS
from nanomem_tui.store.database.reading import escape_nul, unescape_nul
from nanomem_tui.store.recovery import DatabaseRecovery
from nanomem_tui.store.values import AnyRow

FOREIGN, MARKERS = models.table(models.ForeignRow), models.table(models.Marker)
_NEWEST = select(OPERATIONS).order_by(OPERATIONS.c.seq.desc())
_AT_ONCE = 100
"""Operations that are held at a time."""


class Cleaning(Protocol):
    """Decides what goes: each method returns the very value that it was given where all of it stays.

    Rows are asked first, then operations, newest first, then the others.
    """

    def row(self, layer: str, row: AnyRow) -> AnyRow | None:
        """Return what stays of a row; None: it goes as a whole."""

    def operation(self, operation: Operation) -> Operation:
        """Return what stays of an operation."""

    def seen(self, key: str, raw: str) -> str | None:
        """Return what stays of an agent's row as it was last read, in JSON; None: it goes."""

    def named_value(self, value: str) -> str:
        """Return what stays of a named value."""


class Purged(NamedTuple):
    """The (layer, id) of rows that went as a whole, and of rows that were cleaned."""

    gone: frozenset[tuple[str, str]]
    cleaned: frozenset[tuple[str, str]]


def clean_database(connection: Connection, cleaning: Cleaning, *, write: bool) -> Purged:
    """Ask about everything that a database holds, and with `write` take out what goes, in the transaction of the
    caller. A database that the memory has left may be cleaned too."""
    revision = bookkeeping.next_revision(connection).revision if write else 0
    gone: list[tuple[str, str]] = []
    cleaned: list[tuple[str, str]] = []
    for layer in models.TABLES:
        asked = [(row, cleaning.row(layer, row)) for row in rows.read(connection, layer)]
        lost = [row.id for row, left in asked if left is None]
        changed = [(row, left) for row, left in asked if left is not None and left is not row]
        if write:
            rows.delete_rows(connection, layer, lost)
            for row, left in changed:
                fields = {name for name in row._fields if getattr(row, name) != getattr(left, name)}
                rows.update_row(connection, layer, left._replace(revision=revision), fields)
        gone += [(layer, key) for key in lost]
        cleaned += [(layer, row.id) for row, _ in changed]
    _operations(connection, cleaning, write=write)
    _seen(connection, cleaning, write=write)
    _named_values(connection, cleaning, write=write)
    if write:
        full_text.drop_removed(connection)
        connection.execute(update(META).values(epoch=secrets.token_hex(8)))
    return Purged(frozenset(gone), frozenset(cleaned))


def _operations(connection: Connection, cleaning: Cleaning, *, write: bool) -> None:
    for found in _newest_first(connection):
        operation = operation_log.entry_of(found).operation
        left = cleaning.operation(operation)
        if left is operation or not write:
            continue
        values: dict[str, Any] = {"meta_json": bookkeeping.dump_json(dict(left.meta))}
        if left.label != operation.label:
            values["label"] = escape_nul(left.label)
        if len(left.changes) != len(operation.changes):
            values |= {"changes_json": bookkeeping.dump_json(left.to_json()["changes"]), "touched": len(left.changes)}
        connection.execute(update(OPERATIONS).where(OPERATIONS.c.seq == found.seq).values(values))
        stay = {(change.layer, change.key) for change in left.changes}
        for layer, key in {(change.layer, change.key) for change in operation.changes} - stay:
            part = (KEYS.c.layer == layer) & (KEYS.c.key == key) & (KEYS.c.seq == found.seq)
            connection.execute(delete(KEYS).where(part))


def _newest_first(connection: Connection) -> Iterator[Any]:
    """The rows of the log, which may be written meanwhile, some at a time: an import is one of many megabytes."""
    part = connection.execute(_NEWEST.limit(_AT_ONCE)).all()
    while part:
        yield from part
        part = connection.execute(_NEWEST.where(OPERATIONS.c.seq < part[-1].seq).limit(_AT_ONCE)).all()


def _seen(connection: Connection, cleaning: Cleaning, *, write: bool) -> None:
    for source, key, raw in connection.execute(select(FOREIGN.c.source, FOREIGN.c.id, FOREIGN.c.raw_json)).all():
        left = cleaning.seen(unescape_nul(key), unescape_nul(raw))
        here = (FOREIGN.c.source == source) & (FOREIGN.c.id == key)
        if write and left is None:
            connection.execute(delete(FOREIGN).where(here))
        elif write and left is not None and left != unescape_nul(raw):
            connection.execute(update(FOREIGN).where(here).values(raw_json=escape_nul(left)))


def _named_values(connection: Connection, cleaning: Cleaning, *, write: bool) -> None:
    for key, value in connection.execute(select(MARKERS.c.key, MARKERS.c.value)).all():
        if (left := cleaning.named_value(value)) != value and write:
            connection.execute(update(MARKERS).where(MARKERS.c.key == key).values(value=left))


def changes_of(connection: Connection, layer: str) -> Iterator[Change]:
    """Every change that operations recorded of the things of a layer."""
    touched = select(KEYS.c.seq).where(KEYS.c.layer == layer)
    for found in connection.execute(select(OPERATIONS).where(OPERATIONS.c.seq.in_(touched))).all():
        yield from (change for change in operation_log.entry_of(found).operation.changes if change.layer == layer)


def purge_database(database: Database, recovery: DatabaseRecovery | None, cleaning: Cleaning) -> Purged:
    """Take texts out of a database and, of a file, of the log beside it. What an interrupted one left is done again.

    Their bytes are in freed pages and in the WAL until the database is compacted. Raises the store's errors.
    """
    if recovery is not None:
        recovery.make_lost_commits_again()
    with database.writing(durable=True) as connection:
        taken = clean_database(connection, cleaning, write=True)
    if recovery is not None:
        recovery.write_anew()
    return taken
