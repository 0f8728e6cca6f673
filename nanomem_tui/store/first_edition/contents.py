"""A memory as the first edition kept it: rows and operations in a file of SQLite that several workspaces share, and the
operations of each process in a ledger file of its own until a checkpoint moved them into the database.

Owns how that is read, and what a person saw of it: the rows with every waiting operation on top. Reads only, through
the driver alone, so that a command that only reads can ask `is_first_edition`. What becomes of it is `takeover`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import sqlite3
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import CorruptDatabase, Moved, Problem, Refused
from nanomem_tui.core.operations import Change, Operation, failed_in
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import counted
from nanomem_tui.store.database import reading
from nanomem_tui.store.files.exchange import kept_in_conflict, merge_row
from nanomem_tui.store.values import ROW_TYPES, AnyRow, Item, row_hash

SCHEMAS = range(1, 4)
"""What `PRAGMA user_version` of its databases says."""
TABLES = {"item": "memory_entries", "lesson": "lessons", "record": "records"}
LEDGER, KEPT = "*.ledger", "kept/*.kept"
"""What waits, one file a process; and what was committed since the oldest copy, should the database lose it."""
Part = tuple[str, str]
"""Layer and key of a thing."""
UndoneParts = dict[str, list[set[Part] | None]]
"""By the id of an operation: the parts of it that each of its undos took back, None for all of them."""
_COUNTED = frozenset({"hits", "last_accessed_at", "last_applied_at", "updated_at", "revision"})
"""Fields that turns moved by themselves: a change never compared them."""
_CASTS = {int: "INTEGER", bool: "INTEGER", float: "REAL"}
_LINE = b'{"c":"'
_OF_THE_DATABASE = re.compile(
    r"(?:revision|rows|operations|last_seq|last_ms|chain|tokens|moved|arriving|arrived)$|(?:seen|verdict):"
)
"""Markers that say something of the old tables alone."""


class Logged(NamedTuple):
    """An operation and its place in the order of commits; `undone`: nothing of it stands; `parts`: each thing that it
    touched, and whether that is undone. `unfinished`: its process was killed, maybe before the files of others were
    written."""

    seq: int
    operation: Operation
    undone: bool
    parts: Mapping[Part, bool]
    unfinished: bool = False


class Waiting(NamedTuple):
    """An operation that waited in a ledger file, and its place behind those of the database."""

    seq: int
    operation: Operation
    unfinished: bool


class Memory(NamedTuple):
    """The memory of one workspace as the first edition showed it: rows by layer and id, with all that waited on top.

    `waiting`: the operations that waited, behind those of the database, in their order. `foreign`: (source, id, JSON)
    of rows of agents' files as they were last exchanged. `problems`: what could not be taken, and where it stays.
    """

    rows: dict[str, dict[str, AnyRow]]
    waiting: list[Waiting]
    last_seq: int
    foreign: list[tuple[str, str, str]]
    markers: dict[str, str]
    problems: list[Problem]


def is_due(paths: Paths, workspace_id: str) -> bool:
    """Whether a memory of the first edition lies here, or the rest of one. Cheap: a command asks it before it opens the
    database."""
    if has_ledgers(paths, workspace_id):
        return True
    shared = paths.first_edition_database
    if paths.database == shared:
        return is_first_edition(shared)
    return not paths.database.exists() and source(paths, workspace_id) is not None


def source(paths: Paths, workspace_id: str) -> Path | None:
    """Return the old database that holds a workspace: the one that all workspaces of the home shared, or where another
    of them was taken over before, what was kept of it then; None where there is none."""
    shared = paths.first_edition_database
    kept = sorted(paths.backups.glob(f"first-edition-*/{shared.name}"), reverse=True)
    for file in [shared, *kept] if is_first_edition(shared) else kept:
        with contextlib.closing(open_to_read(file)) as connection, contextlib.suppress(CorruptDatabase):
            if holds(connection, workspace_id):
                return file
    return None


def has_ledgers(paths: Paths, workspace_id: str) -> bool:
    """Whether operations of the first edition may wait in files."""
    return any(True for name in (LEDGER, KEPT) for _ in (paths.ledger / workspace_id).glob(name))


def is_first_edition(file: Path) -> bool:
    """Whether a file is a database of the first edition; False where that cannot be read."""
    return version_of(file) in SCHEMAS


def is_newer(file: Path) -> bool:
    """Whether a file is a database of a later edition than the first."""
    version = version_of(file)
    return version is not None and version > SCHEMAS[-1]


def version_of(file: Path) -> int | None:
    """Return `PRAGMA user_version` of a database, None for what is none, or is not there."""
    if not file.is_file():
        return None
    try:
        with contextlib.closing(open_to_read(file)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.OperationalError:  # a WAL in a folder that nobody may write to
        with contextlib.suppress(OSError), core_files.opened(file) as header:
            return int.from_bytes(header.read(64)[60:], "big")
    except sqlite3.DatabaseError:
        pass
    return None


def open_to_read(file: Path) -> sqlite3.Connection:
    """Open a database without changing anything, as far as SQLite allows it: a WAL makes it leave a `-shm`."""
    immutable = "" if file.with_name(f"{file.name}-wal").exists() else "&immutable=1"
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro{immutable}", uri=True)


# -- processes ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def lock_out(ledgers: Path) -> Iterator[frozenset[Path]]:
    """Lock the ledger files of every workspace that shares the database, so that no process of the first edition takes
    them over; yield them. Raises Refused, with pid and name, while such a process runs."""
    files = sorted(ledgers.glob(f"*/{LEDGER}"))
    with contextlib.ExitStack() as held:
        for file in files:
            handle = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            held.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                what = f"the first edition of nanomem is at work: {_process_of(file)}"
                raise Refused(what, str(ledgers.parent), "end it, then try again") from None
        yield frozenset(files)


def _process_of(ledger: Path) -> str:
    import subprocess  # is slow to import, and this is asked by every command

    pid = [*ledger.name.split("-"), "", ""][1]
    with contextlib.suppress(OSError):
        listed = subprocess.run(["ps", "-o", "args=", "-p", pid], capture_output=True, text=True, check=False)
        if name := " ".join(listed.stdout.split())[:80]:
            return f"process {pid} ({name})"
    return f"process {pid}"


# -- operations that wait -------------------------------------------------------------------------------------------


class Ledgers(NamedTuple):
    """The operations in the files of one workspace: those of each process, and those that were kept beside the
    database; and lines that cannot be read."""

    processes: list[list[Operation]]
    kept: list[Operation]
    problems: list[Problem]


def read_ledgers(folder: Path) -> Ledgers:
    """Read the ledger files of one workspace. Read before the database: what a process moves there meanwhile is met
    twice then, and never missed."""
    problems: list[Problem] = []
    processes = [_read_lines(file, problems) for file in sorted(folder.glob(LEDGER))]
    kept = [operation for file in sorted(folder.glob(KEPT)) for operation in _read_lines(file, [])]
    return Ledgers(processes, kept, problems)


def _read_lines(file: Path, problems: list[Problem]) -> list[Operation]:
    """The operations of a file; what was torn or harmed costs its line, and only the end of a file may be torn."""
    try:
        lines = core_files.read(file, core_files.MOST_OF_A_LOG).split(b"\n")
    except FileNotFoundError:
        return []
    found: list[Operation] = []
    for number, line in enumerate(lines, 1):
        operation = _operation(line)
        # A line that something was put into, or whose end was lost, may hold whole ones.
        parts = [_LINE + part[: part.rfind(b"}") + 1] for part in line.split(_LINE)[1:]] if operation is None else []
        operations = [one for one in (operation, *map(_operation, parts)) if one is not None]
        found += operations
        if not operations and line.strip(b"\0\r "):
            what = "a change that cannot be read" if number < len(lines) else "a change whose end is cut off"
            problems.append(Problem(what, f"ledger/{file.name}", number, "the old file is kept with its words"))
    return found


def _operation(line: bytes) -> Operation | None:
    """The operation of a line `{"c":"<crc32>","r":<operation>}`, None for one that was harmed."""
    body = line[20:-1]
    if line[14:20] != b'","r":' or line[6:14] != b"%08x" % zlib.crc32(body):
        return None
    return parse(body.decode("utf-8", "replace"))


def parse(text: str) -> Operation | None:
    """Return the operation of a JSON text, None for one that is none."""
    try:
        found = Operation.from_json(core_files.loads(text))
    except (ValueError, KeyError, TypeError):
        return None
    changes: Iterable[Any] = found.changes
    is_valid = isinstance(found.meta, dict) and all(
        type(layer) is type(key) is str and isinstance(before, dict | None) and isinstance(after, dict | None)
        for layer, key, before, after in changes
    )
    return found if is_valid else None


def _in_order(sequences: Iterable[Sequence[Operation]]) -> list[Operation]:
    """Operations of several processes as one sequence: each one's own order stays, whatever its clock did."""
    placed: list[tuple[str, Operation]] = []
    for sequence in sequences:
        latest = ""
        for operation in sequence:
            latest = max(latest, operation.sort_time)
            placed.append((latest, operation))
    return [operation for _, operation in sorted(placed, key=lambda pair: pair[0])]


