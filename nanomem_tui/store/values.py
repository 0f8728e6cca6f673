"""The rows that the RAM snapshot holds: Item, Lesson and Record, as tuples in the order of their table columns; the
fact and the scope that an item holds.

Tuples because 100,000 of them come straight from a database cursor without a Python call per field
(docs/decisions). Must not know a database, a file or a screen.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

from nanomem_tui.core import files
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import normalised

Kind = Literal["preference", "fact", "decision", "episodic"]
_HASHED = json.JSONEncoder(ensure_ascii=False, default=repr, check_circular=False).encode
KINDS: tuple[str, ...] = ("preference", "fact", "decision", "episodic")
SCOPE_TYPES: tuple[str, ...] = ("chat", "user", "global")


class Item(NamedTuple):
    """A long-term memory (seed 000 §Data model, seed 001 §4.1). Times are UTC ISO text; `text` is column `content`."""

    id: str
    text: str
    kind: str = "fact"
    scope_type: str = "global"
    scope_key: str = ""
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None
    session_key: str | None = None
    importance: float = 0.7
    confidence: float = 1.0
    source: str = "manual"
    source_message_id: str | None = None
    source_role: str | None = None
    meta_json: str = "{}"
    created_at: str = ""
    updated_at: str = ""
    last_accessed_at: str | None = None
    expires_at: str | None = None
    hits: int = 0
    enabled: bool = True
    pinned: bool = False
    is_deleted: bool = False
    revision: int = 0

    @property
    def meta(self) -> dict[str, Any]:
        """The free fields, `{}` when they do not parse."""
        return free_fields(self.meta_json)

    @property
    def waits(self) -> bool:
        """Whether it waits in the inbox for a person: disabled, and its free fields say why."""
        return not self.enabled and says_why(self.meta_json)

    def to_json(self) -> dict[str, Any]:
        """The item as the command line prints it: `id` first, the revision left out, `meta` as an object."""
        body = self._asdict()
        del body["revision"], body["meta_json"]
        return {**body, "meta": self.meta}


class Lesson(NamedTuple):
    """A self-improvement lesson (seed 000 §2.5): what triggered it, what was done, what is better."""

    id: str
    key: str = ""
    trigger: str = ""
    bad_action: str = ""
    better_action: str = ""
    scope: str = "session"
    session_key: str = ""
    actor_key: str = ""
    source: str = "manual"
    confidence: int = 5
    hits: int = 0
    enabled: bool = True
    created_at: str = ""
    updated_at: str = ""
    last_applied_at: str = ""
    promoted_global_key: str = ""
    meta_json: str = "{}"
    is_deleted: bool = False
    revision: int = 0

    @property
    def meta(self) -> dict[str, Any]:
        """The free fields, `{}` when they do not parse."""
        return free_fields(self.meta_json)

    @property
    def waits(self) -> bool:
        """Whether it waits in the inbox for a person: disabled, and its free fields say why."""
        return not self.enabled and says_why(self.meta_json)

    def to_json(self) -> dict[str, Any]:
        """The lesson as the command line prints it."""
        body = self._asdict()
        del body["revision"], body["meta_json"]
        return {**body, "meta": self.meta}


class Record(NamedTuple):
    """Something that happened, in the fields of its kind (seed 003): a journal entry, a message of an imported
    conversation, a reflection on a failure, the use of tokens.

    `about`: the day, the chat or the tool that it belongs to; `at`: when it happened, UTC ISO; the other fields of its
    kind are in `meta_json`. `source`: manual, import, agent or the part of ours that made it.
    """

    id: str
    kind: str = "journal"
    about: str = ""
    text: str = ""
    session_key: str = ""
    source: str = "manual"
    at: str = ""
    meta_json: str = "{}"
    created_at: str = ""
    updated_at: str = ""
    is_deleted: bool = False
    revision: int = 0

    @property
    def meta(self) -> dict[str, Any]:
        """The fields of its kind, `{}` when they do not parse."""
        return free_fields(self.meta_json)

    def to_json(self) -> dict[str, Any]:
        """The record as the command line prints it."""
        body = self._asdict()
        del body["revision"], body["meta_json"], body["is_deleted"]
        return {**body, "meta": self.meta}


Row = Item | Lesson
AnyRow = Item | Lesson | Record
R = TypeVar("R", Item, Lesson, Record)
ROW_TYPES: Mapping[str, type[Item | Lesson | Record]] = {"item": Item, "lesson": Lesson, "record": Record}
"""The layers of rows."""
ROW_LAYERS = tuple(ROW_TYPES)


def layer_of(row: AnyRow) -> str:
    """The layer that a row belongs to."""
    return next(name for name, kind in ROW_TYPES.items() if type(row) is kind)


def active(rows: Iterable[R]) -> list[R]:
    """Those that are not deleted, newest first."""
    return sorted((row for row in rows if not row.is_deleted), key=lambda row: (row.updated_at, row.id), reverse=True)


class Hit(NamedTuple):
    """One search result: the item, its score, the parts the score is made of, and through which layer it is visible.

    `layer`: chat, user, global, or owner for a person who sees everything.
    """

    item: Item
    score: float
    parts: Mapping[str, Any]
    layer: str = "owner"

    def to_json(self) -> dict[str, Any]:
        """The hit as the command line prints it."""
        return {**self.item.to_json(), "score": round(self.score, 6), "parts": dict(self.parts)}


def says_why(meta_json: object) -> bool:
    """Whether free fields say why a row waits in the inbox; a flipped bit can make them something else than text."""
    return isinstance(meta_json, str) and '"inbox"' in meta_json and bool(free_fields(meta_json).get("inbox"))


def lesson_key(trigger: str, better_action: str, scope: str, session_key: str) -> str:
    """The key of seed 000: two lessons with the same key are one."""
    return "|".join((normalised(trigger), normalised(better_action), scope, session_key))


def row_hash(row: AnyRow | Sequence[Any]) -> str:
    """A hash of every field but the last, the revision, to notice a flipped bit, which can also make a text something
    else."""
    import hashlib  # only where rows are written or examined

    body = [int(value) if value is True or value is False else value for value in row[:-1]]
    return hashlib.blake2b(_HASHED(body).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def dumped(meta: Mapping[str, Any]) -> str:
    """Free fields as a row keeps them."""
    return json.dumps(meta, ensure_ascii=False, sort_keys=True)


def free_fields(text: str) -> dict[str, Any]:
    """Return the free fields of a row, `{}` when they do not parse."""
    try:
        value = files.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


# -- facts: an item whose free fields hold domain, category, key and value; its text is the truth ---------------------

MAX_NAME = 300
"""Characters of a domain, a category, a sub-category or a key."""

Identity = tuple[str, str, str, str]
"""Scope, domain, category and key, white space collapsed and case folded: two facts of the same are one."""


class Fact(NamedTuple):
    """A fact and the item that holds it. `domain` and `sub_category` may be None, as in the seed's table."""

    id: str
    domain: str | None
    category: str
    sub_category: str | None
    key: str
    value: str
    item: Item

    def to_json(self) -> dict[str, Any]:
        """The fact as the command line prints it: the names of the seed's table, then what an item has."""
        item = self.item
        return {
            "id": self.id,
            "domain": self.domain,
            "category": self.category,
            "sub_category": self.sub_category,
            "key": self.key,
            "value": self.value,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
            "text": item.text,
            "scope_type": item.scope_type,
            "scope_key": item.scope_key,
            "enabled": item.enabled,
            "pinned": item.pinned,
            "hits": item.hits,
            "source": item.source,
            "session_key": item.session_key,
            "source_message_id": item.source_message_id,
        }


