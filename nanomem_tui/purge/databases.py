"""The databases of a memory without what is sought: the memory and the work of agents, in files or on a server, the
copies of the one in a file, and those of the first edition, which are kept. Servers that were left are named alone.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nanomem_tui.core import atomic, config
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.purge import stored_files
from nanomem_tui.purge.matchers import Found, Marks, Sought, Tell
from nanomem_tui.purge.texts import has_taken, in_value, without_origin
from nanomem_tui.store import storage as store_place
from nanomem_tui.store.database.engine import Database
from nanomem_tui.store.database.operation_log import WITHHELD
from nanomem_tui.store.database.reading import SqliteReading
from nanomem_tui.store.first_edition import contents
from nanomem_tui.store.recovery import DatabaseRecovery
from nanomem_tui.store.storage import Storage
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Lesson, lesson_key
from nanomem_tui.store.work import aging, knowledge, records
from nanomem_tui.store.work import models as work_models
from nanomem_tui.store.work.kinds import KINDS, Kind
from nanomem_tui.store.work.values import TierRecord
from nanomem_tui.vectors import collection as vectors

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.agents.releases import Layout
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.store.database.engine import SqliteDatabase
    from nanomem_tui.store.database.postgres import PostgresDatabase
    from nanomem_tui.store.files.presence import Presence
    from nanomem_tui.store.work.work_store import WorkStore


UNMOVED = "the file and its WAL could not be written anew while another process reads: the same command again does"


class TellWhy(Protocol):
    """Is told what was found where, and why that stays, if it does."""

    def __call__(self, where: str, found: Found, stays: str = "") -> None:
        """Note it."""


class Memory(NamedTuple):
    """The memory that is looked through, with nobody else in it: its paths, its form, its id, the agent's state, and
    the server where its rows lie, if they lie on one."""

    paths: Paths
    layout: Layout
    workspace_id: str
    agent: Presence
    server: PostgresDatabase | None = None


def kept_transcripts(memory: Memory, sought: Sought) -> list[Path]:
    """What `backups` keeps of the conversations that go, for their undo. That the database cannot be read is told
    where it is looked through."""
    from nanomem_tui.store import transactions

    names: set[str] = set()
    if sought.marks.sessions:
        opened = contextlib.closing(memory.server) if memory.server is not None else _in_file(memory)
        with contextlib.suppress(NanomemError), opened as database:
            if database is not None and database.exists():
                with database.reading() as connection:
                    names = names_of_transcripts(transactions.changes_of(connection, "session"), sought)
    found = [memory.paths.backups / name for name in sorted(names) if atomic.is_blob_name(name)]
    return [path for path in found if path.is_file()]


@contextlib.contextmanager
def _in_file(memory: Memory, *, write: bool = False) -> Iterator[SqliteDatabase | None]:
    """Open the database in the file, None where there is none. A memory of the first edition or an older schema is
    taken over first, to `write`; else a private copy of it is, to look into."""
    from nanomem_tui.store.database.engine import SqliteDatabase

    path = memory.paths.database
    place = Storage(memory.paths, memory.workspace_id)
    with contextlib.ExitStack() as at_end:
        if memory.server is None and (place.is_first_edition() or place.has_older_schema()):
            if write:
                place.take_over(_agents_rows(memory))
            else:
                path, _ = at_end.enter_context(place.read_copy(_agents_rows(memory)))
        is_there = not contents.is_first_edition(path) and SqliteReading(path).exists
        yield at_end.enter_context(contextlib.closing(SqliteDatabase(path))) if is_there else None


def _agents_rows(memory: Memory) -> list[AnyRow]:
    from nanomem_tui.store.files.agent import AgentFiles

    files = AgentFiles(memory.paths, memory.workspace_id, config.load(memory.paths, forgiving=True).settings)
    return files.read_rows()


def _recovery(memory: Memory, database: SqliteDatabase) -> DatabaseRecovery:

    return DatabaseRecovery(database, memory.paths.copies, memory.paths.quarantine)


def memory_db(memory: Memory, sought: Sought, tell: TellWhy, name: Name, *, write: bool) -> None:
    """Look through the rows of the memory, and with `write` take out what is sought. Raises the store's errors."""
    if memory.server is not None:
        with contextlib.closing(memory.server):
            _on_server(memory, memory.server, sought, tell, name, write=write)
    # Beside a server lies what a move there left behind, which is to hold it no longer either.
    with _in_file(memory, write=write) as database:
        if database is not None:
            if write:
                with contextlib.suppress(NanomemError):  # it is written anew, whatever it says
                    stored_files.clean(stored_files.log_of(memory.paths), sought, tell, write=False)
            asked = Cleaning(sought, name)
            _clean(memory, database, _recovery(memory, database), asked, write=write)
            asked.tell(within(memory.paths.database.name, tell))
            if write:
                _compact(database, memory.paths.database.name, tell)


