"""A picture of `curation.pictures` as lines of text at a width and a height. Pure; no colour is needed to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.text import cell_width, one_line, pad
from nanomem_tui.widgets.curve import curve, small_curve
from nanomem_tui.widgets.document import Body, Line, Span, Spans, lay_out
from nanomem_tui.widgets.plots import sparkline
from nanomem_tui.widgets.signs import UNICODE, Glyphs
from nanomem_tui.widgets.stacked import SHADES, TONES, fitting, legend, stacked

if TYPE_CHECKING:
    from nanomem_tui.review.charts import Picture

LEAST = 4  # lines of a plot


def drawn(picture: Picture, width: int, height: int, signs: Glyphs = UNICODE) -> list[Line]:
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


def in_one_line(picture: Picture, width: int, signs: Glyphs = UNICODE) -> str:
    """The picture as one line of at most `width` signs; of bars the last part's share of each."""
    if picture.form == "stacked":
        return sparkline([sum(row) for row in picture.values], width, signs)
    if picture.form == "curve":
        return small_curve([row[0] for row in picture.values], width, signs)
    return small_curve([row[-1] / max(sum(row), 1) for row in picture.values], width, signs)


def _columns(picture: Picture, width: int, height: int, signs: Glyphs) -> list[Line]:
    """Stacked columns; where several labels share one, an amount so far is that of the last, another is added up."""
    labels, values = picture.labels, picture.values
    room = fitting(len(labels), width)
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
