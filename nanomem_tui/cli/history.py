"""`nanomem history`: the agent's archive of summaries, the Dream's input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, passages, values, words
from nanomem_tui.cli.shared import Count, Group, all_read, asked_query, paged, pass_state, query_options
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, paragraph, table

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.memory.recall.conversations import Told
    from nanomem_tui.memory.sessions.archive import OldEntry
    from nanomem_tui.workspace import Workspace


_CHANGES = {name: f"nanomem_tui.cli.history_changes:{name}" for name in ("migrate", "compact")}


@click.group("history", cls=Group, late=_CHANGES)
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
        older = ws.history.older if limit is None else 0
    if older:
        output.notes([f"Note: {older:,} older entries are not listed; --limit and --offset list them page by page."])
    state.show([values.history_entry(entry) for entry in found], lambda: _lines(found) or ["No history."])


def _lines(found: Sequence[HistoryEntry], old: Sequence[OldEntry] = ()) -> list[str]:
    columns = [
        Column("Cursor", right=True),
        Column("Time"),
        Column("Session", limit=28, least=12, drop=1, optional=True),
        Column("Content", limit=120, least=28),
    ]
    cells = [(str(entry.cursor), entry.timestamp, entry.session_key or "", entry.content) for entry in found]
    cells += [(one.id, one.entry.timestamp, "", one.entry.content) for one in old]
    return table(columns, cells, output.terminal_width())


@history.command()
@query_options
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@click.option("--exact", is_flag=True, help="Only entries that hold every word.")
@pass_state
def search(state: State, query: str | None, terms: Sequence[str], limit: int, offset: int, exact: bool) -> None:
    """Entries that hold every word, the newest first, then those nearest to what was asked.

    "a phrase" and -without are taken as they stand: nothing else follows.

    \b
    Example:
      nanomem history search --query migration
      nanomem history search "when did the server move?"
    """
    text = asked_query(query, terms)
    with state.open() as ws:
        found = ws.history.search(text, limit=limit + offset)
        ids = [str(entry.cursor) for entry in found]
        near = passages.nearest(ws, "history", text, ids, 0 if exact else limit + offset)
        old = ws.history.search_old(text, limit=max(0, limit + offset - len(found)))
        told = near.hits[max(0, offset - len(found) - len(old)) :]
        found, old = found[offset:], old[max(0, offset - len(found)) :]
        hits = [_hit(ws, entry) for entry in found] + [_old_hit(one) for one in old]
        hits += [_nearest(ws, one) for one in told]
        all_read(ws.history.unreadable())
    state.show(hits, lambda: passages.followed(_lines(found, old), told))
    passages.tell_left_out(near.left_out, quiet=state.json)


def _hit(ws: Workspace, entry: HistoryEntry) -> dict[str, Any]:
    before, after = ws.history.neighbours(entry)
    around = {"before": [*map(values.history_entry, before)], "after": [*map(values.history_entry, after)]}
    return {**values.history_entry(entry), "match": "words", **around, "score": 1.0, "parts": {}}


def _old_hit(one: OldEntry) -> dict[str, Any]:
    """An entry that lies in an old file beside the archive."""
    return {**values.old_entry(one), "match": "words", "before": [], "after": [], "score": 1.0, "parts": {}}


def _nearest(ws: Workspace, found: Told) -> dict[str, Any]:
    """The entry of a passage; `passage` is the line of it that was found, between those around it."""
    body = values.told(found)
    around = {"match": body["match"], "passage": found.text, "before": body["before"], "after": body["after"]}
    entry = values.history_entry(ws.history.get(found.number))
    return {**entry, **around, "score": body["score"], "parts": body["parts"]}


class _Cursor(click.IntRange):
    """A cursor, or the id of an entry in an old file (`HISTORY.md:7`)."""

    name = "cursor"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the id as it stands; a usage error for neither."""
        return value if str(value).startswith("HISTORY.md") else super().convert(value, param, ctx)


@history.command()
@click.argument("cursor", type=_Cursor())
@pass_state
def show(state: State, cursor: int | str) -> None:
    """One entry in full, by its cursor; one of an old file beside the archive by file and line, as a search names it.

    \b
    Example:
      nanomem history show 42
      nanomem history show HISTORY.md:7
    """
    with state.open() as ws:
        all_read(ws.history.unreadable())
        if isinstance(cursor, str):
            old = ws.history.get_old(cursor)
            entry, body = old.entry, values.old_entry(old)
        else:
            entry = ws.history.get(cursor)
            body = values.history_entry(entry)
    head = f"{body['id']}  {words.when(entry.timestamp)}  {entry.session_key or ''}".rstrip()
    state.show(body, lambda: [head, *paragraph(entry.content, output.terminal_width())])
