"""The lines of a tour, above the status bar, and the app that goes on with it as its person does what it says."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from nanomem_tui.core.text import wrap
from nanomem_tui.tour import Tour
from nanomem_tui.widgets.cells import joined
from nanomem_tui.widgets.notices import Notices


class TourBar(Widget):
    """The lines of the step that is shown; no line of the screen while there are none."""

    DEFAULT_CSS = """
    TourBar { height: 0; background: $panel; color: $accent; text-style: bold; }
    TourBar:nocolor { text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._words: tuple[str, ...] = ()
        self._lines: list[str] = []

    def show(self, words: Sequence[str]) -> None:
        """Show these lines; paints only when they differ."""
        if tuple(words) != self._words:
            self._words = tuple(words)
            self.fit()

    def on_resize(self) -> None:
        """Wrap the lines to the new width."""
        self.fit()

    def fit(self) -> None:
        """As many lines as the width needs."""
        width = max(self.app.size.width - 2, 10)
        self._lines = [line for words in self._words for line in wrap(words, width)]
        self.styles.height = len(self._lines)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line."""
        text = f" {self._lines[y]}" if y < len(self._lines) else ""
        parts: list[tuple[str, Style]] = [(text, self.rich_style)]
        return Strip(joined(parts, self.size.width, self.rich_style), self.size.width)


class Touring(Notices):
    """An app that may show a tour."""

    tour: Tour | None = None

    def begin_tour(self, tour: Tour | None) -> None:
        """Show a tour, or none."""
        self.tour = tour
        self.notice_changed()

    @property
    def tour_lines(self) -> Sequence[str]:
        """What the tour says now."""
        return self.tour.lines if self.tour is not None else ()

    def toured(self, screen: str, action: str) -> bool:
        """Something was done; whether that was all that it did: esc puts the tour away."""
        if self.tour is None or self.tour.over:
            return False
        leaves = action == "back"
        if leaves:
            self.tour.leave()
        if leaves or self.tour.did(screen, action):
            self.notice_changed()
        return leaves
