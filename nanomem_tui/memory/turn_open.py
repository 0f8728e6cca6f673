"""The turns that began and did not end yet: those of this process, and those of the injection log of others.

Owns which turn an end belongs to, and whether it is still open: the injection log and the session state are what all
processes share. Must not write anything.
"""

from __future__ import annotations

from collections import OrderedDict

from nanomem_tui.core.errors import NotFound, NothingToDo
from nanomem_tui.memory.injections import Injected
from nanomem_tui.memory.traces import Traces
from nanomem_tui.memory.turn_values import Begun, TurnEnd, TurnInput, same_chat, same_message
from nanomem_tui.memory.wal_writer import WalWriter
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Hit

OPEN_TURNS = 1_000
"""Turns that began here and are remembered until they end."""


class OpenTurns:
    """The open turns of one workspace."""

    def __init__(self, store: MemoryStore, traces: Traces, wal: WalWriter | None) -> None:
        self._store = store
        self._traces = traces
        self._wal = wal
        self._open: OrderedDict[str, tuple[TurnInput, Begun]] = OrderedDict()

    def add(self, given: TurnInput, begun: Begun) -> None:
        """A turn began here."""
        self._open[begun.turn] = (given, begun)
        if len(self._open) > OPEN_TURNS:
            self._open.popitem(last=False)

    def remove(self, turn: str) -> None:
        """A turn ended, whoever began it."""
        self._open.pop(turn, None)

    def of(self, end: TurnEnd) -> tuple[TurnInput, Begun]:
        """The turn that ends: by its id here or in the log, or the last open one of the described message. Raises
        NotFound, NothingToDo for one that has ended or was declined, here or in another process, BadInput for one
        of another chat."""
        known = self._open.get(end.turn) or (self._described(end.input) if not end.turn and end.input else None)
        if known is not None:
            self._check_open(known[1].turn, known[0].state_key, self._traces.injections.get(known[1].turn))
            same_chat(end, known[0])
            began = known[0]
            return (end.input._replace(at=began.at, said_on=began.said_on) if end.input else began), known[1]
        logged = self._traces.injections.get(end.turn) if end.turn else self._logged(end.input)
        if logged is None:
            self._traces.injections.check()
            raise NotFound("no such turn", end.turn or "it never began", "give the id that its begin printed")
        self._check_open(logged.turn, logged.state_key, logged)
        rows = self._store.load("item")
        self._store.refresh()  # it began in another process, with rows that may be new to this one
        hits = (Hit(rows.items[key], 0.0, {}) for key in logged.items if key in rows.items)
        lessons = (rows.lessons[key] for key in logged.lessons if key in rows.lessons)
        began = TurnInput(
            logged.session_key, logged.channel, logged.chat_id, logged.sender_id, logged.message_id or "",
            logged.speaker or "user", logged.user,
        )  # fmt: skip
        same_chat(end, began)
        given = (end.input or began)._replace(at=logged.at, said_on=logged.said_on)
        return given, Begun(logged.turn, "", tuple(hits), tuple(lessons))

    def _check_open(self, turn: str, state_key: str, logged: Injected | None) -> None:
        if closed := self._closed(turn, state_key, logged):
            self.remove(turn)
            what, at = closed
            raise NothingToDo(what, turn, f"at {at}" if at else "")

    def _closed(self, turn: str, state_key: str, logged: Injected | None) -> tuple[str, str] | None:
        """What became of a turn, `logged` as that, in whatever process, and when (UTC ISO, empty: unknown); None while
        it is open."""
        if logged is not None and logged.declined_at:
            return "that turn was declined", logged.declined_at
        if logged is not None and logged.ended_at:
            return "that turn has ended", logged.ended_at
        if self._wal is not None and state_key and self._wal.has_end(state_key, turn):
            return "that turn has ended", ""
        return None

    def _described(self, given: TurnInput | None) -> tuple[TurnInput, Begun] | None:
        """The last open turn of this process that began with this message."""
        for began, shown in reversed(self._open.values()):
            if given is None or not same_message(given, began.state_key, began.message_id, began.text):
                continue
            if not self._closed(shown.turn, began.state_key, self._traces.injections.get(shown.turn)):
                return began, shown
        return None

    def _logged(self, given: TurnInput | None) -> Injected | None:
        for turn in self._traces.injections.turns(OPEN_TURNS):
            if (
                given is not None
                and same_message(given, turn.state_key, turn.message_id or "", turn.user)
                and not self._closed(turn.turn, turn.state_key, turn)
            ):
                return turn
        return None
