"""What the screens share whose right pane is a diff: Dream and Review.

Owns how a diff comes into the pane and keeps its place. Which diff it is, is for the screen.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from textual.widget import Widget

from nanomem_tui.screens.diff_dialog import ProposalView, Shown
from nanomem_tui.screens.dreaming import Dreaming
from nanomem_tui.widgets.document import Document

Row = TypeVar("Row")


class ShownDiff(NamedTuple):
    """What the right pane shows for a row."""

    row_id: str
    shown: Shown


class DiffScreen(Dreaming[Row], Generic[Row]):
    """A list of changes, each with its diff; `detail` gives a `ShownDiff`."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""  # the id of the row whose diff is in the pane

    def make_detail(self) -> Widget:
        """A diff."""
        return ProposalView(id="detail")

    @property
    def view(self) -> ProposalView:
        """The diff."""
        return self.query_one("#detail", ProposalView)

    def show_detail(self, detail: Any) -> None:
        """From its top; the place stays when it is the same row, read again."""
        if isinstance(detail, ShownDiff):
            same, self._shown = detail.row_id == self._shown, detail.row_id
            self.view.show_all(detail.shown, keep_place=same)
        elif isinstance(detail, Document):
            self._shown = ""
            self.view.show_all(self.shown_for_none())

    def shown_for_none(self) -> Shown:
        """What the pane shows without a row."""
        return Shown()

    def do_next_hunk(self) -> None:
        """To the next hunk, also from the list."""
        self.view.action_next_hunk()

    def do_previous_hunk(self) -> None:
        """To the hunk before, also from the list."""
        self.view.action_previous_hunk()
