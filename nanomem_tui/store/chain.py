"""The operations of a workspace chained by hash: one that was changed, taken out or put in behind our back is noticed.

Each digest is of the one before, the operation's id and its body; the last one, the head, is kept as a marker. Whoever
can write the database can make a head anew: one that a person noted elsewhere tells that too (`log --verify --expect`).
Reads only, but for what `rewritten` returns to be kept, and the keys that `mended` takes away.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import json_text
from nanomem_tui.errors import NanomemError
from nanomem_tui.operations import Operation
from nanomem_tui.store import oplog, reader, sql
from nanomem_tui.store.sql import Connection
from nanomem_tui.text import counted

MARK, REWRITTEN = "chain", "chain_rewritten"
"""The markers of the head, and of when operations were changed by `forget` or `scrub`."""
_NAMED = 5
_UNDONE, _NOT_UNDONE = "said to stand, and it is undone", "said to be undone, and no undo of it stands"
_COLUMNS = ("id", "at", "actor", "kind", "label")


class Verified(NamedTuple):
    """What a look at the chain found. `head`: as it is by the operations; `kept`: as it was kept, "" where the chain
    was never begun. `wrong`: operations whose columns are not what they say, or that are said to be undone and are not,
    or the other way round, or that nothing finds by what they touched; copies that say otherwise. `missing`: places of
    which only what was touched there is known. `rewritten`: when operations were changed on purpose, with the heads
    before and after. `met`: how many operations came since the head that was asked for, None where it was never
    there."""

    operations: int
    head: str
    kept: str
    wrong: tuple[str, ...]
    missing: tuple[str, ...]
    rewritten: tuple[Mapping[str, Any], ...]
    met: int | None

    @property
    def whole(self) -> bool:
        """Whether nothing was changed."""
        known = self.head == (self.kept or self.head)
        return known and not self.wrong and not self.missing and all(one.get("whole", True) for one in self.rewritten)


NONE = Verified(0, "", "", (), (), (), None)
"""Of a store without a database."""


def extended(head: str, operations: Iterable[tuple[str, str]]) -> str:
    """The head after further operations, (id, body) in their order; "" begins."""
    for key, body in operations:
        text = f"{head}\n{key}\n{body}".encode("utf-8", "surrogatepass")
        head = hashlib.sha256(text).hexdigest()
    return head


def of(connection: Connection, workspace_id: str) -> str:
    """The head by the operations that are in the database. Raises the driver's errors."""
    query = "SELECT id, body_json FROM operations WHERE workspace_id = ? ORDER BY seq"
    return extended("", connection.execute(query, (workspace_id,)))


def is_whole(connection: Connection, workspace_id: str) -> bool:
    """Whether the operations lead to the head that was kept, or none was. Raises the driver's errors."""
    kept = reader.meta(connection, workspace_id).get(MARK, "")
    return not kept or of(connection, workspace_id) == kept


def mended(connection: Connection, workspace_id: str, kept: str, bodies: Sequence[tuple[str, str]], place: int) -> str:
    """The head once the newest operations, which had been taken out behind our back, were written again as the first of
    `bodies`, and nothing tells any more that they were not there; "" where they are not what was taken out. `place`:
    the first of their old places."""
    query = "SELECT id, body_json FROM operations WHERE workspace_id = ? AND seq < ? ORDER BY seq"
    head = extended("", connection.execute(query, (workspace_id, place)))
    for number, body in enumerate(bodies, 1):
        head = extended(head, [body])
        if head == kept:
            gone = (
                "DELETE FROM operation_keys WHERE workspace_id = ? AND seq >= ? AND NOT EXISTS"
                " (SELECT 1 FROM operations o WHERE o.workspace_id = operation_keys.workspace_id"
                " AND o.seq = operation_keys.seq)"
            )
            connection.execute(gone, (workspace_id, place))
            return extended(head, bodies[number:])
    return ""


def rewritten(connection: Connection, workspace_id: str, before: str, at: str, why: str) -> dict[str, str]:
    """The markers after operations were changed on purpose, none where they were not. `before`: the head by the
    operations as they were, by which a change of somebody else is told even then."""
    meta = reader.meta(connection, workspace_id)
    head = of(connection, workspace_id)
    if head == before:
        return {}
    told = {"at": at, "why": why, "before": before, "after": head, "whole": meta.get(MARK, before) == before}
    return {MARK: head, REWRITTEN: json.dumps([*_told(meta), told])}


def was_rewritten(connection: Connection, workspace_id: str) -> bool:
    """Whether operations were ever changed on purpose. Raises the driver's errors."""
    return bool(_told(reader.meta(connection, workspace_id)))


