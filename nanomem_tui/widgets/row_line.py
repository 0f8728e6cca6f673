"""One line beneath a list that says of the row at the cursor what its columns have no room for."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from nanomem_tui.core.text import one_line
from nanomem_tui.widgets.cells import joined


class RowLine(Widget):
    """The line; not there until `give` gives it room."""

    DEFAULT_CSS = "RowLine { height: 1; display: none; color: $warning; }"

    def __init__(self) -> None:
        super().__init__()
        self._words = ""

    def give(self, room: bool) -> None:
        """Be there, or not."""
        self.display = room

    def show(self, words: str) -> None:
        """Say `words`, untrusted text; paints only when they differ."""
        if words != self._words:
            self._words = words
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line, cut at the width."""
        width = self.size.width
        parts: list[tuple[str, Style]] = [(f" {one_line(self._words, max(width - 2, 1))}", self.rich_style)]
        return Strip(joined(parts, width, self.rich_style), width)
