"""`nanomem inbox`: what was held back when it was captured or imported, and a person's decision about it.

Prints a text as it is stored: of a secret that was masked, nothing but its kind and fingerprint is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.memory_changes import warn
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Group, Words, agreed, decided, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, paragraph, table

if TYPE_CHECKING:
    from nanomem_tui.memory.inbox import Waiting
    from nanomem_tui.workspace import Workspace

NOTHING = "Nothing waits in the inbox."
ids_argument = click.argument("ids", metavar="[ID]...", type=Words(), nargs=-1)
all_option = click.option("--all", "everything", is_flag=True, help="Everything that waits.")


@click.group("inbox", cls=Group)
def inbox() -> None:
    """What was held back: look at it, accept it, reject it.

    \b
    Example:
      nanomem inbox list
      nanomem inbox accept ltm_1739443200123_1
    """


@inbox.command("list")
@paged
@pass_state
def list_waiting(state: State, limit: int | None, offset: int) -> None:
    """What waits for a person, the newest first, and why.

    \b
    Example:
      nanomem inbox list --json
    """
    with state.open() as ws:
        found = ws.inbox.list()
        shown = page(found, limit, offset)
        body = [_json(ws, one) for one in shown]
    total = f"{words.counted(len(found), 'thing')} waiting"
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    state.show(body, lambda: [*_table(shown), ending] if found else [NOTHING])


def _json(ws: Workspace, one: Waiting) -> dict[str, Any]:
    from nanomem_tui.store.values import Item

    row = one.row
    body = values.item(row) if isinstance(row, Item) else values.lesson(row, ws.lessons.effective(row))
    head = {"id": one.id, "layer": one.layer, "text": one.text}
    return {**head, "why": one.why, "since": one.since, "origin": one.origin, **body, **head}


def _table(shown: Sequence[Waiting]) -> list[str]:
    columns = [
        Column("ID"),
        Column("Text", limit=90, least=28),
        Column("Why", limit=60, least=20),
        Column("From", limit=40, least=12, drop=1),
        Column("Since", drop=2),
    ]
    cells = [(one.id, one.text, one.why, one.origin, words.when(one.since)) for one in shown]
    return table(columns, cells, output.terminal_width())


@inbox.command()
@click.argument("row_id", metavar="ID", type=Words())
@pass_state
def show(state: State, row_id: str) -> None:
    """One thing that waits: its words, why it was held back, who said it where.

    \b
    Example:
      nanomem inbox show ltm_1739443200123_1
    """
    with state.open() as ws:
        ws.store.load("item")
        one = ws.inbox.get(row_id)
        body = _json(ws, one)
    pairs = [
        ("ID", one.id),
        ("Is", f"{body['kind']} item, {body['scope_key']}" if one.layer == "item" else "a lesson"),
        ("Why", one.why),
        ("From", one.origin),
        ("Message", str(body.get("source_message_id") or "")),
        ("Since", words.when(one.since)),
        ("Said", f"{body['hits']} times" if body["hits"] > 1 else ""),
    ]
    state.show(body, lambda: [*paragraph(one.text, output.terminal_width()), "", *output.fields(pairs)])


@inbox.command()
@ids_argument
@all_option
@click.option("--text", type=Words(), help="Remember these words instead; of a lesson: what to do.")
@decided
@pass_state
def accept(state: State, ids: Sequence[str], everything: bool, text: str | None, yes: bool, dry_run: bool) -> None:
    """Make what waits active: recalled from now on. Only `--all` asks, as nobody may have read all of it.

    \b
    Example:
      nanomem inbox accept ltm_1739443200123_1 --text "Prefers aisle seats"
    """
    _one_way(ids, everything=everything)
    if text is not None and (everything or len(ids) != 1):
        raise click.UsageError("--text goes with one ID", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        found = _chosen(ws, ids)
        preview = {"accepted": [_json(ws, one) for one in found]}
        question = f"Accept {words.counted(len(found), 'thing')}?"
        lines = ["Would accept:", *_table(found)]
        if everything and found and not agreed(state, preview, lines, question, yes=yes or dry_run, dry_run=False):
            return
        done = [ws.inbox.accept([one.id for one in found], text)] if found else []
        warnings = _warnings(ws, found[0]) if text is not None else []
        body = {"accepted": [_after(ws, one) for one in found], "warnings": warnings}
    warn(state, warnings)
    tell(state, done, body, NOTHING, dry_run=dry_run)


def _after(ws: Workspace, one: Waiting) -> dict[str, Any]:
    if one.layer == "item":
        return values.item(ws.items.get(one.id))
    row = ws.lessons.get(one.id)
    return values.lesson(row, ws.lessons.effective(row))


def _warnings(ws: Workspace, one: Waiting) -> list[str]:
    """What is odd about the words that a person gave instead."""
    if one.layer == "item":
        return ws.items.warnings(ws.items.get(one.id))
    from nanomem_tui.memory import safety

    return safety.warnings(ws.lessons.get(one.id).better_action)


@inbox.command()
@ids_argument
@all_option
@decided
@pass_state
def reject(state: State, ids: Sequence[str], everything: bool, yes: bool, dry_run: bool) -> None:
    """Take what waits away. `nanomem undo` puts it back into the inbox.

    \b
    Example:
      nanomem inbox reject --all --dry-run
    """
    _one_way(ids, everything=everything)
    with state.open() as ws:
        found = _chosen(ws, ids)
        preview = {"rejected": [_json(ws, one) for one in found]}
        op = None
        if found:
            question = f"Reject {words.counted(len(found), 'thing')}?"
            lines = ["Would reject:", *_table(found)]
            if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
                return
            op = ws.inbox.reject([one.id for one in found])
    state.show({"operation": values.operation(op), **preview}, [op.label if op else NOTHING])


def _one_way(ids: Sequence[str], *, everything: bool) -> None:
    if bool(ids) is everything:
        raise click.UsageError("name the IDs, or --all alone", click.get_current_context())


def _chosen(ws: Workspace, ids: Sequence[str]) -> list[Waiting]:
    """What the IDs name, each once; without any, everything that waits."""
    ws.store.load("item")
    named = {one.id: one for one in map(ws.inbox.get, ids)} if ids else {one.id: one for one in ws.inbox.list()}
    return list(named.values())