def _clean(
    memory: Memory, database: Database, recovery: DatabaseRecovery | None, asked: Cleaning, *, write: bool
) -> None:
    from nanomem_tui.store import transactions

    if write:
        taken = transactions.purge_database(database, recovery, asked)
        keys = [key for layer, key in taken.gone | taken.cleaned if layer == "item"]
        vectors.forget_vectors(memory.paths.vectors, {vectors.ITEMS: keys})
    else:
        with database.reading() as connection:
            transactions.clean_database(connection, asked, write=False)


def _compact(store: SqliteDatabase | WorkStore, name: str, tell: TellWhy) -> None:
    """Write a database anew; told as left where somebody reads it meanwhile."""
    try:
        store.compact()
    except Refused:
        tell(name, Counter({"bytes": 1}), UNMOVED)


def _on_server(
    memory: Memory, schema: PostgresDatabase, sought: Sought, tell: TellWhy, name: Name, *, write: bool
) -> None:
    if schema.exists():
        asked = Cleaning(sought, name)
        _clean(memory, schema, None, asked, write=write)
        asked.tell(within(schema.where, tell))
        if write:
            schema.compact()


def within(store: str, tell: TellWhy) -> Tell:
    """Tells of the tables of a store under its name."""
    return lambda table, found: tell(f"{store}, {table}", found)


def work_db(memory: Memory, sought: Sought, tell: TellWhy, name: Name, *, write: bool) -> None:
    """Look through what agents did, and with `write` take out what is sought. Raises the store's errors."""
    from nanomem_tui.store.first_edition import takeover

    url = config.load(memory.paths, forgiving=True).settings.database_url
    for place in dict.fromkeys((url, "")):  # beside a server what a move there left behind, too
        with contextlib.closing(takeover.open_work(memory.paths, memory.workspace_id, place)) as store:
            if not store.exists:
                continue
            told = within(store.where if store.is_remote else store.path.name, tell)
            clean = partial(clean_work, sought=sought, tell=told, write=write, name=name)
            if not write:
                store.read(clean)
                continue
            written = store.rewrite(clean)
            vectors.forget_vectors(memory.paths.vectors, {KINDS[kind].table: keys for kind, keys in written.items()})
            if not store.is_remote:
                _compact(store, store.path.name, tell)


def is_of_others(memory: Memory, path: Path) -> bool:
    """Whether a file of ours is that of another workspace of the same home: its database, what lies beside that, or
    what waited to be written there."""
    paths = memory.paths
    if not path.is_relative_to(paths.data):
        return False
    parts = path.relative_to(paths.data).parts
    if "ledger" in parts[:-1]:
        return memory.workspace_id not in parts
    if parts[0].startswith("workspace-"):
        return parts[0] != paths.store.name
    if parts[0].startswith(("work-", "vectors-")) or parts[0] in ("nanomem.db", "work.db", "vectors.db"):
        return path not in (paths.database, paths.work_database, paths.vectors)
    if parts[0] == paths.tiers_database.name:  # what is there of this workspace was taken over
        return paths.work_database.exists()
    if parts[0] == "backups" and contents.is_first_edition(path):  # kept of the first edition, for all that shared it
        with contextlib.suppress(sqlite3.Error), contextlib.closing(contents.open_to_read(path)) as connection:
            return bool(contents.others_in(connection, memory.workspace_id))
    return parts[0] in ("copies", stored_files.LOG) and paths.store != paths.data


