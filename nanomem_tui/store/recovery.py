"""What brings a damaged database back: a daily copy of the file, and `operations.jsonl` beside it (SQLite only).

Owns both, and the repair from them. Whoever commits appends every commit that the log lacks, in the order of commits,
without fsync; the checkpoint fills the end and syncs. A line that the database does not have is a commit that a power
cut took: it is made again before a process writes for the first time. Counters are in neither.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sqlalchemy import func, inspect, select, update
from sqlalchemy.schema import CreateIndex

from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import DiskFull, NanomemError, Problem, StoreError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted
from nanomem_tui.store.database import bookkeeping, migrations, models, operation_log, reading, rows
from nanomem_tui.store.database.engine import SqliteDatabase, copy_whole, fold_wal
from nanomem_tui.store.database.reading import is_foreign_database
from nanomem_tui.store.snapshot import NOT_COMPARED, patched
from nanomem_tui.store.values import AnyRow

LOG, LOCK = "operations.jsonl", "operations.lock"
KEPT_COPIES = 3
LOG_SECONDS = 10.0
"""How long to wait for another process that writes the log."""
_TAIL = 1 << 16
_FROM_A_BACKUP = "`nanomem backup list` shows the backups, `nanomem backup restore NAME` takes one back"


class Line(NamedTuple):
    """A commit as the log beside the database has it. `after`: the number of the commit in the line before it; numbers
    between the two are of counters."""

    seq: int
    operation: Operation
    after: int = 0

    def to_bytes(self) -> bytes:
        body = {"seq": self.seq, "after": self.after, **self.operation.to_json()}
        return f"{json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n".encode("utf-8", "surrogatepass")

    @classmethod
    def parse(cls, data: bytes) -> Line | None:
        """Return the line, or None for one that was cut or harmed."""
        try:
            body = json.loads(data.decode("utf-8", "surrogatepass"))
            return cls(int(body["seq"]), Operation.from_json(body), int(body.get("after", 0)))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


class Repaired(NamedTuple):
    """What a repair did: the copy that it began with, how many commits of the log it made again, where the damaged file
    lies ("" where there was none), and the numbers of commits that nobody has. `has_log`: whether there was a log."""

    copy: str
    replayed: int
    quarantined: str
    missing: tuple[int, ...]
    has_log: bool = True

    def text(self) -> str:
        """Return what was done and what is missing, for a person."""
        done = f"made anew from {self.copy} and {counted(self.replayed, 'later change')} of {LOG}"
        if not self.has_log:
            return f"made anew from {self.copy}; {LOG} was not there, so every later change is missing from the history"
        if self.missing:
            lost = counted(len(self.missing), "place")
            return f"{done}; at {lost} of {LOG} lines cannot be read, and the changes in them are missing"
        return done


class DatabaseRecovery:
    """The copies of one database and the log beside it."""

    def __init__(self, database: SqliteDatabase, copies: Path, quarantine: Path) -> None:
        self._database = database
        self._log = database.file.with_name(LOG)
        self._lock = database.file.with_name(LOCK)
        self._copies = copies
        self._quarantine = quarantine
        self._end: tuple[int, int, int] | None = None  # inode and size of the log as we left it, and its last commit

    # -- the log ------------------------------------------------------------------------------------------------

    def append(self, newest: Line | None = None) -> int:
        """Append every commit that the log does not have yet; return how many. `newest`: the one just made."""
        with self._locked() as file:
            seq = self._last(file)
            found = [newest] if newest is not None and newest.seq == seq + 1 else self._since(seq)
            if found:
                lines = _in_row(found, seq)
                file.seek(0, os.SEEK_END)
                file.write(b"".join(line.to_bytes() for line in lines))
                file.flush()
                seq = lines[-1].seq
            there = os.fstat(file.fileno())
            self._end = (there.st_ino, there.st_size, seq)
            return len(found)

    def _last(self, file: BinaryIO) -> int:
        """The number of the last commit in the log; it is read only where another process wrote since."""
        there = os.fstat(file.fileno())
        if self._end is not None and (there.st_ino, there.st_size) == self._end[:2]:
            return self._end[2]
        last = _last_line(file)
        return last.seq if last is not None else 0

    def sync(self) -> int:
        """Fill what is missing at the end of the log and make it durable; called by the checkpoint."""
        count = self.append()
        atomic.sync_file(self._log)
        return count

    def make_lost_commits_again(self) -> int:
        """Make the commits again that a power cut took from the database and not from the log; return how many."""
        with self._locked() as file:
            with self._database.reading() as connection:
                newest = bookkeeping.meta_of(connection).revision
            last = _last_line(file)
            if last is None or last.seq <= newest:
                return 0
            lost = [line for line in _lines(file) if line.seq > newest]
            with self._database.writing(durable=True) as connection:
                _replay(connection, lost)
            return len(lost)

    def lost_commits(self) -> int:
        """Count the commits that the log has and the database lacks. Reads only."""
        if not self._log.exists():
            return 0
        with open(self._log, "rb") as file:  # first: others commit meanwhile, and write the log after that
            in_log = [line.seq for line in _lines(file)]
        with self._database.reading() as connection:
            newest = bookkeeping.meta_of(connection).revision
        return sum(seq > newest for seq in in_log)

    def unreadable_lines(self) -> list[int]:
        """List the numbers of the lines of the log that cannot be read, but for a torn end, from 1. Reads only."""
        if not self._log.exists():
            return []
        with open(self._log, "rb") as file:
            return [number for number, data in enumerate(file, 1) if data.endswith(b"\n") and Line.parse(data) is None]

    def write_anew(self) -> None:
        """Write the log anew from the database, for who took texts out of it; lines that were harmed go too."""
        with self._locked() as file:
            first = next(_lines(file), None)
            lines = _in_row(self._since(first.seq - 1), first.after) if first is not None else []
            atomic.write_atomic(self._log, (line.to_bytes() for line in lines))

    def _since(self, seq: int) -> list[Line]:
        with self._database.reading() as connection:
            asked = select(models.OPERATIONS).where(models.OPERATIONS.c.seq > seq)
            found = [operation_log.entry_of(row) for row in connection.execute(asked.order_by("seq"))]
        return [Line(entry.position, entry.operation) for entry in found]

    @contextlib.contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        with reading.translate_errors(self._log, "writing the log beside the database"):
            lock = atomic.open_owned(self._lock, flags)
            try:
                atomic.wait_for_lock(lock, self._lock, LOG_SECONDS)
                is_new = not self._log.exists()
                with open(atomic.open_owned(self._log, flags), "r+b") as file:
                    if is_new:
                        atomic.sync_folder(self._log.parent)
                    yield file
            finally:
                os.close(lock)

    # -- copies -------------------------------------------------------------------------------------------------

    def copy_if_due(self) -> Path | None:
        """Copy the database once a day; keep the newest three copies, and of the log what is newer than the oldest."""
        target = self._copies / f"nanomem-{clock.iso(clock.now())[:10]}.db"
        if target.exists():
            return None
        with self._copying():
            return None if target.exists() else self._copy(target)

    def copy_anew(self) -> None:
        """Put one copy of the database as it is now in the place of all that there are."""
        with self._copying():
            fresh = self._copy(self._copies / f"nanomem-{clock.iso(clock.now())[:10]}.db")
            for old in (*self.copies(), *self._copies_of_work()):
                if old != fresh:
                    old.unlink()
            atomic.sync_folder(self._copies)

    def _copying(self) -> contextlib.AbstractContextManager[int]:
        return atomic.locked(self._database.file.with_name("copies.lock"), wait=60.0)

    def _copy(self, target: Path) -> Path:
        atomic.make_folder(self._copies)
        with self._database.shared():
            copy_whole(self._database.file, target, self._refuse_damaged)
        self._prune()
        return target

    def _refuse_damaged(self, copy: Path) -> None:
        if not is_whole(copy):
            what = "the database is damaged, so no copy was kept"
            raise StoreError(what, self._database.where, "run `nanomem doctor`")

    def copies(self) -> list[Path]:
        """List the copies, newest first."""
        return sorted(self._copies.glob("nanomem-*.db"), reverse=True)

    def _copies_of_work(self) -> list[Path]:
        """The copies of the records of work, each as it was before a migration."""
        return [*self._copies.glob("work*-schema-*.db")]

    def _prune(self) -> None:
        for old in self.copies()[KEPT_COPIES:]:
            old.unlink()
        oldest = self.copies()[-1]
        for old in self._copies_of_work():
            if old.name.partition("-schema-")[0][-10:] < oldest.stem[8:18]:  # of a day before
                old.unlink()
        with contextlib.closing(_open_to_read(oldest)) as connection:
            (seq,) = connection.execute(str(select(models.META.c.revision))).fetchone()
        with self._locked() as file:
            lines = list(_lines(file))
            kept = [line for line in lines if line.seq > seq] or lines[-1:]  # the last one tells how far the log goes
            if len(kept) < len(lines):
                atomic.write_atomic(self._log, b"".join(line.to_bytes() for line in kept))

    def damaged_copies(self) -> list[Path]:
        """List the copies that are not whole, newest first. Reads every page of each."""
        return [copy for copy in self.copies() if not is_whole(copy)]

    def replace_damaged_copies(self) -> None:
        """Put damaged copies into the quarantine, and make today's copy where there is none left of today."""
        with self._copying():
            atomic.make_folder(self._quarantine)
            for copy in self.damaged_copies():
                os.replace(copy, self._quarantine / f"copy-{_stamp()}-{copy.name}")
            atomic.sync_folder(self._copies)
        self.copy_if_due()

    # -- repair -------------------------------------------------------------------------------------------------

    def repair(self) -> Repaired:
        """Put the damaged database into the quarantine and make it anew from the newest whole copy and the log.

        Raises StoreError where there is no whole copy; nothing is moved then.
        """
        has_log = self._log.exists() and self._log.stat().st_size > 0
        with self._database.exclusive(), self._locked() as file:
            start = next((copy for copy in self.copies() if is_whole(copy)), None)
            if start is None:
                raise StoreError("there is no whole copy of the database", str(self._copies), _FROM_A_BACKUP)
            lines = list(_lines(file))
            fresh = self._database.file.parent / "repaired.nanomem-tmp" / self._database.file.name
            shutil.rmtree(fresh.parent, ignore_errors=True)
            atomic.make_folder(fresh.parent)
            shutil.copyfile(start, fresh)
            fresh.chmod(atomic.PRIVATE_FILE)
            atomic.give_to_folder_owner(fresh, self._database.file.parent)
            repaired = SqliteDatabase(fresh)
            try:
                migrations.migrate(repaired, is_private=True)  # the copy may be of an earlier release
                with repaired.writing(durable=True) as connection:
                    since = bookkeeping.meta_of(connection).revision
                    wanted = [line for line in lines if line.seq > since]
                    _replay(connection, wanted)
                    connection.execute(update(models.META).values(epoch=os.urandom(8).hex()))
            finally:
                repaired.close()
            fold_wal(fresh)
            seqs = {line.seq for line in wanted}
            missing = tuple(line.after for line in wanted if line.after > since and line.after not in seqs)
            aside = self._set_aside()
            atomic.sync_file(fresh)
            os.replace(fresh, self._database.file)
            atomic.sync_folder(self._database.file.parent)
            shutil.rmtree(fresh.parent)
            return Repaired(start.name, len(wanted), aside, missing, has_log)

    def _set_aside(self) -> str:
        """Keep the damaged file, and its WAL where that holds something, under a name that says when."""
        atomic.make_folder(self._quarantine)
        name = f"{atomic.ANOTHERS if is_foreign_database(self._database.file) else 'nanomem'}-{_stamp()}.db"
        had_file = self._database.file.exists()
        for suffix in ("", "-wal", "-shm"):
            harmed = self._database.file.with_name(self._database.file.name + suffix)
            if suffix == "-shm" or (suffix and harmed.exists() and not harmed.stat().st_size):
                harmed.unlink(missing_ok=True)
            elif harmed.exists():
                harmed.chmod(atomic.PRIVATE_FILE)
                os.replace(harmed, self._quarantine / f"{name}{suffix}")
        return name if had_file else ""


