"""Journal, conversations, reflections and token use of the crystallized system (seed 003) as records, and back. Pure.

A record is known by what it says, when, and as which of several that are equal: a second import finds each again,
also where a person has changed or deleted it since.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

from nanomem_tui.agents.databases import Raw
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Problem
from nanomem_tui.language.secrets import mask
from nanomem_tui.memory.transfer import rows
from nanomem_tui.memory.transfer.values import NOUNS, Found
from nanomem_tui.store.values import Record

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "requests")
SOURCE = "import"


class Table(NamedTuple):
    """A table of theirs: the kind of record that a row of it is, its columns but the id, and how a row is read."""

    kind: str
    columns: tuple[str, ...]
    fields: Callable[[Raw], dict[str, Any]]


def _journal(raw: Raw) -> dict[str, Any]:
    fields = {"about": _day(raw), "text": raw.get("content"), "at": raw.get("created_at")}
    return _worded(fields, "content")


def _message(raw: Raw) -> dict[str, Any]:
    chat = _name(raw, "chat_id")
    fields = {"about": chat, "text": raw.get("message"), "at": raw.get("timestamp")}
    return {**_worded(fields, "message"), "session_key": chat, "meta": {"role": _name(raw, "role")}}


def _reflection(raw: Raw) -> dict[str, Any]:
    given = {"args": raw.get("tool_args"), "error": raw.get("error_text")}
    if not isinstance(given["error"], str) or not isinstance(given["args"] or "", str):
        raise rows.BadRow("tool_args or error_text is no text")
    tool = _name(raw, "tool_name")
    fields = {"about": tool, "text": raw.get("insight"), "at": raw.get("created_at")}
    meta = {name: text for name, text in given.items() if text}
    return {**_worded(fields, "insight"), "session_key": raw.get("session_key"), "meta": meta}


def _usage(raw: Raw) -> dict[str, Any]:
    counts = {name: raw.get(name) for name in COUNTS}
    for name, value in counts.items():
        if not isinstance(value, int) or value < 0:
            raise rows.BadRow(f"{name} is no count")
    times = {"at": raw.get("updated_at"), "created_at": raw.get("created_at"), "updated_at": raw.get("updated_at")}
    meta = {"model": _name(raw, "model"), "source": SOURCE, **counts}
    return {"about": _day(raw), "meta": meta, **times}


TABLES: Mapping[str, Table] = {
    "journal": Table("journal", ("date", "content", "created_at"), _journal),
    "conversations": Table("message", ("chat_id", "role", "message", "timestamp"), _message),
    "reflections": Table(
        "reflection", ("tool_name", "tool_args", "error_text", "insight", "session_key", "created_at"), _reflection
    ),
    "token_usage": Table("usage", ("date", "model", *COUNTS, "created_at", "updated_at"), _usage),
}


def read_record_rows(name: str, theirs: Iterable[tuple[int, Raw]], where: str) -> tuple[list[Found], list[Problem]]:
    """The records in the rows of one of their tables, and why rows are left out."""
    kind, columns, fields = TABLES[name]
    found: list[Found] = []
    problems: list[Problem] = []
    equal = Counter[str]()
    for number, raw in theirs:
        place = f"{NOUNS[kind][0]} {number}"
        said = [raw.get(column) for column in (columns[:2] if name == "token_usage" else columns)]
        try:
            made = fields(raw)
            told = json.dumps(said, default=repr)
            equal[told] += 1
            digest = hashlib.sha256(json.dumps([name, told, equal[told]]).encode()).hexdigest()[:20]
            row, note = rows.record({"source": SOURCE, "kind": kind, **made, "id": f"{kind}_{digest}"})
        except rows.BadRow as error:
            problems.append(Problem(f"{place}: {error}", where))
        else:
            if name == "conversations":  # two messages of one second keep their order
                row = row._replace(meta_json=json.dumps({**row.meta, "number": number}, ensure_ascii=False))
            found.append(Found(row, place, note))
    return found, problems


def masked(row: Record) -> Record:
    """The record with a name in place of each secret in what was said and done."""
    if row.kind == "reflection":
        meta = row.meta
        hidden = {name: mask(value) if isinstance(value, str) else value for name, value in meta.items()}
        row = row._replace(meta_json=json.dumps(hidden, ensure_ascii=False)) if hidden != meta else row
    return row._replace(text=mask(row.text)) if row.text else row


def orders(row: Record) -> str:
    """How a journal entry or a reflection reads as an order to the model; empty when it does not."""
    if row.kind not in ("journal", "reflection"):
        return ""
    from nanomem_tui.language import injection

    return injection.reason("\n".join((row.text, str(row.meta.get("error") or ""))))


def values(row: Record) -> tuple[Any, ...]:
    """A record as a row of its table there, in the order of its columns."""
    meta = row.meta
    made, changed = clock_there(row.created_at or row.at), clock_there(row.updated_at or row.at)
    if row.kind == "journal":
        return row.about, row.text, clock_there(row.at)
    if row.kind == "message":
        return row.about, str(meta.get("role") or "user"), row.text, clock_there(row.at)
    if row.kind == "reflection":
        args = meta.get("args")
        given = args if isinstance(args, str) or args is None else json.dumps(args, ensure_ascii=False)
        return row.about, given, str(meta.get("error") or ""), row.text, row.session_key or None, clock_there(row.at)
    counts = [meta.get(name) for name in COUNTS]
    return row.about, str(meta.get("model") or ""), *(n if isinstance(n, int) else 0 for n in counts), made, changed


def clock_there(text: str) -> str:
    """A time as that system writes it: local, whole seconds."""
    moment = clock.parse(text) or clock.now()
    return clock.local_naive(moment.replace(microsecond=0))


def _day(raw: Raw) -> str:
    """The day that a row belongs to: as it says, else that of its time."""
    for text in (raw.get("date"), str(raw.get("created_at"))[:10]):
        try:
            return date.fromisoformat(str(text).strip()).isoformat()
        except ValueError:
            continue
    raise rows.BadRow("date is no day")


def _name(raw: Raw, column: str) -> str:
    value = raw.get(column)
    if not isinstance(value, str) or not value.strip():
        raise rows.BadRow(f"{column} is {'missing' if value is None else 'no name'}")
    return value


def _worded(fields: dict[str, Any], column: str) -> dict[str, Any]:
    """The fields of a record that has words and a time. Raises BadRow for one that has none."""
    if not isinstance(fields["text"], str):
        raise rows.BadRow(f"{column} is {'missing' if fields['text'] is None else 'no text'}")
    if clock.parse(fields["at"] if isinstance(fields["at"], str) else "") is None:
        raise rows.BadRow("its time is no time")
    return fields
