"""Operations as the database has them: listed cheaply whatever they touched, and what one touched when it is asked for.

An import of a hundred thousand rows is a row of fifty megabytes; who lists operations gets its head, and its changes
as `LaterChanges`. Through the driver alone, as `reader`: reads only.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from nanomem_tui import clock, json_text
from nanomem_tui.errors import CorruptDatabase
from nanomem_tui.operations import Change, LaterChanges, Operation
from nanomem_tui.store.reader import fetched
from nanomem_tui.store.sql import Connection, blob_of

LARGE = 100
"""Changes beyond which the body of an operation is not read before somebody asks for it."""

_TAIL = 16_384
"""Bytes in which what follows the changes in a body is looked for."""
_LAST = 100
"""Operations among which the newest is looked for."""
_PART = 1_000_000
"""Bytes of a body that are read at once: more than one change has."""
_A_CHANGE = 2_000
"""Bytes of a body that are read for each of the first changes."""

_TEXTS = ", ".join(f"CAST(o.{name} AS TEXT)" for name in ("id", "at", "actor", "kind", "label"))
"""A file lets another value into a column of texts."""
_HEAD = f"o.seq, o.undone, CAST(o.touched AS INTEGER), {_TEXTS}"
_BODY = "CAST(o.body_json AS TEXT)"
_LIGHT = f"SELECT {_HEAD}, CASE WHEN CAST(o.touched AS INTEGER) <= {LARGE} THEN {_BODY} END FROM operations o"
_WHOLE = f"SELECT {_HEAD}, {_BODY} FROM operations o"
_BEGIN = re.compile(r'"changes": ?\[')
_MARK = rb'\["[a-z]+", ?%b, ?'
_BETWEEN = re.compile("[, ]*")
_DECODER = json.JSONDecoder()

Read = Callable[[Callable[[Connection], Any]], Any]
"""Gives a connection to who asks the database, and its answer back."""


class StoredOperation(NamedTuple):
    """An operation as the database has it; `seq` is its place in the order. `later`: of a large one the number of its
    changes, which are not read."""

    seq: int
    operation: Operation
    undone: bool
    later: int = 0


class Head(NamedTuple):
    """What an operation says of itself: its id, time (UTC ISO) and label, and whether it is taken back."""

    id: str
    at: str
    label: str
    undone: bool


def operations(
    connection: Connection, workspace_id: str, *, limit: int, offset: int = 0, key: str | None = None
) -> list[StoredOperation]:
    """Operations newest first, without the first `offset`; `key`: only those that touched the thing of that key."""
    query = _LIGHT
    values: list[Any] = []
    if key is not None:
        query += " JOIN operation_keys k ON k.workspace_id = o.workspace_id AND k.seq = o.seq AND k.key = ?"
        values.append(key)
    values += [workspace_id, limit, offset]
    query += " WHERE o.workspace_id = ? ORDER BY o.seq DESC LIMIT ? OFFSET ?"
    return _found(connection, workspace_id, query, values)


def operations_after(connection: Connection, workspace_id: str, seq: int) -> list[StoredOperation]:
    """The operations behind a place in the order, oldest first, whole."""
    query = f"{_WHOLE} WHERE o.workspace_id = ? AND o.seq > ? ORDER BY o.seq"
    return _found(connection, workspace_id, query, (workspace_id, seq))


def operation(connection: Connection, workspace_id: str, op_id: str) -> StoredOperation | None:
    """One operation by its id."""
    found = _found(connection, workspace_id, f"{_LIGHT} WHERE o.workspace_id = ? AND o.id = ?", (workspace_id, op_id))
    return found[0] if found else None


def touching(connection: Connection, workspace_id: str, keys: Sequence[str], actor: str) -> list[StoredOperation]:
    """The operations of an actor that touched one of these things."""
    found: dict[int, StoredOperation] = {}
    for start in range(0, len(keys), 500):
        part = keys[start : start + 500]
        among = f"SELECT seq FROM operation_keys WHERE workspace_id = ? AND key IN ({','.join('?' * len(part))})"
        query = f"{_LIGHT} WHERE o.workspace_id = ? AND o.actor = ? AND o.seq IN ({among}) ORDER BY o.seq"
        rows = _found(connection, workspace_id, query, (workspace_id, actor, workspace_id, *part))
        found |= {one.seq: one for one in rows}
    return list(found.values())


def newest_of_kind(connection: Connection, workspace_id: str, kind: str, actor: str) -> StoredOperation | None:
    """The newest operation of that kind and actor."""
    query = f"{_LIGHT} WHERE o.workspace_id = ? AND o.kind = ? AND o.actor = ? ORDER BY o.seq DESC LIMIT 1"
    found = _found(connection, workspace_id, query, (workspace_id, kind, actor))
    return found[0] if found else None


def newest_head(connection: Connection, workspace_id: str, kind: str, actor: str) -> Head | None:
    """The newest operation of that kind and actor, without anything that it touched."""
    query = (
        "SELECT CAST(id AS TEXT), CAST(at AS TEXT), CAST(label AS TEXT), undone FROM operations"
        " WHERE workspace_id = ? AND kind = ? AND actor = ?"
        " ORDER BY seq DESC LIMIT 1"
    )
    found = fetched(connection, Head._make, query, (workspace_id, kind, actor))
    return found[0] if found else None


def _found(connection: Connection, workspace_id: str, query: str, values: Sequence[Any]) -> list[StoredOperation]:
    """The operations of a query; one whose body was damaged is left out, so that it costs itself alone."""
    found = []
    for seq, undone, touched, op_id, at, actor, kind, label, body in fetched(connection, tuple, query, values):
        later = 0
        try:
            if body is None and (rest := _behind_changes(connection, workspace_id, seq)) is not None:
                later = int(touched)
                links = {name: rest[name] for name in ("undoes", "redoes", "meta") if name in rest}
                read = Operation(op_id, at, actor, kind, label, (), **links)
            else:
                whole = _body(connection, workspace_id, seq) if body is None else body
                read = Operation.from_json(json_text.loads(whole))
        except (ValueError, KeyError, TypeError):
            continue
        found.append(StoredOperation(seq, read, bool(undone), later))
    return found


def _body(connection: Connection, workspace_id: str, seq: int) -> str:
    query = "SELECT body_json FROM operations WHERE workspace_id = ? AND seq = ?"
    rows = fetched(connection, tuple, query, (workspace_id, seq))
    return str(rows[0][0]) if rows else ""


def _behind_changes(connection: Connection, workspace_id: str, seq: int) -> dict[str, Any] | None:
    """What the body of an operation says behind its changes, from its end alone; None where that cannot be told."""
    with blob_of(connection, "operations", "body_json", workspace_id, seq) as blob:
        start = max(0, len(blob) - _TAIL)
        blob.seek(start)
        tail = blob.read().decode("utf-8", "replace")
    at = tail.find("]")
    while at >= 0:
        try:
            found = json_text.loads('{"changes":[' + tail[at:])
        except ValueError:
            at = tail.find("]", at + 1)
        else:
            return found if isinstance(found, dict) else None
    return None


# -- what a large one touched ---------------------------------------------------------------------------------------


def later(read: Read, workspace_id: str, seq: int, count: int) -> LaterChanges:
    """The `count` changes of the operation at a place in the order, read when somebody asks for them."""
    return LaterChanges(
        count,
        lambda: read(lambda connection: _all(connection, workspace_id, seq)),
        lambda key: read(lambda connection: _of_key(connection, workspace_id, seq, key)),
        lambda number: read(lambda connection: _first(connection, workspace_id, seq, number)),
        lambda: read(lambda connection: _keys(connection, workspace_id, seq)),
    )


def _all(connection: Connection, workspace_id: str, seq: int) -> Sequence[Change]:
    try:
        return Operation.from_json(json_text.loads(_body(connection, workspace_id, seq))).changes
    except (ValueError, KeyError, TypeError):
        raise CorruptDatabase("an operation that cannot be read", f"operation {seq}", "see `nanomem doctor`") from None


def _of_key(connection: Connection, workspace_id: str, seq: int, key: str) -> Sequence[Change] | None:
    """The changes of one thing, found in the body without parsing it; None where that cannot be told.

    Within a text of the body every quote has a backslash before it, so that no text looks like the beginning of a
    change. The body is read by parts that overlap by as much as one change may be long.
    """
    mark = re.compile(_MARK % re.escape(json.dumps(key, ensure_ascii=False).encode("utf-8", "surrogatepass")))
    found: list[Change] = []
    with blob_of(connection, "operations", "body_json", workspace_id, seq) as blob:
        part, at = blob.read(_PART), 0
        while part:
            following = blob.read(_PART)
            whole = part + following
            while (begin := mark.search(whole, at)) is not None and begin.start() < len(part):
                try:
                    value, _ = _DECODER.raw_decode(whole[begin.start() : begin.start() + _PART].decode(errors="ignore"))
                    found.append(Change(*value))
                except (ValueError, TypeError):
                    return None
                at = begin.end()
            part, at = following, max(0, at - len(part))
    return found or None


def _keys(connection: Connection, workspace_id: str, seq: int) -> Sequence[str] | None:
    """The keys that an operation touched, from the table of keys; None where that has lost them."""
    query = "SELECT DISTINCT key FROM operation_keys WHERE workspace_id = ? AND seq = ?"
    rows = fetched(connection, tuple, query, (workspace_id, seq))
    return [str(row[0]) for row in rows] or None


def _first(connection: Connection, workspace_id: str, seq: int, number: int) -> Sequence[Change] | None:
    """The first changes, from the beginning of the body alone; None where they are longer than that."""
    with blob_of(connection, "operations", "body_json", workspace_id, seq) as blob:
        text = blob.read(number * _A_CHANGE + _PART).decode(errors="ignore")
    begin = _BEGIN.search(text)
    if begin is None:
        return None
    at = begin.end()
    found: list[Change] = []
    try:
        while len(found) < number:
            value, at = _DECODER.raw_decode(text, at)
            found.append(Change(*value))
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
    except (ValueError, TypeError):
        return None
    return found


# -- where they are -------------------------------------------------------------------------------------------------


def known_operations(connection: Connection, workspace_id: str, ids: Sequence[str]) -> set[str]:
    """Which of these operation ids the database already has."""
    known: set[str] = set()
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ",".join("?" * len(part))
        query = f"SELECT id FROM operations WHERE workspace_id = ? AND id IN ({marks})"
        known.update(row[0] for row in connection.execute(query, (workspace_id, *part)))
    return known


def known(connection: Connection, workspace_id: str, operations: Iterable[Operation]) -> set[str]:
    """The ids of those of these operations that the database already has."""
    return known_operations(connection, workspace_id, [operation.id for operation in operations])


def untouched(
    connection: Connection, workspace_id: str, places: Sequence[tuple[str, str]]
) -> frozenset[tuple[str, str]]:
    """Those of these things, by layer and key, that no operation of the database touched."""
    touched: set[tuple[str, str]] = set()
    for start in range(0, len(places), 500):
        part = [key for _, key in places[start : start + 500]]
        marks = ",".join("?" * len(part))
        query = f"SELECT DISTINCT layer, key FROM operation_keys WHERE workspace_id = ? AND key IN ({marks})"
        touched |= {(str(layer), str(key)) for layer, key in connection.execute(query, (workspace_id, *part))}
    return frozenset(places) - touched


def newest_at(connection: Connection, workspace_id: str) -> str:
    """The place in time of the newest operation; "" where there is none. The last ones are looked at, as an older
    release may have written them with a clock that was set back."""
    query = "SELECT at FROM operations WHERE workspace_id = ? ORDER BY seq DESC LIMIT ?"
    times: list[object] = []
    with contextlib.suppress(sqlite3.OperationalError):  # the table is gone: the doctor, and who reads it, tell that
        times = [row[0] for row in fetched(connection, tuple, query, (workspace_id, _LAST))]
        times += [one.operation.place for one in operations(connection, workspace_id, limit=1)]
    return max((at for at in times if isinstance(at, str) and clock.parse(at) is not None), default="")


def operation_count(connection: Connection, workspace_id: str) -> int:
    """How many operations the database has."""
    return int(
        connection.execute("SELECT count(*) FROM operations WHERE workspace_id = ?", (workspace_id,)).fetchone()[0]
    )


def last_position(connection: Connection, workspace_id: str) -> int:
    """The place of the newest operation in the order, 0 when there is none."""
    query = "SELECT coalesce(max(seq), 0) FROM operations WHERE workspace_id = ?"
    return int(connection.execute(query, (workspace_id,)).fetchone()[0])
