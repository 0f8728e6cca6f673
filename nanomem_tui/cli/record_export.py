"""`nanomem record export`: every record of an agent's work in a file, which `nanomem memory import` reads back."""

from __future__ import annotations

import click

from nanomem_tui.cli.shared import Command, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core.text import counted


@click.command("export", cls=Command)
@click.option("--to", "--output", "target", type=Words(), required=True, metavar="FILE", help="Write to this file.")
@click.option("--force", "--yes", "force", is_flag=True, help="Replace the file when it is there.")
@pass_state
def export(state: State, target: str, force: bool) -> None:
    """Every record of every kind as JSON lines, with events and metrics, of working and of long-term memory.

    `nanomem memory import FILE` takes them in again, here or in another workspace, with every field. What records were
    before they were changed, and years that lie in an archive, are not in it. The file is 0600.

    \b
    Example:
      nanomem record export --to work.jsonl
      nanomem memory import work.jsonl --dry-run
    """
    if target == "-":
        raise click.UsageError("`-` is the name of no file", click.get_current_context())
    with state.open() as ws:
        counts = ws.transfer.export_work(target, force=force)
    total = sum(counts.values())
    of_kinds = ", ".join(counted(number, kind.replace("-", " ")) for kind, number in counts.items())
    body = {"path": target, "records": total, "counts": counts}
    state.show(body, [f"Wrote {counted(total, 'record')} to {target}: {of_kinds}."])