def _stamp() -> str:
    """Now, as it stands in the name of a file."""
    return clock.iso(clock.now())[:19].replace(":", "")


def is_whole(file: Path) -> bool:
    """Whether SQLite finds nothing wrong with a database; reads every page and looks up every row in its indexes."""
    try:
        with contextlib.closing(_open_to_read(file)) as connection:
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False


def _open_to_read(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def _in_row(lines: Sequence[Line], after: int) -> list[Line]:
    """The lines, each with the number of the one before it; `after`: that of the one before them all."""
    return [line._replace(after=last) for line, last in zip(lines, (after, *(one.seq for one in lines)), strict=False)]


def _replay(connection: Any, lines: Sequence[Line]) -> None:
    """Make commits again, in their order and under their numbers, without comparing: they were compared once."""
    for line in lines:
        operation = line.operation
        for layer in models.TABLES:
            part = [change for change in operation.changes if change.layer == layer]
            there = {row.id: row for row in rows.read(connection, layer, ids=[change.key for change in part])}
            for change in part:
                row = there.get(change.key)
                if row is None and (change.before is not None or change.after is None):
                    continue  # the line that made it is missing, and is named as such
                made = patched(row, change, line.seq)
                if row is None:
                    rows.insert_rows(connection, layer, [made])
                else:
                    rows.update_row(connection, layer, made, made._fields)
                there[change.key] = made
        bookkeeping.write_operation(connection, line.seq, operation)
        target = bookkeeping.find_operation(connection, operation.undoes or operation.redoes or "")
        if target is not None and operation.kind == "void":
            bookkeeping.mark_void(connection, target.operation)
        elif target is not None:
            bookkeeping.mark_reversed(connection, operation)
    newest = select(func.coalesce(func.max(models.OPERATIONS.c.seq), 0)).scalar_subquery()
    connection.execute(update(models.META).values(revision=newest))


def _lines(file: BinaryIO) -> Iterator[Line]:
    """The whole lines of the log, in its order; what was cut or harmed is passed over."""
    file.seek(0)
    for data in file:
        line = Line.parse(data)
        if line is not None:
            yield line


def _last_line(file: BinaryIO) -> Line | None:
    """The last whole line; a torn end is cut off, so that the next line begins anew."""
    size = file.seek(0, os.SEEK_END)
    reach = _TAIL
    while size:
        start = max(0, size - reach)
        file.seek(start)
        data = file.read(size - start)
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data) and (whole or not start):
            size = start + len(whole)
            file.truncate(size)
            continue
        for part in reversed(whole.splitlines()[0 if not start else 1 :]):
            line = Line.parse(part)
            if line is not None:
                return line
        if not start:
            return None
        reach *= 4
    return None


