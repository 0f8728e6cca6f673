"""Our own file of memories: JSON lines with every field of every item, lesson and record. Pure.

First the head: `{"nanomem": "memory", "version": 1, "workspace_id", "exported_at", "items", "lessons", "records"}`;
then one line a row: its fields by the names of `Item`, `Lesson` and `Record`, and `type`, "item", "lesson" or "record";
of a fact also `earlier`, its former values. Work records are written in the same way. The document that
`memory export` prints is read too.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nanomem_tui.agents import jsonl
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, Problem, from_os_error
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.transfer import import_plan
from nanomem_tui.memory.transfer.crystallized import EARLIER, with_earlier
from nanomem_tui.memory.transfer.import_plan import BadRow, Found, Reading
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Lesson, Record
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord, checked, checked_id

if TYPE_CHECKING:
    from sqlalchemy import Connection


# The records of an agent's work as lines of our own file, and back: every kind and field, of both tiers.

TYPE = "work"
"""What such a line says that it is; the head of the file counts them under that name."""


def count(connection: Connection) -> int:
    """Return how many records there are."""
    from nanomem_tui.store.work import records as work_records

    return sum(work_records.count(connection, kind) for kind in KINDS.values())


def records(connection: Connection) -> Iterator[TierRecord]:
    """Yield every record, kind by kind, oldest first."""
    from nanomem_tui.store.work import records as work_records

    for kind in KINDS.values():
        yield from work_records.each(connection, kind)


def write(path: Path, rows: Iterable[TierRecord], head: Mapping[str, Any], told: Counter[str]) -> None:
    """Write work records to a file, 0600, whole or not at all; `told` counts each kind."""
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
    """Return the record of a line. Raises BadRow with the reason for what is none."""
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


MARK = "nanomem"
VERSION = 1
LOST = "nothing"
Earlier = Mapping[str, Sequence[Mapping[str, Any]]]


def dump(
    items: Sequence[Item],
    lessons: Sequence[Lesson],
    workspace_id: str,
    records: Sequence[Record] = (),
    earlier: Earlier = MappingProxyType({}),
) -> bytes:
    """Return the file. `earlier`: what facts were before, by their ids."""
    counts = {"items": len(items), "lessons": len(lessons), "records": len(records)}
    lines = [jsonl.dump_line({**head(workspace_id), **counts})]
    lines += [jsonl.dump_line({**_fields("item", row), **told_earlier(earlier.get(row.id))}) for row in items]
    lines += [jsonl.dump_line(_fields("lesson", row)) for row in lessons]
    lines += [jsonl.dump_line(_fields("record", row)) for row in records]
    return b"".join(lines)


def head(workspace_id: str) -> dict[str, Any]:
    """Return the beginning of the first line of such a file."""
    marked = {MARK: "memory", "version": VERSION}
    return {**marked, "workspace_id": workspace_id, "exported_at": clock.iso(clock.now())}


def told_earlier(values: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Return the field of a fact that holds its earlier values, if it had any."""
    return {EARLIER: list(values)} if values else {}


def _fields(kind: str, row: AnyRow) -> dict[str, Any]:
    body = row._asdict()
    del body["revision"]
    flags: dict[str, Any] = {name: bool(body[name]) for name in ("enabled", "pinned", "is_deleted") if name in body}
    return {"type": kind, **body, **flags}


def is_ours(data: bytes) -> bool:
    """Return whether the first line is the head of such a file."""
    first = data.removeprefix(jsonl.BOM).split(b"\n", 1)[0]
    try:
        return MARK in jsonl.parse_object(first.rstrip(b"\r"))
    except ValueError:
        return False


def read(data: bytes, where: str, workspace_id: str) -> Reading:
    """Return the rows of the file, line by line. One that names a newer version is read as far as it is understood."""
    found: list[Found] = []
    problems: list[Problem] = []
    first: Mapping[str, Any] = {}
    for record in jsonl.records(data, where):
        if record.problem is not None:
            problems.append(record.problem)
        if record.value is None:
            continue
        if MARK in record.value:
            first = record.value
            continue
        try:
            found.append(_found(record.value, str(record.value.get("type")), workspace_id, f"line {record.number}"))
        except import_plan.BadRow as error:
            problems.append(Problem(str(error), where, record.number))
    version = first.get("version")
    if version != VERSION:
        problems.append(Problem(f"version {version!r}, this nanomem knows {VERSION}", where, 1, severity="warning"))
    missing = _expected(first) - len(found)
    if missing > 0 and not any(problem.severity == "error" for problem in problems):
        problems.append(Problem(f"{missing} rows that its first line promises are not there: it was cut off", where))
    return _reading("jsonl", found, problems)._replace(trusted=first.get("workspace_id") == workspace_id)


def is_document(value: object) -> bool:
    """Return whether a JSON value is the document of `memory export`."""
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return False
    return isinstance(value.get("lessons"), list)


def read_document(value: Mapping[str, Any], where: str, workspace_id: str) -> Reading:
    """Return the rows of the document of `memory export`."""
    found: list[Found] = []
    problems: list[Problem] = []
    for kind in ROW_LAYERS:
        rows_there = value.get(f"{kind}s")
        for number, raw in enumerate(rows_there if isinstance(rows_there, list) else (), 1):
            try:
                if not isinstance(raw, dict):
                    raise import_plan.BadRow("is no object")
                found.append(_found(raw, kind, workspace_id, f"{kind} {number}"))
            except import_plan.BadRow as error:
                problems.append(Problem(f"{kind} {number}: {error}", where))
    return _reading("json", found, problems)


def _found(raw: Mapping[str, Any], kind: str, workspace_id: str, place: str) -> Found:
    if kind == "item":
        item, note = import_plan.item(raw, workspace_id, ours=True)
        item, left = with_earlier(item, raw.get(EARLIER))
        return Found(item, place, "; ".join(filter(None, (note, left))))
    if kind in ("lesson", "record"):
        row, note = import_plan.lesson(raw, ours=True) if kind == "lesson" else import_plan.record(raw, ours=True)
        return Found(row, place, note)
    if kind == TYPE:
        return found(raw, place)
    raise import_plan.BadRow(f"neither an item, a lesson nor a record but {json.dumps(kind)[:40]}")


def _reading(name: str, found: Sequence[Found], problems: Sequence[Problem]) -> Reading:
    active = [one for one in found if isinstance(one.row, TierRecord) or not one.row.is_deleted]
    return Reading(name, active, problems, ours=True, deleted=len(found) - len(active))


def _expected(head: Mapping[str, Any]) -> int:
    counts = [head.get(name) for name in (*(f"{name}s" for name in ROW_LAYERS), TYPE)]
    return sum(number for number in counts if isinstance(number, int) and not isinstance(number, bool))
