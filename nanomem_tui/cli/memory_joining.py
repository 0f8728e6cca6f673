"""The commands of `nanomem memory` that make one item of several, and that pin items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.memory_changes import ids_argument, items_of, switch
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Command, Words, agreed, decided, pass_state, rehearsable
from nanomem_tui.cli.state import State
from nanomem_tui.core.text import quoted

if TYPE_CHECKING:
    from nanomem_tui.store.values import Item


@click.command(cls=Command)
@ids_argument
@click.option("--into", type=Words(), metavar="ID", help="The item that stays, with its text, scope and kind.")
@decided
@pass_state
def merge(state: State, ids: Sequence[str], into: str | None, yes: bool, dry_run: bool) -> None:
    """Make one item of several: the newest (or --into) stays, hits add up. `nanomem undo` takes it back.

    Items of different scopes or kinds are merged with --yes or --into only: one scope and one kind stand for all.

    \b
    Example:
      nanomem memory merge ltm_1739443200123_1 ltm_1739443200123_2 --dry-run
    """
    with state.open(dry_run=dry_run) as ws:
        rows = items_of(ws, [*ids, *([into] if into else [])])
        kept = ws.items.get(into) if into else max(rows, key=lambda row: row.updated_at)
        told = _scopes(rows, kept)
        preview = {"merged": [values.item(row) for row in rows], "kept": kept.id, "differ": bool(told)}
        if told and not into and not dry_run:
            agreed(state, preview, told, "Merge them?", yes=yes, dry_run=False)
        op = ws.items.merge([row.id for row in rows], into=kept.id)
        body = {"item": values.item(ws.items.get(kept.id)), **preview}
    if told and not state.json:
        output.lines(told)
    tell(state, [op], body, dry_run=dry_run)


def _scopes(rows: Sequence[Item], kept: Item) -> list[str]:
    """Whose the items are and which scope and kind stands; nothing where they are alike."""
    if len({(row.scope_key, row.kind) for row in rows}) == 1:
        return []
    lines = [f"{row.id}  {row.kind}, {_scope_words(row)}: {quoted(row.text)}" for row in rows]
    return [*lines, f"What stands is {kept.id}: {kept.kind}, {_scope_words(kept)}; the other texts go."]


def _scope_words(row: Item) -> str:
    """The scope of an item as a person reads it."""
    whose = row.scope_key.removeprefix(f"{row.scope_type}:")
    return "global" if row.scope_type == "global" else f"{row.scope_type} {whose}"


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
