"""`nanomem wal`: the turn logs that tell what an agent was doing when it stopped."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Group, Words, all_read, completing, paged, pass_state, rehearsable
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.agents.turn_log import Turn, WalState
    from nanomem_tui.memory.turn_log import WalInfo


@click.group("wal", cls=Group)
def wal() -> None:
    """The agent's turn logs: what it began, and what it finished.

    \b
    Example:
      nanomem wal check
    """


@wal.command("list")
@paged
@pass_state
def list_files(state: State, limit: int | None, offset: int) -> None:
    """One line per session: turns, and those that never ended.

    \b
    Example:
      nanomem wal list
    """
    with state.open() as ws:
        shown = page(ws.wal.list(), limit, offset)
        unreadable = ws.wal.unreadable()
    state.show([values.wal_info(info) for info in shown], lambda: _list_lines(shown) or ["No turn logs."])
    all_read(unreadable)


def _list_lines(found: Sequence[WalInfo]) -> list[str]:
    columns = [
        Column("Session", least=32),
        Column("Turns", right=True),
        Column("Open", right=True),
        Column("Size", right=True),
        Column("Updated"),
        Column("Note", optional=True),
    ]
    cells = [
        (
            info.session_key,
            str(info.turns),
            str(info.open_turns),
            words.size(info.size),
            words.when(info.updated_at),
            ", ".join(
                words.counted(number, one)
                for number, one in ((len(info.others), "more file"), (info.problems, "problem"))
                if number
            ),
        )
        for info in found
    ]
    return table(columns, cells, output.terminal_width())


@wal.command()
@click.argument("key", type=Words(), shell_complete=completing("sessions"))
@paged
@pass_state
def show(state: State, key: str, limit: int | None, offset: int) -> None:
    """The turns of one session; a turn that never ended is marked.

    \b
    Example:
      nanomem wal show telegram:12345 --limit 20
    """
    with state.open() as ws:
        found = ws.wal.get(key)
        recovered = {turn.number for turn in found.open_turns if ws.wal.is_recovered(key, turn)}
        all_read([problem for problem in ws.wal.unreadable() if not found.turns])
    turns = page(found.turns, limit, offset)
    body = {
        "id": found.session_key,
        **values.plain(found),
        "turns": [{**values.plain(turn), "recovered": turn.number in recovered} for turn in turns],
        "problems": [values.problem(entry) for entry in found.problems],
    }
    state.show(body, lambda: _turn_lines(found, turns, recovered))


def _turn_lines(found: WalState, turns: Sequence[Turn], recovered: Collection[int]) -> list[str]:
    width = output.terminal_width() or 200
    lines = [f"{found.session_key}  {words.counted(len(found.turns), 'turn')}"]
    for turn in turns:
        mark = "  NOT FINISHED, RECOVERED" if turn.number in recovered else "  NOT FINISHED" if turn.open else ""
        lines.append(f"#{turn.number}  {words.when(turn.at_pre)}{mark}")
        lines.append("  " + one_line(f"user: {turn.pre.get('user') or ''}", width - 2))
        if turn.declined:
            lines.append("  (declined: nothing of it was kept)")
        elif not turn.open:
            lines.append("  " + one_line(f"assistant: {turn.assistant or '(empty)'}", width - 2))
        lines.extend("  " + one_line(f"pending: {action}", width - 2) for action in turn.pending_actions)
        lines.extend("  " + one_line(f"done: {action}", width - 2) for action in turn.done_actions)
    return [*lines, *(entry.text() for entry in found.problems)]


@wal.command()
@paged
@pass_state
def check(state: State, limit: int | None, offset: int) -> int:
    """Turns that began and never ended: what was lost when an agent stopped. Exit code 1 when there are any.

    \b
    Example:
      nanomem wal check
    """
    with state.open() as ws:
        found = ws.wal.check()
        recovered = len(ws.wal.recovered())
        unreadable = ws.wal.unreadable()
    rest = "Every turn that can be read was finished" if unreadable else "Every turn was finished"
    shown = page(found, limit, offset)
    columns = [
        Column("Session", least=24),
        Column("Turn", right=True),
        Column("Began"),
        Column("User", limit=90, least=20),
    ]
    state.show(
        [values.open_turn(turn) for turn in shown],
        lambda: (
            (
                table(
                    columns,
                    [(t.session_key, str(t.number), words.when(t.at), t.user or "") for t in shown],
                    output.terminal_width(),
                )
                or [f"{rest} or recovered." if recovered else f"{rest}."]
            )
            + ([_recovered(recovered)] if recovered else [])
        ),
    )
    all_read(unreadable)
    return 1 if found else 0


def _recovered(number: int) -> str:
    were, items = ("was", "a pending item") if number == 1 else ("were", "pending items")
    return f"{words.counted(number, 'turn')} that never ended {were} recovered into {items}."


@wal.command()
@click.argument("key", type=Words(), required=False, shell_complete=completing("sessions"))
@rehearsable
@pass_state
def recover(state: State, key: str | None, dry_run: bool) -> None:
    """Put turns that never ended among the pending items of their session (default: of every session).

    The agent is told of them in its next turn there; what was to be remembered ("Remember that …") is remembered.
    `nanomem undo` takes it back.

    \b
    Example:
      nanomem wal recover telegram:12345
    """
    from nanomem_tui.memory.turns import keeping

    with state.open(dry_run=dry_run) as ws:
        found = [turn for turn in ws.wal.check() if key in (None, turn.session_key)]
        if key is not None and not found:
            ws.wal.get(key)  # an unknown session is an error of its own
        done: keeping.Recovery | None = None
        with contextlib.suppress(NothingToDo):  # so that it may run again and again
            done = keeping.recover(found, ws.wal.get, ws.traces.pending, ws.store, ws.settings, ws.perform)
    body = {
        "recovered": [values.open_turn(turn) for turn in found],
        "captured": [values.item(item) for item in (done.captured if done else ())],
        "quarantined": [values.item(item) for item in (done.held if done else ())],
    }
    otherwise = "Nothing to recover: every turn was finished, or is recovered already."
    tell(state, [done.operation] if done else [], body, otherwise, dry_run=dry_run)
