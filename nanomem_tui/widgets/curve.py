"""A curve of shares as lines of text: dots of Braille, or asterisks where there is only ASCII. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nanomem_tui.widgets.signs import UNICODE, Glyphs

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a Braille cell, by row and column
AXIS = 6  # cells: a label and the line


def curve(shares: Sequence[float], width: int, height: int, signs: Glyphs = UNICODE) -> list[str]:
    """`shares` (0 to 1, in order) as `height` lines of at most `width` cells, the axis labelled in percent.

    Each stretch of the curve is as wide as its share of them; of several in one column the lowest is shown, so that no
    loss is hidden.
    """
    columns = max(width - AXIS, 1)
    braille = bool(signs.eighths)
    across, down = (2, 4) if braille else (1, 1)
    places = _places(shares, columns * across, height * down)
    cells = [[0] * columns for _ in range(height)]
    for x, (low, high) in enumerate(places):
        for y in range(low, high + 1):
            row, dot = divmod(height * down - 1 - y, down)
            cells[row][x // across] |= _DOTS[dot][x % across] if braille else 1
    lines = []
    for number, row_cells in enumerate(cells):
        label = "100 %" if number == 0 else "0 %" if number == height - 1 else ""
        drawn = "".join(chr(0x2800 + dots) if braille else "*" if dots else " " for dots in row_cells)
        lines.append(f"{label:>{AXIS - 1}}{signs.separator}{drawn.rstrip(chr(0x2800) + ' ')}")
    return lines


def small_curve(shares: Sequence[float], width: int, signs: Glyphs = UNICODE) -> str:
    """`shares` (0 to 1, in order) as one line of at most `width` signs; of several in one sign the lowest is shown.

    The last sign is the last share.
    """
    top = len(signs.steps) - 1
    lowest = _lowest(shares, min(width, len(shares)))
    return "".join(signs.steps[round(max(0.0, min(1.0, share)) * top)] for share in lowest)


def _lowest(shares: Sequence[float], columns: int) -> list[float]:
    """The lowest share of each of so many columns; where several share one, the last is how things are now alone."""
    if columns >= len(shares):
        return [shares[x * len(shares) // columns] for x in range(columns)] if shares else []
    before, room = shares[:-1], columns - 1
    edges = [x * len(before) // room for x in range(room)]
    return [*(min(before[start:stop]) for start, stop in pairwise([*edges, len(before)])), shares[-1]]


def _places(shares: Sequence[float], columns: int, rows: int) -> list[tuple[int, int]]:
    """For each column the lowest and the highest dot, from the bottom; a step is drawn down or up to where it was."""
    heights = [round(max(0.0, min(1.0, share)) * (rows - 1)) for share in _lowest(shares, columns)]
    before = [heights[0], *heights] if heights else []
    return [(min(was, now), max(was, now)) for was, now in zip(before, heights, strict=False)]