def copies(memory: Memory, sought: Sought, files: list[stored_files.Place], tell: Tell) -> None:
    """Make a new copy in the place of those that hold it. Raises the store's errors."""
    found: Found = Counter()

    def count(where: str, here: Found) -> None:
        found.update(here)
        tell(where, here)

    for place in files:
        if place.kind == "copy" and place.path.parent == memory.paths.copies:
            stored_files.clean(place, sought, count, write=False)
    if not found:
        return
    with _in_file(memory) as database:
        if database is not None:
            _recovery(memory, database).copy_anew()


def old_servers(memory: Memory) -> list[tuple[str, str]]:
    """List what may still hold a text, and why that is left: each server that the memory was on before it moved."""
    file = memory.paths.relative(memory.paths.data / store_place.SERVERS_FILE)
    try:
        left = store_place.known_servers(memory.paths, memory.workspace_id).there
    except NanomemError as error:
        return [(file, error.line())]
    why = "what it holds is left: delete it there as docs/postgresql.md shows"
    return [
        (f"the old store {url}", f"{why}, then put a # before its line in {file}")
        for url in left
        if not _is_used(url, memory)
    ]


def _is_used(url: str, memory: Memory) -> bool:
    if memory.server is None:
        return False
    from nanomem_tui.store.database.postgres import PostgresDatabase

    try:
        return PostgresDatabase(url, memory.workspace_id).where == memory.server.where
    except NanomemError:
        return False


# -- What a memory keeps without what is sought: rows, operations, what was seen of agents' files, named values, and
# the records and documents of the work store.

TABLES = {"item": "memory_entries", "lesson": "lessons", "record": "records"}
"""The table of each layer of rows, as it is told."""
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "item": ("text", "meta_json"),
    "lesson": ("trigger", "bad_action", "better_action", "key", "promoted_global_key", "meta_json"),
    "record": ("about", "text", "meta_json"),
}
"""The fields of each layer that hold words; the others say where a row belongs."""
Name = Callable[[str, str, str], None]
"""Is told of each row that goes as a whole: its table, its id, what it says."""
Part = tuple[str, str]
"""Layer and key of a thing."""


def unnamed(_table: str, _key: str, _row_text: str) -> None:
    """For who asks for the counts alone."""


