"""Taking over a memory of the first edition: into a new database beside the old one, which then takes its place.

Owns the order of it, so that a kill at any moment leaves the old memory or the new one, whole: everybody else is kept
out, the new file is made and compared, the old one is copied, one rename puts the new file in its place, and what is
left of the old one moves to its copy. What the old files say is read by `first_edition`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Table, func, insert, select, update

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import CorruptDatabase, Problem, Refused, StoreError
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import transactions
from nanomem_tui.store.database import models, operation_log, reading, rows
from nanomem_tui.store.database.engine import BUSY_SECONDS, SqliteDatabase, fold_wal
from nanomem_tui.store.database.engine import LOCK as ENGINE_LOCK
from nanomem_tui.store.database.operation_log import Journal
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.database.reading import SqliteReading, escape_nul, markers, meta
from nanomem_tui.store.files import exchange
from nanomem_tui.store.first_edition import contents
from nanomem_tui.store.first_edition.contents import Ledgers, Logged, Memory
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.recovery import LOG, Line
from nanomem_tui.store.values import AnyRow
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work import work_store
from nanomem_tui.store.work.kinds import KINDS, Kind
from nanomem_tui.store.work.models import TABLES
from nanomem_tui.store.work.values import TierRecord
from nanomem_tui.store.work.work_store import WorkStore

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
    with reading.translate_errors(shared, _DOING), contextlib.ExitStack() as at_end:
        atomic.make_folder(paths.data)
        atomic.make_folder(target.parent)
        at_end.enter_context(SqliteDatabase(shared).exclusive())
        held = at_end.enter_context(contents.lock_out(paths.ledger))
        scratch = paths.data / _SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        if contents.is_newer(target):
            return _move_rest(paths, workspace_id, target)
        at_end.callback(shutil.rmtree, scratch, ignore_errors=True)
        atomic.make_folder(scratch)
        source, damage = _source(paths, workspace_id)
        kept = paths.backups / name_of_kept()
        fresh = scratch / target.name
        ledgers = contents.read_ledgers(paths.ledger / workspace_id)
        taken = make_from_first_edition(source, fresh, ledgers, workspace_id, files, kept.name)
        _copy_old_files(shared if target == shared else None, scratch / kept.name)
        if frozenset(paths.ledger.glob(f"*/{contents.LEDGER}")) != held:
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
        with reading.translate_errors(shared, _DOING):
            ledgers = contents.read_ledgers(paths.ledger / workspace_id)  # before the database
            copy_to_read(shared, ENGINE_LOCK, folder / "old.db")
            source, damage = _source(paths, workspace_id, folder / "old.db")
            taken = make_from_first_edition(source, folder / paths.database.name, ledgers, workspace_id, files)
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
    if not contents.is_newer(shared):
        return _undamaged(copied or shared, paths.backups)
    file = contents.source(paths, workspace_id)
    return _undamaged(file, file.parent) if file is not None else (None, [])


def _undamaged(file: Path, copies: Path) -> tuple[Path | None, list[Problem]]:
    """The old database with its WAL folded in, None where there never was one; where it is damaged or gone, the newest
    whole one of its copies."""
    damage = _damage_of(file) if file.exists() else "it is gone"
    if not damage:
        return file, []
    found = sorted(copies.glob("copy-*.db"), reverse=True)
    for copy in found:
        if contents.is_first_edition(copy) and not _damage_of(copy):
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
        in_our_words = reading.error_from_driver(error, file)
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


def make_from_first_edition(
    source: Path | None, fresh: Path, ledgers: Ledgers, workspace_id: str, files: Iterable[AnyRow], kept: str = ""
) -> TakenOver:
    """Make the new database of what the old one says, compare the two, and count what there is. `kept`: the name of the
    folder that will keep the old one."""
    opened = contents.open_to_read(source) if source is not None else sqlite3.connect(":memory:")
    database = SqliteDatabase(fresh)
    with contextlib.closing(database), contextlib.closing(opened) as old:
        memory = contents.read(old, workspace_id, ledgers, files)
        transactions.make_database(database, workspace_id)
        with database.writing(durable=True) as connection:
            for layer, table in memory.rows.items():
                taken = [row._replace(revision=memory.last_seq) for row in table.values()]
                for start in range(0, len(taken), _AT_ONCE):
                    rows.insert_rows(connection, layer, taken[start : start + _AT_ONCE])
            logged, newest = _insert_operations(connection, contents.history(old, workspace_id, memory, ledgers.kept))
            _insert_many(connection, _FOREIGN, ("source", "id", "raw_json"), memory.foreign)
            _insert_many(connection, _MARKERS, ("key", "value"), [*memory.markers.items(), (MARKER, kept)])
            connection.execute(update(models.META).values(revision=memory.last_seq))
        counts = {**_compare(database, memory), "operation": logged}
        _give_to_chats(database)
    fold_wal(fresh)
    atomic.sync_file(fresh)
    # The log beside the new database begins with its newest operation: its first copy has the others.
    atomic.write_atomic(fresh.with_name(LOG), newest.to_bytes() if newest is not None else b"")
    return TakenOver(counts, None, tuple(memory.problems))


def _give_to_chats(database: SqliteDatabase) -> None:
    """Give the items to their chats that an early release kept for all of them."""
    taken = transactions.Store(database, Writers(database.file.parent))
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
            "label": escape_nul(operation.label.encode("utf-8", "replace").decode()), "writer": "",
            "state": operation_log.PLANNED if one.unfinished else operation_log.DONE,
            "undoes": operation.undoes, "redoes": operation.redoes, "meta_json": _json(dict(operation.meta)),
            "touched": len(operation.changes), "changes_json": _json(list(operation.changes)),
            "undone": int(one.undone),
        }  # fmt: skip
        connection.execute(insert(models.OPERATIONS), row)
        keys = [(key, layer, one.seq, int(undone)) for (layer, key), undone in one.parts.items()]
        _insert_many(connection, models.KEYS, ("key", "layer", "seq", "undone"), keys)
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


# -- Taking over the work records and documents that the first edition kept in `tiers.db` -----------------------------

T = TypeVar("T")
_WORK_TAKEOVER_DOING = "taking over the records of work"
LOCK = "tiers.lock"
"""The file whose lock every writer of the first edition held."""
WORK_LOCK = "work.lock"
_WORK_TAKEOVER_SCRATCH = "work-taken-over.nanomem-tmp"
_WORK_TAKEOVER_AT_ONCE = 1_000
_WORKSPACES = ("goals", "tasks", "tool_calls", "agent_states", "decisions", "patterns", "procedures", "incidents",
               "config_history", "events", "metrics", "knowledge_documents")  # fmt: skip
_NOTES = ("knowledge removed ", "knowledge packages ", "knowledge unread ", "knowledge declined ")


def open_work(paths: Paths, workspace_id: str, url: str = "", flush_seconds: float = 120.0) -> WorkStore:
    """Open the work of a workspace: a file beside the memory's database, or its schema on the server of `url`."""
    if url:
        server = PostgresDatabase(url, workspace_id, sign="work_meta")
        return WorkStore(server, paths.work_database, workspace_id, flush_seconds)
    file = paths.work_database
    old_file = FirstEdition(paths, workspace_id)
    return WorkStore(SqliteDatabase(file, WORK_LOCK), file, workspace_id, flush_seconds, old_file, paths.copies)


