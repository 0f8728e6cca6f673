"""Repairs of our own database that `doctor --fix` makes. The caller makes a backup first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import CorruptDatabase
from nanomem_tui.core.text import counted
from nanomem_tui.memory.repair import Repair
from nanomem_tui.store.values import ROW_LAYERS

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.workspace import Workspace


def store_repairs(ws: Workspace) -> Iterator[Repair]:
    """A whole file in the place of a damaged one, indexes and owners of tables, and the search index."""
    with contextlib.suppress(CorruptDatabase):  # what is damaged is put right all the same
        if not ws.store.has_database:
            return
    if ws.store.place.has_older_schema():
        how = "it is brought up to date; of a file a copy is kept"
        yield Repair("it has an older schema", ws.store.where, how, ws.store.bring_up_to_date)
        return
    if ws.store.shows_copy:
        return
    from nanomem_tui.store import operations, processes
    from nanomem_tui.store import recovery as store_recovery
    from nanomem_tui.store.engine import SqliteDatabase
    from nanomem_tui.store.recovery import LOG

    where = ws.store.where
    database, recovery = ws.store.writer.database, ws.store.writer.recovery
    if recovery is not None and isinstance(database, SqliteDatabase):
        if damaged := list(store_recovery.damage(database)):
            how = "it is made anew from the newest whole copy and the log"
            how += "; this file goes to the quarantine" if database.file.exists() else ""
            yield Repair(f"damaged: {damaged[0]}", where, how, lambda: recovery.repair().text())
            return
        if copies := recovery.damaged_copies():
            what = f"{counted(len(copies), 'copy', 'copies')} of it damaged"
            how = "made anew; the old goes to the quarantine"
            yield Repair(what, where, how, recovery.replace_damaged_copies, aside=True)
        if lines := recovery.unreadable_lines():
            what, how = f"{counted(len(lines), 'line')} cannot be read", "it is written anew from the database"
            yield Repair(what, ws.paths.relative(database.file.with_name(LOG)), how, recovery.write_anew, aside=True)
        if lost := recovery.lost_commits():
            what = f"it lacks {counted(lost, 'change')} that the log beside it has"
            yield Repair(what, where, "they are made again", recovery.make_lost_commits_again)
        if names := store_recovery.missing_indexes(database):
            how = "they are made anew from their tables"
            yield Repair(f"lacks index {names[0]}", where, how, partial(store_recovery.make_indexes, database, names))
    if (server := ws.store.server) is not None and (tables := processes.strays(server)):
        what = f"tables of one role, which other members may not see: {', '.join(tables)}"
        how = "they are given to the owner of the schema"
        yield Repair(what, where, how, partial(processes.give_strays_to_owner, server))
    for entry in ws.store.unfinished():
        if entry.state == operations.STUCK:
            close = partial(ws.store.writer.leave_as_it_is, entry.operation.id)
            yield Repair(half_done(entry.operation), where, "what is there stays", close)
    if not ws.store.index_state().current:
        yield Repair("its search index does not have what its rows say", where, "it is made anew", ws.store.make_index)


def of_work(ws: Workspace) -> Iterator[Repair]:
    """The newest schema for the records of work."""
    if ws.tier_database.has_older_schema():
        how = "they are brought up to date; of a file a copy is kept"
        what, where = "the records of work have an older schema", ws.tier_database.where
        yield Repair(what, where, how, ws.tier_database.bring_up_to_date)


def half_done(operation: Operation) -> str:
    """In words: which operation could not be finished, and which files somebody may have changed since."""
    files = dict.fromkeys(change.key for change in operation.changes if change.layer not in ROW_LAYERS)
    return f"{operation.label} ({operation.id}) is half done: not all of its files fit it ({', '.join(files)})"
