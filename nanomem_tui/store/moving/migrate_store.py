"""`nanomem migrate-store`: plan, then move a memory and the work of its agent between a file and a server.

Nobody else writes to either place meanwhile. The copy is one transaction of the target, the switch one of the source,
which is committed last: whatever ends the process, either the source holds the memory or the target does. A writer that
comes late to the source gets `Moved`. A memory of the first edition is taken over before it leaves, commits that a
power cut took are made again first, and a file that a memory came to gets a copy.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Table, delete, func, insert, inspect, select, update

from nanomem_tui.core import atomic, settings
from nanomem_tui.core.errors import BadInput, Moved, NothingToDo, Refused, StoreError
from nanomem_tui.core.paths import Paths, sharing_workspaces
from nanomem_tui.core.settings import Settings
from nanomem_tui.store import processes, storage, transactions
from nanomem_tui.store.database import bookkeeping, full_text, models
from nanomem_tui.store.database.engine import Database, SqliteDatabase
from nanomem_tui.store.database.models import MARKERS, META
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.database.reading import Meta, refuse_other_schema
from nanomem_tui.store.files.agent import AgentFiles
from nanomem_tui.store.first_edition import contents, takeover
from nanomem_tui.store.recovery import LOG, DatabaseRecovery
from nanomem_tui.store.server_storage import ServerStorage
from nanomem_tui.store.storage import Storage
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work import records, work_store
from nanomem_tui.store.work.work_store import WorkStore

# A memory, and the work of its agent, move between a file and a server, or two of either: copied whole, compared, and
# switched in one commit.


def move_memory(
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
        transactions.make_database(target, of_source.workspace_id)
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
            full_text.rebuild_index(new)
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


SQLITE = "sqlite"
LOCK = "move.lock"
"""The file in our folder whose flock is held by who moves the memory."""
Progress = Callable[[str, int, int], None]


class Plan(NamedTuple):
    """What a move would do. `state`: "new", "resumed" where a move was cut off, or "done" where the memory is there
    already; `rows`: by table; `replaced`: rows of an earlier time, or of a move that was cut off, that would go from
    the other place."""

    source: str
    target: str
    state: str
    rows: Mapping[str, int]
    replaced: int


class Done(NamedTuple):
    """What a move did: the epoch of the memory in its new place, the rows of each table, whether it was moved now."""

    move: str
    tables: Mapping[str, int]
    state: str


class Move:
    """The memory of one workspace from one place to another. `replace`: also over a memory that is in use there."""

    def __init__(self, paths: Paths, workspace_id: str, source: str, target: str, *, replace: bool = False) -> None:
        """`source`, `target`: `sqlite` or an address. Raises BadInput, MissingExtra, or InvalidConfig for one."""
        self._paths, self._id, self._replace = paths, workspace_id, replace
        self._source, self._target = (_End(paths, workspace_id, one) for one in (source, target))
        if self._source.database.where == self._target.database.where:
            raise BadInput("that is the same place twice", target, "name the one to move from, then the one to move to")

    def close(self) -> None:
        """Let go of both."""
        self._source.database.close()
        self._target.database.close()

    # -- before -------------------------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        """Return what would happen. Changes nothing. Raises NothingToDo where nothing is there, Refused where what is
        in the other place would be lost, and what keeps either place from being used."""
        for end in (self._source, self._target):
            if end.is_made:
                refuse_other_schema(end.place.reading())
        rows, epoch, state = self._source.rows_of_first_edition(), "", "new"
        if rows is None:
            meta, rows = self._seen_here()
            epoch = meta.epoch
            if meta.moved_to and not (meta.moved_to == self._target.database.where and self._target.is_made):
                fix = "move it from where it is now"
                raise Refused(f"this memory has moved to {meta.moved_to}", self._source.place.where, fix)
            state = "done" if meta.moved_to else "new"
        if state == "done":
            return Plan(self._source.label, self._target.label, state, rows, 0)
        there, is_in_use, is_cut_off = self._seen_there(epoch)
        if is_in_use and not self._replace:
            what = f"{there:,} rows of this memory are there already, which no move left behind"
            fix = "add --replace to have it replaced for good; nothing was changed"
            raise Refused(what, self._target.place.where, fix)
        return Plan(self._source.label, self._target.label, "resumed" if is_cut_off else state, rows, there)

    def _seen_here(self) -> tuple[Meta, Mapping[str, int]]:
        if self._source.is_made:
            with self._source.database.reading() as old:
                meta, rows = bookkeeping.meta_of(old), count_rows(old)
            if meta.revision:
                return meta, rows
        fix = "name the other store with `nanomem config set --here database_url`: what comes is written there"
        raise NothingToDo("nothing was written there yet", self._source.place.where, fix)

    def _seen_there(self, epoch: str) -> tuple[int, bool, bool]:
        """How many rows the target has, whether somebody uses them, and whether a move that was cut off left them."""
        if (rows := self._target.rows_of_first_edition()) is not None:
            return sum(rows.values()), True, False
        if not self._target.is_made:
            return 0, False, False
        with self._target.database.reading() as new:
            if bookkeeping.meta_of(new).epoch == epoch:
                what = "that is the same place by two names"
                raise BadInput(what, self._target.place.where, "name another one to move to")
            there = sum(count_rows(new).values())
            return there, is_in_use(new, epoch), is_cut_off(new, epoch)

    def stays(self) -> list[str]:
        """List the other workspaces that share our settings, and whose memory lies where this one is moved from."""
        left = []
        for name, key in sharing_workspaces(self._paths).items():
            with contextlib.closing(_End(self._paths, key, self._source.label)) as end:
                left += [name] if end.holds(key) else []
        return left

    # -- the move -----------------------------------------------------------------------------------------------------

    def run(self, progress: Progress) -> Done:
        """Move it. Raises Refused while another process has either place open, and what `plan` and the stores do; the
        memory is whole and in use where it was then, and the same call goes on."""
        atomic.make_folder(self._paths.data)
        with atomic.locked(self._paths.data / LOCK, wait=0):
            plan = self.plan()
            servers = [end.label for end in (self._source, self._target) if end.label != SQLITE]
            storage.note_servers(self._paths, self._id, *servers)  # before a row is there: a move may be given up
            if plan.state == "done":
                return Done("", {}, plan.state)
            progress("moving the memory", 0, 0)
            for end in (self._source, self._target):
                end.leave_first_edition(is_kept=end is self._source or self._replace)
            if (recovery := self._source.recovery) is not None:
                recovery.make_lost_commits_again()
            moved = move_memory(
                self._source.database, self._target.database, replace=self._replace, adapt=self._named_as_there
            )
            if (recovery := self._target.recovery) is not None:
                recovery.copy_anew()
            with self._target.database.reading() as new:
                epoch = bookkeeping.meta_of(new).epoch
            return Done(epoch, moved, plan.state)

    def _named_as_there(self, new: Connection) -> None:
        """Name what is remembered of the agent's files as the target does: a server for each home that shares the
        memory, a file for the one home that it lies in."""
        if (self._source.recovery is None) == (self._target.recovery is None):
            return
        bookkeeping.rename_for_storage(
            new, processes.make_home_id(self._paths), on_server=self._target.recovery is None
        )


def holds_in_file(paths: Paths, workspace_id: str) -> bool:
    """Whether the memory of a workspace lies in its file. Raises StoreError and its kin."""
    with contextlib.closing(_End(paths, workspace_id, SQLITE)) as file:
        return file.holds(workspace_id)


class _End:
    def __init__(self, paths: Paths, workspace_id: str, label: str) -> None:
        self.label = label
        self._paths, self._id = paths, workspace_id
        self.recovery: DatabaseRecovery | None = None
        self.place: Storage
        self.database: SqliteDatabase | PostgresDatabase
        if label == SQLITE:
            self.place, self.database = Storage(paths, workspace_id), SqliteDatabase(paths.database)
            self.recovery = DatabaseRecovery(self.database, paths.copies, paths.quarantine)
        else:
            settings.check_address("database_url", label, "the settings")
            server = ServerStorage(paths, workspace_id, label)
            self.place, self.database = server, server.server

    def close(self) -> None:
        self.database.close()

    @property
    def is_made(self) -> bool:
        """Whether there is a memory of this edition, or was one."""
        return not self.is_file_of_first_edition and self.place.reading().exists

    @property
    def is_file_of_first_edition(self) -> bool:
        """Whether the file is one of the first edition, which may hold other workspaces too."""
        return self.label == SQLITE and contents.is_first_edition(self._paths.database)

    def rows_of_first_edition(self) -> Mapping[str, int] | None:
        """How many rows a memory of the first edition has here, by table; None where there is none that is in use."""
        if not self.place.is_first_edition():
            return None
        with contextlib.ExitStack() as held, contextlib.suppress(Moved):
            file, _ = held.enter_context(self.place.read_copy(()))
            copy = held.enter_context(contextlib.closing(SqliteDatabase(file)))
            return count_rows(held.enter_context(copy.reading()))
        return None

    def holds(self, workspace_id: str) -> bool:
        """Whether the memory of a workspace lies here, and not elsewhere by now."""
        if self.rows_of_first_edition() is not None:
            return True
        if not self.is_made:
            return False
        with self.database.reading() as connection:
            meta = bookkeeping.meta_of(connection)
        return meta.workspace_id == workspace_id and bool(meta.revision) and not meta.moved_to

    def leave_first_edition(self, *, is_kept: bool) -> None:
        """Take over a memory of the first edition, or where another place has it by now, put its file aside."""
        if not self.place.is_first_edition():
            return
        with contextlib.suppress(Moved):
            if is_kept:
                self.place.take_over(AgentFiles(self._paths, self._id, Settings()).read_rows())
                return
        if self.is_file_of_first_edition:
            kept = self._paths.backups / takeover.name_of_kept()
            atomic.make_folder(kept)
            for suffix in ("", "-wal"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self._paths.database}{suffix}", kept / f"{self._paths.database.name}{suffix}")
            atomic.sync_folder(kept)
            atomic.sync_folder(self._paths.data)


# -- Copy tables from one database to another, in a transaction of each, and compare what arrived.

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