# What is wrong with the database of a workspace, and what `nanomem doctor --fix` does about it (SQLite).

_MOST = 20
MISSING = ""
"""Stands for the field of a row that is not there at all."""
FIX = "`nanomem doctor --fix` makes it anew from the newest copy and the operations since, and keeps this file"
NO_COPY = (
    "no copy of it is whole: restore a backup (`nanomem backup list`), or move the folder of nanomem's data away, so "
    "that the agent's own files are read anew; the history is lost then"
)


def damage_problems(database: SqliteDatabase, copies: list[Path]) -> Iterator[Problem]:
    """List what is wrong with a database: pages, tables, indexes, and rows that are not what was written. `copies`:
    the whole ones. Reads only."""
    where = database.where
    damaged = list(damaged_parts(database))
    fix = FIX if copies else NO_COPY
    yield from (Problem(f"damaged: {one}", where, None, fix) for one in damaged[:_MOST])
    if damaged:
        return
    for name in missing_indexes(database):
        yield Problem(f"lacks index {name}", where, None, "`nanomem doctor --fix` makes it anew")
    for op_id in list(unreadable(database))[:_MOST]:
        yield Problem(f"operation {op_id} cannot be read", where, None, "it cannot be undone; a backup has it whole")
    for layer, key, name in list(dict.fromkeys(altered(database, copies)))[:_MOST]:
        how = f": its field {name} is not what was written" if name != MISSING else " is missing"
        yield Problem(f"{layer} {key}{how}", where, None, f"look at it: `nanomem log --key {key}` says what it was")


