"""Two texts beside each other where there is room, below each other where there is not. Pure lines, no widget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from nanomem_tui.core.text import cell_width
from nanomem_tui.widgets.document import Block, Line, lay_out

SIDE_BY_SIDE = 64  # cells from which two columns can be read


def side_by_side(left: Sequence[Block], right: Sequence[Block], width: int, separator: str) -> list[Line]:
    """The blocks of both sides: two columns from `SIDE_BY_SIDE` cells of `width` on, else the right below the left."""
    between = f" {separator} "
    if width < SIDE_BY_SIDE:
        return [*lay_out(left, width), *lay_out(right, width)]
    half = (width - len(between)) // 2
    lines: list[Line] = []
    for one, other in zip_longest(lay_out(left, half), lay_out(right, half), fillvalue=()):
        used = sum(cell_width(text) for text, _ in one)
        lines.append((*one, (" " * (half - used), ""), (between, "dim"), *other))
    return lines
