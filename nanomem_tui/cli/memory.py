"""`nanomem memory`: what is remembered, counted, listed, shown and searched. Changes live in `memory_changes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.ledger import entry_lines
from nanomem_tui.cli.shared import Group, State, Words, asked_query, page, paged, pass_state, query_options
from nanomem_tui.cli.tables import Column, paragraph, table

if TYPE_CHECKING:
    from nanomem_tui.store.oplog import LogEntry
    from nanomem_tui.store.values import Hit, Item

_CHANGES = "nanomem_tui.cli.memory_changes"
_CHANGING = ("add", "edit", "enable", "disable", "delete", "flush", "compact", "prune")
_LATE = {**{name: f"{_CHANGES}:{name}" for name in _CHANGING}, "lessons": "nanomem_tui.cli.lessons:lessons"}
_SORTS = {
    "updated": lambda row: row.updated_at,
    "created": lambda row: row.created_at,
    "hits": lambda row: row.hits,
    "importance": lambda row: row.importance,
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
@pass_state
def status(state: State) -> None:
    """Counts by kind, scope and source, and how the files and the database are.

    \b
    Example:
      nanomem memory status --json
    """
    with state.open() as ws:
        found = values.plain(ws.status())
    state.show(found, lambda: _status_lines(found))


def _status_lines(found: dict[str, Any]) -> list[str]:
    def count(part: str, name: str) -> str:
        value = (found.get(part) or {}).get(name)
        return "?" if value is None else str(value)

    items, lessons, agent, store = (found.get(part) or {} for part in ("items", "lessons", "agent", "store"))
    who = f"running ({agent.get('what') or 'agent'}, pid {agent.get('pid')})" if agent.get("running") else "not running"
    last = words.when((found.get("checkpoint") or {}).get("last_at"))
    database = f"{store['database'] or 'none yet'} (SQLite {store['sqlite']})" if store else "cannot be read"
    lines = output.fields(
        [
            ("Workspace", str(found["workspace"])),
            ("Agent", f"{found['release'] or 'unknown release'}, {who}"),
            ("Items", f"{count('items', 'total')} ({count('items', 'enabled')} enabled)"),
            ("  by kind", words.tally(items.get("by_kind") or {})),
            ("  by scope", words.tally(items.get("by_scope") or {})),
            ("  by source", words.tally(items.get("by_source") or {})),
            ("  foreign", str(items.get("foreign") or "")),
            ("Lessons", f"{count('lessons', 'total')} ({count('lessons', 'enabled')} enabled)"),
            ("  by scope ", words.tally(lessons.get("by_scope") or {})),
            ("Sessions", "?" if found["sessions"] is None else str(found["sessions"])),
            ("History", f"{count('history', 'entries')} entries, {count('history', 'unprocessed')} not yet dreamt"),
            ("Dream", f"{count('dream', 'runs')} Dreams, cursor {count('dream', 'cursor')}"),
            ("WAL", f"{count('wal', 'files')} files, {count('wal', 'turns')} turns, {count('wal', 'open')} open"),
            ("Notes", "?" if found["notes"] is None else str(found["notes"])),
            ("Checkpoint", f"{count('checkpoint', 'dirty')} changes waiting, last {last}"),
            ("Database", database),
        ]
    )
    for foreign in found["foreign"] or []:
        lines.append(f"Foreign database, read only: {foreign['path']} ({foreign['active']} active rows)")
    problems = found["problems"]
    if problems:
        lines.append(f"{words.counted(len(problems), 'problem')}:")
        lines.extend(f"  {problem_line(entry)}" for entry in problems)
    return lines


def problem_line(entry: dict[str, Any]) -> str:
    """A problem's JSON object as one line."""
    place = str(entry["where"]) + (f":{entry['line']}" if entry.get("line") is not None else "")
    return f"{place}: {entry['what']}" + (f" ({entry['fix']})" if entry.get("fix") else "")


@memory.command("list")
@click.option("--kind", type=Words(), help="Only this kind: preference, fact, decision or episodic.")
@click.option("--scope", type=Words(), help="Only this scope: chat, user, global, or a whole scope key.")
@click.option("--session", type=Words(), help="Only what this session gave.")
@click.option("--source", type=Words(), help="Only what came this way.")
@click.option("--disabled", is_flag=True, help="Only what is switched off.")
@click.option("--sort", type=click.Choice(sorted(_SORTS)), default="updated", help="What comes first.")
@paged
@pass_state
def list_items(
    state: State,
    kind: str | None,
    scope: str | None,
    session: str | None,
    source: str | None,
    disabled: bool,
    sort: str,
    limit: int | None,
    offset: int,
) -> None:
    """The long-term items, newest first; rows of a foreign database are listed too, read only.

    \b
    Example:
      nanomem memory list --kind preference --limit 20
    """
    with state.open() as ws:
        found = [*ws.items.all(), *ws.items.foreign()]
    rows = [
        row
        for row in found
        if (kind is None or row.kind == kind)
        and (scope in (None, "all", row.scope_type, row.scope_key))
        and (session is None or row.session_key == session)
        and (source is None or row.source == source)
        and not (disabled and row.enabled)
    ]
    rows.sort(key=_SORTS[sort], reverse=True)
    shown = page(rows, limit, offset)
    state.show([values.item(row) for row in shown], lambda: [*item_lines(shown), _total(len(shown), len(rows), "item")])


