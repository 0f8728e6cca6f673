"""A scrollable view of laid-out lines: the base of the detail pane and of the diff.

Owns scrolling, wrapping and drawing with tones. What the lines are is for the subclass, which implements `lay_out`.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from nanomem_tui.core.text import cell_width
from nanomem_tui.widgets.bindings import widget_bindings
from nanomem_tui.widgets.cells import joined
from nanomem_tui.widgets.document import Line
from nanomem_tui.widgets.moving import Moves

TONES = (
    "heading", "label", "dim", "accent", "good", "warn", "bad",
    "added", "removed", "added-word", "removed-word", "cursor",
)  # fmt: skip


class TextView(Moves, ScrollView, can_focus=True):
    """Lines of text with tones; `w` wraps, arrows scroll sideways when it doesn't."""

    BINDINGS: ClassVar[list[BindingType]] = [*Moves.MOVE_BINDINGS, *widget_bindings("scroll_left", "scroll_right")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"text-view--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    TextView {
        height: 1fr;
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    TextView > .text-view--heading { color: $primary; text-style: bold; }
    TextView > .text-view--label { color: $foreground 60%; }
    TextView > .text-view--dim { color: $foreground 60%; }
    TextView > .text-view--accent { color: $accent; }
    TextView > .text-view--good { color: $success; }
    TextView > .text-view--warn { color: $warning; }
    TextView > .text-view--bad { color: $error; text-style: bold; }
    TextView > .text-view--added { color: $success; }
    TextView > .text-view--removed { color: $error; }
    TextView > .text-view--added-word { color: $success; text-style: bold underline; }
    TextView > .text-view--removed-word { color: $error; text-style: bold underline; }
    TextView > .text-view--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    TextView:ansi > .text-view--label, TextView:ansi > .text-view--dim { color: ansi_default; text-style: dim; }
    TextView:nocolor > .text-view--cursor { text-style: reverse; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.wrapped = True
        self._lines: list[Line] = []
        self._laid_out_at = -1
        self._shift = 0
        self._styles_by_name: dict[str, Style] = {}
        self._painted: dict[int, list[Segment]] = {}

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The lines of what is shown, at `width` cells."""
        raise NotImplementedError

    def lay_out_again(self, keep_place: bool = False) -> None:
        """What is shown has changed: make its lines anew; without `keep_place` the view goes back to the top."""
        self._laid_out_at = -1
        if not keep_place:
            self.scroll_to(x=0, y=0, animate=False, force=True)
        self._lay_out()
        self._refresh_what_differs()

    def _refresh_what_differs(self) -> None:
        for y in range(self.size.height):
            if self._painted.get(y) != self._line(y):
                self.refresh(Region(0, y, self.scrollable_content_region.width, 1))

    def toggle_wrap(self) -> bool:
        """Wrap long lines or not; what it is now."""
        self.wrapped = not self.wrapped
        self.scroll_to(x=0, animate=False, force=True)
        self.lay_out_again(keep_place=True)
        return self.wrapped

    @property
    def lines(self) -> list[Line]:
        """The lines as they are laid out now."""
        return self._lines

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 1:
            return
        if width != self._laid_out_at:
            self._laid_out_at = width
            self._lines = self.lay_out(width - 1, self.wrapped)
        # In a pane all texts that fit count as one line: another height means a layout of the screen, and they need
        # none; nor does the pane need a scrollbar when it becomes smaller. In a dialog the text makes the height.
        height = len(self._lines)
        counts = height > self.size.height or (self.styles.height is not None and self.styles.height.is_auto)
        self.virtual_size = Size(width, height if counts else 1)

    def on_resize(self) -> None:
        """Lay out for the new size."""
        self._lay_out()

    def page_lines(self) -> int:
        """The lines that are in view."""
        return max(self.size.height, 1)

    def move_by(self, lines: int) -> None:
        """Scroll down by `lines`, up when negative."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True)

    def move_to_edge(self, last: bool) -> None:
        """Scroll to the top or the end."""
        self.scroll_to(y=self.max_scroll_y if last else 0, animate=False, force=True)

    def action_scroll_left(self) -> None:
        """Show what is to the left."""
        self._scroll_sideways(-8)

    def action_scroll_right(self) -> None:
        """Show what is to the right."""
        self._scroll_sideways(8)

    def _scroll_sideways(self, cells: int) -> None:
        if self.wrapped:
            return
        widest = max((sum(cell_width(text) for text, _ in line) for line in self._lines), default=0)
        self._shift = max(0, min(self._shift + cells, widest - 8))
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget styles: the theme may have changed."""
        self._styles_by_name.clear()
        super().notify_style_update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Repaint the text, not the scrollbar's column, when the view moves."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if round(old_value) != round(new_value):
            self.refresh(Region(0, 0, self.scrollable_content_region.width, self.size.height))

    def tone(self, name: str) -> Style:
        """The style of a tone."""
        style = self._styles_by_name.get(name)
        if style is None:
            base = self.rich_style
            style = base + self.get_component_rich_style(f"text-view--{name}") if name in TONES else base
            self._styles_by_name[name] = style
        return style

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        segments = self._line(y)
        self._painted[y] = segments
        return Strip(segments)

    def _line(self, y: int) -> list[Segment]:
        width = self.scrollable_content_region.width
        index = int(self.scroll_offset.y) + y
        line = self._lines[index] if index < len(self._lines) else ()
        parts = [(text, self.tone(tone)) for text, tone in line]
        if self.wrapped or not self._shift:
            return joined(parts, width, self.tone(""))
        whole = Strip([Segment(text, style) for text, style in parts])
        return list(whole.crop(self._shift, self._shift + width).adjust_cell_length(width, self.tone("")))