# -- the database ---------------------------------------------------------------------------------------------------


def read(connection: sqlite3.Connection, workspace_id: str, ledgers: Ledgers, files: Iterable[AnyRow] = ()) -> Memory:
    """Read the memory of a workspace: its rows, with the changes of its ledger files applied.

    `files`: the rows of the agent's own files: all there is before the first checkpoint, and what a change that waits
    may be of that no checkpoint met. Raises CorruptDatabase where a table cannot be read, Moved where the memory lies
    elsewhere.
    """
    connection.text_factory = reading.decode_text
    problems = [*ledgers.problems]
    markers = _markers(connection, workspace_id)
    if move := markers.get("moved") or markers.get("arriving"):
        raise Moved("the memory was moved, or is being moved", _target_of(move), "open it there")
    rows: dict[str, dict[str, AnyRow]] = {}
    for layer, table in TABLES.items():
        rows[layer] = {}
        for row in _rows(connection, layer, workspace_id, problems):
            if row.id in rows[layer]:
                what = f"the {layer} {row.id} stands twice; the one stored last was taken"
                problems.append(Problem(what, table, fix="the copy in `backups/` has both"))
            rows[layer][row.id] = row
    in_files = {("item" if isinstance(row, Item) else "lesson", row.id): row for row in files}
    if "revision" not in markers and not any(rows.values()):
        for (layer, key), row in in_files.items():
            rows[layer][key] = row
    for key, numbers in others_in(connection, workspace_id).items():
        what = f"the memory of another workspace stays in the old database: {', '.join(numbers)}"
        problems.append(Problem(what, f"workspace {key}", severity="warning"))
    query = "SELECT CAST(id AS TEXT), seq FROM operations WHERE workspace_id = ?"
    known = dict(_select(connection, query, workspace_id))
    marked = markers.get("last_seq", "")
    last_seq = max([*known.values(), int(marked) if marked.isascii() and marked.isdigit() else 0])
    found = waiting(ledgers, known, last_seq)
    void = failed_in(_bookkeeping(connection, workspace_id))
    _apply(rows, done(found, void), _seen(markers), in_files, problems)
    kept = {name: value for name, value in markers.items() if not _OF_THE_DATABASE.match(name)}
    if kept.get("exported") == markers.get("revision") and not found:
        kept["exported"] = str(last_seq)
    foreign = _select(connection, "SELECT source, id, raw_json FROM foreign_rows WHERE workspace_id = ?", workspace_id)
    return Memory(rows, found, found[-1].seq if found else last_seq, [*foreign], kept, problems)


