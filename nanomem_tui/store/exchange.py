"""The exchange with a RAM-first agent (seed 000): its snapshot and lessons files as rows, their merge, our exports.

Pure: bytes and rows in, rows, changes and bytes out. The rules are in DESIGN ("Two writers",
"Exports") and in docs/decisions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import Problem
from nanomem_tui.operations import Change
from nanomem_tui.store.merge_rows import note_conflict
from nanomem_tui.store.scope_keys import NO_CHAT, placed_in_session, session_of
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Row

AGENT_TEXT_LIMIT = 280
"""Characters that a RAM-first agent keeps of an item's text."""

PAST = 20
"""Exports that are remembered for a row until the agent writes again."""
UNSURE = 200
"""States of a row that an export may have held, remembered after a database was made anew."""
MOST = 2**53
"""Counts beyond this are no counts (and beyond 2**63 no database takes them)."""

Raw = dict[str, Any]


class AgentRows(NamedTuple):
    """An agent's file: its rows as it wrote them, by id and in its order, and whether all of it could be read."""

    rows: Mapping[str, Raw]
    complete: bool
    problems: tuple[Problem, ...]


class Known(NamedTuple):
    """An agent's file as we last saw it, whoever wrote it (`seen`), and as the agent itself last wrote it (`agent`).

    The agent loads its file once: what it writes next starts from `agent`, or from an export of ours that it was
    started on. `past` holds, for each row that our exports changed since, what was there before each (None: nothing).
    """

    seen: Mapping[str, Raw]
    agent: Mapping[str, Raw]
    past: Mapping[str, Sequence[Raw | None]] = MappingProxyType({})

    def starts(self, key: str) -> list[Raw]:
        """What the agent may have started from, what it last wrote first."""
        found = [self.agent.get(key), *self.past.get(key, ()), self.seen.get(key)]
        return [raw for raw in found if raw is not None]

    def removed_by(self, rows: Mapping[str, Raw]) -> list[str]:
        """The rows that the agent surely had and that are not in what it wrote now."""
        gone = (key for key in self.agent if key in self.seen and key not in rows)
        return [key for key in gone if None not in self.past.get(key, ())]

    def exported(self, rows: Mapping[str, Raw]) -> Known:
        """The same after an export of ours."""
        past = dict(self.past)
        for key in {**self.seen, **rows}:
            if self.seen.get(key) != rows.get(key):
                past[key] = [*past.get(key, ()), self.seen.get(key)][-PAST:]
        return Known(rows, self.agent, past)

    def perhaps(self, rows: Mapping[str, Sequence[Raw]]) -> Known:
        """The same where exports that nobody remembers any more may have held these states of rows, oldest first."""
        states = {key: [*self.past.get(key, ()), *raws][-UNSURE:] for key, raws in rows.items()}
        return self._replace(past={**self.past, **states})


class Source(NamedTuple):
    """One file that we share with the agent: how its rows become ours and ours become its; `fields` are what it
    holds of a row."""

    name: str
    layer: str
    fields: Sequence[str]
    parse: Callable[[bytes, str], AgentRows]
    to_row: Callable[[Raw, str], Row]
    dump: Callable[[Iterable[Raw], bytes], bytes]

    def to_raw(self, row: Row, present: Raw | None) -> Raw:
        """Our row as the agent's: what it wrote itself stays as it is where it says the same to it."""
        read = self.to_row({**present, "id": row.id}, "") if present is not None else None
        changed: Raw = {}
        for name in self.fields:
            value = _field(row, name)
            if read is None or not _same(name, value, _field(read, name)):
                changed[name] = _wire(name, value)
        return {**(present or {}), "id": row.id, **changed} if present is None or changed else dict(present)


def merge(source: Source, known: Known, theirs: AgentRows, ours: Mapping[str, Row], workspace_id: str) -> list[Change]:
    """What the agent did to its file since we last saw it, as changes to our rows.

    A row that we made, disabled, changed or deleted is never removed or brought back by the agent's file, also not when
    the agent writes what it had in RAM before our change; an incomplete file removes nothing. What the agent did to a
    row that is deleted here is kept with it, so that it does not matter which of the two came first.
    """
    changes: list[Change] = []
    for key, raw in theirs.rows.items():
        row = ours.get(key)
        starts = known.starts(key)
        if row is None:
            changes.append(change_of(source.layer, None, source.to_row(raw, workspace_id)))
        elif raw not in starts:  # also of a deleted row: somebody may bring it back, with all that was counted
            begun = [source.to_row(start, "") for start in starts]
            merged = _take_fields(source, row, source.to_row(raw, workspace_id), begun)
            if merged != row:
                changes.append(change_of(source.layer, row, merged))
    if theirs.complete:
        left = {_as_agent(raw.get("text")).casefold() for raw in theirs.rows.values()}
        for key in known.removed_by(theirs.rows):
            row = ours.get(key)
            if row is None or not _is_shared(row) or not row.enabled:
                continue
            folded = isinstance(row, Item) and row.scope_type != "global" and _as_agent(row.text).casefold() in left
            if not folded and same_to_agent(source, row, known.agent[key]):  # the agent folds chats that say the same
                changes.append(change_of(source.layer, row, row._replace(is_deleted=True)))
    return changes


