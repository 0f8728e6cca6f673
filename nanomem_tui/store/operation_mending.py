"""The operations of a database put back as the chain proves them; what was altered or put in is kept in the quarantine.

Writes the tables of the operations alone, in one transaction under the lock of all writers. What they were is `proven`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui import json_text
from nanomem_tui.errors import CorruptDatabase
from nanomem_tui.operations import Operation
from nanomem_tui.store import atomic, chain, checkpoint, oplog, proven, reader, sql
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.rows import RowStore
    from nanomem_tui.store.sql import Connection

_TOUCHED = checkpoint.OPERATION.index("touched")
Row = tuple[Any, ...]


class Plan(NamedTuple):
    """`altered`: rows as they are that are not what was written; `strange`: those that were put in; `rows`: what is
    written in their place, and of operations that are `missing`; `keys`: what operations touched, and is not noted;
    `untouched`: what is noted, and no operation touched."""

    altered: Sequence[Row]
    strange: Sequence[Row]
    missing: int
    rows: Sequence[Row]
    keys: Sequence[Row]
    untouched: Sequence[Row]

    def line(self) -> str:
        """What is wrong, behind the name of the database."""
        told = [
            f"{counted(number, 'operation')} {one if number == 1 else many}"
            for number, one, many in (
                (len(self.altered), "is not what was written", "are not what was written"),
                (self.missing, "is missing", "are missing"),
                (len(self.strange), "was put in", "were put in"),
            )
            if number
        ]
        number = counted(max(len(self.keys), len(self.untouched)), "thing")
        return ", ".join(told) or f"{number} that operations touched, and that is not noted as it was"


def plan(store: RowStore, connection: Connection) -> Plan | None:
    """What there is to put back; None where nothing is, or nothing can be proven. Raises the driver's errors."""
    found = proven.past(store, connection)
    places = proven.placed(connection, store.workspace_id, found) if found is not None else None
    if found is None or places is None:
        return None
    try:
        made = _rows(store.workspace_id, found.operations, places)
    except (ValueError, KeyError, TypeError):  # written so, and nothing that could be put back
        return None
    names = ", ".join(checkpoint.OPERATION)
    query = f"SELECT {names} FROM operations{sql.unindexed(connection)}"
    ids = {key for key, _ in found.operations}
    here = {
        str(row[2]): row
        for row in reader.fetched(connection, tuple, query, ())
        if row[1] == store.workspace_id or row[2] in ids  # a bit of the column may be flipped that says whose it is
    }
    rewritten = chain.was_rewritten(connection, store.workspace_id)
    differ = [row for row in made if row[2] not in here or not _is_said(row, here[row[2]], forgotten=rewritten)]
    altered = [here[row[2]] for row in differ if row[2] in here]
    strange = [row for key, row in here.items() if key not in ids]
    noted = "SELECT workspace_id, layer, key, seq FROM operation_keys WHERE workspace_id = ?"
    there = {*reader.fetched(connection, tuple, noted, (store.workspace_id,))}
    wanted = [key for row in made for key in _keys(row)]
    keys = [key for key in wanted if key not in there]
    untouched = sorted(there.difference(wanted), key=repr)
    missing = len(differ) - len(altered)
    return Plan(altered, strange, missing, differ, keys, untouched) if differ or strange or keys or untouched else None


def put_right(store: MemoryStore) -> None:
    """Put them back. Raises the store's errors, CorruptDatabase where nothing can be proven any more."""
    with store.database.writing() as connection:
        found = plan(store, connection)
        if found is None:
            raise CorruptDatabase("nothing proves any more what the operations were", store.where, "look again")
        for row in (*found.altered, *found.strange):
            told = dict(zip(checkpoint.OPERATION, row, strict=True))
            line = json.dumps(told, ensure_ascii=False, default=reader.tolerant)
            data = f"{line}\n".encode("utf-8", "backslashreplace")
            atomic.quarantine(store.paths.quarantine, f"{atomic.ALTERED}operation-{row[2]}.json", data)
        if found.untouched:
            data = "".join(f"{json.dumps(row, default=reader.tolerant)}\n" for row in found.untouched).encode()
            atomic.quarantine(store.paths.quarantine, f"{atomic.ALTERED}operation_keys.json", data)
        none = "DELETE FROM operation_keys WHERE workspace_id = ? AND layer = ? AND key = ? AND seq = ?"
        connection.executemany(none, found.untouched)
        gone = [(row[0], row[2]) for row in (*found.altered, *found.strange)]
        connection.executemany("DELETE FROM operations WHERE seq = ? AND id = ?", gone)
        checkpoint.insert_operations(connection, found.rows, found.keys)


def _rows(workspace_id: str, operations: Sequence[proven.Said], places: Sequence[int]) -> list[Row]:
    standing = oplog.Standing()
    read = [json_text.loads(body) for _, body in operations]
    for (key, _), told in zip(operations, read, strict=True):
        standing.then(chain.light(key, told))
    return [
        _row(workspace_id, place, told, body, undone=standing.is_undone(key))
        for (key, body), told, place in zip(operations, read, places, strict=True)
    ]


def _row(workspace_id: str, place: int, told: Mapping[str, Any], body: str, *, undone: bool) -> Row:
    return checkpoint.operation_row(workspace_id, place, Operation.from_json(told), body, undone=undone)


def _keys(row: Row) -> list[Row]:
    """The same rows of `operation_keys` that a checkpoint writes."""
    return [(row[1], layer, key, row[0]) for layer, key in chain.touched_by(row[-2])]


def _is_said(made: Row, found: Row, *, forgotten: bool) -> bool:
    """Whether a row is what its operation says. `forgotten`: of what it touched some may be no change any more."""
    touched = found[_TOUCHED]
    counts = isinstance(touched, int) and (touched == made[_TOUCHED] or (forgotten and touched > made[_TOUCHED]))
    rest = [(*row[:_TOUCHED], *row[_TOUCHED + 1 :]) for row in (made, found)]
    return counts and rest[0] == rest[1]