def history(
    connection: sqlite3.Connection, workspace_id: str, memory: Memory, kept: Iterable[Operation] = ()
) -> Iterator[Logged]:
    """Read every operation, oldest commit first, those that waited last. One that was harmed is read from those that
    were `kept` beside the database, or added to the problems of the memory."""
    undone_parts = _undone_parts(connection, workspace_id, memory.waiting)
    beside = {operation.id: operation for operation in kept}
    query = "SELECT seq, CAST(id AS TEXT), body_json, undone FROM operations WHERE workspace_id = ? ORDER BY seq"
    for seq, key, body, undone in _select(connection, query, workspace_id):
        operation = parse(body) if isinstance(body, str) else None
        operation = operation if operation is not None and operation.id == key else beside.get(key)
        if operation is not None:
            yield _logged(seq, operation, bool(undone), undone_parts)
        else:
            what = "a change that cannot be read: the copy has it, the log no more"
            memory.problems.append(Problem(what, f"operation {key}"))
    for waiting in memory.waiting:
        yield _logged(waiting.seq, waiting.operation, False, undone_parts)._replace(unfinished=waiting.unfinished)


def _logged(seq: int, operation: Operation, undone: bool, undone_parts: UndoneParts) -> Logged:
    """An operation with what is undone of it; where no other operation refers to it, what its row says."""
    undos = undone_parts.get(operation.id)
    undone = undone if undos is None else None in undos
    parts = {(change.layer, change.key): undone for change in operation.changes}
    for undo in undos or ():
        parts |= dict.fromkeys(parts.keys() & (undo or ()), True)
    return Logged(seq, operation, all(parts.values()) if parts else undone, parts)


