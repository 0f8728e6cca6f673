"""A metric as a plot: its newest value, a line of its course, and columns with a scale. Pure but for reading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.screens.tiers_kinds import number
from nanomem_tui.widgets.document import Line, Span, Spans, lay_out
from nanomem_tui.widgets.plots import sparkline
from nanomem_tui.widgets.signs import UNICODE, Glyphs
from nanomem_tui.widgets.stacked import fitting, stacked

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

DRAWN = 240  # values of one metric
HEIGHT = 7  # lines of the columns
MOST_WIDE = 100  # cells
LABEL = 4  # cells before a line of signs


class Point(NamedTuple):
    """A value and when it was measured (UTC ISO)."""

    at: str
    value: float


@dataclass(frozen=True, slots=True)
class Plotted:
    """The course of a metric, the oldest value first. `tall`: with columns, else in two lines."""

    name: str
    unit: str
    points: tuple[Point, ...]
    signs: Glyphs = UNICODE
    tall: bool = True
    stops: bool = True

    @property
    def key(self) -> str:
        """The name of the metric."""
        return f"metric {self.name}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Name, newest value, from where to where it goes; its course."""
        if not self.points:
            return lay_out((Spans(((self.name, "accent"), ("  no value is known", "dim"))),), width, wrapped)
        values = [point.value for point in self.points]
        low, high = min(values), max(values)
        unit = f" {self.unit}" if self.unit else ""
        head: list[Span] = [(self.name, "accent"), ("  ", ""), (f"{number(values[-1])}{unit}", "heading")]
        head.append((f"  {number(low)} to {number(high)} in {len(values):,}, {_span(self.points)}", "dim"))
        lines = lay_out((Spans(tuple(head), 2),), width, wrapped)
        room = min(width, MOST_WIDE)
        if not self.tall or low < 0:
            course = sparkline(values, min(room - LABEL, 2 * len(values) + 8), self.signs)
            return [*lines, ((" " * LABEL, ""), (course, "accent"))]
        shown = values[-fitting(len(values), room) :]
        names = [clock_of(point.at) for point in self.points[-len(shown) :]]
        return [*lines, (), *stacked([[value] for value in shown], names, room, HEIGHT, self.signs), ()]

    def plain(self) -> str:
        """The values, one in a line."""
        return "\n".join(f"{point.at}\t{point.value}" for point in self.points)


def series_of(ws: Workspace, name: str, kind: str = "metric") -> list[Point]:
    """The newest values of a metric, the oldest first: of now and of working memory, or its means of an hour."""
    value = "mean" if kind == "metric-hour" else "value"
    rows = ws.records.of(kind, where={"name": name}, limit=DRAWN)
    points = {Point(row.at, row.fields[value]) for row in rows}
    if kind == "metric":
        entries = ws.operational.recent(None, "metric")
        points |= {Point(one.at, float(one.data["value"])) for one in entries if one.data["name"] == name}
    return sorted(points)[-DRAWN:]


def _span(points: Sequence[Point]) -> str:
    first, last = points[0].at, points[-1].at
    same_day = (before := clock.parse(first)) and (after := clock.parse(last)) and before.date() == after.date()
    return f"{clock_of(first)} to {clock_of(last)}" if same_day else f"{_day(first)} to {_day(last)}"


def clock_of(at: str) -> str:
    """The local time of day of a moment."""
    moment = clock.parse(at)
    return f"{moment.astimezone():%H:%M:%S}" if moment else at[:19]


def _day(at: str) -> str:
    moment = clock.parse(at)
    return f"{moment.astimezone():%m-%d %H:%M}" if moment else at[:16]
