"""The Usage screen, behind Knowledge: tokens and their cost, by day, model, source or origin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, ClassVar, NamedTuple

from textual.widget import Widget

from nanomem_tui.core.text import counted
from nanomem_tui.memory.facts.usage import BY, By, UsageRow, UsageSum, sum_rows
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.plots import MOST, bars, fitting_bars, legend, meter, stacked
from nanomem_tui.widgets.text_view import Block, Body, Field, Heading, Line, Preview, Spans, lay_out
from nanomem_tui.widgets.theme import Glyphs, glyphs

# What the right pane of the Usage screen draws: tokens or cost by day, stacked, and one row in numbers. Pure but for
# the pane itself.

HEIGHT = 8  # lines of the plot
MOST_WIDE = 100  # cells of it
NAMED = 12  # models or sources that are named with a bar
DAYS = 3_660  # days in a row that are drawn at most


class Drawn(NamedTuple):
    """What the pane shows: the rows to draw, stacked by `part`, as `measure` ("tokens" or "cost"); the row at the
    cursor with its name and what it is (`by`)."""

    rows: tuple[UsageRow, ...] = ()
    part: str = "model"
    measure: str = "tokens"
    by: str = "day"
    name: str = ""
    of_name: tuple[UsageRow, ...] = ()


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
    room = fitting_bars(len(days), width)
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


def parts_of(rows: Sequence[UsageRow], part: str, measure: str) -> list[str]:
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
    one = sum_rows(drawn.of_name, drawn.name)
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


def cost_of(one: UsageSum) -> list[Block]:
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


def _measure(row: UsageRow, money: bool) -> float:
    return (row.cost or 0.0) if money else float(row.total_tokens)


def _days(rows: Sequence[UsageRow]) -> list[str]:
    """Every day from the first to the last, also those on which nothing was used."""
    known = sorted({row.day for row in rows})
    try:
        first, last = date.fromisoformat(known[0]), date.fromisoformat(known[-1])
    except ValueError:  # a day that is none, from an import: only those that there are
        return known
    between = (last - first).days
    return known if between > DAYS else [(first + timedelta(days=day)).isoformat() for day in range(between + 1)]


BAR = 12  # cells
TITLES: Mapping[By, str] = {"day": "Day", "model": "Model", "source": "Source", "origin": "Whose"}
WHOSE = {"nanomem": "by nanomem", "agent": "by the agent", "import": "imported"}

Counted = UsageRow | UsageSum
"""What was read, and what the list shows: the sums of it."""


class UsageScreen(WorkspaceScreen[Counted]):
    """What language models used."""

    SCREEN = "usage"
    FLASHES = False  # the sums of another grouping are other rows
    EMPTY = "No use of tokens is known: no Dream asked a model, no agent counts its calls, nothing was imported."
    HELP = (
        "Tokens by day; B adds up by model, by source, by whose they are, C draws the cost. / filters what is added "
        "up: model:gpt-* source:dream whose:agent day:2026-02-* cost:>0. The agent's own calls are read in its log. A "
        "total may differ from what was asked and answered: it stands as it was recorded. Signs before a row: ! "
        "something of it has no known price."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "day": "text", "model": "text", "source": "text", "whose": "text", "tokens": "number", "cost": "number",
        "age": "age",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._by: By = "day"
        self._measure = "tokens"
        self._read_prices = False  # whether what is read next is read with the prices of then
        self._counted: Sequence[UsageRow] = ()  # the rows that are added up
        self._most = 0.0
        self._order: tuple[Callable[[Counted], Any] | None, bool] = (None, False)

    # The list

    def columns(self) -> Sequence[Column[Counted]]:
        """What it is added up by, tokens, cost, a bar."""
        signs, share = glyphs(self), "Of the cost" if self._measure == "cost" else "Share"
        name = "day" if self._by == "day" else self._by
        return (
            Column("name", TITLES[self._by], self._named, min_width=10 if name == "day" else 18,
                   sort=lambda row: self._named(row).casefold()),
            Column("tokens", "Tokens", lambda row: f"{row.total_tokens:,}", width=12, align="right",
                   sort=lambda row: row.total_tokens),
            Column("bar", share, lambda row: meter(self._amount(row) / (self._most or 1), BAR, signs), width=BAR,
                   priority=1, tone="accent"),
            Column("cost", "Cost", lambda row: money_of(row.cost), width=9, align="right",
                   sort=lambda row: row.cost or 0.0),
            Column("requests", "Requests", lambda row: f"{row.requests:,}", width=8, priority=2, align="right",
                   sort=lambda row: row.requests),
            Column("asked", "Asked", lambda row: f"{row.prompt_tokens:,}", width=11, priority=3, align="right",
                   tone="dim", sort=lambda row: row.prompt_tokens),
            Column("answered", "Answered", lambda row: f"{row.completion_tokens:,}", width=11, priority=4,
                   align="right", tone="dim", sort=lambda row: row.completion_tokens),
        )  # fmt: skip

    def _named(self, row: Counted) -> str:
        name = row.name if isinstance(row, UsageSum) else str(getattr(row, self._by))
        return WHOSE.get(name, name) if self._by == "origin" else name or "(none)"

    def _amount(self, row: Counted) -> float:
        return (row.cost or 0.0) if self._measure == "cost" else float(row.total_tokens)

    def row_id(self, row: Counted) -> str:
        """The name of the sum; of what was read all that tells it from the others."""
        return f"{self._by} {row.name}" if isinstance(row, UsageSum) else "\t".join(row[:4])

    def load(self) -> Iterable[Sequence[Counted]]:
        """Every row, ours and the agent's; what could not be read of its log is said."""
        if self._read_prices:
            self._read_prices = False
            self.ws.usage.read_prices()
        rows = self.ws.usage.rows()
        for problem in self.ws.usage.problems():
            self.app.call_later(say, self, problem.what, "warning", problem.where)
        yield rows

    def search_text(self, row: Counted) -> str:
        """Words are searched in the names."""
        return " ".join(row[:4]) if isinstance(row, UsageRow) else row.name

    def field(self, row: Counted, name: str) -> Any:
        """The fields of the filter language."""
        assert isinstance(row, UsageRow)
        values = {"whose": {row.origin, WHOSE[row.origin]}, "tokens": row.total_tokens, "age": f"{row.day}T12:00:00"}
        return values[name] if name in values else getattr(row, name)

    def sign(self, row: Counted) -> str:
        """Something of it has no known price."""
        return "!" if isinstance(row, UsageSum) and row.unpriced else ""

    def arranged(self, rows: Sequence[Counted]) -> Sequence[Counted]:
        """The rows that are wanted, added up."""
        self._counted = [row for row in rows if isinstance(row, UsageRow)]
        groups: dict[str, list[UsageRow]] = {}
        for row in self._counted:
            groups.setdefault(str(getattr(row, self._by)), []).append(row)
        sums: list[Counted] = [sum_rows(some, name) for name, some in groups.items()]
        self._most = max(map(self._amount, sums), default=0.0)
        if self._order[0] is not None:
            return sorted(sums, key=self._order[0], reverse=self._order[1])
        if self._by == "day":
            return sorted(sums, key=self._named, reverse=True)
        return sorted(sums, key=lambda row: (-self._amount(row), self._named(row)))

    def shown(self) -> int:
        """Rows that are added up."""
        return len(self._counted)

    def sort_by(self, column: Column[Counted] | None, descending: bool = False) -> None:
        """The sums are sorted, not what they are made of."""
        self._order = (column.sort if column else None, descending)
        super().sort_by(column, descending)

    def _say_totals(self) -> None:
        super()._say_totals()
        one = sum_rows(self._counted)
        cost = f"{money_of(one.cost)}{'' if one.is_whole else ' and more'}" if one.cost is not None else "no prices"
        parts = [counted(len(self.table.rows), self._by if self._by != "origin" else "owner")]
        parts += [f"{one.total_tokens:,} tokens", cost]
        if self._counted:
            self.say_counts(" · ".join(parts))

    # The detail

    def detail(self, row: Counted) -> Drawn:
        """The plot of all that is wanted, and the row in numbers."""
        rows = tuple(self._counted)
        name = row.name if isinstance(row, UsageSum) else ""
        part = self._by if self._by != "day" else "model"
        of_name = tuple(one for one in rows if str(getattr(one, self._by)) == name)
        return Drawn(rows, part, self._measure, self._by, name, of_name)

    def make_detail(self) -> Widget:
        """A plot over numbers."""
        return UsagePane(id="detail")

    def show_detail(self, detail: Any) -> None:
        """The plot; nothing where no row is chosen."""
        self.query_one(UsagePane).show_drawn(detail if isinstance(detail, Drawn) else Drawn())

    def copy_text(self) -> str:
        """The rows shown as lines with tabs, as a table takes them."""
        lines = [f"{TITLES[self._by]}\tTokens\tAsked\tAnswered\tRequests\tCost"]
        for row in self.table.rows:
            counts = (row.total_tokens, row.prompt_tokens, row.completion_tokens, row.requests)
            lines.append("\t".join((self._named(row), *map(str, counts), "" if row.cost is None else str(row.cost))))
        return "\n".join(lines)

    # Actions

    def do_reload(self) -> None:
        """Read everything again, also the prices."""
        self._read_prices = True
        super().do_reload()

    def do_group_by(self) -> None:
        """Add up by the next."""
        self._by = BY[(BY.index(self._by) + 1) % len(BY)]
        self._order = (None, False)
        self.sort_by(None)
        self.table.set_columns(self.columns())
        self._from_top = True
        self._make_view()
        self.refresh_detail()

    def do_measure(self) -> None:
        """Draw the cost, or tokens."""
        self._measure = "tokens" if self._measure == "cost" else "cost"
        if self._measure == "cost" and self._counted and all(row.cost is None for row in self._counted):
            say(self, "No price is known: `nanomem usage` has the command that sets one, f5 reads it", "warning")
        self.table.set_columns(self.columns())
        self._make_view()
        self.refresh_detail()
