"""One version of a file to read: every line, those that came and went with it, and those that are no longer there.

Owns the marks and jumping from change to change. Which version it is, and what differs, it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.message import Message

from nanomem_tui.core.text import safe_text
from nanomem_tui.widgets.bindings import widget_bindings
from nanomem_tui.widgets.diff import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.document import Block, Line, Span, lay_out, wrap_spans
from nanomem_tui.widgets.text_view import TextView

GONE = "x"
MARKS = f"+ came with it   - went with it   {GONE} not there any more"


class VersionLine(NamedTuple):
    """A line of the file, or one that went with this version; `gone`: it is in the file no more."""

    line: DiffLine
    gone: bool = False


class VersionView(TextView):
    """Shows a version below some leading blocks. Left and right ask for the version before and after."""

    BINDINGS: ClassVar[list[BindingType]] = [*widget_bindings("next_hunk", "previous_hunk")]
    DEFAULT_CSS = "VersionView { padding: 0 0 0 1; }"

    class Travel(Message):
        """Another version is wanted: -1 the one before, 1 the one after."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.version: tuple[VersionLine, ...] = ()
        self.blocks: tuple[Block, ...] = ()
        self._changes: list[int] = []

    def show(self, version: Sequence[VersionLine], blocks: Sequence[Block], keep_place: bool = False) -> None:
        """Show the lines of a version below `blocks`; `keep_place` stays where the view is."""
        self.version, self.blocks = tuple(version), tuple(blocks)
        self.lay_out_again(keep_place)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The blocks, then each line with its number and marks."""
        lines = lay_out(self.blocks, width, wrapped)
        self._changes = []
        numbers = len(str(max((row.line.number for row in self.version), default=1)))
        changing = False
        spans = spans_of(Hunk(tuple(row.line for row in self.version)))
        for row, (line, parts) in zip(self.version, spans, strict=True):
            if line.sign != " " and not changing:
                self._changes.append(len(lines))
            changing = line.sign != " "
            tone = {"+": "added", "-": "removed"}.get(line.sign, "dim" if row.gone else "")
            number = " " * numbers if line.sign == "-" else f"{line.number:>{numbers}}"
            mark = GONE if row.gone and line.sign != "-" else " "
            head: list[Span] = [(f"{number} ", "dim"), (line.sign, tone), (mark, "warn"), (" ", "")]
            text = [(safe_text(part).replace("\t", "    "), name or tone) for part, name in parts]
            spans_shown = [*head, *text]
            lines.extend(wrap_spans(spans_shown, width, numbers + 4) if wrapped else [tuple(spans_shown)])
        return lines

    def action_next_hunk(self) -> None:
        """To the next change."""
        top = int(self.scroll_offset.y)
        self._go(next((at for at in self._changes if at - 2 > top), None))

    def action_previous_hunk(self) -> None:
        """To the change before."""
        top = int(self.scroll_offset.y)
        self._go(next((at for at in reversed(self._changes) if at - 2 < top), None))

    def _go(self, line: int | None) -> None:
        if line is not None:
            self.scroll_to(y=max(line - 2, 0), animate=False, force=True)

    def action_scroll_left(self) -> None:
        """The version before; text that is not wrapped moves instead."""
        if self.wrapped:
            self.post_message(self.Travel(-1))
        else:
            super().action_scroll_left()

    def action_scroll_right(self) -> None:
        """The version after; text that is not wrapped moves instead."""
        if self.wrapped:
            self.post_message(self.Travel(1))
        else:
            super().action_scroll_right()
