"""`nanomem inbox`: what was held back when it was captured, imported or dreamt, and a person's decision about it.

Prints a text as it is stored: of a secret that was masked, nothing but its kind and fingerprint is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.commands.memory import warn
from nanomem_tui.cli.options import Group, State, Words, agreed, decided, page, paged, pass_state
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import tell
from nanomem_tui.core.errors import NotFound, NothingToDo

if TYPE_CHECKING:
    from nanomem_tui.dreams.log import EntryEvidence
    from nanomem_tui.memory.inbox import Waiting
    from nanomem_tui.review.waiting import HeldBackQueue, WaitingEdit
    from nanomem_tui.workspace import Workspace

    Held = Waiting | WaitingEdit

NOTHING = "Nothing waits in the inbox."
ids_argument = click.argument("ids", metavar="[ID]...", type=Words(), nargs=-1)
all_option = click.option("--all", "everything", is_flag=True, help="Everything that waits.")


@click.group("inbox", cls=Group)
def inbox() -> None:
    """What was held back, items, lessons and edits of Dreams: look at it, accept it, reject it.

    \b
    Example:
      nanomem inbox list
      nanomem inbox accept ltm_1739443200123_1
    """


@inbox.command("list")
@paged
@pass_state
def list_waiting(state: State, limit: int | None, offset: int) -> None:
    """What waits for a person, the newest first, and why. Of an edit: the line that goes, then the line that comes.

    \b
    Example:
      nanomem inbox list --json
    """
    with state.open() as ws:
        waits = _waits(ws)
        found = waits.list()
        shown = page(found, limit, offset)
        body = [_json(ws, waits, one) for one in shown]
        broken = waits.problems()
    output.notes(f"Note: {problem.text()}" for problem in broken)
    total = f"{output.counted(len(found), 'thing')} waiting"
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    state.show(body, lambda: [*_table(shown), ending] if found else [NOTHING])


def _waits(ws: Workspace) -> HeldBackQueue:
    from nanomem_tui.review.waiting import HeldBackQueue

    return HeldBackQueue(ws)


def _json(ws: Workspace, waits: HeldBackQueue, one: Held) -> dict[str, Any]:
    head = {"id": one.id, "layer": one.layer, "text": one.text}
    return {**head, "why": one.why, "since": one.since, "origin": one.origin, **_fields(ws, waits, one), **head}


def _fields(ws: Workspace, waits: HeldBackQueue, one: Held) -> dict[str, Any]:
    from nanomem_tui.review.waiting import WaitingEdit
    from nanomem_tui.store.values import Item

    if isinstance(one, WaitingEdit):
        edit = one.hunk.edit
        named = {"kind": one.layer, "op": edit.op, "file": edit.file, "to_file": edit.to_file, "section": edit.section}
        evidence = values.plain(waits.evidence(one))
        return {**named, "old": one.old, "new": one.new, "dreamer": one.hunk.dreamer, "evidence": evidence}
    row = one.row
    return values.item(row) if isinstance(row, Item) else values.lesson(row, ws.lessons.effective(row))


def _table(shown: Sequence[Held]) -> list[str]:
    columns = [
        Column("ID"),
        Column("Is", drop=3),
        Column("Text", limit=90, least=28),
        Column("Why", limit=60, least=20),
        Column("From", limit=40, least=12, drop=1),
        Column("Since", drop=2),
    ]
    cells = [(one.id, one.layer, one.text, one.why, one.origin, output.when(one.since)) for one in shown]
    return table(columns, cells, output.terminal_width())


@inbox.command()
@click.argument("row_id", metavar="ID", type=Words())
@pass_state
def show(state: State, row_id: str) -> None:
    """One thing that waits: its words, why it was held back, who said it where. Of an edit: what asks for it.

    \b
    Example:
      nanomem inbox show ltm_1739443200123_1
    """
    from nanomem_tui.memory.retention import forget_target
    from nanomem_tui.review.waiting import WaitingEdit

    with state.open() as ws:
        ws.store.load("item")
        waits = _waits(ws)
        one = _waiting(waits, [row_id])[0]
        body = _json(ws, waits, one)
        if isinstance(one, WaitingEdit):
            body["now"] = waits.now(one)
            entries = waits.evidence(one)
            state.show(body, lambda: edit_lines(one, entries, body["now"]))
            return
    pairs = [
        ("ID", one.id),
        ("Is", f"{body['kind']} item, {body['scope_key']}" if one.layer == "item" else "a lesson"),
        ("Deletes", forget_target(one.row)),
        ("Why", one.why),
        ("From", one.origin),
        ("Message", str(body.get("source_message_id") or "")),
        ("Said there", _evidence(one)),
        ("Since", output.when(one.since)),
        ("Said", f"{body['hits']} times" if body["hits"] > 1 else ""),
    ]
    state.show(body, lambda: [*paragraph(one.text, output.terminal_width()), "", *output.fields(pairs)])


def _evidence(one: Waiting) -> str:
    """The words that a fact out of dialogue is from."""
    held = one.row.meta.get("inbox")
    return str(held.get("evidence") or "") if isinstance(held, dict) else ""


def edit_lines(one: WaitingEdit, entries: Sequence[EntryEvidence], now: str) -> list[str]:
    """An edit in full: the line that goes, the line that comes, why it waits, and the entries that ask for it."""
    width = output.terminal_width()
    lines = [f"{one.place}:"]
    for sign, text in (("-", one.old), ("+", one.new)):
        shown = paragraph(text, width and max(width - 2, 20)) if text else []
        lines += [f"{sign} {part}" for part in shown]
    pairs = [
        ("ID", one.id),
        ("Is", f"an edit of a Dream: {one.hunk.edit.op}"),
        ("Why", one.why),
        ("Now", f"cannot be made as it is: {now}" if now else ""),
        ("Reason", one.hunk.edit.why),
        ("From", one.origin),
        ("Since", output.when(one.since)),
    ]
    return [*lines, "", *output.fields(pairs), *evidence_lines(entries)]


def evidence_lines(entries: Sequence[EntryEvidence]) -> list[str]:
    """One line for each history entry: its number, time, session and the statement that asks for the edit."""
    lines = []
    for entry in entries:
        head = " ".join(filter(None, (f"  #{entry.cursor}", entry.timestamp, entry.session_key)))
        lines.append(f"{head}: {entry.text}" if entry.timestamp else f"{head} is not in the history any more")
    return lines


@inbox.command()
@ids_argument
@all_option
@click.option("--text", type=Words(), help="Use these words instead: of a lesson what to do, of an edit the new line.")
@decided
@pass_state
def accept(state: State, ids: Sequence[str], everything: bool, text: str | None, yes: bool, dry_run: bool) -> None:
    """Make what waits active, and edits in their files. Only `--all` asks, as nobody may have read all of it.

    An item or a lesson that was accepted before is so already: that is said, and is no failure.

    \b
    Example:
      nanomem inbox accept ltm_1739443200123_1 --text "Prefers aisle seats"
    """
    _one_way(ids, everything=everything)
    if text is not None and (everything or len(ids) != 1):
        raise click.UsageError("--text goes with one ID", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        waits = _waits(ws)
        ws.store.load("item")
        asked = [row_id for row_id in ids if text is not None or not _decided(waits, row_id)]
        found = waits.list() if everything else _waiting(waits, asked) if asked else []
        preview = {"accepted": [_json(ws, waits, one) for one in found]}
        question = f"Accept {output.counted(len(found), 'thing')}?"
        lines = ["Would accept:", *_table(found)]
        if everything and found and not agreed(state, preview, lines, question, yes=yes or dry_run, dry_run=False):
            return
        done = waits.accept([one.id for one in found], text) if found else None
        warnings = _warnings(ws, found[0], text) if text is not None and found else []
        accepted = [_after(ws, waits, one) for one in (done.rows if done else ())]
        left = [{"id": one.id, "reason": error.what} for one, error in (done.left if done else ())]
        body = {"accepted": accepted, "left": left, "warnings": warnings}
        state.tell_uncommitted(ws, [done.operation] if done else [])
    warn(state, [*warnings, *(f"{entry['id']} waits on: {entry['reason']}" for entry in left)])
    otherwise = NOTHING if everything else f"It does not wait in the inbox any more: {', '.join(ids)}"
    tell(state, [done.operation] if done else [], body, otherwise, dry_run=dry_run)


def _decided(waits: HeldBackQueue, row_id: str) -> bool:
    """Whether that is here and does not wait: accepted before."""
    try:
        waits.get(row_id)
    except NothingToDo:
        return True
    return False


def _waiting(waits: HeldBackQueue, ids: Sequence[str]) -> Sequence[Held]:
    """What waits under those ids, each once. Raises NotFound also for what is here and does not wait."""
    try:
        return waits.named(ids)
    except NothingToDo as error:
        raise NotFound(error.what, error.where, "see `nanomem inbox list`") from None


def _after(ws: Workspace, waits: HeldBackQueue, one: Held) -> dict[str, Any]:
    from nanomem_tui.memory.retention import forget_target

    if one.layer == "item" and not forget_target(getattr(one, "row", None)):
        return values.item(ws.items.get(one.id))
    if one.layer == "lesson":
        row = ws.lessons.get(one.id)
        return values.lesson(row, ws.lessons.effective(row))
    return _json(ws, waits, one)


def _warnings(ws: Workspace, one: Held, text: str) -> list[str]:
    """What is odd about the words that a person gave instead."""
    if one.layer == "item":
        return ws.items.warnings(ws.items.get(one.id))
    from nanomem_tui.memory import safety

    return safety.warnings(ws.lessons.get(one.id).better_action if one.layer == "lesson" else text)


@inbox.command()
@ids_argument
@all_option
@decided
@pass_state
def reject(state: State, ids: Sequence[str], everything: bool, yes: bool, dry_run: bool) -> None:
    """Take what waits away. `nanomem undo` puts it back into the inbox.

    Asks first (or --yes), as what takes words away does; `accept` takes nothing away, and does not.

    \b
    Example:
      nanomem inbox reject --all --dry-run
    """
    _one_way(ids, everything=everything)
    with state.open() as ws:
        waits = _waits(ws)
        ws.store.load("item")
        found = _waiting(waits, ids) if ids else waits.list()
        preview = {"rejected": [_json(ws, waits, one) for one in found]}
        op = None
        if found:
            question = f"Reject {output.counted(len(found), 'thing')}?"
            lines = ["Would reject:", *_table(found)]
            if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
                return
            op = waits.reject([one.id for one in found]).operation
    state.show({"operation": values.operation(op), **preview}, [op.label if op else NOTHING])


def _one_way(ids: Sequence[str], *, everything: bool) -> None:
    if bool(ids) is everything:
        raise click.UsageError("name the IDs, or --all alone", click.get_current_context())
