"""Scopes (seed 001 §5): the keys of chat, user and global memory, and who may see what.

Owns the one decision about visibility, `visible_layers`, and what it means that an item waits in the inbox. Pure
functions over values: must not read a store, and nobody else may decide whether an item is visible.

A key is `channel:{channel}:chat:{chat_id}`, `channel:{channel}:user:{sender_id or chat_id}` or
`workspace:{workspace_id}:global`. A channel holds no colon, so that a key names one chat and no other.

Where no sender is known, the chat id stands for the person, as in a private chat of many channels. A chat may also be
called like somebody who is not in it: who asks there without a name sees of that person what was told in that very
chat, or under no name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote

from nanomem_tui.core.errors import BadInput
from nanomem_tui.store.files.exchange import global_scope
from nanomem_tui.store.snapshot import SAID_AGAIN
from nanomem_tui.store.values import (
    KINDS,
    LOCAL_CHANNELS,
    SCOPE_TYPES,
    Item,
    Lesson,
    chat_of,
    dumped,
    is_channel,
    is_id,
)

# Which chats are groups, as far as a channel's ids tell: a private chat has one person in it and the agent.

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
    """Return whether a chat is a group. One without a known sender is private, unless its id tells otherwise."""
    if not channel or not chat_id or channel in PRIVATE_CHANNELS:
        return False
    if chat_id.startswith(("group:", "private:")):
        return chat_id.startswith("group:")
    told = _BY_CHANNEL[channel](chat_id) if channel in _BY_CHANNEL else None
    if told is not None:
        return told
    chat = chat_id.partition("@")[0]
    return bool(sender_id) and not {chat_id, chat} & {sender_id, *str(sender_id).split("|")}


def is_one_person(channel: str | None, chat_id: str | None) -> bool:
    """Return whether the id of a chat alone tells that one person writes in it."""
    tells = _BY_CHANNEL.get(channel or "")
    return tells is not None and bool(chat_id) and tells(str(chat_id)) is False


def is_private(item: Item) -> bool:
    """Return whether an item that follows a person was said in a private chat."""
    who = item.scope_key.split(":", 3)[-1]
    return item.chat_id is not None and not is_group(item.channel or item.scope_key.split(":")[1], item.chat_id, who)


R = TypeVar("R", Item, Lesson)
Layer = Literal["chat", "user", "global", "owner"]
LayerOf = Callable[[Item], Layer | None]

SCOPE_OF_KIND: Mapping[str, str] = MappingProxyType(
    {"preference": "user", "fact": "user", "decision": "chat", "episodic": "chat"}
)
"""Where a captured item goes."""

UNNAMED_CHANNELS = frozenset({"cli"})
"""Channels of one person, who teaches without a name; what comes without a sender waits in all others."""

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
    """Return the scope key of a chat. Raises BadInput when the channel or the chat is missing or malformed."""
    return f"channel:{_channel(channel, 'chat')}:chat:{_id(chat_id, 'chat', '--chat-id')}"


def user_key(channel: str | None, sender_id: str | None, chat_id: str | None = None) -> str:
    """Return the scope key of a sender; of the chat where no sender is known (seed 001 §5). Raises BadInput."""
    who = sender_id if sender_id is not None else chat_id
    return f"channel:{_channel(channel, 'user')}:user:{_id(who, 'user', '--sender-id or --chat-id')}"


def global_key(workspace_id: str) -> str:
    """Return the scope key of what every chat of a workspace may see."""
    return global_scope(workspace_id)


def state_key(session_key: str, channel: str, chat_id: str) -> str:
    """Return the key under which turns, pending items and lessons of a session are kept for a chat.

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
    """Return the key under which something of `scope` (chat, user, global) is kept for an audience. Raises BadInput."""
    if scope == "global":
        _belonging(audience)  # a slip must not make global what is meant for somebody
        return global_key(workspace_id)
    if scope not in SCOPE_TYPES:
        raise BadInput(f"unknown scope `{scope}`", "--scope", f"one of {', '.join(SCOPE_TYPES)}")
    if scope == "chat":
        return chat_key(audience.channel, audience.chat_id)
    return user_key(audience.channel, audience.sender_id, audience.chat_id)


def visible_layers(
    audience: Audience,
    scope: str = "all",
    *,
    with_global: bool = True,
    private_in_groups: Collection[str] = (),
    session_key: str = "",
) -> LayerOf:
    """Return the function that says in which layer an item is visible to `audience`, None when it is not.

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
    """Return the keys of the sessions whose words an audience may be told; None: of all, for the owner.

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
    """Return the layer of one item; `visible_layers` is the same for many."""
    return visible_layers(audience, scope, with_global=with_global)(item)


def _belonging(audience: Audience) -> None:
    if not audience.channel and not audience.is_owner:
        option = "--sender-id" if audience.chat_id is None else "--chat-id"
        raise BadInput("a chat or a sender belongs to a channel", option, "give --channel too")


