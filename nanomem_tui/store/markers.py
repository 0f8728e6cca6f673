"""Write what stands beside the rows: named values, and what is remembered of an agent's files.

Every function works inside the transaction of its caller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, or_, select, true, update

from nanomem_tui.store import models
from nanomem_tui.store.queries import within
from nanomem_tui.store.reading import escaped, foreign_rows

MARKERS = models.table(models.Marker)

FOREIGN = models.table(models.ForeignRow)

_OF_FILES = ("exported", "audit_seq", "stat:", "order:")
"""Begin the names of markers of the agent's files."""


def set_markers(connection: Connection, values: Mapping[str, str]) -> None:
    """Set named values."""
    if values:
        connection.execute(delete(MARKERS).where(MARKERS.c.key == bindparam("name")), [{"name": key} for key in values])
        connection.execute(insert(MARKERS), [{"key": key, "value": value} for key, value in values.items()])


def set_foreign_rows(connection: Connection, source: str, rows: Mapping[str, Any]) -> None:
    """Remember these rows of a source, and no others."""
    known = foreign_rows(within(connection), source)
    gone = [key for key in known if key not in rows or rows[key] != known[key]]
    fresh = [key for key in rows if key not in known or rows[key] != known[key]]
    if gone:
        here = (FOREIGN.c.source == source) & (FOREIGN.c.id == bindparam("key"))
        connection.execute(delete(FOREIGN).where(here), [{"key": escaped(key)} for key in gone])
    if fresh:
        connection.execute(
            insert(FOREIGN),
            [{"source": source, "id": escaped(key), "raw_json": json.dumps(rows[key])} for key in fresh],
        )


def name_for(connection: Connection, home: str, *, on_server: bool) -> None:
    """Name what came from the other kind of place as this one does: a server has it for each home that shares the
    memory, by the id of the home; a file for the one home that it lies in, and nothing of others."""
    end = f"@{home}"
    is_of_files = or_(*(MARKERS.c.key.startswith(begin, autoescape=True) for begin in _OF_FILES))
    for column, chosen in ((MARKERS.c.key, is_of_files), (FOREIGN.c.source, true())):
        for name in connection.execute(select(column).distinct().where(chosen)).scalars().all():
            here = column == name
            if on_server:
                connection.execute(update(column.table).where(here).values({column: f"{name}{end}"}))
            elif name.endswith(end):
                connection.execute(update(column.table).where(here).values({column: name.removesuffix(end)}))
            else:
                connection.execute(delete(column.table).where(here))
