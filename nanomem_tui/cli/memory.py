"""`nanomem memory`: what is remembered, counted, listed, shown and searched. Changes live in `memory_changes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import memory_answers, output, values, words
from nanomem_tui.cli.ledger import entry_lines
from nanomem_tui.cli.memory_answers import conflicts, marks
from nanomem_tui.cli.shared import (
    Count,
    Group,
    Words,
    asked_query,
    completing,
    dated,
    paged,
    pass_state,
    query_options,
)
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import paragraph

if TYPE_CHECKING:
    from nanomem_tui.store.values import Item

_CHANGES = "nanomem_tui.cli.memory_changes"
_CHANGING = ("add", "edit", "enable", "disable", "delete", "flush", "compact", "prune")
_JOINING = "nanomem_tui.cli.memory_joining"
_TRANSFER = "nanomem_tui.cli.transfer"
_LATE = {
    **{name: f"{_CHANGES}:{name}" for name in _CHANGING},
    **{name: f"{_JOINING}:{name}" for name in ("merge", "pin", "unpin")},
    "reindex": "nanomem_tui.cli.reindex:reindex",
    "restore": f"{_TRANSFER}:restore",
    "backfill": f"{_TRANSFER}:backfill",
    "import": f"{_TRANSFER}:import_",
    "export": f"{_TRANSFER}:export",
    "lessons": "nanomem_tui.cli.lessons:lessons",
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
    (memory_answers.metrics if openmetrics else memory_answers.status)(state)


@memory.command("list")
@click.option("--kind", type=Words(), help="Only this kind: preference, fact, decision or episodic.")
@click.option("--scope", type=Words(), help="Only this scope: chat, user, global, or a whole scope key.")
@click.option("--session", type=Words(), help="Only what this session gave.")
@click.option("--source", type=Words(), help="Only what came this way.")
@click.option("--disabled", is_flag=True, help="Only what is switched off.")
@click.option("--filter", "query", type=Words(), metavar="TEXT", help="A filter, as / takes it, or the name of one.")
@click.option("--sort", type=click.Choice(sorted(memory_answers.SORTS)), default="updated", help="What comes first.")
@paged
@pass_state
def list_items(
    state: State,
    kind: str | None,
    scope: str | None,
    session: str | None,
    source: str | None,
    disabled: bool,
    query: str | None,
    sort: str,
    limit: int | None,
    offset: int,
) -> None:
    """The long-term items, newest first; rows of a foreign database are listed too, read only.

    \b
    Example:
      nanomem memory list --kind preference --limit 20
      nanomem memory list --filter 'scope:telegram:* age:>30d hits:0'
    """
    memory_answers.list_items(state, kind, scope, session, source, disabled, sort, limit, offset, query or "")


@memory.command()
@click.argument("item_id", metavar="ID", type=Words(), shell_complete=completing("items"))
@pass_state
def show(state: State, item_id: str) -> None:
    """One item with where it came from, how often it was used, and its times. A unique beginning of the ID is enough.

    \b
    Example:
      nanomem memory show ltm_1739443200123_1
    """
    from nanomem_tui.cli.facts import fact_pairs
    from nanomem_tui.memory import retention, superseded
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
        names += superseded.notes(row, {"item": loaded.items, "lesson": loaded.lessons})
    state.show(values.item(row), lambda: _item_detail(row, until, names))


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
        ("Created", words.when(row.created_at)),
        ("Updated", words.when(row.updated_at)),
        ("Last used", words.when(row.last_accessed_at) if row.last_accessed_at else ""),
        ("Expires", words.when(until) if until else ""),
    ]
    return [*paragraph(row.text, output.terminal_width()), "", *output.fields(pairs)]


def _why(row: Item) -> str:
    from nanomem_tui.memory import inbox

    return inbox.of(row).why


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
    body = [values.log_entry(entry, key=key) for entry in entries]
    state.show(body, lambda: entry_lines(entries) or ["No change recorded."])


@memory.command()
@query_options
@click.option("--channel", type=Words(), help="As seen from this channel.")
@click.option("--chat-id", type=Words(), help="As seen from this chat.")
@click.option("--sender-id", type=Words(), help="As seen by this person.")
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
    channel: str | None,
    chat_id: str | None,
    sender_id: str | None,
    scope: str,
    kind: str | None,
    since: str,
    until: str,
    meaning: bool,
    domain: str | None,
    category: str | None,
    explain: bool,
    limit: int | None,
    offset: int,
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
        text = asked_query(query, terms, may_be_empty=bool(since or until))
        limit = 20 if limit is None else limit
        memory_answers.search(
            state, text, channel, chat_id, sender_id, scope, kind, explain, limit, offset, since, until
        )
        return
    if scope != "all" or kind is not None or since or until:
        which = "--scope" if scope != "all" else "--kind" if kind is not None else "--since" if since else "--until"
        raise click.UsageError(f"{which} goes with a search by words only", click.get_current_context())
    from nanomem_tui.cli.facts import SHOWN, find

    asked = asked_query(query, terms) if domain is None and category is None else " ".join([query or "", *terms])
    find(
        state,
        asked,
        domain,
        category,
        (channel, chat_id, sender_id),
        limit=SHOWN if limit is None else limit,
        offset=offset,
        explain=explain,
        facts_only=False,
    )
