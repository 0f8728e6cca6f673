"""`LTM_SNAPSHOT.json` of the RAM-first system. A damaged file yields every whole item. Writes no file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import (
    NOTHING,
    dump_line,
    dump_line_as_read,
    merge_fields,
    records,
    text_of,
    unknown_keys,
    whole_number,
)
from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem

VERSION = 1
_ITEM_TEXTS = ("id", "text", "source", "session_key", "created_at", "updated_at")
_KNOWN = (*_ITEM_TEXTS, "hits")
_TOP = frozenset({"version", "updated_at", "items"})
_SPACE = re.compile(r"[ \t\r\n]*")
_INDENTED_ITEM = re.compile(r"\n    \{")
_ANY_ITEM = re.compile(r'\{\s*"id"\s*:')
_decode = json.JSONDecoder().raw_decode
_PATIENCE = 100
_WINDOW = 2048
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_LOST = "damaged"
_DAMAGED = object()
"""Stands for an element that cannot be read."""
_WIDE = "this file is UTF-16 or UTF-32, of which agents read nothing"
_WIDE_FIX = "the next change of an item writes it as UTF-8"
_FIX = "every item that could be read is shown; the next change of an item sets this file aside and writes a whole one"


class LtmItem(NamedTuple):
    """One long-term item; times are naive local ISO. `origin` is its object as read, which keeps order and form;
    `number` its place in the file, counted from 1 (0: in none)."""

    id: str
    text: str
    source: str = ""
    session_key: str = ""
    created_at: str = ""
    updated_at: str = ""
    hits: int = 0
    extra: Mapping[str, Any] = NOTHING
    origin: Mapping[str, Any] = NOTHING
    number: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The object to write: as it was read where nothing changed, unknown keys kept."""
        as_read = LtmItem.from_dict(self.origin)
        return merge_fields(self.origin, _fields(self, _KNOWN), _fields(as_read, _KNOWN), self.extra)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], number: int = 0) -> LtmItem:
        """The item in an object of the file; a missing or strange field has its default."""
        texts = {name: text_of(value.get(name)) for name in _ITEM_TEXTS}
        hits, extra = whole_number(value.get("hits")), unknown_keys(value, frozenset(_KNOWN))
        return cls(**texts, hits=hits, extra=extra, origin=value, number=number)


class LtmSnapshot(NamedTuple):
    """The file: its items in order, and whether all of it was read: if not, it must not be written over."""

    items: tuple[LtmItem, ...]
    version: int = VERSION
    updated_at: str = ""
    extra: Mapping[str, Any] = NOTHING
    complete: bool = True
    problems: tuple[Problem, ...] = ()
    origin: Mapping[str, Any] = NOTHING


def parse_snapshot(data: bytes, where: str) -> LtmSnapshot:
    """The snapshot in `data`; `where` names the file in problems. Never raises: see `complete` and `problems`."""
    body = files.as_utf8(data).removeprefix(b"\xef\xbb\xbf")
    text, problems = body.decode("utf-8", "surrogateescape"), list[Problem]()
    bad = _BAD_BYTE.search(text) if not text.isascii() else None
    if bad and not _valid(body):
        problems.append(Problem("bytes that are not UTF-8", where, text.count("\n", 0, bad.start()) + 1, _FIX))
    try:
        top = json.loads(text)
    except (ValueError, RecursionError):
        return _salvaged(text, where, problems)
    if not isinstance(top, dict) or not isinstance(top.get("items", []), list):
        return LtmSnapshot((), complete=False, problems=(Problem("not a snapshot: no list of items", where),))
    return _snapshot(top, top.get("items", []), where, problems, wide=files.is_wide(data))


def dump_snapshot(snapshot: LtmSnapshot) -> bytes:
    """The file as the agent writes it: indent 2, real characters, no newline at the end."""
    origin = {key: value for key, value in snapshot.origin.items() if key != "items" or isinstance(value, list)}
    known = {"version": snapshot.version, "updated_at": snapshot.updated_at, "items": None}
    version, updated_at = whole_number(origin.get("version"), VERSION), text_of(origin.get("updated_at"))
    value = merge_fields(origin, known, {"version": version, "updated_at": updated_at, "items": ()}, snapshot.extra)
    value["items"] = [item.to_dict() for item in snapshot.items]
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")


def _snapshot(
    top: Mapping[str, Any], values: Sequence[object], where: str, problems: list[Problem], *, wide: bool = False
) -> LtmSnapshot:
    items: list[LtmItem] = []
    damaged = bool(problems)
    for number, value in enumerate(values, 1):
        if value is _DAMAGED:
            continue
        if why := _fault(value, damaged):
            problems.append(Problem(f"item {number} {why}", where, fix=_FIX))
        elif isinstance(value, dict):
            items.append(LtmItem.from_dict(value, number))
    complete = not problems
    if wide:
        problems.append(Problem(_WIDE, where, 1, _WIDE_FIX, "warning"))
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            what = f"the id of item {item.number}, {item.id}, comes twice"
            problems.append(Problem(what, where, severity="warning"))
        seen.add(item.id)
    return LtmSnapshot(
        items=tuple(items),
        version=whole_number(top.get("version"), VERSION),
        updated_at=text_of(top.get("updated_at")),
        extra=unknown_keys(top, _TOP),
        complete=complete,
        problems=tuple(problems),
        origin={key: [] if key == "items" else value for key, value in top.items()},
    )


