"""The rows, operations and markers of a database of the first edition without what is sought, its full-text index and
its freed pages without their words. What goes is decided by `cleaning`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui import clock
from nanomem_tui.operations import Change, Operation
from nanomem_tui.purge.cleaning import Cleaning, Name, Part, Tell, unnamed
from nanomem_tui.purge.texts import Sought
from nanomem_tui.store import chain, checkpoint, reader
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.values import ROW_LAYERS, AnyRow


class Gone(NamedTuple):
    """What a database no longer holds: rows that went as a whole, and rows that are cleaned, by (layer, key)."""

    rows: frozenset[Part]
    cleaned: frozenset[Part]


def clean(
    connection: Connection, workspace_id: str, sought: Sought, tell: Tell, *, write: bool, name: Name = unnamed
) -> Gone:
    """Look through every table of one workspace, and with `write` take out what is sought, in the transaction of the
    caller. Tells what was found, and names the rows that go, even where nothing is written. Raises the driver's
    errors."""
    cleaning = Cleaning(sought, name)
    head = chain.of(connection, workspace_id) if write else ""
    changed: dict[Part, AnyRow] = {}
    for layer in ROW_LAYERS:
        if layer == "record" and not reader.has_records(connection):
            continue
        for row in list(reader.rows_of(connection, layer, workspace_id)):
            cleaned = cleaning.row(layer, row)
            if cleaned is not None and cleaned is not row:
                changed[layer, row.id] = cleaned
    if write and (cleaning.gone or changed):
        _write_rows(connection, workspace_id, cleaning.gone, changed)
    _operations(connection, workspace_id, cleaning, write=write)
    _others(connection, workspace_id, cleaning, write=write)
    cleaning.tell(tell)
    if write:
        why = "forget" if sought.whole else "scrub"
        told = chain.rewritten(connection, workspace_id, head, clock.iso(clock.now()), why)
        checkpoint.remember(connection, workspace_id, (), told)
    return Gone(frozenset(cleaning.gone), frozenset(changed))


def _write_rows(connection: Connection, workspace_id: str, gone: set[Part], changed: Mapping[Part, AnyRow]) -> None:
    meta = reader.meta(connection, workspace_id)
    revision = reader.revision_of(meta) + 1
    for layer, key in [*gone, *changed]:
        row = changed.get((layer, key))
        if row is None:
            checkpoint.remove(connection, workspace_id, layer, key)
        else:
            checkpoint.rewrite(connection, workspace_id, row._replace(revision=revision))
        connection.execute("DELETE FROM vectors WHERE workspace_id = ? AND key = ?", (workspace_id, key))
    rows = reader.row_count(connection, workspace_id)
    checkpoint.remember(connection, workspace_id, (), {"revision": str(revision), "rows": str(rows)})


def _operations(connection: Connection, workspace_id: str, cleaning: Cleaning, *, write: bool) -> None:
    query = "SELECT seq, body_json, label FROM operations WHERE workspace_id = ? ORDER BY seq DESC"
    for seq, body, label in connection.execute(query, (workspace_id,)).fetchall():
        operation = Operation.from_json(json.loads(body))._replace(label=label)
        told = cleaning.operation(operation)
        if told is operation or not write:
            continue
        written = checkpoint.as_json(told.to_json())
        change = "UPDATE operations SET body_json = ?, label = ?, touched = ? WHERE workspace_id = ? AND seq = ?"
        connection.execute(change, (written, told.label, len(told.changes), workspace_id, seq))
        places = {(one.layer, one.key) for one in told.changes}
        keys = "SELECT layer, key FROM operation_keys WHERE workspace_id = ? AND seq = ?"
        before = connection.execute(keys, (workspace_id, seq)).fetchall()
        lost = [(workspace_id, seq, layer, key) for layer, key in before if (layer, key) not in places]
        gone_keys = "DELETE FROM operation_keys WHERE workspace_id = ? AND seq = ? AND layer = ? AND key = ?"
        connection.executemany(gone_keys, lost)


def touching_sessions(connection: Connection, workspace_id: str) -> Iterator[Change]:
    """The changes of operations that touched a conversation. Raises the driver's errors."""
    query = (
        "SELECT DISTINCT o.body_json FROM operations o JOIN operation_keys k ON k.workspace_id = o.workspace_id"
        " AND k.seq = o.seq WHERE k.workspace_id = ? AND k.layer = 'session'"
    )
    for (body,) in connection.execute(query, (workspace_id,)).fetchall():
        yield from Operation.from_json(json.loads(body)).changes


def _others(connection: Connection, workspace_id: str, cleaning: Cleaning, *, write: bool) -> None:
    """What was seen of the agent's rows, and the markers."""
    query = "SELECT source, id, raw_json FROM foreign_rows WHERE workspace_id = ?"
    row = "workspace_id = ? AND source = ? AND id = ?"
    for source, key, raw in connection.execute(query, (workspace_id,)).fetchall():
        cleaned = cleaning.seen(key, raw)
        if write and cleaned is None:
            connection.execute(f"DELETE FROM foreign_rows WHERE {row}", (workspace_id, source, key))
        elif write and cleaned != raw:
            values = (cleaned, workspace_id, source, key)
            connection.execute(f"UPDATE foreign_rows SET raw_json = ? WHERE {row}", values)
    for key, value in connection.execute("SELECT key, value FROM memory_meta").fetchall():
        if key.startswith(f"{workspace_id}:") and (cleaned := cleaning.named_value(value)) != value and write:
            connection.execute("UPDATE memory_meta SET value = ? WHERE key = ?", (cleaned, key))


def compact(connection: Connection, indexes: Sequence[str]) -> None:
    """Write the file anew, outside a transaction, so that no free page and no word of an index holds what is gone."""
    for name in indexes:
        connection.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def indexes(connection: Connection) -> list[str]:
    """The full-text indexes of a database."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
    return [name for (name,) in connection.execute(query)]
