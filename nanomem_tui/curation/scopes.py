"""The scopes of one workspace as a person looks at them: what each holds and who sees it, what leaks, and items that
move from one to another.

Owns who is asked about: every chat and sender that turns, conversations or items name. Who sees what, `memory.scopes`
decides; what stands in the way of a move, `memory.moving`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.curation.marks import Marks
from nanomem_tui.memory import leaks
from nanomem_tui.memory.items import Moving, Plan, Verb
from nanomem_tui.memory.leaks import Leak
from nanomem_tui.memory.scopes import Audience, Groups, Layer, Scope, ScopeRow, Sees, layers, named, of_item
from nanomem_tui.memory.sessions.imported import BESIDE
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

SOME_TURNS = 2_000
"""The newest turns among which chats and senders are looked for."""


class _Rules(TypedDict):
    """What the settings say of who sees what."""

    with_global: bool
    private_in_groups: Collection[str]


class Scopes:
    """Reads and moves; every method may be called from any thread."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._moving = Moving(ws.store, ws.perform)
        self._marks = Marks(ws.store)
        self._looking = threading.Lock()
        self._look = leaks.Look()
        self._leaks: tuple[int, list[Leak]] = (-1, [])

    # -- who sees what ------------------------------------------------------------------------------------------

    @property
    def with_global(self) -> bool:
        """Whether a chat sees what is global, by the settings."""
        settings = self._ws.settings
        return settings.recall_global and settings.recall_profile != "seed001"

    @property
    def _rules(self) -> _Rules:
        return {"with_global": self.with_global, "private_in_groups": self._ws.settings.private_in_groups}

    def matrix(self) -> list[ScopeRow]:
        """Every scope with what it holds and who sees it: global, chats, persons."""
        snapshot = self._ws.store.load()
        with snapshot.lock:
            lessons = [row for row in snapshot.lessons.values() if not row.is_deleted and not row.waits]
        return self._groups().matrix(self.askers(), lessons, **self._rules)

    def sees(self, audiences: Sequence[Audience]) -> list[Sees]:
        """What each asker sees, in numbers. Raises BadInput."""
        groups = self._groups()
        return [groups.sees(audience, **self._rules) for audience in audiences]

    def seen_by(self, audience: Audience) -> list[tuple[Item, Layer]]:
        """Every item that an asker sees, with its layer, the newest first. Raises BadInput."""
        layer_of = layers(audience, **self._rules)
        return [(row, layer) for row in self._ws.items.all() if row.enabled and (layer := layer_of(row)) is not None]

    def askers(self) -> list[Audience]:
        """Every chat and sender that is known, the chat alone before its senders."""
        found: dict[Audience, None] = {}
        for audience in self._heard():
            for one in (audience._replace(sender_id=None), audience) if audience.chat_id else (audience,):
                if _possible(one):
                    found[one] = None
        return sorted(found, key=lambda one: tuple(part or "" for part in one))

    # -- scopes by name -----------------------------------------------------------------------------------------

    def named(self, text: str) -> Scope:
        """The scope that a person names. Raises BadInput."""
        return named(text, self._ws.id)

    def known(self) -> list[Scope]:
        """Every scope that something is in or could be: global, then the chats and persons that are known."""
        found = {scope.scope_key: scope for item in self._living() if (scope := of_item(item)).channel is not None}
        for audience in self.askers():
            for kind, key in (("chat", audience.chat_key), ("user", audience.user_key if audience.sender_id else None)):
                if key is not None:
                    found.setdefault(key, self.named(key)._replace(scope_type=kind))
        return [self.named("global"), *sorted(found.values(), key=lambda one: (one.scope_type, one.name))]

    # -- leaks --------------------------------------------------------------------------------------------------

    def leaks(self) -> list[Leak]:
        """What leaks, the worst first, without what a person keeps or has put off."""
        from nanomem_tui.curation.finders.leak import id_of, printed

        found, marks, now = self.found_leaks(), self._marks.all(), clock.iso(clock.now())
        marked = {one.item.id: mark for one in found if (mark := marks.get(id_of(one))) is not None}
        return [
            one
            for one in found
            if one.item.id not in marked or not marked[one.item.id].stands(printed(one), now)
        ]  # fmt: skip

    def found_leaks(self) -> list[Leak]:
        """All that leaks, the worst first; found once per change, of rows that changed where nobody new is known."""
        counter = self._ws.store.load("item").counter
        with self._looking:
            if self._leaks[0] != counter:
                names = leaks.Names(self._living(), self._heard())
                rows = [row for row in self._living() if row.enabled]
                self._leaks = counter, self._look.find(rows, names, **self._rules)
            return self._leaks[1]

    def leak_of(self, item_id: str) -> Leak | None:
        """What leaks of an item, as it is now."""
        return next((one for one in self.found_leaks() if one.item.id == item_id), None)

    # -- moving -------------------------------------------------------------------------------------------------

    def plan(self, ids: Sequence[str], scope: Scope, verb: Verb = "move") -> Plan:
        """What would become of items that are moved or copied; see `memory.moving`."""
        return self._moving.plan(ids, scope, verb)

    def move(self, ids: Sequence[str], scope: Scope, *, merge: bool = False) -> tuple[Operation, Plan]:
        """Move items to a scope, as one operation; see `memory.moving`."""
        return self._moving.do(ids, scope, "move", merge=merge)

    def changes(self, ids: Sequence[str], scope: Scope) -> list[Change]:
        """What moves items to a scope, merged where the same words are there, for who performs it; see
        `memory.moving`."""
        return self._moving.changes(ids, scope)

    def copy(self, ids: Sequence[str], scope: Scope) -> tuple[Operation, Plan]:
        """Copy items to a scope, as one operation; see `memory.moving`."""
        return self._moving.do(ids, scope, "copy")

    # -- helpers ------------------------------------------------------------------------------------------------

    def _living(self) -> list[Item]:
        snapshot = self._ws.store.load("item")
        with snapshot.lock:
            return [row for row in snapshot.items.values() if not row.is_deleted]

    def _groups(self) -> Groups:
        return Groups(self._living())

    def _heard(self) -> Iterable[Audience]:
        """Who is known: from turns, conversations and items."""
        found: dict[Audience, None] = {}
        for turn in self._ws.traces.injections.turns(SOME_TURNS):
            if turn.channel:
                found[Audience(turn.channel, turn.chat_id, turn.sender_id)] = None
        for info in self._ws.sessions.list():
            if not info.key.endswith(BESIDE):
                found[_of_session(info.key)] = None
        places = {
            (row.scope_type, row.scope_key, row.channel, row.chat_id, row.sender_id): row for row in self._living()
        }
        for row in places.values():
            scope = of_item(row)
            if row.channel:
                found[Audience(row.channel, row.chat_id, row.sender_id)] = None
            if scope.channel:
                found[Audience(scope.channel, scope.chat_id, scope.sender_id)] = None
        return [one for one in found if not one.is_owner and one.channel]


def _of_session(key: str) -> Audience:
    channel, colon, chat = key.partition(":")
    return Audience(channel, chat) if colon and chat else Audience()


def _possible(audience: Audience) -> bool:
    try:
        return bool(audience.chat_key or audience.user_key)
    except BadInput:
        return False
