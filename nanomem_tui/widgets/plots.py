"""Plots as text: sparklines, bars, meters, curves, stacked columns, and the charts of `review.charts`. Pure
functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from nanomem_tui.core.text import cell_width, one_line, pad
from nanomem_tui.widgets.text_view import Body, Line, Span, Spans, lay_out
from nanomem_tui.widgets.theme import UNICODE, Glyphs

if TYPE_CHECKING:
    from nanomem_tui.review.charts import Picture


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


# A curve of shares as lines of text: dots of Braille, or asterisks where there is only ASCII. Pure functions.

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


# Columns of stacked parts as lines of text: each part has a sign of its own, so that no colour is needed. Pure.

SHADES = {True: "█▓▒░", False: "#=+."}
"""Of the parts, the first at the bottom: in Unicode, in ASCII."""
TONES = ("accent", "good", "warn", "dim")
MOST = len(TONES)
"""Parts that can be told apart."""
LABEL = 8  # cells: a number and the line
WIDEST = 4  # cells of a column


def fitting_bars(count: int, width: int) -> int:
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


# A picture of `review.charts` as lines of text at a width and a height. Pure; no colour is needed to read it.

LEAST = 4  # lines of a plot


def draw_chart(picture: Picture, width: int, height: int, signs: Glyphs = UNICODE) -> list[Line]:
    """The title, what it comes to, the plot in what is left of `height` lines, and its legend."""
    lines: list[Line] = [((one_line(picture.title, width), "heading"),)]
    lines += lay_out([Body(picture.said)], width)
    if not picture.labels:
        return lines
    room = max(height - len(lines) - 3, LEAST)
    if picture.form == "curve":
        plot: list[Line] = [
            ((text, "accent"),) for text in curve([row[0] for row in picture.values], width, room, signs)
        ]
        plot.append(((_ends(picture.labels, width), "label"),))
    elif picture.form == "bars":
        plot = _bars(picture, width, signs)
    else:
        plot = _columns(picture, width, room, signs)
    lines += [(), *plot]
    if len(picture.parts) > 1:
        lines += lay_out([Spans(tuple(legend([one_line(part, width - 2) for part in picture.parts], signs)), 2)], width)
    return lines


def chart_line(picture: Picture, width: int, signs: Glyphs = UNICODE) -> str:
    """The picture as one line of at most `width` signs; of bars the last part's share of each."""
    if picture.form == "stacked":
        return sparkline([sum(row) for row in picture.values], width, signs)
    if picture.form == "curve":
        return small_curve([row[0] for row in picture.values], width, signs)
    return small_curve([row[-1] / max(sum(row), 1) for row in picture.values], width, signs)


def _columns(picture: Picture, width: int, height: int, signs: Glyphs) -> list[Line]:
    """Stacked columns; where several labels share one, an amount so far is that of the last, another is added up."""
    labels, values = picture.labels, picture.values
    room = fitting_bars(len(labels), width)
    edges = [number * len(labels) // room for number in range(room + 1)]
    bins = [values[edges[number] : edges[number + 1]] for number in range(room)]
    if picture.so_far:
        columns = [list(some[-1]) for some in bins]
    else:
        columns = [
            [max(part) if picture.unit == "ms" else sum(part) for part in zip(*some, strict=True)] for some in bins
        ]
    return stacked(columns, [labels[0], labels[-1]], width, height, signs, picture.unit == "cost")


def _bars(picture: Picture, width: int, signs: Glyphs) -> list[Line]:
    """A bar of parts for each label, with how many of it are the last part."""
    names = [one_line(label, max(width // 3, 8)) for label in picture.labels]
    left = max(map(cell_width, names))
    most = max(sum(row) for row in picture.values) or 1.0
    shares = [f"{row[-1]:,.0f} of {sum(row):,.0f}" for row in picture.values]
    wide = max(map(len, shares))
    room = max(width - left - wide - 2, 1)
    shades = SHADES[bool(signs.eighths)]
    lines: list[Line] = []
    for name, row, share in zip(names, picture.values, shares, strict=True):
        spans: list[Span] = [(f"{pad(name, left)} {share:>{wide}} ", "label")]
        done = 0
        for number in range(len(row)):
            end = round(sum(row[: number + 1]) / most * room)
            spans.append((shades[number] * (end - done), TONES[number]))
            done = end
        lines.append(tuple(spans))
    return lines


def _ends(labels: Sequence[str], width: int) -> str:
    first, last = labels[0], labels[-1]
    between = width - cell_width(first) - cell_width(last) - 6
    return " " * 6 + (f"{first}{' ' * between}{last}" if between > 0 else one_line(f"{first} to {last}", width - 6))
