"""Taking over a memory of the first edition: into a new database beside the old one, which then takes its place.

Owns the order of it, so that a kill at any moment leaves the old memory or the new one, whole: everybody else is kept
out, the new file is made and compared, the old one is copied, one rename puts the new file in its place, and what is
left of the old one moves to its copy. What the old files say is read by `first_edition`.

On a server, the first edition had one set of tables for all workspaces, in the schema that the address leads to. What
it has of one workspace comes into a private file of SQLite as the first edition would have written it; the file that is
made of this is copied into the schema of the workspace in one transaction, which also marks the old rows as moved: they
stay, and no process of the first edition writes to them any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, insert, update

from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import Conflict, CorruptDatabase, NotFound, NothingToDo, Problem, Refused, StoreError
from nanomem_tui.core.operations import failed_in
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import (
    driver_errors,
    exchange,
    first_edition,
    models,
    moving,
    operations,
    oplog,
    reading,
    rows,
    search,
    store,
)
from nanomem_tui.store.engine import BUSY_SECONDS, LOCK, SqliteDatabase, fold_wal
from nanomem_tui.store.first_edition import Ledgers, Logged, Memory
from nanomem_tui.store.oplog import Journal
from nanomem_tui.store.postgres import PostgresDatabase
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.reading import SqliteReading, escaped, markers, meta
from nanomem_tui.store.recovery import LOG, Line
from nanomem_tui.store.store import Store
from nanomem_tui.store.values import AnyRow

_DOING = "taking over the memory of the first edition"
MARKER = "first_edition"
"""The marker that names the folder, in `backups/`, where what was taken over lies."""
_SCRATCH = "taken-over.nanomem-tmp"
_AT_ONCE = 5_000
_FOREIGN = models.table(models.ForeignRow)
_MARKERS = models.table(models.Marker)


class TakenOver(NamedTuple):
    """What was taken over: how many there are by layer and state, the folder that keeps the old files (None for a copy
    that is read and thrown away), and what could not be taken, or not as it was."""

    counts: Mapping[str, Mapping[str, int]]
    copy: Path | None
    problems: tuple[Problem, ...]


def take_over(paths: Paths, workspace_id: str, files: Iterable[AnyRow] = ()) -> TakenOver:
    """Take over the memory of a workspace, and put the new database in the place of the old one.

    `files`: the rows of the agent's own files, see `first_edition.read`. A workspace that shared the old one with the
    usual one of its home gets a database in a folder of its own; the old one stays then, until the usual one is taken
    over. To call it again is harmless: what an interrupted one left is done. Raises Refused while a process of the
    first edition is at work, Moved, and StoreError and its kin; the old memory is as it was then.
    """
    target, shared = paths.database, paths.first_edition_database
    with driver_errors.translated(shared, _DOING), contextlib.ExitStack() as at_end:
        atomic.make_folder(paths.data)
        atomic.make_folder(target.parent)
        at_end.enter_context(SqliteDatabase(shared).exclusive())
        held = at_end.enter_context(first_edition.lock_out(paths.ledger))
        scratch = paths.data / _SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        if first_edition.is_newer(target):
            return _move_rest(paths, workspace_id, target)
        at_end.callback(shutil.rmtree, scratch, ignore_errors=True)
        atomic.make_folder(scratch)
        source, damage = _source(paths, workspace_id)
        kept = paths.backups / name_of_kept()
        fresh = scratch / target.name
        ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)
        taken = make(source, fresh, ledgers, workspace_id, files, kept.name)
        _copy_old_files(shared if target == shared else None, scratch / kept.name)
        if frozenset(paths.ledger.glob(f"*/{first_edition.LEDGER}")) != held:
            raise Refused("a process of the first edition came meanwhile", str(paths.data), "end it, then try again")
        atomic.make_folder(paths.backups)
        os.replace(scratch / kept.name, kept)
        atomic.sync_folder(paths.backups)
        for suffix in ("-wal", "-shm"):  # of a damaged one: SQLite would take them for those of the new file
            target.with_name(f"{target.name}{suffix}").unlink(missing_ok=True)
        os.replace(fresh.with_name(LOG), target.with_name(LOG))
        os.replace(fresh, target)
        atomic.sync_folder(target.parent)
        _move_rest(paths, workspace_id, target)
        return taken._replace(copy=kept, problems=(*damage, *taken.problems))


@contextlib.contextmanager
def read_copy(paths: Paths, workspace_id: str, files: Iterable[AnyRow] = ()) -> Iterator[tuple[Path, TakenOver]]:
    """Take the memory over into a private folder, for a command that only reads; the folder goes at the end.

    Nothing changes in the workspace, also while the first edition is at work. Raises as `take_over`, but not for that.
    """
    with tempfile.TemporaryDirectory(prefix="nanomem-") as name:
        folder = Path(name)
        shared = paths.first_edition_database
        with driver_errors.translated(shared, _DOING):
            ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)  # before the database
            copy_to_read(shared, LOCK, folder / "old.db")
            source, damage = _source(paths, workspace_id, folder / "old.db")
            taken = make(source, folder / paths.database.name, ledgers, workspace_id, files)
        yield folder / paths.database.name, taken._replace(problems=(*damage, *taken.problems))


# -- the old files --------------------------------------------------------------------------------------------------


def copy_to_read(database: Path, lock: str, copy: Path) -> None:
    """Copy an old database, and its WAL, while its writers are kept out by the lock beside it, where one ever wrote.
    Raises Refused where one is at work for too long."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(place := database.with_name(lock), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            held.callback(os.close, handle)
            atomic.wait_for_lock(handle, place, BUSY_SECONDS, shared=True)
        for suffix in ("", "-wal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")


