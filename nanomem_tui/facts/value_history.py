"""The values that a fact had, as its operations tell them. Reads only.

What was undone never counts, nor what a fact was before a person deleted it: what comes back begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nanomem_tui.store.operations import LogEntry, takes_back_all
from nanomem_tui.store.values import Item, fact_of


class Value(NamedTuple):
    """One value that a fact had: from when to when (UTC ISO; until "": it is so now), who gave it by which operation
    ("": it came with the row), and the session and message that it is from."""

    value: str
    since: str
    until: str
    actor: str
    operation: str
    session_key: str | None
    source_message_id: str | None

    def to_json(self) -> dict[str, Any]:
        """The value as the command line prints it."""
        return self._asdict()


def values_of(
    item: Item,
    log_of: Callable[[str], Sequence[LogEntry]],
    rows: Mapping[str, Item],
    seen: frozenset[str] = frozenset(),
) -> list[Value]:
    """The values that the fact of this row had, newest first, also of what was merged into it. `log_of`: the operations
    that touched the row of an id, newest first; `rows`: all rows."""
    seen |= {item.id}
    given = _given(item, log_of(item.id))
    found = [*sorted([*_earlier(item), *given[:-1]], key=lambda one: one.since), given[-1]]
    ends = [*(one.since for one in found[1:]), ""]
    values = [one._replace(until=end) for one, end in zip(found, ends, strict=True)]
    for other in merged_ids(item):
        gone = rows.get(other)
        if gone is not None and other not in seen:
            before = values_of(gone, log_of, rows, seen)
            values += [one._replace(until=one.until or item.updated_at) for one in before]
    return sorted(values, key=lambda one: (one.until == "", one.since), reverse=True)


def _given(item: Item, entries: Sequence[LogEntry]) -> list[Value]:
    """The values that the operations gave, oldest first; one at least, and the last is what the fact says now."""
    now = _value(item._asdict(), item.created_at, "", "")
    found = _replayed(item, [entry for entry in entries if not _is_taken_back(entry)])
    if not found or found[-1].value != now.value:  # an undo of a part, say: what happened, step by step
        found = _replayed(item, entries)
    return found or [now]


def _is_taken_back(entry: LogEntry) -> bool:
    """Whether an operation was undone, or is what undid or redid another one as a whole."""
    operation = entry.operation
    return entry.undone or operation.kind == "redo" or (operation.kind == "undo" and takes_back_all(operation))


def _replayed(item: Item, entries: Sequence[LogEntry]) -> list[Value]:
    row: dict[str, Any] = {}
    found: list[Value] = []
    for entry in reversed(entries):
        operation = entry.operation
        for change in operation.of(item.id):
            if change.layer != "item" or change.after is None or operation.kind == "void":
                continue
            if not row and change.before is not None:
                row = {**item._asdict(), **change.before}
                found.append(_value(row, item.created_at, "", ""))
            if row.get("is_deleted") and not change.after.get("is_deleted", True):
                found.clear()
            row.update(change.after)
            came = operation.kind == "memory.import" and change.before is None
            since = str(row.get("updated_at") or operation.at) if came else operation.at
            value = _value(row, since, operation.actor, operation.id)
            said = _said_at(row, value.value)
            if said and (not found or said >= found[-1].since):
                value = value._replace(since=said)
            if not row.get("is_deleted") and (not found or found[-1].value != value.value):
                found.append(value)
    return found


def merged_ids(item: Item) -> list[str]:
    """The ids of the facts that were merged into the one of this row."""
    fields = item.meta.get("fact")
    ids = fields.get("merged") if isinstance(fields, dict) else None
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []


def _earlier(item: Item) -> list[Value]:
    """The values that came with the row, oldest first: those that another system had for it before."""
    fields = item.meta.get("fact")
    told = fields.get("earlier") if isinstance(fields, dict) else None
    kept = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    values = [
        Value(str(one.get("value")), str(one.get("since")), "", str(one.get("actor") or "import"), "",
              one.get("session_key"), one.get("source_message_id"))
        for one in kept
    ]  # fmt: skip
    return sorted(values, key=lambda one: one.since)


def _said_at(row: Mapping[str, Any], value: str) -> str:
    """When the value of a row was said, where it keeps that."""
    fields = Item(id="", text="", meta_json=str(row.get("meta_json", "{}"))).meta.get("fact")
    said = fields.get("said") if isinstance(fields, dict) else None
    return str(said.get("at") or "") if isinstance(said, dict) and said.get("value") == value else ""


def _value(row: Mapping[str, Any], since: str, actor: str, operation: str) -> Value:
    """The value of a fact whose row was so at that time."""
    fact = fact_of(Item(id="", text=str(row["text"]), meta_json=str(row.get("meta_json", "{}"))))
    value = fact.value if fact is not None else str(row["text"])
    return Value(value, since, "", actor, operation, row.get("session_key"), row.get("source_message_id"))
