"""`nanomem turn list` and `show`: what real turns were given, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Command, Words, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, paragraph, table
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.injections import Given, Injected


@click.command("list", cls=Command)
@click.option("--session", type=Words(), help="Only turns of this session.")
@click.option("--id", "row", type=Words(), help="Only turns that were given this item or lesson, or that saved it.")
@click.option("--open", "is_open", is_flag=True, help="Only turns that neither ended nor were declined.")
@paged
@pass_state
def list_turns(
    state: State, session: str | None, row: str | None, is_open: bool, limit: int | None, offset: int
) -> None:
    """The turns that agents took with this memory, newest first, and how much each was given.

    \b
    Example:
      nanomem turn list --session telegram:42
    """
    with state.open() as ws:
        turns = ws.traces.injections.turns()
    wanted = [
        turn
        for turn in turns
        if (not session or turn.session_key == session)
        and (not row or row in (*turn.items, *turn.lessons, *turn.saved, *turn.learned, *turn.held))
        and (not is_open or turn.is_open)
    ]
    shown = page(wanted, limit, offset)
    state.show([_turn(one) for one in shown], lambda: _list_lines(shown) or ["No turns."])


@click.command("show", cls=Command)
@click.argument("turn", type=Words(), default="")
@pass_state
def show_turn(state: State, turn: str) -> None:
    """What a turn was given, in the words that the model had, and what became of each since; without a TURN, the last.

    \b
    Example:
      nanomem turn show
    """
    from nanomem_tui.memory.turns.injections import given_of, turn_named

    with state.open() as ws:
        found = turn_named(ws, turn)
        given = given_of(ws, found)
    body = {**_turn(found), "memories": [one._asdict() for one in given]}
    state.show(body, lambda: _lines(found, given))


def _turn(one: Injected) -> dict[str, Any]:
    return {"id": one.turn, **{name: value for name, value in one._asdict().items() if name != "turn"}}


def _list_lines(turns: Sequence[Injected]) -> list[str]:
    columns = [
        Column("Began"),
        Column("Session", least=20),
        Column("Given", right=True),
        Column("Characters", right=True, optional=True),
        Column("Saved", right=True),
        Column("What was said", least=20),
        Column("Turn", optional=True),
    ]
    cells = [
        (
            words.when(one.at),
            one.session_key,
            str(len(one.items) + len(one.lessons)),
            f"{one.chars:,}",
            str(len(one.saved) + len(one.learned)),
            one.user + (" (not ended)" if one.is_open else ""),
            one.turn,
        )
        for one in turns
    ]
    return table(columns, cells, output.terminal_width())


def _lines(turn: Injected, given: Sequence[Given]) -> list[str]:
    width = output.terminal_width()
    ended = f"declined {words.when(turn.declined_at)}" if turn.declined_at else words.when(turn.ended_at)
    told = [
        ("turn", turn.turn),
        ("session", turn.session_key),
        ("said", turn.user),
        ("began", words.when(turn.at)),
        ("ended", ended or "not yet, or never"),
        ("block", words.counted(turn.chars, "character")),
        ("earlier turns", ", ".join(map(one_line, turn.older))),
    ]
    lines = output.fields([pair for pair in told if pair[1]])
    if not given:
        lines.append("It was given no item and no lesson, and saved none.")
    for one in given:
        near = ", near in meaning" if one.near else ""
        since = f"; {one.since}" if one.since else ""
        lines += ["", f"{one.how} {one.what} {one.id}{near}{since}"]
        lines += paragraph(one.then or one.text or "(its words are not known any more)", width)
        if one.then and one.text:
            lines += paragraph(f"now: {one.text}", width)
    return lines
