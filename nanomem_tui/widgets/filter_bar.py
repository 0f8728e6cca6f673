"""The line to filter a list with: it tells what was typed at once and says what was not understood."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.css.scalar import Scalar
from textual.message import Message
from textual.widgets import Input

from nanomem_tui.core.text import cell_width, one_line
from nanomem_tui.widgets.bars import LineBar, say

LONGEST = 8_000  # characters of a line: more was pasted by mistake, and would be drawn with each key


class LineInput(Input):
    """A one-line field that doesn't blink and takes from the clipboard no control character, and no more than a line
    may have."""

    DEFAULT_CSS = """
    LineInput, LineInput:focus {
        height: 1; border: none; padding: 0; background: $panel; color: $foreground; width: 1fr;
    }
    """

    def __init__(self, value: str = "", placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(value=one_line(value), placeholder=placeholder, compact=True, id=id, select_on_focus=False)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        room = max(LONGEST - len(self.value), 0)
        pasted = event.text
        event.text = one_line(pasted[:room])
        if len(pasted) > room:
            say(self, f"Only {room:,} of the {len(pasted):,} characters that were pasted are taken", "warning")


class FilterBar(Horizontal):
    """Hidden until `open`. Enter and the down key keep the filter and go back to the list; esc clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", show=False),
        Binding("down,tab", "keep", "to the list", show=False),
    ]
    DEFAULT_CSS = """
    FilterBar { height: 1; background: $panel; }
    FilterBar #filter-sign { width: 2; }
    FilterBar #filter-said { width: auto; max-width: 60%; min-width: 1; }
    """

    class FilterChanged(Message):
        """The query is now `query`; several in a row become one."""

        def __init__(self, bar: FilterBar, query: str) -> None:
            super().__init__()
            self.bar = bar
            self.query = query

        @property
        def control(self) -> FilterBar:
            """The bar."""
            return self.bar

        def can_replace(self, message: Message) -> bool:
            """Only what was typed last matters."""
            return isinstance(message, FilterBar.FilterChanged)

    class FilterLeft(Message):
        """The person went back to the list; `cleared` when the filter was given up."""

        def __init__(self, bar: FilterBar, cleared: bool) -> None:
            super().__init__()
            self.bar = bar
            self.cleared = cleared

    def __init__(self, hint: str = "") -> None:
        """`hint`: what may be typed, shown while nothing is."""
        super().__init__()
        self._hint = hint
        self.display = False  # not by a class: a style of its own is quicker, and esc waits for nothing

    def compose(self) -> ComposeResult:
        """A sign, the field, and what is said about the query."""
        yield LineBar(id="filter-sign")
        yield LineInput(placeholder=self._hint, id="filter-input")
        yield LineBar(id="filter-said")

    def on_mount(self) -> None:
        """Set the sign once."""
        self.query_one("#filter-sign", LineBar).set_parts([("/ ", "key")])

    @property
    def query_text(self) -> str:
        """The query as typed."""
        return self.query_one(LineInput).value

    @property
    def is_open(self) -> bool:
        """Whether the bar is shown."""
        return self.display

    def open(self) -> None:
        """Show the bar and let the person type."""
        self.display = True
        self.query_one(LineInput).focus()

    def clear(self) -> None:
        """Give the filter up and hide the bar."""
        self.query_one(LineInput).value = ""
        self.say("")
        self.display = False

    def set_query(self, query: str) -> None:
        """Filter by `query` as if it had been typed."""
        self.display = True
        self.query_one(LineInput).value = one_line(query)

    def say(self, text: str, tone: str = "dim") -> None:
        """Say something about the query beside it: totals, or what was not understood."""
        said = self.query_one("#filter-said", LineBar)
        shown = f" {one_line(text, max(self.app.size.width * 3 // 5 - 2, 1))} " if text else ""
        width = Scalar.from_number(max(cell_width(shown), 1))
        if said.styles.width != width:  # another style is another layout
            said.styles.width = width
        said.set_parts([(shown, tone)])

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.FilterChanged(self, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Back to the list with the filter; an empty one hides the bar."""
        if not self.query_text:
            self.clear()
        self.post_message(self.FilterLeft(self, cleared=not self.query_text))

    def action_clear(self) -> None:
        """Clear the filter and go back to the list."""
        self.clear()
        self.post_message(self.FilterLeft(self, cleared=True))
