"""The exchange with a RAM-first agent (seed 000): its snapshot and lessons files as rows, their merge, our exports.

Pure: bytes and rows in, rows, changes and bytes out. The rules are in DESIGN ("Two writers",
"Exports") and in docs/decisions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nanomem_tui import clock
from nanomem_tui.errors import Problem
from nanomem_tui.formats import lessons as lessons_format
from nanomem_tui.formats import ltm_snapshot
from nanomem_tui.operations import Change
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Row

AGENT_TEXT_LIMIT = 280
"""Characters that a RAM-first agent keeps of an item's text."""

Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentRows:
    """An agent's file: its rows as it wrote them, by id and in its order, and whether all of it could be read."""

    rows: Mapping[str, Raw]
    complete: bool
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One file that we share with the agent: how its rows become ours and ours become its."""

    name: str
    layer: str
    parse: Callable[[bytes, str], AgentRows]
    to_row: Callable[[Raw, str], Row]
    to_raw: Callable[[Row, Raw | None], Raw]
    dump: Callable[[Iterable[Raw], bytes], bytes]


def merge(
    source: Source, base: Mapping[str, Raw], theirs: AgentRows, ours: Mapping[str, Row], workspace_id: str
) -> list[Change]:
    """What the agent did to its file since we last saw it, as changes to our rows.

    `base` is the file as we last saw it. A row that we disabled, changed or deleted is never removed or brought back by
    the agent's file; an incomplete file removes nothing.
    """
    changes: list[Change] = []
    for key, raw in theirs.rows.items():
        row, seen = ours.get(key), base.get(key)
        if row is None:
            changes.append(change_of(source.layer, None, source.to_row(raw, workspace_id)))
        elif raw != seen and not row.is_deleted and not same_to_agent(source, row, raw):
            merged = _take_fields(source, row, raw, seen, workspace_id)
            if merged != row:
                changes.append(change_of(source.layer, row, merged))
    if theirs.complete:
        for key in base.keys() - theirs.rows.keys():
            row = ours.get(key)
            if row is not None and not row.is_deleted and row.enabled and same_to_agent(source, row, base[key]):
                changes.append(change_of(source.layer, row, row._replace(is_deleted=True)))
    return changes


def same_to_agent(source: Source, row: Row, raw: Raw) -> bool:
    """Whether the agent's row says what ours says, in the agent's own normalisation of it."""
    mine = source.to_raw(row, raw)
    return mine == raw or {**mine, "text": _as_agent(mine.get("text"))} == {**raw, "text": _as_agent(raw.get("text"))}


def _as_agent(text: Any) -> str:
    return " ".join(str(text).split())[:AGENT_TEXT_LIMIT]


def _take_fields(source: Source, row: Row, raw: Raw, seen: Raw | None, workspace_id: str) -> Row:
    """Our row with the fields that only the agent changed; hits add up; both changed: ours, and a note."""
    theirs = source.to_row(raw, workspace_id)
    start = source.to_row(seen, workspace_id) if seen is not None else row
    taken: dict[str, Any] = {}
    conflicts: dict[str, Any] = {}
    for name in row._fields:
        before, mine, other = getattr(start, name), getattr(row, name), getattr(theirs, name)
        if name in ("revision", "meta_json", "is_deleted") or other in (before, mine):
            continue
        if name == "hits":
            taken[name] = mine + max(0, other - before)
        elif name in ("updated_at", "last_applied_at"):
            taken[name] = max(mine, other)
        elif mine == before:
            taken[name] = other
        elif name in ("text", "better_action", "bad_action", "trigger") and _as_agent(mine) != _as_agent(other):
            conflicts[name] = other
    if conflicts:
        taken["meta_json"] = json.dumps({**row.meta, "conflict": conflicts}, ensure_ascii=False, sort_keys=True)
    return row._replace(**taken)


def export(
    source: Source, present: bytes, theirs: AgentRows, ours: Mapping[str, Row], limit: int, known: Sequence[str]
) -> tuple[bytes, dict[str, Raw]]:
    """The agent's file with our rows in it, and its rows by id, in order.

    Rows that the agent has and we did not change stay byte for byte and in place; a row that comes back takes the place
    it had in `known`, the ids in their order as last seen; new ones follow. Deleted rows and disabled items are left
    out; beyond `limit` the newest and the pinned stay.
    """
    wanted = [row for row in ours.values() if not row.is_deleted and (row.enabled or isinstance(row, Lesson))]
    if len(wanted) > limit:
        wanted = sorted(wanted, key=lambda row: (getattr(row, "pinned", False), row.updated_at), reverse=True)[:limit]
    by_id = {row.id: row for row in wanted}
    order = woven(list(theirs.rows), known)
    order += sorted(by_id.keys() - set(order), key=lambda key: (by_id[key].created_at, key))
    rows = {key: source.to_raw(by_id[key], theirs.rows.get(key)) for key in order if key in by_id}
    return source.dump(rows.values(), present), rows


def woven(order: Sequence[str], known: Sequence[str]) -> list[str]:
    """`order` with the ids that only `known` has put in after those they followed there."""
    here = set(order)
    after: dict[str | None, list[str]] = {}
    last: str | None = None
    for key in known:
        if key in here:
            last = key
        else:
            after.setdefault(last, []).append(key)
    result = list(after.get(None, ()))
    for key in order:
        result.append(key)
        result += after.get(key, ())
    return result


def global_scope(workspace_id: str) -> str:
    """The scope key of seed 001 §5 for what every chat may see."""
    return f"workspace:{workspace_id}:global"


def _utc(text: Any) -> str:
    moment = clock.parse(text)
    return clock.iso(moment) if moment is not None else str(text or "")


def _local(text: str, present: Any) -> Any:
    """A time in the agent's form; what the agent wrote itself stays when it is the same moment."""
    if _utc(present) == text:
        return present
    moment = clock.parse(text)
    return clock.local_naive(moment) if moment is not None else text


