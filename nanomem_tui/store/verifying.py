"""Whether a store is what was written: its operations, what is undone of them, and its rows. Reads only.

Owns what is looked at, and how it is said; nothing is put right here, so that what somebody altered stays as it is.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.store import (
    beside,
    chain,
    checkpoint,
    copies,
    counters,
    kept_operations,
    mending,
    operation_mending,
    purge_marker,
    reader,
    schema,
    sql,
    stored_operations,
    unmarked,
)
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection

_TOLD = 20
"""Lines that the doctor tells of it at most."""


class Found(NamedTuple):
    """`altered`: layer and id of the rows that are not what was written; `fewer`: rows that are missing; `kept`: of an
    operation that is missing, the id and label of those that were kept, or are in a copy, and are not there; `noted`:
    how many there were when the database was last written; `unmarked`: its markers were taken out; `gone`: that there
    is no database, though it is known that there was one; `waiting`: operations in
    ledger files, which are in no chain yet; `damage`: why that was not the database itself; `beside`: what is
    kept beside it, to make it anew of; `schema`: what of its tables and guards is not as it was made;
    `counters`: markers that are not to be believed; `interrupted`: that something was being taken out of all of it, so
    that of what is kept beside it nothing can be said."""

    operations: chain.Verified
    altered: tuple[tuple[str, str], ...]
    fewer: int
    kept: tuple[tuple[str, str], ...]
    waiting: int
    damage: Problem | None = None
    beside: kept_operations.Kept = kept_operations.Kept()
    noted: int = 0
    unmarked: bool = False
    gone: Problem | None = None
    schema: tuple[str, ...] = ()
    counters: tuple[counters.Wrong, ...] = ()
    interrupted: Problem | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing was changed."""
        rows = not self.altered and not self.fewer
        there = self.damage is None and self.gone is None and not self.unmarked
        operations = self.operations.whole and not self.kept and not self.fewer_operations
        made = not self.schema and not self.counters and self.interrupted is None
        return operations and rows and there and made and self.beside.whole

    @property
    def readable(self) -> bool:
        """Whether the database itself was looked at: what stands in for it has no head that anybody may note."""
        return self.damage is None and self.gone is None

    @property
    def fewer_operations(self) -> int:
        """How many operations are not there of those that were."""
        stands = self.readable and not any(one.name == checkpoint.COUNT for one in self.counters)
        return max(0, self.noted - self.operations.operations) if stands else 0

    def lines(self) -> Iterator[str]:
        """What is wrong, each in a line."""
        found = self.operations
        for problem in filter(None, (self.damage, self.gone)):
            yield f"{problem.where}: {problem.what}"
        if self.unmarked:
            yield unmarked.WHAT
        yield from (f"the database: {line}" for line in self.schema)
        yield from (f"the database: {one.line()}" for one in self.counters)
        if found.head != (found.kept or found.head):
            yield f"the head that was kept is {found.kept}: an operation was changed, taken out or put in"
        yield from found.missing
        yield from (f"kept, and not there: {key} ({label})" for key, label in self.kept)
        if self.fewer_operations:
            yield f"{counted(self.fewer_operations, 'operation')} fewer than were written"
        yield from found.wrong
        yield from (f"{layer} {key} is not what was written" for layer, key in self.altered)
        if self.fewer:
            yield f"{counted(self.fewer, 'row')} fewer than were written"
        yield from self.beside.lines()


