"""Bars and dots as SVG, drawn by hand: the same figures give the same bytes, and no font or file is asked for.

Owns geometry, colours and scales; knows no program. A picture paints its own ground, light or dark as the reader's
system is, so that it can be read on any page.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from .measure import Measure, number, with_unit

OURS = "nanomem"
WIDTH, LABELS, RIGHT = 760, 250, 92
BAR, GAP, LINE, TOP = 13, 11, 14, 30
LABEL_LETTERS, LETTER = 34, 7.3
"""Letters that a label's line holds; the width of one, as the legend reckons."""
COLOURS = (  # series → light, dark; ours first, then floors and peers as they come
    ("#0a6ebd", "#58a6ff"),
    ("#9aa0a6", "#8b949e"),
    ("#d9822b", "#e3a857"),
    ("#4c9a52", "#6cc070"),
    ("#8e63b8", "#b18be0"),
    ("#b8566b", "#e08a9b"),
    ("#5f7d8c", "#8fb3c4"),
    ("#a38a1f", "#d1bb55"),
)
LIGHT = {"ground": "#ffffff", "text": "#1f2328", "weak": "#59636e", "line": "#d8dee4", "missed": "#c4432b"}
DARK = {"ground": "#0d1117", "text": "#e6edf3", "weak": "#9198a1", "line": "#30363d", "missed": "#ff7b66"}


class Picture(NamedTuple):
    """A heading and the measures beneath it."""

    heading: str
    measures: Sequence[Measure]
    logarithmic: bool = False


def bars(picture: Picture) -> str:
    """Ours beside the floor and the peers of each measure, as one SVG document."""
    names = _series(picture.measures)
    legend, top = _legend(names)
    scale = _scale([value for one in picture.measures for _, value in _values(one)], logarithmic=picture.logarithmic)
    drawn, y = [], float(top)
    for one in picture.measures:
        drawn += _group(one, names, scale, y)
        y += _height(one) + GAP
    note = " (logarithmic)" if picture.logarithmic else ""
    return _document(picture.heading + note, [*legend, *_grid(scale, top - 4, y), *drawn], y + 20, len(names))


def dots(heading: str, groups: Mapping[str, Sequence[Measure]]) -> str:
    """How far the measures of each group are from their goals, a group on a line: left of the mark they are passed."""
    scale, drawn, y = _Scale(0.01, 10.0, logarithmic=True), [], float(TOP + 14)
    for name, measures in groups.items():
        goals = [one for one in measures if one.met is not None]
        if not goals:
            continue
        drawn.append(_text(LABELS - 10, y + 4, name, "end"))
        drawn += [_dot(one, scale, y) for one in goals if one.of_goal is not None]
        met = f"{sum(bool(one.met) for one in goals)} of {len(goals)}"
        drawn.append(_text(WIDTH - 12, y + 4, met, "end", "weak"))
        y += 22
    goal = f'<line class="goal" x1="{scale.x(1):.1f}" x2="{scale.x(1):.1f}" y1="{TOP}" y2="{y - 8:.1f}"/>'
    return _document(heading, [*_grid(scale, TOP, y - 8), goal, *drawn], y + 14, 1)


def _dot(one: Measure, scale: _Scale, y: float) -> str:
    """One measure; its words come up where a pointer rests."""
    x = scale.x(min(scale.most, max(scale.least, one.of_goal or 0.0)))
    words = escape(f"{one.what}: {number(one.of_goal or 0.0)} of its goal".replace("`", ""))
    state = "c0" if one.met else "missed"
    return f'<circle class="{state}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"><title>{words}</title></circle>'


