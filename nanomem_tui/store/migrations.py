"""The numbered steps that bring a database to the present schema; each runs once, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nanomem_tui.errors import NewerDatabase
from nanomem_tui.store.reader import SCHEMA_VERSION

if TYPE_CHECKING:
    from sqlalchemy import Connection

FTS_TABLE = "CREATE VIRTUAL TABLE IF NOT EXISTS memory_entries_fts USING fts5(entry_id UNINDEXED, content)"


def _create_tables(connection: Connection) -> None:
    from sqlmodel import SQLModel

    from nanomem_tui.store import models  # noqa: F401  the import registers the tables

    SQLModel.metadata.create_all(connection)
    connection.exec_driver_sql(FTS_TABLE)


STEPS: dict[int, Callable[[Connection], None]] = {1: _create_tables}
"""Schema version → the step that makes it from the one before."""


def migrate(connection: Connection, found: int, where: str) -> int:
    """Run the steps after version `found`; returns the version reached. Raises NewerDatabase."""
    if found > SCHEMA_VERSION:
        raise NewerDatabase(
            f"the database has schema {found}, this nanomem knows {SCHEMA_VERSION}", where, "install a newer nanomem"
        )
    for version in range(found + 1, SCHEMA_VERSION + 1):
        STEPS[version](connection)
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")
    return SCHEMA_VERSION