def verify(store: RowStore, expected: str = "") -> Found:
    """Look at every operation and every row of a store. Raises the store's errors.

    `expected`: a head that somebody noted, or the begin of it.
    """
    known = beside.known(store)
    if not store.has_database:
        return Found(chain.NONE, (), 0, (), len(known.waiting), gone=beside.gone(store, known))
    with store.opened() as connection:
        damage = store.source.damage
        if sql.is_sqlite(connection):
            connection.execute("BEGIN")  # what is committed meanwhile has another head
        # The copy that stands in for a damaged database is held against nothing: it is older.
        against = store.copies.found() if damage is None else ()
        operations = chain.verify(connection, store.workspace_id, expected, against)
        written = stored_operations.known_operations(connection, store.workspace_id, [*known.waiting])
        waiting = len(known.waiting - written)
        if damage is not None:
            kept = beside.lacking_itself(store, known)
            return Found(operations._replace(head="", kept="", wrong=()), (), 0, kept, waiting, damage)
        meta = reader.meta(connection, store.workspace_id)
        altered = tuple(copies.altered(connection, store.workspace_id))
        wrong = tuple(_wrong_counters(store, connection, operations, known.noted))
        there = reader.row_count(connection, store.workspace_id, by_index=False) if "rows" in meta else 0
        fewer = 0 if any(one.name == "rows" for one in wrong) else _number(meta, "rows") - there
        kept = known.lacking(connection, store.workspace_id)
        interrupted = purge_marker.problem(store.paths)
        unlike = kept_operations.check(store, connection) if interrupted is None else kept_operations.Kept()
        noted = max(known.noted, _number(meta, checkpoint.COUNT))
        lost = unmarked.is_unmarked(connection, store.workspace_id)
        lines = tuple(schema.lines(connection)) if isinstance(connection, sqlite3.Connection) else ()
    fewer = max(0, fewer)
    return Found(operations, altered, fewer, kept, waiting, None, unlike, noted, lost, None, lines, wrong, interrupted)


def _wrong_counters(
    store: RowStore, connection: Connection, operations: chain.Verified, noted: int
) -> Iterator[counters.Wrong]:
    """The markers that are not to be believed: those that say more than there is where all is known to be there, too.
    Raises the driver's errors."""
    found = reader.meta_as_found(connection, store.workspace_id)
    yield from counters.judged(connection, store.workspace_id, found)
    for one in counters.untrue(connection, store.workspace_id, found):
        if one.more:
            chained = bool(operations.kept) and operations.head == operations.kept and noted <= operations.operations
            if not (chained if one.name == "operations" else mending.is_complete(store.copies, connection)):
                continue
        yield one


def _number(meta: Mapping[str, str], name: str) -> int:
    return int(meta[name]) if meta.get(name, "").isdigit() else 0


def problems(store: RowStore) -> Iterator[Problem]:
    """The same for the doctor, but for the rows, which are looked at already, and for what is damaged as a whole."""
    if not store.has_database or store.source.damage is not None:
        return
    try:
        told = verify(store)
    except NanomemError as error:
        yield Problem(error.what, error.where, fix=error.fix)
        return
    fix = _fix(store, told)
    found = told._replace(altered=(), fewer=0, beside=kept_operations.Kept(), schema=(), counters=())
    mends = "`nanomem doctor --fix` puts it right"
    yield from (Problem(one.line(), "nanomem.db", None, mends) for one in told.counters)
    lines = list(found.lines())
    yield from (Problem(line, "nanomem.db", None, fix) for line in lines[:_TOLD])
    if (more := len(lines) - _TOLD) > 0:
        yield Problem(f"{counted(more, 'more line')} like these", "nanomem.db", None, fix)
    yield from kept_operations.problems(told.beside, store.paths.relative(store.paths.database),
                                        chained=told.operations.whole)  # fmt: skip


def _fix(store: RowStore, told: Found) -> str:
    """What to do about operations that are not what was written."""
    rest = "see `nanomem log --verify`, and `nanomem backup list` for what to restore"
    if store.server is not None or (told.operations.whole and not told.kept):
        return rest
    with contextlib.suppress(NanomemError), store.opened() as connection:
        if operation_mending.plan(store, connection) is not None:
            return "`nanomem doctor --fix` puts back what a copy or what was kept says, which the chain proves"
    return f"neither a copy nor what was kept proves what was there, so all of it stays as it is; {rest}"