def fact_of(item: Item) -> Fact | None:
    """The fact that an item is; None for one that is none."""
    if '"fact"' not in item.meta_json:
        return None
    fields = item.meta.get("fact")
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in ("category", "key")):
        return None
    key = fields["key"]
    value = item.text.removeprefix(text_of(key, ""))
    domain, sub = (
        fields.get(name) if isinstance(fields.get(name), str) else None for name in ("domain", "sub_category")
    )
    return Fact(item.id, domain or None, fields["category"], sub or None, key, value, item)


def text_of(key: str, value: str) -> str:
    """The words of a fact, as they are recalled."""
    return f"{key}: {value}"


def identity_of(fact: Fact) -> Identity:
    """By what a fact is known."""
    return identity(
        fact.item.scope_key if fact.item.scope_type != "global" else "", fact.domain, fact.category, fact.key
    )


def identity_of_item(item: Item) -> Identity | None:
    """By what the fact that an item is is known; None for an item that is none."""
    fact = fact_of(item)
    return identity_of(fact) if fact is not None else None


def without_known_facts(rows: Iterable[Item], ours: Iterable[Item]) -> list[Item]:
    """Those of the rows that hold no fact which one of ours holds, whatever their ids are."""
    named = [(row, identity_of_item(row)) for row in rows]
    known = {identity_of_item(row) for row in ours if not row.is_deleted} if any(name for _, name in named) else set()
    return [row for row, name in named if name is None or name not in known]


