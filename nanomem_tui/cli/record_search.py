"""`nanomem record search`: the records of every kind most like a question, as seed 004 asks for them.

Owns the form of the answer. How words and meaning are joined is not its matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Command, Count, asked_query, pass_state, query_options
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core.text import one_line
from nanomem_tui.store.work.kinds import KINDS, RECORD_KINDS

COLLECTIONS = tuple(KINDS[name].table for name in RECORD_KINDS)
"""The records of each kind."""
_SAID = ("resolution", "action", "reasoning", "result", "reason", "error")
"""What is told beside the title: what helped."""


@click.command("search", cls=Command)
@query_options
@click.option(
    "--in", "collections", type=click.Choice(COLLECTIONS), multiple=True, help="Only in this collection, or several."
)
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def search(
    state: State, query: str | None, terms: Sequence[str], collections: Sequence[str], limit: int, offset: int
) -> None:
    """The records most like a question, by their words and their meaning: what was like this before, and what helped?

    All kinds are searched. Patterns, states of agents and configurations are found by their words alone; all are where
    no embedding model is installed, which is said.

    \b
    Example:
      nanomem record search "nginx returning 502 bad gateway after restart" --in incidents --in procedures
    """
    with state.open() as ws:
        answer = ws.records.semantic_search(asked_query(query, terms), collections, offset + limit)
    hits = answer.hits[offset:]
    columns = [
        Column("Score", right=True),
        Column("Kind"),
        Column("ID", limit=36, drop=2),
        Column("Time", drop=1),
        Column("What", limit=60, least=16),
        Column("What helped", limit=100, least=12, drop=3, optional=True),
    ]
    found = [(f"{hit.score:.2f}", hit.record) for hit in hits]
    rows = [(score, one.kind, one.id, words.when(one.at), one.title, _helped(one.fields)) for score, one in found]
    ending = f"{words.counted(len(rows), 'record')}, by {answer.by}"
    state.show([hit.to_json() for hit in hits], lambda: [*table(columns, rows, output.terminal_width()), ending])
    output.notes([f"Note: by words alone: {one_line(answer.note, 300)}"] if answer.note else [])


def _helped(fields: Mapping[str, object]) -> str:
    return next((str(fields[name]) for name in _SAID if fields.get(name)), "")
