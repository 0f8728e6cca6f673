"""The commands of `nanomem memory` that change items. Each is one recorded operation that `nanomem undo` takes back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.planned import SHOWN, added, tell
from nanomem_tui.cli.shared import (
    Command,
    Count,
    Words,
    agreed,
    as_typed,
    completing,
    decided,
    only_looking,
    pass_state,
    rehearsable,
    with_undo,
)
from nanomem_tui.cli.state import State
from nanomem_tui.core import clock

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace

KIND = click.Choice(["preference", "fact", "decision", "episodic"])
ids_argument = click.argument(
    "ids", metavar="ID...", type=Words(), nargs=-1, required=True, shell_complete=completing("items")
)


@click.command(cls=Command)
@click.option("--text", type=Words(), required=True, help="What to remember.")
@click.option("--kind", type=KIND, default="fact", show_default=True, help="What sort of memory it is.")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Who sees it (default: global).")
@click.option("--channel", type=Words(), help="The channel of that chat or person.")
@click.option("--chat-id", type=Words(), help="The chat.")
@click.option("--sender-id", type=Words(), help="The person.")
@click.option("--importance", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="0 to 1.")
@rehearsable
@pass_state
def add(
    state: State,
    text: str,
    kind: str,
    scope: str | None,
    channel: str | None,
    chat_id: str | None,
    sender_id: str | None,
    importance: float,
    dry_run: bool,
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
            text,
            kind=kind,
            scope_type=scope,
            channel=channel,
            chat_id=chat_id,
            sender_id=sender_id,
            importance=importance,
            merge=True,
        )
    body: dict[str, Any] = {"item": values.item(row), "warnings": list(warnings)}
    body |= {"merged": True} if op.kind == "items.confirm" else {}
    warn(state, warnings)
    added(state, op, row.id, body, dry_run=dry_run)


def warn(state: State, warnings: Sequence[str]) -> None:
    """Say what is odd about a text that is kept all the same; in JSON it stands in the document."""
    if not state.json and warnings:
        output.notes([f"Warning: {warning}" for warning in warnings])


def warned(state: State, told: object) -> list[str]:
    """As `warn`, of JSON that is kept as it was given; what was said."""
    from nanomem_tui.memory import safety

    warnings = safety.of_data(told)
    warn(state, warnings)
    return warnings


def items_of(ws: Workspace, ids: Sequence[str]) -> list[Item]:
    """The items of these ids. Raises AccessDenied, not NotFound, where they lie in a file that cannot be read."""
    ws.store.load("item")
    return [ws.items.get(item_id) for item_id in ids]


@click.command(cls=Command)
@click.argument("item_id", metavar="ID", type=Words(), shell_complete=completing("items"))
@click.option("--text", type=Words(), help="The new words (without any option: edit them in $EDITOR).")
@click.option("--kind", type=KIND, help="Another kind.")
@click.option("--importance", type=click.FloatRange(0, 1), help="0 to 1.")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Who sees it from now on.")
@click.option("--channel", type=Words(), help="The channel of that chat or person.")
@click.option("--chat-id", type=Words(), help="The chat.")
@click.option("--sender-id", type=Words(), help="The person.")
@rehearsable
@pass_state
def edit(
    state: State,
    item_id: str,
    text: str | None,
    kind: str | None,
    importance: float | None,
    scope: str | None,
    channel: str | None,
    chat_id: str | None,
    sender_id: str | None,
    dry_run: bool,
) -> None:
    """Correct an item, here or in your editor; a scope is named whole, with its channel, chat and person.

    \b
    Example:
      nanomem memory edit ltm_1739443200123_1 --text "Prefers aisle seats"
    """
    fields: dict[str, Any] = {"text": text, "kind": kind, "importance": importance}
    fields = {name: value for name, value in fields.items() if value is not None}
    if scope is None and (channel or chat_id or sender_id):
        raise click.UsageError("name the scope too: --scope chat or user", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        if scope is not None:
            fields |= _scope_fields(ws, scope, channel, chat_id, sender_id)
        row = items_of(ws, [item_id])[0]
        shown = None
        kept: AbstractContextManager[None] = nullcontext()
        if not fields:
            from nanomem_tui.cli import editor

            shown, fields = row, {"text": editor.edit_text(row.text, "--text")}
            kept = editor.words_kept(fields["text"])
        changed = {name: value for name, value in fields.items() if value != getattr(row, name)}
        with kept:
            done = [ws.items.edit(row.id, expected=shown, **changed)] if changed else []
        row = ws.items.get(row.id)
        warnings = ws.items.warnings(row) if "text" in changed else []
    warn(state, warnings)
    tell(state, done, {"item": values.item(row), "warnings": warnings}, "Nothing changed.", dry_run=dry_run)


def _scope_fields(
    ws: Workspace, scope: str, channel: str | None, chat_id: str | None, sender_id: str | None
) -> dict[str, Any]:
    """The fields that a scope consists of. Raises BadInput for one that lacks its channel, chat or person."""
    from nanomem_tui.memory.scopes import Audience, key_for

    if scope == "global":
        channel = chat_id = sender_id = None
    key = key_for(scope, Audience(channel, chat_id, sender_id), ws.id)
    return {"scope_type": scope, "scope_key": key, "channel": channel, "chat_id": chat_id, "sender_id": sender_id}


@click.command(cls=Command)
@ids_argument
@rehearsable
@pass_state
def enable(state: State, ids: Sequence[str], dry_run: bool) -> None:
    """Switch items on again.

    \b
    Example:
      nanomem memory enable ltm_1739443200123_1
    """
    switch(state, ids, "enabled", True, dry_run=dry_run)


@click.command(cls=Command)
@ids_argument
@rehearsable
@pass_state
def disable(state: State, ids: Sequence[str], dry_run: bool) -> None:
    """Switch items off: kept and listed, but the agent no longer gets them.

    \b
    Example:
      nanomem memory disable ltm_1739443200123_1
    """
    switch(state, ids, "enabled", False, dry_run=dry_run)


def switch(
    state: State, ids: Sequence[str], field: Literal["enabled", "pinned"], wanted: bool, *, dry_run: bool
) -> None:
    """Set one of the two switches of items; those that are set so already are left alone."""
    with state.open(dry_run=dry_run) as ws:
        rows = items_of(ws, ids)
        wrong = [row.id for row in rows if bool(getattr(row, field)) != wanted]
        change = {"enabled": ws.items.set_enabled, "pinned": ws.items.set_pinned}[field]
        done = [change(wrong, wanted)] if wrong else []
        body = {"items": [values.item(ws.items.get(row.id)) for row in rows]}
    word = field if wanted else {"enabled": "disabled", "pinned": "unpinned"}[field]
    tell(state, done, body, f"Already {word}.", dry_run=dry_run)


@click.command(cls=Command)
@ids_argument
@decided
@pass_state
def delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Take items away. `nanomem undo` brings them back.

    \b
    Example:
      nanomem memory delete ltm_1739443200123_1 --yes
    """
    with state.open() as ws:
        rows = items_of(ws, ids)
        preview = {"items": [values.item(row) for row in rows]}
        question = f"Delete {words.counted(len(rows), 'item')}?"
        if not agreed(state, preview, lambda: _removal("Would delete", rows), question, yes=yes, dry_run=dry_run):
            return
        op = ws.items.delete([row.id for row in rows])
    state.show({"operation": values.operation(op), **preview}, [op.label])


