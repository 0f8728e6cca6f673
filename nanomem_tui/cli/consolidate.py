"""`nanomem consolidate`: the oldest part of a session that outgrew its budget goes into the archive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.shared import Command, Count, Words, agreed, completing, decided, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, paragraph, table
from nanomem_tui.core import errors
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.consolidate import Consolidation
    from nanomem_tui.workspace import Workspace

_SHOWN = 20  # things left out


@click.command("consolidate", cls=Command)
@click.argument("key", type=Words(), required=False, shell_complete=completing("sessions"))
@click.option("--all", "every", is_flag=True, help="Every session that is over its budget.")
@click.option("--budget", type=Count(1), help="Tokens that a session may have, if not as set.")
@click.option("--dreamer", type=click.Choice(["rules", "model"]), help="Who summarises, if not as set.")
@decided
@pass_state
def consolidate(
    state: State, key: str | None, every: bool, budget: int | None, dreamer: str | None, yes: bool, dry_run: bool
) -> None:
    """Summarise the oldest part of a session into the archive; the transcript keeps every message.

    What is archived leaves the agent's prompt; a summary takes its place. `nanomem undo` takes it back while nothing
    came after it. Refused while an agent runs on this workspace.

    \b
    Example:
      nanomem consolidate telegram:12345 --dry-run
      nanomem consolidate --all --yes
    """
    if (key is None) == (not every):
        raise click.UsageError("name one session, or give --all", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        if not dry_run:
            ws.consolidator.recover()
        plans = _plans(ws, key, budget, dreamer)
        preview = {"sessions": [plan.to_json() for plan in plans]}
        possible = [plan for plan in plans if not plan.refused and not plan.nothing]
        if not possible:
            _nothing(state, plans, preview)
            return
        question = f"Archive the oldest part of {words.counted(len(possible), 'session')}?"
        if not agreed(state, preview, _lines(plans), question, yes=yes, dry_run=dry_run):
            return
        done = _applied(ws, possible, alone=key is not None)
    operations = [op for op, _ in done]
    body = {
        "operation": values.operation(operations[-1]) if operations else None,
        "operations": [values.operation(op) for op in operations],
        "sessions": [plan.to_json() for _, plan in done] + [plan.to_json() for plan in plans if plan not in possible],
    }
    left = [f"Left as it is: {plan.key} ({plan.refused})" for plan in plans if plan.refused]
    notes = [f"{plan.key}: {plan.note}" for _, plan in done if plan.note]
    if yes:  # else the preview named them
        notes += [line for _, plan in done for line in _left_out(plan)]
    state.show(body, [*(f"{op.label}, {_entries(plan)}" for op, plan in done), *notes, *left])


def _plans(ws: Workspace, key: str | None, budget: int | None, dreamer: str | None) -> list[Consolidation]:
    with output.Progress() as progress:
        if key is not None:
            return [ws.consolidator.plan(key, budget=budget, dreamer=dreamer, watch=progress)]
        return ws.consolidator.plan_all(budget=budget, dreamer=dreamer, watch=progress)


def _applied(ws: Workspace, plans: Sequence[Consolidation], *, alone: bool) -> list[tuple[Operation, Consolidation]]:
    """Each plan as an operation of its own; of several one that cannot be done is told, and the others go on."""
    done = []
    for plan in plans:
        try:
            done.append(ws.consolidator.apply(plan))
        except errors.NanomemError as error:
            if alone or isinstance(error, (errors.DiskFull, errors.AccessDenied)):
                raise
            output.notes([error.line()])
    return done


def _nothing(state: State, plans: Sequence[Consolidation], preview: dict[str, Any]) -> None:
    """Say why nothing can be archived. Raises Refused where that is the reason."""
    for plan in plans:
        if plan.refused and not plan.nothing:
            raise errors.Refused(plan.refused, plan.key, "nothing was changed")
    why = [f"{plan.key}: {plan.nothing}, {plan.tokens:,} of {plan.budget:,} tokens." for plan in plans]
    state.show({"operation": None, **preview}, why or ["Every session is within its budget."])


def _lines(plans: Sequence[Consolidation]) -> list[str]:
    columns = [
        Column("Session", least=24),
        Column("Messages", right=True),
        Column("Archived", right=True),
        Column("Tokens", right=True),
        Column("Entries", right=True, drop=1),
        Column("Refused", limit=60, least=16, optional=True),
    ]
    cells = [
        (
            plan.key, f"{plan.messages:,}", f"{plan.start:,} to {plan.end:,}", f"{plan.tokens:,} → {plan.left:,}",
            str(len(plan.entries)), plan.refused,
        )
        for plan in plans
    ]  # fmt: skip
    lines = ["Would archive:", *table(columns, cells, output.terminal_width())]
    for plan in plans if len(plans) == 1 else ():
        for entry in plan.entries:
            lines += ["", entry.timestamp, *paragraph(entry.content, output.terminal_width())]
    for plan in plans:
        lines += [f"{plan.key}: {plan.note}"] if plan.note else []
        lines += _left_out(plan)
    return lines


def _left_out(plan: Consolidation) -> list[str]:
    lines = [f"Left out (#{one.message}, {one.why}): {one_line(one.text, 120)}" for one in plan.left_out[:_SHOWN]]
    more = len(plan.left_out) - _SHOWN
    return [*lines, f"… and {more:,} more"] if more > 0 else lines


def _entries(plan: Consolidation) -> str:
    cursors = [entry.cursor for entry in plan.entries]
    if not cursors:
        return "nothing in it to keep"
    span = str(cursors[0]) if len(cursors) == 1 else f"{cursors[0]} to {cursors[-1]}"
    return f"{words.counted(len(cursors), 'entry', 'entries')} ({span}); {plan.left:,} tokens stay"
