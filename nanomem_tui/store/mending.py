"""Rows that are not what was written, found by their hash and their number, and put right from a copy.

What is put right is dirty, and the next checkpoint writes it, once what was found is kept in the quarantine: who reads
writes nothing, and no mending takes away what tells that somebody was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import CorruptDatabase, NanomemError, Problem
from nanomem_tui.operations import Operation
from nanomem_tui.store import atomic, ledger_order, reader, row_queries, sql, stored_operations
from nanomem_tui.store.snapshot import RowKey, Snapshot, patched
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, layer_of, row_hash

if TYPE_CHECKING:
    from nanomem_tui.store.copies import Copies
    from nanomem_tui.store.sql import Connection

VERIFIED = 5_000
"""Rows up to which all of them are looked at when they are loaded; beyond that the copies and the doctor do."""
WHERE = "nanomem.db"


class Altered(NamedTuple):
    """The rows that differ from what was written, how many are missing (less than 0: that are more than were counted),
    and those of the first that no operation touched."""

    keys: Sequence[RowKey]
    missing: int
    unknown: frozenset[RowKey] = frozenset()


class Mended(NamedTuple):
    """What there is to say, the altered rows by layer as they were found, and those that were missing and are back.
    `recount`: how many rows there are was not kept right."""

    problems: Sequence[Problem] = ()
    found: Sequence[tuple[str, AnyRow]] = ()
    back: frozenset[RowKey] = frozenset()
    recount: bool = False


def altered(
    connection: Connection, workspace_id: str, rows: Sequence[AnyRow], meta: Mapping[str, str]
) -> Altered | None:
    """What is wrong with the rows that were just read; None when nothing is.

    Raises CorruptDatabase where an index does not lead to such a row: what is written over it would miss it.
    """
    expected = meta.get("rows", "")
    missing = int(expected) - len(rows) if expected else 0
    if len(rows) > VERIFIED and missing <= 0:
        return Altered((), missing) if missing else None
    if sql.is_sqlite(connection) and (reason := row_queries.nameless(connection)):
        raise CorruptDatabase(f"damaged: {reason}", WHERE, "run `nanomem doctor`")
    hashes = reader.row_hashes(connection, workspace_id)
    keys = [(layer_of(row), row.id) for row in rows if hashes.get(row.id) != row_hash(row)]
    if keys and sql.is_sqlite(connection):
        verdict = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if verdict != "ok":
            raise CorruptDatabase(verdict, WHERE, "run `nanomem doctor`")
    unknown = stored_operations.untouched(connection, workspace_id, keys)
    return Altered(keys, missing, unknown) if keys or missing else None


def unmended(place: RowKey, *, unknown: bool) -> Problem:
    """What there is to say of a row that is shown as it was found. `unknown`: no operation touched it."""
    layer, key = place
    command = {"item": "nanomem memory", "lesson": "nanomem memory lessons"}.get(layer)
    if unknown:
        what = f"{key} is not what was written: no operation made it, so another program put it in or altered it"
        fix = f"unless you know it: `{command} delete ID`" if command else "`nanomem backup list` names what to restore"
        return Problem(what, WHERE, fix=fix)
    fix = "`nanomem log --key ID` names the changes that made it"
    fix += f", and `{command} edit ID` writes it anew" if command else "; `nanomem backup list` names what to restore"
    return Problem(f"{key} is not what was written", WHERE, fix=fix)


def mend(snapshot: Snapshot, copies: Copies, workspace_id: str, found: Altered) -> Mended:
    """Put those rows right in RAM where a copy and the operations since tell what they were."""
    written = _as_written(copies, workspace_id)
    problems: list[Problem] = []
    as_found: list[tuple[str, AnyRow]] = []
    for layer, key in found.keys:
        present = snapshot.table(layer)[key]
        as_found.append((layer, present))
        row = written.get((layer, key))
        if row is None:
            problems.append(unmended((layer, key), unknown=(layer, key) in found.unknown))
            continue
        snapshot.put(layer, row._replace(revision=present.revision))
        what = f"{key} is not what was written; shown is what a copy and the log tell"
        problems.append(Problem(what, WHERE, None, "the next change writes it", "warning"))
    sought = found.missing > 0 or bool(found.unknown)  # one that was put in stands for one that is gone
    back = [key for key in written if key[1] not in snapshot.table(key[0])] if sought else []
    for layer, key in back:
        snapshot.put(layer, written[layer, key]._replace(revision=0))
        problems.append(Problem(f"{key} was missing; it is back", WHERE, None, "the next change writes it", "warning"))
    recount = found.missing < 0 or (found.missing > len(back) and bool(written) and _has_all(copies))
    if found.missing > len(back) and not recount:
        what = f"{found.missing - len(back)} rows are missing, and no copy has them"
        problems.append(Problem(what, WHERE, fix="run `nanomem doctor`"))
    return Mended(problems, as_found, frozenset(back), recount)


def is_complete(copies: Copies, connection: Connection) -> bool:
    """Whether a copy, with all that was kept since, knows every row that was written, and each of them is there. Raises
    the driver's errors."""
    written = _as_written(copies, copies.workspace_id)
    ids = reader.row_hashes(connection, copies.workspace_id)
    return bool(written) and _has_all(copies) and all(key in ids for _, key in written)


def _has_all(copies: Copies) -> bool:
    """Whether nothing is known to be gone of what was done since the newest whole copy."""
    try:
        return copies.since(copies.good()).gone == 0
    except NanomemError:
        return False


def keep(mended: Mended, written: Iterable[RowKey], quarantine: Path) -> None:
    """Keep the altered rows that are about to be written, each as a line of JSON. Raises the errors of
    `from_os_error`."""
    places = set(written)
    for layer, row in mended.found:
        if (layer, row.id) in places:
            line = json.dumps({"layer": layer, **row._asdict()}, ensure_ascii=False)
            data = f"{line}\n".encode("utf-8", "backslashreplace")
            atomic.quarantine(quarantine, f"{atomic.ALTERED}{layer}-{row.id}.json", data)


def _as_written(copies: Copies, workspace_id: str) -> dict[RowKey, AnyRow]:
    """The rows of the newest whole copy with every kept operation since; none without a copy."""
    good = copies.good()
    if good is None:
        return {}
    operations = copies.operations()
    try:
        with reader.open_database(good) as connection:
            found = [row for layer in ROW_LAYERS for row in reader.rows_of(connection, layer, workspace_id)]
            known = stored_operations.known(connection, workspace_id, operations)
    except NanomemError:
        return {}
    rows = {(layer_of(row), row.id): row for row in found}
    fresh = {operation.id: operation for operation in operations if operation.id not in known}
    void = ledger_order.voided(fresh.values())
    for operation in fresh.values():
        if operation.id not in void:
            _apply(rows, operation)
    return rows


def _apply(rows: dict[RowKey, AnyRow], operation: Operation) -> None:
    for change in operation.changes:
        if change.layer in ROW_LAYERS:
            row = patched(rows.get((change.layer, change.key)), change)
            if row is not None:
                rows[change.layer, change.key] = row