def _undone_parts(connection: sqlite3.Connection, workspace_id: str, waiting: Sequence[Waiting]) -> UndoneParts:
    """Find which parts of which operations are undone. A redo names the undo that it reverses, so the order in which
    processes wrote them does not matter."""
    bookkeeping = [*_bookkeeping(connection, workspace_id), *(one.operation for one in waiting)]
    void = failed_in(bookkeeping)
    redone = {one.meta.get("undo") for one in bookkeeping if one.redoes and one.id not in void}
    found: dict[str, list[set[Part] | None]] = {}
    for one in bookkeeping:
        undos = found.setdefault(one.undoes or one.redoes or "", [])
        if one.id in redone:
            found.setdefault(one.id, []).append(None)
        elif one.undoes and one.id not in void:
            is_all = one.kind == "void" or "keys" not in one.meta or one.meta.get("rest")
            undos.append(None if is_all else {(change.layer, change.key) for change in one.changes})
    return found


def _rows(connection: sqlite3.Connection, layer: str, workspace_id: str, problems: list[Problem]) -> Iterator[AnyRow]:
    """Every row of a layer, each value as one of its column's type, as the first edition showed it. No index is asked:
    one that was harmed would leave rows out."""
    kind = ROW_TYPES[layer]
    truths = [place for place, name in enumerate(kind._fields) if isinstance(kind._field_defaults.get(name), bool)]
    columns = ", ".join(
        f"CAST({'content' if (layer, name) == ('item', 'text') else name}"
        f" AS {_CASTS.get(type(kind._field_defaults.get(name)), 'TEXT')})"
        for name in kind._fields
    )
    query = (
        f"SELECT {columns}, row_hash, typeof(id), rowid FROM {TABLES[layer]} NOT INDEXED WHERE workspace_id = ?"
        " ORDER BY rowid"
    )
    for *values, written, type_of_id, number in _select(connection, query, workspace_id):
        if type_of_id != "text" or not values[0]:
            problems.append(Problem("a row without an id, which stays in the copy", f"{TABLES[layer]}, row {number}"))
            continue
        if row_hash(values) != written:
            what = f"a {layer} that is not what was written; it was taken as it is, and the copy has it too"
            problems.append(Problem(what, values[0], severity="warning"))
        for place in truths:
            values[place] = bool(values[place])
        row = kind._make(values)
        yield row._replace(last_accessed_at=row.last_accessed_at or None) if isinstance(row, Item) else row


def holds(connection: sqlite3.Connection, workspace_id: str) -> bool:
    """Whether a database has anything of a workspace."""
    tables = (*TABLES.values(), "operations")
    query = "SELECT 1 FROM {} WHERE workspace_id = ? LIMIT 1"
    return any(any(_select(connection, query.format(table), workspace_id)) for table in tables)


