"""Where the memory of a workspace is stored: in a file of ours.

Owns what differs between a file and a server for whoever uses the memory: how it is read, written, checked and taken
over from the first edition (`server_storage` has the server), and which servers a memory was on before. Imports
SQLAlchemy for writing only.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import DiskFull, NanomemError, Problem, from_os_error
from nanomem_tui.core.operations import Layer
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import counted
from nanomem_tui.store.database import reading
from nanomem_tui.store.database.reading import Reading, SqliteReading, has_older_schema
from nanomem_tui.store.first_edition import contents
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.values import AnyRow
from nanomem_tui.store.work.kinds import KINDS, TIERS

if TYPE_CHECKING:
    from nanomem_tui.store.database.postgres import PostgresDatabase
    from nanomem_tui.store.first_edition.takeover import TakenOver
    from nanomem_tui.store.snapshot import Snapshot
    from nanomem_tui.store.transactions import Store


LayerOf = Callable[[str], Layer]
"""Gives what changes the files of an agent, by the name of a layer; raises NotFound."""


class Storage:
    """Where the memory lies: `nanomem.db` of a workspace. Its methods raise the store's errors."""

    server: PostgresDatabase | None = None
    """The database on a server, None for a file."""

    def __init__(self, paths: Paths, workspace_id: str) -> None:
        self._paths = paths
        self._id = workspace_id
        self._reading = SqliteReading(paths.database)

    @property
    def where(self) -> str:
        """Which database it is, for a person."""
        return self._paths.relative(self._paths.database)

    def reading(self) -> Reading:
        """The database to read."""
        return self._reading

    def may_have_changed(self) -> bool:
        """Whether it is worth asking the database what others committed; asked often, and never waits for a network
        that was asked a moment ago. A file is asked at once."""
        return True

    def writer(self, layer_of: LayerOf, snapshot: Snapshot) -> Store:
        """What changes the database. Beside a file lie its copies and its log."""
        from nanomem_tui.store.database.engine import SqliteDatabase
        from nanomem_tui.store.recovery import DatabaseRecovery
        from nanomem_tui.store.transactions import Store

        database = SqliteDatabase(self._paths.database)
        recovery = DatabaseRecovery(database, self._paths.copies, self._paths.quarantine)
        return Store(database, Writers(self._paths.writers), recovery, layer_of, snapshot)

    def described(self) -> Mapping[str, Any]:
        """Which database it is, for `memory status`."""
        return {"database": str(self._paths.database)}

    def damages(self, writer: Store) -> list[Problem]:
        """What is wrong with the database; every part of it is looked at."""
        from nanomem_tui.store import recovery as store_recovery
        from nanomem_tui.store.database.engine import SqliteDatabase
        from nanomem_tui.store.recovery import LOG

        assert isinstance(writer.database, SqliteDatabase)
        assert writer.recovery is not None
        harmed = writer.recovery.damaged_copies()
        whole = [copy for copy in writer.recovery.copies() if copy not in harmed]
        try:
            found = list(store_recovery.damage_problems(writer.database, whole))
        except DiskFull as error:  # SQLite needs room to look
            return [Problem(f"not looked through: {error.what}", self.where, None, error.fix)]
        fix = "`nanomem doctor --fix` moves it to the quarantine and makes a new copy"
        found += [Problem("this copy is damaged", self._paths.relative(copy), None, fix) for copy in harmed]
        log, fix = self._paths.database.with_name(LOG), "`nanomem doctor --fix` writes it anew from the database"
        found += [
            Problem("this line cannot be read", self._paths.relative(log), number, fix)
            for number in writer.recovery.unreadable_lines()
        ]
        if not found and (lost := writer.recovery.lost_commits()):
            what = f"it lacks {counted(lost, 'change')} that {LOG} beside it has"
            fix = "`nanomem doctor --fix`, or the next change, makes them again"
            found.append(Problem(what, self.where, None, fix))
        return found

    def leading(self, work: str) -> contextlib.AbstractContextManager[bool]:
        """Whether this process does a piece of work for all that share the memory. Locks of files decide otherwise."""
        return contextlib.nullcontext(True)

    def is_first_edition(self) -> bool:
        """Whether a memory of the first edition lies here, or the rest of one."""
        return contents.is_due(self._paths, self._id)

    def has_older_schema(self) -> bool:
        """Whether an earlier release of this edition made the tables; False where that cannot be told."""
        with contextlib.suppress(NanomemError), self._reading.kept_open():  # one connection for both questions
            return self._reading.exists and has_older_schema(self._reading)
        return False

    @contextlib.contextmanager
    def read_copy(self, files: Iterable[AnyRow]) -> Iterator[tuple[Path, TakenOver]]:
        """A private copy of either, taken over or migrated, for who only reads. `files`: the rows of the agent's own
        files."""
        from nanomem_tui.store.database import migrations
        from nanomem_tui.store.first_edition import takeover

        if self.has_older_schema():
            what = "the database has an older schema; what is shown comes from a copy"
            fix = "the next change, or `nanomem doctor --fix`, brings it up to date"
            with migrations.read_copy(self._paths.database) as file:
                yield file, takeover.TakenOver({}, None, (Problem(what, self.where, None, fix, "warning"),))
        else:
            with takeover.read_copy(self._paths, self._id, files) as found:
                yield found

    def take_over(self, files: Iterable[AnyRow]) -> TakenOver:
        """Take the first edition over, and bring an older schema to the newest; what a file was is kept."""
        from nanomem_tui.store.database import migrations
        from nanomem_tui.store.database.engine import SqliteDatabase
        from nanomem_tui.store.first_edition import takeover

        is_first = self.is_first_edition()
        taken = takeover.take_over(self._paths, self._id, files) if is_first else takeover.TakenOver({}, None, ())
        with contextlib.closing(SqliteDatabase(self._paths.database)) as database:
            copy = migrations.migrate(database)
        return taken if copy is None else taken._replace(copy=copy)


