"""`nanomem event` and `nanomem metric`: what happens now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.memory_changes import warned
from nanomem_tui.cli.shared import Command, Count, Group, Words, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core import errors
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.tiers.operational import MetricValue, OperationalEntry

CATEGORIES = ("metric", "event", "task", "tool_result")


@click.group("event", cls=Group)
def event() -> None:
    """What happens now: events, tasks, results of tools, metrics.

    \b
    Example:
      nanomem event push "nginx restarted" --source systemd
      nanomem event recent
    """


@event.command("push")
@click.argument("said", type=Words(), nargs=-1, metavar="[TEXT]")
@click.option("--data", type=Words(), metavar="JSON", help="What happened as JSON, in place of a text.")
@click.option("--category", type=click.Choice(CATEGORIES), default="event", show_default=True, help="What it is.")
@click.option("--source", type=Words(), default="", help="Who tells it.")
@click.option("--critical", is_flag=True, help="Into working memory at once, as errors are.")
@pass_state
def push(state: State, said: Sequence[str], data: str | None, category: str, source: str, critical: bool) -> None:
    """Tell what happened. It is among what happens now for an hour, and then in working memory.

    \b
    Example:
      nanomem event push --category task --data '{"id": "backup", "status": "in_progress"}'
    """
    text = " ".join(said).strip()
    if (data is None) is not bool(text):
        raise click.UsageError("tell what happened, as a text or with --data", click.get_current_context())
    told = {"message": text} if data is None else _from_json(data)
    with state.open(starting=True) as ws:
        entry_id = ws.operational.push(category, told, source, critical)
        kept = ws.operational.get(entry_id)
    warnings = warned(state, [told, source])
    body = {**(values.plain(kept) if kept is not None else {"id": entry_id}), "warnings": warnings}
    state.show(body, [f"kept {_article(category)}: {entry_id}" + (" (critical)" if kept and kept.critical else "")])


@event.command("recent")
@click.option("--category", type=click.Choice(CATEGORIES), help="Those alone.")
@click.option("--source", type=Words(), help="Those that it told.")
@click.option("--since", type=Words(), metavar="TIME", help="From this time on, like 2026-02-15T09:30.")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def recent(state: State, category: str | None, source: str | None, since: str | None, limit: int, offset: int) -> None:
    """What happened within the last hour, newest first.

    \b
    Example:
      nanomem event recent --category task --limit 10
    """
    with state.open() as ws:
        found = ws.operational.recent(limit + offset, category, source, since)[offset:]
        total = ws.operational.state()["entries"]

    def lines() -> list[str]:
        number = counted(len(found), "entry", "entries")
        ending = number if len(found) >= total else f"{number} of {total:,} of the last hour"
        return [*_table(found), ending]

    state.show(values.plain(found), lines)


@click.command("metric", cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("name", type=Words(), required=False)
@click.argument("value", type=Words(), required=False)
@click.option("--unit", type=Words(), default="", help="What it is measured in.")
@click.option("--source", type=Words(), default="", help="Who measured it.")
@paged
@pass_state
def metric(
    state: State, name: str | None, value: str | None, unit: str, source: str, limit: int | None, offset: int
) -> None:
    """The newest value of a metric; with a VALUE, tell one; without a name, all of the last hour.

    \b
    Example:
      nanomem metric room.temperature 21.5 --unit °C
    """
    if name is not None and name.startswith("-"):
        raise click.UsageError(f"no option {name!r} in `nanomem metric`", click.get_current_context())
    if value is None and (unit or source):
        raise click.UsageError("--unit and --source go with a VALUE", click.get_current_context())
    if name is not None and (limit is not None or offset):
        raise click.UsageError("--limit and --offset go without a NAME", click.get_current_context())
    if name is not None and value is not None:
        _tell(state, name, value, unit, source)
        return
    with state.open() as ws:
        if name is None:
            known = ws.operational.metrics()
            shown = page(known, limit, offset)
            number = counted(len(known), "metric")
            ending = number if len(shown) == len(known) else f"{len(shown):,} of {number}"
            state.show(values.plain(shown), lambda: [*_metrics(shown), ending])
            return
        found = ws.operational.metric(name)
        if found is None:
            raise errors.NotFound("no such metric", name, "`nanomem metric` lists those of the last hour")
    state.show(values.plain(found), [f"{_number(found)}  {words.when(found.at)}"])


def _tell(state: State, name: str, value: str, unit: str, source: str) -> None:
    try:
        number = int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        raise errors.BadInput("the value of a metric must be a number", value[:40], "give one like 21.5") from None
    with state.open(starting=True) as ws:
        ws.operational.push("metric", {"name": name, "value": number, **({"unit": unit} if unit else {})}, source)
        found = ws.operational.metric(name)
    warnings = warned(state, [name, unit, source])
    body = {**(values.plain(found) if found is not None else {"name": name}), "warnings": warnings}
    state.show(body, [f"{found.name}: {_number(found)}" if found else name])


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.BadInput(
            "--data is no JSON", one_line(str(error), 80), """give it like '{"message": "…"}'"""
        ) from None


def _table(found: Sequence[OperationalEntry]) -> list[str]:
    from nanomem_tui.tiers.operational import said

    columns = [
        Column("When"),
        Column("Category"),
        Column("Source", limit=24, least=8, drop=2, optional=True),
        Column("Critical", drop=1, optional=True),
        Column("What", limit=160, least=16),
    ]
    rows = []
    for entry in found:
        grave = "yes" if entry.critical else ""
        rows.append((words.when(entry.at), entry.category, entry.source, grave, said(entry.category, entry.data)))
    return table(columns, rows, output.terminal_width())


def _metrics(found: Sequence[MetricValue]) -> list[str]:
    columns = [Column("Metric", limit=60, least=12), Column("Value", right=True), Column("When", drop=1)]
    return table(columns, [(one.name, _number(one), words.when(one.at)) for one in found], output.terminal_width())


def _number(found: MetricValue) -> str:
    text = f"{found.value:,.10g}"
    return f"{text} {found.unit}" if found.unit else text


def _article(category: str) -> str:
    name = category.replace("_", " ")
    return f"an {name}" if name == "event" else f"a {name}"
