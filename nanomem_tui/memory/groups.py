"""Which chats are groups, as far as a channel's ids tell: a private chat has one person in it and the agent.

A chat whose id is that of its sender is private, one whose id is another's is a group, but for channels whose ids tell
more. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from nanomem_tui.store.values import Item

PRIVATE_CHANNELS = frozenset({"cli", "api", "websocket", "email"})
"""Channels that have no groups."""
_PRIVATE_ENDS = ("@s.whatsapp.net", "@c.us", "@lid")


def _telegram(chat_id: str) -> bool | None:
    number = chat_id.partition(":")[0]
    return number.startswith("-") if number.lstrip("-").isdigit() else None


def _whatsapp(chat_id: str) -> bool | None:
    return True if chat_id.endswith("@g.us") else False if chat_id.endswith(_PRIVATE_ENDS) else None


def _feishu(chat_id: str) -> bool | None:
    return {"oc_": True, "ou_": False}.get(chat_id[:3])


def _slack(chat_id: str) -> bool | None:
    known = len(chat_id) >= 9 and chat_id.partition(":")[0].isalnum() and chat_id[:9].isupper()
    return {"C": True, "G": True, "D": False}.get(chat_id[0]) if known else None


_BY_CHANNEL: Mapping[str, Callable[[str], bool | None]] = MappingProxyType(
    {"telegram": _telegram, "whatsapp": _whatsapp, "feishu": _feishu, "slack": _slack}
)
"""Whether an id is that of a group, by channel; None where it does not tell."""


def is_group(channel: str | None, chat_id: str | None, sender_id: str | None) -> bool:
    """Whether a chat is a group. One without a known sender is private, unless its id tells otherwise."""
    if not channel or not chat_id or channel in PRIVATE_CHANNELS:
        return False
    if chat_id.startswith(("group:", "private:")):
        return chat_id.startswith("group:")
    told = _BY_CHANNEL[channel](chat_id) if channel in _BY_CHANNEL else None
    if told is not None:
        return told
    chat = chat_id.partition("@")[0]
    return bool(sender_id) and not {chat_id, chat} & {sender_id, *str(sender_id).split("|")}


def is_of_one(channel: str | None, chat_id: str | None) -> bool:
    """Whether the id of a chat alone tells that one person writes in it."""
    tells = _BY_CHANNEL.get(channel or "")
    return tells is not None and bool(chat_id) and tells(str(chat_id)) is False


def is_private(item: Item) -> bool:
    """Whether an item that follows a person was said in a private chat."""
    who = item.scope_key.split(":", 3)[-1]
    return item.chat_id is not None and not is_group(item.channel or item.scope_key.split(":")[1], item.chat_id, who)
