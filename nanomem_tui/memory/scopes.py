"""Scopes (seed 001 §5): the keys of chat, user and global memory, and who may see what.

Owns the one decision about visibility, `layers`, and what it means that an item waits in the inbox. Pure functions over
values: must not read a store, and nobody else may decide whether an item is visible.

A key is `channel:{channel}:chat:{chat_id}`, `channel:{channel}:user:{sender_id or chat_id}` or
`workspace:{workspace_id}:global`. A channel holds no colon, so that a key names one chat and no other.

Where no sender is known, the chat id stands for the person, as in a private chat of many channels. A chat may also be
called like somebody who is not in it: who asks there without a name sees of that person what was told in that very
chat, or under no name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import quote

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.groups import is_group, is_private
from nanomem_tui.store.files.exchange import global_scope
from nanomem_tui.store.snapshot import SAID_AGAIN
from nanomem_tui.store.values import LOCAL_CHANNELS, SCOPE_TYPES, Item, Lesson, chat_of, dumped, is_channel, is_id

R = TypeVar("R", Item, Lesson)
Layer = Literal["chat", "user", "global", "owner"]
LayerOf = Callable[[Item], Layer | None]

SCOPE_OF_KIND: Mapping[str, str] = MappingProxyType(
    {"preference": "user", "fact": "user", "decision": "chat", "episodic": "chat"}
)
"""Where a captured item goes unless `capture_scopes` says otherwise."""

USER_KINDS = frozenset({"preference", "fact"})
"""The only kinds that follow a person from chat to chat."""

SHARED_SESSIONS = frozenset({"unified:default"})
"""Session keys that the agent uses for several chats at once."""


class Audience(NamedTuple):
    """For whom something is recalled: a chat and a sender of one channel. All None: the owner, who sees everything."""

    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None

    @property
    def is_owner(self) -> bool:
        """Whether nobody in particular asks: the person at the console."""
        return self.channel is None and self.chat_id is None and self.sender_id is None

    @property
    def chat_key(self) -> str | None:
        """The key of the chat, None without one. Raises BadInput."""
        return chat_key(self.channel, self.chat_id) if self.chat_id is not None else None

    @property
    def user_key(self) -> str | None:
        """The key of the sender (without one: of the chat, as seed 001), None without either. Raises BadInput."""
        has_user = self.sender_id is not None or self.chat_id is not None
        return user_key(self.channel, self.sender_id, self.chat_id) if has_user else None


def chat_key(channel: str | None, chat_id: str | None) -> str:
    """The scope key of a chat. Raises BadInput when the channel or the chat is missing or malformed."""
    return f"channel:{_channel(channel, 'chat')}:chat:{_id(chat_id, 'chat', '--chat-id')}"


def user_key(channel: str | None, sender_id: str | None, chat_id: str | None = None) -> str:
    """The scope key of a sender; of the chat where no sender is known (seed 001 §5). Raises BadInput."""
    who = sender_id if sender_id is not None else chat_id
    return f"channel:{_channel(channel, 'user')}:user:{_id(who, 'user', '--sender-id or --chat-id')}"


def global_key(workspace_id: str) -> str:
    """The scope key of what every chat of a workspace may see."""
    return global_scope(workspace_id)


def state_key(session_key: str, channel: str, chat_id: str) -> str:
    """The key under which turns, pending items and lessons of a session are kept for a chat.

    A session belongs to the chat whose key it is or begins with (`telegram:-100:topic:42`). A name that the agent uses
    for several chats gives each of them a state of its own. Raises BadInput for the session of another chat.
    """
    chat = f"{channel}:{chat_id}"
    if session_key == chat or session_key.startswith(f"{chat}:"):
        return session_key
    if session_key in SHARED_SESSIONS or (channel in LOCAL_CHANNELS and session_key.startswith(f"{channel}:")):
        # No channel holds a slash, and no quoted id a blank: this is the key of no other session and chat.
        return f"{channel}/{quote(chat_id, safe=':@!+')} {session_key}"
    fix = f"give a session key like {chat}, or none"
    raise BadInput(f"that session is not of the chat {chat}", f"session_key {session_key}"[:100], fix)


def key_for(scope: str, audience: Audience, workspace_id: str) -> str:
    """The key under which something of `scope` (chat, user, global) is kept for an audience. Raises BadInput."""
    if scope == "global":
        _belonging(audience)  # a slip must not make global what is meant for somebody
        return global_key(workspace_id)
    if scope not in SCOPE_TYPES:
        raise BadInput(f"unknown scope `{scope}`", "--scope", f"one of {', '.join(SCOPE_TYPES)}")
    if scope == "chat":
        return chat_key(audience.channel, audience.chat_id)
    return user_key(audience.channel, audience.sender_id, audience.chat_id)


def layers(
    audience: Audience,
    scope: str = "all",
    *,
    with_global: bool = True,
    private_in_groups: Collection[str] = (),
    session_key: str = "",
) -> LayerOf:
    """The function that says in which layer an item is visible to `audience`, None when it is not.

    The chat layer holds every kind of this chat; the user layer preferences and facts of this sender only; the global
    layer what belongs to nobody, where `with_global`. What a person said in a private chat is not visible in a group,
    but for the kinds `private_in_groups`. `session_key`: the session within the chat, where a chat has several
    (`telegram:-100:topic:42`); what belongs to it is in the chat layer too. Who gives no sender is
    the person that the chat is called like only for what was told there, or by nobody that is known. The owner sees
    every item, as `owner`. `scope` (chat, user, global; all: no limit) narrows that and never widens it. A deleted item
    is visible to nobody; disabled ones are for the caller to leave out. Raises BadInput: an unknown scope, a chat or a
    sender without a channel.
    """
    if scope not in ("all", *SCOPE_TYPES):
        raise BadInput(f"unknown scope `{scope}`", "--scope", f"one of {', '.join(SCOPE_TYPES)}, all")
    if audience.is_owner:
        return lambda item: "owner" if not item.is_deleted and scope in ("all", item.scope_type) else None
    _belonging(audience)
    _channel(audience.channel, "chat")
    chats, user = {audience.chat_key}, audience.user_key
    if (session := chat_of(session_key)) is not None:
        chats.add(chat_key(*session))
    in_group = is_group(audience.channel, audience.chat_id, audience.sender_id)
    wanted = frozenset(SCOPE_TYPES if scope == "all" else (scope,)) - (frozenset() if with_global else {"global"})

    def layer(item: Item) -> Layer | None:
        kind = item.scope_type
        if kind not in wanted or item.is_deleted:
            return None
        if kind == "global":
            # A row that says global under the key of a chat contradicts itself: the narrower reading holds.
            return None if item.scope_key.startswith("channel:") else "global"
        if kind == "chat":
            return "chat" if item.scope_key in chats else None
        if item.scope_key != user:
            return None
        if audience.sender_id is None and item.sender_id and item.chat_id != audience.chat_id:
            return None
        if in_group and item.kind not in private_in_groups and item.chat_id != audience.chat_id and is_private(item):
            return None
        return "user" if item.kind in USER_KINDS else None

    return layer


def sessions_of(audience: Audience, session_key: str = "") -> frozenset[str] | None:
    """The keys of the sessions whose words an audience may be told; None: of all, for the owner.

    They are those of its chat: the chat's own and, where `session_key` is one within it, that too. In a channel whose
    sessions the agent names freely it is that one alone. Who asks without a chat is told of none, and what the agent
    keeps of several chats in one session only the owner is told.

    >>> sorted(sessions_of(Audience("telegram", "-100", "7"), "telegram:-100:topic:42"))
    ['telegram:-100', 'telegram:-100:topic:42']
    """
    if audience.is_owner:
        return None
    if not audience.channel or not audience.chat_id:
        return frozenset()
    chat = f"{audience.channel}:{audience.chat_id}"
    keys = {chat}
    if session_key.startswith(f"{chat}:"):
        keys.add(session_key)
    elif audience.channel in LOCAL_CHANNELS and session_key.startswith(f"{audience.channel}:"):
        keys = {session_key}
    return frozenset(keys - SHARED_SESSIONS)


def layer_of(item: Item, audience: Audience, scope: str = "all", *, with_global: bool = True) -> Layer | None:
    """The layer of one item; `layers` is the same for many."""
    return layers(audience, scope, with_global=with_global)(item)


def _belonging(audience: Audience) -> None:
    """Raise BadInput for a chat or a sender without a channel."""
    if not audience.channel and not audience.is_owner:
        option = "--sender-id" if audience.chat_id is None else "--chat-id"
        raise BadInput("a chat or a sender belongs to a channel", option, "give --channel too")


def is_waiting(item: Item) -> bool:
    """Whether the item waits in the inbox for a person: captured, never active, never recalled until accepted.

    A waiting item is disabled and says why in `meta["inbox"]`; so it is undone, recorded and saved like any other.
    """
    return item.waits


def waiting(row: R, why: str, **details: object) -> R:
    """The item or lesson as it waits in the inbox, with the reason and what else the person should know."""
    meta = {**row.meta, "inbox": {"why": why, **details}}
    return row._replace(enabled=False, meta_json=dumped(meta))


def accepted(row: R) -> R:
    """The item or lesson once a person accepted it: active, and no longer in the inbox."""
    meta = {name: value for name, value in row.meta.items() if name != "inbox"}
    return row._replace(enabled=True, meta_json=dumped(meta))


def said_again(row: R, by: str | None, at: str) -> R:
    """The item or lesson once one who may teach said what waited for its origin alone: active, and it tells who said it
    and when (UTC ISO)."""
    active = accepted(row)
    return active._replace(meta_json=dumped({**active.meta, SAID_AGAIN: {"by": by or "", "at": at}}))


def _channel(channel: str | None, scope: str) -> str:
    need = "--chat-id" if scope == "chat" else "--sender-id or --chat-id"
    if not channel:
        raise BadInput(f"a {scope} scope needs a channel and a {scope}", "--scope", f"give --channel and {need}")
    if not is_channel(channel):
        raise BadInput("a channel is one short word without `:` and `/`", "--channel", "for example telegram")
    return channel


def _id(value: str | None, scope: str, need: str) -> str:
    if not value:
        raise BadInput(f"a {scope} scope needs a channel and a {scope}", "--scope", f"give --channel and {need}")
    if not is_id(value):
        raise BadInput(
            f"that is no {scope} id: too long, a colon first, control characters or `../`",
            need,
            "give the channel's own id",
        )
    if " " in value:  # a title: turns keep it so, too
        from nanomem_tui.language import secrets  # no list has to wait for its patterns

        return secrets.mask(value)
    return value
