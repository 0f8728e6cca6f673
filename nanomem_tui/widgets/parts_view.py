"""A long text made of parts (messages, turns): only the parts in view are laid out, so ten thousand cost what ten cost.

Owns a cursor that stands on a line, folding, and keeping the place when parts are added or the width changes. What a
part says is for the `Part`; nothing here knows a session or a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from nanomem_tui.core.text import one_line
from nanomem_tui.widgets.key_queue import widget_bindings
from nanomem_tui.widgets.text_view import Block, Document, Line, Span, TextView, lay_out
from nanomem_tui.widgets.theme import glyphs, joined

Place = tuple[int, int]  # part, line of it

GUTTER = 2  # cells: the cursor
KEPT = 400  # parts whose lines are remembered


class Part(Protocol):
    """One message, turn or rule. Its lines are safe text; `key` names it as long as the text is shown."""

    @property
    def key(self) -> str:
        """A name that no other part has."""

    @property
    def stops(self) -> bool:
        """Whether jumping from part to part stops here; False for a rule between parts."""

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """What it says in lines of `width` cells, at least one; `unfolded` shows what is folded away otherwise."""

    def plain(self) -> str:
        """The whole text, as the copy key takes it."""


@dataclass(frozen=True, slots=True)
class Preface:
    """What there is to say about a text before it begins."""

    blocks: tuple[Block, ...]
    key: str = "preface"
    stops: bool = True

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The blocks."""
        return lay_out(self.blocks, width, wrapped)

    def plain(self) -> str:
        """The blocks as text."""
        return Document(self.blocks).plain()