def _source(paths: Paths, workspace_id: str, copied: Path | None = None) -> tuple[Path | None, list[Problem]]:
    """The old database that holds a workspace: the one of the folder, or where another workspace was taken over before,
    what was kept of it then; None where there never was one. `copied`: a private copy of that of the folder."""
    shared = paths.first_edition_database
    if not first_edition.is_newer(shared):
        return _undamaged(copied or shared, paths.backups)
    file = first_edition.source(paths, workspace_id)
    return _undamaged(file, file.parent) if file is not None else (None, [])


def _undamaged(file: Path, copies: Path) -> tuple[Path | None, list[Problem]]:
    """The old database with its WAL folded in, None where there never was one; where it is damaged or gone, the newest
    whole one of its copies."""
    damage = _damage_of(file) if file.exists() else "it is gone"
    if not damage:
        return file, []
    found = sorted(copies.glob("copy-*.db"), reverse=True)
    for copy in found:
        if first_edition.is_first_edition(copy) and not _damage_of(copy):
            what = f"the database is damaged ({damage}); its copy {copy.name} was taken, with what was kept since"
            return copy, [Problem(what, "nanomem.db")]
    if found or file.exists():
        raise CorruptDatabase(
            f"the database is damaged ({damage})", str(copies.parent / "nanomem.db"), "restore a backup"
        )
    return None, []


def _damage_of(file: Path) -> str:
    """Fold the WAL of a database into it, and say what is wrong with it; "" for nothing. Raises StoreError and its kin
    where another program has it open, or nobody may write to it."""
    try:
        with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=1.0)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            return "" if verdict == "ok" else verdict
    except sqlite3.DatabaseError as error:
        in_our_words = driver_errors.in_our_words(error, file)
        if not isinstance(in_our_words, CorruptDatabase):
            raise in_our_words from error
        return str(error)


def _copy_old_files(database: Path | None, folder: Path) -> None:
    """Make the folder that will keep what is left of the first edition, with a copy of its database where that is to be
    replaced; and of a WAL that could not be folded in."""
    atomic.make_folder(folder)
    for old in (database, database.with_name(f"{database.name}-wal")) if database is not None else ():
        if old.exists():
            shutil.copyfile(old, folder / old.name)
            (folder / old.name).chmod(atomic.PRIVATE_FILE)
            atomic.sync_file(folder / old.name)
    atomic.sync_folder(folder)


