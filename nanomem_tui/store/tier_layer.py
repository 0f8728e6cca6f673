"""The layer `tier` of operations: records of an agent's work as a person, an import or a restore changes them.

Keys are `<kind>/<id>`; a value is the whole record, None for none. Checked against `tiers.db` and written there; the
ledger has the operation before. What agents record themselves does not come this way (docs/decisions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.operations import Change, Operation, Value
from nanomem_tui.store import tier_rows
from nanomem_tui.store.tier_kinds import Kind, kind_of
from nanomem_tui.store.tier_values import TierRecord

if TYPE_CHECKING:  # who only looks at what a change is made of opens no database
    from nanomem_tui.store.tier_database import TierDatabase

NAME = "tier"


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


class TierLayer:
    """How operations change records."""

    name = NAME

    def __init__(self, database: TierDatabase, workspace_id: str) -> None:
        self._database = database
        self._workspace_id = workspace_id

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when a record is not what a change starts from; counters may have moved."""
        for found, one in self._found(changes):
            kind, record_id = split(one.key)
            before = None if one.before is None else record_of(one.key, one.before)
            if found is None and before is not None:
                raise Conflict(f"{kind.name} is gone", record_id, "nothing was changed")
            if found is not None and before is None:
                raise Conflict(f"{kind.name} already there", record_id, "nothing was changed")
            if found is None or before is None:
                continue
            names = [name for name in tier_rows.differing(before, found) if name not in tier_rows.COUNTERS]
            if names:
                what = f"{kind.name} was changed since ({names[0]})"
                raise Conflict(what, record_id, "look again, or undo the later change first: see `nanomem log`")

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether anything is as it is to be: all of an operation is written in one transaction."""
        return any(_is(found, one.after) and not _is(found, one.before) for found, one in self._found(changes))

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Write the records, durably; what is as it should be stays."""
        keep = [record_of(one.key, one.after) for one in changes if one.after is not None]
        gone = [split(one.key) for one in changes if one.after is None]

        def write(connection: Any) -> None:
            tier_rows.put(connection, self._workspace_id, keep)
            for kind, record_id in gone:
                tier_rows.delete(connection, self._workspace_id, kind, [record_id])

        self._database.write(write, durable=True)

    def _found(self, changes: Sequence[Change]) -> list[tuple[TierRecord | None, Change]]:
        """What is there of each thing that changes."""
        if not self._database.exists:
            return [(None, one) for one in changes]

        def look(connection: Any) -> list[tuple[TierRecord | None, Change]]:
            return [(tier_rows.get(connection, self._workspace_id, *split(one.key)), one) for one in changes]

        return self._database.read(look)


def _is(found: TierRecord | None, value: Value | None) -> bool:
    if found is None or value is None:
        return found is None and value is None
    return dict(found.fields) == dict(value["fields"]) and found.tier == value["tier"]
