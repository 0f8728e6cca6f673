"""Work records of seed 004's two databases, read as records of ours, and what an import would do with each.

A record is known by its kind and its id. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents import work_records
from nanomem_tui.agents.work_records import WorkRow
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Problem
from nanomem_tui.memory.transfer.import_plan import TWICE, Choices, Entry, Found, Reading, describe_differing
from nanomem_tui.store.work.kinds import KINDS, Kind
from nanomem_tui.store.work.values import COUNTERS, TierRecord, checked, checked_id, differing

if TYPE_CHECKING:
    from nanomem_tui.store.work.work_store import WorkStore

EMPTY = "(none)"
"""Stands for a text that a record needs and that is empty there."""
SOURCE = "import"


def read(path: Path, where: str, name: str) -> Reading:
    """Return every row of the known tables; `name`: what the format is called. Raises what opening does."""
    theirs = work_records.read_work_records(path, where)
    found: list[Found] = []
    problems = list(theirs.problems)
    refused = dict(theirs.refused)
    at = clock.iso(clock.now())
    for row in theirs.rows:
        try:
            found.append(_found(row, at))
        except BadInput as error:
            refused[row.kind] = refused.get(row.kind, 0) + 1
            problems.append(Problem(f"{row.place}: {error.what}", where))
    return Reading(name, found, problems, refused=refused)


def _found(row: WorkRow, at: str) -> Found:
    """A row as a record. Raises BadInput for what can be none."""
    kind = KINDS[row.kind]
    empty = [field.name for field in kind.fields if field.name not in row.fields and _needs_words(kind, field.name)]
    whole = checked(kind, {**row.fields, **dict.fromkeys(empty, EMPTY)})
    told = [f"{name} was empty" for name in empty]
    given = frozenset((*row.fields, *empty))
    if kind.when not in given and whole[kind.when]:
        told.append(f"{kind.when} was empty: the time of the import")
    made = TierRecord(kind.name, checked_id(row.id), whole, kind.tier, SOURCE, at, at)
    table = row.place.partition(" ")[0]
    return Found(made, f"{table} {made.id}", "; ".join(filter(None, (row.note, *told))), given)


def _needs_words(kind: Kind, name: str) -> bool:
    field = kind.field(name)
    return field is not None and field.type == "text" and field.required and field.default is None


class PresentRecords(NamedTuple):
    """What is here of the records of an import: those that there are, and the keys of those that were deleted."""

    records: Mapping[str, TierRecord] = {}
    deleted: frozenset[str] = frozenset()


def here(database: WorkStore, rows: Iterable[TierRecord]) -> dict[str, TierRecord]:
    """Return the records of ours of the same kinds and ids, by their keys. Raises the store's errors."""
    wanted = list(rows)
    if not wanted or not database.exists:
        return {}

    from nanomem_tui.store.work import records as work_records

    def read_records(connection: Any) -> dict[str, TierRecord]:
        found = (work_records.get(connection, KINDS[row.kind], row.id) for row in wanted)
        return {row.key: row for row in found if row is not None}

    return database.read(read_records)


class WorkPlanner:
    """Decides over records one by one; what an earlier one brings counts as there for a later one."""

    def __init__(self, ours: PresentRecords, choices: Choices) -> None:
        self._ours = ours
        self._choices = choices
        self._coming: dict[str, TierRecord] = {}

    def entry(self, row: TierRecord, place: str, given: frozenset[str]) -> Entry:
        """Return the verdict on a record; `given`: the fields that theirs has."""
        if row.key in self._coming:
            return Entry("same", row, place, TWICE, self._coming[row.key])
        present = self._ours.records.get(row.key)
        entry = self._met(row, place, present, given) if present is not None else self._new(row, place)
        if isinstance(entry.row, TierRecord):
            self._coming[row.key] = entry.row
        return entry

    def _new(self, row: TierRecord, place: str) -> Entry:
        why = self._choices.reason_back(row.key) if row.key in self._ours.deleted else ""
        if why is None:
            return Entry("deleted", row, place, "it was deleted here")
        return Entry("new", row, place, why)

    def _met(self, row: TierRecord, place: str, present: TierRecord, given: frozenset[str]) -> Entry:
        names = [name for name in differing(present, row) if name in given]
        moved = [name for name in names if name in COUNTERS]
        if not names:
            return Entry("same", row, place, "it is here", present)
        if self._choices.takes_theirs(newer=_last(row) > _changed(present)):
            fields = {**present.fields, **{name: row.fields[name] for name in names}}
            what = f"{describe_differing(names)}: theirs is taken"
            return Entry("update", present._replace(fields=fields, changed_at=row.stored_at), place, what, present)
        if moved == names:
            return Entry("same", row, place, f"it is here; used since ({', '.join(names)})", present)
        return Entry("conflict", row, place, f"{describe_differing(names)}: ours stays", present)


def _last(record: TierRecord) -> str:
    times = (field.name for field in KINDS[record.kind].fields if field.type == "time")
    return max((record.fields.get(name) or "" for name in times), default="")


def _changed(record: TierRecord) -> str:
    return max(_last(record), record.changed_at if record.changed_at != record.stored_at else "")