def same_to_agent(source: Source, row: Row, raw: Raw) -> bool:
    """Whether the agent's row says what ours says, in the agent's own normalisation of it."""
    read = source.to_row(raw, "")
    return all(_same(name, _field(row, name), _field(read, name)) for name in source.fields)


def _field(row: Row, name: str) -> Any:
    """A field as the agent means it: the session of an item is the one in which it is shown."""
    return session_of(row) if name == "session_key" and isinstance(row, Item) else getattr(row, name)


def _same(name: str, mine: Any, other: Any) -> bool:
    return mine == other or (name in _TEXTS and _as_agent(mine) == _as_agent(other))


def _as_agent(text: Any) -> str:
    return " ".join(str(text).split())[:AGENT_TEXT_LIMIT]


def _take_fields(source: Source, row: Row, theirs: Row, starts: Sequence[Row]) -> Row:
    """Our row with the fields that only the agent changed; hits add up; a text that both changed: ours, and a note.

    `starts`: what the agent may have started from, what it last wrote first.
    """
    taken: dict[str, Any] = {}
    conflicts: dict[str, Any] = {}
    for name in source.fields:
        mine, other = _field(row, name), _field(theirs, name)
        begun = [_field(start, name) for start in starts]
        if other in begun or (name != "hits" and _same(name, mine, other)):
            continue
        if name == "hits":
            taken[name] = mine + min((other - start for start in begun if other > start), default=0)
        elif name in ("updated_at", "last_applied_at"):
            taken[name] = max(mine, other)
        elif begun and mine == begun[0]:
            taken |= _said_in(row, theirs) if name == "session_key" and isinstance(row, Item) else {name: other}
        elif name in _TEXTS:
            conflicts[name] = other
    if conflicts:
        taken["meta_json"] = note_conflict(row, conflicts)
    return row._replace(**taken)


def _said_in(row: Item, theirs: Row) -> dict[str, Any]:
    """The scope of an item that the agent heard again in another session: it shows it there now. What follows a person
    still does, within its channel."""
    assert isinstance(theirs, Item)
    if row.scope_type != "user":
        names = ("scope_type", "scope_key", "channel", "chat_id", "sender_id", "session_key")
        return {name: getattr(theirs, name) for name in names}
    if theirs.channel != row.channel:
        return {}
    return {"chat_id": theirs.chat_id, "session_key": theirs.session_key}


def export(
    source: Source, present: bytes, theirs: AgentRows, ours: Mapping[str, Row], limit: int, known: Sequence[str]
) -> tuple[bytes, dict[str, Raw]]:
    """The agent's file with our rows in it, and its rows by id, in order.

    Rows that the agent has and we did not change stay byte for byte and in place; a row that comes back takes the place
    it had in `known`, the ids in their order as last seen; new ones follow. An item of a chat or a person carries the
    session in which the agent may show it. Deleted rows, what waits in the inbox, disabled items and what the file says
    already of that session are left out; beyond `limit` the pinned and the newest stay, episodes last.
    """
    wanted = [row for row in ours.values() if _is_shared(row)]
    if len(wanted) > limit:
        wanted = heapq.nlargest(limit, wanted, key=_rank)
    wanted = [row for row in wanted if not isinstance(row, Item) or session_of(row) is not None]
    there = {mark for row in wanted if row.id in theirs.rows and (mark := _mark(row))}
    wanted = [row for row in wanted if row.id in theirs.rows or _mark(row) not in there]
    by_id = {row.id: row for row in wanted}
    order = woven(list(theirs.rows), known)
    order += sorted(by_id.keys() - set(order), key=lambda key: (by_id[key].created_at, key))
    rows = {key: source.to_raw(by_id[key], theirs.rows.get(key)) for key in order if key in by_id}
    return source.dump(rows.values(), present), rows


def _is_shared(row: Row) -> bool:
    """Whether the agent's file is to hold the row."""
    if row.is_deleted or (not row.enabled and row.waits):
        return False
    if isinstance(row, Lesson):
        return True
    of_chat = row.scope_key.startswith(("channel:", NO_CHAT))
    return row.enabled and of_chat == (row.scope_type != "global")  # else its scope contradicts itself