def _move_rest(paths: Paths, workspace_id: str, target: Path) -> TakenOver:
    """Move what is left of the first edition to where it is kept: ledger files, and the daily copies of a database that
    was replaced. Raises Refused where the new database is that of another workspace."""
    with SqliteReading(target).open() as found:
        owner, name = meta(found).workspace_id, markers(found).get(MARKER)
    if owner != workspace_id:
        raise Refused("the database is that of another workspace", str(target), "give this one a database of its own")
    kept = paths.backups / name if name is not None else None
    if kept is not None and (paths.ledger / workspace_id).is_dir():
        for copy in paths.backups.glob("copy-*.db") if target == paths.first_edition_database else ():
            os.replace(copy, kept / copy.name)
        keep_ledger(paths, workspace_id, kept)  # last: `first_edition.is_due` looks for it
    return TakenOver({}, kept, ())


def name_of_kept() -> str:
    """Return a new name of a folder, in `backups/`, for what is left of the first edition."""
    return f"first-edition-{clock.now():%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"


def keep_ledger(paths: Paths, workspace_id: str, kept: Path) -> None:
    """Move the ledger files of a workspace, where it has any, to the folder that keeps what is left."""
    ledger = paths.ledger / workspace_id
    if not ledger.is_dir():
        return
    atomic.make_folder(kept / "ledger")
    os.replace(ledger, kept / "ledger" / workspace_id)
    # A process of the first edition that is still open would record changes that nobody reads: it fails here.
    with contextlib.suppress(FileExistsError):
        handle = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, atomic.PRIVATE_FILE)
        atomic.write_all(handle, f"A newer nanomem took this memory over; see {kept}\n".encode())
        os.close(handle)
    atomic.sync_folder(paths.ledger)
    atomic.sync_folder(kept)


# -- the new database -----------------------------------------------------------------------------------------------


def make(
    source: Path | None, fresh: Path, ledgers: Ledgers, workspace_id: str, files: Iterable[AnyRow], kept: str = ""
) -> TakenOver:
    """Make the new database of what the old one says, compare the two, and count what there is. `kept`: the name of the
    folder that will keep the old one."""
    opened = first_edition.open_to_read(source) if source is not None else sqlite3.connect(":memory:")
    database = SqliteDatabase(fresh)
    with contextlib.closing(database), contextlib.closing(opened) as old:
        memory = first_edition.read(old, workspace_id, ledgers, files)
        store.make(database, workspace_id)
        with database.writing(durable=True) as connection:
            for layer, table in memory.rows.items():
                taken = [row._replace(revision=memory.last_seq) for row in table.values()]
                for start in range(0, len(taken), _AT_ONCE):
                    rows.insert_rows(connection, layer, taken[start : start + _AT_ONCE])
            logged, newest = _insert_operations(
                connection, first_edition.history(old, workspace_id, memory, ledgers.kept)
            )
            _insert_many(connection, _FOREIGN, ("source", "id", "raw_json"), memory.foreign)
            _insert_many(connection, _MARKERS, ("key", "value"), [*memory.markers.items(), (MARKER, kept)])
            connection.execute(update(operations.META).values(revision=memory.last_seq))
        counts = {**_compare(database, memory), "operation": logged}
        _give_to_chats(database)
    fold_wal(fresh)
    atomic.sync_file(fresh)
    # The log beside the new database begins with its newest operation: its first copy has the others.
    atomic.write_atomic(fresh.with_name(LOG), newest.to_bytes() if newest is not None else b"")
    return TakenOver(counts, None, tuple(memory.problems))


def _give_to_chats(database: SqliteDatabase) -> None:
    """Give the items to their chats that an early release kept for all of them."""
    taken = store.Store(database, Writers(database.file.parent))
    found = exchange.return_to_chats(taken.load().items.values(), Journal(lambda: SqliteReading(database.file)))
    if found is not None:
        taken.perform(found)


