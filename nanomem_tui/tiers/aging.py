"""How what happened becomes records of working memory (seed 004: overflow and age).

Owns which record an entry becomes. Must not know when entries leave the ring.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from nanomem_tui import clock
from nanomem_tui.errors import BadInput, Problem
from nanomem_tui.store import atomic, tier_rows
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import AT_WORK, KINDS
from nanomem_tui.store.tier_values import TierRecord, checked
from nanomem_tui.tiers.entries import Kept, MetricValue, is_active, records_of
from nanomem_tui.tiers.trail import Stored, Trail

ORIGIN = "operational"
"""The origin of a task that we know from what was said of it, and not because an agent recorded it."""

MOST_TASKS = 1000
"""Tasks of each such state that are looked at, the newest."""


def keep(trail: Trail, batch: Sequence[Kept], is_latest: Callable[[str, str], bool], quarantine: Path) -> list[Problem]:
    """Put entries into working memory in one transaction, safe from a power cut; one that is there stays as it is.

    `is_latest`: whether the entry of an id is the last word on a task. One that no table can hold goes to the
    quarantine, and is told. Raises the errors of `TierStore.write`.
    """
    entries = [kept for kept in batch if kept.critical is not True]
    tasks = [task for kept in batch if (task := _task_of(trail, kept, is_latest)) is not None]
    if tasks:
        with contextlib.suppress(BadInput):  # what can be no record is an event all the same
            trail.store_many(tasks, origin=ORIGIN, durable=not entries, overheard=True)
    try:
        _store(trail, entries)
        return []
    except BadInput:
        return [problem for kept in entries for problem in _alone(trail, kept, quarantine)]


def _store(trail: Trail, entries: Sequence[Kept]) -> None:
    now = clock.iso(clock.now())
    records = [
        TierRecord(kind, kept.id, checked(KINDS[kind], fields), stored_at=now, changed_at=now)
        for kept in entries
        for kind, fields in records_of(kept.entry())
    ]
    if records:
        work = partial(tier_rows.put_new, workspace_id=trail.workspace_id, records=records)
        trail.database.write(work, durable=True)


def _alone(trail: Trail, kept: Kept, quarantine: Path) -> list[Problem]:
    try:
        _store(trail, [kept])
        return []
    except BadInput as error:
        path = atomic.quarantine(quarantine, f"{kept.id}.spool", kept.line())
        return [Problem(f"an entry that working memory cannot hold: {error.what}", path.name, fix="it is kept aside")]


def moved(trail: Trail, entries: Iterable[Kept]) -> int:
    """How many of a file's entries, oldest first, working memory has already: a kill came before they were struck out.

    Raises the errors of the database.
    """

    def look(connection: Connection) -> int:
        found = 0
        for number, kept in enumerate(entries, 1):
            if kept.critical is True:
                continue
            kind = KINDS["metric" if kept.category == "metric" else "event"]
            if tier_rows.get(connection, trail.workspace_id, kind, kept.id) is None:
                break
            found = number
        return found

    return trail.ask(look, 0)


def _task_of(trail: Trail, kept: Kept, is_latest: Callable[[str, str], bool]) -> Stored | None:
    """What the last word on a task says of its record: one that is still to be done gets one, so that it stays known;
    one that has a record gets its state, unless that was changed since."""
    if kept.category != "task":
        return None
    data = kept.entry().data
    if not is_latest(data["id"], kept.id):
        return None
    known = record_of(trail, data["id"])
    status = data["status"]
    if known is None:
        if not is_active(status):
            return None
        fields = {"description": description_of(data), "agent": _text(data, "agent") or kept.source, "status": status}
        return Stored("task", {**fields, "started_at": kept.at}, data["id"])
    if known.fields["status"] == status or (known.origin != ORIGIN and known.changed_at > kept.at):
        return None
    return Stored("task", {"status": status}, data["id"])


def record_of(trail: Trail, task_id: str) -> TierRecord | None:
    """The record of a task, where it has one."""
    return trail.ask(lambda connection: tier_rows.get(connection, trail.workspace_id, KINDS["task"], task_id), None)


def description_of(data: object) -> str:
    """What a task is about, by what was said of it; its id where nothing else was."""
    return _text(data, "description") or _text(data, "title") or _text(data, "id")


def _text(data: object, name: str) -> str:
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) else ""


def last_metric(trail: Trail, name: str) -> MetricValue | None:
    """The newest value of a metric that working memory has."""

    def look(connection: Connection) -> list[TierRecord]:
        return tier_rows.rows(connection, trail.workspace_id, KINDS["metric"], None, tier_rows.Where({"name": name}), 1)

    found = trail.ask(look, list[TierRecord]())
    return next((MetricValue(name, row.fields["value"], row.fields["unit"] or "", row.at) for row in found), None)


def active_tasks(trail: Trail) -> list[TierRecord]:
    """The tasks that working memory knows as still to be done."""

    def look(connection: Connection) -> list[TierRecord]:
        wheres = [tier_rows.Where({"status": status}) for status in AT_WORK]
        return [
            task
            for where in wheres
            for task in tier_rows.rows(connection, trail.workspace_id, KINDS["task"], "working", where, MOST_TASKS)
        ]

    return trail.ask(look, [])
