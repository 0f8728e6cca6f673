"""The databases of a memory without what is sought: the memory and the work of agents, in files or on a server, and the
copies of the one in a file. Must not know the other places."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import NanomemError, Refused
from nanomem_tui.purge import cleaning, memory_rows, raw_bytes, stored_files, work_rows
from nanomem_tui.purge.texts import Found, Sought
from nanomem_tui.purge.wanted_words import Words
from nanomem_tui.store import atomic, blobs, moved, reader, sql, tier_schema
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.database import Database
from nanomem_tui.store.tier_database import LOCK as TIERS_LOCK
from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.vectors import collection as vectors

if TYPE_CHECKING:
    from sqlite3 import Connection

    from nanomem_tui.database.engine import SqliteDatabase
    from nanomem_tui.database.recovery import Recovery
    from nanomem_tui.formats.agent_home import Layout
    from nanomem_tui.operations import Change
    from nanomem_tui.paths import Paths
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.presence import Presence


class Memory(NamedTuple):
    """The memory that is looked through, with nobody else in it: its paths, its form, its id, the agent's state, and
    the server where its rows lie, if they lie on one."""

    paths: Paths
    layout: Layout
    workspace_id: str
    agent: Presence
    server: Server | None = None


def kept_transcripts(memory: Memory, sought: Sought) -> list[Path]:
    """What `backups` keeps of the conversations that go, for their undo. That the database cannot be read is told
    where it is looked through."""
    names: set[str] = set()
    if isinstance(sought, Words) and sought.marks.sessions:
        with contextlib.suppress(NanomemError):
            names = cleaning.kept_transcripts(_touching_sessions(memory), sought)
    found = [memory.paths.backups / name for name in sorted(names) if blobs.is_name(name)]
    return [path for path in found if path.is_file()]


def _touching_sessions(memory: Memory) -> list[Change]:
    """What operations did to conversations."""
    path = memory.paths.database
    if memory.server is not None:
        with memory.server.reading() as connection:
            return list(memory_rows.touching_sessions(connection, memory.workspace_id))
    if is_second_edition(path):
        from nanomem_tui.database import taking_out

        with _opened(path) as opened, opened.reading() as reading:
            return list(taking_out.changes_of(reading, "session"))
    if reader.is_made(path):
        with reader.open_database(path) as connection:
            return list(memory_rows.touching_sessions(connection, memory.workspace_id))
    return []


def is_second_edition(path: Path) -> bool:
    """Whether a file is a database of the second edition, which has one row by which writers take turns. False where
    that cannot be read."""
    try:
        with reader.open_database(path, newest=reader.PLAUSIBLE) as connection:
            return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is not None
    except NanomemError:
        return False


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[SqliteDatabase]:
    from nanomem_tui.database.engine import SqliteDatabase

    with contextlib.closing(SqliteDatabase(path)) as database:
        yield database


def _recovery(memory: Memory, database: SqliteDatabase) -> Recovery:
    from nanomem_tui.database.recovery import Recovery

    return Recovery(database, memory.paths.copies, memory.paths.quarantine)


def memory_db(
    memory: Memory, sought: Sought, tell: cleaning.Tell, name: cleaning.Name, *, write: bool, anew: bool
) -> None:
    """Look through the rows of the memory, and with `write` take out what is sought. Raises the store's errors."""
    if memory.server is not None:
        _on_server(memory, memory.server, sought, tell, name, write=write)
    path = memory.paths.database  # beside a server what a move there left behind, which is to hold it no longer either
    if is_second_edition(path):
        _second_edition(memory, sought, tell, name, write=write)
        return
    if not reader.is_made(path):
        return
    if not write:
        with reader.open_database(path) as connection:
            looked = within(path.name, tell)
            memory_rows.clean(connection, memory.workspace_id, sought, looked, write=False, name=name)
        return
    database = Database(path, memory.paths.backups, guard=_guard(memory, path.name) if memory.server is None else None)
    found: Found = Counter()
    gone = memory_rows.Gone(frozenset(), frozenset())

    def told(where: str, here: Found) -> None:
        found.update(here)
        tell(f"{path.name}, {where}", here)

    def clean(connection: Connection) -> bool:
        nonlocal gone
        gone = memory_rows.clean(connection, memory.workspace_id, sought, told, write=True)
        return bool(found)

    _take_out(database, clean, sought, anew=anew)
    _forget_items(memory, gone)


