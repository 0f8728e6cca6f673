"""`nanomem pictures`: what a memory looks like over time and by kind, as plots for a terminal or as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Command, Words, completing, pass_state
from nanomem_tui.cli.state import State

if TYPE_CHECKING:
    from nanomem_tui.review.charts import Picture

WIDE, HIGH = 80, 16  # cells and lines of a plot where no terminal says otherwise


@click.command("pictures", cls=Command)
@click.argument("name", type=Words(), required=False, shell_complete=completing("pictures"))
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw without block characters and Braille.")
@pass_state
def pictures(state: State, name: str | None, *, ascii_only: bool) -> None:
    """Growth by kind, hit rate, never recalled, checkpoints, tokens and cost, Dream survival, duplicates.

    \b
    Example:
      nanomem pictures
      nanomem pictures growth
      nanomem pictures tokens --json
    """
    from nanomem_tui.review import charts as drawing

    with state.open() as ws:
        found = [drawing.picture(ws, name)] if name else list(drawing.pictures(ws))
    state.show([one.to_json() for one in found], lambda: _drawn(found, ascii_only=ascii_only))


def _drawn(found: Sequence[Picture], *, ascii_only: bool) -> list[str]:
    from nanomem_tui.widgets.picture import drawn
    from nanomem_tui.widgets.signs import ASCII, UNICODE

    lines: list[str] = []
    for one in found:
        laid_out = drawn(one, output.terminal_width() or WIDE, HIGH, ASCII if ascii_only else UNICODE)
        lines += [*([""] if lines else []), *("".join(text for text, _ in line).rstrip() for line in laid_out)]
    return lines
