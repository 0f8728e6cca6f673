"""Place the terminal's own cursor on the line that the keys act on, for screen readers and magnifiers.

Owns that place and whether the cursor is shown. Costs nothing of its own: each frame ends with the place anyway.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from textual.app import App
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.widgets.table import HEADER, LineTable
from nanomem_tui.widgets.text_view import TextView

SHOW = "\x1b[?25h"


@runtime_checkable
class Points(Protocol):
    """A dialog whose keys move in a list while its field has the focus."""

    def pointed_at(self) -> Widget | None:
        """The list, when the last key moved in it; None when it was typed into the field."""


def line_of(widget: Widget) -> int | None:
    """The line of `widget` that the keys act on, from its top; None for one that has none, as a field of text."""
    if isinstance(widget, LineTable):
        return widget.cursor - int(widget.scroll_offset.y) + HEADER if widget.rows else 0
    return widget.cursor_line if isinstance(widget, TextView) else None


def _in_text(widget: Widget | None) -> Offset | None:
    """Where the next letter will stand; None for what is no field."""
    if isinstance(widget, Input):
        behind = widget.cursor_position >= len(widget.value)  # where Textual reckons with the block that it draws
        return widget.cursor_screen_offset - (int(behind), 0)
    place = getattr(widget, "cursor_screen_offset", None)  # a TextArea's, which is no part of the start
    return place if isinstance(place, Offset) else None


class RealCursor(App[int]):
    """An app whose terminal has its cursor at the beginning of the current row, or where the next letter will stand."""

    shows_cursor = False
    _typed_at = Offset(0, 0)

    @property
    def cursor_position(self) -> Offset:
        """The cell of the cursor, as the widget in focus has it."""
        screen = self.screen_stack[-1] if self._running and self.screen_stack else None
        if screen is None:
            return self._typed_at
        widget = (screen.pointed_at() if isinstance(screen, Points) else None) or screen.focused
        line = line_of(widget) if widget is not None else None
        if widget is None or line is None:
            return _in_text(widget) or self._typed_at
        region = widget.content_region
        return Offset(region.x, region.y + max(min(line, region.height - 1), 0))

    @cursor_position.setter
    def cursor_position(self, position: Offset) -> None:
        self._typed_at = position
