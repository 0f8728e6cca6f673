"""`nanomem lifecycle`: what becomes of the records of an agent's work as they grow old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.record_lines import found_in
from nanomem_tui.cli.shared import (
    Count,
    Group,
    agreed,
    all_read,
    asked_query,
    decided,
    pass_state,
    query_options,
    rehearsable,
)
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core import errors

if TYPE_CHECKING:
    from nanomem_tui.store.work.year_archive import Manifest
    from nanomem_tui.tiers.lifecycle import LifecyclePlan
    from nanomem_tui.workspace import Workspace

_NOTHING = "Nothing is due."
YEAR = click.IntRange(1970, 9999)


@click.group("lifecycle", cls=Group)
def lifecycle() -> None:
    """What becomes of old records: moved to long-term memory, averaged, archived by year.

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
        state.show({"operation": values.operation(ran.operation), **ran.to_json()}, lines)
    return 0


def _if_due(state: State, ws: Workspace) -> int:
    """What the console does by itself, once."""
    outcome = ws.lifecycle.step()
    if outcome.kind == "failed":
        raise errors.NanomemError(outcome.said)
    operation = ws.log(1)[0].operation if outcome.kind == "ran" else None
    body = {"operation": values.operation(operation), "rows": dict(operation.meta["rows"]) if operation else {}}
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
        Column("Kind"),
        Column("Rows", right=True),
        Column("Size", right=True),
        Column("Fate"),
        Column("Oldest", drop=1),
        Column("Stay", right=True, drop=2),
    ]
    fates = {"moved": "to long-term memory", "averaged": "averaged by hour", "deleted": "deleted"}
    rows = [
        (
            step.kind,
            f"{step.rows:,}",
            words.size(step.bytes) if step.rows else "",
            fates[step.what] if step.rows else "",
            words.when(step.oldest),
            f"{step.stay:,}",
        )
        for step in due
    ]
    refused = [f"Refused: {found.refused}; add --force if the clock is right."] if found.refused else []
    return [*refused, *(table(columns, rows, output.terminal_width()) or [_NOTHING])]


def _sizes(found: LifecyclePlan) -> list[str]:
    from nanomem_tui.tiers.lifecycle import forecast_line

    return ["", *(forecast_line(one, words.size) for one in found.sizes.forecasts)] if found.sizes is not None else []


def _archives(found: Sequence[Manifest]) -> list[str]:
    columns = [Column("Archive"), Column("Records", right=True), Column("Size", right=True), Column("State")]
    rows = [(one.name, f"{one.records:,}", words.size(one.bytes), one.state) for one in found]
    return ["", *table(columns, rows, output.terminal_width())] if rows else []


def _schedule(told: Mapping[str, Any]) -> list[str]:
    if not told["enabled"]:
        return ["", "None by itself: lifecycle_enabled is off."]
    if told["held"]:
        return ["", f"{told['held'][:1].upper()}{told['held'][1:]}."]
    pairs = [("Last run", words.when(told["last_at"]) if told["last_at"] else "never")]
    return ["", *output.fields([*pairs, ("Next run", words.when(told["next_at"]) if told["next_at"] else "")])]


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
        lines = [f"Would archive {words.counted(sum(counts.values()), 'record')} of {year}: {words.tally(counts)}"]
        body = {"year": year, "counts": counts, "records": sum(counts.values())}
        if agreed(state, body, lines, f"Archive {year}?", yes=yes, dry_run=dry_run):
            op, made = ws.lifecycle.archive(year)
            state.show({"operation": values.operation(op), "archive": made.to_json()}, [op.label])


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
        lines = [f"Would restore {words.counted(records, 'record')} of {year}"]
        if agreed(state, body, lines, f"Restore {year}?", yes=yes or not dry_run, dry_run=dry_run):
            op = ws.lifecycle.restore(year)
            state.show({"operation": values.operation(op), **body}, [op.label])


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
        (one.id, one.kind, words.when(one.at), hit.parts["archive"], one.title, found_in(one, hit.parts["words"]))
        for hit, one in ((hit, hit.record) for hit in hits)
    ]
    state.show(
        [hit.to_json() for hit in hits],
        lambda: [*table(columns, rows, output.terminal_width()), words.counted(len(rows), "record")],
    )
    all_read(problems)
