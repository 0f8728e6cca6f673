"""The values of an import or export, and the checks that turn the fields of a foreign row into one of ours.

`item`, `lesson` and `record` check every field and say what they put right; `Reading` is what a reader found and
`ImportPlan` what an import would do with each row.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.text import counted, is_utf8
from nanomem_tui.memory.retention import Overflow
from nanomem_tui.memory.safety import MAX_TEXT
from nanomem_tui.store.files.exchange import MOST, global_scope
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.values import KINDS, NO_CHAT, SCOPE_TYPES, AnyRow, Item, Lesson, Record, dumped, fact_of
from nanomem_tui.store.values import layer_of as layer_of_row
from nanomem_tui.store.work import layer
from nanomem_tui.store.work.kinds import KINDS as TIER_KINDS
from nanomem_tui.store.work.values import TierRecord

ImportRow = AnyRow | TierRecord
Verdict = Literal["new", "update", "inbox", "same", "conflict", "deleted"]
DOES = frozenset({"new", "update", "inbox"})
"""The verdicts that change something here."""
Prefer = Literal["ours", "theirs", "newer"]
TWICE = "that id comes twice"
STEP = 500
"""Rows after which it is told how far an import is."""
Tell = Callable[[str, int, int], object]
"""Hears what is done now, how much of it is done, and how much there is (0: nobody knows)."""
NOUNS: Mapping[str, tuple[str, str]] = {
    "item": ("item", "items"),
    "lesson": ("lesson", "lessons"),
    "fact": ("fact", "facts"),
    "journal": ("journal entry", "journal entries"),
    "message": ("message", "messages"),
    "reflection": ("reflection", "reflections"),
    "usage": ("row of token use", "rows of token use"),
    **{kind: (kind.replace("-", " "), f"{kind.replace('-', ' ')}s") for kind in TIER_KINDS},
}
"""What one and what several of a kind are called."""
_NONE: Mapping[str, int] = MappingProxyType({})


class Choices(NamedTuple):
    """How an import decides: who wins a conflict; whether rows deleted here come back; `undone`: ids that an undone
    import brought, which nobody deleted on purpose; `forgotten`: what never comes back."""

    prefer: Prefer = "ours"
    restore: bool = False
    undone: frozenset[str] = frozenset()
    forgotten: Forgotten = Forgotten()

    def reason_back(self, key: str) -> str | None:
        """Return why a row comes back that was deleted here, "" where no reason is shown; None: it stays deleted."""
        if key in self.undone:
            return ""
        return "deleted here, comes back" if self.restore else None

    def takes_theirs(self, *, newer: bool) -> bool:
        """Return whether theirs wins a conflict; `newer`: it was changed after ours."""
        return self.prefer == "theirs" or (self.prefer == "newer" and newer)


class Found(NamedTuple):
    """A row of a source, as a row of ours: where it stands there, and what had to be put right in it. `given`: of a
    record of an agent's work the fields that theirs has; the others are as a new one has them."""

    row: ImportRow
    place: str
    note: str = ""
    given: frozenset[str] = frozenset()


class Reading(NamedTuple):
    """What a reader found in one file.

    `fields`: what the format holds of a row; empty: everything. Without `expires_at` in it, an item expires as a new
    one of its kind does. `ours`: a copy that nanomem made, taken as it is; `trusted`: of this very workspace.
    `deleted`: rows that are deleted there. `notes` are sentences for a person. `times`: a time as the format can
    write it; what gets lost by that is no difference. `refused`: how many rows of each kind are left out, where there
    are several kinds.
    """

    format: str
    rows: Sequence[Found] = ()
    problems: Sequence[Problem] = ()
    fields: frozenset[str] = frozenset()
    ours: bool = False
    trusted: bool = False
    deleted: int = 0
    notes: Sequence[str] = ()
    times: Callable[[str], str] = str
    refused: Mapping[str, int] = _NONE


