"""`nanomem migrate-store`: the memory of a workspace from a file of our own to a PostgreSQL database, or back."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Command, Words, agreed, decided, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core.errors import Refused

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.store.migrate_store import Done, Plan


@click.command("migrate-store", cls=Command)
@click.argument("source", type=Words(), metavar="FROM")
@click.argument("target", type=Words(), metavar="TO")
@click.option("--keep-settings", is_flag=True, help="Leave database_url as it is: you name the new store yourself.")
@click.option("--replace", is_flag=True, help="Also over a memory in TO that no move left behind: it is gone then.")
@decided
@pass_state
def migrate_store(
    state: State, source: str, target: str, keep_settings: bool, replace: bool, yes: bool, dry_run: bool
) -> None:
    """Move the memory of this workspace to another store. FROM and TO are `sqlite` (the file nanomem.db of the
    workspace) or an address of a PostgreSQL database.

    Items, lessons, facts, records and every operation move, so that history, undo and points in time are as
    before; both sides are compared before the new one is used. Let consoles and agents end first: nothing is moved
    while another process has either open. The old store stays as it was. Cut off anywhere, the same command goes on.

    \b
    Example:
      nanomem migrate-store sqlite postgresql+psycopg://me@db.example/memory --dry-run
      nanomem migrate-store postgresql+psycopg://me@db.example/memory sqlite
    """
    from nanomem_tui.core import paths
    from nanomem_tui.store import copying, takeover
    from nanomem_tui.store.migrate_store import Move

    found = state.locate()
    key = paths.workspace_id(found)
    move = Move(found, key, source, target, replace=replace)
    stores = [takeover.open_work(found, key, _url(place)) for place in (source, target)]
    try:
        plan = move.plan()
        of_work = copying.counts_of_work(stores[0])
        if plan.state == "done" and of_work and not stores[0].moved_to():  # cut off between the two
            plan = plan._replace(state="resumed", rows=of_work)
        elif plan.state != "done":
            plan = plan._replace(rows={**plan.rows, **of_work})
        stores[0].database.close()  # the move waits until nobody else is connected
        if plan.state == "done" and _names(found, target, keep=keep_settings):
            state.show(_body(plan, None, None), [f"The memory is in {target} already: nothing to do."])
            return
        if not keep_settings and (others := move.stays()):
            what = f"the settings are those of {', '.join(others)} as well, whose memory would stay behind"
            raise Refused(what, str(found.settings), "move those first, each with --workspace and --keep-settings")
        question = f"Move this memory from {source} to {target}?"
        if not agreed(state, _body(plan, None, None), _plan_lines(plan), question, yes=yes, dry_run=dry_run):
            return
        with output.Progress() as progress:
            done = move.run(progress)
            moved = copying.move_work(*stores, replace=replace)
    finally:
        move.close()
        for store in stores:
            store.close()
    file = None if keep_settings else _set(found, target)
    state.show(_body(plan, done, file, moved), lambda: _done_lines(plan, done, file, found, moved))


def _names(found: Paths, target: str, *, keep: bool) -> bool:
    """Whether the settings of the workspace name the store already, or are not to."""
    from nanomem_tui.core import config

    return keep or config.load(found, forgiving=True).settings.database_url == _url(target)


def _set(found: Paths, target: str) -> str:
    """Let the settings of the workspace name the store; the file that says it."""
    from nanomem_tui.store.files import user

    user.save_setting(found.settings, "database_url", _url(target), workspace=found.workspace)
    return str(found.settings)


def _url(target: str) -> str:
    return "" if target == "sqlite" else target


def _body(plan: Plan, done: Done | None, file: str | None, work: Mapping[str, int] = {}) -> dict[str, Any]:
    body: dict[str, Any] = {
        "operation": None, "from": plan.source, "to": plan.target, "state": plan.state, "rows": dict(plan.rows),
        "replaced": plan.replaced,
    }  # fmt: skip
    if done is not None:
        tables = {name: {"rows": rows} for name, rows in {**done.tables, **work}.items()}
        body |= {"move": done.move, "tables": tables, "settings": file}
    return body


def _plan_lines(plan: Plan) -> list[str]:
    told = [f"{rows:,} in {table}" for table, rows in plan.rows.items() if rows]
    first = {
        "done": f"The memory is in {plan.target} already; the settings do not name it yet.",
        "resumed": f"A move to {plan.target} was cut off; this goes on with it: {', '.join(told)}.",
    }.get(plan.state, f"Would move to {plan.target}: {', '.join(told)}.")
    gone = (
        "What it left there is copied anew" if plan.state == "resumed" else "What is there of an earlier time would go"
    )
    return [first, *([f"{gone}: {words.counted(plan.replaced, 'row')}."] if plan.replaced else [])]


def _done_lines(plan: Plan, done: Done, file: str | None, found: Paths, work: Mapping[str, int]) -> list[str]:
    moved = sum(done.tables.values()) + sum(work.values())
    tables = words.counted(len(done.tables) + len(work), "table")
    same = f"{words.counted(moved, 'row')} of {tables} moved, the same on both sides."
    named = f"database_url is set in {file}." if file else f"Name it: {_setting(plan.target)}"
    return [same if done.tables else "The move is at its end.", named, _left(plan.source, found)]


def _setting(target: str) -> str:
    return f"nanomem config set --here database_url {shlex.quote(_url(target))}"


def _left(source: str, found: Paths) -> str:
    """What is still there of the old store, and how it goes."""
    if source == "sqlite":
        return f"The old store is left as it was, and is not used: {found.database} (docs/postgresql.md: Moving)."
    return "The old store is left as it was, and is not used; docs/postgresql.md (Moving) says how its rows go."
