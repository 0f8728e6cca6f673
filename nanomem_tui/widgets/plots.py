"""Small plots as text: a line of steps and bars with labels. Pure functions; colour is never needed to read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nanomem_tui.core.text import cell_width, one_line, pad
from nanomem_tui.widgets.signs import UNICODE, Glyphs


def sparkline(values: Sequence[float], width: int, signs: Glyphs = UNICODE) -> str:
    """`values` in order as one line of at most `width` signs, from the smallest to the largest; empty for none.

    More values than `width` are gathered: each sign shows the largest of its share, so that no peak is lost.
    """
    if not values or width < 1:
        return ""
    shares = min(width, len(values))
    edges = [n * len(values) // shares for n in range(shares + 1)]
    peaks = [max(values[low:high]) for low, high in pairwise(edges)]
    low, high = min(peaks), max(peaks)
    top = len(signs.steps) - 1
    if high == low:
        return signs.steps[0 if high == 0 else top // 2] * shares
    return "".join(signs.steps[round((peak - low) / (high - low) * top)] for peak in peaks)


def bars(rows: Sequence[tuple[str, float]], width: int, signs: Glyphs = UNICODE, unit: str = "") -> list[str]:
    """One line for each (label, value ≥ 0), at most `width` cells: label, number, bar; the longest bar is the most."""
    if not rows:
        return []
    labels = [one_line(label, max(width // 3, 4), signs.ellipsis) for label, _ in rows]
    numbers = [f"{value:,.0f}{unit}" if value == int(value) else f"{value:,.2f}{unit}" for _, value in rows]
    label_width = max(map(cell_width, labels))
    number_width = max(map(len, numbers))
    room = max(width - label_width - number_width - 2, 1)
    most = max((value for _, value in rows if value > 0), default=1)
    full = signs.steps[-1]
    lines: list[str] = []
    for label, number, (_, value) in zip(labels, numbers, rows, strict=True):
        length = round(max(value, 0) / most * room)
        bar = full * (max(length, 1) if value > 0 else 0)
        lines.append(f"{pad(label, label_width)} {number:>{number_width}} {bar}".rstrip())
    return lines


def meter(share: float, width: int, signs: Glyphs = UNICODE) -> str:
    """`share` (0 to 1) of `width` cells as a bar on its track, in eighths where the signs have them; `width` cells."""
    eighths = max(round(max(0.0, min(1.0, share)) * width * 8), 1 if share > 0 else 0)
    whole, rest = divmod(eighths, 8)
    if rest and not signs.eighths:
        whole, rest = max(round(eighths / 8), 1), 0
    bar = signs.steps[-1] * whole + (signs.eighths[rest - 1] if rest else "")
    return bar + signs.track * (width - len(bar))