def _total(shown: int, total: int, one: str) -> str:
    return words.counted(total, one) if shown == total else f"{shown} of {words.counted(total, one)}"


def item_lines(rows: Sequence[Item]) -> list[str]:
    """The items as a table."""
    columns = [
        Column("ID"),
        Column("Text", limit=90, least=28),
        Column("State", drop=1, optional=True),
        Column("Source", limit=24, drop=2),
        Column("Hits", right=True),
        Column("Session", limit=28, least=12, drop=3, optional=True),
        Column("Updated At"),
    ]
    cells = [
        (row.id, row.text, _state(row), row.source, str(row.hits), row.session_key or "", words.when(row.updated_at))
        for row in rows
    ]
    return table(columns, cells, output.terminal_width())


def _state(row: Item) -> str:
    foreign = "foreign" if row.source.startswith(values.FOREIGN) else ""
    return " ".join(filter(None, ["" if row.enabled else "disabled", "pinned" if row.pinned else "", foreign]))


@memory.command()
@click.argument("item_id", metavar="ID", type=Words())
@pass_state
def show(state: State, item_id: str) -> None:
    """One item with where it came from, how often it was used, and its times. A unique beginning of the ID is enough.

    \b
    Example:
      nanomem memory show ltm_1739443200123_1
    """
    with state.open() as ws:
        row = next((row for row in ws.items.foreign() if row.id == item_id), None) or ws.items.get(item_id)
    state.show(values.item(row), lambda: _item_detail(row))


def _item_detail(row: Item) -> list[str]:
    pairs = [
        ("ID", row.id),
        ("Kind", row.kind),
        ("State", _state(row)),
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
        ("Expires", words.when(row.expires_at) if row.expires_at else ""),
    ]
    return [*paragraph(row.text, output.terminal_width()), "", *output.fields(pairs)]


@memory.command()
@click.argument("item_id", metavar="ID", type=Words())
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
        key = _whole_id(found, item_id)
    entries = page(found, limit, offset)
    body = [values.log_entry(entry, key=key) for entry in entries]
    state.show(body, lambda: entry_lines(entries) or ["No change recorded."])


def _whole_id(entries: Sequence[LogEntry], beginning: str) -> str:
    """The id that all of `entries` touched, of which `beginning` may be the beginning only."""
    keys = (change.key for entry in entries for change in entry.operation.changes if change.layer == "item")
    return next((key for key in keys if key.startswith(beginning)), beginning)


@memory.command()
@query_options
@click.option("--channel", type=Words(), help="As seen from this channel.")
@click.option("--chat-id", type=Words(), help="As seen from this chat.")
@click.option("--sender-id", type=Words(), help="As seen by this person.")
@click.option("--scope", type=click.Choice(["chat", "user", "global", "all"]), default="all", help="Where to look.")
@click.option("--kind", type=Words(), help="Only this kind.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Print N at most.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out the first N.")
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
    explain: bool,
    limit: int,
    offset: int,
) -> None:
    """Items that fit some words, best first. With a channel, chat or sender: only what is visible there.

    \b
    Example:
      nanomem memory search --query "window seat" --explain
    """
    text = asked_query(query, terms)
    with state.open() as ws:
        hits = ws.items.search(
            text, channel=channel, chat_id=chat_id, sender_id=sender_id, scope=scope, kind=kind, limit=limit + offset
        )[offset:]
    state.show([values.hit(found) for found in hits], lambda: _hit_lines(hits, explain) or ["Nothing found."])


def _hit_lines(hits: Sequence[Hit], explain: bool) -> list[str]:
    columns = [
        Column("Score", right=True),
        Column("ID"),
        Column("Kind", drop=2),
        Column("Scope", drop=3),
        Column("Updated", drop=1),
        Column("Content", limit=120, least=28),
    ]
    cells = [
        (f"{h.score:.3f}", h.item.id, h.item.kind, h.item.scope_type, words.when(h.item.updated_at), h.item.text)
        for h in hits
    ]
    lines = table(columns, cells, output.terminal_width())
    if not explain:
        return lines
    parts = ["       " + ", ".join(f"{name} {_part(value)}" for name, value in h.parts.items()) for h in hits]
    return lines[:1] + [line for pair in zip(lines[1:], parts, strict=True) for line in pair]


def _part(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@memory.command()
@click.option("--output", "target", type=Words(), metavar="FILE", help="Write to this file instead of stdout.")
@pass_state
def export(state: State, target: str | None) -> None:
    """All items and lessons as one JSON document.

    \b
    Example:
      nanomem memory export --output memory.json
    """
    with state.open() as ws:
        whole = {
            "items": [values.item(row) for row in ws.items.all()],
            "lessons": [values.lesson(row, ws.lessons.effective(row)) for row in ws.lessons.all()],
        }
    if target is None:
        output.document(whole)
        return
    output.to_file(target, whole)
    summary = {"path": target, "items": len(whole["items"]), "lessons": len(whole["lessons"])}
    state.show(summary, [f"Wrote {summary['items']} items and {summary['lessons']} lessons to {target}."])
