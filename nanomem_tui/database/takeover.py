"""Taking over a memory of the first edition: into a new database beside the old one, which then takes its place.

Owns the order of it, so that a kill at any moment leaves the old memory or the new one, whole: everybody else is kept
out, the new file is made and compared, the old one is copied, one rename puts the new file in its place, and what is
left of the old one moves to its copy. What the old files say is read by `first_edition`.
"""

from __future__ import annotations

import contextlib
import fcntl
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

from nanomem_tui import clock
from nanomem_tui.database import first_edition, models, operations, rows, store
from nanomem_tui.database.engine import LOCK, SqliteDatabase, fold_wal
from nanomem_tui.database.first_edition import Ledgers, Logged, Memory
from nanomem_tui.database.reading import COUNTERS, escaped
from nanomem_tui.database.recovery import LOG, Line
from nanomem_tui.errors import CorruptDatabase, Problem, Refused, StoreError, from_os_error
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic, driver_errors
from nanomem_tui.store.values import AnyRow

MARKER = "first_edition"
"""The marker that names the folder, in `backups/`, where what was taken over lies."""
_SCRATCH = "taken-over.nanomem-tmp"
_AT_ONCE = 5_000
_FOREIGN, _VECTORS = models.table(models.ForeignRow), models.table(models.VectorRow)
_MARKERS = models.table(models.Marker)


class TakenOver(NamedTuple):
    """What was taken over: how many there are by layer and state, the folder that keeps the old files (None for a copy
    that is read and thrown away), and what could not be taken, or not as it was."""

    counts: Mapping[str, Mapping[str, int]]
    copy: Path | None
    problems: tuple[Problem, ...]


def take_over(paths: Paths, workspace_id: str, files: Iterable[AnyRow] = (), database: Path | None = None) -> TakenOver:
    """Take over the memory of a workspace, and put the new database in the place of the old one.

    `files`: the rows of the agent's own files, see `first_edition.read`. `database`: where the new one goes, in a
    folder of its own, for a workspace that shares the old one with others; that stays then, until it is taken over
    itself. To call it again is harmless: what an interrupted one left is done. Raises Refused while a process of the
    first edition is at work, Moved, and StoreError and its kin; the old memory is as it was then.
    """
    target = database or paths.database
    with _in_our_words(paths.database), contextlib.ExitStack() as at_end:
        atomic.make_folder(paths.data)
        atomic.make_folder(target.parent)
        at_end.enter_context(SqliteDatabase(paths.database).exclusive())
        held = at_end.enter_context(first_edition.lock_out(paths.ledger))
        scratch = paths.data / _SCRATCH
        shutil.rmtree(scratch, ignore_errors=True)
        if _is_taken_over(target):
            return _move_rest(paths, workspace_id, target)
        at_end.callback(shutil.rmtree, scratch, ignore_errors=True)
        atomic.make_folder(scratch)
        source, damage = _source(paths, workspace_id)
        kept = paths.backups / f"first-edition-{clock.now():%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
        fresh = scratch / target.name
        ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)
        taken = _make(source, fresh, ledgers, workspace_id, files, kept.name)
        _copy_old_files(paths.database if target == paths.database else None, scratch / kept.name)
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
        with _in_our_words(paths.database):
            ledgers = first_edition.read_ledgers(paths.ledger / workspace_id)  # before the database
            old = folder / "old.db"
            with _writers_kept_out(paths.database.with_name(LOCK)):
                for suffix in ("", "-wal"):
                    with contextlib.suppress(FileNotFoundError):
                        shutil.copyfile(f"{paths.database}{suffix}", f"{old}{suffix}")
            source, damage = _source(paths, workspace_id, old)
            taken = _make(source, folder / paths.database.name, ledgers, workspace_id, files)
        yield folder / paths.database.name, taken._replace(problems=(*damage, *taken.problems))


# -- the old files --------------------------------------------------------------------------------------------------


def _is_taken_over(file: Path) -> bool:
    version = first_edition.version_of(file)
    return version is not None and version > first_edition.SCHEMAS[-1]


def _source(paths: Paths, workspace_id: str, copied: Path | None = None) -> tuple[Path | None, list[Problem]]:
    """The old database that holds a workspace: the one of the folder, or where another workspace was taken over before,
    what was kept of it then; None where there never was one. `copied`: a private copy of that of the folder."""
    if not _is_taken_over(paths.database):
        return _undamaged(copied or paths.database, paths.backups)
    for file in sorted(paths.backups.glob(f"first-edition-*/{paths.database.name}"), reverse=True):
        with contextlib.closing(first_edition.open_to_read(file)) as connection:
            if first_edition.holds(connection, workspace_id):
                return _undamaged(file, file.parent)
    return None, []


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
    with contextlib.closing(first_edition.open_to_read(target)) as connection:
        (owner,) = connection.execute(f"SELECT workspace_id FROM {operations.META.name}").fetchone()
        found = connection.execute(f"SELECT value FROM {_MARKERS.name} WHERE key = ?", (MARKER,)).fetchone()
    if owner != workspace_id:
        raise Refused("the database is that of another workspace", str(target), "give this one a database of its own")
    kept = paths.backups / found[0] if found is not None else None
    ledger = paths.ledger / workspace_id
    if kept is not None and ledger.is_dir():
        for copy in paths.backups.glob("copy-*.db") if target == paths.database else ():
            os.replace(copy, kept / copy.name)
        atomic.make_folder(kept / "ledger")
        os.replace(ledger, kept / "ledger" / workspace_id)  # last: `first_edition.is_due` looks for it
        # A process of the first edition that is still open would record changes that nobody reads: it fails here.
        with contextlib.suppress(FileExistsError):
            handle = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, atomic.PRIVATE_FILE)
            atomic.write_all(handle, f"A newer nanomem took this memory over; see {kept}\n".encode())
            os.close(handle)
        atomic.sync_folder(paths.ledger)
        atomic.sync_folder(kept)
    return TakenOver({}, kept, ())