def identity(scope_key: str, domain: str | None, category: str, key: str) -> Identity:
    """By what a fact of these fields is known; `scope_key`: empty for a global one."""
    return scope_key, fold_key(domain or ""), fold_key(category), fold_key(key)


def fold_key(name: str) -> str:
    """A name as names are compared: composed, case folded, without what has no width, white space collapsed."""
    composed = unicodedata.normalize("NFC", name)
    if not composed.isascii():
        composed = "".join(c for c in composed if unicodedata.category(c) != "Cf")
    return " ".join(unicodedata.normalize("NFC", composed.casefold()).split())


def id_of(known: Identity) -> str:
    """The id that a new fact gets: two processes that learn the same one at once make one row."""
    import hashlib

    return f"fact_{hashlib.sha256(json.dumps(known).encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def with_fields(item: Item, fields: Mapping[str, Any]) -> Item:
    """The item with some fields of its fact set; None takes one away."""
    meta = item.meta
    known = meta.get("fact")
    fact = {**(known if isinstance(known, dict) else {}), **fields}
    meta["fact"] = {name: value for name, value in fact.items() if value is not None}
    return item._replace(meta_json=dumped(meta))


def with_value(item: Item) -> Item:
    """The item with the value that its text has now in the fields of its fact; itself when it is none."""
    fact = fact_of(item)
    if fact is None or item.meta["fact"].get("value") == fact.value:
        return item
    return with_fields(item, {"value": fact.value})


def with_value_of(item: Item, other: Item) -> Item:
    """The row of a fact with the value that another row of the same fact has, and with its origin."""
    fact, given = fact_of(item), fact_of(other)
    if fact is None or given is None:
        return item
    sub = given.sub_category or fact.sub_category
    new = {"value": given.value, "sub_category": sub, "said": other.meta["fact"].get("said")}
    made = with_fields(item._replace(text=text_of(fact.key, given.value)), new)
    return made._replace(
        session_key=other.session_key,
        source=other.source,
        source_message_id=other.source_message_id,
        source_role=other.source_role,
        updated_at=other.updated_at,
        enabled=True,
    )


def checked_name(value: str, where: str, *, needed: bool = True) -> str:
    """A domain, category or key as it is kept: white space collapsed. Raises BadInput for one that is empty where it is
    needed, too long, or with control characters."""
    if any((c < " " and c not in "\t\n") or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in value):
        raise BadInput("it holds control characters", where, "remove them")
    name = " ".join(value.split())
    if needed and not name:
        raise BadInput("it is empty", where, "give it a name")
    if len(name) > MAX_NAME:
        raise BadInput(f"it has {len(name):,} characters, at most {MAX_NAME} are kept", where, "shorten it")
    return name


# -- scope keys, and the chat that a session of a RAM-first agent (seed 000) belongs to -------------------------------

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
