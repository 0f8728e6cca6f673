"""`nanomem conflicts`: memories that contradict each other, and which of them stands.

Prints texts as they are stored, through the printers of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Group, Words, agreed, decided, paged, pass_state, rehearsable
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, paragraph, table
from nanomem_tui.core.text import quoted

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.review.conflicts import Contradiction
    from nanomem_tui.store.values import Row
    from nanomem_tui.workspace import Workspace

NOTHING = "Nothing contradicts anything."
names_argument = click.argument("names", metavar="ID...", type=Words(), nargs=-1, required=True)


@click.group("conflicts", cls=Group)
def conflicts() -> None:
    """Memories that contradict each other: see them, say which one stands.

    \b
    Example:
      nanomem conflicts list
      nanomem conflicts supersede ltm_1739443200123_1
    """


@conflicts.command("list")
@click.option("--kept", is_flag=True, help="Also those of which you keep both.")
@paged
@pass_state
def list_pairs(state: State, kept: bool, limit: int | None, offset: int) -> None:
    """Pairs of which both cannot be so, the surest first.

    \b
    Example:
      nanomem conflicts list --json
    """
    with state.open() as ws:
        found = ws.conflicts.found() if kept else ws.conflicts.all()
        shown = page(found, limit, offset)
        body = [_json(one) for one in shown]
    total = words.counted(len(found), "contradiction")
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    state.show(body, lambda: [*_table(shown), ending] if found else [NOTHING])


@conflicts.command()
@click.argument("name", metavar="ID", type=Words())
@pass_state
def show(state: State, name: str) -> None:
    """One pair, by its id or that of an item or lesson in it: who said what when, where an agent is given it.

    \b
    Example:
      nanomem conflicts show ltm_1739443200123_1
    """
    with state.open() as ws:
        one = ws.conflicts.get(name)
    lines = [f"{one.why} (sure {one.weight:.0%})"]
    for side, row in (("older", one.older), ("newer", one.newer)):
        lines += ["", f"{side}  {row.id}  {_origin(row)}, said {words.when(row.updated_at)}"]
        lines += paragraph(_text(row), output.terminal_width())
    state.show(_json(one), lines)


@conflicts.command()
@names_argument
@decided
@pass_state
def supersede(state: State, names: Sequence[str], yes: bool, dry_run: bool) -> None:
    """The newer stands, the older was so before: kept, marked as superseded, never given to an agent.

    \b
    Example:
      nanomem conflicts supersede ltm_1739443200123_1 --dry-run
    """
    _decide(state, names, "supersede", yes=yes, dry_run=dry_run)


@conflicts.command("keep-new")
@names_argument
@decided
@pass_state
def keep_new(state: State, names: Sequence[str], yes: bool, dry_run: bool) -> None:
    """The newer stands, the older was never so: kept, marked as wrong, never given to an agent.

    \b
    Example:
      nanomem conflicts keep-new ltm_1739443200123_1
    """
    _decide(state, names, "keep_new", yes=yes, dry_run=dry_run)


@conflicts.command("keep-old")
@names_argument
@decided
@pass_state
def keep_old(state: State, names: Sequence[str], yes: bool, dry_run: bool) -> None:
    """The older stands, the newer is not so: kept, marked as wrong, never given to an agent.

    \b
    Example:
      nanomem conflicts keep-old ltm_1739443200123_1
    """
    _decide(state, names, "keep_old", yes=yes, dry_run=dry_run)


@conflicts.command("keep-both")
@names_argument
@rehearsable
@pass_state
def keep_both(state: State, names: Sequence[str], dry_run: bool) -> None:
    """Both are so: asked about again only when the words of one of them change.

    \b
    Example:
      nanomem conflicts keep-both ltm_1739443200123_1
    """
    with state.open(dry_run=dry_run) as ws:
        found = _named(ws, names)
        op = ws.conflicts.keep_both(found)
    tell(state, [op], {"kept": [one.id for one in found]}, dry_run=dry_run)


@conflicts.command()
@click.argument("name", metavar="ID", type=Words())
@click.option("--scope", required=True, type=Words(), metavar="S", help="global, telegram:42 or telegram:@ana.")
@click.option("--move", type=Words(), default="older", show_default=True, metavar="ID", help="older, newer, or an id.")
@rehearsable
@pass_state
def split(state: State, name: str, scope: str, move: str, dry_run: bool) -> None:
    """Both are so, each in its scope: one of them moves.

    \b
    Example:
      nanomem conflicts split ltm_1739443200123_1 --scope telegram:42 --move newer
    """
    from nanomem_tui.review.conflicts import side_of

    with state.open(dry_run=dry_run) as ws:
        one = ws.conflicts.get(name)
        op = ws.conflicts.split(one, scope, side := side_of(one, move))
    tell(state, [op], {"moved": one.row(side).id, "scope": scope}, dry_run=dry_run)


def _decide(state: State, names: Sequence[str], way: str, *, yes: bool, dry_run: bool) -> None:
    """One pair at once; several after a look at what gives way."""
    with state.open() as ws:
        found = _named(ws, names)
        goes = [one.newer if way == "keep_old" else one.older for one in found]
        stays = [one.older if way == "keep_old" else one.newer for one in found]
        body = {"superseded": [row.id for row in goes], "by": [row.id for row in stays]}
        lines = [
            line
            for lost, won in zip(goes, stays, strict=True)
            for line in (f"stays       {won.id}: {quoted(_text(won), 100)}",
                         f"superseded  {lost.id}: {quoted(_text(lost), 100)}")
        ]  # fmt: skip
        if (len(found) > 1 or dry_run) and not agreed(state, body, lines, "Do it?", yes=yes, dry_run=dry_run):
            return
        op: Operation = getattr(ws.conflicts, way)(found)
    tell(state, [op], body, dry_run=False)


def _named(ws: Workspace, names: Sequence[str]) -> list[Contradiction]:
    return list({one.id: one for one in map(ws.conflicts.get, names)}.values())


def _text(row: Row) -> str:
    from nanomem_tui.memory.superseded import text_of

    return text_of(row)


def _origin(row: Row) -> str:
    from nanomem_tui.memory.inbox import origin
    from nanomem_tui.review.conflicts import scope_words

    return ", ".join(filter(None, (scope_words(row), origin(row), words.counted(row.hits, "hit"))))


def _json(one: Contradiction) -> dict[str, Any]:
    from nanomem_tui.store.values import layer_of

    return {
        "id": one.id, "why": one.why, "sure": one.weight, "relation": one.judged.relation, "across": one.across,
        "older": {"layer": layer_of(one.older), **one.older.to_json()},
        "newer": {"layer": layer_of(one.newer), **one.newer.to_json()},
    }  # fmt: skip


def _table(shown: Sequence[Contradiction]) -> list[str]:
    columns = [
        Column("Older", limit=26, least=12, drop=2),
        Column("Said", limit=70, least=20),
        Column("Newer", limit=26, least=12),
        Column("Said", limit=70, least=20),
        Column("Why", limit=50, least=16, drop=1),
    ]
    cells = [(one.older.id, _text(one.older), one.newer.id, _text(one.newer), one.why) for one in shown]
    return table(columns, cells, output.terminal_width())
