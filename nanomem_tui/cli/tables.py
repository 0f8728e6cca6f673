"""Plain-text tables that fit a terminal: rows of untrusted cells in, lines out. Pure, knows no stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nanomem_tui.core.text import ELLIPSIS, cell_width, closed, one_line, pad, safe_text, wrap

GAP = "  "


class Column(NamedTuple):
    """One column. Widths are terminal cells.

    `limit`: never wider than this. `least`: a column that may shrink gives way down to this. `drop`: columns with the
    highest number go first when the line is too long (0: never).
    """

    title: str
    limit: int = 0
    least: int = 0
    drop: int = 0
    right: bool = False
    optional: bool = False
    """Left out when every cell of it is empty."""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """The header and one line per row, at most `width` cells wide where that can be done (None: as wide as it needs).

    No row at all gives no line at all.
    """
    cells = [[_cell(value, column.limit) for column, value in zip(columns, row, strict=True)] for row in rows]
    if not cells:
        return []
    natural = [
        max(cell_width(column.title), *(cell_width(row[at]) for row in cells)) for at, column in enumerate(columns)
    ]
    shown = [at for at, column in enumerate(columns) if not (column.optional and not any(row[at] for row in cells))]
    widths = _fit(columns, natural, shown, width)
    return [
        _line([column.title for column in columns], columns, widths),
        *(_line(row, columns, widths) for row in cells),
    ]


def paragraph(text: str, width: int | None) -> list[str]:
    """A text in full: its own lines, broken to `width` cells (None: not broken)."""
    shown = safe_text(text)
    return shown.split("\n") if width is None else wrap(shown, width)


def _cell(value: str, limit: int) -> str:
    """A value as one safe line of at most `limit` cells (0: any); a quotation that is cut ends in its mark."""
    shown = one_line(value, limit)
    if limit and shown.endswith(ELLIPSIS) and shown.count("“") > shown.count("”"):
        shorter = one_line(value, limit - 1)
        return f"{shorter}”" if "“" in shorter else shorter
    return shown


def _fit(columns: Sequence[Column], natural: list[int], shown: list[int], width: int | None) -> dict[int, int]:
    """The width of each column that stays."""
    while True:
        widths = {at: natural[at] for at in shown}
        over = sum(widths.values()) + len(GAP) * (len(shown) - 1) - width if width else 0
        if over <= 0:
            return widths
        # What could go altogether gives way before what must stay; then the widest.
        for at in sorted(shown, key=lambda at: (columns[at].drop > 0, natural[at]), reverse=True):
            column = columns[at]
            if column.least and over > 0:
                give = min(over, max(widths[at] - max(column.least, cell_width(column.title)), 0))
                widths[at] -= give
                over -= give
        droppable = [at for at in shown if columns[at].drop]
        if over <= 0 or not droppable:
            return widths
        shown = [at for at in shown if at != max(droppable, key=lambda at: columns[at].drop)]


def _line(row: Sequence[str], columns: Sequence[Column], widths: dict[int, int]) -> str:
    parts = [pad(closed(row[at], size), size, "right" if columns[at].right else "left") for at, size in widths.items()]
    return GAP.join(parts).rstrip()
