"""What `--json` prints: `item`, `lesson`, `session` and so on make the JSON object of a value, `id` first.

Owns which keys scripts may rely on; they are named as in tables and files. What one command alone prints is made beside
that command. `State.show` prints the object, or the text for a person. Pure; reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import clock

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.agents.git import Commit, FileDiff
    from nanomem_tui.agents.session_file import Message, Session
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.lessons import Lessons
    from nanomem_tui.memory.recall.conversations import ConversationHit
    from nanomem_tui.memory.sessions.archive import OldEntry
    from nanomem_tui.memory.sessions.sessions import SessionInfo, TranscriptHit
    from nanomem_tui.memory.turns.traces import OpenTurn
    from nanomem_tui.memory.turns.wal_states import WalInfo
    from nanomem_tui.store.database.operation_log import LogEntry
    from nanomem_tui.store.values import Hit, Item, Lesson, Record

FOREIGN = "foreign:"
"""How the source of a row starts that lies in a database we only read."""


def plain(value: Any) -> Any:
    """`value` in the types of JSON: dataclasses and named tuples as objects, paths and times as text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if hasattr(value, "to_json"):
        return plain(value.to_json())
    if hasattr(value, "__dataclass_fields__"):  # as `dataclasses` tells, which takes longer to import than this to run
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, datetime):
        return clock.iso(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [plain(entry) for entry in value] if isinstance(value, Iterable) else str(value)


def item(row: Item) -> dict[str, Any]:
    """An item; `foreign` when it lies in a database of another system that we only read."""
    flags = {name: bool(getattr(row, name)) for name in ("enabled", "pinned", "is_deleted")}
    return {**row.to_json(), **flags, "foreign": row.source.startswith(FOREIGN)}


def hit(found: Hit) -> dict[str, Any]:
    """A search hit: the item, its score and the parts of it."""
    return {**item(found.item), "score": round(found.score, 6), "parts": plain(found.parts)}


def lesson(row: Lesson, lessons: Lessons) -> dict[str, Any]:
    """A lesson; `effective` is its confidence of now."""
    flags = {name: bool(getattr(row, name)) for name in ("enabled", "is_deleted")}
    return {**row.to_json(), **flags, "effective": round(lessons.effective(row), 3)}


def journal_entry(row: Record) -> dict[str, Any]:
    """An entry of the journal; `date` is the day that it is about."""
    body = row.to_json()
    del body["kind"], body["meta"]
    return {"id": body.pop("id"), "date": body.pop("about"), **body}


def reflection(row: Record) -> dict[str, Any]:
    """A reflection, keyed as the table; `times` it happened, and the id of the `lesson` that it became or None."""
    meta = row.meta
    times = meta.get("times")
    return {
        "id": row.id, "tool_name": row.about, "tool_args": meta.get("args"), "error_text": str(meta.get("error") or ""),
        "insight": row.text, "session_key": row.session_key, "source": row.source,
        "times": times if isinstance(times, int) else 1, "lesson": meta.get("lesson"), "at": row.at,
        "created_at": row.created_at, "updated_at": row.updated_at,
    }  # fmt: skip


def operation(op: Operation | None) -> dict[str, Any] | None:
    """An operation, each change as an object."""
    if op is None:
        return None
    changes = [{"layer": c.layer, "key": c.key, "before": plain(c.before), "after": plain(c.after)} for c in op.changes]
    return {
        "id": op.id, "at": op.at, "actor": op.actor, "kind": op.kind, "label": op.label, "changes": changes,
        "undoes": op.undoes, "redoes": op.redoes, "meta": plain(op.meta),
    }  # fmt: skip


def log_entry(entry: LogEntry, *, key: str | None = None, changes: bool = False) -> dict[str, Any]:
    """An operation of the ledger and whether it was taken back; with the changes of `key`, or with all of them."""
    op = entry.operation
    told = op.only([key]) if key is not None else op if changes else op._replace(changes=())
    body: dict[str, Any] = operation(told) or {}
    if not changes and key is None:
        del body["changes"]
    return {**body, "touched": len(op.changes), "undone": entry.undone}


def problem(found: Problem) -> dict[str, Any]:
    """A thing that wants attention; `id` is its place."""
    place = found.where if found.line is None else f"{found.where}:{found.line}"
    return {"id": place, **found.to_json()}


def session_info(info: SessionInfo) -> dict[str, Any]:
    """A session of the list."""
    body: dict[str, Any] = plain(info)
    return {"id": info.key, **body}


def message(entry: Message) -> dict[str, Any]:
    """A message of a transcript, without the raw line."""
    body: dict[str, Any] = plain(entry)
    body.pop("raw", None)
    return body


def session(whole: Session) -> dict[str, Any]:
    """A session with its messages; what a provider keeps private in it is left out."""
    return {
        "id": whole.key, "key": whole.key, "created_at": plain(whole.created_at), "updated_at": plain(whole.updated_at),
        "last_archived": whole.last_archived, "last_consolidated": whole.last_consolidated,
        "metadata": plain(whole.metadata), "messages": [message(entry) for entry in whole.messages],
        "problems": [problem(found) for found in whole.problems],
    }  # fmt: skip


def transcript_hit(found: TranscriptHit) -> dict[str, Any]:
    """A place in a transcript that holds every word; the score is the number of matches in it."""
    body: dict[str, Any] = plain(found)
    ranges = body.pop("ranges", [])
    head = {"id": f"{found.session_key}#{found.index}", "text": found.text, "score": float(len(ranges))}
    rest = {key: value for key, value in body.items() if key != "text"}
    return {**head, "parts": {"ranges": ranges}, "match": "words", **rest}


def conversation_hit(found: ConversationHit) -> dict[str, Any]:
    """A passage that is near a question: the parts are what its score is the sum of, and the words that it holds."""
    names = {"sessions": ("session_key", "index"), "history": ("session_key", "cursor"), "notes": ("name", "line")}
    key, number = names[found.source]
    parts = {name: round(part, 6) if isinstance(part, float) else part for name, part in found.parts.items()}
    return {
        "id": found.id, "text": found.text, "score": round(found.score, 6), "parts": parts, "match": "nearest",
        "source": found.source, key: found.key, number: found.number, "role": found.role, "timestamp": found.at,
        "before": plain(found.before), "after": plain(found.after),
    }  # fmt: skip


def wal_info(info: WalInfo) -> dict[str, Any]:
    """A WAL file of the list; `open` counts the turns that began and never ended."""
    body: dict[str, Any] = plain(info)
    body["open"] = body.pop("open_turns", 0)
    return {"id": info.session_key, **body}


def open_turn(turn: OpenTurn) -> dict[str, Any]:
    """A turn that began and never ended."""
    body: dict[str, Any] = plain(turn)
    return {"id": f"{turn.session_key}#{turn.number}", **body}


def history_entry(entry: HistoryEntry) -> dict[str, Any]:
    """An entry of the archive; its words stand under `text`, and under `content` as in the file."""
    return {
        "id": entry.cursor, "cursor": entry.cursor, "timestamp": entry.timestamp, "session_key": entry.session_key,
        "text": entry.content, "content": entry.content,
    }  # fmt: skip


def old_entry(one: OldEntry) -> dict[str, Any]:
    """An entry of an old file of the archive: it has no cursor, `id` is its file and line."""
    return {**history_entry(one.entry), "id": one.id, "cursor": None, "file": one.file}


def commit(entry: Commit, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A change of the memory files as a run: the first line of its message, lines counted without the cursor file.

    `meta` is what the ledger holds of it.
    """
    from nanomem_tui.dreams.log import run_of

    return {"id": entry.sha, **run_of(entry, meta).to_json()}


def file_diff(found: FileDiff) -> dict[str, Any]:
    """One file of a change, as a unified diff."""
    return {"id": found.path, "path": found.path, "diff": found.unified()}
