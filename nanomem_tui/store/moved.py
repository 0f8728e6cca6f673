"""The marks of a memory that moved to another store, or is still on its way here: nobody writes to such a store.

What is changed with it still open stays in the ledger, and is written to the other store by whoever comes next. Must
not know how rows are moved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import json_text
from nanomem_tui.errors import Moved
from nanomem_tui.store import markers, sql, tier_meta

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection

MOVED, ARRIVING, ARRIVED = "moved", "arriving", "arrived"
"""The markers: of a store that a memory left, of one that it is being brought to, and of one that it was brought to."""
LOCAL = frozenset({MOVED, ARRIVING, ARRIVED})


class Mark(NamedTuple):
    """What is said of a move: its id, the two stores as a person names them, and when it began (UTC ISO)."""

    move: str
    source: str
    target: str
    at: str


def mark_in(meta: Mapping[str, str], name: str) -> Mark | None:
    """The mark of that name among the markers of a workspace; one that cannot be read says nothing but that it is
    there."""
    if name not in meta:
        return None
    try:
        told = json_text.loads(meta[name])
        return Mark(*(str(told.get(field, "")) for field in Mark._fields))
    except (ValueError, AttributeError):
        return Mark("", "", "", "")


def read(connection: Connection, workspace_id: str, name: str) -> Mark | None:
    """The mark of that name in a database."""
    query = "SELECT value FROM memory_meta WHERE key = ?"
    row = connection.execute(query, (f"{workspace_id}:{name}",)).fetchone()
    return mark_in({name: str(row[0])}, name) if row is not None else None


def write(connection: Connection, workspace_id: str, name: str, mark: Mark) -> None:
    """Set a mark."""
    connection.execute(markers.PUT, (f"{workspace_id}:{name}", json.dumps(mark._asdict(), ensure_ascii=False)))


def remove(connection: Connection, workspace_id: str, *names: str) -> None:
    """Take marks away."""
    for name in names:
        connection.execute("DELETE FROM memory_meta WHERE key = ?", (f"{workspace_id}:{name}",))


def trouble(meta: Mapping[str, str], where: str) -> Moved | None:
    """Why nobody writes to the store with these markers; None where everybody may."""
    if (mark := mark_in(meta, ARRIVING)) is not None:
        fix = f"`{again(mark)}` goes on with it"
        return Moved("a move of this memory to here has not come to its end", where, fix)
    if (mark := mark_in(meta, MOVED)) is not None:
        waits = "what is changed waits in the ledger, and is written there by the next start"
        fix = f"{waits}; where database_url still names this store, `{again(mark)}` sets it"
        return Moved(f"this memory has moved to {_named(mark.target)}", where, fix)
    return None


def refuse(connection: Connection, workspace_id: str, where: str) -> None:
    """Raise Moved where nobody may write to this database."""
    query = "SELECT key, value FROM memory_meta WHERE key IN (?, ?)"
    keys = {f"{workspace_id}:{name}": name for name in (MOVED, ARRIVING)}
    found = {keys[key]: str(value) for key, value in connection.execute(query, tuple(keys)).fetchall()}
    if found and (error := trouble(found, where)) is not None:
        raise error


def refuse_work(connection: Connection, workspace_id: str, where: str) -> None:
    """Raise Moved where nobody may write to this database of an agent's work. A server keeps one mark for all."""
    if not sql.is_sqlite(connection):
        refuse(connection, workspace_id, where)
        return
    found = {name: tier_meta.get(connection, workspace_id, f"{workspace_id}:{name}") for name in (MOVED, ARRIVING)}
    meta = {name: value for name, value in found.items() if value is not None}
    if meta and (error := trouble(meta, where)) is not None:
        raise error


def mark_work(connection: Connection, workspace_id: str, mark: Mark | None, *names: str) -> None:
    """Set these marks beside the work of an agent in a file, or take them away."""
    if sql.is_sqlite(connection):
        for name in names:
            key = f"{workspace_id}:{name}"
            if mark is None:
                tier_meta.drop(connection, workspace_id, key)
            else:
                tier_meta.put(connection, workspace_id, key, json.dumps(mark._asdict(), ensure_ascii=False))


def again(mark: Mark) -> str:
    """The command that goes on with a move."""
    return f"nanomem migrate-store {mark.source} '{mark.target}'" if mark.target else "nanomem migrate-store FROM TO"


def _named(target: str) -> str:
    return "the file nanomem.db" if target == "sqlite" else target or "another store"
