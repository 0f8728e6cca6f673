"""What is remembered beside the records of an agent's work, under names: marks, counts, what was taken away.

Owns the table `tier_meta`. In a file the names say of which workspace it is; on a server a column does. Every function
works within the transaction of its caller.
"""

from __future__ import annotations

from nanomem_tui.store import sql
from nanomem_tui.store.sql import Connection


def get(connection: Connection, workspace_id: str, name: str) -> str | None:
    """What was noted under a name; None: nothing."""
    own, values = _own(connection, workspace_id)
    row = connection.execute(f'SELECT value FROM tier_meta WHERE {own}"key" = ?', (*values, name)).fetchone()
    return str(row[0]) if row is not None else None


def beginning(connection: Connection, workspace_id: str, begins: str) -> list[str]:
    """The names that begin like that."""
    own, values = _own(connection, workspace_id)
    query = f'SELECT "key" FROM tier_meta WHERE {own}"key" >= ? AND "key" < ?'
    return [name for (name,) in connection.execute(query, (*values, begins, begins + "\U0010ffff"))]


def put(connection: Connection, workspace_id: str, name: str, value: str) -> None:
    """Note something under a name, in place of what was there."""
    keys = '"key"' if sql.is_sqlite(connection) else 'workspace_id, "key"'
    _, values = _own(connection, workspace_id)
    query = (
        f"INSERT INTO tier_meta ({keys}, value) VALUES ({', '.join('?' * (len(values) + 2))})"
        f" ON CONFLICT ({keys}) DO UPDATE SET value = excluded.value"
    )
    connection.execute(query, (*values, name, value))


def drop(connection: Connection, workspace_id: str, name: str) -> None:
    """Forget what was noted under a name."""
    own, values = _own(connection, workspace_id)
    connection.execute(f'DELETE FROM tier_meta WHERE {own}"key" = ?', (*values, name))


def _own(connection: Connection, workspace_id: str) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if sql.is_sqlite(connection) else ("workspace_id = ? AND ", (workspace_id,))
