"""`nanomem macro`: what was recorded in the console with #, shown, done again, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.planned import planned
from nanomem_tui.cli.shared import Group, Words, agreed, decided, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted
from nanomem_tui.store.files.user import Macro


@click.group("macro", cls=Group)
def macro() -> None:
    """Actions that were recorded in the console (# begins and ends, @ does them again).

    \b
    Example:
      nanomem macro run tidy --dry-run
    """


@macro.command("list")
@paged
@pass_state
def list_macros(state: State, limit: int | None, offset: int) -> None:
    """Every macro with what it does.

    \b
    Example:
      nanomem macro list
    """
    from nanomem_tui.review.macros import told

    with state.open() as ws:
        for problem in ws.habits.problems():
            raise NanomemError(problem.what, problem.where, problem.fix)
        found = page(ws.habits.read().macros, limit, offset)
    cells = [(one.name, "; ".join(map(told, one.steps))) for one in found]
    columns = [Column("Name", limit=40, least=10), Column("What it does", limit=160, least=30)]
    nothing = ["No macro yet: # in the console begins to record one, and ends it."]
    state.show([_json(one) for one in found], lambda: table(columns, cells, output.terminal_width()) or nothing)


@macro.command()
@click.argument("name", type=Words())
@pass_state
def show(state: State, name: str) -> None:
    """The steps of one macro.

    \b
    Example:
      nanomem macro show tidy
    """
    from nanomem_tui.review.macros import told

    with state.open() as ws:
        found = ws.habits.macro(name)
    state.show(_json(found), [f"{number}. {told(step)}" for number, step in enumerate(found.steps, 1)])


@macro.command()
@click.argument("name", type=Words())
@click.option("--row", "rows", type=Words(), multiple=True, metavar="ID",
              help="The row that stands for the cursor; several for the selection.")  # fmt: skip
@decided
@pass_state
def run(state: State, name: str, rows: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Do a macro again, as one change that `nanomem undo` takes back. What it would do is shown first.

    \b
    Example:
      nanomem macro run tidy --yes
      nanomem macro run important --row ltm_1739443200123_1 --dry-run
    """
    from nanomem_tui.review.macros import plan, told
    from nanomem_tui.review.macros import run as do
    from nanomem_tui.workspaces import Rehearsal

    with state.open() as ws:
        with closing(Rehearsal(ws.paths, ws.configuration)) as rehearsal:
            made = plan(ws, rehearsal, ws.habits.macro(name), rows)
        steps = [{"step": told(one.step), "ids": list(one.ids), "change": one.label} for one in made.steps]
        body = {"name": name, "steps": steps}
        if made.operation is None:
            state.show({"operation": None, **body}, [f"{name} changes nothing here."])
            return
        lines = [
            f"{number}. {told(one.step)}: {counted(len(one.ids), 'row')}" for number, one in enumerate(made.steps, 1)
        ]
        lines += planned([made.operation])
        question = f"Change {counted(len(made.operation.changes), 'row')}?"
        if not agreed(state, {**body, "planned": values.operation(made.operation)}, lines, question,
                      yes=yes, dry_run=dry_run):  # fmt: skip
            return
        operation = do(ws, made)
    state.show({"operation": values.operation(operation), **body}, [operation.label])


@macro.command()
@click.argument("name", type=Words())
@decided
@pass_state
def delete(state: State, name: str, yes: bool, dry_run: bool) -> None:
    """Forget a macro.

    \b
    Example:
      nanomem macro delete tidy --yes
    """
    from nanomem_tui.review.macros import told

    with state.open() as ws:
        found = ws.habits.macro(name)
        lines = [f"Would forget {name}:", *(f"  {told(step)}" for step in found.steps)]
        if not agreed(state, _json(found), lines, f"Forget the macro {name}?", yes=yes, dry_run=dry_run):
            return
        ws.habits.delete_macro(name)
    state.show(_json(found), [f"Forgot {name}"])


def _json(found: Macro) -> dict[str, Any]:
    return {"name": found.name, "steps": [step._asdict() for step in found.steps]}
