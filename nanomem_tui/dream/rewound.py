"""Undos that set the cursor of Dreams back: what to say of one, and whether the last Dream was taken back by a person.

Who undoes a Dream has its entries read again by the next one. A person who starts that one wants it; a schedule would
only write again what was just taken back. Pure; reads no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nanomem_tui.agents.archive import parse_cursor
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.paths import DREAM_CURSOR
from nanomem_tui.core.text import counted
from nanomem_tui.store.files.history import HISTORY


def said(operations: Sequence[Operation]) -> str:
    """What undos and redos did to the cursor, when it goes back; "" when it does not."""
    moves = [change for operation in operations for change in operation.changes if change.key == DREAM_CURSOR]
    if not moves:
        return ""
    now, after = _cursor(moves[0].before), _cursor(moves[-1].after)
    if now <= after:
        return ""
    if any(change.key == HISTORY and change.after is None for operation in operations for change in operation.changes):
        return f"the cursor goes back from {now} to {after}"  # with the archive that it counts in
    again = counted(now - after, "entry", "entries")
    return f"the cursor goes back from {now} to {after}: the next Dream reads {again} again"


def held(operations: Sequence[Operation], cursor: int) -> bool:
    """Whether a person took back the Dream that had moved the cursor last, and none came after: it is as that left it.

    `operations` are those that touched the cursor, the newest first.
    """
    last = operations[0] if operations else None
    if last is None or last.undoes is None or last.actor != "human":
        return False
    move = next((change for change in last.changes if change.key == DREAM_CURSOR), None)
    return move is not None and _cursor(move.before) > _cursor(move.after) == cursor


def _cursor(value: object) -> int:
    text = value.get("text") if isinstance(value, Mapping) else None
    return max(0, parse_cursor(str(text).encode()) or 0) if text is not None else 0  # below 0 is as 0: all is unread