class PartsView(TextView):
    """Shows parts from any point of them. The place in view is a part and a line, never a count of lines from the top,
    so that nothing above it has to be laid out."""

    BINDINGS: ClassVar[list[BindingType]] = [*widget_bindings("next_hunk", "previous_hunk")]

    class PartHighlighted(Message):
        """The cursor is on another part, or there are others; several in a row become one."""

        def can_replace(self, message: Message) -> bool:
            """Where the cursor is now is all that matters."""
            return isinstance(message, PartsView.PartHighlighted)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.follow = False
        self._parts: Sequence[Part] = ()
        self._title: tuple[Span, ...] = ()
        self._empty = ""
        self._index: dict[str, int] = {}
        self._unfolded: set[str] = set()
        self._known: dict[str, list[Line]] = {}
        self._cursor: Place = (0, 0)
        self._top: Place = (0, 0)
        self._at_end = True
        self._shown_y = -1
        self._told_height = -1
        self._seen: list[Place] = []
        self._seen_from: tuple[Place, int] = ((-1, 0), 0)

    # What it shows

    def show(
        self, parts: Sequence[Part], title: Sequence[Span] = (), *, keep_place: bool = False, empty: str = ""
    ) -> None:
        """Show `parts` below a line that stays, from their end; `keep_place` stays at the part in view instead, on
        the line of the screen on which it is, except at the end of a text that is followed."""
        before = self._parts
        row = self._row_of(self._cursor) if keep_place and self._laid_out_at > 0 else None
        at = before[self._cursor[0]].key if keep_place and before else ""
        top = before[self._top[0]].key if keep_place and before else ""
        was_last = bool(before) and self._cursor == self._last()
        self._parts, self._title, self._empty = parts, tuple(title), empty
        self._index = {part.key: number for number, part in enumerate(parts)}
        if not keep_place:
            self._unfolded.clear()
        self._forget()
        if at in self._index and not (self.follow and was_last):
            self._cursor = self._within((self._index[at], self._cursor[1]))
            self._top = (self._index.get(top, self._index[at]), self._top[1])
            if row is not None:
                self._top = self._step(self._cursor, -row)
            self._at_end = False
        else:
            self._at_end = True
        self.lay_out_again(keep_place=True)
        self.post_message(self.PartHighlighted())

    @property
    def parts(self) -> Sequence[Part]:
        """What is shown."""
        return self._parts

    @property
    def current(self) -> Part | None:
        """The part under the cursor."""
        return self._parts[self._cursor[0]] if self._parts else None

    @property
    def cursor_line(self) -> int:
        """The line of the view that the cursor is on."""
        return self._head + (self._row_of(self._cursor) or 0)

    @property
    def lines(self) -> list[Line]:
        """The lines in view, from the top."""
        return [self._lines_of(part)[line] for part, line in self._visible()]

    def move_to_part(self, key: str) -> bool:
        """Put the cursor on the beginning of a part, with some of what came before in view; False when not here."""
        if key not in self._index:
            return False
        self._at_end = False
        self._cursor = self._top = (self._index[key], 0)
        self.post_message(self.PartHighlighted())
        if self._laid_out_at > 0:
            self._top = self._step(self._cursor, -max(self.page_lines() // 3, 0))
            self._settle()
        return True

    def toggle(self) -> bool:
        """Unfold the part under the cursor, or fold it again; False when there is none."""
        part = self.current
        if part is None:
            return False
        self._unfolded ^= {part.key}
        self._forget(part.key)
        self._cursor = (self._cursor[0], 0)
        row = self._row_of(self._cursor)
        if row is None or row + len(self._lines_of(self._cursor[0])) > self.page_lines():
            self._top = self._step(self._cursor, -(self.page_lines() // 3))
        self._settle()
        return True

    # Laying out

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """Nothing at once: lines are made when they come into view."""
        return []

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 1:
            return
        if width == self._laid_out_at:
            if self.size.height != self._told_height:
                self._settle()
            return
        self._laid_out_at = width
        self._forget()
        if self._at_end:
            self._cursor = self._last()
            self._top = self._step(self._cursor, 1 - self.page_lines())
        self._settle()

    def _forget(self, key: str | None = None) -> None:
        """Lines made so far, of one part or of all, are no longer right."""
        if key is None:
            self._known.clear()
        else:
            self._known.pop(key, None)
        self._seen_from = ((-1, 0), 0)

    def _lines_of(self, number: int) -> list[Line]:
        part = self._parts[number]
        lines = self._known.get(part.key)
        if lines is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            width = max(self._laid_out_at - GUTTER - 1, 8)
            lines = part.lines(width, part.key in self._unfolded, self.wrapped) or [()]
            self._known[part.key] = lines
        return lines

    def _last(self) -> Place:
        if not self._parts:
            return (0, 0)
        return (len(self._parts) - 1, len(self._lines_of(len(self._parts) - 1)) - 1)

    def _step(self, place: Place, lines: int) -> Place:
        """The place so many lines on (back when negative), or the first or last there is."""
        part, line = place
        while self._parts and lines:
            if lines > 0:
                left = len(self._lines_of(part)) - 1 - line
                if lines <= left:
                    return (part, line + lines)
                if part + 1 >= len(self._parts):
                    return (part, line + left)
                lines, part, line = lines - left - 1, part + 1, 0
            else:
                if -lines <= line:
                    return (part, line + lines)
                if part == 0:
                    return (0, 0)
                lines += line + 1
                part -= 1
                line = len(self._lines_of(part)) - 1
        return (part, line)

    def _visible(self) -> list[Place]:
        """The places in view, from the top; made once for each view."""
        place, room = self._top, self.page_lines()
        if self._seen_from != (place, room):
            self._seen_from = (place, room)
            self._seen = []
            while self._parts and len(self._seen) < room:
                self._seen.append(place)
                following = self._step(place, 1)
                if following == place:
                    break
                place = following
        return self._seen

    def _settle(self) -> None:
        """Put cursor and view where there is something, the cursor in view, and no empty lines below the end."""
        if self._parts:
            self._cursor = self._within(self._cursor)
            self._top = self._within(self._top)
            page = self.page_lines()
            ahead = min(4, page // 4)  # so that not every key at the edge repaints the whole text
            if self._cursor < self._top:
                self._top = self._step(self._cursor, -ahead)
            elif self._cursor not in self._visible():
                self._top = self._step(self._cursor, 1 - page + ahead)
            self._top = min(self._top, self._step(self._last(), 1 - page))
            self._at_end = self._cursor == self._last()
        self._tell_scrollbar()
        self.refresh()

    def _within(self, place: Place) -> Place:
        part = min(place[0], len(self._parts) - 1)
        return (part, min(place[1], len(self._lines_of(part)) - 1))

    def _tell_scrollbar(self) -> None:
        """The scrollbar counts parts, not lines: nobody has to know how long those out of view are."""
        self._told_height = self.size.height
        if not self._told_height:  # hidden: it is told when it is shown, with the height that it has then
            return
        count, page = len(self._parts), self.page_lines()
        end = self._step(self._last(), 1 - page) if self._parts else (0, 0)
        if end == (0, 0):
            self.virtual_size = Size(max(self._laid_out_at, 1), 0)
            self._shown_y = 0
        else:
            self.virtual_size = Size(max(self._laid_out_at, 1), count + self.size.height)
            self._shown_y = count if self._top >= end else min(self._top[0] * count // max(end[0], 1), count - 1)
        self.scroll_to(y=self._shown_y, animate=False, force=True)

    # Moving

    def page_lines(self) -> int:
        """The lines of parts that are in view."""
        return max(self.size.height - self._head, 1)

    @property
    def _head(self) -> int:
        return 1 if self._title else 0

    def move_by(self, lines: int) -> None:
        """Move the cursor down by `lines`, up when negative."""
        self._move_cursor(self._step(self._cursor, lines))

    def move_to_edge(self, last: bool) -> None:
        """Move the cursor to the first or the last line."""
        self._move_cursor(self._last() if last else (0, 0))

    def _move_cursor(self, place: Place) -> None:
        old, top = self._row_of(self._cursor), self._top
        if place[0] != self._cursor[0]:
            self.post_message(self.PartHighlighted())
        self._cursor = place
        new = self._row_of(place)
        if new is None:
            self._settle()
        elif old != new and top == self._top:
            self._at_end = place == self._last()
            for row in (old, new):
                if row is not None:
                    self.refresh(Region(0, row + self._head, self.size.width, 1))

    def _row_of(self, place: Place) -> int | None:
        return next((row for row, shown in enumerate(self._visible()) if shown == place), None)

    def action_next_hunk(self) -> None:
        """To the beginning of the next part."""
        self._to_part(1)

    def action_previous_hunk(self) -> None:
        """To the beginning of this part, or of the one before."""
        self._to_part(-1)

    def _to_part(self, step: int) -> None:
        number = self._cursor[0] + (0 if step < 0 and self._cursor[1] else step)
        while 0 <= number < len(self._parts) and not self._parts[number].stops:
            number += step
        if 0 <= number < len(self._parts):
            self._move_cursor((number, 0))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The mouse moved the scrollbar or the wheel: go where it says."""
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = new_value
        if self.size.height != self._told_height:  # nobody moved: the pane has another height, and the end is nearer
            return
        wanted = round(new_value)
        if wanted != self._shown_y and self._parts:
            step = wanted - self._shown_y
            if abs(step) <= 4:
                self._top = self._step(self._top, step)
            else:
                self._top = (max(0, min(wanted, len(self._parts) - 1)), 0)
            if self._cursor not in self._visible():
                self._cursor = self._top if self._cursor < self._top else self._step(self._top, self.page_lines() - 1)
            self._settle()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor."""
        shown = self._visible()
        if self._head <= event.y < len(shown) + self._head:
            self._move_cursor(shown[event.y - self._head])

    def on_focus(self) -> None:
        """The cursor is shown."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor is not shown."""
        self.refresh()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the title, a line of a part, or why there is none."""
        width = self.scrollable_content_region.width
        if y < self._head:
            title: list[tuple[str, Style]] = [(one_line(" " + text), self.tone(tone)) for text, tone in self._title]
            return Strip(joined([(" " * GUTTER, self.tone("")), *_spaced(title)], width, self.tone("")), width)
        row = y - self._head
        if not self._parts:
            said = one_line(self._empty, width - GUTTER) if row == 0 else ""
            return Strip(joined([("  " + said, self.tone("dim"))], width, self.tone("")), width)
        shown = self._visible()
        if row >= len(shown):
            return Strip(joined([], width, self.tone("")), width)
        return self._line_at(shown[row], width)

    def _line_at(self, place: Place, width: int) -> Strip:
        at_cursor = place == self._cursor and self.has_focus
        gutter = (glyphs(self).cursor if at_cursor else " ") + " "
        base = self.tone("cursor" if at_cursor else "")
        parts: list[tuple[str, Style]] = [
            (text, base if at_cursor else self.tone(tone)) for text, tone in self._lines_of(place[0])[place[1]]
        ]
        room = width - GUTTER
        if not self.wrapped and self._shift:
            whole = Strip(joined(parts, self._shift + room, base))
            cropped = whole.crop(self._shift, self._shift + room)
            return Strip.join([Strip(joined([(gutter, base)], GUTTER, base)), cropped.adjust_cell_length(room, base)])
        return Strip(joined([(gutter, base), *parts], width, base), width)


def _spaced(parts: list[tuple[str, Style]]) -> Iterator[tuple[str, Style]]:
    for number, (text, style) in enumerate(parts):
        yield ("  " + text if number else text), style
