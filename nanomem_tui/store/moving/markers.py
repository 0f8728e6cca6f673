"""The markers of a workspace in two places: those that move with its rows. Must not know what a marker means, but for
the one that holds a place in the order of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.store.moving.rows import Ranks
from nanomem_tui.store.moving.tables import OWN_MARKERS, PLACE_MARKER

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

PUT = "INSERT INTO memory_meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


def of(connection: Connection, workspace_id: str, ranks: Ranks) -> dict[str, str]:
    """The markers that move, by key; the place in the order of operations as a rank of this place."""
    found: dict[str, str] = {}
    for begin in (f"{workspace_id}:", f"workspace:{workspace_id}:"):
        query = "SELECT key, value FROM memory_meta WHERE key >= ? AND key < ?"
        found |= dict(connection.execute(query, (begin, f"{begin[:-1]};")).fetchall())  # ; stands behind :
    for name in OWN_MARKERS:
        found.pop(f"{workspace_id}:{name}", None)
    if (place := found.get(f"{workspace_id}:{PLACE_MARKER}", "")).isdigit():
        found[f"{workspace_id}:{PLACE_MARKER}"] = str(ranks.up_to(int(place)))
    return found


def put(connection: Connection, workspace_id: str, markers: dict[str, str], ranks: Ranks) -> None:
    """Make the markers of a place these, as `of` gave them. `ranks`: those of this place."""
    here = of(connection, workspace_id, ranks)
    gone = [(key,) for key in here if key not in markers]
    connection.executemany("DELETE FROM memory_meta WHERE key = ?", gone)
    place = f"{workspace_id}:{PLACE_MARKER}"
    values = {key: value for key, value in markers.items() if here.get(key) != value or key == place}
    if values.get(place, "").isdigit():
        count = int(values[place])
        values[place] = str(ranks.number(count - 1)) if count else "0"
    connection.executemany(PUT, list(values.items()))