def unreadable(database: SqliteDatabase) -> Iterator[str]:
    """Find the ids of operations whose changes cannot be read."""
    with database.reading() as connection:
        for found in connection.execute(select(models.OPERATIONS).where(models.OPERATIONS.c.touched > 0)):
            entry = operation_log.entry_of(found)
            if not entry.operation.changes:
                yield entry.operation.id


def damaged_parts(database: SqliteDatabase) -> Iterator[str]:
    """Say in words what keeps the file from being used as it is. Raises DiskFull: that is no damage."""
    try:
        if reading.is_closed_to_writers(database.file):
            yield "its header keeps everybody from writing to it"
        with database.reading() as connection:
            found = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST})")]
            yield from (one for one in found if one != "ok" and "index" not in one)
            there = inspect(connection)
            names = there.get_table_names()
            if not names:
                yield "it is empty"
                return
            if reading.are_foreign_tables(names):
                yield reading.foreign_database(database.file, min(names)).what
                return
            for table in models.METADATA.sorted_tables:
                if not there.has_table(table.name):
                    yield f"its table {table.name} is missing"
                elif {column.name for column in table.columns} - {c["name"] for c in there.get_columns(table.name)}:
                    yield f"its table {table.name} is not as it was made"
    except DiskFull:
        raise
    except (NanomemError, sqlite3.Error) as error:
        yield error.what if isinstance(error, NanomemError) else str(error)


