"""`nanomem log`, `undo` and `redo`: every recorded change, and the way back and forth."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui import clock
from nanomem_tui.cli import elsewhere, output, values, words
from nanomem_tui.cli.planned import planned
from nanomem_tui.cli.shared import Command, Count, Words, completing, pass_state, rehearsable
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.errors import BadInput, NanomemError, NothingToDo
from nanomem_tui.paths import DREAM_CURSOR

if TYPE_CHECKING:
    from nanomem_tui.operations import Operation
    from nanomem_tui.store.log_receipt import LogReceipt
    from nanomem_tui.store.oplog import LogEntry
    from nanomem_tui.workspace import Workspace

PAST = {"undo": "undid", "redo": "redid"}


@click.command(cls=Command)
@click.option("--key", type=Words(), help="Only what touched this item, lesson, session or file.")
@click.option("--full", is_flag=True, help="With --json: what was there before and after, too.")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@click.option("--verify", is_flag=True, help="Check instead that nothing was changed, taken out or put in.")
@click.option(
    "--expect", metavar="HEAD|FILE", type=Words(), help="With --verify: a head noted before, or a receipt, must be met."
)
@click.option("--receipt", metavar="FILE", type=Words(), help="With --verify: write the head to a new file, to keep.")
@pass_state
def log(
    state: State, key: str | None, full: bool, limit: int, offset: int, verify: bool, expect: str | None,
    receipt: str | None,
) -> int:  # fmt: skip
    """Every change that was made here, newest first, by whom, and whether it was taken back.

    Operations are chained by hash. --verify goes through all of them and all rows, writes nothing, and prints the head
    of the chain: noted in another place, or written to a receipt, `--expect` tells later whether what was there then
    is still so. A receipt is a file that you may sign with what you sign with, and says nothing of the memory. Exit
    code 1 when anything is not what was written; no receipt is written then.

    \b
    Example:
      nanomem log --limit 10
      nanomem log --verify
      nanomem log --verify --receipt 2026-03.json
    """
    if (expect or receipt) and not verify:
        name = "--expect" if expect else "--receipt"
        raise click.UsageError(f"{name} goes with --verify", click.get_current_context())
    if verify:
        return _verify(state, expect or "", receipt or "")
    with state.open() as ws:
        entries = ws.log(limit=limit, offset=offset, key=key)
        state.tell_damage(ws)
        note = "" if entries else elsewhere.strayed_memory(ws)
    body = [values.log_entry(entry, changes=full) for entry in entries]
    state.show(body, lambda: entry_lines(entries) or ["No change recorded."])
    elsewhere.say(state, note)
    return 0


SHORTEST_HEAD = 12
"""Digits of a head that are enough to know it by."""


def _head_of(expected: str) -> tuple[str, LogReceipt | None]:
    """The head that a person noted, or that of the receipt that he named."""
    from nanomem_tui.store import log_receipt

    if len(expected) >= SHORTEST_HEAD and log_receipt.is_of_digits(expected):
        return expected, None
    path = Path(expected).expanduser()
    if os.path.lexists(path):
        receipt = log_receipt.read(path)
        return receipt.head, receipt
    fix = f"give the head that `nanomem log --verify` printed, its first {SHORTEST_HEAD} digits, or a receipt's file"
    raise BadInput("neither the head of a chain nor a file", expected, fix)


def _verify(state: State, asked: str, receipt: str) -> int:
    from nanomem_tui.store import log_receipt, verifying

    expected, noted = _head_of(asked) if asked else ("", None)
    with state.open() as ws:
        if noted is not None and noted.workspace != ws.store.workspace_id:
            raise BadInput("the receipt of another memory", asked, f"this one is {ws.store.workspace_id}")
        found = verifying.verify(ws.store, expected)
        workspace = ws.store.workspace_id
        note = "" if found.operations.operations else elsewhere.strayed_memory(ws)
    operations = found.operations
    lost = bool(expected) and operations.met is None
    lines = [f"{words.counted(operations.operations, 'operation')}; the head of the chain is {operations.head}"]
    if not operations.head:  # one of what stands in for a damaged database is nothing to note
        lines = [] if found.damage is not None or found.gone is not None else ["No change recorded."]
    lines += [f"Broken: {one}" + ("" if one.endswith(".") else ".") for one in found.lines()]
    if found.interrupted is not None:
        lines.append(f"Interrupted: {found.interrupted.what}; {found.interrupted.fix}.")
    for one in operations.rewritten:
        was = "" if one.get("whole", True) else "; the chain was broken already"
        lines.append(f"Rewritten {words.when(str(one['at']))} by {one['why']}: it was {one['before']}{was}")
    if found.waiting:
        lines.append(f"{words.counted(found.waiting, 'operation')} in the ledger, which the next change chains.")
    if expected:
        ago = f"is there, {words.counted(operations.met or 0, 'operation')} ago"
        since = ago if found.readable else "is in what stands in for the database"
        where = "in the chain" if found.readable else "there: the database itself cannot be looked at"
        lines.append(f"Broken: {expected} is not {where}." if lost else f"{expected} {since}.")
    broken = lost or not found.whole
    rows = {"altered": [{"layer": layer, "id": key} for layer, key in found.altered], "fewer": found.fewer}
    kept = {"lost": [{"id": key, "label": label} for key, label in found.kept], "waiting": found.waiting,
            "fewer_operations": found.fewer_operations, "beside": list(found.beside.lines())}  # fmt: skip
    hurt = found.damage or found.gone
    kept |= {"unmarked": found.unmarked, "damage": "" if hurt is None else hurt.text(), "schema": [*found.schema]}
    kept |= {"counters": [one.line() for one in found.counters]}
    kept |= {"interrupted": "" if found.interrupted is None else found.interrupted.text()}
    told = {**operations._asdict(), **rows, **kept, "whole": not broken}
    lines += [] if broken else ["Nothing was changed."]
    written = bool(receipt) and not broken and bool(operations.head)
    if written:
        made = log_receipt.LogReceipt(workspace, operations.operations, operations.head, clock.iso(clock.now()))
        log_receipt.write(Path(receipt).expanduser(), made)
        lines.append(f"Receipt: {receipt}. Keep it in another place; `--expect {receipt}` holds the log against it.")
    elif receipt:
        lines.append("No receipt was written.")
    state.show(values.plain({**told, "receipt": receipt if written else ""}), lines)
    elsewhere.say(state, note)
    return 1 if broken else 0


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
        from nanomem_tui.dream import rewound

        note = rewound.said(done)
        lines += [note] if note else []
        body["note"] = note
    state.show({**body, **listed}, [*lines, *([ending] if count > 1 else [])])
