"""What the doctor can put right of our own database: what guards and finds its rows, its operations, and itself.

Whoever calls this makes a backup first. How each is done is the store's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import CorruptDatabase
from nanomem_tui.memory import health_store
from nanomem_tui.memory.repair import Repair, aside
from nanomem_tui.store import (
    chain,
    counters,
    edition,
    kept_operations,
    operation_mending,
    reader,
    reindex,
    schema,
    schema_mending,
    verifying,
)
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


def _is_read(ws: Workspace) -> bool:
    """Whether there is a database in a file, and nothing stands in for it."""
    if edition.is_second(ws.store):
        return False
    return ws.store.server is None and ws.store.has_database and ws.store.source.damage is None


def _of_next(ws: Workspace) -> Iterator[Repair]:
    """What can be put right of the database of `nanomem_tui.database`."""
    if not edition.is_second(ws.store) or not ws.store.has_database:
        return
    from nanomem_tui.database import health

    where = ws.paths.relative(ws.paths.database)
    new: Any = ws.store
    database, recovery = new.writer.database, new.writer.recovery
    if damaged := list(health.damage(database)):
        how = "it is made anew from the newest whole copy and the operations since; this file goes to the quarantine"
        yield Repair(f"damaged: {damaged[0]}", where, how, recovery.repair)
        return
    if names := health.missing_indexes(database):
        how = "they are made anew from their tables"
        yield Repair(f"lacks index {names[0]}", where, how, partial(health.make_indexes, database, names))
    if not new.index_state().current:
        yield Repair("its search index does not have what its rows say", where, "it is made anew", new.make_index)


def _guards_and_indexes(ws: Workspace) -> Iterator[Repair]:
    """What guards the rows, and what finds them, where it is not as it was made: it holds none, and is made anew."""
    store, where = ws.store, ws.paths.relative(ws.paths.database)
    if not _is_read(ws):
        return
    with reader.open_database(ws.paths.database) as connection:
        if schema.is_damaged(connection):
            return
        unlike = [one for one in schema.differences(connection) if one.remade]
        found = schema.integrity(connection)
    for one in unlike:
        how = "it is made anew" if one.made else "it is taken out"
        how += ", and its text is kept in the quarantine" if one.found else ""
        yield Repair(one.line(), where, how, partial(schema_mending.put_right, store))
    if harmed := schema.of_indexes(found):
        how = "they are made anew from their tables; where these hold a row twice, a copy takes the place of the file"
        yield Repair(health_store.index_line(harmed), where, how, partial(schema_mending.make_indexes, store))


def _counters(ws: Workspace) -> Iterator[Repair]:
    """Markers of a checkpoint that are no value of their kind, or that the tables contradict."""
    store, where = ws.store, ws.paths.relative(ws.paths.database)
    if not _is_read(ws):
        return
    found = verifying.verify(store).counters

    def put_right() -> None:
        names = {one.name for one in found}
        with store.database.writing() as connection:
            meta = reader.meta_as_found(connection, store.workspace_id)
            wrong = counters.judged(connection, store.workspace_id, meta)
            wrong += [one for one in counters.untrue(connection, store.workspace_id, meta) if one.name in names]
            counters.put_right(connection, store.workspace_id, wrong)

    for one in found:
        yield Repair(one.line(), where, "it becomes what the tables say", put_right)


def _operations(ws: Workspace) -> Iterator[Repair]:
    """Operations that were altered, taken out or put in, where the chain proves what they were."""
    store, where = ws.store, ws.paths.relative(ws.paths.database)
    if not _is_read(ws):
        return
    with store.opened() as connection:
        if chain.verify(connection, store.workspace_id).whole:
            return
        found = operation_mending.plan(store, connection)
    if found is None:
        return

    def put_back() -> None:
        operation_mending.put_right(store)
        with store.opened() as connection:
            kept = kept_operations.check(store, connection)
        if not kept.whole:
            _copy(ws)

    how = "what a copy or what was kept says, which the chain proves, is put back"
    yield Repair(found.line(), where, f"{how}; what is altered is kept in the quarantine", put_back)


def _index(ws: Workspace) -> Iterator[Repair]:
    """The full-text index, where it does not have what the items say."""
    if _is_read(ws):
        for one in reindex.problems(ws.store):
            where = ws.paths.relative(ws.paths.database)
            yield Repair(one.what, where, "it is made anew from the items", partial(reindex.make_anew, ws.store))


def _database(ws: Workspace) -> Iterator[Repair]:
    """Our own database, where a copy stands in for it, and what was put right in RAM alone."""
    store, where = ws.store, ws.paths.relative(ws.paths.database)
    if edition.is_second(store) or store.server is not None or not store.has_database:
        return
    store.load()
    if store.source.damage is None:
        found = [one for one in health_store.own_database(ws.paths) if health_store.is_damage(one, ws.paths)]
        if found:
            store.source.fall_back(CorruptDatabase(found[0].what, str(ws.paths.database)))
    if store.source.damage is not None:
        how = "what is shown takes its place, and the damaged file is kept in the quarantine"
        yield Repair(store.source.damage.what, where, how, ws.flush)
    elif store.to_mend:
        what = f"{counted(store.to_mend, 'row or operation', 'rows or operations')} not what was written"
        how = "a copy and the log tell what was; what is altered is kept in the quarantine"
        yield Repair(what, where, how, ws.flush)


def _kept(ws: Workspace) -> Iterator[Repair]:
    """What is kept beside a database that is whole, and would not bring all of it back: a new copy of it needs none."""
    store = ws.store
    if not _is_read(ws):
        return
    with store.opened() as connection:
        if not chain.verify(connection, store.workspace_id, copies=store.copies.found()).whole:
            return  # who can say that the database is right, and not what was kept
        found = kept_operations.check(store, connection)
    where = ws.paths.relative(ws.paths.database)
    if not found.whole:
        how = "a new copy of the database is made, which needs nothing of that"
        yield Repair("what is kept beside it would not bring all of it back", where, how, partial(_copy, ws))
    for path in found.files:
        yield aside(ws, path, "holds operations that are not what was written")


def _copy(ws: Workspace) -> None:
    with ws.store.database.locked():
        ws.store.copies.make(ws.paths.database)


FINDERS: tuple[Callable[[Workspace], Iterator[Repair]], ...] = (
    _guards_and_indexes, _counters, _operations, _database, _kept, _index, _of_next,
)  # fmt: skip
"""In the order in which they are put right: what keeps a change from being written comes first."""
