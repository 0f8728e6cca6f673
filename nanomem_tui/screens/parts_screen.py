"""What the screens share whose right pane is a view of parts with a cursor: conversations, logs, turns, blame.

Owns the pane and what the copy key takes from it. Which parts there are, and where each leads, is for the screen.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.widget import Widget

from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.parts_view import PartsView

Row = TypeVar("Row")


class PartsScreen(WorkspaceScreen[Row], Generic[Row]):
    """A list, and the parts of its row."""

    def make_detail(self) -> Widget:
        """A view that lays out only what is seen."""
        return PartsView(id="detail")

    @property
    def view(self) -> PartsView:
        """The parts."""
        return self.query_one("#detail", PartsView)

    def copy_text(self) -> str:
        """The part at the cursor, else what the list copies."""
        part = self.view.current if self.view.has_focus else None
        return part.plain() if part is not None else self.copy_rows()

    def copy_rows(self) -> str:
        """What is copied while the list is in focus."""
        return super().copy_text()