# -- the new database -----------------------------------------------------------------------------------------------


def _make(
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
            _insert_rows(connection, memory)
            logged, newest = _insert_operations(
                connection, first_edition.history(old, workspace_id, memory, ledgers.kept)
            )
            _insert_many(connection, _FOREIGN, ("source", "id", "raw_json"), memory.foreign)
            _insert_many(connection, _VECTORS, ("key", "model", "dimension", "text_hash", "vector"), memory.vectors)
            _insert_many(connection, _MARKERS, ("key", "value"), [*memory.markers.items(), (MARKER, kept)])
            connection.execute(update(operations.META).values(revision=memory.last_seq))
        counts = {**_compare(database, memory, old, workspace_id), "operation": logged}
    fold_wal(fresh)
    atomic.sync_file(fresh)
    # The log beside the new database begins with its newest operation: its first copy has the others.
    atomic.write_atomic(fresh.with_name(LOG), newest.to_bytes() if newest is not None else b"")
    return TakenOver(counts, None, tuple(memory.problems))


def _insert_rows(connection: Connection, memory: Memory) -> None:
    """Insert rows with their words in the index, and their counters."""
    seq = memory.last_seq
    for layer, table in memory.rows.items():
        counters = COUNTERS[layer]
        without: dict[str, Any] = {name: 0 if name == "hits" else None for name in counters}
        bare = [row._replace(**without, revision=seq) for row in table.values()]
        for start in range(0, len(bare), _AT_ONCE):
            rows.insert_rows(connection, layer, bare[start : start + _AT_ONCE])
        if counters:
            usage = [(layer, row.id, *(getattr(row, name) or "" for name in counters), seq) for row in table.values()]
            used = [(*key, hits or 0, last, seq) for *key, hits, last, seq in usage if hits or last]
            _insert_many(connection, rows.USAGE, ("layer", "id", "hits", "last_at", "revision"), used)


def _insert_operations(connection: Connection, history: Iterable[Logged]) -> tuple[dict[str, int], Line | None]:
    """Insert operations and what they touched; returns how many stand and how many are undone, and the newest."""
    counts = Counter[str]()
    newest = None
    for one in history:
        operation = one.operation
        row = {
            "seq": one.seq, "id": operation.id, "at": operation.at, "actor": operation.actor, "kind": operation.kind,
            "label": escaped(_storable(operation.label)), "writer": "",
            "state": operations.PLANNED if one.unfinished else operations.DONE,
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
    """Insert rows as they are, straight through the driver: there may be hundreds of thousands."""
    if found := [tuple(row) for row in values]:
        compiled = insert(table).compile(connection, column_keys=names)
        assert compiled.positiontup == list(names), "named in the order of the table"
        connection.exec_driver_sql(str(compiled), found)


def _json(value: Any) -> str:
    """JSON as a database takes it: a lone surrogate, which no UTF-8 holds, stays the escape that it was."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return written.encode("utf-8", "backslashreplace").decode()


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# -- before and after -----------------------------------------------------------------------------------------------


def _compare(
    database: SqliteDatabase, memory: Memory, old: sqlite3.Connection, workspace_id: str
) -> dict[str, dict[str, int]]:
    """Hold the new database against what the first edition showed, and against the old tables themselves; returns how
    many rows there are by layer and state. Raises StoreError where anything differs."""
    counts: dict[str, dict[str, int]] = {}
    touched = {change.key for waiting in memory.waiting for change in waiting.operation.changes}
    with database.reading() as connection:
        for layer, wanted in memory.rows.items():
            found = {row.id: row for row in rows.read(connection, layer)}
            _refuse_different(layer, wanted, found, memory.last_seq)
            for key, text in first_edition.texts(old, layer, workspace_id):
                if key not in touched and getattr(found.get(key), first_edition.TEXTS[layer], None) != text:
                    raise _different(layer, key)
            counts[layer] = dict(Counter(map(_state, found.values())))
    return counts


def _refuse_different(layer: str, wanted: Mapping[str, AnyRow], found: Mapping[str, AnyRow], revision: int) -> None:
    for key in wanted.keys() | found.keys():
        expected, row = wanted.get(key), found.get(key)
        if expected is None or row is None or expected._replace(revision=revision) != row:
            raise _different(layer, key)


def _different(layer: str, key: str) -> StoreError:
    what = f"the {layer} {key} would not be what it was, so nothing was replaced"
    return StoreError(what, "the memory of the first edition", "report this; the first edition still opens it")


def _state(row: AnyRow) -> str:
    return "deleted" if row.is_deleted else "active" if getattr(row, "enabled", True) else "disabled"


# -- around it ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _writers_kept_out(lock: Path) -> Iterator[None]:
    """Keep writers of the first edition out while its files are copied, where one ever wrote."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def _in_our_words(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise driver_errors.in_our_words(error, file) from error
    except OSError as error:
        raise from_os_error(error, "taking over the memory of the first edition") from error
