"""The operations of a workspace chained by hash: one that was changed, taken out or put in behind our back is noticed.

Each digest is of the one before, the operation's id and its body; the last one, the head, is kept as a marker. Whoever
can write the database can make a head anew: one that a person noted elsewhere tells that too (`log --verify --expect`).
Reads only, but for what `rewritten` returns to be kept.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import json_text
from nanomem_tui.errors import NanomemError
from nanomem_tui.store import reader
from nanomem_tui.store.sql import Connection

MARK, REWRITTEN = "chain", "chain_rewritten"
"""The markers of the head, and of when operations were changed by `forget` or `scrub`."""
_COLUMNS = ("id", "at", "actor", "kind", "label")


class Verified(NamedTuple):
    """What a look at the chain found. `head`: as it is by the operations; `kept`: as it was kept, "" where the chain
    was never begun. `wrong`: ids of operations whose columns are not what they say, and copies that say otherwise.
    `rewritten`: when operations were changed on purpose, with the heads before and after. `met`: how many operations
    came since the head that was asked for, None where it was never there."""

    operations: int
    head: str
    kept: str
    wrong: tuple[str, ...]
    rewritten: tuple[Mapping[str, Any], ...]
    met: int | None

    @property
    def whole(self) -> bool:
        """Whether nothing was changed."""
        known = self.head == (self.kept or self.head)
        return known and not self.wrong and all(one.get("whole", True) for one in self.rewritten)


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


def rewritten(connection: Connection, workspace_id: str, before: str, at: str, why: str) -> dict[str, str]:
    """The markers after operations were changed on purpose, none where they were not. `before`: the head by the
    operations as they were, by which a change of somebody else is told even then."""
    meta = reader.meta(connection, workspace_id)
    head = of(connection, workspace_id)
    if head == before:
        return {}
    told = {"at": at, "why": why, "before": before, "after": head, "whole": meta.get(MARK, before) == before}
    return {MARK: head, REWRITTEN: json.dumps([*_told(meta), told])}


def _told(meta: Mapping[str, str]) -> list[dict[str, Any]]:
    try:
        found = json_text.loads(meta.get(REWRITTEN, "[]"))
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def verify(
    connection: Connection, workspace_id: str, expected: str = "", copies: Iterable[Path] = ()
) -> Verified:
    """Go through every operation. `expected`: a head that somebody noted, or the begin of it; `copies`: older copies of
    the database, whose heads have to be met too. Raises the driver's errors."""
    meta = reader.meta(connection, workspace_id)
    older = {path.name: head for path in copies if (head := _head_of(path, workspace_id))}
    before = {str(one.get("before")) for one in _told(meta)}
    head, number = "", 0
    at: int | None = None
    wrong: list[str] = []
    seen: set[str] = set()
    query = f"SELECT {', '.join(_COLUMNS)}, body_json FROM operations WHERE workspace_id = ? ORDER BY seq"
    for *columns, body in connection.execute(query, (workspace_id,)):
        number += 1
        head = extended(head, [(columns[0], body)])
        seen.add(head)
        at = number if expected and head.startswith(expected) else at
        if not _says(columns, body):
            wrong.append(f"{columns[0]}: its columns are not what it says")
    wrong += [f"{name}: it knows another past" for name, one in older.items() if one not in seen and one not in before]
    return Verified(
        number, head, meta.get(MARK, ""), tuple(wrong), tuple(_told(meta)), None if at is None else number - at
    )


def _says(columns: list[str], body: str) -> bool:
    try:
        told = json_text.loads(body)
    except ValueError:
        return False
    label = str(told.get("label", "")).encode("utf-8", "replace").decode()
    return [*(str(told.get(name)) for name in _COLUMNS[:-1]), label] == columns


def _head_of(copy: Path, workspace_id: str) -> str:
    try:
        with reader.open_database(copy) as connection:
            return reader.meta(connection, workspace_id).get(MARK, "")
    except (NanomemError, sqlite3.Error):
        return ""
