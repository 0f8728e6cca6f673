"""The border where fields of a foreign row become a row of ours: types, sizes, scopes and times, or the reason why not.

Pure. What cannot be put right is refused with a reason; what can is put right and said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.text import is_utf8
from nanomem_tui.memory.items import MAX_TEXT
from nanomem_tui.store.files.exchange import MOST, global_scope
from nanomem_tui.store.values import KINDS, NO_CHAT, SCOPE_TYPES, Item, Lesson, Record, dumped

MAX_ID = 200
MAX_FIELD = 2_000
MAX_META = 1_000_000
_GLOBAL = re.compile(r"workspace:[^:\s]{1,128}:global")
_SCOPED = re.compile(r"channel:[^:\s]{1,64}:(chat|user):[^\x00-\x1f\x7f]{1,512}")
_OPTIONAL = ("channel", "chat_id", "sender_id", "session_key", "source_message_id", "source_role")
RECORD_KINDS = ("journal", "message", "reflection", "usage")
_LESSON_TEXTS = ("key", "trigger", "bad_action", "better_action", "session_key", "actor_key", "promoted_global_key")


class BadRow(ValueError):
    """A row that cannot be taken; its text is the reason."""


def item(raw: Mapping[str, Any], workspace_id: str, *, ours: bool = False) -> tuple[Item, str]:
    """The item in the fields of a row, and what was put right in it. Raises BadRow with the reason.

    A global scope becomes that of this workspace. `ours`: a row that nanomem wrote, whose times stand as they are.
    """
    notes: list[str] = []
    scope_type = raw.get("scope_type", "global")
    if scope_type not in SCOPE_TYPES:
        raise BadRow(f"unknown scope {_shown(scope_type)}")
    kind = raw.get("kind", "fact")
    if kind not in KINDS:
        raise BadRow(f"unknown kind {_shown(kind)}")
    now = clock.iso(clock.now())
    optional: dict[str, Any] = {name: _optional(raw.get(name), name) for name in _OPTIONAL}
    created = _time(raw, "created_at", notes, ours=ours) or ("" if ours else now)
    updated = _time(raw, "updated_at", notes, ours=ours) or created
    found = Item(
        id=_id(raw.get("id")),
        text=_text(raw.get("text"), "text", MAX_TEXT, needed=True),
        kind=str(kind),
        scope_type=str(scope_type),
        scope_key=_scope(str(scope_type), raw.get("scope_key"), workspace_id),
        importance=_fraction(raw, "importance", 0.7, notes),
        confidence=_fraction(raw, "confidence", 1.0, notes),
        source=_text(raw.get("source"), "source", MAX_FIELD) or "import",
        meta_json=_meta(raw, notes),
        created_at=created,
        updated_at=updated,
        last_accessed_at=_time(raw, "last_accessed_at", notes, ours=ours) or None,
        expires_at=_time(raw, "expires_at", notes, ours=ours) or None,
        hits=_whole(raw, "hits", 0, notes),
        enabled=_flag(raw, "enabled", default=True),
        pinned=_flag(raw, "pinned", default=False),
        is_deleted=_flag(raw, "is_deleted", default=False),
        **optional,
    )
    return found, "; ".join(notes)


def lesson(raw: Mapping[str, Any], *, ours: bool = False) -> tuple[Lesson, str]:
    """The lesson in the fields of a row, and what was put right in it. Raises BadRow with the reason."""
    notes: list[str] = []
    texts: dict[str, Any] = {name: _text(raw.get(name), name, MAX_TEXT) for name in _LESSON_TEXTS}
    if not texts["trigger"].strip() and not texts["better_action"].strip():
        raise BadRow("no trigger and no better action")
    created = _time(raw, "created_at", notes, ours=ours) or ""
    found = Lesson(
        id=_id(raw.get("id")),
        scope=_text(raw.get("scope"), "scope", 64) or "session",
        source=_text(raw.get("source"), "source", MAX_FIELD) or "import",
        confidence=_whole(raw, "confidence", 1, notes),
        hits=_whole(raw, "hits", 0, notes),
        enabled=_flag(raw, "enabled", default=True),
        created_at=created,
        updated_at=_time(raw, "updated_at", notes, ours=ours) or created,
        last_applied_at=_time(raw, "last_applied_at", notes, ours=ours) or "",
        meta_json=_meta(raw, notes),
        is_deleted=_flag(raw, "is_deleted", default=False),
        **texts,
    )
    return found, "; ".join(notes)


def record(raw: Mapping[str, Any], *, ours: bool = False) -> tuple[Record, str]:
    """The record in the fields of a row, and what was put right in it. Raises BadRow with the reason."""
    notes: list[str] = []
    kind = raw.get("kind")
    if kind not in RECORD_KINDS:
        raise BadRow(f"unknown kind {_shown(kind)}")
    about = _text(raw.get("about"), "about", MAX_FIELD, needed=True)
    if not about.isprintable():
        raise BadRow("what it is about holds control characters")
    happened = _time(raw, "at", notes, ours=ours) or ""
    created = _time(raw, "created_at", notes, ours=ours) or happened
    found = Record(
        id=_id(raw.get("id")),
        kind=str(kind),
        about=about,
        text=_text(raw.get("text"), "text", MAX_TEXT),
        session_key=_text(raw.get("session_key"), "session_key", MAX_FIELD),
        source=_text(raw.get("source"), "source", MAX_FIELD) or "import",
        at=happened,
        meta_json=_meta(raw, notes),
        created_at=created,
        updated_at=_time(raw, "updated_at", notes, ours=ours) or created,
        is_deleted=_flag(raw, "is_deleted", default=False),
    )
    return found, "; ".join(notes)


def _id(value: Any) -> str:
    key = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(key, str) or not key or len(key) > MAX_ID or not key.isprintable() or not is_utf8(key):
        raise BadRow("no usable id")
    return key


def _text(value: Any, name: str, limit: int, *, needed: bool = False) -> str:
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise BadRow(f"no {name}" if value is None else f"{name} is no text")
    if needed and not value.strip():
        raise BadRow(f"{name} is empty")
    if len(value) > limit:
        raise BadRow(f"{name} has more than {limit:,} characters")
    if not value.isascii() and not is_utf8(value):
        raise BadRow(f"{name} holds a lone surrogate, which is no UTF-8")
    return value


def _optional(value: Any, name: str) -> str | None:
    if value is None:
        return None
    return _text(str(value) if isinstance(value, int) else value, name, MAX_FIELD)


def _scope(scope_type: str, key: Any, workspace_id: str) -> str:
    """The key of a scope. A key that says another scope than the type does would show the item to others: refused."""
    if scope_type == "global":
        if isinstance(key, str) and key and _GLOBAL.fullmatch(key) is None:
            raise BadRow(f"scope key {_shown(key)} is not that of a global item")
        return global_scope(workspace_id)
    if scope_type == "chat" and isinstance(key, str) and key.startswith(NO_CHAT) and is_utf8(key):
        return key
    match = _SCOPED.fullmatch(key) if isinstance(key, str) and is_utf8(key) else None
    if match is None or match[1] != scope_type:
        raise BadRow(f"scope key {_shown(key)} is not that of a {scope_type}")
    return str(key)


def _fraction(raw: Mapping[str, Any], name: str, default: float, notes: list[str]) -> float:
    value = raw.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        notes.append(f"{name} was no number")
        return default
    if not 0 <= value <= 1:
        notes.append(f"{name} goes from 0 to 1")
    return min(1.0, max(0.0, float(value)))


def _whole(raw: Mapping[str, Any], name: str, default: int, notes: list[str]) -> int:
    value = raw.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MOST:
        notes.append(f"{name} was no count")
        return default
    return int(value)


def _flag(raw: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = raw.get(name)
    return default if value is None else value not in (False, 0, "0", "false", "")


def _time(raw: Mapping[str, Any], name: str, notes: list[str], *, ours: bool) -> str:
    """A time as UTC ISO, "" for none. What nanomem wrote stays letter for letter."""
    value = raw.get(name)
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or len(value) > 64 or not is_utf8(value):
        notes.append(f"{name} was no time")
        return ""
    moment = clock.parse(value)
    if ours or (moment is not None and value.endswith("+00:00")):
        return value
    if moment is None:
        notes.append(f"{name} was no time")
        return ""
    return clock.iso(moment)


def _meta(raw: Mapping[str, Any], notes: list[str]) -> str:
    value = raw.get("meta_json")
    if value is None and isinstance(raw.get("meta"), dict):
        value = dumped(raw["meta"])
    if value is None:
        return "{}"
    if not isinstance(value, str) or len(value) > MAX_META or not is_utf8(value):
        notes.append("free fields that were none are left out")
        return "{}"
    return value


def _shown(value: Any) -> str:
    return f"`{str(value)[:60]}`"
