"""A turn as its traces (session state, log, transcript) may have it: without what is forgotten. Reads only.

What is worth keeping as an item is decided on the words themselves (`turn_keeping`), which says what it drops and why.
"""

from __future__ import annotations

from nanomem_tui.core.paths import Paths
from nanomem_tui.memory.turn_values import ToolUse, TurnEnd, TurnInput
from nanomem_tui.store import forgotten


def begin_of(given: TurnInput, paths: Paths) -> TurnInput:
    """What arrived. Raises the errors of `forgotten.load`."""
    kept = forgotten.load(paths)
    return given._replace(text=kept.taken_out(given.text)) if kept else given


def end_of(end: TurnEnd, paths: Paths) -> TurnEnd:
    """What came of it. Raises the errors of `forgotten.load`."""
    kept = forgotten.load(paths)
    if not kept:
        return end
    return end._replace(
        assistant=kept.taken_out(end.assistant),
        tools=tuple(ToolUse(*map(kept.taken_out, tool)) for tool in end.tools),
        pending_actions=tuple(map(kept.taken_out, end.pending_actions)),
        done_actions=tuple(map(kept.taken_out, end.done_actions)),
    )