def is_waiting(item: Item) -> bool:
    """Return whether the item waits in the inbox: disabled, with the reason in `meta["inbox"]`."""
    return item.waits


def hold_for_review(row: R, why: str, **details: object) -> R:
    """Return the item or lesson as it waits in the inbox, with the reason and what else the person should know."""
    meta = {**row.meta, "inbox": {"why": why, **details}}
    return row._replace(enabled=False, meta_json=dumped(meta))


def accept_held(row: R) -> R:
    """Return the item or lesson once a person accepted it: active, and no longer in the inbox."""
    meta = {name: value for name, value in row.meta.items() if name != "inbox"}
    return row._replace(enabled=True, meta_json=dumped(meta))


def confirm_held(row: R, by: str | None, at: str) -> R:
    """Return what waited for its origin as confirmed by one who may teach, at a time (UTC ISO)."""
    active = accept_held(row)
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


# Scopes by the names that people type: `global`, `telegram:42` for a chat, `telegram:@ana` for a person.

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
        return scope_name(self.scope_type, self.scope_key)

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


def parse_scope(text: str, workspace_id: str) -> Scope:
    """Return the scope that a person names, or that a key names. Raises BadInput."""
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


def scope_of_item(item: Item) -> Scope:
    """Return the scope of an item, read from its key; one whose key names nobody has neither channel nor chat."""
    return scope_of_key(item.scope_type, item.scope_key)


def scope_of_key(scope_type: str, scope_key: str) -> Scope:
    """Return the scope of that type and key."""
    key = _KEY.fullmatch(scope_key)
    if key is None or key[2] != scope_type:
        return Scope(scope_type, scope_key)
    channel, kind, who = key.groups()
    return Scope(kind, scope_key, channel, who if kind == "chat" else None, who if kind == "user" else None)


def scope_name(scope_type: str, scope_key: str) -> str:
    """A scope as people type it; its key where it has no such name."""
    if scope_type == "global":
        return scope_key if scope_key.startswith("channel:") else "global"
    key = _KEY.fullmatch(scope_key)
    if key is None or key[2] != scope_type or (scope_type == "chat" and key[3].startswith("@")):
        return scope_key or scope_type
    return f"{key[1]}:{'@' if scope_type == 'user' else ''}{key[3]}"


def name_of_key(key: str) -> str:
    """Return a scope key as people type it; empty for none."""
    found = _KEY.fullmatch(key)
    return scope_name(found[2], key) if found else "global" if key.endswith(":global") else key


def is_in_scope(scope_type: str, scope_key: str, key: str) -> bool:
    """Return whether a scope is that of `key`; global rows may keep the key of where they were said."""
    is_global = scope_type == "global" and key.startswith("workspace:") and not scope_key.startswith("channel:")
    return scope_key == key or is_global


# -- Who sees which items: every scope with what it holds, and what one asker sees, through which layer ---------------

LAYERS: tuple[Layer, ...] = ("chat", "user", "global", "owner")
_ORDER = {"global": 0, "chat": 1, "user": 2}


class ScopeRow(NamedTuple):
    """One scope and what it holds: items that live, by kind; how many of them are switched off; how many wait in the
    inbox beside them; how many no chat sees; lessons of it. `seen_by`: the askers who see it."""

    scope: Scope
    kinds: Mapping[str, int]
    disabled: int = 0
    waiting: int = 0
    unseen: int = 0
    lessons: int = 0
    seen_by: tuple[Audience, ...] = ()

    @property
    def total(self) -> int:
        """Items that live."""
        return sum(self.kinds.values())


class Visibility(NamedTuple):
    """What one asker sees: how many items through each layer, of which scopes, and how many there are."""

    audience: Audience
    by_layer: Mapping[str, int]
    by_scope: Mapping[str, int]
    total: int

    @property
    def number(self) -> int:
        """Items that the asker sees."""
        return sum(self.by_layer.values())


