"""What becomes of turns that an agent began and never ended: pending items of their sessions, and what a person had
asked to be remembered in them, in one operation.

Owns what of such a turn is captured: only what was asked for in so many words; it passes the filters of any capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.turn_log import TEXT_LIMIT
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation, Perform
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.language import secrets
from nanomem_tui.memory import capture, mirrors
from nanomem_tui.memory.pending import Pending
from nanomem_tui.memory.scopes import Audience, waiting
from nanomem_tui.memory.turn_keeping import Draft
from nanomem_tui.memory.twins import Twins
from nanomem_tui.memory.wal import OpenTurn
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.agents.turn_log import WalState

StateOf = Callable[[str], "WalState"]
"""The turn log of a session."""


class Recovery(NamedTuple):
    """The operation, the items that it remembers, and those that it put into the inbox."""

    operation: Operation
    captured: tuple[Item, ...] = ()
    held: tuple[Item, ...] = ()


def recover(
    turns: Sequence[OpenTurn], state_of: StateOf, pending: Pending, store: MemoryStore, settings: Settings,
    perform: Perform,
) -> Recovery:  # fmt: skip
    """Recover unfinished turns. Raises NothingToDo, and the store's errors."""
    store.load("item")
    with store.snapshot.lock:
        draft = Draft(store, Twins(store))
        rows = [row for turn in sorted(turns, key=lambda turn: turn.at)
                for row in _asked(turn, state_of, draft, store.workspace_id, settings)]  # fmt: skip
        fresh = [row.item for row in rows if row.before is None and not row.why]
        beside = [*draft.changes(), *mirrors.changes(store.paths, settings, fresh)]
        saved = tuple(row.item for row in rows if not row.why)
        held = tuple(row.item for row in rows if row.why)
        parts = [(len(saved), "memory", "memories", "remembered"), (len(held), "memory", "memories", "in the inbox")]
        also = "".join(f", {counted(number, one, many)} {where}" for number, one, many, where in parts if number)
        return Recovery(pending.recover(turns, perform, beside=beside, also=also), saved, held)


def _asked(
    turn: OpenTurn, state_of: StateOf, draft: Draft, workspace_id: str, settings: Settings
) -> Iterator[capture.Row]:
    """What the message of a turn asked to be remembered, as rows of the draft."""
    state = state_of(turn.session_key)
    pre = next((one.pre for one in state.turns if one.number == turn.number), {})
    if pre.get("speaker", "user") == "system":
        return
    try:
        audience = Audience(state.channel or None, state.chat_id or None, pre.get("sender_id") or None)
        origin = capture.Origin(audience, turn.session_key, pre.get("message_id") or None)
        found = capture.capture(turn.user, origin, settings, draft.twin, workspace_id, now=clock.past(turn.at))
    except NanomemError:
        return  # whose it is cannot be told from its log: it is pending all the same
    for row in found.rows:
        if row.item.source == "explicit_user" and (row.before is None or row.why):
            kept = _judged(row, turn.user)
            draft.put("item", kept.item)
            yield kept


def _judged(row: capture.Row, said: str) -> capture.Row:
    """The row as the turn itself would have left it, had it ended: the log holds no secret but its mark, and of a long
    message the beginning."""
    if row.why or row.before is not None:
        return row
    why, finding = "", ""
    if mark := secrets.mask_pattern().search(row.item.text):
        why, finding = f"it holds a secret: {mark['name']}", "secret"
    elif len(said) > TEXT_LIMIT and said.rstrip(".").endswith(row.item.text.rstrip(".")):
        why, finding = "the beginning of a message, whose end is not known", "long"
    return capture.Row(waiting(row.item, why, finding=finding), None, why) if why else row
