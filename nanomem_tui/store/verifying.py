"""Whether a store is what was written: its operations, what is undone of them, and its rows. Reads only.

Owns what is looked at, and how it is said; nothing is put right here, so that what somebody altered stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.store import chain, copies, kept_operations, reader, stored_operations
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection


class Found(NamedTuple):
    """`altered`: layer and id of the rows that are not what was written; `fewer`: rows that are missing; `kept`: of an
    operation that is missing, the id and label of those that were kept and are not there; `waiting`: operations in
    ledger files, which are in no chain yet; `damage`: why that was not the database itself; `beside`: what is
    kept beside it, to make it anew of."""

    operations: chain.Verified
    altered: tuple[tuple[str, str], ...]
    fewer: int
    kept: tuple[tuple[str, str], ...]
    waiting: int
    damage: Problem | None = None
    beside: kept_operations.Kept = kept_operations.Kept()

    @property
    def whole(self) -> bool:
        """Whether nothing was changed."""
        rows = not self.altered and not self.fewer
        return self.operations.whole and rows and self.damage is None and self.beside.whole

    def lines(self) -> Iterator[str]:
        """What is wrong, each in a line."""
        found = self.operations
        if found.head != (found.kept or found.head):
            yield f"the head that was kept is {found.kept}: an operation was changed, taken out or put in"
        yield from found.missing
        yield from (f"kept, and not there: {key} ({label})" for key, label in self.kept)
        yield from found.wrong
        yield from (f"{layer} {key} is not what was written" for layer, key in self.altered)
        if self.fewer:
            yield f"{counted(self.fewer, 'row')} fewer than were written"
        yield from self.beside.lines()


def verify(store: RowStore, expected: str = "") -> Found:
    """Look at every operation and every row of a store that has a database. Raises the store's errors.

    `expected`: a head that somebody noted, or the begin of it.
    """
    waiting = {operation.id for file in store.ledger.files() for operation in file.operations}
    with store.opened() as connection:
        operations = chain.verify(connection, store.workspace_id, expected, store.copies.found())
        altered = tuple(copies.altered(connection, store.workspace_id))
        written = reader.meta(connection, store.workspace_id).get("rows", "")
        fewer = int(written) - reader.row_count(connection, store.workspace_id) if written.isdigit() else 0
        known = stored_operations.known_operations(connection, store.workspace_id, list(waiting))
        lacking = operations.missing or operations.head != (operations.kept or operations.head)
        kept = _kept(store, connection, waiting) if lacking else ()
        beside = kept_operations.check(store, connection) if store.source.damage is None else kept_operations.Kept()
    return Found(operations, altered, max(0, fewer), kept, len(waiting - known), store.source.damage, beside)


def _kept(store: RowStore, connection: Connection, waiting: set[str]) -> tuple[tuple[str, str], ...]:
    """The operations that were kept beside the database, and that it does not have."""
    operations = [one for one in store.copies.operations() if one.id not in waiting]
    known = stored_operations.known(connection, store.workspace_id, operations)
    return tuple((one.id, one.label) for one in operations if one.id not in known)


def problems(store: RowStore) -> Iterator[Problem]:
    """The same for the doctor, but for the rows, which are looked at already, and for what is damaged as a whole."""
    if not store.has_database or store.source.damage is not None:
        return
    try:
        told = verify(store)
    except NanomemError as error:
        yield Problem(error.what, error.where, fix=error.fix)
        return
    fix = "see `nanomem log --verify`; what was kept comes back with the next change"
    found = told._replace(altered=(), fewer=0, beside=kept_operations.Kept())
    yield from (Problem(line, "nanomem.db", None, fix) for line in found.lines())
    yield from kept_operations.problems(told.beside, store.paths.relative(store.paths.database))