class Groups:
    """Items counted by all that their visibility depends on, so that 100,000 of them are judged by few examples."""

    def __init__(self, items: Iterable[Item]) -> None:
        """`items`: those that are not deleted."""
        self._counts: Counter[tuple[object, ...]] = Counter()
        self._examples: dict[tuple[object, ...], Item] = {}
        for row in items:
            waits = row.waits
            key = (row.scope_type, row.scope_key, row.kind, row.chat_id, bool(row.sender_id), bool(row.enabled), waits)
            self._counts[key] += 1
            if key not in self._examples:
                self._examples[key] = row

    def sees(
        self, audience: Audience, *, with_global: bool = True, private_in_groups: Collection[str] = ()
    ) -> Visibility:
        """Return what an asker sees; the owner sees all. Raises BadInput."""
        layer_of = visible_layers(audience, with_global=with_global, private_in_groups=private_in_groups)
        by_layer, by_scope, total = Counter[str](), Counter[str](), 0
        for key, number in self._counts.items():
            example = self._examples[key]
            if not example.enabled:
                continue
            total += number
            layer = layer_of(example)
            if layer is not None:
                by_layer[layer] += number
                by_scope[scope_of_key(example.scope_type, example.scope_key).name] += number
        ordered: dict[str, int] = {name: by_layer[name] for name in LAYERS if by_layer[name]}
        return Visibility(audience, ordered, dict(by_scope), total)

    def matrix(
        self,
        askers: Sequence[Audience],
        lessons: Iterable[Lesson] = (),
        *,
        with_global: bool = True,
        private_in_groups: Collection[str] = (),
    ) -> list[ScopeRow]:
        """Return every scope with what it holds, global first, then chats, then persons, each by name."""
        kinds: dict[tuple[str, str], Counter[str]] = {}
        other: dict[tuple[str, str], Counter[str]] = {}
        for key, number in self._counts.items():
            example = self._examples[key]
            place = _grouping_key(example.scope_type, example.scope_key)
            of_kind, of_place = kinds.setdefault(place, Counter()), other.setdefault(place, Counter())
            if example.waits:
                of_place["waiting"] += number
                continue
            of_kind[example.kind] += number
            of_place["disabled"] += 0 if example.enabled else number
            of_place["unseen"] += number if is_unseen(example) else 0
        taught = Counter(_place_of(lesson) for lesson in lessons)
        for place in taught:
            kinds.setdefault(place, Counter())
            other.setdefault(place, Counter())
        seen = self._seen_by(askers, with_global=with_global, private_in_groups=private_in_groups)
        rows = [
            ScopeRow(scope_of_key(*place), _in_order(kinds[place]), found["disabled"], found["waiting"],
                     found["unseen"], taught[place], tuple(seen.get(place, ())))
            for place, found in other.items()
        ]  # fmt: skip
        return sorted(rows, key=lambda row: (_ORDER.get(row.scope.scope_type, 3), row.scope.name))

    def _seen_by(
        self, askers: Sequence[Audience], *, with_global: bool, private_in_groups: Collection[str]
    ) -> dict[tuple[str, str], dict[Audience, None]]:
        found: dict[tuple[str, str], dict[Audience, None]] = {}
        examples = [one for one in self._examples.values() if one.enabled]
        for audience in askers:
            layer_of = visible_layers(audience, with_global=with_global, private_in_groups=private_in_groups)
            for example in examples:
                if layer_of(example) is not None:
                    found.setdefault(_grouping_key(example.scope_type, example.scope_key), {})[audience] = None
        return found


def is_unseen(item: Item) -> bool:
    """Return whether nobody can see an item: its scope contradicts itself, or its kind follows no person."""
    return _unseen(item.scope_type, item.scope_key, item.kind, item.chat_id, item.sender_id)


@lru_cache(4096)
def _unseen(scope_type: str, scope_key: str, kind: str, chat_id: str | None, sender_id: str | None) -> bool:
    scope = scope_of_key(scope_type, scope_key)
    if scope_type == "global":
        return scope_key.startswith("channel:")
    example = Item("", "", kind, scope_type, scope_key, scope.channel, chat_id, sender_id)
    chat = chat_id if scope_type == "user" else scope.chat_id
    try:
        return scope.channel is None or visible_layers(Audience(scope.channel, chat, scope.sender_id))(example) is None
    except BadInput:
        return True


def _grouping_key(scope_type: str, scope_key: str) -> tuple[str, str]:
    whole = scope_type == "global" and not scope_key.startswith("channel:")
    return (scope_type, "") if whole else (scope_type, scope_key)


def _place_of(lesson: Lesson) -> tuple[str, str]:
    if lesson.scope == "global":
        return "global", ""
    channel, colon, chat = lesson.session_key.partition(":")
    return ("chat", f"channel:{channel}:chat:{chat}") if colon and chat else ("session", lesson.session_key)


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    known = {kind: counts[kind] for kind in KINDS if counts.get(kind)}
    return known | {kind: counts[kind] for kind in sorted(counts) if kind not in known and counts[kind]}


# -- How the scope and the source of an item read. Pure and light: the frame before the app draws with it -------------

FOREIGN = "foreign:"


def is_foreign(item: Item) -> bool:
    """Return whether the item lies in another system's database."""
    return item.source.startswith(FOREIGN)


def scope_label(item: Item) -> str:
    """A scope as people say it: `global`, `telegram:42`, `telegram:@7` for a user."""
    if item.scope_type == "global":
        return "global"
    channel, _, who = item.scope_key.removeprefix("channel:").partition(f":{item.scope_type}:")
    if who:
        return f"{channel}:{'@' if item.scope_type == 'user' else ''}{who}"
    return item.scope_key or item.scope_type


def source_label(item: Item) -> str:
    """Return where an item came from, short."""
    return item.source.removeprefix(FOREIGN)
