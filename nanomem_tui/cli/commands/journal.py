"""`nanomem journal`, `reflections` and `usage`: daily entries, reflections, and the tokens that models used."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.fast_commands import within
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    Words,
    asked_query,
    dated,
    paged,
    pass_state,
    query_options,
    rehearsable,
    warn,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import added, show_changes
from nanomem_tui.cli.resource import Resource, typed
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.facts.usage import UsageRow, UsageSum
    from nanomem_tui.store.values import Record


SHOWN = 20  # of those that are to be deleted


@click.group("journal", cls=Group)
def journal() -> None:
    """Daily journal entries.

    \b
    Example:
      nanomem journal add "Moved the server to Berlin"
    """


@journal.command("list")
@dated
@paged
@pass_state
def list_entries(state: State, since: str, until: str, limit: int | None, offset: int) -> None:
    """The entries, newest day first.

    \b
    Example:
      nanomem journal list --since 2026-02-15 --until "last week"
    """
    with state.open() as ws:
        span = within(ws, since, until)
        days = (str(span.since), str(span.until)) if span is not None else ("", "")
        found = ws.journal.entries(*days)
    _show(state, found, limit, offset)


@journal.command()
@query_options
@paged
@pass_state
def search(state: State, query: str | None, terms: Sequence[str], limit: int | None, offset: int) -> None:
    """The entries that hold every word; "a phrase" and -without are taken as they stand.

    \b
    Example:
      nanomem journal search --query server
    """
    with state.open() as ws:
        found = ws.journal.entries(words=asked_query(query, terms))
    _show(state, found, limit, offset)


@journal.command()
@click.argument("entry_id", metavar="ID", type=Words())
@pass_state
def show(state: State, entry_id: str) -> None:
    """One entry in full.

    \b
    Example:
      nanomem journal show journal_1739443200123_1
    """
    with state.open() as ws:
        row = ws.journal.get(entry_id)
    body = json_objects.journal_entry(row)
    pairs = [
        ("ID", row.id),
        ("Day", row.about),
        ("Session", row.session_key),
        ("Source", row.source),
        ("Noted", output.when(row.at)),
        ("Updated", output.when(row.updated_at)),
        ("Careful", output.reads_as(row)),
    ]
    state.show(body, lambda: [*output.fields(pairs), "", *paragraph(row.text, output.terminal_width())])


@journal.command()
@click.argument("said", type=Words(), nargs=-1, metavar="[TEXT]")
@click.option("--text", type=Words(), help="What is to be noted.")
@click.option("--day", type=Words(), default="", help="The day that it is about (default: today).")
@click.option("--session", "session_key", type=Words(), default="", help="The session that it comes from.")
@rehearsable
@pass_state
def add(state: State, said: Sequence[str], text: str | None, day: str, session_key: str, dry_run: bool) -> None:
    """Note something; safe on disk when the command returns.

    \b
    Example:
      nanomem journal add "Moved the server to Berlin" --day 2026-02-15
    """
    if (text is None) is not bool(said):
        raise click.UsageError("name what is to be noted, once", click.get_current_context())
    text = " ".join(said) if text is None else text
    with state.open(dry_run=dry_run, starting=True) as ws:
        op, row, warnings = ws.journal.add(text, day, session_key=session_key)
    body = {"entry": json_objects.journal_entry(row), "warnings": warnings}
    warn(state, warnings)
    added(state, op, row.id, body, dry_run=dry_run)


@journal.command()
@click.argument("entry_id", metavar="ID", type=Words())
@click.option("--text", type=Words(), help="The new words (without any option: edit them in $EDITOR).")
@click.option("--day", type=Words(), help="The day that it is about.")
@rehearsable
@pass_state
def edit(state: State, entry_id: str, text: str | None, day: str | None, dry_run: bool) -> None:
    """Correct an entry, here or in your editor.

    \b
    Example:
      nanomem journal edit journal_1739443200123_1 --day 2026-02-14
    """
    with state.open(dry_run=dry_run) as ws:
        row = ws.journal.get(entry_id)
        new = typed({"text": text, "day": day}, row, "text", row.text, "--text")
        is_now = {"text": row.text, "day": row.about}
        changed = {name: value for name, value in new.fields.items() if value != is_now[name]}
        with new.kept():
            done = [ws.journal.edit(row.id, expected=new.seen, **changed)] if any(changed.values()) else []
        after = ws.journal.get(row.id)
        warnings = ws.journal.warnings(after) if changed.get("text") else []
    warn(state, warnings)
    body = {"entry": json_objects.journal_entry(after), "warnings": warnings}
    show_changes(state, done, body, "Nothing changed.", dry_run=dry_run)


def _show(state: State, found: Sequence[Record], limit: int | None, offset: int) -> None:
    shown = page(found, limit, offset)
    ending = ENTRIES.ending(len(shown), len(found))
    state.show([json_objects.journal_entry(row) for row in shown], lambda: [*_table(shown), ending])


def _table(rows: Sequence[Record]) -> list[str]:
    columns = [
        Column("ID"),
        Column("Day"),
        Column("Session", limit=28, least=12, drop=1, optional=True),
        Column("Text", limit=120, least=16),
    ]
    cells: list[tuple[str, ...]] = [(row.id, row.about, row.session_key, row.text) for row in rows]
    return table(columns, cells, output.terminal_width())


ENTRIES = Resource(
    ("journal entry", "journal entries"), "entries", "journal", lambda _, row: json_objects.journal_entry(row),
    lambda rows, _: ["Would delete:", *_table(rows[:SHOWN])], completes="",
)  # fmt: skip
journal.add_command(
    ENTRIES.deleting(
        """Take entries away. `nanomem undo` brings them back.

        \b
        Example:
          nanomem journal delete journal_1739443200123_1 --yes
        """
    )
)


# -- `nanomem reflections`: tools that failed, and what follows from it -----------------------------------------------

id_argument = click.argument("reflection_id", metavar="ID", type=Words())


@click.group("reflections", cls=Group)
def reflections() -> None:
    """Tools that failed, and what follows from it.

    \b
    Example:
      nanomem reflections list --tool web_search
    """


@reflections.command("list")
@click.option("--tool", type=Words(), default="", help="Only of this tool.")
@click.option("--query", type=Words(), default="", help="Only those that hold these words.")
@paged
@pass_state
def list_reflections(state: State, tool: str, query: str, limit: int | None, offset: int) -> None:
    """The reflections, newest first.

    \b
    Example:
      nanomem reflections list --tool web_search --query timeout
    """
    with state.open() as ws:
        found = ws.reflections.all(tool, query)
    shown = page(found, limit, offset)
    ending = REFLECTIONS.ending(len(shown), len(found))
    state.show([json_objects.reflection(row) for row in shown], lambda: [*_reflections_table(shown), ending])


@reflections.command("show")
@id_argument
@pass_state
def reflections_show(state: State, reflection_id: str) -> None:
    """One reflection: what failed, what follows, and the lesson that it became.

    \b
    Example:
      nanomem reflections show reflection_1739443200123_1
    """
    with state.open() as ws:
        row = ws.reflections.get(reflection_id)
        lesson, outdated = ws.reflections.lesson_of(row), ws.reflections.outdated(row)
    body = {**json_objects.reflection(row), "lesson": lesson.id if lesson else None}
    pairs = [
        ("ID", row.id),
        ("Tool", row.about),
        ("Arguments", body["tool_args"] or ""),
        ("Error", body["error_text"]),
        ("Insight", row.text),
        ("Careful", output.reads_as(row)),
        ("Times", str(body["times"]) if body["times"] > 1 else ""),
        ("Lesson", lesson.id if lesson else f"none yet: nanomem reflections lesson {row.id}"),
        ("", f"says something else: nanomem reflections lesson {row.id} brings it up to date" if outdated else ""),
        ("Session", row.session_key),
        ("Source", row.source),
        ("Happened", output.when(row.at)),
        ("Created", output.when(row.created_at)),
    ]
    state.show(body, lambda: output.fields(pairs))


@reflections.command("add")
@click.option("--tool", type=Words(), required=True, help="The tool that failed.")
@click.option("--args", type=Words(), default="", help="What it was given; secrets are masked.")
@click.option("--error", type=Words(), required=True, help="What it said; secrets are masked.")
@click.option("--insight", type=Words(), required=True, help="What follows from it.")
@click.option("--session", "session_key", type=Words(), default="", help="The session that it happened in.")
@rehearsable
@pass_state
def reflections_add(state: State, dry_run: bool, **fields: Any) -> None:
    """Keep a reflection; safe on disk when the command returns.

    \b
    Example:
      nanomem reflections add --tool web_search --error timeout --insight "Ask for less"
    """
    with state.open(dry_run=dry_run, starting=True) as ws:
        op, row, warnings = ws.reflections.add(**fields)
    body = {"reflection": json_objects.reflection(row), "warnings": warnings}
    warn(state, warnings)
    added(state, op, row.id, body, dry_run=dry_run)


@reflections.command("edit")
@id_argument
@click.option("--tool", type=Words(), help="The tool that failed.")
@click.option("--args", type=Words(), help="What it was given.")
@click.option("--error", type=Words(), help="What it said.")
@click.option("--insight", type=Words(), help="What follows (without any option: edit it in $EDITOR).")
@rehearsable
@pass_state
def reflections_edit(state: State, reflection_id: str, dry_run: bool, **given: str | None) -> None:
    """Correct a reflection, here or in your editor. A lesson that it became stays as it is, which is
    then said: `nanomem reflections lesson ID` brings it up to date.

    \b
    Example:
      nanomem reflections edit reflection_1739443200123_1 --insight "Ask for less at once"
    """
    with state.open(dry_run=dry_run) as ws:
        row = ws.reflections.get(reflection_id)
        new = typed(given, row, "insight", row.text, "--insight")
        is_now = {
            "tool": row.about,
            "insight": row.text,
            **{name: row.meta.get(name, "") for name in ("args", "error")},
        }
        changed = {name: text for name, text in new.fields.items() if text != is_now[name]}
        done: list[Operation] = []
        warnings: list[str] = []
        with new.kept():
            if changed:
                op, row, warnings = ws.reflections.edit(row.id, expected=new.seen, **changed)
                done = [op]
    warn(state, warnings)
    body = {"reflection": json_objects.reflection(row), "warnings": warnings}
    show_changes(state, done, body, "Nothing changed.", dry_run=dry_run)


REFLECTIONS = Resource(
    ("reflection",), "reflections", "reflections", lambda _, row: json_objects.reflection(row),
    lambda rows, _: ["Would delete:", *_reflections_table(rows[:SHOWN])], completes="",
)  # fmt: skip
reflections.add_command(
    REFLECTIONS.deleting(
        """Take reflections away; lessons that they became stay. `nanomem undo` brings them back.

        \b
        Example:
          nanomem reflections delete reflection_1739443200123_1 --yes
        """
    )
)


@reflections.command()
@id_argument
@click.option(
    "--scope", type=click.Choice(["session", "global"]), default="global", show_default=True, help="Where it applies."
)
@rehearsable
@pass_state
def lesson(state: State, reflection_id: str, scope: str, dry_run: bool) -> None:
    """Make the lesson that follows from a reflection, which is what the agent is given, or bring the one that it became
    up to date. One that reads as an order to the model waits in the inbox.

    \b
    Example:
      nanomem reflections lesson reflection_1739443200123_1
    """
    with state.open(dry_run=dry_run) as ws:
        op, made = ws.reflections.lesson(reflection_id, scope)
        row = ws.reflections.get(reflection_id)
        rows = {
            "reflection": json_objects.reflection(row),
            "lesson": json_objects.lesson(made, ws.lessons),
        }
    more = [f"to have it given: nanomem inbox accept {made.id}"] if made.waits else []
    added(state, op, made.id, rows, more, dry_run=dry_run)


def _reflections_table(rows: Sequence[Record]) -> list[str]:
    columns = [
        Column("ID", of=lambda row: row["id"]),
        Column("Time", drop=3, of=lambda row: output.when(row["at"])),
        Column("Tool", limit=24, least=8, of=lambda row: row["tool_name"]),
        Column("Times", right=True, optional=True, of=lambda row: str(row["times"]) if row["times"] > 1 else ""),
        Column("Error", limit=60, least=14, drop=2, of=lambda row: row["error_text"]),
        Column("Insight", limit=100, least=14, of=lambda row: row["insight"]),
        Column("Lesson", optional=True, drop=1, of=lambda row: row["lesson"] or ""),
    ]
    shown = [json_objects.reflection(row) for row in rows]
    return output.columned(columns, shown)


# -- `nanomem usage`: the tokens that language models used, ours and the agent's, and what they cost ------------------

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
@paged
@pass_state
def usage(state: State, days: int | None, by: Any, plot: bool, limit: int | None, offset: int) -> None:
    """The tokens that language models used: by day, model and source, with the cost where a price is set.

    What the agent used is read in its own log; rows say whose they are. Prices are of a million tokens asked and
    answered, all of them in one value: `nanomem config set model_prices gpt-4o=2.5/10,o3=2/8`.

    \b
    Example:
      nanomem usage --days 30 --by model
      nanomem usage --days 14 --plot
    """
    with state.open() as ws:
        rows = ws.usage.rows(days)
        problems = ws.usage.problems()
        prices, ascii_only = ws.settings.model_prices, ws.settings.ascii
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
    body = json_objects.plain(row)
    name = f"{row.day}/{row.model}/{row.source}/{row.origin}"
    return {"id": name, "date": body.pop("day"), **body, "cost": _rounded(row.cost)}


def _sum(one: UsageSum, by: str) -> dict[str, Any]:
    body = json_objects.plain(one)
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
    from nanomem_tui.widgets.plots import bars
    from nanomem_tui.widgets.theme import ASCII, UNICODE

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