class Cleaning:
    """What goes from the memory of one workspace, and what stays of it; `found` counts it by table.

    Every method returns the very value that it was given where nothing of it goes.
    """

    def __init__(self, sought: Sought, name: Name = unnamed) -> None:
        self.found: dict[str, Found] = {}
        self.gone: set[Part] = set()
        self._sought = sought
        self._name = name
        self._broken: set[Part] = set()
        self._gone_ids: set[str] = set()

    def row(self, layer: str, row: AnyRow) -> AnyRow | None:
        """Return a row without what is sought; None: it goes as a whole."""
        found = self._found_in(TABLES[layer])
        if belongs(row, self._sought.marks):
            found["row"] += 1
            left = None
        else:
            left = self._cleaned(layer, row, found)
        if left is None:
            self.gone.add((layer, row.id))
            self._gone_ids.add(row.id)
            self._broken.add((layer, row.id))
            self._name(TABLES[layer], row.id, _row_text(row))
        return left

    def _cleaned(self, layer: str, row: AnyRow, found: Found) -> AnyRow | None:
        values = {name: in_value(getattr(row, name), self._sought, found) for name in _FIELDS[layer]}
        if all(values[name] == getattr(row, name) for name in values):
            return row
        if self._sought.whole:
            return None
        cleaned = row._replace(**values)
        if isinstance(cleaned, Lesson):
            key = lesson_key(cleaned.trigger, cleaned.better_action, cleaned.scope, cleaned.session_key)
            cleaned = cleaned._replace(key=key)
        return cleaned

    def operation(self, operation: Operation) -> Operation:
        """Return an operation without the changes that hold what is sought, or are of a row that is gone; of one that
        touched a file all of them go then, for the same reason."""
        found = self._found_in("operations")
        kept = self._without(operation, found)
        label = self._sought.clean(operation.label, found)
        if kept is not operation and self._sought.whole:
            label = f"{operation.kind}: {FORGOTTEN}"  # the rest of it says what it was about
        return kept if label == operation.label else kept._replace(label=label)

    def _without(self, operation: Operation, found: Found) -> Operation:
        meta = without_origin(in_value(dict(operation.meta), self._sought, found), self._sought, found)
        stay: list[Change] = []
        files = False
        for change in reversed(operation.changes):
            mine = self._in_change(change)
            if not mine:
                stay.append(change)
                continue
            found.update(mine)
            if change.layer in ROW_LAYERS:
                self._broken.add((change.layer, change.key))
            else:
                files = True
        taken = len(operation.changes) - len(stay)
        if not taken and meta == dict(operation.meta):
            return operation
        if files:
            taken, stay = len(operation.changes), []
        withheld = int(meta.get(WITHHELD, 0)) + taken
        meta = {**meta, WITHHELD: withheld} if withheld else meta
        return operation._replace(changes=tuple(reversed(stay)), meta=meta)

    def _in_change(self, change: Change) -> Found:
        """What of a change makes it go; nothing: it stays."""
        mine: Found = Counter()
        value = [change.key, dict(change.before or {}), dict(change.after or {})]
        if change.layer == "session" and is_session(change.key, self._sought):
            mine["session"] += 1
        elif not self._is_meant(change) and in_value(value, self._sought, mine) is value:
            return Counter({"row": 1} if (change.layer, change.key) in self._broken else {})
        return mine or Counter({"row": 1})

    def _is_meant(self, change: Change) -> bool:
        """Whether a change is of what goes by its id, its session or its sender, also where the row is gone already."""
        return any(has_taken({"id": change.key, **(value or {})}, self._sought) for value in change[2:])

    def seen(self, key: str, raw: str) -> str | None:
        """Return what was seen of an agent's row of that id, None where it goes."""
        found = self._found_in("foreign_rows")
        cleaned: str = in_value(raw, self._sought, found)
        taken = key in self._gone_ids or (self._sought.whole and has_taken(_value(raw), self._sought))
        if taken and cleaned == raw:
            found["row"] += 1
        return None if taken or (cleaned != raw and self._sought.whole) else cleaned

    def named_value(self, value: str) -> str:
        """Return a named value without what is sought."""
        cleaned: str = in_value(value, self._sought, self._found_in("memory_meta"))
        return cleaned

    def tell(self, tell: Tell) -> bool:
        """Tell what was found in which table; return whether anything was."""
        for table, found in self.found.items():
            tell(table, found)
        return any(self.found.values())

    def _found_in(self, table: str) -> Found:
        return self.found.setdefault(table, Counter())


def belongs(row: AnyRow, marks: Marks) -> bool:
    """Whether a row belongs to what is forgotten, by its id, its session or chat, who sent it or taught it."""
    return row.id in marks.ids or (bool(marks.sessions or marks.senders) and marks.mean(row.to_json()))


def names_of_transcripts(changes: Iterable[Change], sought: Sought) -> set[str]:
    """The names of the files in `backups` that changes need to put back a conversation that goes: one whose first line
    was torn does not say itself whose it is."""
    return {
        value["blob"]
        for change in changes
        if change.layer == "session" and is_session(change.key, sought)
        for value in (change.before, change.after)
        if value and isinstance(value.get("blob"), str)
    }


def is_session(key: str, sought: Sought) -> bool:
    """Whether a change of that key is of a session that goes; that of a file which one was joined with ends with the
    name of the file."""
    return sought.drops(key) or sought.drops(key.rpartition(" (")[0])


def _row_text(row: AnyRow) -> str:
    return f"{row.trigger} → {row.better_action}" if isinstance(row, Lesson) else row.text


def _value(raw: str) -> Any:
    try:
        return core_files.loads(raw)
    except ValueError:
        return None


