"""`nanomem history migrate` and `history compact`: the archive changed as a whole, with a preview before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.shared import Command, Count, agreed, decided, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors

if TYPE_CHECKING:
    from nanomem_tui.memory.sessions.archive_changes import HistoryCompaction, Migration
    from nanomem_tui.workspace import Workspace


SHOWN_LINES = 10
NOT_DREAMT = "No Dream will read these entries: all of them are taken as read"
DREAMT = "The next Dreams read these entries: some before them are not read yet"


@click.command("migrate", cls=Command)
@decided
@pass_state
def migrate(state: State, yes: bool, dry_run: bool) -> int:
    """Turn the HISTORY.md of an old release into history.jsonl; the file stays beside it as a backup.

    Each entry keeps its date, over as many paragraphs as it has. Dream takes all of it as read. Where history.jsonl
    holds entries already, those that it lacks of HISTORY.md and its backups go behind them. Refused while an agent runs
    on this workspace; `nanomem undo` takes all of it back.

    \b
    Example:
      nanomem history migrate --dry-run
    """
    with state.open() as ws:
        try:
            plan = ws.history_changes.migration()
        except errors.NothingToDo as nothing:  # it was done before, or an agent of today wrote here from the start
            state.show({"operation": None, "entries": 0}, [f"Nothing to migrate: {nothing.what}."])
            return 0
        if plan.refused and not dry_run:
            raise errors.Refused(plan.refused, plan.sources[-1], "nothing was changed")
        if not agreed(state, plan.to_json(), _migration(plan), "Migrate the old archive?", yes=yes, dry_run=dry_run):
            return errors.Refused.exit_code if plan.refused else 0
        op = ws.history_changes.migrate()
        state.tell_uncommitted(ws, [op])
    kept = f"HISTORY.md is kept as {plan.backup}; `nanomem undo` takes all of it back."
    kept = kept if plan.backup else "`nanomem undo` takes all of it back."
    dream = DREAMT if plan.dreamed else NOT_DREAMT
    state.show({"operation": values.operation(op), **plan.to_json()}, [op.label, f"{dream}.", kept])
    return 0


def _migration(plan: Migration) -> list[str]:
    found = output.fields(
        [
            ("Entries", f"{plan.entries:,}, {plan.first} to {plan.last}"),
            ("Undated", f"{plan.undated:,}, dated by the file's time" if plan.undated else ""),
            ("Unreadable", f"{words.counted(plan.unreadable, 'line')}, shown with \ufffd" if plan.unreadable else ""),
            ("No date", _at(plan.bad_dates, "the text keeps what stands there, the date is that of the entry before")),
            ("Out of order", _at(plan.out_of_order, "older than an entry before it; it stays where it is")),
            (
                "Date within",
                _at(
                    plan.dated_within,
                    "no entry of its own, but text of the one before: an entry begins with [YYYY-MM-DD HH:MM]",
                ),
            ),
            ("Behind", f"the {words.counted(plan.behind, 'entry', 'entries')} there" if plan.behind else ""),
            ("Dream", DREAMT if plan.dreamed else NOT_DREAMT),
            ("Kept as", plan.backup),
            ("Refused", plan.refused),
        ]
    )
    return [f"Would migrate {' and '.join(plan.sources)} to memory/history.jsonl:", *found]


def _at(lines: Sequence[int], fate: str) -> str:
    """Which lines, and what becomes of them; "" for none."""
    more = ", …" if len(lines) > SHOWN_LINES else ""
    return f"line {', '.join(map(str, lines[:SHOWN_LINES]))}{more}: {fate}" if lines else ""


@click.command("compact", cls=Command)
@click.option("--keep", type=Count(), default=1000, show_default=True, help="Entries to keep at least.")
@decided
@pass_state
def compact(state: State, keep: int, yes: bool, dry_run: bool) -> int:
    """Let the oldest entries of the archive go; never one that Dream has not read.

    Lines that cannot be read move to the quarantine. `nanomem undo` brings all of it back. Refused while an agent runs
    on this workspace.

    \b
    Example:
      nanomem history compact --keep 500 --dry-run
    """
    with state.open() as ws:
        plan = ws.history_changes.compaction(keep)
        if plan.nothing:
            state.show({"operation": None, **plan.to_json()}, ["Nothing to compact.", *plan.notes])
            return 0
        if plan.refused and not dry_run:
            raise errors.Refused(plan.refused, "memory/history.jsonl", "stop the agent first")
        never_read = _never_read(ws, plan)
        lines = [*_compaction(plan), *never_read]
        if not agreed(state, plan.to_json(), lines, "Compact the archive?", yes=yes, dry_run=dry_run):
            return errors.Refused.exit_code if plan.refused else 0
        op = ws.history_changes.compact(keep)
    state.show({"operation": values.operation(op), **plan.to_json()}, [op.label, *plan.notes, *never_read])
    return 0


def _never_read(ws: Workspace, plan: HistoryCompaction) -> list[str]:
    """What goes without anybody having read it."""
    number = sum(1 for entry in ws.dream.queue().unread if plan.last is not None and entry.cursor <= plan.last)
    entries = words.counted(number, "entry", "entries")
    return [f"{entries} of them the rules could not read, and no model has."] if number else []


def _compaction(plan: HistoryCompaction) -> list[str]:
    span = f", cursors {plan.first} to {plan.last}" if plan.removed else ""
    found = output.fields(
        [
            ("Entries", f"{plan.entries:,}"),
            ("Removed", f"{plan.removed:,}{span}"),
            ("Kept", f"{plan.kept:,}"),
            ("Unreadable", f"{words.counted(plan.unreadable, 'line')} to the quarantine" if plan.unreadable else ""),
            ("Size", f"{words.size(plan.bytes_before)} → {words.size(plan.bytes_after)}"),
            ("Refused", plan.refused),
        ]
    )
    return ["Would compact memory/history.jsonl:", *found, *plan.notes]