def others_in(connection: sqlite3.Connection, workspace_id: str) -> dict[str, list[str]]:
    """What the same file has of other workspaces, in words, by their id."""
    found: dict[str, list[str]] = {}
    for layer, table in TABLES.items():
        query = f"SELECT workspace_id, count(*) FROM {table} WHERE workspace_id <> ? GROUP BY 1"
        for key, number in _select(connection, query, workspace_id):
            found.setdefault(str(key), []).append(counted(number, layer))
    return found


def _bookkeeping(connection: sqlite3.Connection, workspace_id: str) -> list[Operation]:
    """The operations of the database that only say something about another one."""
    query = "SELECT body_json FROM operations WHERE workspace_id = ? AND kind IN ('undo', 'redo', 'void') ORDER BY seq"
    found = [parse(body) for (body,) in _select(connection, query, workspace_id) if isinstance(body, str)]
    return [one for one in found if one is not None]


def _markers(connection: sqlite3.Connection, workspace_id: str) -> dict[str, str]:
    """The markers of a workspace by their name alone."""
    found: dict[str, Any] = {}
    for begin in (f"{workspace_id}:", f"workspace:{workspace_id}:"):
        query = "SELECT key, value FROM memory_meta WHERE substr(key, 1, length(?1)) = ?1"
        found |= {key.removeprefix(begin): value for key, value in _select(connection, query, begin)}
    return {name: value for name, value in found.items() if type(value) is str}


def _select(connection: sqlite3.Connection, query: str, *values: str) -> Iterator[Any]:
    """The rows of a table, none where an older schema lacks it. Raises CorruptDatabase."""
    table = query.partition(" FROM ")[2].split()[0]
    there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    try:
        if connection.execute(there, (table,)).fetchone()[0]:
            yield from connection.execute(query, values)
    except sqlite3.DatabaseError as error:
        raise CorruptDatabase(f"the database is damaged ({error})", table, "run `nanomem doctor`") from error


def _target_of(mark: str) -> str:
    with contextlib.suppress(ValueError, AttributeError):
        return str(core_files.loads(mark).get("target", ""))
    return ""


# -- what waits, on top of the rows ---------------------------------------------------------------------------------


def waiting(ledgers: Ledgers, known: Container[str], last_seq: int = 0) -> list[Waiting]:
    """Return what the database does not have, each once, in the order in which it was made, and numbered behind it."""
    # Several processes wrote into one file; an id tells which did (`op_<ms>_<pid>_<n>`).
    by_process: dict[str, list[Operation]] = {}
    for one in ledgers.kept:
        if one.id not in known:
            by_process.setdefault(one.id.rpartition("_")[0].rpartition("_")[2], []).append(one)
    lost = _in_order(by_process.values())
    ends = {operations[-1].id for operations in ledgers.processes if operations}
    found = {operation.id: operation for operation in _in_order([lost, *ledgers.processes])}
    void = failed_in(found.values())
    fresh = [operation for operation in found.values() if operation.id not in known]
    return [
        Waiting(seq, one, one.id in ends - void and any(change.layer not in TABLES for change in one.changes))
        for seq, one in enumerate(fresh, last_seq + 1)
    ]


def done(waiting: Iterable[Waiting], void: Iterable[str] = ()) -> list[Operation]:
    """Return the operations that wait, without those that could not be done; `void`: those that the database names."""
    every = [one.operation for one in waiting]
    left_out = {*void, *failed_in(every)}
    return [one for one in every if one.id not in left_out]


def _seen(markers: Mapping[str, str]) -> dict[Part, list[str]]:
    """Rows that were written with what another process had yet to write, and the ids of those operations."""
    found: dict[Part, list[str]] = {}
    for name, value in markers.items():
        if name.startswith("seen:"):
            layer, _, key = name.removeprefix("seen:").partition(":")
            with contextlib.suppress(ValueError, TypeError):
                found[layer, key] = list(map(str, core_files.loads(value)))
    return found