def _item_row(raw: Raw, workspace_id: str) -> Item:
    session = raw.get("session_key")
    return Item(
        id=str(raw["id"]),
        text=_clean(raw.get("text")),
        kind="fact",
        scope_type="global",
        scope_key=global_scope(workspace_id),
        session_key=str(session) if session else None,
        source=str(raw.get("source") or "agent"),
        created_at=_utc(raw.get("created_at")),
        updated_at=_utc(raw.get("updated_at") or raw.get("created_at")),
        hits=_whole(raw.get("hits")),
    )


def _item_raw(row: Row, present: Raw | None) -> Raw:
    assert isinstance(row, Item)
    old = present or {}
    mine = {
        "id": row.id,
        "text": old.get("text") if _clean(old.get("text")) == row.text else row.text,
        "source": old.get("source") if str(old.get("source") or "agent") == row.source else row.source,
        "session_key": _session(row, old),
        "created_at": _local(row.created_at, old.get("created_at")),
        "updated_at": _local(row.updated_at, old.get("updated_at")),
        "hits": row.hits,
    }
    return {**old, **mine}


def _session(row: Item, old: Raw) -> Any:
    """The session in the agent's form: what it wrote for "none" stays."""
    return row.session_key or ("" if old.get("session_key") else old.get("session_key", ""))


_LESSON_TEXT = (
    "key", "trigger", "bad_action", "better_action", "scope", "session_key", "actor_key", "source",
    "promoted_global_key",
)  # fmt: skip

_LESSON_FIELDS = tuple(f for f in Lesson._fields if f not in ("id", "meta_json", "is_deleted", "revision"))


def _lesson_row(raw: Raw, _workspace_id: str) -> Lesson:
    texts: dict[str, Any] = {name: _clean(raw.get(name)) for name in _LESSON_TEXT}
    return Lesson(
        id=str(raw["id"]),
        **texts,
        confidence=_whole(raw.get("confidence"), 1),
        hits=_whole(raw.get("hits")),
        enabled=raw.get("enabled", True) is not False,
        created_at=_utc(raw.get("created_at")),
        updated_at=_utc(raw.get("updated_at") or raw.get("created_at")),
        last_applied_at=_utc(raw.get("last_applied_at")),
    )


def _lesson_raw(row: Row, present: Raw | None) -> Raw:
    assert isinstance(row, Lesson)
    old = present or {}
    mine: Raw = {"id": row.id}
    for name in _LESSON_FIELDS:
        value = getattr(row, name)
        if name.endswith("_at"):
            value = _local(value, old.get(name))
        elif name == "enabled":
            value = bool(value)
        elif name in _LESSON_TEXT and name in old and _clean(old[name]) == value:
            value = old[name]
        mine[name] = value
    return {**old, **mine}


def _clean(value: Any) -> str:
    """Text as a database takes it: a lone surrogate, which no UTF-8 can hold, becomes the replacement character."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _whole(value: Any, default: int = 0) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def _parse_items(data: bytes, where: str) -> AgentRows:
    parsed = ltm_snapshot.parse_snapshot(data, where)
    return AgentRows({item.id: item.to_dict() for item in parsed.items}, parsed.complete, tuple(parsed.problems))


def _dump_items(rows: Iterable[Raw], present: bytes) -> bytes:
    old = ltm_snapshot.parse_snapshot(present, "")
    items = tuple(ltm_snapshot.LtmItem.from_dict(raw) for raw in rows)
    return ltm_snapshot.dump_snapshot(replace(old, items=items, updated_at=clock.local_naive(clock.now())))


def _parse_lessons(data: bytes, where: str) -> AgentRows:
    parsed = lessons_format.parse_lessons(data, where)
    return AgentRows({row.id: row.to_dict() for row in parsed.lessons}, parsed.complete, tuple(parsed.problems))


def _dump_lessons(rows: Iterable[Raw], _present: bytes) -> bytes:
    return lessons_format.dump_lessons(lessons_format.LessonLine.from_dict(raw) for raw in rows)


SOURCES: Sequence[Source] = (
    Source("LTM_SNAPSHOT.json", "item", _parse_items, _item_row, _item_raw, _dump_items),
    Source("LESSONS.jsonl", "lesson", _parse_lessons, _lesson_row, _lesson_raw, _dump_lessons),
)
