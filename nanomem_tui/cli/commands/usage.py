"""`nanomem usage`: the tokens that language models used, ours and the agent's, and what they cost."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.options import Command, Count, State, Words, completing, page, paged, pass_state
from nanomem_tui.cli.output import Column, table
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.memory.facts.usage import UsageRow, UsageSum
    from nanomem_tui.review.charts import Picture


WIDE = 100  # cells of a plot that goes into a pipe
GAP = 366
"""Days of nothing between two that a plot shows."""
PRICE = "=ASKED/ANSWERED"
NAMED = 5
"""Models without a price that are named."""


@click.command("usage", cls=Command)
@click.option("--days", type=Count(1), help="Only of so many days, the last one is today.")
@click.option("--by", type=click.Choice(["day", "model", "source", "origin"]), help="Added up by this.")
@click.option("--plot", is_flag=True, help="As bars of tokens (by day, if not told otherwise).")
@click.option("--ascii", "ascii_only", is_flag=True, help="--plot: without block characters.")
@paged
@pass_state
def usage(
    state: State, days: int | None, by: Any, plot: bool, ascii_only: bool, limit: int | None, offset: int
) -> None:
    """The tokens that language models used: by day, model and source, with the cost where a price is set.

    What the agent used is read in its own log; rows say whose they are. Prices are of a million tokens asked and
    answered, all of them in one value: `nanomem config set model_prices gpt-4o=2.5/10,o3=2/8`.

    \b
    Example:
      nanomem usage --days 30 --by model
      nanomem usage --days 14 --plot
    """
    if ascii_only and not plot:
        raise click.UsageError("--ascii goes with --plot", click.get_current_context())
    with state.open() as ws:
        rows = ws.usage.rows(days)
        problems = ws.usage.problems()
        prices = ws.settings.model_prices
        here = ws.configuration.sources.get("model_prices") == str(ws.paths.settings)
    from nanomem_tui.memory.facts.usage import add_up, sum_rows

    whole = sum_rows(rows)
    found: Sequence[Any] = add_up(rows, by or "day") if by or plot else rows
    shown = page(found, limit, offset)
    body = [_sum(one, by or "day") for one in shown] if by or plot else [_row(one) for one in shown]
    if plot:
        lines = _plot(shown, by or "day", ascii_only=ascii_only)
    else:
        lines = _sums(shown, by) if by else _rows(shown)
    fix = _priced(prices, whole.unpriced[:NAMED], here=here)
    state.show(body, lambda: [*lines, *_ending(whole, len(shown), len(found), fix)])
    if not state.json:
        output.notes([f"Note: {problem.text()}" for problem in problems])


def _row(row: UsageRow) -> dict[str, Any]:
    """A row as scripts get it; the columns are those of the table `token_usage`."""
    body = values.plain(row)
    name = f"{row.day}/{row.model}/{row.source}/{row.origin}"
    return {"id": name, "date": body.pop("day"), **body, "cost": _rounded(row.cost)}


def _sum(one: UsageSum, by: str) -> dict[str, Any]:
    body = values.plain(one)
    return {"id": one.name, {"day": "date"}.get(by, by): body.pop("name"), **body, "cost": _rounded(one.cost)}


def _rounded(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 6)


_COUNTS = (
    Column("Requests", right=True, drop=3),
    Column("Asked", right=True, drop=4),
    Column("Answered", right=True, drop=5),
    Column("Total", right=True),
    Column("Failed", right=True, optional=True, drop=2),
    Column("Cost", right=True),
)


def _counts(row: UsageRow | UsageSum) -> tuple[str, ...]:
    numbers = (row.requests, row.prompt_tokens, row.completion_tokens, row.total_tokens)
    return (*(f"{number:,}" for number in numbers), f"{row.failed:,}" if row.failed else "")


def _rows(rows: Sequence[UsageRow]) -> list[str]:
    columns = [Column("Day"), Column("Model", limit=40, least=12), Column("Source"), Column("Origin", drop=1), *_COUNTS]
    cells = [(row.day, row.model, row.source, row.origin, *_counts(row), _cost(row.cost)) for row in rows]
    return table(columns, cells, output.terminal_width())


def _sums(sums: Sequence[UsageSum], by: str) -> list[str]:
    cells = [(one.name, *_counts(one), _cost(one.cost, whole=one.is_whole)) for one in sums]
    return table([Column(by.capitalize(), limit=40, least=10), *_COUNTS], cells, output.terminal_width())


def _cost(cost: float | None, *, whole: bool = True) -> str:
    """A cost, `?` where no price is known, and with `+?` what is known of one that is not all."""
    if cost is None:
        return "?"
    return f"{cost:,.4f}" if whole else f"{cost:,.4f}+?"


def _priced(prices: Mapping[str, tuple[float, float]], unpriced: Sequence[str], *, here: bool) -> str:
    """The command that adds prices of these models to those that are set."""
    known = {name: "/".join(repr(price).removesuffix(".0") for price in both) for name, both in prices.items()}
    wanted = {**known, **dict.fromkeys(unpriced, PRICE[1:])}
    told = ",".join(f"{name}={price}" for name, price in wanted.items())
    if any(not name.isprintable() or name != name.strip() or set(name) & set(",={") for name in wanted):
        told = json.dumps(wanted, ensure_ascii=False)
    return f"nanomem config set model_prices {shlex.quote(told)}{' --here' if here else ''}"


def _ending(whole: UsageSum, shown: int, found: int, fix: str) -> list[str]:
    """What all of it comes to, and what is not known of its cost; `fix`: the command that sets what is not."""
    if not found:
        return ["No token use."]
    part = f"{shown} of {found} rows; " if shown < found else ""
    failed = f", {whole.failed:,} failed" if whole.failed else ""
    said = f"{part}{whole.total_tokens:,} tokens in {output.counted(whole.requests, 'request')}{failed}"
    if whole.cost is not None:
        said += f", cost {'' if whole.is_whole else 'at least '}{whole.cost:,.4f}"
    lines = [said]
    if whole.estimated:
        lines.append(f"{whole.estimated:,} of the tokens are estimated.")
    if whole.unpriced:
        names = ", ".join(one_line(model, 60) for model in whole.unpriced[:NAMED])
        more = f" and {len(whole.unpriced) - NAMED} more" if len(whole.unpriced) > NAMED else ""
        lines.append(f"No price is set for {names}{more}: {one_line(fix, 1_000)}")
    return lines


def _plot(sums: Sequence[UsageSum], by: str, *, ascii_only: bool) -> list[str]:
    """A bar for each; days in order, also those of nothing."""
    from nanomem_tui.widgets.look import ASCII, UNICODE
    from nanomem_tui.widgets.plots import bars

    found = {one.name: float(one.total_tokens) for one in sums}
    rows = [(day, found.get(day, 0.0)) for day in _days(sorted(found))] if by == "day" else list(found.items())
    width = output.terminal_width() or WIDE
    return bars(rows, width, ASCII if ascii_only else UNICODE)


def _days(found: Sequence[str]) -> list[str]:
    """Each day from the first to the last; only those that are there where that would be too many."""
    try:
        first, last = date.fromisoformat(found[0]), date.fromisoformat(found[-1])
    except (ValueError, IndexError):
        return list(found)
    between = (last - first).days
    return [(first + timedelta(days=n)).isoformat() for n in range(between + 1)] if between <= GAP else list(found)


# `nanomem pictures`: what a memory looks like over time and by kind, as plots for a terminal or as numbers.

PICTURES_WIDE, HIGH = 80, 16  # cells and lines of a plot where no terminal says otherwise


@click.command("pictures", cls=Command)
@click.argument("name", type=Words(), required=False, shell_complete=completing("pictures"))
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw without block characters and Braille.")
@pass_state
def pictures(state: State, name: str | None, *, ascii_only: bool) -> None:
    """Growth by kind, hit rate, never recalled, checkpoints, tokens and cost, Dream survival, duplicates.

    \b
    Example:
      nanomem pictures
      nanomem pictures growth
      nanomem pictures tokens --json
    """
    from nanomem_tui.review import charts as drawing

    with state.open() as ws:
        found = [drawing.picture(ws, name)] if name else list(drawing.pictures(ws))
    state.show([one.to_json() for one in found], lambda: _drawn(found, ascii_only=ascii_only))


def _drawn(found: Sequence[Picture], *, ascii_only: bool) -> list[str]:
    from nanomem_tui.widgets.look import ASCII, UNICODE
    from nanomem_tui.widgets.plots import drawn

    lines: list[str] = []
    for one in found:
        laid_out = drawn(one, output.terminal_width() or PICTURES_WIDE, HIGH, ASCII if ascii_only else UNICODE)
        lines += [*([""] if lines else []), *("".join(text for text, _ in line).rstrip() for line in laid_out)]
    return lines
