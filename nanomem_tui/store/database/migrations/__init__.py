"""Which schema a database has, and how it comes to the newest one.

The one truth is alembic's own table, on a file and on a server: alembic keeps it in step with what it ran, and a reader
asks it with one SELECT, without alembic. `PRAGMA user_version` of a file never changes again: it is what the first
edition reads, which knows 3 and refuses anything higher. Alembic is imported when a migration is due.

To change the schema: change `models`, add a file to `versions/`, set `reading.SCHEMA`. A test holds them together. The
records of work have a history of their own: change `work.models`, add a file to `work_versions/` that also sets
`work_meta.version` to its number, set the number in `WORK`. Each commit reads that row anyhow, and so a process
that was open when a later release migrated stops there.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Table, inspect, select, update

from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import NewerDatabase
from nanomem_tui.store.database import models
from nanomem_tui.store.database.engine import Database, SqliteDatabase, copy_whole
from nanomem_tui.store.database.reading import SCHEMA, SECOND_EDITION

_META = models.table(models.MetaRow)


class History(NamedTuple):
    """The schemas of one kind of database: where their migrations lie, the newest, the table that says which one a
    database has, and the table that one has which was made before there were versions, as schema 1."""

    folder: str
    newest: str
    table: Table
    unversioned: str = ""


NEWEST = SCHEMA
MEMORY = History("versions", NEWEST, models.version_table("alembic_version"))
WORK = History("work_versions", "0002", models.version_table("work_alembic_version"), "work_meta")


def stamp(connection: Connection, history: History = MEMORY) -> None:
    """Note that a database was just made with the newest schema."""
    history.table.create(connection)
    connection.execute(history.table.insert().values(version_num=history.newest))
    if history is MEMORY and connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA user_version = {SECOND_EDITION}")


def version_of(connection: Connection, history: History = MEMORY) -> str:
    """Return the schema of a database, "" where there is none."""
    there = inspect(connection)
    if not there.has_table(history.table.name):
        return "0001" if history.unversioned and there.has_table(history.unversioned) else ""
    return connection.execute(select(history.table.c.version_num)).scalar() or ""


def is_due(connection: Connection, where: str, history: History = MEMORY) -> bool:
    """Whether a database has an older schema, or none. Raises NewerDatabase where a later nanomem made it."""
    found = version_of(connection, history)
    if found and not (found.isdecimal() and int(found) <= int(history.newest)):
        what = f"the database has schema {found}, this nanomem knows {history.newest}"
        raise NewerDatabase(what, where, "install a newer nanomem; nothing was changed")
    return found != history.newest


def migrate(
    database: Database, history: History = MEMORY, copies: Path | None = None, *, is_private: bool = False
) -> Path | None:
    """Bring a database to the newest schema, in one transaction that keeps everybody else out.

    Returns the copy of the file as it was, in the folder `copies` (by default that beside it); None where nothing was
    due, on a server, which has backups of its own, and where the file `is_private`, a copy itself. Raises
    NewerDatabase, and StoreError and its kin; the database is as it was then.
    """
    with database.making() as connection:
        if not is_due(connection, database.where, history):
            return None
        copy = None
        if isinstance(database, SqliteDatabase) and not is_private:
            copy = _copy(database.file, version_of(connection, history), copies or database.file.parent / "copies")
        _upgrade(connection, history)
        if history is MEMORY:
            connection.execute(update(_META).values(epoch=secrets.token_hex(8)))  # others load everything anew
        return copy


@contextlib.contextmanager
def read_copy(file: Path, history: History = MEMORY) -> Iterator[Path]:
    """A private copy of a file, at the newest schema, for who only reads; it goes at the end. Raises as `migrate`."""
    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
        copied = SqliteDatabase(Path(folder, file.name))
        copy_whole(file, copied.file)
        with contextlib.closing(copied):
            migrate(copied, history, is_private=True)
        yield copied.file


def _upgrade(connection: Connection, history: History) -> None:
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    here = Path(__file__).parent
    script = ScriptDirectory(str(here), version_locations=[str(here / history.folder)])
    if not inspect(connection).has_table(history.table.name) and (found := version_of(connection, history)):
        history.table.create(connection)
        connection.execute(history.table.insert().values(version_num=found))
    with EnvironmentContext(Config(), script, fn=lambda found, _: script._upgrade_revs("head", found)) as running:
        running.configure(connection=connection, version_table=history.table.name)
        running.run_migrations()


def _copy(file: Path, found: str, folder: Path) -> Path:
    """Copy a database as it is to where daily copies lie, with which it goes; the name has its schema."""
    target = folder / f"{file.stem}-{clock.iso(clock.now())[:10]}-schema-{found or 'none'}.db"
    atomic.make_folder(target.parent)
    copy_whole(file, target)
    return target
