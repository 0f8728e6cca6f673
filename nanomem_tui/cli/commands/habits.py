"""`nanomem bookmarks` and `nanomem filters`: what the console keeps under ; and |, listed, kept and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.options import (
    Group,
    State,
    Words,
    agreed,
    completing,
    decided,
    page,
    paged,
    pass_state,
    rehearsable,
)
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.planned import planned
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, Problem
from nanomem_tui.core.text import counted
from nanomem_tui.store.files.user import Macro


@click.group("bookmarks", cls=Group)
def bookmarks() -> None:
    """Rows to come back to. In the console ; sets one and ' lists them.

    \b
    Example:
      nanomem bookmarks add items ltm_1739443200123_1
    """


@bookmarks.command("list")
@paged
@pass_state
def list_bookmarks(state: State, limit: int | None, offset: int) -> None:
    """Every bookmark, in the order in which they were set.

    \b
    Example:
      nanomem bookmarks list --json
    """
    with state.open() as ws:
        found = page(ws.habits.read().bookmarks, limit, offset)
        _tell(ws.habits.problems())
    columns = [Column("Screen"), Column("ID", limit=48, least=12), Column("Title", limit=80, least=16)]
    cells = [(one.part or one.screen, one.row, one.title) for one in found]
    state.show(
        [{"id": one.row, "screen": one.screen, "part": one.part, "title": one.title} for one in found],
        lambda: table(columns, cells, output.terminal_width()) or ["No bookmark yet: ; sets one in the console."],
    )


@bookmarks.command("add")
@click.argument("screen", type=Words(), shell_complete=completing("screens"))
@click.argument("row", metavar="ID", type=Words())
@click.option("--title", type=Words(), default="", help="Words that name it in the list.")
@click.option("--kind", "part", type=Words(), default="", help="Of a record on the screen `trail`: its kind.")
@rehearsable
@pass_state
def add_bookmark(state: State, screen: str, row: str, title: str, part: str, dry_run: bool) -> None:
    """Set a bookmark on a row of a screen.

    \b
    Example:
      nanomem bookmarks add sessions telegram:20417 --title "the trip"
    """
    from nanomem_tui.store.files.user import Bookmark

    _known_screen(screen)
    mark = Bookmark(screen, row, title, part)
    with state.open() as ws:
        if not dry_run:
            ws.habits.set_bookmark(mark)
    body = {"id": row, "screen": screen, "part": part, "title": title}
    state.show({"dry_run": True, **body} if dry_run else body, [f"{'Would set' if dry_run else 'Set'} {screen} {row}"])


@bookmarks.command("delete")
@click.argument("screen", type=Words(), shell_complete=completing("screens"))
@click.argument("row", metavar="ID", type=Words())
@click.option("--kind", "part", type=Words(), default="", help="Of a record on the screen `trail`: its kind.")
@decided
@pass_state
def delete_bookmark(state: State, screen: str, row: str, part: str, yes: bool, dry_run: bool) -> None:
    """Forget a bookmark; the row stays.

    \b
    Example:
      nanomem bookmarks delete items ltm_1739443200123_1 --yes
    """
    from nanomem_tui.store.files.user import Bookmark

    mark = Bookmark(screen, row, "", part)
    body = {"id": row, "screen": screen, "part": part}
    with state.open() as ws:
        if not ws.habits.has_bookmark(mark):
            raise NotFound("no such bookmark", f"{screen} {row}", "see `nanomem bookmarks list`")
        lines = [f"Would forget the bookmark {screen} {row}; the row stays"]
        if not agreed(state, body, lines, f"Forget the bookmark {screen} {row}?", yes=yes, dry_run=dry_run):
            return
        ws.habits.remove_bookmark(mark)
    state.show(body, [f"Forgot the bookmark {screen} {row}; the row stays"])


@click.group("filters", cls=Group)
def filters() -> None:
    """Filters of lists under names. In the console | keeps the filter of a screen and chooses one.

    \b
    Example:
      nanomem filters save old-facts 'kind:fact age:>90d hits:0'
      nanomem memory list --filter old-facts
    """


@filters.command("list")
@click.option("--screen", type=Words(), shell_complete=completing("screens"), help="Only those of this screen.")
@paged
@pass_state
def list_filters(state: State, screen: str | None, limit: int | None, offset: int) -> None:
    """Every named filter.

    \b
    Example:
      nanomem filters list --screen items
    """
    with state.open() as ws:
        found = page([one for one in ws.habits.read().filters if screen in (None, one.screen)], limit, offset)
        _tell(ws.habits.problems())
    columns = [Column("Name", limit=40, least=10), Column("Screen"), Column("Filter", limit=100, least=20)]
    state.show(
        [{"name": one.name, "screen": one.screen, "filter": one.text} for one in found],
        lambda: (
            table(columns, [(one.name, one.screen, one.text) for one in found], output.terminal_width())
            or ["No filter has a name yet: | gives one in the console."]
        ),
    )


@filters.command("save")
@click.argument("name", type=Words())
@click.argument("text", metavar="FILTER", type=Words())
@click.option("--screen", type=Words(), default="items", show_default=True, shell_complete=completing("screens"),
              help="The screen that it is for.")  # fmt: skip
@rehearsable
@pass_state
def save_filter(state: State, name: str, text: str, screen: str, dry_run: bool) -> None:
    """Keep a filter under a name; one of that name on that screen is replaced, and told.

    \b
    Example:
      nanomem filters save unused 'hits:0 age:>30d'
    """
    from nanomem_tui.memory.filters import ITEM_FIELDS, LESSON_FIELDS, parse_strict
    from nanomem_tui.store.files.user import NamedFilter, checked_name

    _known_screen(screen)
    fields = {"items": ITEM_FIELDS, "lessons": LESSON_FIELDS}.get(screen)
    if fields is not None:
        parse_strict(text, fields)
    entry = NamedFilter(checked_name(name), screen, text)
    with state.open() as ws:
        was = ws.habits.filter_named(entry.name, screen) if dry_run else ws.habits.save_filter(entry)
    body = {"name": entry.name, "screen": screen, "filter": text, "was": was.text if was else None}
    said = f"{'Would keep' if dry_run else 'Kept'} {entry.name} on {screen}: {text}"
    said += f" (it was: {was.text})" if was else ""
    state.show({"dry_run": True, **body} if dry_run else body, [said])


@filters.command("delete")
@click.argument("name", type=Words())
@click.option("--screen", type=Words(), default="items", show_default=True, shell_complete=completing("screens"),
              help="The screen that it is for.")  # fmt: skip
@decided
@pass_state
def delete_filter(state: State, name: str, screen: str, yes: bool, dry_run: bool) -> None:
    """Forget a named filter.

    \b
    Example:
      nanomem filters delete unused --yes
    """
    with state.open() as ws:
        found = ws.habits.filter_named(name, screen)
        if found is None:
            raise NotFound(f"no filter `{name}` on {screen}", "", "see `nanomem filters list`")
        body = {"name": name, "screen": screen, "filter": found.text}
        lines = [f"Would forget {name} on {screen}: {found.text}"]
        if not agreed(state, body, lines, f"Forget the filter {name}?", yes=yes, dry_run=dry_run):
            return
        ws.habits.delete_filter(name, screen)
    state.show(body, [f"Forgot {name} on {screen}: {found.text}"])


def _known_screen(screen: str) -> None:
    from nanomem_tui.actions import SCREENS

    if screen not in SCREENS:
        raise BadInput(f"no screen `{screen}`", "SCREEN", f"one of {', '.join(SCREENS)}")


def _tell(problems: Sequence[Problem]) -> None:
    """Raise why nothing can be listed: an empty list would be no answer."""
    for one in problems:
        raise NanomemError(one.what, one.where, one.fix)


# -- `nanomem macro`: what was recorded in the console with #, shown, done again, forgotten ---------------------------


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
    from nanomem_tui.review.macros import describe_step

    with state.open() as ws:
        for problem in ws.habits.problems():
            raise NanomemError(problem.what, problem.where, problem.fix)
        found = page(ws.habits.read().macros, limit, offset)
    cells = [(one.name, "; ".join(map(describe_step, one.steps))) for one in found]
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
    from nanomem_tui.review.macros import describe_step

    with state.open() as ws:
        found = ws.habits.macro(name)
    state.show(_json(found), [f"{number}. {describe_step(step)}" for number, step in enumerate(found.steps, 1)])


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
    from nanomem_tui.review.macros import describe_step, plan
    from nanomem_tui.review.macros import run as do
    from nanomem_tui.workspaces import Rehearsal

    with state.open() as ws:
        with closing(Rehearsal(ws.paths, ws.configuration)) as rehearsal:
            made = plan(ws, rehearsal, ws.habits.macro(name), rows)
        steps = [{"step": describe_step(one.step), "ids": list(one.ids), "change": one.label} for one in made.steps]
        body = {"name": name, "steps": steps}
        if made.operation is None:
            state.show({"operation": None, **body}, [f"{name} changes nothing here."])
            return
        lines = [
            f"{number}. {describe_step(one.step)}: {counted(len(one.ids), 'row')}"
            for number, one in enumerate(made.steps, 1)
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
    from nanomem_tui.review.macros import describe_step

    with state.open() as ws:
        found = ws.habits.macro(name)
        lines = [f"Would forget {name}:", *(f"  {describe_step(step)}" for step in found.steps)]
        if not agreed(state, _json(found), lines, f"Forget the macro {name}?", yes=yes, dry_run=dry_run):
            return
        ws.habits.delete_macro(name)
    state.show(_json(found), [f"Forgot {name}"])


def _json(found: Macro) -> dict[str, Any]:
    return {"name": found.name, "steps": [step._asdict() for step in found.steps]}
