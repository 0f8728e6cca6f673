"""Scopes by the names that people type: `global`, `telegram:42` for a chat, `telegram:@ana` for a person.

Owns the one way from such a name to the fields of an item, and back. Pure. Who sees what, `scopes` decides.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.scopes import Audience, key_for
from nanomem_tui.store.values import Item

HINT = "global, telegram:42 (that chat), telegram:@ana (that person)"
_KEY = re.compile(r"channel:([^:]+):(chat|user):(.+)", re.DOTALL)


class Scope(NamedTuple):
    """One scope: its type, its key, and the channel, chat or sender that it belongs to."""

    scope_type: str
    scope_key: str
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None

    @property
    def name(self) -> str:
        """As people type it."""
        return name_of(self.scope_type, self.scope_key)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that an item of this scope has."""
        return self._asdict()

    @property
    def words(self) -> str:
        """Who sees it, in words."""
        if self.scope_type == "global":
            return "every chat"
        return f"the chat {self.name}" if self.scope_type == "chat" else f"{self.name}, in every chat"


def named(text: str, workspace_id: str) -> Scope:
    """The scope that a person names, or that a key names. Raises BadInput."""
    text = text.strip()
    if text.casefold() == "global":
        return Scope("global", key_for("global", Audience(), workspace_id))
    key = _KEY.fullmatch(text)
    if key is not None:
        channel, kind, who = key.groups()
    else:
        channel, _, who = text.partition(":")
        kind, who = ("user", who[1:]) if who.startswith("@") else ("chat", who)
    if not channel or not who:
        raise BadInput(f"no scope `{text[:80]}`", "scope", f"name it like {HINT}")
    audience = Audience(channel, None, who) if kind == "user" else Audience(channel, who)
    return Scope(kind, key_for(kind, audience, workspace_id), *audience)


def of_item(item: Item) -> Scope:
    """The scope of an item, read from its key; one whose key names nobody has neither channel nor chat."""
    return of_key(item.scope_type, item.scope_key)


def of_key(scope_type: str, scope_key: str) -> Scope:
    """The scope of that type and key."""
    key = _KEY.fullmatch(scope_key)
    if key is None or key[2] != scope_type:
        return Scope(scope_type, scope_key)
    channel, kind, who = key.groups()
    return Scope(kind, scope_key, channel, who if kind == "chat" else None, who if kind == "user" else None)


def name_of(scope_type: str, scope_key: str) -> str:
    """A scope as people type it; its key where it has no such name."""
    if scope_type == "global":
        return scope_key if scope_key.startswith("channel:") else "global"
    key = _KEY.fullmatch(scope_key)
    if key is None or key[2] != scope_type or (scope_type == "chat" and key[3].startswith("@")):
        return scope_key or scope_type
    return f"{key[1]}:{'@' if scope_type == 'user' else ''}{key[3]}"


def lies_in(scope_type: str, scope_key: str, key: str) -> bool:
    """Whether what has this scope is of the scope with `key`: what is global may keep the key of where it was said."""
    is_global = scope_type == "global" and key.startswith("workspace:") and not scope_key.startswith("channel:")
    return scope_key == key or is_global
