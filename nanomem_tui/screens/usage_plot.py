"""What the right pane of the Usage screen draws: tokens or cost by day, stacked, and one row in numbers. Pure but for
the pane itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from nanomem_tui.core.text import counted
from nanomem_tui.memory.facts.usage import Sum, Used, total
from nanomem_tui.widgets.document import Block, Body, Field, Heading, Line, Spans, lay_out
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.plots import bars
from nanomem_tui.widgets.preview import Preview
from nanomem_tui.widgets.signs import Glyphs
from nanomem_tui.widgets.stacked import MOST, fitting, legend, stacked

HEIGHT = 8  # lines of the plot
MOST_WIDE = 100  # cells of it
NAMED = 12  # models or sources that are named with a bar
DAYS = 3_660  # days in a row that are drawn at most


class Drawn(NamedTuple):
    """What the pane shows: the rows to draw, stacked by `part`, as `measure` ("tokens" or "cost"); the row at the
    cursor with its name and what it is (`by`)."""

    rows: tuple[Used, ...] = ()
    part: str = "model"
    measure: str = "tokens"
    by: str = "day"
    name: str = ""
    of_name: tuple[Used, ...] = ()


class UsagePane(Preview):
    """A plot as wide as the pane, then the numbers."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.drawn = Drawn()

    def show_drawn(self, drawn: Drawn) -> None:
        """Show it; nothing is painted when it is what is shown already."""
        if drawn != self.drawn:
            same = drawn.name == self.drawn.name
            self.drawn = drawn
            self.lay_out_again(keep_place=same)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The plot, its legend, the row at the cursor."""
        drawn, signs = self.drawn, glyphs(self)
        if not drawn.rows:
            return lay_out((Body("Nothing to draw.", "dim"),), width, wrapped)
        return [*plot(drawn, min(width, MOST_WIDE), signs), (), *lay_out(numbers(drawn, width, signs), width, wrapped)]


def plot(drawn: Drawn, width: int, signs: Glyphs) -> list[Line]:
    """The plot with its title and legend."""
    names = parts_of(drawn.rows, drawn.part, drawn.measure)
    days = _days(drawn.rows)
    money = drawn.measure == "cost"
    room = fitting(len(days), width)
    bins = [days[number * len(days) // room : (number + 1) * len(days) // room] for number in range(room)]
    place = {day: number for number, some in enumerate(bins) for day in some}
    columns = [[0.0] * len(names) for _ in bins]
    for row in drawn.rows:
        if row.day in place:
            name = getattr(row, drawn.part)
            columns[place[row.day]][names.index(name) if name in names else len(names) - 1] += _measure(row, money)
    what = "Cost" if money else "Tokens"
    each = f", {len(bins[0]):,} or more days in a column" if len(days) > room else ""
    unknown = "" if not money or any(row.cost is not None for row in drawn.rows) else ": no price is known"
    title = Spans(((f"{what} by day and {drawn.part}{each}{unknown}", "heading"),))
    shown = [name or "(none)" for name in names]
    lines = stacked(columns, [some[0] for some in bins[:1]] + [days[-1]], width, HEIGHT, signs, money)
    return [*lay_out((title,), width), *lines, *lay_out((Spans(tuple(legend(shown, signs)), 2),), width)]


def parts_of(rows: Sequence[Used], part: str, measure: str) -> list[str]:
    """The names that are told apart, what used most first; the last stands for all others where there are more."""
    money = measure == "cost"
    sums: dict[str, float] = {}
    for row in rows:
        name = str(getattr(row, part))
        sums[name] = sums.get(name, 0.0) + _measure(row, money)
    names = sorted(sums, key=lambda name: (-sums[name], name))
    return names if len(names) <= MOST else [*names[: MOST - 1], "others"]


def numbers(drawn: Drawn, width: int, signs: Glyphs) -> list[Block]:
    """The row at the cursor: counts, cost, who used how much of it."""
    if not drawn.of_name:
        return []
    one = total(drawn.of_name, drawn.name)
    blocks: list[Block] = [
        Heading(f"{drawn.by}: {one.name or '(none)'}"),
        Field("tokens", f"{one.total_tokens:,}"),
        Field("asked", f"{one.prompt_tokens:,}"),
        Field("answered", f"{one.completion_tokens:,}"),
        Field("requests", f"{one.requests:,}" + (f", {one.failed:,} failed" if one.failed else "")),
    ]
    if one.estimated:
        blocks.append(Field("estimated", f"{one.estimated:,} of the tokens are a guess", "warn"))
    blocks += cost_of(one)
    for name in ("day", "model", "source", "origin"):
        if name == drawn.by:
            continue
        sums: dict[str, float] = {}
        for row in drawn.of_name:
            key = str(getattr(row, name)) or "(none)"
            sums[key] = sums.get(key, 0.0) + row.total_tokens
        order = sorted(sums.items()) if name == "day" else sorted(sums.items(), key=lambda pair: -pair[1])
        shown = order[-NAMED:] if name == "day" else order[:NAMED]
        blocks += [Heading(f"Tokens by {name}"), Body("\n".join(bars(shown, width, signs)), keep=True)]
        if len(order) > NAMED:
            blocks.append(Body(f"… and {len(order) - NAMED:,} more", "dim"))
    return blocks


def cost_of(one: Sum) -> list[Block]:
    """What it cost, as far as prices are known, and what has none."""
    if one.is_whole:
        return [Field("cost", money_of(one.cost))]
    known = f"{money_of(one.cost)}, without what has no price" if one.cost is not None else "not known"
    models = ", ".join(name or "(none)" for name in one.unpriced)
    how = "`nanomem usage` has the command that sets one"
    return [
        Field("cost", known, "warn"),
        Body(f"No price is known of {counted(len(one.unpriced), 'model')}: {models}. {how}.", "dim"),
    ]


def money_of(cost: float | None) -> str:
    """A cost in the money of the prices; a dash where none is known."""
    if cost is None:
        return "-"
    return f"{cost:,.2f}" if cost >= 1 or not cost else f"{cost:.3g}" if cost >= 0.0001 else f"{cost:.1e}"


def _measure(row: Used, money: bool) -> float:
    return (row.cost or 0.0) if money else float(row.total_tokens)


def _days(rows: Sequence[Used]) -> list[str]:
    """Every day from the first to the last, also those on which nothing was used."""
    known = sorted({row.day for row in rows})
    try:
        first, last = date.fromisoformat(known[0]), date.fromisoformat(known[-1])
    except ValueError:  # a day that is none, from an import: only those that there are
        return known
    between = (last - first).days
    return known if between > DAYS else [(first + timedelta(days=day)).isoformat() for day in range(between + 1)]
