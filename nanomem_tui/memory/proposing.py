"""What an agent proposes to remember through a server: it waits in the inbox, and only a person makes it a memory.

Owns the caps on it and the one row that comes of it; whoever proposes is told what became of it, and may not choose for
whom it is kept. Must not accept, change or delete anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Refused
from nanomem_tui.core.operations import Perform, new_key, new_operation
from nanomem_tui.core.text import one_line
from nanomem_tui.language import secrets
from nanomem_tui.memory import labels, retention, safety
from nanomem_tui.memory.items import checked
from nanomem_tui.memory.scopes import SCOPE_OF_KIND, Audience, is_waiting, key_for, waiting
from nanomem_tui.memory.twins import Twins
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, dumped

KINDS = tuple(SCOPE_OF_KIND)
MAX_TEXT, MAX_WHY = 1_000, 300
"""Characters of a proposal, and of its reason."""
MOST_WAITING, MOST_AN_HOUR = 50, 20
"""Proposals that wait at once, and that are made within an hour."""
SOURCE = "mcp"


class Proposed(NamedTuple):
    """What became of a proposal: the item it is, and whether that was there before (waiting, or remembered)."""

    item: Item
    known: bool = False


class Proposals:
    """What agents propose in one workspace, for one audience."""

    def __init__(self, store: MemoryStore, perform: Perform, audience: Audience) -> None:
        self._store = store
        self._perform = perform
        self._audience = audience
        self._twins = Twins(store)

    def add(self, text: str, kind: str = "fact", why: str = "") -> Proposed:
        """Put a text into the inbox; one that waits already or is remembered is left as it is. A secret is not stored.

        Raises BadInput for a text or kind that cannot be, Refused beyond the caps or for what a person switched off.
        """
        words, reason = _checked(text, why)
        if kind not in KINDS:
            raise BadInput("unknown kind", one_line(kind, 60), f"one of {', '.join(KINDS)}")
        with self._store.deciding.alone():
            self._store.load("item")
            scope, key = self._scope(kind)
            twin = self._twins.find(key, words)
            if twin is not None and not twin.enabled and not is_waiting(twin):
                raise Refused("a person switched that memory off", "text", "it is for a person to switch it on again")
            if twin is not None:
                return Proposed(twin, known=True)
            self._refuse_floods()
            item = self._row(words, kind, (scope, key), reason, _held(text, why))
            label = f"propose {labels.told(item.text)}"
            self._perform(new_operation("inbox.propose", label, [change_of("item", None, item)], actor="agent"))
            return Proposed(item)

    def _scope(self, kind: str) -> tuple[str, str]:
        """Where it would be kept, as what is captured: for the chat or the person; of neither: for everybody."""
        audience, settings = self._audience, self._store.settings
        scope = settings.capture_scopes.get(kind) or SCOPE_OF_KIND[kind]
        if audience.chat_id is None:
            scope = "global" if audience.sender_id is None or scope == "global" else "user"
        return scope, key_for(scope, audience, self._store.workspace_id)

    def _refuse_floods(self) -> None:
        hour_ago = clock.iso(clock.now() - timedelta(hours=1))
        with self._store.snapshot.lock:
            ours = [row for row in self._store.snapshot.items.values() if row.source == SOURCE]
        if sum(not row.is_deleted and not row.enabled and row.waits for row in ours) >= MOST_WAITING:
            fix = "a person decides first: `nanomem inbox list`"
            raise Refused(f"{MOST_WAITING} proposals wait in the inbox already", "", fix)
        if sum(row.created_at > hour_ago for row in ours) >= MOST_AN_HOUR:
            raise Refused(f"{MOST_AN_HOUR} proposals were made within the last hour", "", "propose less, or later")

    def _row(self, words: str, kind: str, scope: tuple[str, str], reason: str, held: str) -> Item:
        at = clock.iso(moment := clock.now())
        item = Item(
            id=new_key("ltm"),
            text=words,
            kind=kind,
            scope_type=scope[0],
            scope_key=scope[1],
            channel=self._audience.channel,
            chat_id=self._audience.chat_id,
            sender_id=self._audience.sender_id,
            importance=0.7,
            source=SOURCE,
            meta_json=dumped({"proposed_because": reason} if reason else {}),
            created_at=at,
            updated_at=at,
            expires_at=retention.expires_at(kind, moment, self._store.settings),
        )
        why = "proposed by an agent" + (f": {reason}" if reason else "")
        return waiting(item, f"{held}; {why}" if held else why, by=SOURCE, finding="origin")


def _checked(text: str, why: str) -> tuple[str, str]:
    """The words and the reason as they may be stored, without their secrets. Raises BadInput."""
    for value, most, where in ((text, MAX_TEXT, "text"), (why, MAX_WHY, "why")):
        if len(value) > most:
            raise BadInput(f"{len(value):,} characters", where, f"give at most {most:,}")
    words = checked(secrets.mask(text), "text")
    if safety.is_recalled(text):
        raise BadInput("that was recalled, it is known", "text", "propose only what is new")
    return words, one_line(checked(secrets.mask(why), "why")) if why.strip() else ""


def _held(text: str, why: str) -> str:
    """What a person should know of the text before anything else: it reads as an order, or held a secret."""
    return safety.held(text) or safety.held(why)
