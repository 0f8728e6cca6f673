"""Whether anything at all is of a session or a person that is to be forgotten: a name that was mistyped must not end
with a receipt, as if what was meant were gone. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nanomem_tui.errors import NotFound
from nanomem_tui.purge.wanted_words import Marks, Words
from nanomem_tui.store import forgotten

if TYPE_CHECKING:
    from nanomem_tui.purge.run import Looked
    from nanomem_tui.purge.wishes import Wish
    from nanomem_tui.workspace import Workspace

_LISTS = {
    "session": "`nanomem session list` names those that there are",
    "person": "`nanomem scopes list` names those that there are",
}
Name = tuple[str, str]
"""What it is, "session" or "person", and which."""


def unheard_of(ws: Workspace, wish: Wish) -> list[Name]:
    """The names that no conversation, turn or row says, and that were not forgotten before: what was forgotten is
    nowhere, and the same command again is no mistake."""
    kept = forgotten.load(ws.paths)
    sessions = {key for key in wish.sessions if kept.named("session", key) is None}
    persons = {sender for sender in wish.persons if kept.named("sender", sender) is None}
    if sessions:
        sessions -= {one.key for one in ws.sessions.list()} | {one.session_key for one in ws.wal.list()}
    if sessions or persons:
        turns = ws.traces.injections.turns()
        sessions -= {turn.session_key for turn in turns}
        items = ws.store.load().items.values()
        persons -= {turn.sender_id for turn in turns} | {item.sender_id for item in items}
    return [*(("session", key) for key in sorted(sessions)), *(("person", sender) for sender in sorted(persons))]


def refuse(names: list[Name], look: Callable[[Words], Looked]) -> None:
    """Raise NotFound for the first name that nothing says in all that can be looked through."""
    for what, name in names:
        one = frozenset({name})
        found = look(Words((), Marks(sessions=one) if what == "session" else Marks(senders=one)))
        if not found.places:
            where = f" that can be looked through (not {found.unread[0][0]})" if found.unread else ""
            raise NotFound(f"nothing of that {what} is anywhere{where}, and nothing was done", name, _LISTS[what])
