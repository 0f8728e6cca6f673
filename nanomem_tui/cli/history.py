"""`nanomem history`: the agent's archive of summaries, the Dream's input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.shared import Group, all_read, asked_query, paged, pass_state, query_options
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, paragraph, table

if TYPE_CHECKING:
    from nanomem_tui.formats.history import HistoryEntry


@click.group("history", cls=Group)
def history() -> None:
    """The archive that the agent writes and Dream reads.

    \b
    Example:
      nanomem history list --limit 10
    """


@history.command("list")
@paged
@pass_state
def list_entries(state: State, limit: int | None, offset: int) -> None:
    """The entries, newest first.

    \b
    Example:
      nanomem history list --limit 10
    """
    with state.open() as ws:
        found = ws.history.entries(limit=limit, offset=offset)
        all_read(ws.history.unreadable())
    state.show([values.history_entry(entry) for entry in found], lambda: _lines(found) or ["No history."])


def _lines(found: Sequence[HistoryEntry]) -> list[str]:
    columns = [
        Column("Cursor", right=True),
        Column("Time"),
        Column("Session", limit=28, least=12, drop=1, optional=True),
        Column("Content", limit=120, least=28),
    ]
    cells = [(str(entry.cursor), entry.timestamp, entry.session_key or "", entry.content) for entry in found]
    return table(columns, cells, output.terminal_width())


@history.command()
@query_options
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out the first N.")
@pass_state
def search(state: State, query: str | None, terms: Sequence[str], limit: int, offset: int) -> None:
    """Entries that hold some words.

    \b
    Example:
      nanomem history search --query migration
    """
    text = asked_query(query, terms)
    with state.open() as ws:
        found = page(ws.history.search(text, limit=limit + offset), limit, offset)
        all_read(ws.history.unreadable())
    hits = [{**values.history_entry(entry), "score": 1.0, "parts": {}} for entry in found]
    state.show(hits, lambda: _lines(found) or ["Nothing found."])


@history.command()
@click.argument("cursor", type=click.IntRange(min=0))
@pass_state
def show(state: State, cursor: int) -> None:
    """One entry in full.

    \b
    Example:
      nanomem history show 42
    """
    with state.open() as ws:
        all_read(ws.history.unreadable())
        entry = ws.history.get(cursor)
    head = f"{entry.cursor}  {words.when(entry.timestamp)}  {entry.session_key or ''}".rstrip()
    state.show(values.history_entry(entry), lambda: [head, *paragraph(entry.content, output.terminal_width())])