def clean_work(
    connection: Connection, sought: Sought, tell: Tell, *, write: bool, name: Name = unnamed
) -> dict[str, list[str]]:
    """Look through every table, and with `write` take out what is sought, in the transaction of the caller; name the
    rows that go, and return the ids of the records that hold anything, by kind. Raises the driver's errors."""
    held: dict[str, list[str]] = {}
    every: Found = Counter()

    def count(where: str, found: Found) -> None:
        every.update(found)
        tell(where, found)

    for kind in KINDS.values():
        found: Found = Counter()
        for record in list(records.each(connection, kind)):
            goes, holds = _record(connection, kind, record, sought, found, write=write)
            if goes:
                name(kind.name, record.id, record.title)
            if holds:
                held.setdefault(kind.name, []).append(record.id)
        count(kind.name, found)
    count("happening", _happening(connection, sought, write=write))
    count("record_changes", _changes(connection, sought, write=write))
    count("knowledge", _documents(connection, sought, write=write))
    count("lifecycle", _batches(connection, sought, write=write))
    if write and every:
        records.drop_removed(connection)
    return held


def _record(
    connection: Connection, kind: Kind, record: TierRecord, sought: Sought, found: Found,
    *, write: bool,
) -> tuple[bool, bool]:  # fmt: skip
    mine: Found = Counter()
    goes = any(key in sought.marks.ids for key in (record.id, record.key)) or has_taken(dict(record.fields), sought)
    fields = in_value(dict(record.fields), sought, mine)
    if not goes and fields == dict(record.fields):
        return False, False
    found.update({"row": 1} if goes else mine)
    goes = goes or sought.whole
    if not write:
        return goes, True
    if goes:
        records.remove(connection, kind, [record.id])
        records.forget_changes(connection, kind.name, record.id)
    else:
        records.put(connection, [record._replace(fields=fields)])
    return goes, True


def _happening(connection: Connection, sought: Sought, *, write: bool) -> Found:
    found: Found = Counter()
    for row in list(work_models.newest(connection)):
        texts = {name: row[name] for name in ("name", "agent", "source", "data_json")}
        mine: Found = Counter()
        cleaned = {name: in_value(text, sought, mine) for name, text in texts.items()}
        goes = has_taken(core_files.loads(row["data_json"]), sought)
        if not goes and cleaned == texts:
            continue
        found.update({"row": 1} if goes else mine)
        if write:
            work_models.rewrite(connection, row["number"], None if goes or sought.whole else cleaned)
    return found


def _changes(connection: Connection, sought: Sought, *, write: bool) -> Found:
    found: Found = Counter()
    for seq, *texts in records.all_changes(connection):
        cleaned = [in_value(text, sought, found) for text in texts]
        goes = any(has_taken(core_files.loads(text), sought) for text in texts)
        found["row"] += goes
        if write and (goes or cleaned != texts):
            records.rewrite_change(connection, seq, None if goes else cleaned)
    return +found


def _documents(connection: Connection, sought: Sought, *, write: bool) -> Found:
    """A document stays, without it; its hash too, so that a sync of the same source does not bring it back."""
    found: Found = Counter()
    for one in knowledge.documents(connection):
        chunks = [chunk for _, chunk in knowledge.chunks(connection, one.id)]
        cleaned = [
            chunk._replace(section=sought.clean(chunk.section, found), text=sought.clean(chunk.text, found))
            for chunk in chunks
        ]
        named = one._replace(title=sought.clean(one.title, found), about=sought.clean(one.about, found))
        if write and (cleaned != chunks or named != one):
            knowledge.put(connection, named, cleaned)
    return found


def _batches(connection: Connection, sought: Sought, *, write: bool) -> Found:
    """A batch that holds it goes, and its run cannot be undone any more."""
    found: Found = Counter()
    for seq, run, value in aging.every_batch(connection):
        mine: Found = Counter()
        if in_value(value, sought, mine) is value and not has_taken(value, sought):
            continue
        mine.update({} if mine else {"row": 1})
        found.update(mine)
        if write:
            aging.drop_batch(connection, seq)
            if (ended := aging.run_of(connection, run)) is not None:
                aging.keep_run(connection, ended._replace(state="final"))
    return found
