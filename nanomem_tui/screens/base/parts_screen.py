"""A list screen whose right pane is a `PartsView` with a cursor: conversations, logs, turns, blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Generic, NamedTuple, TypeVar

from textual import on
from textual.widget import Widget

from nanomem_tui.actions import Context
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.parts_view import Part, PartsView
from nanomem_tui.widgets.text_view import Span

Row = TypeVar("Row")


class DetailParts(NamedTuple):
    """What the right pane shows of a row: its parts, and a line above them that stays."""

    row_id: str
    parts: Sequence[Part]
    title: tuple[Span, ...] = ()


class PartsScreen(WorkspaceScreen[Row], Generic[Row]):
    """A list, and the parts of its row. `OPENS` are the parts that enter opens, where not every one says so itself."""

    OPENS: ClassVar[tuple[type, ...]] = ()

    def make_detail(self) -> Widget:
        """A view that lays out only what is seen."""
        return PartsView(id="detail")

    @property
    def view(self) -> PartsView:
        """The parts."""
        return self.query_one("#detail", PartsView)

    def context(self) -> Context:
        """What actions may look at now, also whether enter opens what is at the cursor of the detail."""
        context = super().context()
        if self._pane != "detail" or not self.OPENS or isinstance(self.view.current, self.OPENS):
            return context
        more = any(isinstance(part, self.OPENS) for part in self.view.parts)
        return replace(context, has=context.has | {"elsewhere to open" if more else "nothing to open"})

    @on(PartsView.PartHighlighted)
    def _other_part(self) -> None:
        self.refresh_context()

    def do_next_hunk(self) -> None:
        """To the next part, also from the list."""
        self.show_pane("detail")
        self.view.action_next_hunk()

    def do_previous_hunk(self) -> None:
        """To the part before, also from the list."""
        self.show_pane("detail")
        self.view.action_previous_hunk()

    def copy_text(self) -> str:
        """The part at the cursor, else what the list copies."""
        part = self.view.current if self.view.has_focus else None
        return part.plain() if part is not None else self.copy_rows()

    def copy_rows(self) -> str:
        """What is copied while the list is in focus."""
        return super().copy_text()
