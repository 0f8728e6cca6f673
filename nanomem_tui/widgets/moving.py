"""Moving up and down by keys, the same in every list and text: one set of bindings, one meaning each."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from nanomem_tui.widgets.bindings import widget_bindings


class Moves:
    """Mix-in for a widget with a cursor or a view that moves by lines; it implements the first three methods."""

    MOVE_BINDINGS: ClassVar[list[BindingType]] = list(
        widget_bindings("cursor_down", "cursor_up", "half_down", "half_up", "page_down", "page_up", "first", "last")
    )

    def move_by(self, lines: int) -> None:
        """Move down by `lines`, up when negative."""
        raise NotImplementedError

    def move_to_edge(self, last: bool) -> None:
        """Move to the first or the last line."""
        raise NotImplementedError

    def page_lines(self) -> int:
        """How many lines a page is."""
        raise NotImplementedError

    def action_cursor_down(self) -> None:
        """One line down."""
        self.move_by(1)

    def action_cursor_up(self) -> None:
        """One line up."""
        self.move_by(-1)

    def action_half_down(self) -> None:
        """Half a page down."""
        self.move_by(max(self.page_lines() // 2, 1))

    def action_half_up(self) -> None:
        """Half a page up."""
        self.move_by(-max(self.page_lines() // 2, 1))

    def action_page_down(self) -> None:
        """A page down."""
        self.move_by(self.page_lines())

    def action_page_up(self) -> None:
        """A page up."""
        self.move_by(-self.page_lines())

    def action_first(self) -> None:
        """To the first line."""
        self.move_to_edge(last=False)

    def action_last(self) -> None:
        """To the last line."""
        self.move_to_edge(last=True)
