"""The records and documents of `tiers.db` without what is sought; with them go what was overwritten in them, what it
takes to undo a run of the lifecycle that holds it, and their vectors."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any

from nanomem_tui import json_text
from nanomem_tui.purge.cleaning import Name, Tell, unnamed
from nanomem_tui.purge.texts import Found, Sought, has_taken, in_value
from nanomem_tui.purge.wanted_words import Words
from nanomem_tui.store import knowledge_rows, sql, tier_rows, tier_runs
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS, Kind
from nanomem_tui.store.tier_values import TierRecord


def clean(
    connection: Connection, workspace_id: str, sought: Sought, tell: Tell, *, write: bool, name: Name = unnamed,
    touched: list[tuple[str, str]] | None = None,
) -> bool:  # fmt: skip
    """Look through every table, and with `write` take out what is sought, in the transaction of the caller; whether
    there was anything. Names the rows that go; `touched` gets the kinds and ids of records that were written, whose
    vectors are stale. Raises the driver's errors."""
    every: Found = Counter()

    def told(where: str, found: Found) -> None:
        every.update(found)
        tell(where, found)

    for kind in KINDS.values():
        found: Found = Counter()
        for table in kind.tables.values():
            for record in list(tier_rows.each(connection, workspace_id, kind, table)):
                goes, holds = _record(connection, workspace_id, kind, record, sought, found, write=write)
                if goes:
                    name(kind.name, record.id, record.title)
                if holds and write and touched is not None:
                    touched.append((kind.name, record.id))
        told(kind.name, found)
    told("record_changes", _changes(connection, workspace_id, sought, write=write))
    told("knowledge", _documents(connection, workspace_id, sought, write=write))
    told("lifecycle", _batches(connection, workspace_id, sought, write=write))
    return bool(every)


def _record(
    connection: Connection, workspace_id: str, kind: Kind, record: TierRecord, sought: Sought, found: Found,
    *, write: bool,
) -> tuple[bool, bool]:  # fmt: skip
    """Look at one record: whether it goes as a whole, and whether it holds anything at all."""
    mine: Found = Counter()
    goes = _belongs(record, sought)
    fields = in_value(dict(record.fields), sought, mine)
    if not goes and fields == dict(record.fields):
        return False, False
    found.update({"row": 1} if goes else mine)
    goes = goes or sought.whole
    if not write:
        return goes, True
    query = "DELETE FROM record_vectors WHERE workspace_id = ? AND kind = ? AND id = ?"
    connection.execute(query, (workspace_id, kind.name, record.id))
    if goes:
        tier_rows.delete(connection, workspace_id, kind, [record.id])
        query = "DELETE FROM record_changes WHERE workspace_id = ? AND kind = ? AND id = ?"
        connection.execute(query, (workspace_id, kind.name, record.id))
    else:
        tier_rows.put(connection, workspace_id, [record._replace(fields=fields)])
    return goes, True


def _belongs(record: TierRecord, sought: Sought) -> bool:
    if not isinstance(sought, Words):
        return False
    ids = sought.marks.ids
    return record.id in ids or record.key in ids or has_taken(dict(record.fields), sought)


def _changes(connection: Connection, workspace_id: str, sought: Sought, *, write: bool) -> Found:
    found: Found = Counter()
    query = "SELECT seq, before, after FROM record_changes WHERE workspace_id = ?"
    for seq, before, after in connection.execute(query, (workspace_id,)).fetchall():
        cleaned = [in_value(text, sought, found) for text in (before, after)]
        if any(has_taken(json_text.loads(text) if text else None, sought) for text in (before, after)):
            found["row"] += 1
            if write:
                own = sql.beside_number(connection)
                connection.execute(f"DELETE FROM record_changes WHERE seq = ? AND {own} = ?", (seq, workspace_id))
            continue
        if write and cleaned != [before, after]:
            own = sql.beside_number(connection)
            change = f"UPDATE record_changes SET before = ?, after = ? WHERE seq = ? AND {own} = ?"
            connection.execute(change, (*cleaned, seq, workspace_id))
    return found


def _documents(connection: Connection, workspace_id: str, sought: Sought, *, write: bool) -> Found:
    """A document stays, without it; its hash too, so that a sync of the same source does not bring it back."""
    found: Found = Counter()
    for one in knowledge_rows.documents(connection, workspace_id):
        chunks = [chunk for _, chunk in knowledge_rows.chunks(connection, workspace_id, one.id)]
        cleaned = [
            chunk._replace(section=sought.clean(chunk.section, found), text=sought.clean(chunk.text, found))
            for chunk in chunks
        ]
        named = one._replace(title=sought.clean(one.title, found), about=sought.clean(one.about, found))
        if write and (cleaned != chunks or named != one):
            knowledge_rows.begin(connection, workspace_id)
            knowledge_rows.put(connection, workspace_id, named, cleaned)
    return found


def _batches(connection: Connection, workspace_id: str, sought: Sought, *, write: bool) -> Found:
    """A batch that holds it goes, and its run cannot be undone any more."""
    found: Found = Counter()
    query = "SELECT seq, run, packed FROM lifecycle_batches WHERE workspace_id = ?"
    for seq, run, packed in connection.execute(query, (workspace_id,)).fetchall():
        mine: Found = Counter()
        try:
            value: Any = json_text.loads(zlib.decompress(packed))
        except (ValueError, zlib.error):
            continue
        if in_value(value, sought, mine) is value and not has_taken(value, sought):
            continue
        mine.update({} if mine else {"row": 1})
        found.update(mine)
        if write:
            tier_runs.drop(connection, workspace_id, seq)
            change = "UPDATE lifecycle_runs SET state = 'final' WHERE workspace_id = ? AND id = ?"
            connection.execute(change, (workspace_id, run))
    return found