class Entry(NamedTuple):
    """What the import does with one row of a source, and why. `present` is the row of ours that it meets."""

    verdict: Verdict
    row: ImportRow
    place: str
    why: str = ""
    present: ImportRow | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the entry as the command line prints it."""
        met = {"present": self.present.id} if self.present is not None else {}
        body = {"id": self.row.id, "layer": layer_of(self.row), "verdict": self.verdict, "why": self.why}
        return {**body, "place": self.place, **met, "text": words_of(self.row), "row": self.row.to_json()}


def layer_of(row: ImportRow) -> str:
    """Return the layer that a row belongs to."""
    return layer.NAME if isinstance(row, TierRecord) else layer_of_row(row)


def kind_of(row: ImportRow) -> str:
    """Of which kind a row is, for a person: a fact is every item with the fields of one."""
    if isinstance(row, (Record, TierRecord)):
        return row.kind
    if isinstance(row, Item):
        return "fact" if fact_of(row) is not None else "item"
    return "lesson"


def words_of(row: ImportRow) -> str:
    """Return the words of a row in a list of rows."""
    if isinstance(row, TierRecord):
        return f"{NOUNS[row.kind][0]}: {row.title}"
    if isinstance(row, Item):
        return row.text
    if not isinstance(row, Record):
        return f"{row.trigger}: {row.better_action}"
    meta = row.meta
    if row.kind == "usage":
        return f"{row.about} {meta.get('model')}: {meta.get('total_tokens')} tokens"
    return f"{meta.get('role') if row.kind == 'message' else row.about}: {row.text}"


def by_noun(counts: Mapping[str, int]) -> str:
    """Return how many of each kind, in words; kinds of which there are none are left out."""
    told = [counted(number, *NOUNS[kind]) for kind, number in counts.items() if number]
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


def describe_differing(names: Sequence[str]) -> str:
    """Return in words that two rows differ in these fields."""
    return f"{', '.join(names)} differ{'s' if len(names) == 1 else ''}"


def _even(sizes: Sequence[int], room: int) -> list[int]:
    shares = [0] * len(sizes)
    while room > 0 and any(share < size for share, size in zip(shares, sizes, strict=True)):
        least = min((share, at) for at, share in enumerate(shares) if share < sizes[at])[1]
        shares[least] += 1
        room -= 1
    return shares


class ImportPlan(NamedTuple):
    """An import that is not done yet: every row with its verdict, and what could not be read."""

    path: Path
    format: str
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    deleted: int = 0
    notes: tuple[str, ...] = ()
    over_cap: Overflow | None = None
    """That there would be more items than `max_items` has room for."""
    refused: Mapping[str, int] = _NONE
    """How many rows of each kind could not be read."""

    @property
    def name(self) -> str:
        """What the file or folder is called, however its path was written."""
        return Path(os.path.abspath(self.path)).name or str(self.path)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each verdict, `bad` ones and those `deleted_there` included."""
        counted = Counter(entry.verdict for entry in self.entries)
        verdicts: tuple[Verdict, ...] = ("new", "update", "inbox", "same", "conflict", "deleted")
        bad = sum(1 for problem in self.problems if problem.severity == "error")
        return {**{name: counted[name] for name in verdicts}, "deleted_there": self.deleted, "bad": bad}

    @property
    def kinds(self) -> dict[str, dict[str, int]]:
        """How many rows of each kind have each verdict, `bad` ones included."""
        found: dict[str, Counter[str]] = {kind: Counter() for kind in NOUNS}
        for entry in self.entries:
            found[kind_of(entry.row)][entry.verdict] += 1
        for kind, number in self.refused.items():
            found[kind].update({"bad": number} if number else {})
        return {kind: dict(verdicts) for kind, verdicts in found.items() if verdicts}

    def told_by_kind(self, words: Mapping[str, str]) -> list[str]:
        """A sentence for each kind of row where there are several; `words`: what to call each verdict."""
        chats = {
            entry.row.about for entry in self.entries if isinstance(entry.row, Record) and entry.row.kind == "message"
        }
        told: list[str] = []
        for kind, verdicts in self.kinds.items():
            many = counted(sum(verdicts.values()), *NOUNS[kind])
            whose = f" of {counted(len(chats), 'conversation')}" if kind == "message" else ""
            told.append(f"{many}{whose}: {', '.join(f'{number:,} {words[name]}' for name, number in verdicts.items())}")
        return told if len(told) > 1 else []

    def some(self, verdicts: Sequence[str], most: int) -> list[Entry]:
        """At most `most` of the entries with these verdicts, in their order: of each verdict some of every kind."""
        shown: list[Entry] = []
        for verdict in verdicts:
            room = most - len(shown)
            kinds: dict[str, list[Entry]] = {}
            for entry in self.entries:
                if entry.verdict == verdict and len(of := kinds.setdefault(kind_of(entry.row), [])) < room:
                    of.append(entry)
            shares = _even([len(of) for of in kinds.values()], room)
            shown += [entry for of, share in zip(kinds.values(), shares, strict=True) for entry in of[:share]]
        return shown

    @property
    def todo(self) -> list[Entry]:
        """The entries that change something."""
        return [entry for entry in self.entries if entry.verdict in DOES]


class Exported(NamedTuple):
    """An export that was made. `left_out`: how many rows were not written, by reason; `lost`: what the format lacks;
    `records`: how many of each kind; `notes`: sentences for a person."""

    path: Path
    format: str
    items: int
    lessons: int
    left_out: dict[str, int]
    lost: str
    records: Mapping[str, int] = _NONE
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was written, counted."""
        return by_noun({"item": self.items, "lesson": self.lessons, **self.records})


# The border where fields of a foreign row become a row of ours: types, sizes, scopes and times, or the reason why
# not.

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
    """Return the item in the fields of a row, and what was put right in it. Raises BadRow with the reason.

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
        hits=_integer(raw, "hits", 0, notes),
        enabled=_flag(raw, "enabled", default=True),
        pinned=_flag(raw, "pinned", default=False),
        is_deleted=_flag(raw, "is_deleted", default=False),
        **optional,
    )
    return found, "; ".join(notes)


def lesson(raw: Mapping[str, Any], *, ours: bool = False) -> tuple[Lesson, str]:
    """Return the lesson in the fields of a row, and what was put right in it. Raises BadRow with the reason."""
    notes: list[str] = []
    texts: dict[str, Any] = {name: _text(raw.get(name), name, MAX_TEXT) for name in _LESSON_TEXTS}
    if not texts["trigger"].strip() and not texts["better_action"].strip():
        raise BadRow("no trigger and no better action")
    created = _time(raw, "created_at", notes, ours=ours) or ""
    found = Lesson(
        id=_id(raw.get("id")),
        scope=_text(raw.get("scope"), "scope", 64) or "session",
        source=_text(raw.get("source"), "source", MAX_FIELD) or "import",
        confidence=_integer(raw, "confidence", 1, notes),
        hits=_integer(raw, "hits", 0, notes),
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
    """Return the record in the fields of a row, and what was put right in it. Raises BadRow with the reason."""
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
    """Return the key of a scope. A key of another type would show the item to others: refused."""
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


def _integer(raw: Mapping[str, Any], name: str, default: int, notes: list[str]) -> int:
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
