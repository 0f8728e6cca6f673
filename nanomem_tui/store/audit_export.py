"""Operations as lines of a RAM-first agent's audit logs (FORMATS of seed 000). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nanomem_tui import clock
from nanomem_tui.formats.audit import AuditEvent, dump_event
from nanomem_tui.operations import Change, Operation, Value
from nanomem_tui.store import session_scopes
from nanomem_tui.store.snapshot import COUNTERS
from nanomem_tui.store.values import Row

ITEMS, LESSONS = "LTM_AUDIT.jsonl", "LESSONS_AUDIT.jsonl"
_FOLDED = {"items.compact": "memory_compact", "lessons.compact": "lesson_compact", "lessons.reset": "lesson_reset"}
USE = COUNTERS | {"meta_json"}
"""The fields in which a turn notes that it used a row."""


def lines(operation: Operation, tables: Mapping[str, Mapping[str, Row]]) -> Iterator[tuple[str, bytes]]:
    """(log file name, line) for each event of an operation of ours; an agent's own changes it has logged itself.

    `tables`: our rows by layer, for what an operation that brings a row back does not hold.
    """
    if operation.kind in ("agent.changed", session_scopes.KIND):  # the agent shows the items of the second so already
        return
    moment = clock.parse(operation.at)
    at = clock.local_naive(moment) if moment is not None else operation.at
    if operation.kind in _FOLDED:
        fields = {name: operation.meta[name] for name in ("removed", "kept") if name in operation.meta}
        log = LESSONS if operation.kind.startswith("lessons") else ITEMS
        yield log, dump_event(AuditEvent(_FOLDED[operation.kind], at, fields))
        return
    for change in operation.changes:
        if operation.actor == "agent" and change.before is not None and (change.after or {}).keys() <= USE:
            continue  # that a turn used something is no event of the logs
        if change.layer == "item":
            yield ITEMS, dump_event(_item_event(_whole(change, tables["item"]), at))
        elif change.layer == "lesson":
            yield LESSONS, dump_event(_lesson_event(_whole(change, tables["lesson"]), at))


def _whole(change: Change, table: Mapping[str, Row]) -> Change:
    """A change that brings a row back, with the row's fields in it."""
    row = table.get(change.key)
    if row is None or change.after is None or not (change.before or {}).get("is_deleted"):
        return change
    return change._replace(after={**row._asdict(), **change.after})


def _item_event(change: Change, at: str) -> AuditEvent:
    after: Value = change.after or {}
    before: Value = change.before or {}
    fields: dict[str, Any] = {"id": change.key}
    if change.after is None or after.get("is_deleted"):
        return AuditEvent("memory_delete", at, fields)
    if change.before is None or before.get("is_deleted"):
        return AuditEvent(
            "memory_add", at, {**fields, "source": after.get("source", ""), "text": after.get("text", "")}
        )
    names = [name for name in after if name not in ("updated_at", "meta_json")]
    was = {name: before.get(name) for name in names}
    now = {name: after.get(name) for name in names}
    if "text" in after:
        return AuditEvent("memory_update", at, {**fields, "before": before.get("text", ""), "after": after["text"]})
    return AuditEvent("memory_update", at, {**fields, "before": was, "after": now})


def _lesson_event(change: Change, at: str) -> AuditEvent:
    after: Value = change.after or {}
    before: Value = change.before or {}
    fields: dict[str, Any] = {"id": change.key}
    if change.after is None or after.get("is_deleted"):
        return AuditEvent("lesson_delete", at, fields)
    if change.before is None or before.get("is_deleted"):
        return AuditEvent(
            "lesson_add", at, {**fields, "source": after.get("source", ""), "trigger": after.get("trigger", "")}
        )
    if "enabled" in after:
        return AuditEvent("lesson_enable" if after["enabled"] else "lesson_disable", at, fields)
    return AuditEvent("lesson_update", at, {**fields, "source": "human"})
