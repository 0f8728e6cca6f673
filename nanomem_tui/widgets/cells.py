"""Untrusted text on its way into lines of the screen: made safe, cut to cells, joined into few segments.

The only place where widgets turn memory text into something Textual draws. Never markup: a `str` goes into a `Segment`
or a `Content` as plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget

from nanomem_tui.core.text import cell_width, one_line, pad, safe_text


def content(text: str, style: str = "") -> Content:
    """`text` as plain content for a Textual widget, safe, never markup. `style` is a Textual style such as "bold"."""
    return Content.styled(safe_text(text), style) if style else Content(safe_text(text))


def contents(parts: Iterable[tuple[str, str]]) -> Content:
    """Several texts with their styles as one content."""
    return Content.assemble(*((safe_text(text), style) for text, style in parts))


def joined(parts: Sequence[tuple[str, Style]], width: int, fill: Style) -> list[Segment]:
    """The parts (safe texts) as segments of exactly `width` cells; neighbours of one style become one: fewer bytes."""
    segments: list[Segment] = []
    room = width
    for text, style in parts:
        size = cell_width(text)
        if size > room:
            _append(segments, pad(text, room, ellipsis=""), style)
            return segments
        room -= size
        _append(segments, text, style)
    _append(segments, " " * room, fill)
    return segments


def _append(segments: list[Segment], text: str, style: Style) -> None:
    if text and segments and segments[-1].style == style:
        segments[-1] = Segment(segments[-1].text + text, style)
    elif text:
        segments.append(Segment(text, style))


# -- One line beneath a list that says of the row at the cursor what its columns have no room for ---------------------


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
