"""The records of an agent's work as lines of our own file, and back: every kind and field, of both tiers.

A line: `{"type": "work", "kind", "id", "tier", "fields": {…}, "origin", "stored_at", "changed_at"}`. Knows the form of
a line, and how a file of any length is written without being held in memory. Must not know how a row is judged.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.agents import jsonl
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, from_os_error
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.transfer.rows import BadRow
from nanomem_tui.memory.transfer.values import Found
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord, checked, checked_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

TYPE = "work"
"""What such a line says that it is; the head of the file counts them under that name."""


def count(connection: Connection) -> int:
    """How many records there are."""
    from nanomem_tui.store.work import records as work_records

    return sum(work_records.count(connection, kind) for kind in KINDS.values())


def records(connection: Connection) -> Iterator[TierRecord]:
    """Every record, kind by kind, oldest first."""
    from nanomem_tui.store.work import records as work_records

    for kind in KINDS.values():
        yield from work_records.each(connection, kind)


def write(path: Path, rows: Iterable[TierRecord], head: Mapping[str, Any], told: Counter[str]) -> None:
    """Write records to a file, 0600, whole or not at all, and none where there are none; `told` gets how many of each
    kind. Raises what reading them does, and the errors of `from_os_error`."""
    temporary = path.with_name(f".{path.name[:50]}.{os.urandom(6).hex()}.nanomem-tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, atomic.PRIVATE_FILE)
        with open(handle, "wb") as file:
            file.write(jsonl.dump_line(head))
            for record in rows:
                told[record.kind] += 1
                file.write(jsonl.dump_line({"type": TYPE, **record._asdict(), "fields": dict(record.fields)}))
            file.flush()
            os.fsync(handle)
        if told:
            os.replace(temporary, path)
            atomic.sync_folder(path.parent)
    except OSError as error:
        error.filename = str(path)
        raise from_os_error(error, f"writing {path.name}") from error
    finally:
        temporary.unlink(missing_ok=True)


def found(raw: Mapping[str, Any], place: str) -> Found:
    """The record of a line. Raises BadRow with the reason for what is none."""
    kind = KINDS.get(str(raw.get("kind")))
    if kind is None:
        raise BadRow(f"no such kind of record: {one_line(str(raw.get('kind')), 40)}")
    tier, fields = raw.get("tier"), raw.get("fields")
    if tier not in kind.tiers:
        raise BadRow(f"a {kind.name} has no tier {one_line(str(tier), 40)}")
    if not isinstance(fields, dict):
        raise BadRow("its fields are no object")
    try:
        record_id, whole = checked_id(str(raw.get("id") or "")), checked(kind, fields)
    except BadInput as error:
        raise BadRow(error.what) from None
    stored, changed = (_time(raw, name) for name in ("stored_at", "changed_at"))
    origin = one_line(str(raw.get("origin") or "import"), 40)
    record = TierRecord(kind.name, record_id, whole, tier, origin, stored, changed)
    return Found(record, place, given=frozenset(fields))


def _time(raw: Mapping[str, Any], name: str) -> str:
    given = raw.get(name)
    moment = clock.parse(given) if isinstance(given, str) else None
    if moment is None:
        raise BadRow(f"{name} is no time")
    return clock.iso(moment)
