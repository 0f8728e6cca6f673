"""The databases of a memory without what is sought: the memory and the work of agents, in files or on a server, the
copies of the one in a file, and those of the first edition, which are kept. Servers that were left are named alone.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.core import atomic, config
from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.purge import cleaning, stored_files
from nanomem_tui.purge.matchers import Found, Sought
from nanomem_tui.store import storage as store_place
from nanomem_tui.store.database.reading import SqliteReading
from nanomem_tui.store.first_edition import contents
from nanomem_tui.store.storage import Storage
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.vectors import collection as vectors

if TYPE_CHECKING:
    from nanomem_tui.agents.layout import Layout
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.store.database.engine import Database, SqliteDatabase
    from nanomem_tui.store.database.postgres import PostgresDatabase
    from nanomem_tui.store.files.presence import Presence
    from nanomem_tui.store.recovery import DatabaseRecovery
    from nanomem_tui.store.values import AnyRow
    from nanomem_tui.store.work.work_store import WorkStore


UNMOVED = "the file and its WAL could not be written anew while another process reads: the same command again does"


class Tell(Protocol):
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
    from nanomem_tui.store.erasure import database_purge

    names: set[str] = set()
    if sought.marks.sessions:
        opened = contextlib.closing(memory.server) if memory.server is not None else _in_file(memory)
        with contextlib.suppress(NanomemError), opened as database:
            if database is not None and database.exists():
                with database.reading() as connection:
                    names = cleaning.kept_transcripts(database_purge.changes_of(connection, "session"), sought)
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
    from nanomem_tui.store.recovery import DatabaseRecovery

    return DatabaseRecovery(database, memory.paths.copies, memory.paths.quarantine)


def memory_db(memory: Memory, sought: Sought, tell: Tell, name: cleaning.Name, *, write: bool) -> None:
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
            asked = cleaning.Cleaning(sought, name)
            _clean(memory, database, _recovery(memory, database), asked, write=write)
            asked.tell(within(memory.paths.database.name, tell))
            if write:
                _compact(database, memory.paths.database.name, tell)


def _clean(
    memory: Memory, database: Database, recovery: DatabaseRecovery | None, asked: cleaning.Cleaning, *, write: bool
) -> None:
    from nanomem_tui.store.erasure import database_purge

    if write:
        taken = database_purge.purge_database(database, recovery, asked)
        keys = [key for layer, key in taken.gone | taken.cleaned if layer == "item"]
        vectors.forget_vectors(memory.paths.vectors, {vectors.ITEMS: keys})
    else:
        with database.reading() as connection:
            database_purge.clean_database(connection, asked, write=False)


def _compact(store: SqliteDatabase | WorkStore, name: str, tell: Tell) -> None:
    """Write a database anew; told as left where somebody reads it meanwhile."""
    try:
        store.compact()
    except Refused:
        tell(name, Counter({"bytes": 1}), UNMOVED)


def _on_server(
    memory: Memory, schema: PostgresDatabase, sought: Sought, tell: Tell, name: cleaning.Name, *, write: bool
) -> None:
    if schema.exists():
        asked = cleaning.Cleaning(sought, name)
        _clean(memory, schema, None, asked, write=write)
        asked.tell(within(schema.where, tell))
        if write:
            schema.compact()


def within(store: str, tell: cleaning.Tell) -> cleaning.Tell:
    """Tells of the tables of a store under its name."""
    return lambda table, found: tell(f"{store}, {table}", found)


def work_db(memory: Memory, sought: Sought, tell: Tell, name: cleaning.Name, *, write: bool) -> None:
    """Look through what agents did, and with `write` take out what is sought. Raises the store's errors."""
    from nanomem_tui.store.first_edition import takeover

    url = config.load(memory.paths, forgiving=True).settings.database_url
    for place in dict.fromkeys((url, "")):  # beside a server what a move there left behind, too
        with contextlib.closing(takeover.open_work(memory.paths, memory.workspace_id, place)) as store:
            if not store.exists:
                continue
            told = within(store.where if store.is_remote else store.path.name, tell)
            clean = partial(cleaning.clean_work, sought=sought, tell=told, write=write, name=name)
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


def copies(memory: Memory, sought: Sought, files: list[stored_files.Place], tell: cleaning.Tell) -> None:
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
