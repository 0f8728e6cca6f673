"""The rows that the RAM snapshot holds: Item, Lesson and Record, as tuples in the order of their table columns.

Tuples because 100,000 of them come straight from a database cursor without a Python call per field
(docs/decisions). Must not know a database, a file or a screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from nanomem_tui import json_text
from nanomem_tui.text import normalised

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
        return _object(self.meta_json)

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
        return _object(self.meta_json)

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
        return _object(self.meta_json)

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
    return isinstance(meta_json, str) and '"inbox"' in meta_json and bool(_object(meta_json).get("inbox"))


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


def _object(text: str) -> dict[str, Any]:
    try:
        value = json_text.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def number_of(text: Any) -> float | None:
    """The number that a marker says; None for none."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
