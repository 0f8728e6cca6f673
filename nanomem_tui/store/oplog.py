"""The log of operations as a person meets it: newest first, what is undone, what undo and redo take next. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nanomem_tui.operations import Operation

BOOKKEEPING = frozenset({"undo", "redo", "void"})
"""Kinds of operation that only say something about another one."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One operation and whether it is taken back at present; `position` grows with time."""

    operation: Operation
    undone: bool
    position: int

    def to_json(self, *, changes: bool = False) -> dict[str, Any]:
        """The entry as the command line prints it, with the values of what it touched when `changes`."""
        op = self.operation
        body: dict[str, Any] = {
            "id": op.id,
            "at": op.at,
            "actor": op.actor,
            "kind": op.kind,
            "label": op.label,
            "touched": len(op.changes),
            "undone": self.undone,
        }
        if op.undoes:
            body["undoes"] = op.undoes
        if op.redoes:
            body["redoes"] = op.redoes
        if changes:
            body["changes"] = [
                {"layer": c.layer, "key": c.key, "before": c.before, "after": c.after} for c in op.changes
            ]
        return body


def started_by_person(operation: Operation) -> bool:
    """Whether `undo` without an id may take this operation back."""
    person = operation.actor == "human" or operation.meta.get("started_by") == "human"
    return person and operation.kind not in BOOKKEEPING


def takes_back_all(operation: Operation) -> bool:
    """Whether an undo covers its whole target, not some keys of it."""
    return "keys" not in operation.meta


def overlay(stored: Sequence[LogEntry], pending: Iterable[Operation]) -> list[LogEntry]:
    """The entries newest first once `pending` operations, oldest first, are on top of the stored ones."""
    entries = {entry.operation.id: entry for entry in reversed(stored)}
    position = max((entry.position for entry in stored), default=0)
    for operation in pending:
        if operation.id in entries:
            continue
        position += 1
        entries[operation.id] = LogEntry(operation, False, position)
        for target, undone in ((operation.undoes, True), (operation.redoes, False)):
            if target in entries and takes_back_all(operation):
                entries[target] = replace(entries[target], undone=undone)
    return sorted(entries.values(), key=lambda entry: -entry.position)


def undo_target(entries: Iterable[LogEntry]) -> LogEntry | None:
    """The newest operation that a person started and that stands."""
    return next((e for e in entries if started_by_person(e.operation) and not e.undone), None)


def redo_target(entries: Sequence[LogEntry]) -> LogEntry | None:
    """The operation whose undo came last, unless a person did something new since."""
    by_id = {entry.operation.id: entry for entry in entries}
    for entry in entries:
        if started_by_person(entry.operation) and not entry.undone:
            redone = any(other.operation.redoes == entry.operation.id for other in entries)
            if not redone:
                return None
        target = by_id.get(entry.operation.undoes or "")
        if entry.operation.kind == "undo" and target is not None and target.undone:
            return target
    return None
