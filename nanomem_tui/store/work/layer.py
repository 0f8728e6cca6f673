"""The layer `tier` of operations: records of an agent's work as a person, an import or a restore changes them.

Keys are `<kind>/<id>`; a value is the whole record, None for none. The log has the operation before it is applied. What
agents record themselves does not come this way (docs/decisions/0040).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.core.operations import Change, Operation, Value
from nanomem_tui.store.work.kinds import Kind, kind_of
from nanomem_tui.store.work.values import COUNTERS, TierRecord, differing

if TYPE_CHECKING:  # who only looks at what a change is made of opens no database
    from sqlalchemy import Connection

    from nanomem_tui.store.work.work_store import WorkStore

NAME = "tier"
_COUNTED = frozenset({"uses", "success_count", "fail_count"})
"""Counters of which a change is a difference: what was counted since stays counted."""


def change(before: TierRecord | None, after: TierRecord | None) -> Change:
    """The change of a record."""
    record = after or before
    assert record is not None
    return Change(NAME, record.key, _value(before), _value(after))


def _value(record: TierRecord | None) -> Value | None:
    if record is None:
        return None
    return {
        "fields": dict(record.fields),
        "tier": record.tier,
        "origin": record.origin,
        "stored_at": record.stored_at,
        "changed_at": record.changed_at,
    }


def record_of(key: str, value: Mapping[str, Any]) -> TierRecord:
    """The record of a change's value. Raises BadInput for a kind that this release does not know."""
    kind, record_id = split(key)
    fields = {field.name: value["fields"].get(field.name) for field in kind.fields}
    return TierRecord(
        kind.name, record_id, fields, value["tier"], value["origin"], value["stored_at"], value["changed_at"]
    )


def split(key: str) -> tuple[Kind, str]:
    """The kind and the id that a key names. Raises BadInput."""
    name, slash, record_id = key.partition("/")
    if not slash:
        raise BadInput("not the key of a record", key)
    return kind_of(name), record_id


def rewound(found: TierRecord | None, one: Change) -> TierRecord | None:
    """The record `found`, as it was before a change; what others changed of it since stays. Raises BadInput."""
    before, after = _records(one)
    if before is None or after is None:
        return before
    return None if found is None else _merged(found, after, before)


class TierLayer:
    """How operations change records."""

    name = NAME

    def __init__(self, database: WorkStore) -> None:
        self._database = database

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when what a change starts from is not there; counters, and fields that it leaves, may have
        moved."""
        for found, one in self._found(changes):
            kind, record_id = split(one.key)
            before, after = _records(one)
            delete = f"`nanomem record {kind.name} delete {record_id}`"
            if found is None and before is not None:
                raise Conflict(f"{kind.name} is gone", record_id, "nothing was changed")
            if found is not None and before is None:
                fix = f"{delete} first; an undo then by its id, see `nanomem log`"
                raise Conflict(f"{kind.name} already there", record_id, fix)
            if found is None or before is None:
                continue
            names = [name for name in _moved(found, before, after) if name not in COUNTERS]
            if names:
                edit = f"`nanomem record {kind.name} edit {record_id}`"
                fix = f"set it with {edit}, or undo the later change first: see `nanomem log`"
                if after is None:
                    fix = f"{delete} takes it away as it is now"
                raise Conflict(f"{kind.name} was changed since ({names[0]})", record_id, f"look again; {fix}")

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether anything is as it is to be: all of an operation is written in one transaction."""
        return any(_is_done(found, *_records(one)) for found, one in self._found(changes))

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Write the records, durably; what is as it should be stays, and so do fields that no change names."""
        from nanomem_tui.store.work import records

        def write(connection: Connection) -> None:
            for one in changes:
                kind, record_id = split(one.key)
                before, after = _records(one)
                if after is None:
                    records.remove(connection, kind, [record_id])
                    continue
                found = records.get(connection, kind, record_id)
                records.put(connection, [after if found is None or before is None else _merged(found, before, after)])

        self._database.write(write, durable=True)

    def _found(self, changes: Sequence[Change]) -> list[tuple[TierRecord | None, Change]]:
        from nanomem_tui.store.work import records

        def read(connection: Connection) -> list[tuple[TierRecord | None, Change]]:
            return [(records.get(connection, *split(one.key)), one) for one in changes]

        return self._database.ask(read, [(None, one) for one in changes])


def _records(one: Change) -> tuple[TierRecord | None, TierRecord | None]:
    before, after = (None if value is None else record_of(one.key, value) for value in (one.before, one.after))
    return before, after


def _moved(found: TierRecord, before: TierRecord, after: TierRecord | None) -> list[str]:
    """The fields that somebody changed since, of those that are to change: all, where the record is to go."""
    if after is None:
        return differing(before, found)
    names = differing(before, after)
    return [name for name in names if found.fields[name] not in (before.fields[name], after.fields[name])]


def _merged(found: TierRecord, before: TierRecord, after: TierRecord) -> TierRecord:
    """The record as it is, with what a change makes of it."""
    if found.tier == before.tier and not differing(before, found):
        return after
    fields = dict(found.fields)
    for name in differing(before, after):
        was, now = before.fields[name], after.fields[name]
        if name not in COUNTERS or fields[name] == was:
            fields[name] = now
        elif name in _COUNTED and fields[name] != now:
            fields[name] = max(0, fields[name] + now - was)
    tier = after.tier if before.tier != after.tier else found.tier
    return found._replace(fields=fields, tier=tier)


def _is_done(found: TierRecord | None, before: TierRecord | None, after: TierRecord | None) -> bool:
    """Whether a change was made; what agents did since is left out of account."""
    if found is None or after is None:
        return found is None and after is None and before is not None
    if before is None:
        return found.stored_at == after.stored_at
    names = differing(before, after)
    telling = [name for name in names if name not in COUNTERS] or names
    return found.fields != before.fields and all(found.fields[name] == after.fields[name] for name in telling)
