"""The rows, operations and markers of `nanomem.db` without what is sought: rows cleaned or gone, what operations kept
of them gone, the full-text index without their words, no vector of them, no freed page that still holds them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.operations import Change, Operation
from nanomem_tui.purge.texts import Found, Sought, has_taken, in_value, unmarked
from nanomem_tui.purge.wanted_words import Marks, Words
from nanomem_tui.store import chain, checkpoint, reader
from nanomem_tui.store.oplog import WITHHELD
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Lesson, lesson_key
from nanomem_tui.text import FORGOTTEN

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "item": ("text", "meta_json"),
    "lesson": ("trigger", "bad_action", "better_action", "key", "promoted_global_key", "meta_json"),
    "record": ("about", "text", "meta_json"),
}
"""The fields of each layer that hold words; the others say where a row belongs."""
Tell = Callable[[str, Found], None]
"""Is told what was found where: the table or the file, and the counts."""
Name = Callable[[str, str, str], None]
"""Is told of each row that goes as a whole: its table, its id, what it says."""


def unnamed(_table: str, _key: str, _said: str) -> None:
    """For who asks for the counts alone."""


class Gone(NamedTuple):
    """What a database no longer holds: rows that went as a whole, and rows that are cleaned, by (layer, key)."""

    rows: frozenset[tuple[str, str]]
    cleaned: frozenset[tuple[str, str]]

    @property
    def any(self) -> bool:
        return bool(self.rows or self.cleaned)


def clean(
    connection: Connection, workspace_id: str, sought: Sought, tell: Tell, *, write: bool, name: Name = unnamed
) -> Gone:
    """Look through every table of one workspace, and with `write` take out what is sought, in the transaction of the
    caller. Tells what was found, and names the rows that go, even where nothing is written. Raises the driver's
    errors."""
    marks = sought.marks if isinstance(sought, Words) else Marks()
    head = chain.of(connection, workspace_id) if write else ""
    gone: set[tuple[str, str]] = set()
    changed: dict[tuple[str, str], AnyRow] = {}
    for layer in ROW_LAYERS:
        if layer == "record" and not reader.has_records(connection):
            continue
        found: Found = Counter()
        for row in list(reader.rows_of(connection, layer, workspace_id)):
            if belongs(row, marks):
                found["row"] += 1
                gone.add((layer, row.id))
                name(reader.ROW_TABLES[layer], row.id, _said(row))
                continue
            cleaned = _cleaned(layer, row, sought, found)
            if cleaned is None:
                gone.add((layer, row.id))
                name(reader.ROW_TABLES[layer], row.id, _said(row))
            elif cleaned is not row:
                changed[layer, row.id] = cleaned
        tell(reader.ROW_TABLES[layer], found)
    if write and (gone or changed):
        _write_rows(connection, workspace_id, gone, changed)
    done = Gone(frozenset(gone), frozenset(changed))
    _operations(connection, workspace_id, sought, done.rows, tell, write=write)
    _others(connection, workspace_id, sought, done, tell, write=write)
    if write:
        why = "forget" if sought.whole else "scrub"
        told = chain.rewritten(connection, workspace_id, head, clock.iso(clock.now()), why)
        checkpoint.remember(connection, workspace_id, (), told)
    return done


def _said(row: AnyRow) -> str:
    return f"{row.trigger} → {row.better_action}" if isinstance(row, Lesson) else row.text


def belongs(row: AnyRow, marks: Marks) -> bool:
    """Whether a row belongs to what is forgotten, by its id, its session or chat, who sent it or taught it."""
    return row.id in marks.ids or (bool(marks.sessions or marks.senders) and marks.mean(row.to_json()))


def _cleaned(layer: str, row: AnyRow, sought: Sought, found: Found) -> AnyRow | None:
    """The row without what is sought; None: it goes as a whole."""
    mine: Found = Counter()
    values = {name: in_value(getattr(row, name), sought, mine) for name in _FIELDS[layer]}
    found.update(mine)
    if all(values[name] == getattr(row, name) for name in values):
        return row
    if sought.whole:
        return None
    cleaned = row._replace(**values)
    if isinstance(cleaned, Lesson):
        key = lesson_key(cleaned.trigger, cleaned.better_action, cleaned.scope, cleaned.session_key)
        cleaned = cleaned._replace(key=key)
    return cleaned


def _write_rows(
    connection: Connection, workspace_id: str, gone: set[tuple[str, str]],
    changed: Mapping[tuple[str, str], AnyRow],
) -> None:  # fmt: skip
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


def _operations(
    connection: Connection, workspace_id: str, sought: Sought, gone: frozenset[tuple[str, str]], tell: Tell,
    *, write: bool,
) -> None:  # fmt: skip
    """What operations kept of it goes: the changes of rows that are gone, or that hold it, and what was done to such a
    row before, which fits nothing any more. Of what touched a file all goes for the same reason."""
    found: Found = Counter()
    broken = set(gone)
    query = "SELECT seq, body_json, label FROM operations WHERE workspace_id = ? ORDER BY seq DESC"
    for seq, body, label in connection.execute(query, (workspace_id,)).fetchall():
        operation = Operation.from_json(json.loads(body))
        kept = _without(operation, sought, broken, found)
        named = sought.clean(label, found)
        if kept is not None and sought.whole:
            named = f"{operation.kind}: {FORGOTTEN}"  # the rest of it says what it was about
        if kept is None and named == label:
            continue
        if write:
            told = (kept if kept is not None else operation)._replace(label=named)
            written = checkpoint.as_json(told.to_json())
            change = "UPDATE operations SET body_json = ?, label = ?, touched = ? WHERE workspace_id = ? AND seq = ?"
            connection.execute(change, (written, named, len(told.changes), workspace_id, seq))
            places = {(one.layer, one.key) for one in told.changes}
            keys = "SELECT layer, key FROM operation_keys WHERE workspace_id = ? AND seq = ?"
            before = connection.execute(keys, (workspace_id, seq)).fetchall()
            lost = [(workspace_id, seq, layer, key) for layer, key in before if (layer, key) not in places]
            gone_keys = "DELETE FROM operation_keys WHERE workspace_id = ? AND seq = ? AND layer = ? AND key = ?"
            connection.executemany(gone_keys, lost)
    tell("operations", found)


def _without(operation: Operation, sought: Sought, broken: set[tuple[str, str]], found: Found) -> Operation | None:
    """The operation without the changes that hold what is sought, or are of a row that is `broken`; None: it has none
    of these."""
    meta = unmarked(in_value(dict(operation.meta), sought, found), sought, found)
    stay: list[Change] = []
    files = False
    for change in reversed(operation.changes):
        mine: Found = Counter()
        value = [change.key, dict(change.before or {}), dict(change.after or {})]
        if change.layer == "session" and _is_session(change.key, sought):
            mine["session"] += 1
        if (
            mine
            or _is_meant(change, sought)
            or in_value(value, sought, mine) is not value
            or ((change.layer, change.key) in broken)
        ):
            mine.update({} if mine else {"row": 1})
            found.update(mine)
            broken |= {(change.layer, change.key)} if change.layer in ROW_LAYERS else set()
            files = files or change.layer not in ROW_LAYERS
        else:
            stay.append(change)
    taken = len(operation.changes) - len(stay)
    if not taken and meta == dict(operation.meta):
        return None
    if files:
        taken, stay = len(operation.changes), []
    withheld = int(meta.get(WITHHELD, 0)) + taken
    return operation._replace(changes=tuple(reversed(stay)), meta={**meta, WITHHELD: withheld} if withheld else meta)


def kept_transcripts(connection: Connection, workspace_id: str, sought: Words) -> set[str]:
    """The names of the files in `backups` that operations need to put back a conversation that goes: one whose first
    line was torn does not say itself whose it is. Raises the driver's errors."""
    query = (
        "SELECT o.body_json FROM operations o JOIN operation_keys k ON k.workspace_id = o.workspace_id"
        " AND k.seq = o.seq WHERE k.workspace_id = ? AND k.layer = 'session' AND k.key = ?"
    )
    touched = "SELECT DISTINCT key FROM operation_keys WHERE workspace_id = ? AND layer = 'session'"
    keys = [key for (key,) in connection.execute(touched, (workspace_id,)).fetchall() if _is_session(key, sought)]
    bodies = [body for key in keys for (body,) in connection.execute(query, (workspace_id, key)).fetchall()]
    changes = [change for body in bodies for change in Operation.from_json(json.loads(body)).changes]
    return {
        value["blob"]
        for change in changes
        if change.layer == "session" and _is_session(change.key, sought)
        for value in (change.before, change.after)
        if value and isinstance(value.get("blob"), str)
    }


