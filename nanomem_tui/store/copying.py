"""A memory, and the work of its agent, move between a file and a server, or two of either: copied whole, compared, and
switched in one commit.

Nobody else writes to either place meanwhile. The copy is one transaction of the target, the switch one of the source,
which is committed last: whatever ends the process, either the source holds the memory or the target does. A writer that
comes late to the source gets `Moved`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping

from sqlalchemy import Connection, delete, func, insert, inspect, select, update

from nanomem_tui.core.errors import Moved, Refused
from nanomem_tui.store import models, search, store
from nanomem_tui.store.engine import Database, SqliteDatabase
from nanomem_tui.store.models import MARKERS, META
from nanomem_tui.store.recovery import LOG
from nanomem_tui.store.table_copy import ARRIVED, copy_tables
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work import records, work_store
from nanomem_tui.store.work.work_store import WorkStore


def move(
    source: Database,
    target: Database,
    *,
    replace: bool = False,
    adapt: Callable[[Connection], None] = lambda _new: None,
) -> dict[str, int]:
    """Move the memory of `source` to `target`, another place, mark the source as moved, and return the rows by table.

    `replace`: also over a memory that is in use there. `adapt`: changes what arrived, before it is in use. Raises
    Refused where others have either open or the target is in use, Moved where the memory is elsewhere, or StoreError;
    the source holds it then.
    """
    with source.alone() as old:
        of_source = old.execute(select(META)).one()
        if of_source.moved_to:
            raise Moved("the memory lies elsewhere now", of_source.moved_to, "move it from there")
        store.make(target, of_source.workspace_id)
        with target.alone() as new:
            if not replace and is_in_use(new, of_source.epoch):
                what = "another memory is in use there"
                raise Refused(what, target.where, "add --replace to lose it; nothing was changed")
            copied = copy_tables(old, new, models.METADATA.sorted_tables, target.where)
            last = of_source.revision
            values = {"revision": last, "epoch": secrets.token_hex(8), "moved_to": ""}
            new.execute(update(META).values(workspace_id=of_source.workspace_id, **values))
            marker = json.dumps({"epoch": of_source.epoch, "revision": last})
            new.execute(insert(MARKERS).values(key=ARRIVED, value=marker))
            adapt(new)
            search.make_anew(new)
            if isinstance(target, SqliteDatabase):  # it is of another history; the next commit writes it anew
                target.file.with_name(LOG).unlink(missing_ok=True)
        old.execute(update(META).values(moved_to=target.where, epoch=secrets.token_hex(8)))
    return copied


def is_in_use(new: Connection, epoch: str) -> bool:
    """Whether somebody uses the memory of a target: not one that is empty, or moved away, or that a move was cut off
    from."""
    there = new.execute(select(META)).one()
    return bool(there.revision) and not there.moved_to and not is_cut_off(new, epoch)


def is_cut_off(new: Connection, epoch: str) -> bool:
    """Whether a target has a copy of the source with this epoch whose move was cut off before the switch, and that
    nobody wrote to."""
    there = new.execute(select(META)).one()
    marker = new.execute(select(MARKERS.c.value).where(MARKERS.c.key == ARRIVED)).scalar()
    return marker is not None and json.loads(marker) == {"epoch": epoch, "revision": there.revision}


# -- the work of an agent ---------------------------------------------------------------------------------------------

_WORK_META = work_models.table(work_models.WorkMeta)


def counts_of_work(store: WorkStore) -> dict[str, int]:
    """Return the rows of each table that is not empty. Raises the store's errors."""
    if not store.exists:
        return {}

    def count_rows(connection: Connection) -> dict[str, int]:
        tables = (one for one in work_models.METADATA.sorted_tables if one is not _WORK_META)
        found = ((one.name, connection.execute(select(func.count()).select_from(one)).scalar_one()) for one in tables)
        return {name: rows for name, rows in found if rows}

    return store.read(count_rows)


def move_work(source: WorkStore, target: WorkStore, *, replace: bool = False) -> Mapping[str, int]:
    """Move the work of `source` to `target`, mark the source as moved, and return the rows of each table; none where
    it lies there already.

    Raises Refused where the target has work and not `replace`, Moved, and the store's
    errors: the source holds it then.
    """
    if target.where in (source.where, source.moved_to()) or (source.is_remote and not source.exists):
        return {}
    # What the first edition left is taken over before it moves; where nothing is, who comes late is to be told too.
    source.write(lambda _connection: None, durable=True)
    is_empty = counts_of_work(source).keys() <= {"work_notes"}
    if is_empty and not target.exists:  # made by the first change there
        with source.database.writing(durable=True) as old:
            old.execute(update(_WORK_META).values(moved_to=target.where))
        return {}
    work_store.make(target.database, source.workspace_id)
    target.bring_up_to_date()
    with source.database.writing(durable=True) as old, target.database.writing(durable=True) as new:
        next_number = (
            update(_WORK_META)
            .values(revision=_WORK_META.c.revision + 1)
            .returning(_WORK_META.c.revision, _WORK_META.c.moved_to)
        )
        old.execute(next_number)  # no other writer from here on
        revision, moved_to = new.execute(next_number).one()
        # A copy that nobody wrote to was left by a move that was cut off before the switch.
        if not replace and not moved_to and _is_work_in_use(new) and records.note(new, ARRIVED) != str(revision - 1):
            raise Refused("other work is there", target.where, "add --replace to lose it; nothing was changed")
        copied = _copy_work_tables(old, new, target.where)
        records.set_note(new, ARRIVED, str(new.execute(select(_WORK_META.c.revision)).scalar_one()))
        old.execute(update(_WORK_META).values(moved_to=target.where))
    return {name: rows for name, rows in copied.items() if rows}


def copy_work(source: WorkStore, target: WorkStore) -> None:
    """Make the work of `target` that of `source`, in one transaction of the target. Raises the store's errors."""
    work_store.make(target.database, source.workspace_id)
    target.bring_up_to_date()
    with target.database.writing(durable=True) as new:
        source.read_whole(lambda old: _copy_work_tables(old, new, target.where))


def _copy_work_tables(old: Connection, new: Connection, where: str) -> dict[str, int]:
    there = inspect(old)
    tables = [table for table in work_models.METADATA.sorted_tables if there.has_table(table.name)]
    copied = copy_tables(old, new, tables, where)
    for table in {*work_models.METADATA.sorted_tables}.difference(tables):  # of a later schema than the source has
        new.execute(delete(table))
    for table in work_models.METADATA.sorted_tables if new.dialect.name == "postgresql" else ():
        if (key := table.autoincrement_column) is not None:
            sequence = func.pg_get_serial_sequence(table.name, key.name)
            new.execute(select(func.setval(sequence, func.max(key))))
    work_store.index_anew(new)
    new.execute(update(_WORK_META).values(moved_to="", revision=_WORK_META.c.revision + 1))
    return copied


def _is_work_in_use(connection: Connection) -> bool:
    tables = (one for one in work_models.METADATA.sorted_tables if one.name not in ("work_meta", "work_notes"))
    return any(connection.execute(select(one).limit(1)).first() is not None for one in tables)