class _Scale(NamedTuple):
    """From a value to a place on the line."""

    least: float
    most: float
    logarithmic: bool

    def x(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(max(value, self.least) / self.least) / math.log(self.most / self.least)
        else:
            share = (value - self.least) / (self.most - self.least)
        return LABELS + share * (WIDTH - LABELS - RIGHT)

    def marks(self) -> list[float]:
        """Where the grid's lines stand."""
        if self.logarithmic:
            first, last = round(math.log10(self.least)), round(math.log10(self.most))
            return [10.0**power for power in range(first, last + 1)]
        step = 10 ** math.floor(math.log10(self.most))
        step = next(step * part for part in (0.2, 0.25, 0.5, 1, 2) if self.most / (step * part) <= 6)
        return [step * count for count in range(int(self.most / step + 1e-9) + 1)]


def _scale(values: Sequence[float], *, logarithmic: bool) -> _Scale:
    most = max(values, default=1.0) or 1.0
    if not logarithmic:
        return _Scale(0.0, most, logarithmic=False)
    least = min(value for value in values if value > 0)
    first = math.floor(math.log10(least * 0.9))  # no bar without a length
    return _Scale(10.0**first, 10.0 ** math.ceil(math.log10(most)), logarithmic=True)


def _values(one: Measure) -> list[tuple[str, float]]:
    return [(OURS, one.ours), *one.floor.items(), *one.peers.items()]


def _series(measures: Sequence[Measure]) -> list[str]:
    return list(dict.fromkeys(name for one in measures for name, _ in _values(one)))


def _lines(one: Measure) -> list[str]:
    return textwrap.wrap((one.label or one.what).replace("`", ""), LABEL_LETTERS) or [""]


def _height(one: Measure) -> int:
    return max(BAR * len(_values(one)), LINE * len(_lines(one)))


def _group(one: Measure, names: list[str], scale: _Scale, y: float) -> list[str]:
    """The bars of one measure, its words on the left."""
    lines = _lines(one)
    middle = y + _height(one) / 2 - LINE * len(lines) / 2
    drawn = [_text(LABELS - 10, middle + LINE * at + 11, line, "end") for at, line in enumerate(lines)]
    for at, (name, value) in enumerate(_values(one)):
        top, end = y + BAR * at, scale.x(value)
        drawn.append(
            f'<rect class="c{names.index(name) % len(COLOURS)}" x="{LABELS}" y="{top + 1:.1f}" '
            f'width="{max(1.0, end - LABELS):.1f}" height="{BAR - 2}"/>'
        )
        drawn.append(_text(max(end, LABELS + 1) + 5, top + 10.5, with_unit(value, one.unit), "start", "weak"))
    return drawn


def _legend(names: list[str]) -> tuple[list[str], int]:
    """The colours' names, and where the bars begin."""
    drawn, x, y = [], 12.0, TOP + 10
    for at, name in enumerate(names):
        wide = 22 + LETTER * len(name)
        if x + wide > WIDTH - 10:
            x, y = 12.0, y + 18
        drawn.append(f'<rect class="c{at % len(COLOURS)}" x="{x:.1f}" y="{y}" width="11" height="11"/>')
        drawn.append(_text(x + 16, y + 10, name, "start"))
        x += wide + 10
    return drawn, y + 26


def _grid(scale: _Scale, top: float, bottom: float) -> list[str]:
    drawn = []
    for value in scale.marks():
        x = scale.x(value)
        drawn.append(f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>')
        drawn.append(_text(x, bottom + 13, f"{value:,g}", "middle", "weak"))
    return drawn


def _text(x: float, y: float, words: str, anchor: str, kind: str = "text") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _document(heading: str, drawn: list[str], height: float, series: int) -> str:
    named, size = escape(heading), f'width="{WIDTH}" height="{height:.0f}"'
    light, dark = _style(LIGHT, 0, series), _style(DARK, 1, series)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" {size} role="img">',
            f"<title>{named}</title>",
            f"<style>\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n</style>",
            f'<rect class="ground" {size}/>',
            f'<text class="text heading" x="12" y="20">{named}</text>',
            *drawn,
            "</svg>\n",
        ]
    )


def _style(colours: dict[str, str], shade: int, series: int) -> str:
    rules = [
        "text { font: 12px system-ui, sans-serif }" if not shade else "",
        ".heading { font-weight: 600; font-size: 14px }" if not shade else "",
        f".ground {{ fill: {colours['ground']} }}",
        f".text {{ fill: {colours['text']} }} .weak {{ fill: {colours['weak']} }}",
        f".line {{ stroke: {colours['line']} }} .goal {{ stroke: {colours['text']}; stroke-dasharray: 4 3 }}",
        f".missed {{ fill: {colours['missed']} }}",
        " ".join(f".c{at} {{ fill: {COLOURS[at][shade]} }}" for at in range(min(series, len(COLOURS)))),
    ]
    return "\n".join(rule for rule in rules if rule)
