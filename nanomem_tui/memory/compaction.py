"""What a compaction would remove, and why (seed 000 §Compaction strategy). Pure: it decides, it does not remove."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

from nanomem_tui.core.text import normalised
from nanomem_tui.store.values import Item, Lesson, identity_of_item

R = TypeVar("R", Item, Lesson)


class Compaction(NamedTuple, Generic[R]):
    """A compaction that is not done yet: what stays and what goes, each with its reason.

    `absorbed`: the hits that a kept row takes over from its removed copies, by id.
    """

    kept: tuple[R, ...]
    removed: tuple[tuple[R, str], ...]
    absorbed: dict[str, int]
    limit: int


def compact_items(items: Iterable[Item], limit: int) -> Compaction[Item]:
    """Dedupe by normalised text within a scope and kind, newest first, then keep the newest `limit`. Facts of other
    names (of another domain) are no copies.

    Pinned items stay whatever the cap; disabled ones are neither removed nor counted. `limit` 0 is no cap.
    """
    rows = sorted(items, key=lambda row: (row.pinned, row.updated_at, row.id), reverse=True)
    return _compact(
        rows,
        limit,
        same=lambda row: (row.scope_key, row.kind, normalised(row.text), identity_of_item(row)),
        fixed=lambda row: not row.enabled,
        protected=lambda row: row.pinned,
    )


def compact_lessons(lessons: Iterable[Lesson], limit: int) -> Compaction[Lesson]:
    """The same for lessons; a disabled lesson is never removed."""
    rows = sorted(lessons, key=lambda row: (row.updated_at, row.id), reverse=True)
    return _compact(
        rows,
        limit,
        same=lambda row: (row.scope, row.session_key, *_words(row)),
        fixed=lambda row: not row.enabled,
        protected=lambda row: False,
    )


def _words(lesson: Lesson) -> tuple[str, str]:
    return normalised(lesson.trigger), normalised(lesson.better_action)


def _compact(
    rows: list[R],
    limit: int,
    *,
    same: Callable[[R], Hashable],
    fixed: Callable[[R], bool],
    protected: Callable[[R], bool],
) -> Compaction[R]:
    first: dict[Hashable, str] = {}
    kept: list[R] = []
    removed: list[tuple[R, str]] = []
    absorbed: dict[str, int] = {}
    counted = 0
    for row in rows:
        if fixed(row):
            kept.append(row)
            continue
        copy = first.get(same(row))
        if copy is not None and not protected(row):
            removed.append((row, f"same text as {copy}"))
            absorbed[copy] = absorbed.get(copy, 0) + row.hits
        elif limit and counted >= limit and not protected(row):
            removed.append((row, f"older than the newest {limit}"))
        else:
            first.setdefault(same(row), row.id)
            kept.append(row)
            counted += 1
    return Compaction(tuple(kept), tuple(removed), absorbed, limit)
