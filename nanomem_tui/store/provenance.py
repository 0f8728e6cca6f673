"""What waits for a person becomes active by a person alone: looked at before an operation is recorded, and by the
database itself when its rows are written (`migrations`, schema 3).

Owns that rule for every way in, whoever comes to write one: a capture, a Dream, an import, a merge, an agent's file.
One thing else than a person at the console or the command line counts: in a turn, the words of one who may teach take
out of the inbox what waits there only for its origin (docs/decisions, 0062). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from nanomem_tui.errors import Refused
from nanomem_tui.operations import Change, Operation
from nanomem_tui.store.snapshot import Snapshot
from nanomem_tui.store.values import ROW_LAYERS, Record

SAID_AGAIN = "said_again"
"""The free field of a row that tells in whose words it came out of the inbox."""
_MARK = '"inbox":'
"""What the free fields of a row that waits hold; the database looks for it as well, which may not parse them."""
UNKNOWN = "unknown"
"""The source of a row that names none."""


def check(operation: Operation, layers: Sequence[tuple[str, Sequence[Change]]], snapshot: Snapshot) -> None:
    """Raise Refused where an operation would make active what waits in the inbox, and no person decided that."""
    if operation.actor == "human":
        return
    for name, changes in layers:
        for change in changes if name in ROW_LAYERS else ():
            after = change.after or {}
            if not after.get("enabled") or after.get("is_deleted"):
                continue
            row = snapshot.table(name).get(change.key)
            if row is None or isinstance(row, Record) or row.enabled or row.is_deleted or _MARK not in row.meta_json:
                continue
            said = isinstance(meta := after.get("meta_json"), str) and f'"{SAID_AGAIN}":' in meta
            if operation.kind != "turn" or not said or _finding(row.meta) != "origin":
                what = f"it waits in the inbox, and a person decides: {operation.label}"
                raise Refused(what, change.key, f"`nanomem inbox accept {change.key}`, or reject it")


def _finding(meta: dict[str, object]) -> object:
    held = meta.get("inbox")
    return held.get("finding") if isinstance(held, dict) else None
