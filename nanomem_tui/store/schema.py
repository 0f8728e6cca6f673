"""How the tables of a database differ from those that `models` declares: the doctor's look at the schema.

Imports SQLModel (half a second), so only where it is asked. Changes nothing.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import StaticPool

from nanomem_tui.store import migrations, models


def differences(connection: sqlite3.Connection) -> list[str]:
    """What the database lacks of the declared tables, columns, indexes and triggers, in words."""
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    found = inspect(engine)
    present = set(found.get_table_names())
    missing: list[str] = []
    for table in models.MemoryEntry.metadata.sorted_tables:
        if table.name not in present:
            missing.append(f"table {table.name}")
            continue
        columns = {column["name"] for column in found.get_columns(table.name)}
        indexes = {index["name"] for index in found.get_indexes(table.name)}
        missing += [f"column {table.name}.{column.name}" for column in table.columns if column.name not in columns]
        missing += [f"index {index.name}" for index in table.indexes if index.name not in indexes]
    triggers = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    return [*missing, *(f"trigger {name}" for name in migrations.TRIGGERS if name not in triggers)]