def _forget_items(memory: Memory, gone: memory_rows.Gone) -> None:
    keys = [key for layer, key in gone.rows | gone.cleaned if layer == "item"]
    vectors.forget(memory.paths.vectors, {vectors.ITEMS: keys})


def _second_edition(memory: Memory, sought: Sought, tell: cleaning.Tell, name: cleaning.Name, *, write: bool) -> None:
    from nanomem_tui.database import taking_out

    asked = cleaning.Cleaning(sought, name)
    with _opened(memory.paths.database) as database:
        if write:
            with contextlib.suppress(NanomemError):  # it is written anew, whatever it says
                stored_files.clean(stored_files.log_of(memory.paths), sought, tell, write=False)
            taken = taking_out.take_out(database, _recovery(memory, database), asked)
            _forget_items(memory, memory_rows.Gone(taken.gone, taken.cleaned))
            with contextlib.suppress(Refused):  # somebody reads: what is left is told by the look afterwards
                database.compact()
        else:
            with database.reading() as connection:
                taking_out.clean(connection, asked, write=False)
    asked.tell(within(memory.paths.database.name, tell))


def within(store: str, tell: cleaning.Tell) -> cleaning.Tell:
    """Tells of the tables of a store under its name."""
    return lambda table, found: tell(f"{store}, {table}", found)


def _take_out(database: Database, clean: Callable[[Connection], bool], sought: Sought, *, anew: bool) -> None:
    """Let `clean` take things out of a database in a file, whether it found any; then write the file anew where its
    bytes may hold them still."""
    try:
        with database.writing() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            found = clean(connection)
        if anew or found or raw_bytes.may_hold(database.path, sought):
            _compact(database)
    finally:
        database.close()


def _on_server(
    memory: Memory, server: Server, sought: Sought, tell: cleaning.Tell, name: cleaning.Name, *, write: bool
) -> None:
    from nanomem_tui.store.postgres import schema
    from nanomem_tui.store.postgres.database import PgDatabase

    with server.alone() as raw:
        if not schema.found_in(raw):
            return
    tell = within(server.where, tell)
    if not write:
        with server.reading() as connection:
            memory_rows.clean(connection, memory.workspace_id, sought, tell, write=False, name=name)
        return
    with PgDatabase(server, memory.paths.database, _guard(memory, server.where)).writing() as connection:
        gone = memory_rows.clean(connection, memory.workspace_id, sought, tell, write=True)
    _forget_items(memory, gone)
    vacuum(server, schema.TABLES)


def vacuum(server: Server, tables: Iterable[str]) -> None:
    """Let the server take what is gone out of its files, as far as this role may."""
    with server.alone() as raw:
        for table in tables:
            raw.execute(f"VACUUM {table}")


def _guard(memory: Memory, where: str) -> Callable[[sql.Connection], None]:
    """Refuses a store that the memory has left."""
    return lambda connection: moved.refuse(connection, memory.workspace_id, where)


def _compact(database: Database) -> None:
    with database.locked():
        connection: Connection = database.opened()
        memory_rows.compact(connection, memory_rows.indexes(connection))


def tiers_db(
    memory: Memory, sought: Sought, tell: cleaning.Tell, name: cleaning.Name, *, write: bool, anew: bool
) -> None:
    """Look through what agents did, and with `write` take out what is sought. Raises the store's errors."""
    if memory.server is not None:
        _work_on_server(memory, memory.server, sought, tell, name, write=write)
    path = memory.paths.tiers_database  # beside a server what a move there left behind
    if not reader.is_made(path, tier_schema.VERSION):
        return
    tell = within(path.name, tell)
    if not write:
        with reader.open_database(path, tier_schema.VERSION) as connection:
            work_rows.clean(connection, memory.workspace_id, sought, tell, write=False, name=name)
        return
    database = Database(path, memory.paths.backups, TIERS_LOCK, tier_schema.schema)
    touched: list[tuple[str, str]] = []
    clean = partial(
        work_rows.clean, workspace_id=memory.workspace_id, sought=sought, tell=tell, write=True, touched=touched
    )
    _take_out(database, clean, sought, anew=anew)
    _forget_records(memory, touched)


