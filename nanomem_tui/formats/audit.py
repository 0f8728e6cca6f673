"""`LTM_AUDIT.jsonl` and `LESSONS_AUDIT.jsonl` of the RAM-first system: their events. Appends nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem
from nanomem_tui.formats.jsonl import dump_line, records
from nanomem_tui.formats.keep import NOTHING, text_of

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
    for record in records(files.plain(data), where):
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
