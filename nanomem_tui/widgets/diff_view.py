"""A diff to read and decide on: per file and hunk, word by word, with a cursor that stands on a hunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from nanomem_tui.core.text import one_line, safe_text
from nanomem_tui.widgets.bindings import widget_bindings
from nanomem_tui.widgets.diff import FileDiff, Hunk, spans_of
from nanomem_tui.widgets.document import Block, Line, Span, lay_out, wrap_spans
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.text_view import TextView


class DiffView(TextView):
    """Shows files with their hunks below some leading blocks. Every change has its sign; colour only helps."""

    BINDINGS: ClassVar[list[BindingType]] = [*widget_bindings("next_hunk", "previous_hunk")]
    DEFAULT_CSS = "DiffView { padding: 0 0 0 1; }"

    class HunkHighlighted(Message):
        """The cursor is on another hunk; `index` counts through all files."""

        def __init__(self, view: DiffView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> DiffView:
            """The view."""
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.files: tuple[FileDiff, ...] = ()
        self.blocks: tuple[Block, ...] = ()
        self._hunk = 0
        self._starts: list[int] = []

    def show(self, files: Sequence[FileDiff], blocks: Sequence[Block] = (), keep_place: bool = False) -> None:
        """Show `files` below `blocks` (who, when, what it cost); `keep_place` keeps view and hunk (a mark changed)."""
        same = (tuple(files), tuple(blocks)) == (self.files, self.blocks)
        if same and self._laid_out_at != -1:
            return
        self.files, self.blocks = tuple(files), tuple(blocks)
        if not keep_place:
            self._hunk = 0
        self._hunk = min(self._hunk, max(len(self.hunks) - 1, 0))
        self.lay_out_again(keep_place)

    @property
    def hunks(self) -> list[tuple[FileDiff, Hunk]]:
        """Every hunk with its file, in order."""
        return [(file, hunk) for file in self.files for hunk in file.hunks]

    @property
    def hunk_index(self) -> int | None:
        """The hunk under the cursor, counted through all files; None when there is none."""
        return self._hunk if self.hunks else None

    @property
    def current(self) -> tuple[FileDiff, Hunk] | None:
        """The hunk under the cursor, with its file."""
        return self.hunks[self._hunk] if self.hunks else None

    def move_to_hunk(self, index: int) -> None:
        """Put the cursor on a hunk (clamped) and bring it into view."""
        index = max(0, min(index, len(self.hunks) - 1))
        if not self.hunks or index == self._hunk:
            return
        self._hunk = index
        self.lay_out_again(keep_place=True)
        start = self._starts[index] if index < len(self._starts) else 0
        self.scroll_to(y=max(start - 2, 0), animate=False, force=True)
        self.post_message(self.HunkHighlighted(self, index))

    def action_next_hunk(self) -> None:
        """To the next hunk."""
        self.move_to_hunk(self._hunk + 1)

    def action_previous_hunk(self) -> None:
        """To the hunk before."""
        self.move_to_hunk(self._hunk - 1)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The lines of blocks, files and hunks; remembers where each hunk starts."""
        lines = lay_out(self.blocks, width, wrapped)
        self._starts = []
        for file in self.files:
            added, removed = file.counts
            note = f"  {file.note}" if file.note else ""
            if lines:
                lines.append(())
            lines.append(((one_line(file.path), "heading"), (f"  +{added} -{removed}{note}", "dim")))
            for hunk in file.hunks:
                lines.extend(self._hunk_lines(hunk, len(self._starts) == self._hunk, width, wrapped, len(lines)))
        return lines

    def _hunk_lines(self, hunk: Hunk, at_cursor: bool, width: int, wrapped: bool, start: int) -> list[Line]:
        self._starts.append(start)
        marker = glyphs(self).cursor if at_cursor else " "
        mark = f" [{hunk.mark}]" if hunk.mark else ""
        title = f"{marker} {hunk.title or 'change'}{mark} "
        lines: list[Line] = [
            ((one_line(title) if at_cursor else "  " + one_line(title), "cursor" if at_cursor else "dim"),)
        ]
        for line, spans in spans_of(hunk):
            tone = {"+": "added", "-": "removed"}.get(line.sign, "")
            parts: list[Span] = [(f"  {line.sign} ", tone)]
            parts += [(safe_text(text).replace("\t", "    "), name) for text, name in spans]
            lines.extend(wrap_spans(parts, width, 4) if wrapped else [tuple(parts)])
        for text in hunk.evidence:
            lines.extend(wrap_spans([("    from: ", "label"), (one_line(text), "dim")], width, 10))
        return lines