def missing_indexes(database: SqliteDatabase) -> list[str]:
    """List the indexes that the tables should have and have not, or that do not have what their tables have."""
    with database.reading() as connection:
        there = inspect(connection)
        found = {index["name"] for table in models.METADATA.sorted_tables for index in there.get_indexes(table.name)}
        wanted = {str(index.name) for table in models.METADATA.sorted_tables for index in table.indexes}
        harmed = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
    torn = {name for name in wanted if any(line.endswith(f"index {name}") for line in harmed)}
    return sorted((wanted - found) | torn)


def make_indexes(database: SqliteDatabase, names: list[str]) -> None:
    """Make indexes anew. Raises StoreError."""
    with database.writing(durable=True) as connection:
        for table in models.METADATA.sorted_tables:
            for index in table.indexes:
                if index.name in names:
                    connection.exec_driver_sql(f'DROP INDEX IF EXISTS "{index.name}"')
                    connection.execute(CreateIndex(index))


def altered(database: SqliteDatabase, copies: list[Path]) -> Iterator[tuple[str, str, str]]:
    """Find (layer, id, field) of rows that are not what the newest operation on them, or the newest copy, says."""
    with database.reading() as connection:
        here = {layer: {row.id: row for row in rows.read(connection, layer)} for layer in models.TABLES}
        told: dict[tuple[str, str], dict[str, Any]] = {}
        every = select(models.OPERATIONS).order_by(models.OPERATIONS.c.seq)
        for found in connection.execute(every):
            entry = operation_log.entry_of(found)
            for change in entry.operation.changes:
                if change.layer in here:
                    fields = told.setdefault((change.layer, change.key), {})
                    fields |= dict(change.after) if change.after is not None else {"is_deleted": True}
    for (layer, key), fields in told.items():
        row = here[layer].get(key)
        if row is None:
            yield layer, key, MISSING
        else:
            yield from ((layer, key, name) for name in _differing(row, fields))
    if copies:
        yield from _unlike_copy(here, copies[0])


def _differing(row: AnyRow, fields: dict[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if name in row._fields and name not in NOT_COMPARED and getattr(row, name) != value:
            yield name


def _unlike_copy(here: dict[str, dict[str, AnyRow]], copy: Path) -> Iterator[tuple[str, str, str]]:
    """Rows that were not written since a copy was made, and are not what it has."""
    other = SqliteDatabase(copy)
    with contextlib.closing(other), contextlib.suppress(NanomemError), other.reading() as connection:
        for layer, table in here.items():
            for row in rows.read(connection, layer):
                now = table.get(row.id)
                if now is None:
                    yield layer, row.id, MISSING
                elif now.revision == row.revision:
                    yield from ((layer, row.id, name) for name in _differing(now, row._asdict()))
