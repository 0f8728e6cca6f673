"""A macro while it is recorded: which action was begun on which rows, and the operation that it came to.

Owns how rows are named by their meaning. Must not keep or do a macro.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.core.operations import Operation
from nanomem_tui.review import macros
from nanomem_tui.store.files.user import Step
from nanomem_tui.widgets.toast import say
from nanomem_tui.widgets.tree_table import TreeTable

if TYPE_CHECKING:
    from nanomem_tui.screens.workspace_screen import WorkspaceScreen
    from nanomem_tui.workspace import Workspace


class Recorder:
    """What was done since the recording began."""

    def __init__(self, screen: WorkspaceScreen[Any]) -> None:
        table = screen.table
        self._screen_then = screen.SCREEN
        self._cursor_then = table.cursor_id
        self._selected_then = table.selected
        self._begun: tuple[str, str, str, str] | None = None  # action, screen, rows, filter
        self._steps: list[tuple[str, Step]] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """What it holds so far."""
        return tuple(step for _, step in self._steps)

    def standing(self, ws: Workspace) -> tuple[Step, ...]:
        """What it holds, without what was taken back since."""
        found = {op_id: ws.store.journal.find(op_id) for op_id, _ in self._steps}
        return tuple(step for op_id, step in self._steps if (entry := found[op_id]) is None or not entry.undone)

    def began(self, screen: WorkspaceScreen[Any], action: str) -> None:
        """An action was asked for: remember on what."""
        held = macros.can_hold(screen.SCREEN, action)
        self._begun = (action, screen.SCREEN, self._rows(screen), screen.listing.filter.source) if held else None

    def done(self, screen: WorkspaceScreen[Any], operations: Sequence[Operation]) -> None:
        """Operations were made: those of the action that was begun are a step, others are told to be none."""
        for operation in operations:
            step = None if self._begun is None else self._step(*self._begun, operation)
            if step is None:
                say(screen, f"Done, but not recorded: {operation.label}", "warning")
            else:
                self._steps.append((operation.id, step))
        screen.say_totals()

    def _step(self, action: str, screen: str, rows: str, query: str, operation: Operation) -> Step | None:
        return macros.recorded(action, screen, rows, query, operation) if rows else None

    def _rows(self, screen: WorkspaceScreen[Any]) -> str:
        """The rows that an action means, by their meaning; "" for more than can be named."""
        selected = screen.table.selected
        here = self._screen_then == screen.SCREEN
        if not selected:
            row = screen.table.cursor_id or ""
            return macros.CURSOR if here and row == self._cursor_then else row
        if selected == _shown(screen) and not screen.listing.fuzzy and not screen.listing.filter.problems:
            return macros.SHOWN
        if here and selected == self._selected_then:
            return macros.SELECTION
        return " ".join(sorted(selected)) if len(selected) <= macros.MOST_IDS else ""


def _shown(screen: WorkspaceScreen[Any]) -> frozenset[str]:
    """The ids of all rows that the filter lets through."""
    table = screen.table
    return frozenset(table.leaves) if isinstance(table, TreeTable) else frozenset(map(screen.row_id, table.rows))
