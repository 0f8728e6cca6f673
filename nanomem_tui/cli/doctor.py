"""`nanomem doctor`: the health of every file and table, in words."""

from __future__ import annotations

import click

from nanomem_tui import __version__
from nanomem_tui.cli import values, words
from nanomem_tui.cli.shared import Command, pass_state
from nanomem_tui.cli.state import State


@click.command(cls=Command)
@pass_state
def doctor(state: State) -> int:
    """Look at every file and table and say what is wrong and what to do. Changes nothing.

    Exit code 1 when an error is found, 0 when all is well or there are only warnings and notes.

    \b
    Example:
      nanomem doctor
    """
    with state.open(forgiving=True) as ws:
        found = ws.doctor()
    state.show(
        [values.problem(entry) for entry in found],
        lambda: [
            *(f"{entry.severity:<7}  {entry.text()}" for entry in found),
            words.counted(len(found), "finding") if found else "All is well.",
            f"nanomem {__version__}, SQLite {_sqlite_version()}",
        ],
    )
    return 1 if any(entry.severity == "error" for entry in found) else 0


def _sqlite_version() -> str:
    import sqlite3

    return sqlite3.sqlite_version
