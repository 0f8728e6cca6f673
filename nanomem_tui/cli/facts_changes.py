"""The commands of `nanomem facts` that change facts. Each is one recorded operation that `nanomem undo` takes back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import values, words
from nanomem_tui.cli.facts import fact_lines
from nanomem_tui.cli.memory_changes import ids_argument, warn
from nanomem_tui.cli.planned import added, tell
from nanomem_tui.cli.shared import Command, Words, agreed, cannot_read, decided, pass_state, rehearsable
from nanomem_tui.cli.state import State
from nanomem_tui.core.errors import BadInput, NothingToDo

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.values import Fact
    from nanomem_tui.workspace import Workspace

MAX_INPUT = 8_000_000
"""Bytes of a value that are read; what is kept is less."""


@click.command("set", cls=Command)
@click.option("--domain", type=Words(), help="The part of life that it belongs to, such as Work.")
@click.option("--category", type=Words(), required=True, help="What sort of fact it is, such as Contact.")
@click.option("--sub-category", type=Words(), help="A finer sort.")
@click.option("--key", type=Words(), required=True, help="What it is called.")
@click.option("--value", type=Words(), help="What is so.")
@click.option("--value-file", type=Words(), metavar="FILE", help="The value is in this file (-: on stdin).")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Who sees it (default: global).")
@click.option("--channel", type=Words(), help="The channel of that chat or person.")
@click.option("--chat-id", type=Words(), help="The chat.")
@click.option("--sender-id", type=Words(), help="The person.")
@rehearsable
@pass_state
def set_(
    state: State,
    domain: str | None,
    category: str,
    sub_category: str | None,
    key: str,
    value: str | None,
    value_file: str | None,
    scope: str | None,
    channel: str | None,
    chat_id: str | None,
    sender_id: str | None,
    dry_run: bool,
) -> None:
    """Give a fact its value; the one that it had stays in its history. Safe on disk when the command returns.

    A domain, a category and a key name one fact: the same key in another domain is another fact.

    \b
    Example:
      nanomem facts set --domain Work --category Contact --key phone --value "555 0100"
    """
    given = _value(value, value_file)
    if given is None:
        raise click.UsageError("give --value or --value-file", click.get_current_context())
    done: list[Operation] = []
    with state.open(dry_run=dry_run, starting=True) as ws:
        ws.store.load("item")
        try:
            operation, fact, warnings = ws.facts.set(
                category,
                key,
                given,
                domain=domain,
                sub_category=sub_category,
                scope_type=scope,
                channel=channel,
                chat_id=chat_id,
                sender_id=sender_id,
            )
        except NothingToDo as nothing:
            fact, warnings = ws.facts.get(nothing.where), []
        else:
            done = [operation]
    warn(state, warnings)
    body = {"fact": fact.to_json(), "warnings": list(warnings)}
    if done:
        added(state, done[0], fact.id, body, dry_run=dry_run)
    else:
        tell(state, [], body, "It is so already.", dry_run=dry_run)


def _value(value: str | None, file: str | None) -> str | None:
    """The value that was given, here or in a file; None without any. Raises BadInput, NanomemError."""
    if file is None:
        return value
    if value is not None:
        raise click.UsageError("give --value or --value-file, not both", click.get_current_context())
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_INPUT + 1)
    except OSError as error:
        raise cannot_read(error, file, "reading the value") from error
    if len(data) > MAX_INPUT:
        raise BadInput(f"more than {MAX_INPUT:,} bytes", file, "give a shorter value")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"byte {error.start} is no UTF-8", file, "give the value in UTF-8") from None


@click.command(cls=Command)
@click.argument("fact_id", metavar="ID", type=Words())
@click.option("--value", type=Words(), help="What is so now (without any option: edit it in $EDITOR).")
@click.option("--value-file", type=Words(), metavar="FILE", help="The value is in this file (-: on stdin).")
@click.option("--key", type=Words(), help="Another key.")
@click.option("--category", type=Words(), help="Another category.")
@click.option("--domain", type=Words(), help='Another domain; "" takes it away.')
@click.option("--sub-category", type=Words(), help='Another sub-category; "" takes it away.')
@rehearsable
@pass_state
def edit(
    state: State,
    fact_id: str,
    value: str | None,
    value_file: str | None,
    key: str | None,
    category: str | None,
    domain: str | None,
    sub_category: str | None,
    dry_run: bool,
) -> None:
    """Correct a fact, its value or its names, here or in your editor.

    \b
    Example:
      nanomem facts edit fact_0123456789abcdef0123 --key "phone at work"
    """
    given = {"value": _value(value, value_file), "key": key, "category": category}
    given |= {"domain": domain, "sub_category": sub_category}
    fields = {name: text for name, text in given.items() if text is not None}
    done: list[Operation] = []
    with state.open(dry_run=dry_run) as ws:
        ws.store.load("item")
        fact = ws.facts.get(fact_id)
        shown = None
        kept: AbstractContextManager[None] = nullcontext()
        if not fields:
            from nanomem_tui.cli import editor

            shown, fields = fact.item, {"value": editor.edit_text(fact.value, "--value")}
            kept = editor.words_kept(fields["value"])
        with kept:
            try:
                done = [ws.facts.edit(fact.id, expected=shown, **fields)]
            except NothingToDo:
                done = []
        fact = ws.facts.get(fact.id)
        warnings = ws.items.warnings(fact.item) if done and "value" in fields else []
    warn(state, warnings)
    tell(state, done, {"fact": fact.to_json(), "warnings": warnings}, "Nothing changed.", dry_run=dry_run)


@click.command(cls=Command)
@ids_argument
@decided
@pass_state
def delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Take facts away, with all their values. `nanomem undo` brings them back.

    \b
    Example:
      nanomem facts delete fact_0123456789abcdef0123 --yes
    """
    with state.open() as ws:
        rows = _facts(ws, ids)
        preview = {"facts": [fact.to_json() for fact in rows]}
        count = words.counted(len(rows), "fact")
        lines = [f"Would delete {count}:", *fact_lines(rows)]
        if not agreed(state, preview, lines, f"Delete {count}?", yes=yes, dry_run=dry_run):
            return
        operation = ws.facts.delete([fact.id for fact in rows])
    state.show({"operation": values.operation(operation), **preview}, [operation.label])


