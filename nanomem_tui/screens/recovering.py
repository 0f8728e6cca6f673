"""Recovering unfinished turns from the WAL screen: what it would take, as values and as a preview, and the taking.

What of a turn is remembered is for `memory.recovery`, which the command line asks too. Pure but for what it is given.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.widgets.document import Block, Body, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Perform
    from nanomem_tui.memory.turn_log import OpenTurn
    from nanomem_tui.memory.turns.keeping import Recovery
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace

SHOWN = 50  # turns, or memories
LONGEST = 200  # characters of one


class Planned(NamedTuple):
    """The turns that would be taken, the memories that they ask for, and those that would wait in the inbox."""

    turns: tuple[OpenTurn, ...] = ()
    captured: tuple[Item, ...] = ()
    held: tuple[Item, ...] = ()


def taken(ws: Workspace, keys: Collection[str], perform: Perform) -> Recovery:
    """Recover the unfinished turns of these sessions by `perform`. Raises NothingToDo, and the store's errors."""
    from nanomem_tui.memory.turns import keeping

    turns = [turn for turn in ws.wal.check() if turn.session_key in keys]
    return keeping.recover(turns, ws.wal.get, ws.traces.pending, ws.store, ws.settings, perform)


def plan(ws: Workspace, keys: Collection[str]) -> Planned:
    """What `taken` would do; nothing is changed."""
    turns = tuple(turn for turn in ws.wal.check() if turn.session_key in keys)
    try:
        found = taken(ws, keys, lambda operation: operation)
    except NothingToDo:
        return Planned()
    return Planned(turns, found.captured, found.held)


def recovery_blocks(planned: Planned, *, agent_running: bool) -> list[Block]:
    """What recovering would do."""
    blocks: list[Block] = []
    if planned.turns:
        blocks.append(Body("Pending, as the agent is told in its next turn there; the logs stay as they are:"))
    for turn in planned.turns[:SHOWN]:
        moment = clock.parse(turn.at)
        began = f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else turn.at[:16]
        where = f"{turn.session_key} #{turn.number} {began} "
        blocks.append(Spans(((where, "dim"), (one_line(turn.user, LONGEST) or "(nothing)", "")), 2))
    if len(planned.turns) > SHOWN:
        blocks.append(Body(f"… and {counted(len(planned.turns) - SHOWN, 'more turn')}", "dim"))
    for title, items in (("Remembered", planned.captured), ("Into the inbox", planned.held)):
        if items:
            blocks.append(Heading(f"{title} ({len(items)})"))
        blocks += [Spans(((one_line(item.text, LONGEST), ""),), 2) for item in items[:SHOWN]]
    if agent_running and planned.turns:
        blocks.append(Body("An agent is running: a turn that it is still in may yet end by itself.", "warn"))
    return blocks
