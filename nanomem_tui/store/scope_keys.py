"""The keys of chat scopes, and the chat that a session of a RAM-first agent (seed 000) belongs to. Pure.

A session key is `channel:chat_id`. An item of the agent with a session key belongs to that chat; what we write into the
agent's file carries the session in which the agent may show it.
"""

from __future__ import annotations

import re
from functools import cache

from nanomem_tui.store.values import Item

LOCAL_CHANNELS = frozenset({"cli", "api"})
"""Channels whose sessions the agent names freely, beside the one chat that they have."""
MAX_ID = 512
NO_CHAT = "session:"
"""Before the key of a session that names no chat: only the owner sees what belongs to it."""


@cache
def _channel() -> re.Pattern[str]:
    return re.compile(r"[^\s:/\\\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,64}")


@cache
def _bad_id() -> re.Pattern[str]:
    return re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|(?:^|[/\\])\.\.(?:[/\\]|$)")


def is_channel(name: str) -> bool:
    """Whether a name can be that of a channel: one short word without `:` and `/`."""
    return _channel().fullmatch(name) is not None


def is_id(value: str) -> bool:
    """Whether a text can be the id of a chat or a sender."""
    return bool(value) and len(value) <= MAX_ID and not value.startswith(":") and _bad_id().search(value) is None


def chat_of(session_key: str) -> tuple[str, str] | None:
    """Return the channel and the chat id of a session key, None where it names no chat."""
    channel, _, chat_id = session_key.partition(":")
    return (channel, chat_id) if is_channel(channel) and is_id(chat_id) else None


def placed_in_session(item: Item, session_key: str) -> Item:
    """Return the item as one of the chat of a session."""
    channel, chat_id = chat_of(session_key) or (None, None)
    key = f"channel:{channel}:chat:{chat_id}" if channel else f"{NO_CHAT}{session_key}"
    return item._replace(
        scope_type="chat", scope_key=key, channel=channel, chat_id=chat_id, sender_id=None, session_key=session_key
    )


def session_of(item: Item) -> str | None:
    """Return the key of the session in which the agent may show an item: empty for every session, None for none.

    What follows a person is shown in the session where it was said; what a person moved to a chat, in that chat.
    """
    if item.scope_type == "global":
        return None if item.scope_key.startswith("channel:") else ""
    own = item.session_key or ""
    if item.scope_key.startswith(NO_CHAT):
        return item.scope_key.removeprefix(NO_CHAT)
    _, channel, kind, who = (*item.scope_key.split(":", 3), "", "", "")[:4]
    if kind != item.scope_type or not who:
        return None
    chat_id = who if kind == "chat" else item.chat_id
    if not chat_id:  # a private chat is called like the person in it
        return f"{channel}:{who.partition('|')[0]}"
    chat = f"{channel}:{chat_id}"
    here = own == chat or own.startswith(f"{chat}:") or (channel in LOCAL_CHANNELS and own.startswith(f"{channel}:"))
    return own if here else chat
