"""`nanomem workspaces`: those that one console and one search are over, how each is, and the list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Group, Words, completing, paged, pass_state, rehearsable
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table

if TYPE_CHECKING:
    from nanomem_tui.workspaces import Known, Summary

NONE = "No workspace is known yet: `nanomem workspaces add PATH`."


@click.group("workspaces", cls=Group)
def workspaces() -> None:
    """Several agents' memories from one console: which there are and how each is. ^o in the console goes to another.

    \b
    Example:
      nanomem workspaces add ~/.nanobot/workspace --name home
      nanomem --workspace home memory list
    """


@workspaces.command("list")
@paged
@pass_state
def list_workspaces(state: State, limit: int | None, offset: int) -> int:
    """Every workspace that is known: its agent and whether it runs, counts, the last checkpoint, problems.

    Known are those of the setting `workspaces`, the agent's configured one, and with `remember_workspaces` those that
    the console was opened on. Where one cannot be read, that is told with the reason; exit code 1 then, and
    where its items could not be counted.

    \b
    Example:
      nanomem workspaces list
      nanomem workspaces list --json
    """
    from nanomem_tui.workspaces import known, summary

    listed = known()
    found = [summary(one) for one in page(listed.workspaces, limit, offset)]
    state.show([one.to_json() for one in found], lambda: _lines(found) or [NONE])
    output.notes(f"Note: {problem.text()}" for problem in listed.problems)
    return 1 if any(one.error is not None or one.items is None for one in found) else 0


def _lines(found: list[Summary]) -> list[str]:
    columns = [
        Column("Name", limit=40, least=10), Column("Agent", limit=30, least=10, drop=2), Column("Runs", drop=3),
        Column("Release", drop=5), Column("Items", right=True), Column("Lessons", right=True, drop=6),
        Column("Sessions", right=True, drop=7), Column("Inbox", right=True, drop=4),
        Column("Waiting", right=True, drop=8), Column("Saved", drop=9), Column("Problems", right=True, drop=1),
        Column("Path", limit=80, least=16),
    ]  # fmt: skip
    cells = [
        (
            one.known.name, one.agent, "" if one.error else "alive" if one.running else "no", one.release,
            *map(_count, (one.items, one.lessons, one.sessions, one.inbox, one.dirty)),
            words.when(one.saved_at) if one.saved_at else "", str(one.problems or ""), str(one.known.place),
        )
        for one in found
    ]  # fmt: skip
    wrong = [f"{one.known.name} cannot be read: {one.error.line()}" for one in found if one.error is not None]
    return [*table(columns, cells, output.terminal_width()), *wrong]


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


@workspaces.command("add")
@click.argument("path", type=Words())
@click.option("--name", type=Words(), default="", help="What it is called (default: as its folder or home).")
@rehearsable
@pass_state
def add(state: State, path: str, name: str, dry_run: bool) -> None:
    """Put a workspace into the setting `workspaces`, or give one that is there another name. Exit code 1 when it is
    there.

    \b
    Example:
      nanomem workspaces add /srv/bots/ana/workspace --name ana
    """
    from nanomem_tui import workspaces as workspaces_module

    made = workspaces_module.add(path, name.strip(), dry_run=dry_run)
    called = f" as {made.name}" if made.name else ""
    back = "" if dry_run or not made.name else f"; `nanomem workspaces forget {made.name}` takes it out"
    body = {"id": made.name, "path": str(made.place), "home": _home(made)}
    said = f"{'Would add' if dry_run else 'Added'} {made.place}{called}{back}"
    state.show({"dry_run": True, **body} if dry_run else body, [said])


@workspaces.command("forget")
@click.argument("what", metavar="NAME|PATH", type=Words(), shell_complete=completing("workspaces"))
@rehearsable
@pass_state
def forget(state: State, what: str, dry_run: bool) -> None:
    """Take a workspace out of the list. Nothing of its memory changes.

    \b
    Example:
      nanomem workspaces forget ana
    """
    import shlex

    from nanomem_tui import workspaces as workspaces_module

    row = workspaces_module.forget(what, dry_run=dry_run)
    back = f"nanomem workspaces add {shlex.quote(str(row.place))} --name {shlex.quote(row.name)}"
    body = {"id": row.name, "path": str(row.place), "home": _home(row), "undo": back}
    verb = "Would take" if dry_run else "Took"
    said = f"{verb} {row.name} out of the list; its memory in {row.place} stays as it is (`{back}` puts it back)"
    state.show({"dry_run": True, **body} if dry_run else body, [said])


def _home(row: Known) -> str | None:
    return str(row.found.home) if row.found is not None and row.found.home is not None else None
