"""The exchange with a RAM-first agent (seed 000): its snapshot and lessons files as rows, their merge, our exports, and
our operations as lines of its audit logs.

Pure: bytes and rows in, rows, changes and bytes out. The rules are in DESIGN ("Two writers", "Exports") and in
docs/decisions.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.snapshot_files import AuditEvent, dump_event
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.operations import Change, Operation, Value, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.store.snapshot import NOT_COMPARED, change_of
from nanomem_tui.store.values import NO_CHAT, AnyRow, Item, Lesson, Row, dumped, fact_of, placed_in_session, session_of

if TYPE_CHECKING:
    from nanomem_tui.store.database.operation_log import Journal

AGENT_TEXT_LIMIT = 280
"""Characters that a RAM-first agent keeps of an item's text."""

PAST = 20
"""Exports that are remembered for a row until the agent writes again."""
UNSURE = 200
"""States of a row that an export of ours may have held, which was perhaps cut off."""
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
                held = [raw for raw in past.get(key, ()) if raw != rows.get(key)]  # what was meant to be written
                past[key] = [*held, self.seen.get(key)][-PAST:]
        return Known(rows, self.agent, past)

    def meant(self, rows: Mapping[str, Raw]) -> Known:
        """The same before an export of ours, which may be cut off before anybody remembers that it was made."""
        changed = [key for key in {**self.seen, **rows} if self.seen.get(key) != rows.get(key)]
        states = {key: [*self.past.get(key, ()), rows.get(key)][-UNSURE:] for key in changed}
        return self._replace(past={**self.past, **states}) if changed else self


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
    order = merge_order(list(theirs.rows), known)
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


def merge_order(order: Sequence[str], known: Sequence[str]) -> list[str]:
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
        hits=_integer(raw.get("hits")),
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
        confidence=_integer(raw.get("confidence"), 1),
        hits=_integer(raw.get("hits")),
        enabled=raw.get("enabled", True) not in (False, 0),
        created_at=_utc(raw.get("created_at")),
        updated_at=_utc(raw.get("updated_at") or raw.get("created_at")),
        last_applied_at=_utc(raw.get("last_applied_at")),
    )


def _clean(value: Any) -> str:
    """Text as a database takes it: a lone surrogate, which no UTF-8 can hold, becomes the replacement character."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _integer(value: Any, default: int = 0) -> int:
    """A whole number as a database takes it; `default` for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MOST <= value <= MOST:
        return default
    return int(value)


def _parse_items(data: bytes, where: str) -> AgentRows:
    from nanomem_tui.agents.snapshot_files import parse_snapshot

    parsed = parse_snapshot(data, where)
    return _rows(((item.id, item.to_dict()) for item in parsed.items), parsed.complete, parsed.problems, where)


def _dump_items(rows: Iterable[Raw], present: bytes) -> bytes:
    from nanomem_tui.agents import snapshot_files

    old = snapshot_files.parse_snapshot(present, "")
    items = tuple(snapshot_files.LtmItem.from_dict(raw) for raw in rows)
    return snapshot_files.dump_snapshot(old._replace(items=items, updated_at=clock.local_naive(clock.now())))


def _parse_lessons(data: bytes, where: str) -> AgentRows:
    from nanomem_tui.agents.snapshot_files import parse_lessons

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
    from nanomem_tui.agents.snapshot_files import LessonLine, dump_lessons

    return dump_lessons(LessonLine.from_dict(raw) for raw in rows)


SOURCES: Sequence[Source] = (
    Source("LTM_SNAPSHOT.json", "item", _ITEM_FIELDS, _parse_items, _item_row, _dump_items),
    Source("LESSONS.jsonl", "lesson", _LESSON_FIELDS, _parse_lessons, _lesson_row, _dump_lessons),
)


# -- field-by-field merge of one row that two writers changed ---------------------------------------------------------

