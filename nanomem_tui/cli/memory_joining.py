"""The commands of `nanomem memory` that make one item of several, and that pin items."""

from __future__ import annotations

from collections.abc import Sequence

import click

from nanomem_tui.cli import values
from nanomem_tui.cli.memory_changes import ids_argument, items_of, switch
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Command, pass_state, rehearsable
from nanomem_tui.cli.state import State


@click.command(cls=Command)
@ids_argument
@rehearsable
@pass_state
def merge(state: State, ids: Sequence[str], dry_run: bool) -> None:
    """Make one item of several: the newest text stays, hits add up. `nanomem undo` takes it back.

    \b
    Example:
      nanomem memory merge ltm_1739443200123_1 ltm_1739443200123_2 --dry-run
    """
    with state.open(dry_run=dry_run) as ws:
        rows = items_of(ws, ids)
        op = ws.items.merge([row.id for row in rows])
        kept = max(rows, key=lambda row: row.updated_at)
        body = {"item": values.item(ws.items.get(kept.id))}
    tell(state, [op], body, dry_run=dry_run)


@click.command(cls=Command)
@ids_argument
@rehearsable
@pass_state
def pin(state: State, ids: Sequence[str], dry_run: bool) -> None:
    """Pin items, so that compaction and expiry leave them alone.

    \b
    Example:
      nanomem memory pin ltm_1739443200123_1
    """
    switch(state, ids, "pinned", True, dry_run=dry_run)


@click.command(cls=Command)
@ids_argument
@rehearsable
@pass_state
def unpin(state: State, ids: Sequence[str], dry_run: bool) -> None:
    """Let pinned items go: compaction and expiry treat them as any other.

    \b
    Example:
      nanomem memory unpin ltm_1739443200123_1
    """
    switch(state, ids, "pinned", False, dry_run=dry_run)
