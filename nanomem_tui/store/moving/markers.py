"""The markers of a workspace in two places: those that move with its rows. Must not know what a marker means, but for
those that hold a place in the order of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.store import moved, tier_meta
from nanomem_tui.store.markers import PUT
from nanomem_tui.store.moving.naming import Naming, holds_a_place
from nanomem_tui.store.moving.rows import Ranks
from nanomem_tui.store.moving.tables import OPERATIONS, OWN_MARKERS

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

_OF_ALL = "workspace:"
"""How the key of a marker begins that is no counter of a checkpoint (`markers`)."""


def of(connection: Connection, workspace_id: str, naming: Naming) -> dict[str, str]:
    """The markers that move, by the names that a server has for them; a place in the order of operations as a rank."""
    ranks = Ranks(connection, OPERATIONS, workspace_id)
    found: dict[str, str] = {}
    for begin in ("", _OF_ALL):
        query = "SELECT key, value FROM memory_meta WHERE key >= ? AND key < ?"
        keys = f"{begin}{workspace_id}:", f"{begin}{workspace_id};"  # ; stands behind :
        for key, value in connection.execute(query, keys).fetchall():
            name = key.removeprefix(keys[0])
            seen = naming.marker(name) if not begin else f"{begin}{name}"
            if seen is not None and (begin or name not in OWN_MARKERS):
                found[seen] = str(ranks.up_to(int(value))) if not begin and _is_place(name, value) else value
    return found


def put(connection: Connection, workspace_id: str, markers: dict[str, str], naming: Naming) -> None:
    """Make the markers of a place these, as `of` gave them. `naming`: that of this place."""
    ranks = Ranks(connection, OPERATIONS, workspace_id)

    def key_of(name: str) -> str:
        if name.startswith(_OF_ALL):
            return f"{_OF_ALL}{workspace_id}:{name.removeprefix(_OF_ALL)}"
        return f"{workspace_id}:{naming.kept_marker(name)}"

    here = of(connection, workspace_id, naming)
    gone = [(key_of(name),) for name in here if name not in markers]
    connection.executemany("DELETE FROM memory_meta WHERE key = ?", gone)
    values = []
    for name, value in markers.items():
        if here.get(name) != value:
            if not name.startswith(_OF_ALL) and _is_place(name, value):
                value = str(ranks.number(int(value) - 1)) if int(value) else "0"  # noqa: PLW2901  as this place counts
            values.append((key_of(name), value))
    connection.executemany(PUT, values)


def _is_place(name: str, value: str) -> bool:
    return holds_a_place(name) and value.isdigit()


# -- beside the work of an agent --------------------------------------------------------------------------------------


def of_work(connection: Connection, workspace_id: str, _naming: Naming) -> dict[str, str]:
    """What is remembered beside the records, as far as it moves: not what a place counts for itself."""
    begins = (f"{workspace_id}:", f"knowledge removed {workspace_id} ", f"knowledge packages {workspace_id}")
    names = [name for begin in begins for name in tier_meta.beginning(connection, workspace_id, begin)]
    local = {f"{workspace_id}:{name}" for name in moved.LOCAL}
    return {name: tier_meta.get(connection, workspace_id, name) or "" for name in names if name not in local}


def put_work(connection: Connection, workspace_id: str, markers: dict[str, str], naming: Naming) -> None:
    """Remember these beside the records, as `of_work` gave them; how far their vectors were looked for is forgotten:
    that is told by numbers."""
    for name in of_work(connection, workspace_id, naming):
        if name not in markers:
            tier_meta.drop(connection, workspace_id, name)
    for name, value in markers.items():
        tier_meta.put(connection, workspace_id, name, value)