def _insert_operations(connection: Connection, history: Iterable[Logged]) -> tuple[dict[str, int], Line | None]:
    """Insert operations and what they touched; returns how many stand and how many are undone, and the newest."""
    counts = Counter[str]()
    newest = None
    for one in history:
        operation = one.operation
        row = {
            "seq": one.seq, "id": operation.id, "at": operation.at, "actor": operation.actor, "kind": operation.kind,
            "label": escaped(operation.label.encode("utf-8", "replace").decode()), "writer": "",
            "state": oplog.PLANNED if one.unfinished else oplog.DONE,
            "undoes": operation.undoes, "redoes": operation.redoes, "meta_json": _json(dict(operation.meta)),
            "touched": len(operation.changes), "changes_json": _json(list(operation.changes)),
            "undone": int(one.undone),
        }  # fmt: skip
        connection.execute(insert(operations.OPERATIONS), row)
        keys = [(key, layer, one.seq, int(undone)) for (layer, key), undone in one.parts.items()]
        _insert_many(connection, operations.KEYS, ("key", "layer", "seq", "undone"), keys)
        counts["undone" if one.undone else "active"] += 1
        newest = Line(one.seq, operation)
    return dict(counts), newest


def _insert_many(connection: Connection, table: Table, names: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
    if found := [dict(zip(names, row, strict=True)) for row in values]:
        connection.execute(insert(table), found)


def _json(value: Any) -> str:
    """JSON as a database takes it: a lone surrogate, which no UTF-8 holds, stays the escape that it was."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.encode("utf-8", "backslashreplace").decode()


# -- before and after -----------------------------------------------------------------------------------------------


def _compare(database: SqliteDatabase, memory: Memory) -> dict[str, dict[str, int]]:
    """Hold the new database against what the first edition showed; returns how many rows there are by layer and state.
    Raises StoreError where anything differs."""
    counts: dict[str, dict[str, int]] = {}
    with database.reading() as connection:
        for layer, wanted in memory.rows.items():
            found = {row.id: row for row in rows.read(connection, layer)}
            expected = {key: row._replace(revision=memory.last_seq) for key, row in wanted.items()}
            if expected != found:
                key = next(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
                what = f"the {layer} {key} would not be what it was, so nothing was replaced"
                fix = "report this; the first edition still opens it"
                raise StoreError(what, "the memory of the first edition", fix)
            counts[layer] = dict(Counter(map(_state, found.values())))
    return counts


def _state(row: AnyRow) -> str:
    return "deleted" if row.is_deleted else "active" if getattr(row, "enabled", True) else "disabled"


# -- on a server ------------------------------------------------------------------------------------------------------

_OF_WORKSPACE = ("memory_entries", "lessons", "records", "operations", "foreign_rows", "vectors")
_BESIDE = ("operation_keys", "memory_words", "memory_postings")
"""What finds those."""
_PUT = 'INSERT INTO memory_meta ("key", value) VALUES (%s, %s) ON CONFLICT ("key") DO UPDATE SET value = excluded.value'


def is_due_on_server(database: PostgresDatabase, workspace_id: str) -> bool:
    """Whether the server has a memory of the first edition that nobody moved or took over. Raises StoreError and its
    kin."""
    with database.reading() as connection:
        return not database.is_made(connection) and _is_there(database, connection, workspace_id)


@contextlib.contextmanager
def read_copy_of_server(
    database: PostgresDatabase, paths: Paths, workspace_id: str, files: Iterable[AnyRow]
) -> Iterator[tuple[Path, TakenOver]]:
    """See `read_copy`: nothing changes on the server."""
    with tempfile.TemporaryDirectory(prefix="nanomem-") as name:
        ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)  # before the rows
        old, fresh = Path(name, "old.db"), Path(name, paths.database.name)
        with database.reading() as connection:
            _copy_old(database, connection, workspace_id, old)
        yield fresh, make(old, fresh, ledgers, workspace_id, files)


def take_over_from_server(
    database: PostgresDatabase, paths: Paths, workspace_id: str, files: Iterable[AnyRow]
) -> TakenOver:
    """Take the memory over into the schema of its workspace, in one transaction; the old rows stay, marked.

    Where another machine did it meanwhile, nothing is done. Raises Refused while a process of the first edition is at
    work here, Moved, and StoreError and its kin; the old memory is as it was then.
    """
    with contextlib.ExitStack() as at_end:
        at_end.enter_context(first_edition.lock_out(paths.ledger))
        folder = Path(at_end.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-")))
        connection = at_end.enter_context(database.making())
        if database.is_made(connection):
            return TakenOver({}, None, ())
        store.create(connection, workspace_id)
        connection.exec_driver_sql("SET LOCAL ROLE NONE; SET LOCAL statement_timeout TO 0")
        old, file = folder / "old.db", folder / paths.database.name
        _copy_old(database, connection, workspace_id, old, alone=True)
        ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)
        kept = name_of_kept()
        taken = make(old, file, ledgers, workspace_id, files, kept)
        with contextlib.closing(SqliteDatabase(file)) as fresh, fresh.reading() as made:
            moving.copy_tables(made, connection, models.METADATA.sorted_tables, database.where)
            revision = operations.meta_of(made).revision
        connection.execute(update(operations.META).values(revision=revision))
        search.make_anew(connection)
        _mark_moved(database, connection, workspace_id)
    keep_ledger(paths, workspace_id, paths.backups / kept)
    return taken._replace(copy=paths.backups / kept if (paths.backups / kept).is_dir() else None)


def take_rest(writer: Store, paths: Paths, workspace_id: str) -> tuple[Problem, ...]:
    """Make the changes of rows that processes of the first edition recorded here and could not write to the server any
    more, as another machine had taken the memory over. Return those that no longer fit; the log files are kept.

    Raises Refused while such a process is at work, and StoreError and its kin.
    """
    if not first_edition.has_ledgers(paths, workspace_id):
        return ()
    kept = paths.backups / name_of_kept()
    with first_edition.lock_out(paths.ledger):
        ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)
        every = [operation for ledger in (ledgers.kept, *ledgers.processes) for operation in ledger]
        with writer.database.reading() as connection:
            asked = reading.listed(operation.id for operation in every)
            known = {key for (key,) in reading.within(connection).all("operations_known", ids=asked)}
        void = failed_in(every)
        problems = [*ledgers.problems]
        for operation in first_edition.done(first_edition.waiting(ledgers, known), void):
            changes = tuple(change for change in operation.changes if change.layer in rows.TABLES)
            if operation.kind == "void" or not changes:
                continue
            try:
                writer.perform(operation._replace(changes=changes))
            except (Conflict, NotFound, NothingToDo) as error:
                what = f"a change that waited here no longer fits ({error.what}): {operation.label}"
                problems.append(Problem(what, error.where, None, f"{kept.name} has it"))
        keep_ledger(paths, workspace_id, kept)
    return tuple(problems)


@contextlib.contextmanager
def old_rows(database: PostgresDatabase, workspace_id: str) -> Iterator[Path | None]:
    """Give what the old tables still have of a workspace as a file of the first edition, None for nothing."""
    with tempfile.TemporaryDirectory(prefix="nanomem-") as name, database.reading() as connection:
        file = None
        if _has_tables(database, connection, workspace_id):
            file = Path(name, "old.db")
            _copy_old(database, connection, workspace_id, file)
        yield file


def drop_old_rows(database: PostgresDatabase, workspace_id: str) -> None:
    """Delete what the old tables have of a workspace, but for the mark that it has moved."""
    with database.writing(durable=True) as connection, old_tables(database, connection, workspace_id):
        for table in (*_OF_WORKSPACE, *_BESIDE):
            if connection.exec_driver_sql("SELECT to_regclass(%s)", (table,)).scalar() is not None:
                connection.exec_driver_sql(f"DELETE FROM {table} WHERE workspace_id = %s", (workspace_id,))
        mark = f"{workspace_id}:moved"
        delete = 'DELETE FROM memory_meta WHERE starts_with("key", %s) AND "key" <> %s'
        connection.exec_driver_sql(delete, (f"{workspace_id}:", mark))


def _is_there(database: PostgresDatabase, connection: Connection, workspace_id: str) -> bool:
    if not _has_tables(database, connection, workspace_id):
        return False
    with old_tables(database, connection, workspace_id):
        names = [f"{workspace_id}:revision", f"{workspace_id}:moved"]
        found = connection.exec_driver_sql('SELECT "key" FROM memory_meta WHERE "key" = ANY(%s)', (names,)).scalars()
        return list(found) == names[:1]


def _has_tables(database: PostgresDatabase, connection: Connection, workspace_id: str) -> bool:
    """Whether there are tables of the first edition, and our role may look into them."""
    asked = (
        "SELECT coalesce(to_regclass('nanomem_workspaces') IS NOT NULL"
        " AND has_table_privilege(to_regclass('memory_meta'), 'SELECT'), false)"
    )
    with old_tables(database, connection, workspace_id):
        return bool(connection.exec_driver_sql(asked).scalar())


def _copy_old(
    database: PostgresDatabase, connection: Connection, workspace_id: str, file: Path, *, alone: bool = False
) -> None:
    """Copy what the old tables have of a workspace into a file. `alone`: keep its writers out until the transaction
    ends."""
    with contextlib.closing(sqlite3.connect(file)) as target, old_tables(database, connection, workspace_id):
        if alone:
            held = "SELECT FROM nanomem_workspaces WHERE workspace_id = %s FOR UPDATE"
            connection.exec_driver_sql(held, (workspace_id,))
        for table in _OF_WORKSPACE:
            if connection.exec_driver_sql("SELECT to_regclass(%s)", (table,)).scalar() is not None:
                order = " ORDER BY seq" if table == "operations" else ""
                copy_table(connection, target, table, f"workspace_id = %s{order}", workspace_id)
        copy_table(connection, target, "memory_meta", 'starts_with("key", %s)', f"{workspace_id}:")
        target.commit()


def copy_table(connection: Connection, target: sqlite3.Connection, table: str, condition: str, value: str) -> None:
    """Copy rows of an old table into a file of SQLite, and make it there."""
    found = connection.exec_driver_sql(
        f"SELECT * FROM {table} WHERE {condition}", (value,), execution_options={"yield_per": _AT_ONCE}
    )
    names = ", ".join(f'"{name}"' for name in found.keys())  # noqa: SIM118  no mapping
    target.execute(f"CREATE TABLE {table} ({names})")
    places = ", ".join("?" for _ in found.keys())  # noqa: SIM118
    for part in found.partitions():
        target.executemany(f"INSERT INTO {table} VALUES ({places})", [tuple(row) for row in part])


def _mark_moved(database: PostgresDatabase, connection: Connection, workspace_id: str) -> None:
    """Tell every process of the first edition that the memory is not there any more."""
    mark = {"move": "", "source": "", "target": f"{database.where}, by a newer nanomem", "at": clock.iso(clock.now())}
    with old_tables(database, connection, workspace_id):
        connection.exec_driver_sql(_PUT, (f"{workspace_id}:moved", json.dumps(mark)))


@contextlib.contextmanager
def old_tables(database: PostgresDatabase, connection: Connection, workspace_id: str) -> Iterator[None]:
    """Within, names lead to the tables of the first edition, which show the rows of this workspace alone."""
    connection.exec_driver_sql("SET LOCAL search_path TO DEFAULT")
    connection.exec_driver_sql("SELECT set_config('nanomem.workspace', %s, true)", (workspace_id,))
    yield
    connection.exec_driver_sql(f"SET LOCAL search_path TO {database.quoted(database.schema)}")
