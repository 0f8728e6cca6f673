"""The WAL screen: turns as they were logged, before and after the model, and those that have no reply recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.operations import plan_only
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.parts_screen import DetailParts, PartsScreen
from nanomem_tui.screens.sessions import size_text
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.parts_view import Part, Preface
from nanomem_tui.widgets.text_view import (
    Block,
    Body,
    Document,
    Field,
    Heading,
    Line,
    Span,
    Spans,
    lay_out,
    side_by_side,
)
from nanomem_tui.widgets.theme import glyphs

if TYPE_CHECKING:
    from nanomem_tui.agents.turn_log import Turn, WalState
    from nanomem_tui.core.operations import Perform
    from nanomem_tui.memory.turns.traces import OpenTurn
    from nanomem_tui.memory.turns.turn_operation import TurnRecovery
    from nanomem_tui.memory.turns.wal_states import WalInfo
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace


# Recovering unfinished turns from the WAL screen: what it would take, as values and as a preview, and the taking.

SHOWN = 50  # turns, or memories
LONGEST = 200  # characters of one


class Planned(NamedTuple):
    """The turns that would be taken, the memories that they ask for, and those that would wait in the inbox."""

    turns: tuple[OpenTurn, ...] = ()
    captured: tuple[Item, ...] = ()
    held: tuple[Item, ...] = ()


def recover_turns(ws: Workspace, keys: Collection[str], perform: Perform) -> TurnRecovery:
    """Recover the unfinished turns of these sessions by `perform`. Raises NothingToDo, and the store's errors."""
    from nanomem_tui.memory.turns import turn_operation

    turns = [turn for turn in ws.wal.check() if turn.session_key in keys]
    return turn_operation.recover(turns, ws.wal.get, ws.traces.pending, ws.store, ws.settings, perform)


def plan_recovery(ws: Workspace, keys: Collection[str]) -> Planned:
    """What `taken` would do; nothing is changed."""
    turns = tuple(turn for turn in ws.wal.check() if turn.session_key in keys)
    try:
        found = recover_turns(ws, keys, plan_only)
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


SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn: what was known before the model was called, beside what came of it."""

    turn: Turn
    separator: str
    recovered: bool = False
    stops: bool = True

    @property
    def key(self) -> str:
        """The number of the turn."""
        return f"t{self.turn.number}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """A heading, then PRE and POST."""
        heading = lay_out((Spans(_heading(self.turn, self.recovered)),), width, wrapped)
        sides = side_by_side(_before(self.turn), _after(self.turn), width, self.separator)
        return [*heading, *sides, ()]

    def plain(self) -> str:
        """Both sides as text."""
        return Document((*_before(self.turn), *_after(self.turn))).plain()


class WalScreen(PartsScreen["WalInfo"]):
    """Turn logs."""

    SCREEN = "wal"
    EMPTY = "No turn logs here: this agent keeps none, or nothing was said yet."
    HELP = (
        "Each turn as it was written: PRE before the model was called, POST after. A PRE without its POST is a turn "
        "that never ended; the key ! recovers it. Signs: ! an unfinished turn. n and N go from turn to turn."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "session": "text", "channel": "text", "age": "age", "turns": "number", "open": "number", "size": "number",
        "problems": "number",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""
        self._wanted_turn: tuple[str, str] | None = None
        self._with_transcript: frozenset[str] = frozenset()

    # The list

    def columns(self) -> Sequence[Column[WalInfo]]:
        """Whose log, how many turns, how many of them unfinished."""
        return (
            Column("session", "Session", lambda row: row.session_key, min_width=20,
                   sort=lambda row: row.session_key.casefold()),
            Column("turns", "Turns", lambda row: f"{row.turns:,}", width=6, align="right", sort=lambda row: row.turns),
            Column("open", "Unfinished", lambda row: f"{row.open_turns:,}" if row.open_turns else "", width=10,
                   align="right", tone="bad", sort=lambda row: row.open_turns),
            Column("size", "Size", lambda row: size_text(row.size), width=6, priority=3, align="right",
                   sort=lambda row: row.size),
            aged("Last", lambda row: row.updated_at, priority=1, align="right", tone="dim"),
            Column("problems", "State", lambda row: counted(row.problems, "problem") if row.problems else "",
                   width=12, priority=2, tone="warn"),
        )  # fmt: skip

    def row_id(self, row: WalInfo) -> str:
        """The key of the session."""
        return row.session_key

    def load(self) -> Iterable[Sequence[WalInfo]]:
        """All of them, the last written first."""
        ws = self.ws
        rows = ws.wal.list()
        if rows:
            self._with_transcript = frozenset(info.key for info in ws.sessions.list())
        yield rows

    def search_text(self, row: WalInfo) -> str:
        """Words are searched in the keys."""
        return row.session_key

    def field(self, row: WalInfo, name: str) -> Any:
        """The fields of the filter language."""
        values: dict[str, Any] = {
            "session": row.session_key,
            "channel": row.session_key.partition(":")[0],
            "age": row.updated_at,
            "open": row.open_turns,
        }
        return values[name] if name in values else getattr(row, name)

    def sign(self, row: WalInfo) -> str:
        """A turn that never ended, or lines that could not be read."""
        return "!" if row.open_turns or row.problems else ""

    def facts(self, row: WalInfo) -> frozenset[str]:
        """Whether there is a transcript of that session, and whether a turn never ended."""
        known = {"source": row.session_key in self._with_transcript, "unfinished": row.open_turns}
        return frozenset(name for name, true in known.items() if true)

    # The detail

    def detail(self, row: WalInfo) -> DetailParts:
        """The turns with what is known about the log."""
        ws = self.ws
        state = ws.wal.get(row.session_key)
        recovered = {turn.number for turn in state.open_turns if ws.wal.is_recovered(row.session_key, turn)}
        title: list[Span] = [(row.session_key, "heading"), (counted(row.turns, "turn"), "dim")]
        if row.open_turns:
            title.append((f"{row.open_turns:,} unfinished", "bad"))
        parts: list[Part] = [Preface(tuple(_facts(row, state, recovered, ws.paths.relative(Path(row.path)))))]
        separator = glyphs(self).separator
        parts += [ShownTurn(turn, separator, turn.number in recovered) for turn in state.turns]
        return DetailParts(row.session_key, parts, tuple(title))

    def show_detail(self, detail: Any) -> None:
        """From its end; the place stays when it is the same log that went on, unless it is followed."""
        if isinstance(detail, DetailParts):
            same, self._shown = detail.row_id == self._shown, detail.row_id
            title = (*detail.title, ("following (f stops)", "good")) if self.view.follow else detail.title
            self.view.show(detail.parts, title, keep_place=same)
            self._go_to_turn()
        elif isinstance(detail, Document):
            self._shown = ""
            self.view.show((), empty="No log is chosen.")

    def show_turn(self, session_key: str, number: int) -> None:
        """Show a log with the cursor on one of its turns."""
        self._wanted_turn = (session_key, f"t{number}")
        self.show_row(session_key)
        self.show_pane("detail")
        self._go_to_turn()

    def _go_to_turn(self) -> None:
        wanted = self._wanted_turn
        if wanted is not None and wanted[0] == self._shown == self.table.cursor_id:
            self._wanted_turn = None
            self.view.move_to_part(wanted[1])

    # Actions

    def do_follow(self) -> None:
        """Keep to the end of this log as the agent writes it, or not any more."""
        self.view.follow = not self.view.follow
        if self.view.follow:
            self.show_pane("detail")
            self.view.move_to_edge(last=True)
            say(self, "Following: new turns appear at the end")
        self.refresh_detail()

    async def do_wal_recover(self) -> None:
        """Show what recovering the unfinished turns of these logs takes, then do it."""
        rows = self.targets()
        keys = frozenset(row.session_key for row in rows)
        planned = await self.console.in_thread(lambda ws: plan_recovery(ws, keys))
        running = self.context().agent_alive

        async def recover(_yes: bool) -> None:
            for operation in await self.change(lambda ws: recover_turns(ws, keys, ws.perform).operation):
                say(self, f"{operation.label} (u undoes it)")

        title = f"Recover {rows[0].session_key}" if len(rows) == 1 else f"Recover {counted(len(rows), 'session')}"
        refused = "" if planned.turns else "Nothing to recover: every turn was finished, or is recovered already."
        self.confirm(title, recovery_blocks(planned, agent_running=running), recover,
                     opened_by=self.key_of("wal_recover"), refused=refused)  # fmt: skip

    def do_source(self) -> None:
        """The transcript of the session."""
        row = self.table.cursor_row
        if row is not None:
            self.console.go("sessions", row.session_key)


def _facts(row: WalInfo, state: WalState, recovered: Collection[int], where: str) -> list[Block]:
    """What is known about a log beside its turns."""
    blocks: list[Block] = [
        Field("session", state.session_key),
        Field("channel", state.channel),
        Field("chat", state.chat_id),
        Field("file", f"{where} ({row.size:,} bytes{f', with {len(row.others):,} more' if row.others else ''})"),
    ]
    if recovered:
        blocks.append(Field("recovered", f"{counted(len(recovered), 'turn')}, told to the agent in its next turn"))
    unfinished = [turn for turn in state.open_turns if turn.number not in recovered]
    if unfinished:
        blocks.append(Heading(f"Unfinished turns ({len(unfinished)})"))
        blocks += [
            Spans(((f"#{turn.number} {_time(turn.at_pre)} ", "bad"), (turn.pre.get("user", ""), "")), 4)
            for turn in unfinished
        ]
    if state.problems:
        blocks.append(Heading(f"Problems ({len(state.problems)})"))
        blocks += [Body(problem.text(), "warn") for problem in state.problems[:SHOWN_PROBLEMS]]
    return blocks


def _heading(turn: Turn, recovered: bool) -> tuple[Span, ...]:
    number: Span = (f"#{turn.number} ", "heading")
    if turn.open and recovered:
        return (number, (_time(turn.at_pre), "dim"), ("  RECOVERED: it has no end, and is a pending item", "warn"))
    if turn.open:
        return (number, (_time(turn.at_pre), "dim"), ("  UNFINISHED: it began and has no end", "bad"))
    began, ended = clock.parse(turn.at_pre), clock.parse(turn.at_post or "")
    took = f"  {(ended - began).total_seconds():,.0f} s" if began and ended else ""
    return (number, (_time(turn.at_pre or turn.at_post or "") + took, "dim"))


def _before(turn: Turn) -> list[Block]:
    blocks: list[Block] = [Spans((("PRE", "accent"), (f" {_time(turn.at_pre)[11:]}", "dim")))]
    if not turn.pre:
        return [*blocks, Body("(there is no PRE block)", "warn")]
    blocks.append(Body(turn.pre.get("user", "") or "(nothing)"))
    fields = [(name, value) for name, value in turn.pre.items() if name != "user" and value]
    if fields:
        blocks.append(Body("  ".join(f"{name}: {value}" for name, value in fields), "dim"))
    return blocks


def _after(turn: Turn) -> list[Block]:
    if turn.open:
        return [Spans((("POST  none", "bad"),)), Body("Nothing was written after the model was called.", "bad")]
    blocks: list[Block] = [Spans((("POST", "good"), (f" {_time(turn.at_post or '')[11:]}", "dim")))]
    blocks.append(Body("(declined: nothing of it was kept)" if turn.declined else turn.assistant or "(nothing)"))
    blocks += [Spans((("pending: ", "warn"), (action, "")), 4) for action in turn.pending_actions]
    blocks += [Spans((("done: ", "good"), (action, "")), 4) for action in turn.done_actions]
    return blocks


def _time(at: str) -> str:
    """Local ``YYYY-MM-DD HH:MM:SS``, or the beginning of what stands there instead."""
    moment = clock.parse(at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}" if moment else at[:20]
