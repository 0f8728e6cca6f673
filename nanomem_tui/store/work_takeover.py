"""Taking over the work records and documents that the first edition kept in `tiers.db`.

Owns the order of it, so that a kill at any moment leaves the old file or the new one, whole: writers of the first
edition are kept out, the new file is made in a folder aside and compared, one rename puts it in its place, and the old
file moves to `backups/`. Where other workspaces lie in the same old file it stays until the last is taken over.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Table, func, insert, inspect, select

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import Refused, StoreError
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import driver_errors, first_edition, takeover, work, work_models
from nanomem_tui.store.engine import SqliteDatabase, fold_wal
from nanomem_tui.store.reading import escaped
from nanomem_tui.store.work import WorkStore
from nanomem_tui.store.work_kinds import KINDS, Kind
from nanomem_tui.store.work_models import TABLES
from nanomem_tui.store.work_values import TierRecord

if TYPE_CHECKING:
    from nanomem_tui.store.postgres import PostgresDatabase

T = TypeVar("T")
_DOING = "taking over the records of work"
LOCK = "tiers.lock"
"""The file whose lock every writer of the first edition held."""
WORK_LOCK = "work.lock"
_SCRATCH = "work-taken-over.nanomem-tmp"
_AT_ONCE = 1_000
_WORKSPACES = ("goals", "tasks", "tool_calls", "agent_states", "decisions", "patterns", "procedures", "incidents",
               "config_history", "events", "metrics", "knowledge_documents")  # fmt: skip
_ORDERED = {"record_changes": "seq", "lifecycle_runs": "began_at", "lifecycle_batches": "seq", "tier_meta": "1"}
"""The tables whose rows have no number, and what orders them."""
_TABLES = (*(kind.table for kind in KINDS.values()), *(f"archived_{kind.table}" for kind in KINDS.values()),
           "knowledge_documents", "knowledge_chunks", *_ORDERED)  # fmt: skip
_NOTES = ("knowledge removed ", "knowledge packages ", "knowledge unread ", "knowledge declined ")


def open_work(paths: Paths, workspace_id: str, url: str = "", flush_seconds: float = 120.0) -> WorkStore:
    """Open the work of a workspace: a file beside the memory's database, or its schema on the server of `url`."""
    if url:
        from nanomem_tui.store.postgres import PostgresDatabase

        server = PostgresDatabase(url, workspace_id, sign="work_meta")
        old = FirstEditionOnServer(server, workspace_id)
        return WorkStore(server, paths.work_database, workspace_id, flush_seconds, old)
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
        with driver_errors.translated(self._paths.tiers_database, _DOING):
            takeover.copy_to_read(self._paths.tiers_database, LOCK, folder / "tiers.db")
            return _made(folder / "tiers.db", folder / "work.db", self._id)

    def take_over(self) -> None:
        """Take it over where it is due, and put the old file among the backups. To call it again is harmless. Raises
        Refused while a process of the first edition has the file open, and StoreError and its kin; the old file is as
        it was then."""
        old = self._paths.tiers_database
        if not old.is_file():
            return
        with driver_errors.translated(old, _DOING), SqliteDatabase(old, LOCK).exclusive():
            if not old.is_file():
                return
            if self.is_due():
                scratch = self._paths.data / _SCRATCH
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


class FirstEditionOnServer:
    """What the first edition left of the work of a workspace on a server, in tables that all workspaces share. They
    stay as they are; what they have of this one comes into a private file as `FirstEdition` finds it."""

    def __init__(self, database: PostgresDatabase, workspace_id: str) -> None:
        self._database, self._id = database, workspace_id
        self._copied = contextlib.ExitStack()
        self.close = self._copied.close
        """Let go of the private copy."""
        self._is_due: bool | None = None

    def is_due(self) -> bool:
        """Whether there are rows to take over, and nobody did yet. Raises the errors of the server."""
        if self._is_due is None:
            with self._database.transaction() as connection:
                is_new = not inspect(connection).has_table("work_meta")
                self._is_due = is_new and self._rows(connection, _WORKSPACES) > 0
        return self._is_due

    def read_copy(self) -> WorkStore:
        """See `FirstEdition.read_copy`."""
        folder = Path(self._copied.enter_context(tempfile.TemporaryDirectory(prefix="nanomem-")))
        with self._database.transaction() as source:
            self._rows(source, _TABLES, folder / "tiers.db")
        return _made(folder / "tiers.db", folder / "work.db", self._id)

    def take_over(self) -> None:
        """Take it over where it is due, in one transaction. Raises StoreError and its kin."""
        if self.is_due():
            work.make(self._database, self._id, self._fill)
        self._is_due = False

    def _fill(self, connection: Connection) -> None:
        with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
            self._rows(connection, _TABLES, Path(folder, "tiers.db"))
            with contextlib.closing(_opened(Path(folder, "tiers.db"))) as old:
                _copy(_Old(old, self._id), connection)

    def _rows(self, connection: Connection, tables: Iterable[str], file: Path | None = None) -> int:
        """Count the rows of this workspace in old tables as they are copied to a file; without one, whether there are
        any."""
        with (
            takeover.old_tables(self._database, connection, self._id),
            contextlib.closing(sqlite3.connect(file or ":memory:")) as target,
        ):
            schema = connection.execute(select(func.current_schema())).scalar_one()
            there = {*inspect(connection).get_table_names(schema=schema)}
            for name in tables:
                if name in there:
                    order = f"{_ORDERED.get(name, 'number')}{'' if file else ' LIMIT 1'}"
                    takeover.copy_table(connection, target, name, f"workspace_id = %s ORDER BY {order}", self._id)
            target.commit()
            return sum(target.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _tables(target))


def _made(old: Path, fresh: Path, workspace_id: str) -> WorkStore:
    """Make the new file of what the old one says, and compare how many there are of each."""
    database = SqliteDatabase(fresh, WORK_LOCK)
    with contextlib.closing(database):
        work.make(database, workspace_id)
        with contextlib.closing(_opened(old)) as source, database.writing(durable=True) as connection:
            _copy(_Old(source, workspace_id), connection)
            work.index_anew(connection)
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
                yield name.replace(f" {self._id}", "", 1), escaped(value)


def _copy(old: _Old, connection: Connection) -> None:
    for kind in KINDS.values():
        records = map(work.row_of, _records(old, kind))
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
        work.set_note(connection, name.rstrip() if name.rstrip() != "knowledge removed" else name, value)


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
    texts = {name: escaped(row[name]) for name in ("title", "source")} | {"about": escaped(str(more.pop("about", "")))}
    same = _named(row, "id", "kind", "hash", "chunks", "added_at", "checked_at")
    return {**same, **texts, "meta_json": escaped(json.dumps(more, ensure_ascii=False))}


def _chunk(row: sqlite3.Row) -> dict[str, Any]:
    same = _named(row, "id", "document_id", "ordinal", "line_from", "line_to")
    return {**same, "section": escaped(row["section"]), "text": escaped(row["text"])}


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
    for part in _batched(rows, _AT_ONCE):
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
    driver_errors.refuse_what_is_no_file(file)
    connection = first_edition.open_to_read(file)
    connection.row_factory = sqlite3.Row
    connection.text_factory = driver_errors.decoded
    return connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _fold(file: Path) -> None:
    """Move the WAL into the file. Raises Refused where another program has it open."""
    try:
        fold_wal(file)
    except sqlite3.OperationalError as error:
        if driver_errors.code_of(error) not in driver_errors.BUSY:
            raise
        what = "a process of the first edition of nanomem has the records of work open"
        raise Refused(what, str(file), "end it, then try again") from None