def _told(meta: Mapping[str, str]) -> list[dict[str, Any]]:
    try:
        found = json_text.loads(meta.get(REWRITTEN, "[]"))
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def verify(connection: Connection, workspace_id: str, expected: str = "", copies: Iterable[Path] = ()) -> Verified:
    """Go through every operation. `expected`: a head that somebody noted, or the begin of it; `copies`: older copies of
    the database, whose heads have to be met too. Raises the driver's errors."""
    meta = reader.meta(connection, workspace_id)
    if isinstance(connection, sqlite3.Connection):
        connection.text_factory = reader.tolerant  # a bit flipped in a text is told of that operation
    older = heads_of(copies, workspace_id, meta)
    head, number = "", 0
    at: int | None = None
    wrong: list[str] = []
    seen: set[str] = set()
    undone: dict[str, bool] = {}
    noted, lost, strange = _noted(connection, workspace_id), list[str](), list[str]()
    standing, rewritten = oplog.Standing(), bool(_told(meta))
    named = f"{', '.join(_COLUMNS)}, seq, undone, touched, body_json"
    query = f"SELECT {named} FROM operations{sql.unindexed(connection)} WHERE workspace_id = ? ORDER BY seq"
    for *columns, seq, flag, touched, body in connection.execute(query, (workspace_id,)):
        number += 1
        head = extended(head, [(columns[0], body)])
        seen.add(head)
        at = number if expected and head.startswith(expected) else at
        undone[columns[0]] = bool(flag)
        said = _read(body)
        if not _says(columns, said) or not is_count(touched, said, forgotten=rewritten):
            wrong.append(f"{columns[0]}: its columns are not what it says")
        there, places = noted.pop(seq, set()), _keys(said)
        lost += [columns[0]] if places - there else []
        strange += [columns[0]] if there - places else []
        standing.then(light(columns[0], said))
    for key, is_undone in undone.items():
        if is_undone != standing.is_undone(key):
            wrong.append(f"{key}: {_NOT_UNDONE if is_undone else _UNDONE}")
    if lost:
        wrong.append(f"{_few(lost)}: what that touched is not noted, and `nanomem log --key` does not find it")
    if strange:
        wrong.append(f"{_few(strange)}: noted as touched is what that did not touch")
    if unplaced := sum(len(keys) for seq, keys in noted.items() if not isinstance(seq, int)):
        wrong.append(f"{counted(unplaced, 'thing')} noted as touched at a place that is none")
    wrong += [f"{name}: it knows another past" for name, one in older.items() if one not in seen]
    gone = sorted((seq, keys) for seq, keys in noted.items() if isinstance(seq, int))
    missing = tuple(
        f"operation {seq} is missing: it touched {_few(sorted({str(key) for _, key in keys}))}" for seq, keys in gone
    )
    since = None if at is None else number - at
    return Verified(number, head, meta.get(MARK, ""), tuple(wrong), missing, tuple(_told(meta)), since)


def _noted(connection: Connection, workspace_id: str) -> dict[Any, set[tuple[Any, Any]]]:
    """Layer and key of what is noted to have been touched, by the place of the operation: whatever stands there."""
    found: dict[Any, set[tuple[Any, Any]]] = {}
    query = "SELECT seq, layer, key FROM operation_keys WHERE workspace_id = ?"
    for seq, layer, key in connection.execute(query, (workspace_id,)):
        found.setdefault(seq, set()).add((layer, key))
    return found


def is_count(touched: object, told: Mapping[str, Any], *, forgotten: bool) -> bool:
    """Whether an operation touched so many things; `forgotten`: some may not be told any more."""
    changes = told.get("changes")
    number = len(changes) if isinstance(changes, list) else 0
    return isinstance(touched, int) and (touched == number or (forgotten and touched > number))


def _places(told: Mapping[str, Any]) -> set[tuple[Any, ...]]:
    """Layer and key of what an operation says that it touched."""
    changes = told.get("changes")
    with contextlib.suppress(TypeError):  # not as we write them: the chain tells that
        return {tuple(one[:2]) for one in changes} if isinstance(changes, list) else set()
    return set()


def touched_by(body: str) -> set[tuple[str, str]]:
    """Layer and key of what an operation says that it touched, by its body."""
    return _keys(_read(body))


def _keys(told: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(str(one[0]), str(one[1])) for one in _places(told) if len(one) > 1}


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _read(body: str) -> dict[str, Any]:
    """What an operation says; nothing where that cannot be told."""
    try:
        told = json_text.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def light(key: str, told: Mapping[str, Any]) -> Operation:
    """An operation without what it touched."""
    meta = told["meta"] if isinstance(told.get("meta"), dict) else {}
    links = {name: told[name] for name in ("undoes", "redoes") if isinstance(told.get(name), str)}
    return Operation(key, "", "human", str(told.get("kind")), "", (), **links, meta=meta)


def _says(columns: list[str], told: Mapping[str, Any]) -> bool:
    label = str(told.get("label", "")).encode("utf-8", "replace").decode()
    return [*(str(told.get(name)) for name in _COLUMNS[:-1]), label] == columns


def heads_of(copies: Iterable[Path], workspace_id: str, meta: Mapping[str, str]) -> dict[str, str]:
    """The heads that older copies were left with, by their names, but for those from before something was changed on
    purpose."""
    before = {str(one.get("before")) for one in _told(meta)}
    heads = {path.name: _head_of(path, workspace_id) for path in copies}
    return {name: head for name, head in heads.items() if head and head not in before}


def meets(operations: Iterable[tuple[str, str]], heads: Mapping[str, str]) -> bool:
    """Whether all of these heads are met on the way through the operations."""
    left, head = {*heads.values()}, ""
    for one in operations:
        head = extended(head, [one])
        left.discard(head)
    return not left


def _head_of(copy: Path, workspace_id: str) -> str:
    try:
        with reader.open_database(copy) as connection:
            return reader.meta(connection, workspace_id).get(MARK, "")
    except (NanomemError, sqlite3.Error):
        return ""