@click.command(cls=Command)
@ids_argument
@click.option("--into", type=Words(), metavar="ID", help="The fact that stays, with its names and its value.")
@decided
@pass_state
def merge(state: State, ids: Sequence[str], into: str | None, yes: bool, dry_run: bool) -> None:
    """Make one fact of several: the newest (or --into) stays, the values of the others go into its history.

    \b
    Example:
      nanomem facts merge fact_0123456789abcdef0123 fact_fedcba9876543210fedc --dry-run
    """
    with state.open(dry_run=dry_run) as ws:
        rows = _facts(ws, [*ids, *([into] if into else [])])
        kept = ws.facts.get(into) if into else max(rows, key=lambda fact: fact.item.updated_at)
        preview = {"merged": [fact.to_json() for fact in rows], "kept": kept.id}
        if not into and not dry_run and len(rows) > 1:
            lines = [*fact_lines(rows), f"What stands is {kept.id}; the other values go into its history."]
            agreed(state, preview, lines, "Merge them?", yes=yes, dry_run=False)
        operation = ws.facts.merge([fact.id for fact in rows], into=kept.id)
        body = {"fact": ws.facts.get(kept.id).to_json(), **preview}
    tell(state, [operation], body, dry_run=dry_run)


def _facts(ws: Workspace, ids: Sequence[str]) -> list[Fact]:
    """The facts of these ids, each once. Raises NotFound, Refused, or AccessDenied for a file that cannot be read."""
    ws.store.load("item")
    return list({fact.id: fact for fact in map(ws.facts.get, ids)}.values())
