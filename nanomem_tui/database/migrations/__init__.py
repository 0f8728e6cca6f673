"""Which schema a database has, and how it comes to the newest one.

The one truth is alembic's own table, `alembic_version`, on both databases: alembic keeps it in step with what it ran,
and a reader asks it with one SELECT, without alembic. `PRAGMA user_version` of a file never changes again: it is what
the first edition reads, which knows 3 and refuses anything higher. Alembic is imported when a migration is due.

To change the schema: change `models`, add a file to `versions/`, set `reading.SCHEMA`. A test holds them together.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select, update

from nanomem_tui.database import models
from nanomem_tui.database.engine import Database, SqliteDatabase, copy_whole
from nanomem_tui.database.first_edition import SECOND_EDITION
from nanomem_tui.database.reading import SCHEMA
from nanomem_tui.errors import NewerDatabase

NEWEST = SCHEMA
VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
_META = models.table(models.MetaRow)


def stamp(connection: Connection) -> None:
    """Note that a database was just made with the newest schema."""
    VERSION.create(connection)
    connection.execute(VERSION.insert().values(version_num=NEWEST))
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA user_version = {SECOND_EDITION}")


def version_of(connection: Connection) -> str:
    """Return the schema of a database, "" where there is none."""
    if not inspect(connection).has_table(VERSION.name):
        return ""
    return connection.execute(select(VERSION.c.version_num)).scalar() or ""


def is_due(connection: Connection, where: str) -> bool:
    """Whether a database has an older schema, or none. Raises NewerDatabase where a later nanomem made it."""
    found = version_of(connection)
    if found and not (found.isdecimal() and int(found) <= int(NEWEST)):
        what = f"the database has schema {found}, this nanomem knows {NEWEST}"
        raise NewerDatabase(what, where, "install a newer nanomem; nothing was changed")
    return found != NEWEST


def migrate(database: Database) -> Path | None:
    """Bring a database to the newest schema, in one transaction that keeps everybody else out.

    Returns the copy of the file as it was; None where nothing was due, or on a server, which has backups of its own.
    Raises NewerDatabase, and StoreError and its kin; the database is as it was then.
    """
    with database.making() as connection:
        if not is_due(connection, database.where):
            return None
        copy = _copy(database.file, version_of(connection)) if isinstance(database, SqliteDatabase) else None
        _upgrade(connection)
        connection.execute(update(_META).values(epoch=secrets.token_hex(8)))  # others load everything anew
        return copy


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    command.upgrade(config, "head")


def _copy(file: Path, found: str) -> Path:
    """Copy a database as it is, beside it, under the name of its schema."""
    target = file.with_name(f"{file.stem}-schema-{found or 'none'}.db")
    copy_whole(file, target)
    return target