_ADDED = frozenset({"hits"})
_NEWEST = frozenset({"updated_at", "last_accessed_at", "last_applied_at"})


def merge_row(base: AnyRow | None, ours: AnyRow, theirs: AnyRow) -> AnyRow:
    """The row that keeps what each side changed since `base`: hits add up, the newest time wins.

    Of a text that both changed differently the newer one stays, and the other is noted under `conflict` in the row's
    free fields, for a person to settle. A delete by either side stays a delete. The revision is that of `theirs`.
    """
    old: dict[str, Any] = base._asdict() if base is not None else {}
    mine, other = ours._asdict(), theirs._asdict()
    newer = other["updated_at"] > mine["updated_at"]
    merged: dict[str, Any] = {}
    conflicts: dict[str, Any] = {}
    for name, value in mine.items():
        start = old.get(name)
        if name in _ADDED:
            merged[name] = other[name] + max(0, value - start) if start is not None else max(value, other[name])
        elif value == other[name] or (base is not None and other[name] == start):
            merged[name] = value
        elif name in _NEWEST:
            merged[name] = max(filter(None, (value, other[name])), default=value)
        elif base is not None and value == start:
            merged[name] = other[name]
        elif name in _TEXTS:
            merged[name], conflicts[name] = (other[name], value) if newer else (value, other[name])
        else:
            merged[name] = value
    if base is None:
        merged["is_deleted"] = bool(mine["is_deleted"] or other["is_deleted"])
    merged["revision"] = other["revision"]
    if mine["meta_json"] != other["meta_json"] != old.get("meta_json") or conflicts:
        merged["meta_json"] = _merged_meta(base, ours, theirs, conflicts)
    return ours._replace(**merged)


def note_conflict(row: AnyRow, conflicts: dict[str, Any]) -> str:
    """The free fields of a row with those other texts noted, beside the ones that wait already."""
    return dumped({**row.meta, "conflict": {**_object(row.meta.get("conflict")), **conflicts}})


def kept_in_conflict(row: AnyRow) -> AnyRow:
    """A row that one edited and another one deleted, each without knowing of the other: it stays, for a person to
    settle."""
    return row._replace(is_deleted=False, meta_json=note_conflict(row, {"is_deleted": True}))


def _merged_meta(base: AnyRow | None, ours: AnyRow, theirs: AnyRow, conflicts: dict[str, Any]) -> str:
    start = base.meta if base is not None else {}
    mine, other = ours.meta, theirs.meta
    meta: dict[str, Any] = {}
    for name in {**other, **mine}:
        source = other if mine.get(name) == start.get(name) else mine
        if name in source:
            meta[name] = source[name]
    if conflicts:
        meta["conflict"] = {**_object(meta.get("conflict")), **conflicts}
    return dumped(meta)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# -- operations as lines of a RAM-first agent's audit logs (FORMATS of seed 000) --------------------------------------

ITEM_LOG, LESSON_LOG = "LTM_AUDIT.jsonl", "LESSONS_AUDIT.jsonl"
_FOLDED = {"items.compact": "memory_compact", "lessons.compact": "lesson_compact", "lessons.reset": "lesson_reset"}
USE = NOT_COMPARED | {"meta_json"}
"""The fields in which a turn notes that it used a row."""


def audit_lines(operation: Operation, tables: Mapping[str, Mapping[str, Row]]) -> Iterator[tuple[str, bytes]]:
    """(log file name, line) for each event of an operation of ours; an agent's own changes it has logged itself.

    `tables`: our rows by layer, for what an operation that brings a row back does not hold.
    """
    if operation.kind in ("agent.changed", RETURNED):  # the agent shows the items of the second so already
        return
    moment = clock.parse(operation.at)
    at = clock.local_naive(moment) if moment is not None else operation.at
    if operation.kind in _FOLDED:
        fields = {name: operation.meta[name] for name in ("removed", "kept") if name in operation.meta}
        log = LESSON_LOG if operation.kind.startswith("lessons") else ITEM_LOG
        yield log, dump_event(AuditEvent(_FOLDED[operation.kind], at, fields))
        return
    for change in operation.changes:
        if operation.actor == "agent" and change.before is not None and (change.after or {}).keys() <= USE:
            continue  # that a turn used something is no event of the logs
        if change.layer in tables:
            log = ITEM_LOG if change.layer == "item" else LESSON_LOG
            yield log, dump_event(_event(_with_row(change, tables[change.layer]), at))


