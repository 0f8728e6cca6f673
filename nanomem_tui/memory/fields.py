"""What the filter language may ask of items and lessons: the same on a screen, in a command and in a macro.

Owns which fields there are and their values. Must not know who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.filters import FIELDS, Filter, Kind, Search, fold, parse
from nanomem_tui.memory.item_words import is_foreign, scope_of, source_of
from nanomem_tui.memory.superseded import mark_of
from nanomem_tui.store.values import Item, Lesson, fact_of

Row = TypeVar("Row")

ITEM_FIELDS: Mapping[str, Kind] = {
    **FIELDS, "foreign": "switch", "conflict": "switch", "superseded": "switch",
    "domain": "text", "category": "text", "key": "text",  # of items that are facts
}  # fmt: skip
LESSON_FIELDS: Mapping[str, Kind] = {
    "id": "text", "scope": "text", "session": "text", "source": "text", "age": "age", "hits": "number",
    "confidence": "number", "enabled": "switch", "faded": "switch", "superseded": "switch",
}  # fmt: skip
_OF_FACTS = frozenset({"domain", "category", "key"})


def item_field(row: Item, name: str) -> Any:
    """The value of a field of `ITEM_FIELDS`."""
    if name == "scope":
        return {row.scope_type, row.scope_key, scope_of(row)}
    if name == "age":
        return row.updated_at
    if name == "session":
        return row.session_key
    if name == "source":
        return {row.source, source_of(row)}
    if name == "foreign":
        return is_foreign(row)
    if name == "conflict":
        return "conflict" in row.meta
    if name == "superseded":
        return mark_of(row) is not None
    if name in _OF_FACTS:
        fact = fact_of(row)
        return getattr(fact, name) if fact is not None else None
    return getattr(row, name)


def lesson_field(row: Lesson, name: str, effective: Callable[[Lesson], float], faded: Callable[[Lesson], bool]) -> Any:
    """The value of a field of `LESSON_FIELDS`; `effective`: how sure it is now, `faded`: whether that is too little."""
    if name == "age":
        return row.updated_at
    if name == "session":
        return row.session_key
    if name == "confidence":
        return effective(row)
    if name == "superseded":
        return mark_of(row) is not None
    return faded(row) if name == "faded" else getattr(row, name)


def lesson_text(row: Lesson) -> str:
    """What words are searched in."""
    return f"{row.trigger}\n{row.better_action}\n{row.bad_action}"


def chosen(
    rows: Sequence[Row],
    query: str,
    fields: Mapping[str, Kind],
    text: Callable[[Row], str],
    field: Callable[[Row, str], Any],
) -> list[Row]:
    """The rows that a filter lets through, as they stand; nothing that is only similar: something is done with them.

    Raises BadInput for a filter of which a part is not understood.
    """
    wanted = parsed(query, fields)
    if not wanted:
        return list(rows)
    test = wanted.predicate(field)
    accept = None if test is None else lambda index: test(rows[index])
    found = Search([fold(text(row)) for row in rows], wanted, accept, fuzzy=False).run()
    return [rows[index] for index in found.indexes]


def parsed(query: str, fields: Mapping[str, Kind]) -> Filter:
    """The filter that `query` means. Raises BadInput for one of which a part is not understood."""
    wanted = parse(query, fields)
    if wanted.problems:
        raise BadInput(wanted.problems[0], "--filter", 'like kind:fact scope:telegram:* age:>30d hits:0 "exact" -word')
    return wanted
