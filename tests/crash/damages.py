"""What can befall a file: the kinds of damage, and everything that a person sees of a memory, part by part.

Owns the tables `DAMAGES` and `PARTS`. Must not know what is promised of a damaged file.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.workspace import Workspace

LONG = 10 * 1024 * 1024
"""Bytes of a line that is too long for anybody."""
Damage = Callable[[bytes, random.Random], bytes]


def flipped(data: bytes, draw: random.Random) -> bytes:
    """One bit."""
    if not data:
        return b"\x01"
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def torn(data: bytes, draw: random.Random) -> bytes:
    """The tail is gone."""
    return data[: draw.randrange(len(data))] if data else b""


def put_in(what: bytes, *, whole_line: bool = False) -> Damage:
    """Bytes put in somewhere, or as a line of their own."""

    def damage(data: bytes, draw: random.Random) -> bytes:
        places = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10), len(data)]
        at = draw.choice(places) if whole_line else draw.randrange(len(data) + 1)
        return data[:at] + what + data[at:]

    return damage


def zeroed(data: bytes, draw: random.Random) -> bytes:
    """A piece became zeros, as after a crash of the system."""
    if not data:
        return b"\0" * 512
    at = draw.randrange(len(data))
    size = min(512, len(data) - at)
    return data[:at] + b"\0" * size + data[at + size :]


DAMAGES: dict[str, Damage] = {
    "a flipped bit": flipped,
    "a torn tail": torn,
    "junk": put_in(b"\xff\xfe\xff"),
    "zeros": zeroed,
    "a BOM": lambda data, draw: b"\xef\xbb\xbf" + data,
    "CRLF": lambda data, draw: data.replace(b"\n", b"\r\n"),
    "a lone surrogate": put_in(b"\xed\xa0\x80"),
    "a surrogate escaped": put_in(b"\\ud800"),
    "a line of 10 MB": put_in(b"x" * LONG + b"\n", whole_line=True),
    "emptied": lambda data, draw: b"",
}


def _transcripts(ws: Workspace) -> list[object]:
    return [
        (info.key, message.role, message.content)
        for info in ws.sessions.list()
        if not info.hidden_reason
        for message in ws.sessions.get(info.key).messages
    ]


def _turns(ws: Workspace) -> list[object]:
    logs = [ws.wal.get(info.session_key) for info in ws.wal.list()]
    return [(state.session_key, turn.pre.get("user"), turn.assistant) for state in logs for turn in state.turns]


def _records(ws: Workspace) -> list[object]:
    kinds = [kind for kind, found in ws.records.counts().items() if sum(found.values())]
    return [
        (kind, record.key, repr(record.fields), record.tier)
        for kind in kinds
        for record in ws.records.list_records(kind)
    ]


def _knowledge(ws: Workspace) -> list[object]:
    return [(one.title, repr(chunk)) for one in ws.knowledge.documents() for chunk in ws.knowledge.chunks(one.id)]


PARTS: dict[str, Callable[[Workspace], list[Any]]] = {
    "items": lambda ws: [(row.id, row.text, row.enabled, row.pinned) for row in ws.items.all()],
    "lessons": lambda ws: [(row.id, row.trigger, row.better_action, row.enabled) for row in ws.lessons.all()],
    "SOUL.md": lambda ws: (ws.documents.read("SOUL.md") or "").splitlines(),
    "USER.md": lambda ws: (ws.documents.read("USER.md") or "").splitlines(),
    "MEMORY.md": lambda ws: (ws.documents.read("memory/MEMORY.md") or "").splitlines(),
    "archive": lambda ws: [(entry.cursor, entry.content) for entry in ws.history.entries()],
    "notes": lambda ws: [(note.name, ws.notes.read(note.name)) for note in ws.notes.list()],
    "transcripts": _transcripts,
    "turns": _turns,
    "records": _records,
    "what happens now": lambda ws: [repr(entry.data) for entry in ws.operational.recent(None)],
    "knowledge": _knowledge,
    "operations": lambda ws: [(entry.operation.id, entry.operation.label) for entry in ws.log(limit=10_000)],
    "versions": lambda ws: [(commit.sha, commit.message) for commit in ws.dream.commits()],
}  # fmt: skip
"""Everything that is shown, as rows that can be counted."""


def seen(ws: Workspace) -> dict[str, Counter[object] | str]:
    """Each part as its rows, or the line that says why it cannot be shown."""
    found: dict[str, Counter[object] | str] = {}
    for name, look in PARTS.items():
        try:
            found[name] = Counter(look(ws))
        except NanomemError as error:
            found[name] = error.line()
    return found


def gone(before: Counter[object] | str, after: Counter[object] | str) -> int:
    """Rows of a part that are not there any more; all of them where it is not shown."""
    assert isinstance(before, Counter)
    return before.total() if isinstance(after, str) else (before - after).total()
