"""`nanomem log`, `undo` and `redo`: every recorded change, and the way back and forth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.shared import Command, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table

if TYPE_CHECKING:
    from nanomem_tui.operations import Operation
    from nanomem_tui.store.oplog import LogEntry


@click.command(cls=Command)
@click.option("--key", type=Words(), help="Only what touched this item, lesson, session or file.")
@click.option("--full", is_flag=True, help="With --json: what was there before and after, too.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out the first N.")
@pass_state
def log(state: State, key: str | None, full: bool, limit: int, offset: int) -> None:
    """Every change that was made here, newest first, by whom, and whether it was taken back.

    \b
    Example:
      nanomem log --limit 10
    """
    with state.open() as ws:
        entries = ws.log(limit=limit, offset=offset, key=key)
    body = [values.log_entry(entry, changes=full) for entry in entries]
    state.show(body, lambda: entry_lines(entries) or ["No change recorded."])


def entry_lines(entries: Sequence[LogEntry]) -> list[str]:
    """Operations as a table."""
    columns = [
        Column("Time"),
        Column("ID"),
        Column("By", drop=1),
        Column("Change", limit=100, least=20),
        Column("State", optional=True),
    ]
    cells = [
        (words.when(e.operation.at), e.operation.id, e.operation.actor, e.operation.label, "undone" if e.undone else "")
        for e in entries
    ]
    return table(columns, cells, output.terminal_width())


@click.command(cls=Command)
@click.argument("what", metavar="[N|ID]", type=Words(), required=False)
@click.option("--key", "keys", type=Words(), multiple=True, help="Take back only what touched this item (with an ID).")
@pass_state
def undo(state: State, what: str | None, keys: Sequence[str]) -> None:
    """Take back the last change, the last N, or the one with this ID. Exit code 1 when there is nothing to take back.

    \b
    Example:
      nanomem undo
      nanomem undo 3
    """
    with state.open() as ws:
        if what is not None and not what.isdigit():
            done = ws.undo(op_id=what, keys=list(keys) or None)
        elif keys:
            raise click.UsageError("--key needs the ID of an operation", click.get_current_context())
        else:
            done = ws.undo(count=_count(what))
    _tell(state, done)


@click.command(cls=Command)
@click.argument("count", metavar="[N]", type=Words(), required=False)
@pass_state
def redo(state: State, count: str | None) -> None:
    """Make the last undone change again, or the last N. Exit code 1 when there is nothing to redo.

    \b
    Example:
      nanomem redo
    """
    with state.open() as ws:
        done = ws.redo(count=_count(count))
    _tell(state, done)


def _count(text: str | None) -> int:
    if text is None:
        return 1
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1_000_000:
        raise click.UsageError(f"{text!r} is no number of changes", click.get_current_context())
    return int(text)


def _tell(state: State, done: Sequence[Operation]) -> None:
    operations = [values.operation(op) for op in done]
    body = {"operation": operations[-1] if operations else None, "operations": operations}
    state.show(body, [op.label for op in done])