def _valid(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _fault(value: object, damaged: bool) -> str:
    """Why `value` is no item, or nothing. Bytes that are no text are looked for in a `damaged` file only."""
    if not isinstance(value, dict):
        return "is no object"
    if not isinstance(value.get("id"), str) or not value["id"]:
        return "has no id"
    if not isinstance(value.get("text"), str):
        return "has no text"
    if damaged and _BAD_BYTE.search(json.dumps(value, ensure_ascii=False)):
        return "holds bytes that are not UTF-8"
    return ""


def _salvaged(text: str, where: str, problems: list[Problem]) -> LtmSnapshot:
    """The snapshot out of a text that is not whole JSON: its head as far as it goes, and every whole item."""
    top: dict[str, Any] = {}
    values: list[object] = []
    found = len(problems)
    start = _head(text, top)
    line, counted = 1, 0
    for value, position in _elements(text, start) if start is not None else ():
        if position < 0:
            values.append(value)
            continue
        line, counted = line + text.count("\n", counted, position), position
        problems.append(Problem(f"{value} after item {len(values)}", where, line, _FIX))
        values += [_DAMAGED] if value == _LOST else []
    if len(problems) == found:
        what = "the file is empty" if not text.strip() else f"broken after item {len(values)}"
        problems.append(Problem(what, where, text.count("\n") + 1, _FIX))
    return _snapshot(top, values, where, problems)


def _head(text: str, top: dict[str, Any]) -> int | None:
    """Read the keys before `items` into `top`; the place after the `[` of `items`, None when the text breaks before."""
    at = _skip(text, 0)
    try:
        while text[at] in "{,":
            key, at = _decode(text, _skip(text, at + 1))
            at = _skip(text, at)
            if text[at] != ":":
                return None
            at = _skip(text, at + 1)
            if key == "items":
                return at + 1 if text[at] == "[" else None
            top[str(key)], at = _decode(text, at)
            at = _skip(text, at)
    except (ValueError, IndexError, RecursionError):
        pass
    found = text.find('"items"', at)
    opened = text.find("[", found) if found >= 0 else -1
    return opened + 1 if opened >= 0 else None


def _elements(text: str, at: int) -> Iterator[tuple[object, int]]:
    """(value, -1) of each whole element of the list that starts at `at`, and (what broke, where) of each break.

    After a break it goes on at the next thing that looks like an item. An error of the json module costs time in
    proportion to the text before it: after `_PATIENCE` breaks only a window of the text is shown to it.
    """
    starts = _INDENTED_ITEM if _INDENTED_ITEM.search(text, at) else _ANY_ITEM
    breaks = 0
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == "]":
            return
        value, length = _decoded(text, at, None if breaks < _PATIENCE else _WINDOW)
        if length:
            yield value, -1
            at = _skip(text, at + length)
            if text[at : at + 1] in {",", "]"}:
                at += text[at] == ","
                continue
        breaks += 1
        if length and text[at : at + 1] == "{":
            yield "a comma is missing", at
            continue
        following = starts.search(text, at if length else at + 1)
        yield (_LOST if following else "the file ends in the middle"), at
        if following is None:
            return
        at = following.end() - 1 if starts is _INDENTED_ITEM else following.start()


def _decoded(text: str, at: int, window: int | None) -> tuple[object, int]:
    """The object at `at` and its length; length 0 when there is none, or none that ends within `window` characters."""
    if text[at : at + 1] != "{":
        return None, 0
    part, start = (text, at) if window is None else (text[at : at + window], 0)
    try:
        value, end = _decode(part, start)
    except (ValueError, RecursionError):
        return None, 0
    return value, end - start


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


# `LESSONS.jsonl` of the RAM-first system: lessons as they are on disk. A torn line costs that line. Writes no file.

_TEXTS = (
    "id", "key", "trigger", "bad_action", "better_action", "scope", "session_key", "actor_key", "source",
    "created_at", "updated_at", "last_applied_at", "promoted_global_key",
)  # fmt: skip
_ORDER = (*_TEXTS[:9], "confidence", "hits", "enabled", *_TEXTS[9:])
_LESSONS_KNOWN = frozenset(_ORDER)
_LESSONS_FIX = (
    "the next change of a lesson copies this file to the quarantine and writes the lessons that can be read; until "
    "then the line may be corrected in an editor, while no agent runs"
)


class LessonLine(NamedTuple):
    """One lesson of the file; times are naive local ISO. `origin` is its object as read, which keeps order and form."""

    id: str
    key: str = ""
    trigger: str = ""
    bad_action: str = ""
    better_action: str = ""
    scope: str = "session"
    session_key: str = ""
    actor_key: str = ""
    source: str = ""
    confidence: int = 1
    hits: int = 0
    enabled: bool = True
    created_at: str = ""
    updated_at: str = ""
    last_applied_at: str = ""
    promoted_global_key: str = ""
    extra: Mapping[str, Any] = NOTHING
    line: int = 0
    origin: Mapping[str, Any] = NOTHING

    def to_dict(self) -> dict[str, Any]:
        """The object to write: as it was read where nothing changed, unknown keys kept."""
        as_read = LessonLine.from_dict(self.origin)
        return merge_fields(self.origin, _fields(self, _ORDER), _fields(as_read, _ORDER), self.extra)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], line: int = 0) -> LessonLine:
        """The lesson in an object of the file; a missing or strange field has its default."""
        texts = {name: text_of(value.get(name)) for name in _TEXTS if name != "scope"}
        enabled = value.get("enabled", True)
        return cls(
            **texts,
            scope=text_of(value.get("scope"), "session"),
            confidence=whole_number(value.get("confidence"), 1),
            hits=whole_number(value.get("hits")),
            enabled=bool(enabled) if isinstance(enabled, bool | int) else True,
            extra=unknown_keys(value, _LESSONS_KNOWN),
            line=line,
            origin=value,
        )


