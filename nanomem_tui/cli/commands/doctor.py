"""`nanomem doctor`: report problems of every file and table (`memory/doctor.py`), and repair them with --fix
(`memory/repairs.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui import __version__
from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Command, agreed, decided, pass_state
from nanomem_tui.cli.state import State

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Put right what can be put right, after a backup of everything.")
@decided
@pass_state
def doctor(state: State, fix: bool, yes: bool, dry_run: bool) -> int:
    """Look at every file and table and say what is wrong and what to do. Changes nothing without --fix.

    With --fix a backup is made first; what cannot be read goes to the quarantine, and nothing is deleted. `nanomem
    undo` takes back what it changed in files. Exit code 1 when an error is found (with --fix: is left), 0 when all is
    well or there are only warnings and notes.

    \b
    Example:
      nanomem doctor
      nanomem doctor --fix --dry-run
    """
    if not fix:
        if yes or dry_run:
            raise click.UsageError("--yes and --dry-run go with --fix", click.get_current_context())
        with state.open(forgiving=True) as ws:
            found = ws.doctor()
        state.show([json_objects.problem(entry) for entry in found], lambda: _report(found))
        return _exit_code(found)
    return _repair(state, yes=yes, dry_run=dry_run)


def _report(found: Sequence[Problem]) -> list[str]:
    counted = [entry for entry in found if entry.severity != "note"]
    return [
        *(f"{entry.severity:<7}  {entry.text()}" for entry in found),
        output.counted(len(counted), "finding") if counted else "All is well.",
        f"nanomem {__version__}, SQLite {_sqlite_version()}",
    ]


def _exit_code(found: Sequence[Problem]) -> int:
    return 1 if any(entry.severity == "error" for entry in found) else 0


def _repair(state: State, *, yes: bool, dry_run: bool) -> int:
    from nanomem_tui.memory import repairs

    with state.open(forgiving=True) as ws:
        planned = repairs.find_repairs(ws)
        can = [one for one in planned if not one.held]
        preview = {
            "repairs": [{name: getattr(one, name) for name in ("what", "where", "how", "held")} for one in planned]
        }
        waits = [f"Waits: {one.where}: {one.what} ({one.held})" for one in planned if one.held]
        if not can:
            left = ws.doctor()
            none = "Nothing can be put right now." if waits else "There is nothing that can be put right by itself."
            result = {"backup": None, **preview, "left": [json_objects.problem(one) for one in left]}
            state.show(result, [none, *waits, *_report(left)])
            return _exit_code(left)
        lines = [*(f"Would fix: {one.where}: {one.what}; {one.how}" for one in can), *waits]
        question = f"Put right {output.counted(len(can), 'thing')}, after a backup?"
        if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
            return 1
        made, done = repairs.back_up_and_repair(ws, can)
    with state.open(forgiving=True) as ws:
        left = ws.doctor()
    failed = [f"Not fixed: {one.where}: {one.what} ({why})" for one, why in done if why]
    fixed = [f"Fixed: {one.where}: {one.what}; {one.how}" for one, why in done if not why]
    state.show(
        {"backup": str(made.path), **preview, "left": [json_objects.problem(one) for one in left]},
        [
            *fixed,
            *failed,
            *waits,
            *(f"{way}." for way in repairs.describe_undo(done, made.path.name)),
            *_report(left),
        ],
    )
    return 1 if failed else _exit_code(left)


def _sqlite_version() -> str:
    import sqlite3

    return sqlite3.sqlite_version