def _mark(row: Row) -> tuple[str, str] | None:
    """The session and the words of an item of one session; None for all else."""
    return (session, _as_agent(row.text).casefold()) if isinstance(row, Item) and (session := session_of(row)) else None


def _rank(row: Row) -> tuple[bool, bool, str]:
    """What stays in the agent's file the longest: pinned, no episode, new."""
    return getattr(row, "pinned", False), getattr(row, "kind", "") != "episodic", row.updated_at


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
    return clock.iso(moment) if moment is not None else _clean(text)


def _wire(name: str, value: Any) -> Any:
    """A field in the agent's form: naive local times, no nulls, true truth values."""
    if name.endswith("_at"):
        moment = clock.parse(value)
        return clock.local_naive(moment) if moment is not None else value or ""
    if name == "enabled":
        return bool(value)
    return "" if value is None else value


_ITEM_FIELDS = ("text", "source", "session_key", "created_at", "updated_at", "hits")
_LESSON_FIELDS = tuple(f for f in Lesson._fields if f not in ("id", "meta_json", "is_deleted", "revision"))
_TEXTS = frozenset({"text", "trigger", "bad_action", "better_action"})


def _item_row(raw: Raw, workspace_id: str) -> Item:
    session = _clean(raw.get("session_key"))
    row = Item(
        id=str(raw["id"]),
        text=_clean(raw.get("text")),
        kind="fact",
        scope_type="global",
        scope_key=global_scope(workspace_id),
        source=_clean(raw.get("source")) or "agent",
        created_at=_utc(raw.get("created_at")),
        updated_at=_utc(raw.get("updated_at") or raw.get("created_at")),
        hits=_whole(raw.get("hits")),
    )
    return placed_in_session(row, session) if session else row


def _lesson_row(raw: Raw, _workspace_id: str) -> Lesson:
    texts: dict[str, Any] = {
        name: _clean(raw.get(name))
        for name in _LESSON_FIELDS
        if not name.endswith("_at") and name not in ("confidence", "hits", "enabled")
    }
    return Lesson(
        id=str(raw["id"]),
        **texts,
        confidence=_whole(raw.get("confidence"), 1),
        hits=_whole(raw.get("hits")),
        enabled=raw.get("enabled", True) not in (False, 0),
        created_at=_utc(raw.get("created_at")),
        updated_at=_utc(raw.get("updated_at") or raw.get("created_at")),
        last_applied_at=_utc(raw.get("last_applied_at")),
    )


def _clean(value: Any) -> str:
    """Text as a database takes it: a lone surrogate, which no UTF-8 can hold, becomes the replacement character."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole(value: Any, default: int = 0) -> int:
    """A whole number as a database takes it; `default` for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MOST <= value <= MOST:
        return default
    return int(value)


def _parse_items(data: bytes, where: str) -> AgentRows:
    from nanomem_tui.formats.ltm_snapshot import parse_snapshot

    parsed = parse_snapshot(data, where)
    return _rows(((item.id, item.to_dict()) for item in parsed.items), parsed.complete, parsed.problems, where)


def _dump_items(rows: Iterable[Raw], present: bytes) -> bytes:
    from nanomem_tui.formats import ltm_snapshot

    old = ltm_snapshot.parse_snapshot(present, "")
    items = tuple(ltm_snapshot.LtmItem.from_dict(raw) for raw in rows)
    return ltm_snapshot.dump_snapshot(old._replace(items=items, updated_at=clock.local_naive(clock.now())))


def _parse_lessons(data: bytes, where: str) -> AgentRows:
    from nanomem_tui.formats.lessons import parse_lessons

    parsed = parse_lessons(data, where)
    return _rows(((row.id, row.to_dict()) for row in parsed.lessons), parsed.complete, parsed.problems, where)


def _rows(rows: Iterable[tuple[str, Raw]], complete: bool, problems: Sequence[Problem], where: str) -> AgentRows:
    kept: dict[str, Raw] = {}
    bad: list[Problem] = []
    for key, raw in rows:
        if _clean(key) == key:
            kept[key] = raw
        else:
            bad.append(Problem("an id with a lone surrogate, which is no UTF-8", where))
    return AgentRows(kept, complete and not bad, (*problems, *bad))


def _dump_lessons(rows: Iterable[Raw], _present: bytes) -> bytes:
    from nanomem_tui.formats.lessons import LessonLine, dump_lessons

    return dump_lessons(LessonLine.from_dict(raw) for raw in rows)


SOURCES: Sequence[Source] = (
    Source("LTM_SNAPSHOT.json", "item", _ITEM_FIELDS, _parse_items, _item_row, _dump_items),
    Source("LESSONS.jsonl", "lesson", _LESSON_FIELDS, _parse_lessons, _lesson_row, _dump_lessons),
)
