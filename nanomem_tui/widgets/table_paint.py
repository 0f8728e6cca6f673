"""How a line table draws its lines: header, rows and what is said instead of rows. No widget, no state of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from rich.segment import Segment
from rich.style import Style

from nanomem_tui.core.text import one_line, pad, safe_text, wrap
from nanomem_tui.widgets.cells import joined
from nanomem_tui.widgets.columns import Column, fit
from nanomem_tui.widgets.signs import Glyphs

Row = TypeVar("Row")
Styles = Callable[[str], Style]  # a tone or part of the table, "" for plain → its style

GUTTER = 4  # cells: cursor, selection, sign of the row, space


class Marks(NamedTuple):
    """What is true of a row now, beside its cells."""

    cursor: bool
    selected: bool
    sign: str
    style: str


class Painter(Generic[Row]):
    """Draws lines of exactly `width` cells from columns; remembers only how they fitted the last width."""

    def __init__(self, columns: Sequence[Column[Row]]) -> None:
        self.columns = tuple(columns)
        self._fitted: tuple[int, list[tuple[Column[Row], int]]] = (-1, [])

    def layout(self, width: int) -> list[tuple[Column[Row], int]]:
        """The columns that fit, with their widths."""
        if self._fitted[0] != width:
            self._fitted = (width, fit(self.columns, width - GUTTER))
        return self._fitted[1]

    def header(self, width: int, sorted_by: tuple[str, bool], styles: Styles, signs: Glyphs) -> list[Segment]:
        """The line of titles; `sorted_by` is a column's key and whether it descends."""
        cells: list[str] = []
        for column, size in self.layout(width):
            mark = (signs.descending if sorted_by[1] else signs.ascending) if column.key == sorted_by[0] else ""
            cells.append(pad(pad(column.title, max(size - len(mark), 0)).rstrip() + mark, size, column.align))
        return [Segment(pad(" " * GUTTER + " ".join(cells), width), styles("header"))]

    def row(self, row: Row, marks: Marks, width: int, styles: Styles, signs: Glyphs) -> list[Segment]:
        """One row; a style of the whole row (cursor, selected, …) goes before the tones of its columns."""
        gutter = (signs.cursor if marks.cursor else " ") + (signs.selected if marks.selected else " ")
        base = styles(marks.style)
        parts: list[tuple[str, Style]] = [(gutter + pad(one_line(marks.sign, 1), 2), base)]
        for column, size in self.layout(width):
            cell = pad(one_line(column.render(row), size, signs.ellipsis), size, column.align)
            parts.append((cell + " ", base if marks.style or not column.tone else styles(column.tone)))
        return joined(parts, width, base)

    def message(self, said: Sequence[str], state: str, y: int, width: int, styles: Styles) -> list[Segment]:
        """Line `y` of a message: an error, that rows load, or that there are none."""
        first = "bad" if state == "error" else "dim"
        lines = [
            (part, "" if place else first)
            for place, text in enumerate(said)
            for part in wrap(safe_text(text), max(width - 4, 10))
        ]
        text, tone = lines[y - 1] if 0 < y <= len(lines) else ("", "")
        return [Segment(pad("  " + text, width), styles(tone))]
