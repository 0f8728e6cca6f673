"""Looking through everything that is stored for what is sought, and taking it out: the order, the locks, the receipt.

First what is to stay forgotten is kept, then come the databases, the files, the git history where that was asked for,
and a look through all of it again. Killed at any step, the same command again finishes it. Nothing here can be undone.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import AccessDenied, BadInput, NanomemError, Refused
from nanomem_tui.purge import git_part, memory_rows, names, raw_bytes, stored_files, work_rows
from nanomem_tui.purge.texts import Found, Line, Sought
from nanomem_tui.purge.wanted_words import Words
from nanomem_tui.store import atomic, backup, moved, openers, reader, sql, tier_schema
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.database import Database
from nanomem_tui.store.tier_database import LOCK as TIERS_LOCK

if TYPE_CHECKING:
    from sqlite3 import Connection

    from nanomem_tui.formats.agent_home import Layout
    from nanomem_tui.paths import Paths
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.presence import Presence

Progress = Callable[[str], None]
FOREIGN = "a database of another system, which nanomem never writes"
BINARY = "a file of no memory that is no text: look at it yourself"
STAYS = {"foreign": FOREIGN, "binary": BINARY}
"""Why a file stays as it is, by its kind."""
BACKUPS = "a backup: --backups removes those that hold it"
RUNS = "the agent runs: stop it first"


class Place(NamedTuple):
    """Where something was found, what and how often; `stays`: why it is not taken out, "" when it is."""

    where: str
    found: Mapping[str, int]
    stays: str = ""


class Goes(NamedTuple):
    """A row that goes as a whole: its table, its id, what it says (untrusted)."""

    table: str
    id: str
    said: str


class Looked(NamedTuple):
    """What was found, place by place, and the files that could not be looked through, with the reason. `rows`: those
    that go as a whole; `lines`: of files that stay, the lines that hold it. `passed`: files that
    belong to no memory and were not looked at, with the reason."""

    places: tuple[Place, ...]
    unread: tuple[tuple[str, str], ...]
    rows: tuple[Goes, ...] = ()
    lines: Mapping[str, Sequence[Line]] = {}
    passed: tuple[tuple[str, str], ...] = ()

    @property
    def can_go(self) -> list[Place]:
        """What is taken out when that is asked for."""
        return [place for place in self.places if not place.stays]

    @property
    def total(self) -> int:
        return sum(sum(place.found.values()) for place in self.places)


class Memory(NamedTuple):
    """The memory that is looked through, with nobody else in it: its paths, its form, its id, the agent's state, and
    the server where its rows lie, if they lie on one."""

    paths: Paths
    layout: Layout
    workspace_id: str
    agent: Presence
    server: Server | None = None


class Wanted(NamedTuple):
    """What else is to be dealt with: the history in git, the backups. `archives`: these are looked through at all.
    `bundle`: what a history in git was before is kept."""

    git: bool = False
    backups: bool = False
    archives: bool = True
    bundle: bool = True


def look(memory: Memory, sought: Sought, wanted: Wanted, progress: Progress = lambda _what: None) -> Looked:
    """Look through everything. Changes nothing; a file that cannot be read stops no other one."""
    return _through(memory, sought, wanted, progress, write=False)


def take_out(
    memory: Memory, sought: Sought, wanted: Wanted, progress: Progress = lambda _what: None
) -> tuple[Looked, Looked]:
    """Take out what is sought wherever it may be: what was found, and what is found by looking again.

    The memory is closed. Raises Refused while another nanomem has it open or the agent runs, and the store's errors.
    """
    refuse(memory, wanted)
    with openers.alone(memory.paths):
        return clean(memory, sought, wanted, progress)


def clean(
    memory: Memory, sought: Sought, wanted: Wanted, progress: Progress = lambda _what: None
) -> tuple[Looked, Looked]:
    """`take_out` for who is alone with the memory."""
    done = _through(memory, sought, wanted, progress, write=True)
    after = _through(memory, sought, wanted, progress, write=False)
    told = {place.where for place in after.places}
    raw = [Place(*one) for one in raw_bytes.left(memory.paths, sought) if one[0] not in told]
    return done, after._replace(places=(*after.places, *raw))


def refuse(memory: Memory, wanted: Wanted) -> None:
    """Raise Refused where somebody else has the memory open, or the agent runs, who would write it back, or where the
    history in git is wanted anew and cannot be; AccessDenied for a folder that cannot be read, as what it holds would
    be left."""
    if memory.agent.running:
        what = f"{memory.agent.what} runs (process {memory.agent.pid}): it would write back what it knows"
        raise Refused(what, str(memory.paths.workspace), "stop it first")
    for where, why in stored_files.listed(memory.paths, memory.layout).unread:
        raise AccessDenied(f"a folder that may hold it cannot be looked through: {why}", where, "let it be read first")
    with openers.alone(memory.paths):
        pass
    backup.refuse_beside(memory.paths)
    for pid in _holders(memory.paths.data):
        fix = "close it first: it would write back what it knows"
        raise Refused(f"another program has this memory open (process {pid})", str(memory.paths.data), fix)
    if wanted.git:
        git_part.refuse(memory.paths)


def _holders(folder: Path, proc: Path = Path("/proc")) -> Iterator[int]:
    """The other processes that have a file below a folder open, where the system tells."""
    begin = os.path.realpath(folder) + os.sep
    for entry in sorted(proc.glob("[0-9]*")):
        if int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError), os.scandir(entry / "fd") as handles:
            if any(os.readlink(handle).startswith(begin) for handle in handles):
                yield int(entry.name)


def _through(memory: Memory, sought: Sought, wanted: Wanted, progress: Progress, *, write: bool) -> Looked:
    places: list[Place] = []
    unread: list[tuple[str, str]] = []
    rows: list[Goes] = []
    lines: dict[str, Sequence[Line]] = {}

    def name(table: str, key: str, said: str) -> None:
        rows.append(Goes(table, key, said))

    def tell(where: str, found: Found, stays: str = "") -> None:
        if found:
            places.append(Place(where, dict(found), stays))

    def tried(where: str, work: Callable[[], object]) -> None:
        progress(where)
        try:
            work()
        except NanomemError as error:
            if write and not isinstance(error, BadInput):
                raise
            unread.append((where, error.line()))

    paths = memory.paths
    tried("nanomem.db", partial(_memory, memory, sought, tell, name, write=write))
    tried("tiers.db", partial(_work, memory, sought, tell, name, write=write))
    files, beside, passed, links = stored_files.listed(paths, memory.layout)
    unread += [*beside, *links]
    if write and paths.database.exists():
        tried("copies of nanomem.db", partial(_copies, memory, sought, files, tell))
    for place in files:
        told = partial(tell, stays=STAYS.get(place.kind, ""))
        before = len(places)
        if not write and stored_files.is_whole(place, sought):
            rows.append(Goes("file", place.where, "the whole conversation"))
        tried(place.where, partial(stored_files.clean, place, sought, told, write=write))
        if len(places) > before and not write and (numbers := stored_files.lines_of(place, sought)):
            lines[place.where] = numbers
    histories, beside = git_part.histories(paths)
    unread += beside
    for git_dir in histories:
        tried(paths.relative(git_dir), partial(git_part.clean, paths, git_dir, sought, tell, wanted, write=write))
    if isinstance(sought, Words) and sought.has_words and not write:
        tried("names", partial(_names, memory, histories, sought, tell))
    held: list[Path] = []
    for path in stored_files.archives(paths) if wanted.archives else ():
        stays = "" if wanted.backups else BACKUPS
        tried(path.name, partial(_archive, path, sought, partial(tell, stays=stays), held))
    if write and wanted.backups:
        _remove_archives(held)
    return Looked(tuple(places), tuple(unread), tuple(rows), lines, tuple(passed))


def _memory(memory: Memory, sought: Sought, tell: memory_rows.Tell, name: memory_rows.Name, *, write: bool) -> None:
    if memory.server is not None:
        _on_server(memory, memory.server, sought, tell, name, write=write)
    path = memory.paths.database  # beside a server what a move there left behind, which is to hold it no longer either
    if not reader.is_made(path):
        return
    if not write:
        with reader.open_database(path) as connection:
            memory_rows.clean(connection, memory.workspace_id, sought, tell, write=False, name=name)
        return
    database = Database(path, memory.paths.backups, guard=_guard(memory, path.name) if memory.server is None else None)
    found: Found = Counter()

    def told(where: str, here: Found) -> None:
        found.update(here)
        tell(where, here)

    try:
        with database.writing() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            memory_rows.clean(connection, memory.workspace_id, sought, told, write=True)
        if found or raw_bytes.may_hold(path, sought):
            _compact(database)
    finally:
        database.close()


def _on_server(
    memory: Memory, server: Server, sought: Sought, tell: memory_rows.Tell, name: memory_rows.Name, *, write: bool
) -> None:
    from nanomem_tui.store.postgres import schema
    from nanomem_tui.store.postgres.database import PgDatabase

    with server.alone() as raw:
        if not schema.found_in(raw):
            return
    if not write:
        with server.reading() as connection:
            memory_rows.clean(connection, memory.workspace_id, sought, tell, write=False, name=name)
        return
    with PgDatabase(server, memory.paths.database, _guard(memory, server.where)).writing() as connection:
        memory_rows.clean(connection, memory.workspace_id, sought, tell, write=True)
    _vacuum(server, schema.TABLES)


def _vacuum(server: Server, tables: Iterable[str]) -> None:
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


def _work(memory: Memory, sought: Sought, tell: memory_rows.Tell, name: memory_rows.Name, *, write: bool) -> None:
    if memory.server is not None:
        _work_on_server(memory, memory.server, sought, tell, name, write=write)
    path = memory.paths.tiers_database  # beside a server what a move there left behind
    if not reader.is_made(path, tier_schema.VERSION):
        return
    if not write:
        with reader.open_database(path, tier_schema.VERSION) as connection:
            work_rows.clean(connection, memory.workspace_id, sought, tell, write=False, name=name)
        return
    database = Database(path, memory.paths.backups, TIERS_LOCK, tier_schema.schema)
    try:
        with database.writing() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            found = work_rows.clean(connection, memory.workspace_id, sought, tell, write=True)
        if found or raw_bytes.may_hold(path, sought):
            _compact(database)
    finally:
        database.close()


def _work_on_server(
    memory: Memory, server: Server, sought: Sought, tell: memory_rows.Tell, name: memory_rows.Name, *, write: bool
) -> None:
    from nanomem_tui.store.postgres import tier_schema as tables
    from nanomem_tui.store.postgres.tiers import PgTiers

    tiers = PgTiers(server, memory.paths.tiers_database)
    if not tiers.exists:
        return
    clean = partial(work_rows.clean, workspace_id=memory.workspace_id, sought=sought, tell=tell, write=write, name=name)
    found = tiers.write(clean, durable=True) if write else tiers.read(clean)
    if write and found:
        _vacuum(server, tables.tables())


def _copies(memory: Memory, sought: Sought, files: list[stored_files.Place], tell: memory_rows.Tell) -> None:
    """A new copy in the place of those that hold it; with the old ones goes what they need to be brought up to now."""
    paths = memory.paths
    found: Found = Counter()

    def told(where: str, here: Found) -> None:
        found.update(here)
        tell(where, here)

    held = [place for place in files if place.kind == "copy"]
    for place in held:
        stored_files.clean(place, sought, told, write=False)
    if not found and not any(raw_bytes.in_freed(place.path, sought) for place in held):
        return
    copies = Copies(paths.backups, paths.ledger, memory.workspace_id)
    old = copies.found()
    database = Database(paths.database, paths.backups)
    try:
        with database.locked():
            copies.make(paths.database)
            for path in [*old, *(place.path for place in held if place.path.suffix == ".kept")]:
                path.unlink(missing_ok=True)
                atomic.sync_folder(path.parent)
    finally:
        database.close()


def _names(
    memory: Memory, histories: Iterable[Path], sought: Sought, tell: Callable[[str, Found, str], None]
) -> None:
    """Names stay, and are told; also those in these histories in git."""
    paths = memory.paths
    for one in names.on_disk(paths, memory.layout, sought):
        tell(one.where, Counter({"name": 1}), one.way)
    for git_dir in histories:
        for one in names.in_git(git_dir, paths.relative(git_dir), sought):
            tell(one.where, Counter({"name": 1}), one.way)


def _archive(path: Path, sought: Sought, tell: memory_rows.Tell, held: list[Path]) -> None:
    found = stored_files.in_archive(path, sought)
    if isinstance(sought, Words) and (number := names.in_backup(path, sought)):
        found["name"] += number
    if found:
        held.append(path)
    tell(path.name, found)


def _remove_archives(held: list[Path]) -> None:
    """Remove backups, and those that build on one of them and cannot be read without it."""
    gone = {path.name for path in held}
    folders = {path.parent for path in held}
    for folder in folders:
        found = {made.path.name: made.base for made in backup.listed(folder)}
        while more := {name for name, base in found.items() if base in gone and name not in gone}:
            gone |= more
        for name in gone:
            (folder / name).unlink(missing_ok=True)
        atomic.sync_folder(folder)
