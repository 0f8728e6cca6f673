"""`nanomem log`, `undo` and `redo`: every recorded change, and the way back and forth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.planned import planned
from nanomem_tui.cli.shared import Command, Count, Words, completing, pass_state, rehearsable
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core.errors import NanomemError, NothingToDo
from nanomem_tui.core.paths import DREAM_CURSOR

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.operations import LogEntry
    from nanomem_tui.workspace import Workspace

PAST = {"undo": "undid", "redo": "redid"}


@click.command(cls=Command)
@click.option("--key", type=Words(), help="Only what touched this item, lesson, session or file.")
@click.option("--full", is_flag=True, help="With --json: what was there before and after, too.")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
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
        Column("By", limit=28, least=10, drop=1),
        Column("State", optional=True),
        Column("Change", limit=100, least=20),
    ]
    cells = [
        (words.when(e.operation.at), e.operation.id, e.operation.who, "undone" if e.undone else "", e.operation.label)
        for e in entries
    ]
    return table(columns, cells, output.terminal_width())


@click.command(cls=Command)
@click.argument("what", metavar="[N|ID]", type=Words(), required=False, shell_complete=completing("operations"))
@click.option("--key", "keys", type=Words(), multiple=True, help="Take back only what touched this item (with an ID).")
@rehearsable
@pass_state
def undo(state: State, what: str | None, keys: Sequence[str], dry_run: bool) -> None:
    """Undo the last change, the last N, or the one with this ID. Exit code 1 when there is nothing to undo.

    The last change is the newest that a person made, in this or any other program (`u` in the console undoes only what
    was changed there). Who made it and when is printed; --dry-run shows it before.

    \b
    Example:
      nanomem undo
      nanomem undo 3 --dry-run
    """
    named = what is not None and not what.isdigit()
    if keys and not named:
        raise click.UsageError("--key needs the ID of an operation", click.get_current_context())
    count = 1 if named else _count(what)

    def step(ws: Workspace) -> Sequence[Operation]:
        return ws.undo(op_id=what, keys=list(keys) or None) if named else ws.undo()

    _repeat(state, step, count, "undo", dry_run=dry_run)


@click.command(cls=Command)
@click.argument("count", metavar="[N]", type=Words(), required=False)
@rehearsable
@pass_state
def redo(state: State, count: str | None, dry_run: bool) -> None:
    """Make the last undone change again, or the last N. Exit code 1 when there is nothing to redo.

    \b
    Example:
      nanomem redo
    """
    _repeat(state, lambda ws: ws.redo(), _count(count), "redo", dry_run=dry_run)


def _count(text: str | None) -> int:
    if text is None:
        return 1
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1_000_000:
        raise click.UsageError(f"{text!r} is no number of changes", click.get_current_context())
    return int(text)


def _repeat(
    state: State, step: Callable[[Workspace], Sequence[Operation]], count: int, verb: str, *, dry_run: bool
) -> None:
    """Take `count` steps and tell how far that went; what was done before a step that failed is told, too."""
    done: list[Operation] = []
    targets: list[Operation] = []
    failure: NanomemError | None = None
    with state.open(dry_run=dry_run) as ws:
        while len(done) < count and failure is None:
            try:
                done += step(ws)
            except NanomemError as error:
                if not done:
                    raise
                failure = error
        targets = [_target(ws, operation) for operation in done]
        state.tell_uncommitted(ws, done)
    stopped = isinstance(failure, NothingToDo)
    why = "" if failure is None else failure.what if stopped else "stopped"
    _tell(state, done, targets, count, verb, why, dry_run=dry_run)
    if failure is not None and not stopped:
        raise failure


def _target(ws: Workspace, operation: Operation) -> Operation:
    """Return the operation that an undo or a redo is about."""
    entry = ws.store.journal.find(operation.undoes or operation.redoes or "")
    return operation if entry is None else entry.operation


def _tell(
    state: State, done: Sequence[Operation], targets: Sequence[Operation], count: int, verb: str, why: str,
    *, dry_run: bool,
) -> None:  # fmt: skip
    operations = [values.operation(op) for op in done]
    body: dict[str, Any] = {
        "operation": None if dry_run else operations[-1],
        "asked": count,
        "done": 0 if dry_run else len(done),
    }
    listed: dict[str, Any] = {"dry_run": True, "planned": operations} if dry_run else {"operations": operations}
    if why:
        why = why.replace("nothing to", "nothing more to")
    ending = f"{'would ' + verb if dry_run else PAST[verb]} {len(done):,}" + (f"; {why}" if why else "")
    body["targets"] = [
        {"id": op.id, "at": op.at, "actor": op.actor, "agent": op.agent, "kind": op.kind, "label": op.label}
        for op in targets
    ]
    lines: list[str] = []
    for op, target in zip(done, targets, strict=True):
        lines += planned([op]) if dry_run else [op.label]
        lines.append(f"  made by {target.who}, {words.when(target.at)}, {target.id}")
    if any(change.key == DREAM_CURSOR for op in done for change in op.changes):
        from nanomem_tui.dreams import restore

        note = restore.said(done)
        lines += [note] if note else []
        body["note"] = note
    state.show({**body, **listed}, [*lines, *([ending] if count > 1 else [])])
