"""Whether the operations that are kept beside the database are those that it has, and what they bring back without it.

Owns the comparison and its words; reads only. Who keeps them and makes the copies is `copies`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import json_text
from nanomem_tui.errors import NanomemError, Problem
from nanomem_tui.operations import Operation
from nanomem_tui.store import reader, stored_operations
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.copies import Copies
    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection

_AT_ONCE = 500
MEANS = "would the database be damaged, what cannot be read there would be gone"
_LACKING = "is kept in the database alone: would that be damaged, it would be gone"
_LACKING_MANY = "are kept in the database alone: would that be damaged, they would be gone"


class Kept(NamedTuple):
    """`unlike`: what is kept and is not what was written; `lacking`: how many operations since the newest copy are
    kept nowhere but in the database; `files`: those that hold what is not what was written."""

    unlike: tuple[Problem, ...] = ()
    lacking: int = 0
    files: tuple[Path, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether a damaged database would be made anew with every operation."""
        return not self.unlike and not self.lacking

    def lines(self) -> Iterator[str]:
        """What is wrong, each in a line."""
        yield from (f"{one.where}:{one.line}: {one.what}" if one.line else one.what for one in self.unlike)
        if self.lacking:
            yield self.missing()

    def missing(self) -> str:
        """That operations are not kept, and what that means."""
        number = counted(self.lacking, "operation")
        return f"{number} since the newest copy {_LACKING if self.lacking == 1 else _LACKING_MANY}"


def check(store: RowStore, connection: Connection) -> Kept:
    """Hold what is kept against the operations of a database. Raises the driver's errors."""
    files = store.copies.kept()
    unlike: list[Problem] = []
    bad: list[Path] = []
    for file in files:
        where = store.paths.relative(file.path)
        found = [one._replace(where=where) for one in file.problems]
        others = _others(connection, store.workspace_id, file.operations)
        found += [Problem(f"{key} as it is kept is not what the database has", where) for key in others]
        unlike += found
        bad += [file.path] if found else []
    held = {one.id for file in files for one in file.operations}
    return Kept(tuple(unlike), len(_since(store, connection) - held), tuple(bad))


def problems(found: Kept, where: str, *, chained: bool) -> Iterator[Problem]:
    """The same for the doctor: the database has all of it, so these are warnings. Not `chained`: its own operations
    are not proven, and nothing of what was kept goes."""
    fix = "`nanomem doctor --fix` makes a new copy of the database and puts that file into the quarantine"
    if not chained:
        fix = "it stays as it is until the chain of the database is whole: see `nanomem log --verify`"
    for one in found.unlike:
        yield one._replace(what=f"{one.what}; {MEANS}", fix=fix, severity="warning")
    if found.lacking:
        fix = "`nanomem doctor --fix` makes a new copy of it" if chained else fix
        yield Problem(found.missing(), where, None, fix, "warning")


def _others(connection: Connection, workspace_id: str, kept: tuple[Operation, ...]) -> Iterator[str]:
    """The ids of those that the database knows, and knows otherwise."""
    for start in range(0, len(kept), _AT_ONCE):
        part = {one.id: one for one in kept[start : start + _AT_ONCE]}
        marks = ",".join("?" * len(part))
        query = f"SELECT id, body_json FROM operations WHERE workspace_id = ? AND id IN ({marks})"
        for key, body in connection.execute(query, (workspace_id, *part)):
            if _read(body) not in (part[key], None):  # one that cannot be read is told by the chain
                yield str(key)


def _read(body: str) -> Operation | None:
    try:
        return Operation.from_json(json_text.loads(body))
    except (ValueError, KeyError, TypeError):
        return None


def _since(store: RowStore, connection: Connection) -> set[str]:
    """The ids of the operations that the newest copy does not have; none without a copy."""
    newest = next(iter(store.copies.found()), None)
    if newest is None:
        return set()
    try:
        with reader.open_database(newest) as copy:
            place = stored_operations.last_position(copy, store.workspace_id)
    except NanomemError:  # the next older one stands in for the database then, and all since is kept for that
        return set()
    query = "SELECT id FROM operations WHERE workspace_id = ? AND seq > ?"
    return {str(row[0]) for row in connection.execute(query, (store.workspace_id, place))}


class Back(NamedTuple):
    """What is kept of the operations since a copy: how many come back, how many are known to be gone (None where
    nobody noted how many there were), and how many lines cannot be read."""

    since: int
    gone: int | None
    unreadable: int

    def line(self) -> str:
        """In words, behind "the copy of …"."""
        back = counted(self.since, "operation")
        if self.gone == 0:
            return "with every operation since"
        if self.gone:
            gone = f"{counted(self.gone, 'operation')} {'is' if self.gone == 1 else 'are'} gone"
            return f"with {back} since; {gone}, for what was kept is damaged or missing"
        if self.unreadable:
            lines = counted(self.unreadable, "line")
            return f"with {back} since; {lines} of what was kept cannot be read, and what was there is gone"
        return f"with the {back} since that {'was' if self.since == 1 else 'were'} kept"


def back(copies: Copies, base: Path | None, workspace_id: str) -> Back:
    """What comes back on top of a database, or without one. Raises the store's errors."""
    files = copies.kept()
    kept = {one.id for file in files for one in file.operations}
    there = 0
    if base is not None:
        with reader.open_database(base) as connection:
            there = stored_operations.operation_count(connection, workspace_id)
            kept -= stored_operations.known_operations(connection, workspace_id, list(kept))
    number = base.name.removeprefix("copy-").removesuffix(".db") if base is not None else ""
    unreadable = sum(len(file.problems) for file in files if file.path.name >= number)
    noted = copies.noted()
    gone = None if noted is None else max(0, noted - there - len(kept))
    return Back(len(kept), gone, unreadable)
