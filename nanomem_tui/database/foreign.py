"""What is remembered of the files of an agent, and other named values: the tables `foreign_rows` and `memory_meta`.

Every function works inside the transaction of its caller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert

from nanomem_tui.database import models
from nanomem_tui.database.reading import escaped, foreign_rows, within

MARKERS = models.table(models.Marker)
FOREIGN = models.table(models.ForeignRow)


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
            [
                {"source": source, "id": escaped(key), "raw_json": json.dumps(rows[key])}
                for key in fresh
            ],
        )
