"""`nanomem memory reindex`: what finds by words and what finds by meaning, made anew out of what is kept.

Changes nothing that is remembered: an index is a cache.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Command, pass_state
from nanomem_tui.cli.state import State

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

NONE_YET = "No database yet: vectors are kept from the first change on."


@click.command(cls=Command)
@click.option("--vectors", is_flag=True, help="What finds by meaning, in place of what finds by words.")
@click.option("--anew", is_flag=True, help="--vectors: throw away those that are there, and embed everything.")
@click.option("--dry-run", is_flag=True, help="Say how the index is and write nothing.")
@pass_state
def reindex(state: State, vectors: bool, anew: bool, dry_run: bool) -> None:
    """Make the search index anew from the items: after damage, or when a search misses what is there.

    With --vectors every item, and every record of an agent's work, that has no vector gets one, and an index in Chroma
    or PostgreSQL is made anew. Vectors that are no vectors are replaced; those that are and say something else than
    their texts only with --anew.

    \b
    Example:
      nanomem memory reindex
      nanomem memory reindex --vectors
      nanomem memory reindex --vectors --anew
    """
    if anew and not vectors:
        raise click.UsageError("--anew goes with --vectors", click.get_current_context())
    if vectors:
        _embed(state, anew=anew, dry_run=dry_run)
        return
    with state.open() as ws:
        found = ws.store.index_state() if dry_run else ws.store.make_index()
        here = ws.store.has_database
    how = f"{found.indexed:,} of {words.counted(found.items, 'item')} in the index"
    if not here:
        line = "No database yet: a search reads the items themselves."
    elif dry_run:
        line = f"{how}: nothing has to be done." if found.current else f"{how}: would be made anew."
    else:
        line = f"The search index is new: {how}."
    body = {"operation": None, "index": found._asdict()}
    state.show({**body, "dry_run": True} if dry_run else body, [line])


def _embed(state: State, *, anew: bool, dry_run: bool) -> None:
    with state.open() as ws, output.Progress() as progress:
        kept = {
            "vectors": _items(ws, progress, anew=anew, dry_run=dry_run) if ws.store.has_database else None,
            "records": _records(ws, progress, anew=anew, dry_run=dry_run) if ws.tier_database.exists else None,
        }
        told = [problem for part in ("meaning", "record_meaning") for problem in getattr(ws, part).problems()]
    nouns = {"vectors": "item", "records": "record"}
    lines = [_line(nouns[name], found, anew=anew, dry_run=dry_run) for name, found in kept.items() if found is not None]
    body: dict[str, Any] = {"operation": None}
    for name, found in kept.items():
        body[name] = {part: found[part] for part in ("model", "index", "done", "total")} if found else None
    if any(kept.values()):
        body |= {"embedded": sum(found["embedded"] for found in kept.values() if found), "dry_run": dry_run}
    state.show(body, lines or [NONE_YET])
    output.notes([f"Note: {problem.text()}" for problem in told])


def _items(ws: Workspace, progress: output.Progress, *, anew: bool, dry_run: bool) -> dict[str, Any]:
    """Embed the items, and what was said and noted where meaning counts; how it is then."""
    if dry_run:
        done, total = ws.meaning.preview()
        return _preview(ws, done, total)
    embedded = ws.meaning.sync(lambda done, total: progress("embedding", done, total), anew=True, everything=anew)
    if anew:
        ws.passage_vectors.clear()
    ws.conversations.patience = math.inf
    ws.conversations.recall(".", limit=1)  # embeds what was said and noted
    return {**ws.meaning.state(), "embedded": embedded}


def _records(ws: Workspace, progress: output.Progress, *, anew: bool, dry_run: bool) -> dict[str, Any]:
    """Embed the records of an agent's work; how it is then."""
    if dry_run:
        done, total = ws.record_meaning.preview()
        return _preview(ws, done, total)
    embedded = ws.record_meaning.sync(
        lambda done, total: progress("embedding records", done, total), anew=True, everything=anew
    )
    return {**ws.record_meaning.state(), "embedded": embedded}


def _preview(ws: Workspace, done: int, total: int) -> dict[str, Any]:
    index = ws.settings.vector_index
    return {"model": ws.meaning.model, "index": index, "done": done, "total": total, "embedded": 0}


def _line(noun: str, found: dict[str, Any], *, anew: bool, dry_run: bool) -> str:
    how = f"{found['done']:,} of {words.counted(found['total'], noun)} with a vector of {found['model']}"
    if not dry_run:
        return f"{how}, {found['embedded']:,} embedded now; searched in {found['index'] or 'nothing'}."
    rest = "nothing has to be" if found["done"] == found["total"] else "the others would be"
    return f"{how}: {'all would be' if anew else rest} embedded{' anew' if anew else ''}."