class LessonsFile(NamedTuple):
    """The file: its lessons in order, and whether every line was read: if not, it must not be written over."""

    lessons: tuple[LessonLine, ...]
    problems: tuple[Problem, ...] = ()
    complete: bool = True


def parse_lessons(data: bytes, where: str) -> LessonsFile:
    """The lessons in `data`; `where` names the file in problems. Never raises."""
    lessons: list[LessonLine] = []
    problems: list[Problem] = []
    complete = True
    seen: set[str] = set()
    for record in records(files.as_utf8(data), where):
        if record.problem is not None:
            problems.append(record.problem._replace(fix=_LESSONS_FIX if record.value is None else record.problem.fix))
        lesson = LessonLine.from_dict(record.value, record.number) if record.value is not None else None
        if lesson is None or not lesson.id:
            complete = False
            if lesson is not None:
                problems.append(Problem("a lesson without an id", where, record.number))
            continue
        if lesson.id in seen:
            problems.append(Problem(f"lesson {lesson.id} comes twice", where, record.number, severity="warning"))
        seen.add(lesson.id)
        lessons.append(lesson)
    return LessonsFile(tuple(lessons), tuple(problems), complete)


def dump_lessons(lessons: Iterable[LessonLine]) -> bytes:
    """The file as the agent writes it: one line a lesson."""
    return b"".join(dump_line_as_read(lesson.to_dict()) for lesson in lessons)


def _fields(row: LtmItem | LessonLine, names: Iterable[str]) -> dict[str, Any]:
    """The fields that an agent knows, in its order."""
    return {name: getattr(row, name) for name in names}


# `LTM_AUDIT.jsonl` and `LESSONS_AUDIT.jsonl` of the RAM-first system: their events. Appends nothing itself.

MEMORY_TYPES = ("memory_add", "memory_update", "memory_delete", "memory_compact")
LESSON_TYPES = (
    "lesson_add", "lesson_update", "lesson_reinforced", "lesson_promoted", "lesson_enable", "lesson_disable",
    "lesson_delete", "lesson_compact", "lesson_reset",
)  # fmt: skip


class AuditEvent(NamedTuple):
    """One event: its type, its naive local ISO time, and its other fields in their order."""

    type: str
    at: str
    fields: Mapping[str, Any] = NOTHING
    line: int = 0

    @property
    def id(self) -> str:
        """The item or lesson it is about, or nothing."""
        return text_of(self.fields.get("id"))


def parse_audit(data: bytes, where: str) -> tuple[tuple[AuditEvent, ...], tuple[Problem, ...]]:
    """The events of a log in file order, of known and unknown types; a bad line costs that line."""
    events: list[AuditEvent] = []
    problems: list[Problem] = []
    for record in records(files.as_utf8(data), where):
        if record.problem is not None:
            problems.append(record.problem)
        if record.value is None:
            continue
        kind = text_of(record.value.get("type"))
        if not kind:
            problems.append(Problem("an event without a type", where, record.number))
            continue
        fields = {key: value for key, value in record.value.items() if key not in {"type", "at"}}
        events.append(AuditEvent(kind, text_of(record.value.get("at")), fields, record.number))
    return tuple(events), tuple(problems)


def dump_event(event: AuditEvent) -> bytes:
    """`event` as its line, type and time first, as the agent writes it. Raises BadInput on text that is no UTF-8."""
    return dump_line({"type": event.type, "at": event.at, **event.fields})
