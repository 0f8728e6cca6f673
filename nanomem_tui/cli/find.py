"""`nanomem find`: anything by typing a part of it: screens, items, lessons, sessions, files, notes, Dreams, records."""

from __future__ import annotations

from collections.abc import Sequence

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Command, Count, asked_query, pass_state, query_options
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table

KINDS = (
    "screen", "file", "lesson", "note", "dream", "session", "summary", "journal", "reflection", "record", "fact",
    "item",
)  # fmt: skip


@click.command("find", cls=Command)
@query_options
@click.option("--in", "kinds", type=click.Choice(["all", *KINDS]), multiple=True, help="Only of this kind; repeatable.")
@click.option("--limit", type=Count(1), default=20, show_default=True, help="Print N at most.")
@pass_state
def find(state: State, query: str | None, terms: Sequence[str], kinds: Sequence[str], limit: int) -> None:
    """Anything whose words hold what you type; where nothing does, what is similar. J does the same in the console.

    It looks at titles and texts of rows; `nanomem session search` looks into conversations.

    \b
    Example:
      nanomem find "window seat"
      nanomem find garden --in item --in session
    """
    from nanomem_tui.actions import SCREENS
    from nanomem_tui.curation.places import Found, Places

    asked = asked_query(query, terms)
    wanted = [] if "all" in kinds else [f"kind:{','.join(dict.fromkeys(kinds))}"] if kinds else []
    found = Found((), 0, done=True)
    with state.open() as ws:
        for step in Places(lambda: ws, SCREENS).find(" ".join([*wanted, asked]), limit):
            found = step
    if found.left_out:
        output.notes([f"Note: not looked at, for it cannot be read: {found.left_out}"])
    body = {
        "total": found.total,
        "similar": found.fuzzy,
        "left_out": found.left_out,
        "places": [
            {"id": one.row, "kind": one.part or one.kind, "screen": one.screen, "title": one.title, "at": one.at}
            for one in found.places
        ],
    }
    columns = [Column("What"), Column("ID", limit=40, least=12), Column("Words", limit=100, least=20)]
    cells = [(one.part or one.kind, one.row or one.screen, one.title) for one in found.places]
    state.show(body, lambda: table(columns, cells, output.terminal_width()) or ["Nothing found."])
    if found.fuzzy and found.places:
        output.notes(["Note: nothing holds these words; this is similar."])