def _is_session(key: str, sought: Sought) -> bool:
    """Whether a change of that key is of a session that goes; that of a file which one was joined with ends with the
    name of the file."""
    return sought.drops(key) or sought.drops(key.rpartition(" (")[0])


def _is_meant(change: Change, sought: Sought) -> bool:
    """Whether a change is of what goes by its id, its session or its sender, also where the row is gone already."""
    return any(has_taken({"id": change.key, **(value or {})}, sought) for value in (change.before, change.after))


def _others(connection: Connection, workspace_id: str, sought: Sought, gone: Gone, tell: Tell, *, write: bool) -> None:
    """What was seen of the agent's rows, and the markers."""
    seen: Found = Counter()
    query = "SELECT source, id, raw_json FROM foreign_rows WHERE workspace_id = ?"
    row = "workspace_id = ? AND source = ? AND id = ?"
    ids = {key for _, key in gone.rows}
    for source, key, raw in connection.execute(query, (workspace_id,)).fetchall():
        cleaned = in_value(raw, sought, seen)
        taken = key in ids or (sought.whole and has_taken(_value(raw), sought))
        seen.update({"row": 1} if taken and cleaned == raw else {})
        if write and (taken or (cleaned != raw and sought.whole)):
            connection.execute(f"DELETE FROM foreign_rows WHERE {row}", (workspace_id, source, key))
        elif write and cleaned != raw:
            values = (cleaned, workspace_id, source, key)
            connection.execute(f"UPDATE foreign_rows SET raw_json = ? WHERE {row}", values)
    tell("foreign_rows", seen)
    markers: Found = Counter()
    for key, value in connection.execute("SELECT key, value FROM memory_meta").fetchall():
        if key.startswith(f"{workspace_id}:") and (cleaned := in_value(value, sought, markers)) != value and write:
            connection.execute("UPDATE memory_meta SET value = ? WHERE key = ?", (cleaned, key))
    tell("memory_meta", markers)


def _value(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


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
