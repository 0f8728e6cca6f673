"""`LTM_SNAPSHOT.json` and `LESSONS.jsonl` of a RAM-first agent (seed 000) as rows, and rows as such files. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nanomem_tui.core.errors import Problem
from nanomem_tui.memory.transfer import rows
from nanomem_tui.memory.transfer.values import Found, Reading
from nanomem_tui.store.files.exchange import SOURCES, Raw, Source
from nanomem_tui.store.values import Item, Lesson, Row

SNAPSHOT, LESSONS = SOURCES
LOST = {
    "ltm-snapshot": "kind, whom an item follows (its session is kept), importance, confidence, message, expiry, last "
    "use, pin, free fields and the earlier values of facts; text beyond 280 characters once the agent writes the file",
    "lessons": "free fields",
}


def read(source: Source, data: bytes, where: str, workspace_id: str) -> Reading:
    """The rows in a file of the agent; what it cannot say is as its defaults are (docs/decisions)."""
    raws, read = _raws_in(source, data, where)
    found: list[Found] = []
    problems = list(read)
    for place, raw in raws:
        row = source.to_row(raw, workspace_id)
        try:
            checked, note = _checked(row, workspace_id)
        except rows.BadRow as error:
            problems.append(Problem(f"{place} ({row.id[:60]}): {error}", where))
        else:
            found.append(Found(checked, place, note))
    name = "ltm-snapshot" if source is SNAPSHOT else "lessons"
    return Reading(name, found, problems, fields=frozenset(source.fields))


def _raws_in(source: Source, data: bytes, where: str) -> tuple[list[tuple[str, Raw]], tuple[Problem, ...]]:
    """The rows of a file with their places, also those whose id another has, and what could not be read."""
    if source is SNAPSHOT:
        from nanomem_tui.agents.snapshot_files import parse_snapshot

        snapshot = parse_snapshot(data, where)
        return [(f"item {item.number}", item.to_dict()) for item in snapshot.items], snapshot.problems
    from nanomem_tui.agents.snapshot_files import parse_lessons

    learned = parse_lessons(data, where)
    return [(f"line {lesson.line}", lesson.to_dict()) for lesson in learned.lessons], learned.problems


def _checked(row: Row, workspace_id: str) -> tuple[Row, str]:
    if isinstance(row, Item):
        return rows.item(row._asdict(), workspace_id)
    return rows.lesson(row._asdict())


def dump_snapshot(items: Iterable[Item]) -> bytes:
    """The items as a snapshot in the agent's form, the oldest first."""
    return SNAPSHOT.dump(_raws(SNAPSHOT, items), b"")


def dump_lessons(lessons: Iterable[Lesson]) -> bytes:
    """The lessons as the agent's file, the oldest first."""
    return LESSONS.dump(_raws(LESSONS, lessons), b"")


def _raws(source: Source, found: Iterable[Row]) -> list[dict[str, Any]]:
    return [source.to_raw(row, None) for row in sorted(found, key=lambda row: (row.created_at, row.id))]
