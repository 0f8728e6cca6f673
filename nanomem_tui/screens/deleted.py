"""What is said where a row was deleted while somebody edited it. Changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NotFound

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.workspace import Workspace

LOOKED_AT = 5
"""Operations that touched the row, the newest first, among which the one that deleted it is."""


def deleted_meanwhile(ws: Workspace, noun: str, key: str) -> NotFound:
    """That it was deleted, and what brings it back where that is known."""
    entries = [entry for entry in ws.log(LOOKED_AT, key=key) if not entry.undone]
    by = next((one.operation.id for one in entries if any(map(_deletes, one.operation.of(key)))), "")
    return NotFound(f"this {noun} was deleted meanwhile", key, f"`nanomem undo {by}` brings it back" if by else "")


def _deletes(change: Change) -> bool:
    return change.after is None or bool(change.after.get("is_deleted"))
