"""A memory moves between a file and a server, or two of either: copied whole, compared, and switched in one commit.

Nobody else writes to either place meanwhile. The copy is one transaction of the target, the switch one of the source,
which is committed last: whatever ends the process, either the source holds the memory or the target does. A writer that
comes late to the source gets `Moved`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Table, delete, insert, select, update

from nanomem_tui.database import models, operations, search, store
from nanomem_tui.database.engine import Database, SqliteDatabase
from nanomem_tui.database.recovery import LOG
from nanomem_tui.errors import BadInput, Moved, Refused, StoreError

MARKERS = models.table(models.Marker)
META = operations.META
ARRIVED = "arrived"
"""The marker at the target: of which epoch of which source it is a copy, and which commit was its last."""
_OF_A_PLACE = {"meta", "leases"}
"""Tables that are not copied: they are about the database, not the memory."""
_AT_ONCE = 1_000


class Moving(NamedTuple):
    """What a move did: the rows of each table; none where the memory had moved there before (`is_done_before`)."""

    rows: Mapping[str, int]
    is_done_before: bool = False


def move(source: Database, target: Database, *, replace: bool = False) -> Moving:
    """Move the memory of `source` to `target`, and mark the source as moved.

    `replace`: also over a memory that is in use there. Raises Refused where others have either open or the target is in
    use, Moved where the memory is elsewhere, BadInput for one place twice, or StoreError; the source holds it then.
    """
    if source.where == target.where:
        fix = "name the one to move from, then the one to move to"
        raise BadInput("that is the same place twice", target.where, fix)
    with source.alone() as old:
        of_source = old.execute(select(META)).one()
        if of_source.moved_to == target.where:
            return Moving({}, is_done_before=True)
        if of_source.moved_to:
            raise Moved("the memory lies elsewhere now", of_source.moved_to, "move it from there")
        store.make(target, of_source.workspace_id)
        with target.alone() as new:
            if not replace:
                _refuse_one_in_use(new, of_source.epoch, target.where)
            copied = _copy(old, new, target.where)
            last = of_source.revision
            values = {"revision": last, "epoch": secrets.token_hex(8), "moved_to": ""}
            new.execute(update(META).values(workspace_id=of_source.workspace_id, **values))
            marker = json.dumps({"epoch": of_source.epoch, "revision": last})
            new.execute(insert(MARKERS).values(key=ARRIVED, value=marker))
            search.make_anew(new)
            if isinstance(target, SqliteDatabase):  # it is of another history; the next commit writes it anew
                target.file.with_name(LOG).unlink(missing_ok=True)
        old.execute(update(META).values(moved_to=target.where, epoch=secrets.token_hex(8)))
    return Moving(copied)


def _refuse_one_in_use(new: Connection, epoch: str, where: str) -> None:
    """Raise Refused for a memory that somebody uses: not one that is empty, or moved away, or a copy of this source
    whose move was cut off before the switch and that nobody wrote to."""
    there = new.execute(select(META)).one()
    if not there.revision or there.moved_to:
        return
    marker = new.execute(select(MARKERS.c.value).where(MARKERS.c.key == ARRIVED)).scalar()
    if marker is None or json.loads(marker) != {"epoch": epoch, "revision": there.revision}:
        raise Refused("another memory is in use there", where, "add --replace to lose it; nothing was changed")


def _copy(old: Connection, new: Connection, where: str) -> dict[str, int]:
    """Make every table of the target equal to that of the source; return the rows of each."""
    counts = {}
    for table in models.METADATA.sorted_tables:
        if table.name in _OF_A_PLACE:
            continue
        new.execute(delete(table))
        taken = _Sum()
        for part in _read(old, table):
            taken.add(part)
            new.execute(insert(table), [dict(row._mapping) for row in part])
        arrived = _Sum()
        for part in _read(new, table):
            arrived.add(part)
        if (arrived.count, arrived.content) != (taken.count, taken.content):
            what = f"{arrived.count:,} of {taken.count:,} rows of {table.name} arrived, or not as they were"
            raise StoreError(what, where, "nothing was changed; try again, and run `nanomem doctor`")
        counts[table.name] = taken.count
    return counts


def _read(connection: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    asked = select(table)
    if table is MARKERS:
        asked = asked.where(MARKERS.c.key != ARRIVED)
    for part in connection.execute(asked, execution_options={"yield_per": _AT_ONCE}).partitions():
        yield list(part)


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
