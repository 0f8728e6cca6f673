"""`LESSONS.jsonl` of the RAM-first system: lessons as they are on disk. A torn line costs that line. Writes no file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem
from nanomem_tui.formats.jsonl import dump_line_as_read, records
from nanomem_tui.formats.keep import NOTHING, merged, text_of, unknown, whole

_TEXTS = (
    "id", "key", "trigger", "bad_action", "better_action", "scope", "session_key", "actor_key", "source",
    "created_at", "updated_at", "last_applied_at", "promoted_global_key",
)  # fmt: skip
_ORDER = (*_TEXTS[:9], "confidence", "hits", "enabled", *_TEXTS[9:])
_KNOWN = frozenset(_ORDER)
_FIX = (
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
        return merged(self.origin, _fields(self), _fields(as_read), self.extra)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], line: int = 0) -> LessonLine:
        """The lesson in an object of the file; a missing or strange field has its default."""
        texts = {name: text_of(value.get(name)) for name in _TEXTS if name != "scope"}
        enabled = value.get("enabled", True)
        return cls(
            **texts,
            scope=text_of(value.get("scope"), "session"),
            confidence=whole(value.get("confidence"), 1),
            hits=whole(value.get("hits")),
            enabled=bool(enabled) if isinstance(enabled, bool | int) else True,
            extra=unknown(value, _KNOWN),
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
    for record in records(files.plain(data), where):
        if record.problem is not None:
            problems.append(record.problem._replace(fix=_FIX if record.value is None else record.problem.fix))
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


def _fields(lesson: LessonLine) -> dict[str, Any]:
    return {name: getattr(lesson, name) for name in _ORDER}
