"""`nanomem memory`: list, show, search, add, edit and merge long-term items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import fast_commands, json_objects, output
from nanomem_tui.cli.commands.log import entry_lines
from nanomem_tui.cli.fast_commands import conflicts, marks
from nanomem_tui.cli.options import (
    Count,
    Group,
    Words,
    agreed,
    as_typed,
    asked_query,
    belonging_to,
    completing,
    dated,
    decided,
    ids_argument,
    only_looking,
    paged,
    pass_state,
    query_options,
    rehearsable,
    seen_as,
    warn,
    with_undo,
)
from nanomem_tui.cli.output import paragraph
from nanomem_tui.cli.planned import SHOWN, added, show_changes
from nanomem_tui.cli.resource import Resource, typed
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import clock
from nanomem_tui.core.text import quoted

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace


_TRANSFER = "nanomem_tui.cli.commands.transfer"
_LATE = {
    "restore": f"{_TRANSFER}:restore",
    "backfill": f"{_TRANSFER}:backfill",
    "import": f"{_TRANSFER}:import_",
    "export": f"{_TRANSFER}:export",
    "lessons": "nanomem_tui.cli.commands.lessons:lessons",
}


@click.group("memory", cls=Group, late=_LATE)
def memory() -> None:
    """Long-term items and lessons: look, search, add, correct.

    \b
    Example:
      nanomem memory status
      nanomem memory list --kind preference
    """


@memory.command()
@click.option("--openmetrics", is_flag=True, help="Counters and gauges as OpenMetrics text, for a monitoring system.")
@pass_state
def status(state: State, openmetrics: bool) -> None:
    """Counts by kind, scope and source, how the files and the database are, and what turns did.

    \b
    Example:
      nanomem memory status --json
      nanomem memory status --openmetrics
    """
    if openmetrics and state.json:
        raise click.UsageError("--openmetrics is a form of its own: leave out --json", click.get_current_context())
    (fast_commands.metrics if openmetrics else fast_commands.status)(state)


@memory.command("list")
@click.option("--kind", type=Words(), help="Only this kind: preference, fact, decision or episodic.")
@click.option("--scope", type=Words(), help="Only this scope: chat, user, global, or a whole scope key.")
@click.option("--session", type=Words(), help="Only what this session gave.")
@click.option("--source", type=Words(), help="Only what came this way.")
@click.option("--disabled", is_flag=True, help="Only what is switched off.")
@click.option("--filter", "query", type=Words(), metavar="TEXT", help="A filter, as / takes it, or the name of one.")
@click.option("--sort", type=click.Choice(sorted(fast_commands.SORTS)), default="updated", help="What comes first.")
@paged
@pass_state
def list_items(state: State, query: str | None, **wanted: Any) -> None:
    """The long-term items, newest first; rows of a foreign database are listed too, read only.

    \b
    Example:
      nanomem memory list --kind preference --limit 20
      nanomem memory list --filter 'scope:telegram:* age:>30d hits:0'
    """
    fast_commands.list_items(state, query=query or "", **wanted)


@memory.command()
@click.argument("item_id", metavar="ID", type=Words(), shell_complete=completing("items"))
@pass_state
def show(state: State, item_id: str) -> None:
    """One item with where it came from, how often it was used, and its times. A unique beginning of the ID is enough.

    \b
    Example:
      nanomem memory show ltm_1739443200123_1
    """
    from nanomem_tui.cli.commands.facts import fact_pairs
    from nanomem_tui.memory import retention
    from nanomem_tui.store.values import fact_of

    with state.open() as ws:
        ws.store.load("item")
        row = next((row for row in ws.items.foreign() if row.id == item_id), None) or ws.items.get(item_id)
        until = retention.expiry(row, ws.settings)
        fact = fact_of(row)
        names: list[tuple[str, str]] = []
        if fact is not None:
            names = fact_pairs(fact, len(ws.facts.history(row.id)) - 1 if row.id in ws.store.load().items else 0)
        loaded = ws.store.load()
        names += retention.superseded_notes(row, {"item": loaded.items, "lesson": loaded.lessons})
    state.show(json_objects.item(row), lambda: _item_detail(row, until, names))


def _item_detail(row: Item, until: str | None, names: Sequence[tuple[str, str]]) -> list[str]:
    pairs = [
        ("ID", row.id),
        *names,
        ("Kind", row.kind),
        ("State", marks(row)),
        ("Waits", f"in the inbox: {_why(row)} (nanomem inbox accept {row.id}, or reject)" if row.waits else ""),
        *conflicts(row, f"nanomem memory edit {row.id} --text"),
        ("Scope", f"{row.scope_type} {row.scope_key}".strip()),
        ("Session", row.session_key or ""),
        ("Chat", " ".join(filter(None, (row.channel, row.chat_id)))),
        ("Sender", row.sender_id or ""),
        ("Source", row.source),
        ("Message", " ".join(filter(None, (row.source_message_id, row.source_role)))),
        ("Importance", f"{row.importance:g}, confidence {row.confidence:g}"),
        ("Hits", str(row.hits)),
        ("Created", output.when(row.created_at)),
        ("Updated", output.when(row.updated_at)),
        ("Last used", output.when(row.last_accessed_at) if row.last_accessed_at else ""),
        ("Expires", output.when(until) if until else ""),
    ]
    return [*paragraph(row.text, output.terminal_width()), "", *output.fields(pairs)]


def _why(row: Item) -> str:
    from nanomem_tui.memory import quarantined_rows

    return quarantined_rows.waiting_row(row).why


@memory.command()
@click.argument("item_id", metavar="ID", type=Words(), shell_complete=completing("items"))
@paged
@pass_state
def history(state: State, item_id: str, limit: int | None, offset: int) -> None:
    """Every recorded change of one item, newest first.

    \b
    Example:
      nanomem memory history ltm_1739443200123_1
    """
    with state.open() as ws:
        found = ws.items.history(item_id)
        key = item_id if item_id in ws.store.load().items else ws.items.get(item_id).id
    entries = page(found, limit, offset)
    body = [json_objects.log_entry(entry, key=key) for entry in entries]
    state.show(body, lambda: entry_lines(entries) or ["No change recorded."])


@memory.command()
@query_options
@seen_as
@click.option("--scope", type=click.Choice(["chat", "user", "global", "all"]), default="all", help="Where to look.")
@click.option("--kind", type=Words(), help="Only this kind.")
@dated
@click.option("--meaning", is_flag=True, help="What is nearest in meaning, as an agent's tool memory_search finds it.")
@click.option("--domain", type=Words(), help="The facts of this domain, those that fit best first.")
@click.option("--category", type=Words(), help="The facts of this category, those that fit best first.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option("--limit", type=Count(), help="Print N at most (default: 20; of what memory_search finds 5).")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def search(
    state: State,
    query: str | None,
    terms: Sequence[str],
    audience: Audience,
    meaning: bool,
    domain: str | None,
    category: str | None,
    explain: bool,
    limit: int | None,
    offset: int,
    **by_words: Any,
) -> None:
    """Items that fit some words, best first. With a channel, chat or sender: only what is visible there.

    A time in the words ("what did I say yesterday?", "the move in March") ranks what was said then, or is about it,
    higher. --since and --until leave out all else; without words they list what is left.

    \b
    Example:
      nanomem memory search --query "window seat" --explain
      nanomem memory search seat --since "2 weeks ago"
      nanomem memory search --meaning "where do I like to sit"
      nanomem memory search --domain Travel
    """
    if not (meaning or domain is not None or category is not None):
        text = asked_query(query, terms, may_be_empty=bool(by_words["since"] or by_words["until"]))
        pages: dict[str, Any] = {"limit": 20 if limit is None else limit, "offset": offset}
        fast_commands.search(state, text, **audience._asdict(), explain=explain, **by_words, **pages)
        return
    if which := next((name for name in by_words if by_words[name] not in (None, "", "all")), None):
        raise click.UsageError(f"--{which} goes with a search by words only", click.get_current_context())
    from nanomem_tui.cli.commands.facts import SHOWN, find

    asked = asked_query(query, terms) if domain is None and category is None else " ".join([query or "", *terms])
    find(
        state,
        asked,
        domain,
        category,
        audience,
        limit=SHOWN if limit is None else limit,
        offset=offset,
        explain=explain,
        facts_only=False,
    )


# The commands of `nanomem memory` that change items. Each is one recorded operation that `nanomem undo` takes back.

KIND = click.Choice(["preference", "fact", "decision", "episodic"])


@memory.command()
@click.option("--text", type=Words(), required=True, help="What to remember.")
@click.option("--kind", type=KIND, default="fact", show_default=True, help="What sort of memory it is.")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Who sees it (default: global).")
@belonging_to
@click.option("--importance", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="0 to 1.")
@rehearsable
@pass_state
def add(
    state: State, text: str, kind: str, scope: str | None, audience: Audience, importance: float, dry_run: bool
) -> None:
    """Remember something from now on; safe on disk when the command returns. What is remembered there already is
    confirmed, as a turn confirms it, and the id says which item that is.

    \b
    Example:
      nanomem memory add --text "Use concise responses" --kind preference
    """
    with state.open(dry_run=dry_run, starting=True) as ws:
        ws.store.load("item")
        op, row, warnings = ws.items.add(
            text, kind=kind, scope_type=scope, **audience._asdict(), importance=importance, merge=True
        )
    body: dict[str, Any] = {"item": json_objects.item(row), "warnings": list(warnings)}
    body |= {"merged": True} if op.kind == "items.confirm" else {}
    warn(state, warnings)
    added(state, op, row.id, body, dry_run=dry_run)


@memory.command()
@click.argument("item_id", metavar="ID", type=Words(), shell_complete=completing("items"))
@click.option("--text", type=Words(), help="The new words (without any option: edit them in $EDITOR).")
@click.option("--kind", type=KIND, help="Another kind.")
@click.option("--importance", type=click.FloatRange(0, 1), help="0 to 1.")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Who sees it from now on.")
@belonging_to
@rehearsable
@pass_state
def edit(
    state: State, item_id: str, scope: str | None, audience: Audience, dry_run: bool, **given: str | float | None
) -> None:
    """Correct an item, here or in your editor; a scope is named whole, with its channel, chat and person.

    \b
    Example:
      nanomem memory edit ltm_1739443200123_1 --text "Prefers aisle seats"
    """
    if scope is None and any(audience):
        raise click.UsageError("name the scope too: --scope chat or user", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        scoped = _scope_fields(ws, scope, audience) if scope is not None else {}
        row = ITEMS.rows(ws, [item_id])[0]
        new = typed({**given, **scoped}, row, "text", row.text, "--text")
        new = new._replace(fields={**new.fields, **scoped})
        changed: dict[str, Any] = {name: value for name, value in new.fields.items() if value != getattr(row, name)}
        with new.kept():
            done = [ws.items.edit(row.id, expected=new.seen, **changed)] if changed else []
        row = ws.items.get(row.id)
        warnings = ws.items.warnings(row) if "text" in changed else []
    warn(state, warnings)
    show_changes(
        state, done, {"item": json_objects.item(row), "warnings": warnings}, "Nothing changed.", dry_run=dry_run
    )


def _scope_fields(ws: Workspace, scope: str, audience: Audience) -> dict[str, Any]:
    """The fields that a scope consists of. Raises BadInput for one that lacks its channel, chat or person."""
    from nanomem_tui.memory.scopes import Audience, key_for

    audience = Audience() if scope == "global" else audience
    return {"scope_type": scope, "scope_key": key_for(scope, audience, ws.id), **audience._asdict()}


ITEMS = Resource(
    ("item",), "items", "items", lambda _, row: json_objects.item(row),
    lambda rows, _: _removal("Would delete", rows), layer="item",
)  # fmt: skip
memory.add_command(
    ITEMS.switching(
        "enable",
        "enabled",
        """Switch items on again.

        \b
        Example:
          nanomem memory enable ltm_1739443200123_1
        """,
    )
)
memory.add_command(
    ITEMS.switching(
        "disable",
        "enabled",
        """Switch items off: kept and listed, but the agent no longer gets them.

        \b
        Example:
          nanomem memory disable ltm_1739443200123_1
        """,
    )
)
memory.add_command(
    ITEMS.deleting(
        """Take items away. `nanomem undo` brings them back.

        \b
        Example:
          nanomem memory delete ltm_1739443200123_1 --yes
        """
    )
)


def _removal(verb: str, rows: Sequence[Item]) -> list[str]:
    from nanomem_tui.cli.fast_commands import item_lines

    if not rows:
        return ["Nothing to remove."]
    more = len(rows) - SHOWN
    ending = [f"… and {more:,} more; --json shows all"] if more > 0 else []
    return [f"{verb} {output.counted(len(rows), 'item')}:", *item_lines(rows[:SHOWN]), *ending]


@memory.command()
@click.option("--dry-run", is_flag=True, help="Say what waits and write nothing.")
@pass_state
def flush(state: State, dry_run: bool) -> None:
    """Write every waiting change into the database and the agent's own files now.

    \b
    Example:
      nanomem memory flush
    """
    with state.open() as ws:
        waiting = json_objects.plain(ws.checkpoint_state())
        if dry_run:
            line = f"Would write {output.counted(waiting['dirty'], 'change')}."
            state.show({"dry_run": True, "checkpoint": waiting}, [line])
            return
        result = json_objects.plain(ws.flush())
    line = f"Wrote {output.counted(result['rows'], 'row')} of {output.counted(result['operations'], 'operation')}"
    exported = f", exported {', '.join(result['exported'])}" if result["exported"] else ""
    state.show(result, [f"{line} in {result['ms']:.0f} ms{exported}."])


@memory.command()
@click.option("--max-items", type=Count(1), help="Keep this many (default: the setting `max_items`).")
@as_typed
@pass_state
def compact(state: State, max_items: int | None, dry_run: bool) -> None:
    """Merge items that say the same and keep the newest; one operation, undone as a whole or item by item.

    \b
    Example:
      nanomem memory compact --max-items 300 --dry-run
    """
    with state.open() as ws:
        plan = ws.items.compact_preview(max_items)
        preview = {
            "kept": len(plan.kept),
            "max_items": plan.limit,
            "removed": [{**json_objects.item(row), "reason": reason} for row, reason in plan.removed],
        }
        if not plan.removed:
            state.show({"operation": None, **preview}, ["Nothing to remove."])
            return
        rows = [row for row, _ in plan.removed]
        if only_looking(state, preview, lambda: _removal("Would remove", rows), dry_run=dry_run):
            return
        op = ws.items.compact(max_items)
    state.show({"operation": json_objects.operation(op), **preview}, [with_undo(op)])


@memory.command()
@click.option("--older-than-days", "days", type=Count(), help="Age in days.")
@click.option(
    "--expired",
    is_flag=True,
    help="What is past its expiry, as a turn does once an hour; nothing of a kind that is kept for good.",
)
@click.option("--kind", type=Words(), help="Only this kind.")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Only this scope.")
@as_typed
@pass_state
def prune(state: State, days: int | None, expired: bool, kind: str | None, scope: str | None, dry_run: bool) -> None:
    """Take away items that were not changed for a long time, or whose time is over.

    \b
    Example:
      nanomem memory prune --older-than-days 365 --dry-run
    """
    if (days is None) is not expired or (expired and (kind or scope)):
        raise click.UsageError("name --older-than-days N, or --expired alone", click.get_current_context())
    from nanomem_tui.memory import retention

    with state.open() as ws:
        if days is None:
            rows = retention.find_expired(ws.items.all(), ws.settings, clock.now())
        else:
            rows = list(ws.items.prune_preview(days, kind, scope))
        preview = {"items": [json_objects.item(row) for row in rows]}
        op: Operation | None = None
        if rows:
            if only_looking(state, preview, _removal("Would delete", rows), dry_run=dry_run):
                return
            if days is None:
                op = retention.prune_expired(ws.store, ws.settings, perform=ws.perform)
            else:
                op = ws.items.prune(days, kind, scope)
    state.show({"operation": json_objects.operation(op), **preview}, [with_undo(op) if op else "Nothing to remove."])


# -- The commands of `nanomem memory` that make one item of several, and that pin items -------------------------------


@memory.command()
@ids_argument
@click.option("--into", type=Words(), metavar="ID", help="The item that stays, with its text, scope and kind.")
@decided
@pass_state
def merge(state: State, ids: Sequence[str], into: str | None, yes: bool, dry_run: bool) -> None:
    """Make one item of several: the newest (or --into) stays, hits add up. `nanomem undo` takes it back.

    Items of different scopes or kinds are merged with --yes or --into only: one scope and one kind stand for all.

    \b
    Example:
      nanomem memory merge ltm_1739443200123_1 ltm_1739443200123_2 --dry-run
    """
    with state.open(dry_run=dry_run) as ws:
        rows = ITEMS.rows(ws, [*ids, *([into] if into else [])])
        kept = ws.items.get(into) if into else max(rows, key=lambda row: row.updated_at)
        told = _scopes(rows, kept)
        preview = {"merged": [json_objects.item(row) for row in rows], "kept": kept.id, "differ": bool(told)}
        if told and not into and not dry_run:
            agreed(state, preview, told, "Merge them?", yes=yes, dry_run=False)
        op = ws.items.merge([row.id for row in rows], into=kept.id)
        body = {"item": json_objects.item(ws.items.get(kept.id)), **preview}
    if told and not state.json:
        output.lines(told)
    show_changes(state, [op], body, dry_run=dry_run)


def _scopes(rows: Sequence[Item], kept: Item) -> list[str]:
    """Whose the items are and which scope and kind stands; nothing where they are alike."""
    if len({(row.scope_key, row.kind) for row in rows}) == 1:
        return []
    lines = [f"{row.id}  {row.kind}, {_scope_words(row)}: {quoted(row.text)}" for row in rows]
    return [*lines, f"What stands is {kept.id}: {kept.kind}, {_scope_words(kept)}; the other texts go."]


def _scope_words(row: Item) -> str:
    """The scope of an item as a person reads it."""
    whose = row.scope_key.removeprefix(f"{row.scope_type}:")
    return "global" if row.scope_type == "global" else f"{row.scope_type} {whose}"


memory.add_command(
    ITEMS.switching(
        "pin",
        "pinned",
        """Pin items, so that compaction and expiry leave them alone.

        \b
        Example:
          nanomem memory pin ltm_1739443200123_1
        """,
    )
)
memory.add_command(
    ITEMS.switching(
        "unpin",
        "pinned",
        """Let pinned items go: compaction and expiry treat them as any other.

        \b
        Example:
          nanomem memory unpin ltm_1739443200123_1
        """,
    )
)


# `nanomem memory reindex`: what finds by words and what finds by meaning, made anew out of what is kept.

NONE_YET = "No database yet: vectors are kept from the first change on."


@memory.command()
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
    how = f"{found.indexed:,} of {output.counted(found.items, 'item')} in the index"
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
    how = f"{found['done']:,} of {output.counted(found['total'], noun)} with a vector of {found['model']}"
    if not dry_run:
        return f"{how}, {found['embedded']:,} embedded now; searched in {found['index'] or 'nothing'}."
    rest = "nothing has to be" if found["done"] == found["total"] else "the others would be"
    return f"{how}: {'all would be' if anew else rest} embedded{' anew' if anew else ''}."
