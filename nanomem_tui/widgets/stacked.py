"""Columns of stacked parts as lines of text: each part has a sign of its own, so that no colour is needed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from nanomem_tui.core.text import one_line, pad
from nanomem_tui.widgets.document import Line, Span
from nanomem_tui.widgets.signs import UNICODE, Glyphs

SHADES = {True: "█▓▒░", False: "#=+."}
"""Of the parts, the first at the bottom: in Unicode, in ASCII."""
TONES = ("accent", "good", "warn", "dim")
MOST = len(TONES)
"""Parts that can be told apart."""
LABEL = 8  # cells: a number and the line
WIDEST = 4  # cells of a column


def fitting(count: int, width: int) -> int:
    """How many of `count` columns there are room for in `width` cells."""
    return min(count, max(width - LABEL, 1))


def stacked(
    columns: Sequence[Sequence[float]],
    names: Sequence[str],
    width: int,
    height: int,
    signs: Glyphs = UNICODE,
    money: bool = False,
) -> list[Line]:
    """`columns` (parts each, at most `MOST`, at most `fitting` columns) as `height` lines of at most `width` cells,
    with a scale at the left and the first and the last of `names` below.

    A part that is not nothing is seen where there is room for one more sign; a column that is not nothing always is.
    """
    most = max((sum(column) for column in columns), default=0.0)
    shades = SHADES[bool(signs.eighths)]
    each = max(1, min(WIDEST, (width - LABEL) // max(len(columns), 1)))
    bar = each - 1 if each > 1 else 1
    drawn = [_column(column, most, height) for column in columns]
    lines: list[Line] = []
    for row in range(height - 1, -1, -1):
        label = brief(most, money) if row == height - 1 else "0" if row == 0 else ""
        spans: list[Span] = [(f"{pad(label, LABEL - 2, 'right')} {signs.separator}", "label")]
        for column in drawn:
            part = column[row]
            text, tone = (" ", "") if part is None else (shades[part], TONES[part])
            _add(spans, text * bar, tone)
            _add(spans, " " * (each - bar), "")
        lines.append(tuple(spans))
    room = max(width - LABEL, 1)
    first, last = (one_line(names[0], room), one_line(names[-1], room)) if names else ("", "")
    across = min(max(len(columns) * each - (each - bar), len(first)), room)
    between = across - len(first) - len(last)
    if first != last:
        first = f"{first}{' ' * between}{last}" if between > 0 else one_line(f"{first} to {last}", room)
    return [*lines, ((" " * LABEL + first, "label"),)]


def legend(names: Sequence[str], signs: Glyphs = UNICODE) -> list[Span]:
    """Which sign is which part."""
    shades = SHADES[bool(signs.eighths)]
    spans: list[Span] = []
    for number, name in enumerate(names[:MOST]):
        spans += [(f"{shades[number]} ", TONES[number]), (f"{name}  ", "")]
    return spans


def brief(number: float, money: bool = False) -> str:
    """A number in at most six cells: `950`, `12.3k`, `4.56M`; of money `0.012`, `3.40`."""
    if money and number < 1000:
        return f"{number:.2f}" if number >= 1 else f"{number:.3g}"[:6]
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"


def _column(parts: Sequence[float], most: float, height: int) -> list[int | None]:
    """Which part is in each row, from the bottom; None for none."""
    whole = sum(parts)
    if not whole or not most:
        return [None] * height
    rows = max(round(whole / most * height), 1)
    ends, reached = [], 0.0
    for part in parts:
        reached += part
        ends.append(reached / whole * rows)
    last = len(ends) - 1
    cells = [next(part for part, end in enumerate(ends) if end > row + 0.5 or part == last) for row in range(rows)]
    return [*cells, *([None] * (height - rows))]


def _add(spans: list[Span], text: str, tone: str) -> None:
    if text and spans[-1][1] == tone:
        spans[-1] = (spans[-1][0] + text, tone)
    elif text:
        spans.append((text, tone))