def count_work(paths: Paths, workspace_id: str) -> dict[str, int]:
    """Count the records of an agent's work in each tier, in a file of the first edition too, without SQLAlchemy. Raises
    the store's errors."""
    found = Counter[str](dict.fromkeys(TIERS, 0))
    if paths.work_database.exists():
        for tier, number in SqliteReading(paths.work_database).all("work_counts"):
            found[tier] += number
    elif (old := paths.tiers_database).is_file() and old.stat().st_size:
        with (
            reading.translate_errors(old, "counting records"),
            contextlib.closing(contents.open_to_read(old)) as one,
        ):
            for kind in KINDS.values():
                tables = {kind.tier: kind.table} | ({"longterm": f"archived_{kind.table}"} if kind.ages else {})
                for tier, table in tables.items():
                    query = f"SELECT count(*) FROM {table} WHERE workspace_id = ?"
                    found[tier] += one.execute(query, (workspace_id,)).fetchone()[0]
    return dict(found)


# -- Where a memory was before: the servers that it moved from, and workspaces whose folder was renamed ---------------

SERVERS_FILE = "old-stores.txt"
_HEAD = (
    "# Servers that a memory was moved to or from: `nanomem forget` and `nanomem scrub` name them as left.\n"
    "# Put a # before the line of one that holds nothing any more.\n"
)


class KnownServers(NamedTuple):
    """The addresses of a workspace. `gone`: those that a person put a # before."""

    there: tuple[str, ...]
    gone: tuple[str, ...]


def known_servers(paths: Paths, workspace_id: str) -> KnownServers:
    """What is known of a workspace. Raises the errors of `from_os_error`."""
    there: list[str] = []
    gone: list[str] = []
    for line in _text(paths).splitlines():
        key, _, address = line.lstrip("# \t").partition(" ")
        if key == workspace_id and address.strip():
            (gone if line.lstrip().startswith("#") else there).append(address.strip())
    return KnownServers(tuple(dict.fromkeys(there)), tuple(dict.fromkeys(gone)))


def note_servers(paths: Paths, workspace_id: str, *addresses: str) -> None:
    """Keep these; one that was gone is there again. Raises the errors of `from_os_error`."""
    there = known_servers(paths, workspace_id).there
    new = [f"{workspace_id} {one}" for one in addresses if one not in there]
    if new:
        text = _text(paths) or _HEAD
        lines = [line for line in text.splitlines() if line.lstrip("# \t").rstrip() not in new]
        atomic.make_folder(paths.data)
        atomic.write_atomic(paths.data / SERVERS_FILE, "".join(f"{line}\n" for line in [*lines, *new]).encode())


def _text(paths: Paths) -> str:
    try:
        return files.read(paths.data / SERVERS_FILE).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise from_os_error(error, "reading which servers the memory was on") from error


# -- a workspace whose folder was renamed -----------------------------------------------------------------------------


def find_renamed_workspaces(paths: Paths) -> list[Problem]:
    """Name memories in the agent's home whose workspace is not there any more, where this one has none of its own: its
    folder was renamed, perhaps to this one."""
    if paths.home is None or paths.database.exists():
        return []
    own = sorted(paths.data.glob("workspace-*/nanomem.db"))
    places = {paths.home / "workspace": paths.first_edition_database}
    places |= {paths.home / database.parent.name.removeprefix("workspace-"): database for database in own}
    found = []
    for folder, database in places.items():
        if database.exists() and not os.path.lexists(folder):
            what = f"the memory of a workspace that is not this one: {folder}, which is not there any more"
            back = f"mv {shlex.quote(str(paths.workspace))} {shlex.quote(str(folder))}"
            fix = f"if this is that workspace, renamed, `{back}` gives it its name and its memory back"
            found.append(Problem(what, paths.relative(database), None, fix))
    return found