class FirstEdition:
    """What the first edition left of the work of a workspace."""

    def __init__(self, paths: Paths, workspace_id: str) -> None:
        self._paths, self._id = paths, workspace_id
        self._copied = contextlib.ExitStack()
        self.close = self._copied.close
        """Let go of the private copy."""

    def is_due(self) -> bool:
        """Whether there is a file to take over, and nobody did yet."""
        old = self._paths.tiers_database
        return not self._paths.work_database.exists() and old.is_file() and old.stat().st_size > 0

    def read_copy(self) -> WorkStore:
        """Take it over into a private folder, for a command that only reads. Nothing changes in the workspace. Raises
        StoreError and its kin."""
        folder = Path(self._copied.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-")))
        with reading.translate_errors(self._paths.tiers_database, _WORK_TAKEOVER_DOING):
            copy_to_read(self._paths.tiers_database, LOCK, folder / "tiers.db")
            return _made(folder / "tiers.db", folder / "work.db", self._id)

    def take_over(self) -> None:
        """Take it over where it is due, and put the old file among the backups. To call it again is harmless. Raises
        Refused while a process of the first edition has the file open, and StoreError and its kin; the old file is as
        it was then."""
        old = self._paths.tiers_database
        if not old.is_file():
            return
        with reading.translate_errors(old, _WORK_TAKEOVER_DOING), SqliteDatabase(old, LOCK).exclusive():
            if not old.is_file():
                return
            if self.is_due():
                scratch = self._paths.data / _WORK_TAKEOVER_SCRATCH
                shutil.rmtree(scratch, ignore_errors=True)
                atomic.make_folder(scratch)
                try:
                    _fold(old)
                    _made(old, scratch / "work.db", self._id).close()
                    os.replace(scratch / "work.db", self._paths.work_database)
                    atomic.sync_folder(self._paths.data)
                finally:
                    shutil.rmtree(scratch, ignore_errors=True)
            if not self._holds_others(old):
                kept = self._paths.backups / f"first-edition-work-{clock.now():%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
                atomic.make_folder(self._paths.backups)
                atomic.make_folder(kept)
                os.replace(old, kept / old.name)
                atomic.sync_folder(kept)
                atomic.sync_folder(self._paths.data)

    def _holds_others(self, old: Path) -> bool:
        with contextlib.closing(_opened(old)) as connection:
            there = _tables(connection)
            query = "SELECT 1 FROM {} WHERE workspace_id <> ? LIMIT 1"
            return any(connection.execute(query.format(name), (self._id,)).fetchone()
                       for name in _WORKSPACES if name in there)  # fmt: skip


def _made(old: Path, fresh: Path, workspace_id: str) -> WorkStore:
    """Make the new file of what the old one says, and compare how many there are of each."""
    database = SqliteDatabase(fresh, WORK_LOCK)
    with contextlib.closing(database):
        work_store.make(database, workspace_id)
        with contextlib.closing(_opened(old)) as source, database.writing(durable=True) as connection:
            _copy(_Old(source, workspace_id), connection)
            work_store.index_anew(connection)
    fold_wal(fresh)
    atomic.sync_file(fresh)
    return WorkStore(database, fresh, workspace_id)


class _Old:
    """The rows of a workspace in the old tables."""

    def __init__(self, connection: sqlite3.Connection, workspace_id: str) -> None:
        self._connection, self._id = connection, workspace_id
        self.tables = _tables(connection)

    def rows(self, table: str, order: str = "rowid") -> Iterator[sqlite3.Row]:
        if table in self.tables:
            query = f"SELECT * FROM {table} WHERE workspace_id = ? ORDER BY {order}"
            yield from self._connection.execute(query, (self._id,))

    def count(self, *tables: str) -> int:
        query = "SELECT count(*) FROM {} WHERE workspace_id = ?"
        there = (table for table in tables if table in self.tables)
        return sum(self._connection.execute(query.format(table), (self._id,)).fetchone()[0] for table in there)

    def notes(self) -> Iterator[tuple[str, str]]:
        """The named values that still mean something."""
        found = self._connection.execute('SELECT "key", value FROM tier_meta') if "tier_meta" in self.tables else ()
        for name, value in found:
            if name in (f"{self._id}:lifecycle_last", f"{self._id}:lifecycle_latest"):
                yield name.partition(":")[2], value
            elif name.startswith(_NOTES) and (f" {self._id} " in f"{name} "):
                yield name.replace(f" {self._id}", "", 1), escape_nul(value)


def _copy(old: _Old, connection: Connection) -> None:
    for kind in KINDS.values():
        records = map(work_records.row_of, _records(old, kind))
        _insert(connection, TABLES[kind.name], records, old.count(f"archived_{kind.table}", kind.table))
    for model, table, order, made in (
        (work_models.RecordChange, "record_changes", "seq", _change),
        (work_models.DocumentRow, "knowledge_documents", "rowid", _document),
        (work_models.ChunkRow, "knowledge_chunks", "rowid", _chunk),
        (work_models.RunRow, "lifecycle_runs", "began_at", lambda row: _named(row, "id", "began_at", "state")),
        (work_models.BatchRow, "lifecycle_batches", "seq", partial(_batch, connection)),
    ):
        _insert(connection, work_models.table(model), map(made, old.rows(table, order)), old.count(table))
    for name, value in old.notes():
        work_records.set_note(connection, name.rstrip() if name.rstrip() != "knowledge removed" else name, value)


def _records(old: _Old, kind: Kind) -> Iterator[TierRecord]:
    """The records of a kind: those of long-term memory came first."""
    for table, tier in ((f"archived_{kind.table}", "longterm"), (kind.table, kind.tier)):
        for row in old.rows(table):
            named = dict(row)
            if named.get("packed"):
                named |= files.loads(zlib.decompress(bytes(named["packed"])))
            fields = {field.name: _value(field.type, named[field.name]) for field in kind.fields}
            ours = (named[name] for name in ("origin", "stored_at", "changed_at"))
            yield TierRecord(kind.name, named["id"], fields, tier, *ours)  # type: ignore[arg-type]


def _value(kind: str, value: Any) -> Any:
    if value is None or kind not in ("json", "bool"):
        return value
    if kind == "bool":
        return bool(value)
    try:
        return files.loads(value)
    except ValueError:  # damaged: what is there is kept as a text
        return value


def _named(row: sqlite3.Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _change(row: sqlite3.Row) -> dict[str, Any]:
    return {**_named(row, "kind", "id", "at", "origin"), "before_json": row["before"], "after_json": row["after"]}


def _document(row: sqlite3.Row) -> dict[str, Any]:
    more = files.loads(row["meta"])
    texts = {name: escape_nul(row[name]) for name in ("title", "source")} | {
        "about": escape_nul(str(more.pop("about", "")))
    }
    same = _named(row, "id", "kind", "hash", "chunks", "added_at", "checked_at")
    return {**same, **texts, "meta_json": escape_nul(json.dumps(more, ensure_ascii=False))}


def _chunk(row: sqlite3.Row) -> dict[str, Any]:
    same = _named(row, "id", "document_id", "ordinal", "line_from", "line_to")
    return {**same, "section": escape_nul(row["section"]), "text": escape_nul(row["text"])}


def _batch(connection: Connection, row: sqlite3.Row) -> dict[str, Any]:
    """A batch of a run; of rows that were moved their new numbers are kept."""
    kept: dict[str, Any] = files.loads(zlib.decompress(bytes(row["packed"])).decode("utf-8", "surrogatepass"))
    if row["what"] == "moved":
        table = TABLES[row["kind"]]
        found = (select(table.c.number).where(table.c.id.in_(part)) for part in _batched(kept["ids"], 500))
        kept = {"numbers": [number for asked in found for number in connection.execute(asked).scalars()]}
    return {**_named(row, "run", "kind", "what", "rows"), "kept_json": json.dumps(kept, separators=(",", ":"))}


def _insert(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]], wanted: int) -> None:
    """Insert rows, and compare how many there are then. Raises StoreError."""
    for part in _batched(rows, _WORK_TAKEOVER_AT_ONCE):
        connection.execute(insert(table), [dict(row) for row in part])
    found = connection.execute(select(func.count()).select_from(table)).scalar_one()
    if found != wanted:
        what = f"{found:,} of {wanted:,} rows of {table.name} would be there, so nothing was replaced"
        raise StoreError(what, "tiers.db", "report this; the first edition still opens it")


def _batched(values: Iterable[T], number: int) -> Iterator[list[T]]:
    every = iter(values)
    while part := list(islice(every, number)):
        yield part


# -- the old file -----------------------------------------------------------------------------------------------------


def _opened(file: Path) -> sqlite3.Connection:
    reading.refuse_non_file(file)
    connection = contents.open_to_read(file)
    connection.row_factory = sqlite3.Row
    connection.text_factory = reading.decode_text
    return connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _fold(file: Path) -> None:
    """Move the WAL into the file. Raises Refused where another program has it open."""
    try:
        fold_wal(file)
    except sqlite3.OperationalError as error:
        if reading.code_of(error) not in reading.BUSY:
            raise
        what = "a process of the first edition of nanomem has the records of work open"
        raise Refused(what, str(file), "end it, then try again") from None