def _forget_records(memory: Memory, touched: Iterable[tuple[str, str]]) -> None:
    keys: dict[str, list[str]] = {}
    for kind, key in touched:
        keys.setdefault(KINDS[kind].table, []).append(key)
    vectors.forget(memory.paths.vectors, keys)


def _work_on_server(
    memory: Memory, server: Server, sought: Sought, tell: cleaning.Tell, name: cleaning.Name, *, write: bool
) -> None:
    from nanomem_tui.store.postgres import tier_schema as tables
    from nanomem_tui.store.postgres.tiers import PgTiers

    tiers = PgTiers(server, memory.paths.tiers_database)
    if not tiers.exists:
        return
    tell = within(server.where, tell)
    touched: list[tuple[str, str]] = []
    clean = partial(
        work_rows.clean, workspace_id=memory.workspace_id, sought=sought, tell=tell, write=write, name=name,
        touched=touched,
    )  # fmt: skip
    found = tiers.write(clean, durable=True) if write else tiers.read(clean)
    _forget_records(memory, touched)
    if write and found:
        vacuum(server, tables.tables())


def of_others(memory: Memory, sought: Sought) -> Iterator[tuple[str, Found]]:
    """What the rows of other workspaces in our databases hold, or of this one under the id that it had before it was
    moved: (where, found). Only words and secrets are looked for, as a conversation or a person of theirs is another.
    Changes nothing. Raises the store's errors."""
    looks = ((memory.paths.database, None), (memory.paths.tiers_database, tier_schema.VERSION))
    for (path, newest), rows in zip(looks, (memory_rows, work_rows), strict=True):
        if not reader.is_made(path, newest) or (path == memory.paths.database and is_second_edition(path)):
            continue
        with reader.open_database(path, newest) as connection:
            for other in sorted(_workspaces(connection) - {memory.workspace_id}):
                held: Found = Counter()
                rows.clean(connection, other, sought.said_alone(), partial(_add, held), write=False)
                yield f"{path.name}, rows of the workspace {other}", held


def _add(to: Found, _where: str, found: Found) -> None:
    to.update(found)


def is_of_others(memory: Memory, path: Path, sought: Sought) -> bool:
    """Whether what a copy, or what is kept since, holds of it is none of this workspace's."""
    if path.suffix != ".db":
        return path.is_relative_to(memory.paths.ledger) and path.parent.parent.name != memory.workspace_id
    found: Found = Counter()
    if is_second_edition(path):
        return False
    try:
        with reader.open_database(path) as connection:
            if not _workspaces(connection) - {memory.workspace_id}:
                return False
            memory_rows.clean(connection, memory.workspace_id, sought, partial(_add, found), write=False)
    except NanomemError:
        return False
    return not found


def _workspaces(connection: Connection) -> set[str]:
    query = (
        "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'workspace_id'"
        " WHERE m.type = 'table'"
    )
    tables = [name for (name,) in connection.execute(query)]
    return {key for name in tables for (key,) in connection.execute(f'SELECT DISTINCT workspace_id FROM "{name}"')}


def copies(memory: Memory, sought: Sought, files: list[stored_files.Place], tell: cleaning.Tell, *, anew: bool) -> None:
    """A new copy in the place of those that hold it; with the old ones goes what they need to be brought up to now.
    Raises the store's errors."""
    paths = memory.paths
    found: Found = Counter()

    def told(where: str, here: Found) -> None:
        found.update(here)
        tell(where, here)

    is_second = is_second_edition(paths.database)
    held = [
        place
        for place in files
        if place.kind == "copy"
        and (place.path.parent == paths.copies if is_second else not is_of_others(memory, place.path, sought))
    ]
    for place in held:
        stored_files.clean(place, sought, told, write=False)
    if not anew and not found:
        return
    if is_second:
        with _opened(paths.database) as second:
            _recovery(memory, second).copy_anew()
        return
    kept = Copies(paths.backups, paths.ledger, memory.workspace_id)
    old = kept.found()
    database = Database(paths.database, paths.backups)
    try:
        with database.locked():
            kept.make(paths.database)
            for path in [*old, *(place.path for place in held if place.path.suffix == ".kept")]:
                path.unlink(missing_ok=True)
                atomic.sync_folder(path.parent)
    finally:
        database.close()