def _with_row(change: Change, table: Mapping[str, Row]) -> Change:
    """A change that brings a row back, with the row's fields in it."""
    row = table.get(change.key)
    if row is None or change.after is None or not (change.before or {}).get("is_deleted"):
        return change
    return change._replace(after={**row._asdict(), **change.after})


def _event(change: Change, at: str) -> AuditEvent:
    """What a change of an item or a lesson is in the log of its kind."""
    of_item = change.layer == "item"
    noun, shown = ("memory", "text") if of_item else ("lesson", "trigger")
    after: Value = change.after or {}
    before: Value = change.before or {}
    fields: dict[str, Any] = {"id": change.key}
    if change.after is None or after.get("is_deleted"):
        return AuditEvent(f"{noun}_delete", at, fields)
    if change.before is None or before.get("is_deleted"):
        return AuditEvent(f"{noun}_add", at, {**fields, "source": after.get("source", ""), shown: after.get(shown, "")})
    if not of_item:
        if "enabled" in after:
            return AuditEvent("lesson_enable" if after["enabled"] else "lesson_disable", at, fields)
        return AuditEvent("lesson_update", at, {**fields, "source": "human"})
    names = [name for name in after if name not in ("updated_at", "meta_json")]
    was, now = ({name: side.get(name) for name in names} for side in (before, after))
    if "text" in after:
        return AuditEvent("memory_update", at, {**fields, "before": before.get("text", ""), "after": after["text"]})
    return AuditEvent("memory_update", at, {**fields, "before": was, "after": now})


# -- items that an early release kept for every chat though the file names their session ------------------------------


RETURNED = "items.sessions"
"""The kind of that operation."""


def return_to_chats(items: Iterable[Item], journal: Journal) -> Operation | None:
    """Return the operation that gives such items to their chats, None where there are none.

    What a person made, moved, merged or accepted by hand, or took back with `undo`, stays as it is. Raises the store's
    errors.
    """
    rows = {row.id: row for row in items if _is_left_global(row)}
    if not rows:
        return None
    decided = {
        change.key
        for entry in journal.touching(list(rows), "human")
        for change in entry.changes
        if change.layer == "item" and change.key in rows and _decides(change)
    }
    changes = [
        change_of("item", row, placed_in_session(row, row.session_key or ""))
        for key, row in rows.items()
        if key not in decided
    ]
    if not changes:
        return None
    belongs, were = ("belongs", "it was") if len(changes) == 1 else ("belong", "they were")
    label = f"{counted(len(changes), 'item')} now {belongs} only to the chat where {were} said"
    return new_operation(RETURNED, label, changes, actor="import", meta={"started_by": "human"})


def _is_left_global(row: Item) -> bool:
    if row.scope_type != "global" or row.scope_key.startswith("channel:") or row.is_deleted or not row.session_key:
        return False
    if row.channel or row.chat_id or row.sender_id or row.kind != "fact":
        return False  # captured here, for every chat as the settings say
    return fact_of(row) is None and not {"merged_from", "copied_from"} & row.meta.keys()


def _decides(change: Change) -> bool:
    """Whether a person's change says to whom an item belongs."""
    if change.before is None or change.after is None:
        return True
    accepted = not change.before.get("enabled", True) and '"inbox":' in str(change.before.get("meta_json", ""))
    return "scope_key" in change.after or "scope_type" in change.after or accepted