def _removal(verb: str, rows: Sequence[Item]) -> list[str]:
    from nanomem_tui.cli.memory_answers import item_lines

    if not rows:
        return ["Nothing to remove."]
    more = len(rows) - SHOWN
    ending = [f"… and {more:,} more; --json shows all"] if more > 0 else []
    return [f"{verb} {words.counted(len(rows), 'item')}:", *item_lines(rows[:SHOWN]), *ending]


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Say what waits and write nothing.")
@pass_state
def flush(state: State, dry_run: bool) -> None:
    """Write every waiting change into the database and the agent's own files now.

    \b
    Example:
      nanomem memory flush
    """
    with state.open() as ws:
        waiting = values.plain(ws.checkpoint_state())
        if dry_run:
            line = f"Would write {words.counted(waiting['dirty'], 'change')}."
            state.show({"dry_run": True, "checkpoint": waiting}, [line])
            return
        result = values.plain(ws.flush())
    line = f"Wrote {words.counted(result['rows'], 'row')} of {words.counted(result['operations'], 'operation')}"
    exported = f", exported {', '.join(result['exported'])}" if result["exported"] else ""
    state.show(result, [f"{line} in {result['ms']:.0f} ms{exported}."])


@click.command(cls=Command)
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
            "removed": [{**values.item(row), "reason": reason} for row, reason in plan.removed],
        }
        if not plan.removed:
            state.show({"operation": None, **preview}, ["Nothing to remove."])
            return
        rows = [row for row, _ in plan.removed]
        if only_looking(state, preview, lambda: _removal("Would remove", rows), dry_run=dry_run):
            return
        op = ws.items.compact(max_items)
    state.show({"operation": values.operation(op), **preview}, [with_undo(op)])


@click.command(cls=Command)
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
            rows = retention.expired(ws.items.all(), ws.settings, clock.now())
        else:
            rows = list(ws.items.prune_preview(days, kind, scope))
        preview = {"items": [values.item(row) for row in rows]}
        op: Operation | None = None
        if rows:
            if only_looking(state, preview, _removal("Would delete", rows), dry_run=dry_run):
                return
            if days is None:
                op = retention.prune_expired(ws.store, ws.settings, perform=ws.perform)
            else:
                op = ws.items.prune(days, kind, scope)
    state.show({"operation": values.operation(op), **preview}, [with_undo(op) if op else "Nothing to remove."])
