"""`nanomem scopes`: what each chat and person sees, what leaks, and move items to another scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Group, Words, agreed, audience_options, completing, decided, paged, pass_state
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.planned import SHOWN, show_changes
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.text import quoted

if TYPE_CHECKING:
    from nanomem_tui.memory.items import Plan, Verb
    from nanomem_tui.memory.scopes import Audience, ScopeRow, Visibility
    from nanomem_tui.review.leaks import Leak
    from nanomem_tui.workspace import Workspace

NO_LEAK = "Nothing leaks: no item names anybody of another chat."
THROUGH = ("chat", "user", "global")
"""The layers through which a chat or a person sees."""
ids_argument = click.argument(
    "ids", metavar="[ID]...", type=Words(), nargs=-1, shell_complete=completing("items")
)  # fmt: skip
to_option = click.option(
    "--to", type=Words(), required=True, metavar="SCOPE", help="global, telegram:42 (a chat) or telegram:@ana."
)
from_option = click.option("--from", "whence", type=Words(), metavar="SCOPE", help="Every item of this scope.")


@click.group("scopes", cls=Group)
def scopes() -> None:
    """Who sees what: the scopes, what leaks from one to another, items moved and copied.

    \b
    Example:
      nanomem scopes list
      nanomem scopes show --channel telegram --chat-id 42 --sender-id ana
    """


@scopes.command("list")
@paged
@pass_state
def list_scopes(state: State, limit: int | None, offset: int) -> None:
    """Every scope with the items in it by kind, and how many chats and persons see them.

    \b
    Example:
      nanomem scopes list --json
    """
    with state.open() as ws:
        rows = page(ws.scopes.matrix(), limit, offset)
        askers = ws.scopes.sees(ws.scopes.askers())
    body = {"scopes": [_scope_json(row) for row in rows], "askers": [_sees_json(one) for one in askers]}
    state.show(body, lambda: [*_matrix(rows), *([""] if askers else []), *_askers(askers)] or ["No items."])


@scopes.command()
@click.argument("scope", type=Words(), required=False)
@audience_options("As a chat of this channel.", "As this chat.", "As this person.")
@paged
@pass_state
def show(state: State, scope: str | None, audience: Audience, limit: int | None, offset: int) -> None:
    """The items of a scope; or with --channel what a chat or person sees, and through which layer.

    \b
    Example:
      nanomem scopes show telegram:42
      nanomem scopes show --channel telegram --chat-id 42 --sender-id ana
    """
    from nanomem_tui.memory.scopes import is_in_scope

    if (scope is None) == audience.is_owner:
        raise click.UsageError("name a scope, or who asks with --channel", click.get_current_context())
    with state.open() as ws:
        if scope is None:
            found = [(row, str(layer)) for row, layer in ws.scopes.seen_by(audience)]
        else:
            key = ws.scopes.named(scope).scope_key
            found = [(row, row.scope_type) for row in ws.items.all() if is_in_scope(row.scope_type, row.scope_key, key)]
    shown = page(found, limit, offset)
    columns = [Column("Layer"), Column("Kind", drop=1), Column("ID", limit=26, least=12), Column("Text", least=28)]
    cells = [(layer, row.kind, row.id, row.text) for row, layer in shown]
    ending = output.of_total(len(shown), len(found), "item")
    body = [{**json_objects.item(row), "layer": layer} for row, layer in shown]
    state.show(body, lambda: [*table(columns, cells, output.terminal_width()), ending])


@scopes.command("leaks")
@paged
@pass_state
def list_leaks(state: State, limit: int | None, offset: int) -> None:
    """Items that tell one chat of another, private things that every chat sees, items that no chat sees.

    \b
    Example:
      nanomem scopes leaks --json
    """
    with state.open() as ws:
        found = ws.scopes.leaks()
    shown = page(found, limit, offset)
    ending = output.of_total(len(shown), len(found), "leak")
    state.show([_leak_json(one) for one in shown], lambda: [*_leaks(shown), ending] if found else [NO_LEAK])


@scopes.command()
@ids_argument
@to_option
@from_option
@click.option("--merge", is_flag=True, help="Where the same text is there already, make one item of the two.")
@decided
@pass_state
def move(state: State, **asked: Any) -> None:
    """Move items to another scope, as one operation: who saw them before does not see them any more.

    \b
    Example:
      nanomem scopes move ltm_1739443200123_1 --to telegram:@ana
      nanomem scopes move --from telegram:42 --to global --dry-run
    """
    _go(state, "move", **asked)


@scopes.command("copy")
@ids_argument
@to_option
@from_option
@decided
@pass_state
def copy_items(state: State, **asked: Any) -> None:
    """Copy items to another scope, as one operation: both sides see the words, each item goes its own way.

    \b
    Example:
      nanomem scopes copy ltm_1739443200123_1 --to telegram:42
    """
    _go(state, "copy", **asked)


def _go(
    state: State,
    verb: Verb,
    ids: Sequence[str],
    to: str,
    whence: str | None,
    yes: bool,
    dry_run: bool,
    merge: bool = False,
) -> None:
    if bool(ids) is (whence is not None):
        raise click.UsageError("name the items, or with --from a scope", click.get_current_context())
    with state.open() as ws:
        wanted = _of_scope(ws, whence) if whence is not None else [ws.items.get(one).id for one in ids]
        scope = ws.scopes.named(to)
        if whence is not None and not wanted:
            show_changes(state, [], {"moved": [], "notes": []}, f"No items in {whence}.", dry_run=dry_run)
            return
        plan = ws.scopes.plan(wanted, scope, verb)
        body = _plan_json(plan, merge=merge)
        lines = _plan_lines(plan, merge=merge)
        question = f"{verb.capitalize()} {output.counted(len(body['goes']), 'item')} to {scope.name}?"
        if (whence is not None or dry_run) and not agreed(state, body, lines, question, yes=yes, dry_run=dry_run):
            return
        op, plan = ws.scopes.move(wanted, scope, merge=merge) if verb == "move" else ws.scopes.copy(wanted, scope)
    if plan.notes and not state.json:
        output.notes([f"Note: {note}." for note in plan.notes if not (merge and note.endswith("one item"))])
    show_changes(state, [op], _plan_json(plan, merge=merge), dry_run=False)


def _of_scope(ws: Workspace, name: str) -> list[str]:
    from nanomem_tui.memory.scopes import is_in_scope

    key = ws.scopes.named(name).scope_key
    return [row.id for row in ws.items.all() if is_in_scope(row.scope_type, row.scope_key, key)]


def _plan_lines(plan: Plan, *, merge: bool) -> list[str]:
    verb = f"Would {plan.verb}"
    lines = [f"{verb} to {plan.scope.name} ({plan.scope.words}): {quoted(row.text, 100)}" for row in plan.goes[:SHOWN]]
    if len(plan.goes) > SHOWN:
        lines.append(f"… and {output.counted(len(plan.goes) - SHOWN, 'more item')}")
    merged = plan.mergeable if merge else ()
    lines += [
        f"Would merge {duplicate.item.id} into {duplicate.there.id}: {quoted(duplicate.there.text, 100)}"
        for duplicate in merged
    ]
    return lines + [f"Note: {note}." for note in plan.notes if not (merged and note.endswith("one item"))]


def _plan_json(plan: Plan, *, merge: bool) -> dict[str, Any]:
    merged = [duplicate.item.id for duplicate in plan.mergeable] if merge else []
    return {
        "to": plan.scope.scope_key,
        "goes": [row.id for row in plan.goes] + merged,
        "merged": {duplicate.item.id: duplicate.there.id for duplicate in plan.mergeable} if merge else {},
        "stays": [
            *({"id": row.id, "why": "already there"} for row in plan.there),
            *({"id": one.item.id, "why": one.why} for one in plan.duplicates if one.item.id not in merged),
        ],
        "notes": plan.notes,
    }  # fmt: skip


def _matrix(rows: Sequence[ScopeRow]) -> list[str]:
    from nanomem_tui.store.values import KINDS

    there = {kind for row in rows for kind in row.kinds}
    kinds = [*(kind for kind in KINDS if kind in there), *sorted(there.difference(KINDS))]
    columns = [
        Column("Scope", limit=40, least=14),
        *(Column(kind.capitalize(), right=True, drop=1) for kind in kinds),
        Column("Items", right=True),
        Column("Off", right=True, optional=True, drop=3),
        Column("Inbox", right=True, optional=True, drop=2),
        Column("Unseen", right=True, optional=True),
        Column("Lessons", right=True, optional=True, drop=4),
        Column("Seen by", right=True),
    ]
    cells = [
        (row.scope.name, *(_number(row.kinds.get(kind, 0)) for kind in kinds), f"{row.total:,}", _number(row.disabled),
         _number(row.waiting), _number(row.unseen), _number(row.lessons), f"{len(row.seen_by):,}")
        for row in rows
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


def _askers(found: Sequence[Visibility]) -> list[str]:
    columns = [
        Column("Asks", limit=60, least=14),
        Column("Sees", right=True),
        *(Column(name.capitalize(), right=True, drop=1) for name in THROUGH),
    ]
    cells = [
        (_who(one.audience), f"{one.number:,}", *(_number(one.by_layer.get(name, 0)) for name in THROUGH))
        for one in found
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())


def _who(audience: Audience) -> str:
    chat = f"{audience.channel}:{audience.chat_id or '*'}"
    return f"{chat} {audience.sender_id}" if audience.sender_id else chat


def _leaks(shown: Sequence[Leak]) -> list[str]:
    from nanomem_tui.memory.scopes import scope_of_item

    columns = [
        Column("ID", limit=26, least=12, drop=2),
        Column("Scope", limit=24, least=10),
        Column("Why", limit=60, least=28),
        Column("Belongs to", limit=24, least=10, drop=1, optional=True),
        Column("Text", limit=80, least=20),
    ]
    cells = [(one.item.id, scope_of_item(one.item).name, one.why, one.belongs, one.item.text) for one in shown]
    return table(columns, cells, output.terminal_width())


def _scope_json(row: ScopeRow) -> dict[str, Any]:
    return {
        "scope": row.scope.name, "scope_type": row.scope.scope_type, "scope_key": row.scope.scope_key,
        "items": row.total, "kinds": dict(row.kinds), "disabled": row.disabled, "inbox": row.waiting,
        "unseen": row.unseen, "lessons": row.lessons, "seen_by": [_who(one) for one in row.seen_by],
    }  # fmt: skip


def _sees_json(one: Visibility) -> dict[str, Any]:
    return {**one.audience._asdict(), "sees": one.number, "layers": dict(one.by_layer), "scopes": dict(one.by_scope)}


def _leak_json(one: Leak) -> dict[str, Any]:
    return {
        "id": one.item.id, "kind": one.kind, "why": one.why, "sure": one.sure, "belongs": one.belongs,
        "item": json_objects.item(one.item),
    }  # fmt: skip
