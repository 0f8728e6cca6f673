"""History entries that the rules could not read, prose and dumps of messages: a Dream notes them, a model's reads them.

Owns the note, which comes with the Dream that passed them and goes with the one that reads them, so that undo brings
either back; one note for a Dream, however many entries. Must not decide what is read when.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.operations import Change, new_key
from nanomem_tui.core.text import counted
from nanomem_tui.dream.hunks import LAYER, UNREAD, HunkLayer

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.core.paths import Paths

_NAMED = 10


def entries_unread(paths: Paths, of: Callable[[Collection[int]], Iterable[HistoryEntry]]) -> tuple[HistoryEntry, ...]:
    """The entries that wait for a model, the oldest first; what is no longer in the archive waits no more. `of` gives
    those of some cursors."""
    noted = {cursor for cursors in HunkLayer(paths).unread().values() for cursor in cursors}
    return tuple(sorted(of(noted), key=lambda entry: (entry.cursor, entry.line)))


def noted(paths: Paths, unread: Sequence[int], read: Sequence[int]) -> list[Change]:
    """The changes that note the cursors `unread`, as far as they are not, and forget those that were `read`."""
    notes = HunkLayer(paths).unread()
    known = {cursor for cursors in notes.values() for cursor in cursors}
    changes = []
    for key, cursors in notes.items():
        left = [cursor for cursor in cursors if cursor not in read]
        if len(left) < len(cursors):
            changes.append(Change(LAYER, key, {"entries": list(cursors)}, {"entries": left} if left else None))
    if new := [cursor for cursor in unread if cursor not in known]:
        changes.append(Change(LAYER, new_key(UNREAD), None, {"entries": new}))
    return changes


def told(cursors: Sequence[int]) -> str:
    """Which entries were not read, why, and what becomes of them."""
    named = ", ".join(f"#{cursor}" for cursor in cursors[:_NAMED]) + (", …" if len(cursors) > _NAMED else "")
    verb = "waits" if len(cursors) == 1 else "wait"
    entries = counted(len(cursors), "entry", "entries")
    return f"{entries} the rules could not read ({named}: prose, or a dump of messages): {verb} for a Dream by a model"
