"""`nanomem duplicates` and `conflicts`: items that say the same or contradict each other, and what to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Group, Words, agreed, decided, paged, pass_state, rehearsable
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.text import quoted

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.review.conflicts import Contradiction
    from nanomem_tui.review.duplicates import Cluster
    from nanomem_tui.store.values import Item, Row
    from nanomem_tui.workspace import Workspace


NOTHING = "No duplicates."
SHOWN = 20
"""Clusters that are told before many are merged."""
sure_option = click.option("--sure", is_flag=True, help="Only those that need no look: the same words, one scope.")


@click.group("duplicates", cls=Group)
def duplicates() -> None:
    """Items that say what another one says: see them, merge them.

    \b
    Example:
      nanomem duplicates list
      nanomem duplicates merge --sure --dry-run
    """


@duplicates.command("list")
@sure_option
@paged
@pass_state
def list_clusters(state: State, sure: bool, limit: int | None, offset: int) -> None:
    """Clusters of items that say the same, those that need no look first, and why the others do.

    \b
    Example:
      nanomem duplicates list --sure --json
    """
    with state.open() as ws:
        found = [one for one in _clusters(ws, sure=sure) if one.sure or not sure]
    shown = page(found, limit, offset)
    ending = output.of_total(len(shown), len(found), "cluster")
    state.show([_json(one) for one in shown], lambda: [*_table(shown), ending] if found else [NOTHING])


@duplicates.command()
@click.argument("names", metavar="ID...", type=Words(), nargs=-1, required=True)
@pass_state
def show(state: State, names: Sequence[str]) -> None:
    """One cluster, by its id or that of an item in it; or how items that you name differ, two or more.

    \b
    Example:
      nanomem duplicates show ltm_1739443200123_1
      nanomem duplicates show ltm_1739443200123_1 ltm_1739443200123_2
    """
    with state.open() as ws:
        one = ws.duplicates.get(names[0]) if len(names) == 1 else ws.duplicates.cluster_of(_full(ws, names))
    lines = [f"{one.why}{'' if one.sure else ' (needs a look)'}"]
    for item in one.items:
        head = "stays" if item.id == one.kept.id else "differs" if _differences(one, item) else "the same words"
        told = "; ".join(_differences(one, item))
        lines += ["", f"{head}  {item.id}  {_origin(item)}{f'  [{told}]' if told else ''}"]
        lines += paragraph(item.text, output.terminal_width())
    state.show(_json(one), lines)


@duplicates.command()
@click.argument("names", metavar="[ID]...", type=Words(), nargs=-1)
@sure_option
@click.option("--into", type=Words(), metavar="ID", default="", help="The item that stays, with its text and scope.")
@decided
@pass_state
def merge(state: State, names: Sequence[str], sure: bool, into: str, yes: bool, dry_run: bool) -> None:
    """Make one item of a cluster (its id, or an item in it), of items that you name, or of every cluster with --sure.

    Hits add up, the oldest origin stays, every source and the other words are kept. `nanomem undo` takes it back.

    \b
    Example:
      nanomem duplicates merge --sure --yes
      nanomem duplicates merge ltm_1739443200123_1 --into ltm_1739443200123_2
    """
    if bool(names) is sure:
        raise click.UsageError("name a cluster or items, or --sure alone", click.get_current_context())
    with state.open() as ws:
        found = _named(ws, names, sure=sure)
        if not found:
            show_changes(state, [], {"merged": []}, NOTHING, dry_run=dry_run)
            return
        into = ws.items.get(into).id if into else ""
        body = {"merged": [_json(one) for one in found], "kept": [into or one.kept.id for one in found]}
        lines = _preview(found, into)
        careful = len(found) > 1 or not found[0].sure
        if (careful or dry_run) and not agreed(state, body, lines, "Merge them?", yes=yes, dry_run=dry_run):
            return
        op = ws.duplicates.merge(found, into)
    show_changes(state, [op], body, dry_run=False)


@duplicates.command()
@click.argument("names", metavar="[ID]...", type=Words(), nargs=-1, required=True)
@rehearsable
@pass_state
def keep(state: State, names: Sequence[str], dry_run: bool) -> None:
    """Say that a cluster holds no duplicates: asked about again only when one of its texts changes.

    \b
    Example:
      nanomem duplicates keep ltm_1739443200123_1
    """
    with state.open(dry_run=dry_run) as ws:
        found = [ws.duplicates.get(name) for name in names]
        body = {"kept": [_json(one) for one in found]}
        op = ws.duplicates.dismiss(found)
    show_changes(state, [op], body, dry_run=dry_run)


@duplicates.command()
@click.argument("name", metavar="ID", type=Words())
@click.option("--stays", type=Words(), metavar="ID", default="", help="The item that stays (else the one proposed).")
@rehearsable
@pass_state
def disable(state: State, name: str, stays: str, dry_run: bool) -> None:
    """Disable all items of a cluster but one: kept, never recalled.

    \b
    Example:
      nanomem duplicates disable ltm_1739443200123_1
    """
    with state.open(dry_run=dry_run) as ws:
        one = ws.duplicates.get(name)
        stays = ws.items.get(stays).id if stays else ""
        body = {"disabled": one.others(stays), "kept": stays or one.kept.id}
        op = ws.duplicates.disable_others([one], stays)
    show_changes(state, [op], body, dry_run=dry_run)


@duplicates.command()
@click.argument("name", metavar="ID", type=Words())
@click.option("--stays", type=Words(), metavar="ID", default="", help="The item that stays (else the one proposed).")
@decided
@pass_state
def delete(state: State, name: str, stays: str, yes: bool, dry_run: bool) -> None:
    """Delete all items of a cluster but one. `nanomem undo` brings them back.

    \b
    Example:
      nanomem duplicates delete ltm_1739443200123_1 --yes
    """
    with state.open() as ws:
        one = ws.duplicates.get(name)
        stays = ws.items.get(stays).id if stays else ""
        body = {"deleted": one.others(stays), "kept": stays or one.kept.id}
        if not agreed(state, body, _preview([one], stays), "Delete the others?", yes=yes, dry_run=dry_run):
            return
        op = ws.duplicates.delete_others([one], stays)
    show_changes(state, [op], body, dry_run=False)


def _clusters(ws: Workspace, *, sure: bool) -> list[Cluster]:
    return [one for one in ws.duplicates.clusters() if one.sure or not sure]


def _named(ws: Workspace, names: Sequence[str], *, sure: bool) -> list[Cluster]:
    if sure:
        return [one for one in _clusters(ws, sure=True) if one.sure]
    return [ws.duplicates.get(names[0]) if len(names) == 1 else ws.duplicates.cluster_of(_full(ws, names))]


def _full(ws: Workspace, names: Sequence[str]) -> list[str]:
    ws.store.load("item")
    return [ws.items.get(name).id for name in names]


def _preview(found: Sequence[Cluster], into: str) -> list[str]:
    lines: list[str] = []
    for one in found[:SHOWN]:
        stays = into or one.kept.id
        lines.append(f"{one.why}{'' if one.sure else ' (needs a look)'}:")
        for item in sorted(one.items, key=lambda item: item.id != stays):
            what = "stays" if item.id == stays else "goes "
            lines.append(f"  {what}  {item.id}  {_origin(item)}: {quoted(item.text, 100)}")
    if len(found) > SHOWN:
        lines.append(f"… and {output.counted(len(found) - SHOWN, 'more cluster')}")
    return lines


def _differences(one: Cluster, item: Item) -> list[str]:
    from nanomem_tui.review.duplicates import describe_differences

    return describe_differences(one.kept.text, item.text) if item.id != one.kept.id else []


def _origin(item: Item) -> str:
    """Who said it, in which scope, how often it was recalled."""
    from nanomem_tui.memory.quarantined_rows import describe_origin

    scope = "global" if item.scope_type == "global" else item.scope_key
    return ", ".join(filter(None, (scope, item.kind, describe_origin(item), output.counted(item.hits, "hit"))))


def _json(one: Cluster) -> dict[str, Any]:
    members = [{**json_objects.item(item), "differences": _differences(one, item)} for item in one.items]
    return {
        "id": one.id, "grade": one.grade, "sure": one.sure, "alike": round(one.alike, 3), "why": one.why,
        "kept": one.kept.id, "scopes": list(one.scope_keys), "items": members,
    }  # fmt: skip


def _table(shown: Sequence[Cluster]) -> list[str]:
    columns = [
        Column("Items", right=True, of=lambda one: str(len(one.items))),
        Column("Alike", right=True, of=lambda one: f"{one.alike:.0%}"),
        Column("Sure", of=lambda one: "yes" if one.sure else "look"),
        Column("Stays", limit=26, least=12, of=lambda one: one.kept.id),
        Column("Text", limit=90, least=28, of=lambda one: one.kept.text),
        Column("Why", limit=60, least=20, drop=1, of=lambda one: one.why),
    ]

    return output.columned(columns, shown)


# -- `nanomem conflicts`: memories that contradict each other, and which of them stands -------------------------------

CONFLICTS_NOTHING = "Nothing contradicts anything."
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
        body = [_conflicts_json(one) for one in shown]
    ending = output.of_total(len(shown), len(found), "contradiction")
    state.show(body, lambda: [*_conflicts_table(shown), ending] if found else [CONFLICTS_NOTHING])


@conflicts.command("show")
@click.argument("name", metavar="ID", type=Words())
@pass_state
def conflicts_show(state: State, name: str) -> None:
    """One pair, by its id or that of an item or lesson in it: who said what when, where an agent is given it.

    \b
    Example:
      nanomem conflicts show ltm_1739443200123_1
    """
    with state.open() as ws:
        one = ws.conflicts.get(name)
    lines = [f"{one.why} (sure {one.weight:.0%})"]
    for side, row in (("older", one.older), ("newer", one.newer)):
        lines += ["", f"{side}  {row.id}  {_conflicts_origin(row)}, said {output.when(row.updated_at)}"]
        lines += paragraph(_text(row), output.terminal_width())
    state.show(_conflicts_json(one), lines)


def _command(name: str, help_text: str) -> None:
    """The command of a decision that says which side stands."""

    @conflicts.command(name, help=help_text)
    @names_argument
    @decided
    @pass_state
    def run(state: State, names: Sequence[str], yes: bool, dry_run: bool) -> None:
        _decide(state, names, name.replace("-", "_"), yes=yes, dry_run=dry_run)


_command(
    "supersede",
    """Keep the newer; the older was true before: it is marked as superseded and never injected.

    \b
    Example:
      nanomem conflicts supersede ltm_1739443200123_1 --dry-run
    """,
)
_command(
    "keep-new",
    """Keep the newer; the older was never true: it is marked as wrong and never injected.

    \b
    Example:
      nanomem conflicts keep-new ltm_1739443200123_1
    """,
)
_command(
    "keep-old",
    """Keep the older; the newer is marked as wrong and never injected.

    \b
    Example:
      nanomem conflicts keep-old ltm_1739443200123_1
    """,
)


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
        found = _conflicts_named(ws, names)
        op = ws.conflicts.keep_both(found)
    show_changes(state, [op], {"kept": [one.id for one in found]}, dry_run=dry_run)


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
    from nanomem_tui.review.conflicts import parse_side

    with state.open(dry_run=dry_run) as ws:
        one = ws.conflicts.get(name)
        op = ws.conflicts.split(one, scope, side := parse_side(one, move))
    show_changes(state, [op], {"moved": one.row(side).id, "scope": scope}, dry_run=dry_run)


def _decide(state: State, names: Sequence[str], way: str, *, yes: bool, dry_run: bool) -> None:
    """One pair at once; several after a look at what gives way."""
    with state.open() as ws:
        found = _conflicts_named(ws, names)
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
    show_changes(state, [op], body, dry_run=False)


def _conflicts_named(ws: Workspace, names: Sequence[str]) -> list[Contradiction]:
    return list({one.id: one for one in map(ws.conflicts.get, names)}.values())


def _text(row: Row) -> str:
    from nanomem_tui.memory.retention import row_text

    return row_text(row)


def _conflicts_origin(row: Row) -> str:
    from nanomem_tui.memory.quarantined_rows import describe_origin
    from nanomem_tui.review.conflicts import scope_words

    return ", ".join(filter(None, (scope_words(row), describe_origin(row), output.counted(row.hits, "hit"))))


def _conflicts_json(one: Contradiction) -> dict[str, Any]:
    from nanomem_tui.store.values import layer_of

    return {
        "id": one.id, "why": one.why, "sure": one.weight, "relation": one.judged.relation, "across": one.across,
        "older": {"layer": layer_of(one.older), **one.older.to_json()},
        "newer": {"layer": layer_of(one.newer), **one.newer.to_json()},
    }  # fmt: skip


def _conflicts_table(shown: Sequence[Contradiction]) -> list[str]:
    columns = [
        Column("Older", limit=26, least=12, drop=2),
        Column("Said", limit=70, least=20),
        Column("Newer", limit=26, least=12),
        Column("Said", limit=70, least=20),
        Column("Why", limit=50, least=16, drop=1),
    ]
    cells = [(one.older.id, _text(one.older), one.newer.id, _text(one.newer), one.why) for one in shown]
    return table(columns, cells, output.terminal_width())