def _apply(
    rows: dict[str, dict[str, AnyRow]], waiting: Sequence[Operation],
    seen: Mapping[Part, Sequence[str]], in_files: Mapping[Part, AnyRow], problems: list[Problem],
) -> None:  # fmt: skip
    """Apply the changes of ledger files to the rows, as the first edition did: concurrent changes are merged."""
    for operation in waiting:
        for change in operation.changes:
            place = (change.layer, change.key)
            if change.layer not in rows or operation.id in seen.get(place, ()):
                continue
            table, row = rows[change.layer], rows[change.layer].get(change.key)
            if row is None and change.before is not None:
                row = in_files.get(place)
            again = bool(operation.undoes or operation.redoes)
            made = _changed(row, change, again=again, person=operation.actor == "human")
            if made is None:
                what = f"a change of a {change.layer} that is not there: {operation.label}"
                problems.append(Problem(what, change.key, fix="the log has it"))
            else:
                is_of_nobody = isinstance(made, Item) and not made.source
                table[change.key] = made._replace(source="unknown") if is_of_nobody else made


def _changed(row: AnyRow | None, change: Change, *, again: bool, person: bool) -> AnyRow | None:
    """The row with a change made that may not have known what became of it meanwhile; None where it stays absent.

    A row that it adds may be there with what was done to it since. An edit and a delete that did not know of each other
    leave the row, noted as a conflict for a person to settle; one of an agent does not bring back what is deleted.
    """
    if row is None:
        return _patched(row, change)
    if change.before is None and not again and (change.after or {}).get("created_at") == row.created_at:
        return row
    made = _patched(row, change) if _fits(row, change) else _merged(row, change)
    if made is None:
        return None
    if made.is_deleted and not row.is_deleted:
        if change.after is None:  # an undo of what added it, which knows all that it was
            overlooks = not _fits(row, change)
        else:
            overlooks = (change.before or {}).get("updated_at", row.updated_at) != row.updated_at
        return kept_in_conflict(row) if overlooks else made
    return kept_in_conflict(made) if row.is_deleted and made.is_deleted and person and _edits(change) else made


def _edits(change: Change) -> bool:
    """Whether it changes what a row says or how it is used, and does not only switch it off, count or bring it back."""
    if change.before is None or change.after is None or "is_deleted" in change.after:
        return False
    names = change.after.keys() - _COUNTED
    if change.layer == "record":
        return "text" in names
    return bool(names - {"enabled"}) and bool(change.after.get("enabled", True))


def _fits(row: AnyRow, change: Change) -> bool:
    """Whether a row is what a change starts from, counters aside."""
    if change.before is None:
        return bool(row.is_deleted)
    return all(getattr(row, name, value) == value for name, value in change.before.items() if name not in _COUNTED)


def _merged(row: AnyRow, change: Change) -> AnyRow:
    base = row._replace(**_fields(row, change.before)) if change.before is not None else None
    theirs = (base or row)._replace(**_fields(row, change.after or {"is_deleted": True}))
    return merge_row(base, row, theirs)._replace(revision=row.revision)


def _patched(row: AnyRow | None, change: Change) -> AnyRow | None:
    """The row with one change made. Counts move by the difference, and later times stay."""
    if change.after is None:
        return row._replace(is_deleted=True) if row is not None else None
    if row is None:
        kind = ROW_TYPES[change.layer]
        fields = {name: value for name, value in change.after.items() if name in kind._fields}
        required = set(kind._fields) - kind._field_defaults.keys()
        return kind(**fields) if change.before is None and required <= fields.keys() else None
    fields = _fields(row, change.after)
    for name in _COUNTED & fields.keys():
        now, was, value = getattr(row, name), (change.before or {}).get(name), fields[name]
        if name == "hits" and change.before is not None:
            fields[name] = max(0, now + value - (was or 0))
        elif change.before is None or now != was:
            fields[name] = max(filter(None, (now, value)), default=now)
    return row._replace(**fields)


def _fields(row: AnyRow, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name in row._fields}
