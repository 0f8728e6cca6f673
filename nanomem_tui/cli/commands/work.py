"""`nanomem event`, `metric`, `context` and `lifecycle`: what happens now, the context for a task, and aging records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output, passages
from nanomem_tui.cli.commands.records import found_in
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    Words,
    agreed,
    all_read,
    asked_query,
    audience_options,
    decided,
    paged,
    pass_state,
    query_options,
    rehearsable,
    warned,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import errors
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.store.work.year_archive import Manifest
    from nanomem_tui.tiers.context import Context, ContextChunk
    from nanomem_tui.tiers.lifecycle import LifecyclePlan
    from nanomem_tui.tiers.operational import MetricValue, OperationalEntry
    from nanomem_tui.workspace import Workspace


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
    body = {**(json_objects.plain(kept) if kept is not None else {"id": entry_id}), "warnings": warnings}
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

    state.show(json_objects.plain(found), lines)


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
            state.show(json_objects.plain(shown), lambda: [*_metrics(shown), ending])
            return
        found = ws.operational.metric(name)
        if found is None:
            raise errors.NotFound("no such metric", name, "`nanomem metric` lists those of the last hour")
    state.show(json_objects.plain(found), [f"{_number(found)}  {output.when(found.at)}"])


def _tell(state: State, name: str, value: str, unit: str, source: str) -> None:
    try:
        number = int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        raise errors.BadInput("the value of a metric must be a number", value[:40], "give one like 21.5") from None
    with state.open(starting=True) as ws:
        ws.operational.push("metric", {"name": name, "value": number, **({"unit": unit} if unit else {})}, source)
        found = ws.operational.metric(name)
    warnings = warned(state, [name, unit, source])
    body = {**(json_objects.plain(found) if found is not None else {"name": name}), "warnings": warnings}
    state.show(body, [f"{found.name}: {_number(found)}" if found else name])


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise errors.BadInput(
            "--data is no JSON", one_line(str(error), 80), """give it like '{"message": "…"}'"""
        ) from None


def _table(found: Sequence[OperationalEntry]) -> list[str]:
    from nanomem_tui.tiers.operational import entry_text

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
        rows.append(
            (output.when(entry.at), entry.category, entry.source, grave, entry_text(entry.category, entry.data))
        )
    return table(columns, rows, output.terminal_width())


def _metrics(found: Sequence[MetricValue]) -> list[str]:
    columns = [Column("Metric", limit=60, least=12), Column("Value", right=True), Column("When", drop=1)]
    return table(columns, [(one.name, _number(one), output.when(one.at)) for one in found], output.terminal_width())


def _number(found: MetricValue) -> str:
    text = f"{found.value:,.10g}"
    return f"{text} {found.unit}" if found.unit else text


def _article(category: str) -> str:
    name = category.replace("_", " ")
    return f"an {name}" if name == "event" else f"a {name}"


# `nanomem context`: what an agent should know for a task, out of every tier, within a budget of tokens. Reads only.

_BAR = 30  # cells
_SHOWN = 10  # of what was cut, where nobody wants an explanation
_INDENT = "  "


@click.command("context", cls=Command)
@click.argument("task", type=Words(), nargs=-1, required=True)
@click.option("--max-tokens", type=Count(1), help="Tokens of all chunks together at most (default: 4000).")
@click.option(
    "--tiers", type=Words(), multiple=True, metavar="TIER[,TIER]", help="Of these alone: operational, working, "
    "longterm, knowledge.",
)  # fmt: skip
@audience_options(
    "Items and lessons as seen from this channel.",
    "Items and lessons as seen from this chat.",
    "Items and lessons as seen by this person.",
)
@click.option("--explain", is_flag=True, help="Show the parts of each relevance, and everything that was left out.")
@click.option("--block", is_flag=True, help="Print the block that a model is given, all of it within the budget.")
@pass_state
def context(
    state: State,
    *,
    task: Sequence[str],
    max_tokens: int | None,
    tiers: Sequence[str],
    audience: Audience,
    explain: bool,
    block: bool,
) -> None:
    """What is to be known for a task: events of now, records of work, items and lessons, documents.

    The best chunks first, none twice, never more tokens than asked for. Nothing is written by asking. Beside what reads
    as an order to a model stands a warning, here and in --json; --block leaves it out.

    \b
    Example:
      nanomem context "renew the certificates of web-1" --max-tokens 800
      nanomem context "why is nginx slow?" --tiers operational,working --explain
      nanomem context "why is nginx slow?" --block
    """
    from nanomem_tui.tiers.context_fitting import instructing_reason

    named = [tier for given in tiers for tier in given.split(",")]
    with state.open() as ws:
        found = ws.context.assemble(" ".join(task), max_tokens, named, audience, framed=block)
        text = ws.context.block(found) if block else ""
        ascii_only = ws.settings.ascii
    body = found.to_json() | ({"block": text} if block else {})
    for row in body["chunks"]:
        if why := instructing_reason(row["source"], row["content"]):
            row["warning"] = why
    state.show(body, (lambda: text.split("\n")) if text else (lambda: _lines(found, explain, ascii_only)))
    if not state.json:
        output.notes([f"Note: {note}" for note in found.notes])


def _lines(found: Context, explain: bool, ascii_only: bool) -> list[str]:
    from nanomem_tui.tiers.context_fitting import instructing_reason

    width = output.terminal_width()
    lines: list[str] = []
    for chunk in found.chunks:
        lines += paragraph(_head(chunk), width)
        if why := instructing_reason(chunk.source, chunk.content):
            lines += [_INDENT + line for line in paragraph(f"Careful: it {why}.", width and width - len(_INDENT))]
        lines += [_INDENT + line for line in paragraph(chunk.content, width and width - len(_INDENT))]
        if explain:
            lines += [_INDENT + line for line in paragraph(_parts(chunk), width and width - len(_INDENT))]
        lines.append("")
    if not found.chunks:
        lines += [found.nothing, ""]
    lines.append(_budget(found, ascii_only))
    lines.append(f"Counted by {found.counted_by}.")
    if found.cut:
        many = len(found.cut) if explain else _SHOWN
        lines += ["", "Left out:"]
        lines += [one_line(f"  {one.relevance:.2f}  {one.source}  {one.why}", width or 0) for one in found.cut[:many]]
        if len(found.cut) > many:
            lines.append(f"  … and {len(found.cut) - many:,} more (--explain)")
    return lines


def _head(chunk: ContextChunk) -> str:
    shortened = f", of {chunk.whole:,}" if chunk.whole else ""
    return f"{chunk.relevance:.2f}  {chunk.source}  ({counted(chunk.tokens, 'token')}{shortened})"


def _parts(chunk: ContextChunk) -> str:
    return passages.parts(dict(chunk.parts))


def _budget(found: Context, ascii_only: bool) -> str:
    from nanomem_tui.widgets.plots import meter
    from nanomem_tui.widgets.theme import ASCII, UNICODE

    bar = meter(found.total_tokens / found.max_tokens, _BAR, ASCII if ascii_only else UNICODE)
    return f"{bar} {found.total_tokens:,} of {counted(found.max_tokens, 'token')}"


# -- `nanomem lifecycle`: what becomes of the records of an agent's work as they grow old -----------------------------

_NOTHING = "Nothing is due."
YEAR = click.IntRange(1970, 9999)


@click.group("lifecycle", cls=Group)
def lifecycle() -> None:
    """Age records: promote to long-term memory, aggregate, archive by year.

    The open console does this once a day by itself, and so does `nanomem serve grpc`.

    \b
    Example:
      nanomem lifecycle plan
    """


@lifecycle.command("run")
@click.option("--force", is_flag=True, help="Also when the clock seems to have jumped.")
@click.option("--if-due", is_flag=True, help="Only when none ran for a day: for cron.")
@rehearsable
@pass_state
def run(state: State, force: bool, if_due: bool, dry_run: bool) -> int:
    """Move what is old enough. It is one operation; `nanomem undo` takes it back.

    Metrics are averaged by hour after a week, and the averages kept for a year. Tool calls, decisions, events and
    states of agents leave after 30 days, goals and tasks that ended after 90. Important decisions, patterns and
    incidents stay where they are.

    \b
    Example:
      nanomem lifecycle run --dry-run
    """
    with state.open() as ws:
        if dry_run:
            plan = ws.lifecycle.plan()
            state.show({"operation": None, "dry_run": True, **plan.to_json()}, lambda: _plan(plan))
            return 0
        if if_due:
            return _if_due(state, ws)
        ran = ws.lifecycle.run(force=force, wait=5.0)
        lines = [ran.operation.label] if ran.operation is not None else [_NOTHING]
        state.show({"operation": json_objects.operation(ran.operation), **ran.to_json()}, lines)
    return 0


def _if_due(state: State, ws: Workspace) -> int:
    """What the console does by itself, once."""
    outcome = ws.lifecycle.step()
    if outcome.kind == "failed":
        raise errors.NanomemError(outcome.said)
    operation = ws.log(1)[0].operation if outcome.kind == "ran" else None
    body = {"operation": json_objects.operation(operation), "rows": dict(operation.meta["rows"]) if operation else {}}
    said = outcome.said or {"waiting": "None is due yet."}.get(outcome.kind, _NOTHING)
    state.show({**body, "stopped": False, "kind": outcome.kind}, [operation.label if operation else said])
    return 0


@lifecycle.command("plan")
@pass_state
def plan(state: State) -> None:
    """What a run would do now, how large each tier is, when it becomes too large, and which archives there are.

    \b
    Example:
      nanomem lifecycle plan --json
    """
    with state.open() as ws:
        found = ws.lifecycle.plan()
        archives, problems = ws.lifecycle.archives.found()
        told = ws.lifecycle.state()
    body = {**found.to_json(), "archives": told["archives"]}
    body |= {name: told[name] for name in ("enabled", "held", "last_at", "next_at", "last")}
    state.show(body, lambda: [*_plan(found), *_sizes(found), *_archives(archives), *_schedule(told)])
    all_read(problems)


def _plan(found: LifecyclePlan) -> list[str]:
    due = [step for step in found.steps if step.rows or step.stay]
    columns = [
        Column("Kind", of=lambda step: step.kind),
        Column("Rows", right=True, of=lambda step: f"{step.rows:,}"),
        Column("Size", right=True, of=lambda step: output.size(step.bytes) if step.rows else ""),
        Column("Fate", of=lambda step: fates[step.what] if step.rows else ""),
        Column("Oldest", drop=1, of=lambda step: output.when(step.oldest)),
        Column("Stay", right=True, drop=2, of=lambda step: f"{step.stay:,}"),
    ]
    fates = {"moved": "to long-term memory", "averaged": "averaged by hour", "deleted": "deleted"}

    refused = [f"Refused: {found.refused}; add --force if the clock is right."] if found.refused else []
    return [*refused, *(output.columned(columns, due) or [_NOTHING])]


def _sizes(found: LifecyclePlan) -> list[str]:
    from nanomem_tui.tiers.lifecycle import forecast_line

    return ["", *(forecast_line(one, output.size) for one in found.sizes.forecasts)] if found.sizes is not None else []


def _archives(found: Sequence[Manifest]) -> list[str]:
    columns = [Column("Archive"), Column("Records", right=True), Column("Size", right=True), Column("State")]
    rows = [(one.name, f"{one.records:,}", output.size(one.bytes), one.state) for one in found]
    return ["", *table(columns, rows, output.terminal_width())] if rows else []


def _schedule(told: Mapping[str, Any]) -> list[str]:
    if not told["enabled"]:
        return ["", "None by itself: lifecycle_enabled is off."]
    if told["held"]:
        return ["", f"{told['held'][:1].upper()}{told['held'][1:]}."]
    pairs = [("Last run", output.when(told["last_at"]) if told["last_at"] else "never")]
    return ["", *output.fields([*pairs, ("Next run", output.when(told["next_at"]) if told["next_at"] else "")])]


@lifecycle.command("archive")
@click.argument("year", type=YEAR)
@decided
@pass_state
def archive(state: State, year: int, yes: bool, dry_run: bool) -> None:
    """Let the records of a closed year leave long-term memory for a compressed file.

    The file is read back before a record leaves. `nanomem lifecycle search` looks into it, `lifecycle restore` (or
    `nanomem undo`) brings the records back. A second archive of a year is a second file.

    \b
    Example:
      nanomem lifecycle archive 2024 --dry-run
    """
    with state.open() as ws:
        counts = ws.lifecycle.archive_plan(year)
        if not counts:
            raise ws.lifecycle.archives.nothing_of(year)
        lines = [f"Would archive {output.counted(sum(counts.values()), 'record')} of {year}: {output.tally(counts)}"]
        body = {"year": year, "counts": counts, "records": sum(counts.values())}
        if agreed(state, body, lines, f"Archive {year}?", yes=yes, dry_run=dry_run):
            op, made = ws.lifecycle.archive(year)
            state.show({"operation": json_objects.operation(op), "archive": made.to_json()}, [op.label])


@lifecycle.command("restore")
@click.argument("year", type=YEAR)
@decided
@pass_state
def restore(state: State, year: int, yes: bool, dry_run: bool) -> None:
    """Bring the records of a year back from its archive; the file stays.

    \b
    Example:
      nanomem lifecycle restore 2024
    """
    with state.open() as ws:
        found = ws.lifecycle.archives_of(year)
        records = sum(one.records for one in found)
        body = {"year": year, "archives": [one.name for one in found], "records": records}
        lines = [f"Would restore {output.counted(records, 'record')} of {year}"]
        if agreed(state, body, lines, f"Restore {year}?", yes=yes or not dry_run, dry_run=dry_run):
            op = ws.lifecycle.restore(year)
            state.show({"operation": json_objects.operation(op), **body}, [op.label])


@lifecycle.command("search")
@query_options
@click.option("--limit", type=Count(1), default=20, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def search(state: State, query: str | None, terms: Sequence[str], limit: int, offset: int) -> None:
    """Look for words in the yearly archives: the records that hold them, and what stands around them there.

    \b
    Example:
      nanomem lifecycle search "nginx 502"
    """
    with state.open() as ws:
        found, problems = ws.lifecycle.archives.search(asked_query(query, terms), limit + offset)
    hits = page(found, limit, offset)
    columns = [
        Column("ID", limit=36),
        Column("Kind"),
        Column("Time"),
        Column("Archive", drop=1),
        Column("Text", limit=80, least=16),
        Column("Found in", least=16, drop=2, optional=True),
    ]
    rows = [
        (one.id, one.kind, output.when(one.at), hit.parts["archive"], one.title, found_in(one, hit.parts["words"]))
        for hit, one in ((hit, hit.record) for hit in hits)
    ]
    state.show(
        [hit.to_json() for hit in hits],
        lambda: [*table(columns, rows, output.terminal_width()), output.counted(len(rows), "record")],
    )
    all_read(problems)
