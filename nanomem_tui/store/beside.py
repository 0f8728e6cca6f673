"""What is known of the operations of a store beside its database, and what of that the database does not have.

Owns the comparison by ids, and its words, for a database that is there, one that cannot be read whole, and one that is
gone. Reads only. Whether what is kept is as it was written is `kept_operations`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.store import reader
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection

_ALL = "SELECT id, label FROM operations WHERE workspace_id = ?"
_FIX = (
    "put nanomem.db back, or restore a backup (`nanomem backup list`); the next change begins a new one with what"
    " was kept"
)


class Beside(NamedTuple):
    """`labels`: of each operation that was kept or is in a copy, by its id, but for those in ledger files, which may be
    on their way; `waiting`: the ids of these; `noted`: how many the database had when it was last written."""

    labels: Mapping[str, str]
    waiting: frozenset[str]
    noted: int

    def lacking(self, connection: Connection, workspace_id: str) -> tuple[tuple[str, str], ...]:
        """Id and label of those that a database does not have. Raises the driver's errors."""
        if not self.labels:
            return ()
        there = {str(row[0]) for row in connection.execute(_ALL, (workspace_id,))}
        return tuple((key, label) for key, label in self.labels.items() if key not in there)


def known(store: RowStore) -> Beside:
    """What is known. Read it before the database: what is committed meanwhile is in the ledger files, or there."""
    noted = store.copies.noted() or 0
    labels: dict[str, str] = {}
    for copy in reversed(store.copies.found()):
        labels |= _labels(copy, store.workspace_id)
    labels |= {one.id: one.label for one in store.copies.operations()}
    waiting = frozenset(one.id for file in store.ledger.files() for one in file.operations)
    return Beside({key: label for key, label in labels.items() if key not in waiting}, waiting, noted)


def _labels(copy: Path, workspace_id: str) -> dict[str, str]:
    try:
        with reader.open_database(copy) as connection:
            return dict(reader.fetched(connection, tuple, f"{_ALL} ORDER BY seq", (workspace_id,)))
    except NanomemError:  # what is wrong with a copy is told elsewhere
        return {}


def lacking_itself(store: RowStore, beside: Beside) -> tuple[tuple[str, str], ...]:
    """The same of the damaged database itself, where something stands in for it; none where it cannot be read."""
    try:
        with reader.open_database(store.paths.database) as connection:
            return beside.lacking(connection, store.workspace_id)
    except NanomemError:
        return ()


def gone(store: RowStore, beside: Beside | None = None) -> Problem | None:
    """That a database is not there, though changes are known that it had. None where there is one, or never was; a
    server keeps its own."""
    if store.server is not None or store.has_database:
        return None
    beside = beside or known(store)
    number = max(beside.noted, len(beside.labels))
    if not number:
        return None
    verb = "is" if number == 1 else "are"
    what = f"the database is not there, though {counted(number, 'change')} {verb} known from the ledger"
    if lost := number - len(beside.labels):
        what += f"; {lost:,} of them {'is' if lost == 1 else 'are'} gone"
    return Problem(what, store.paths.relative(store.paths.database), None, _FIX)
