"""Whether a file as a whole is that of a session that is forgotten, by its name and its beginning. Changes nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

from nanomem_tui import json_text, regular
from nanomem_tui.formats.session_names import (
    CHECKPOINT_SUFFIX,
    SUFFIX,
    key_to_lossy_name,
    key_to_own_name,
    lossy_name_to_key,
    name_to_key,
)
from nanomem_tui.formats.wal_state import wal_name
from nanomem_tui.purge import session_state
from nanomem_tui.purge.wanted_words import Marks


def is_of(path: Path, kind: str, marks: Marks) -> bool:
    """Whether a file as a whole is that of a session: its transcript, the turn in flight beside it, its log, and what
    was kept of these before a change. `kind`: that of its place."""
    if not marks.sessions or kind not in ("file", "transcript", "other", "binary", "blob"):
        return False
    name, head = path.name, b""
    if kind in ("transcript", "blob") or ".jsonl" in name or name.endswith(".md"):
        with contextlib.suppress(OSError), regular.opened(path) as file:
            head = file.read(1 << 12) if name.endswith(".md") else file.readline(1 << 20)
    return is_session(name, head, marks)


def is_session(name: str, head: bytes, marks: Marks) -> bool:
    """The same of a file of that name, or none, that begins so. Two sessions may have one name: a log of turns says
    itself whose it is."""
    if session_state.is_one(head) and (key := session_state.key_of(head[: 1 << 12])):
        return marks.has_session(key)
    for key in marks.sessions:
        named = (key_to_own_name(key), key_to_lossy_name(key))
        if name in (*named, wal_name(key), *(one.removesuffix(".jsonl") + CHECKPOINT_SUFFIX for one in named)):
            return True
    if any(map(marks.has_session, _keys_of(name))):
        return True
    if head[:1] == b"{":
        with contextlib.suppress(ValueError, RecursionError):
            told = json_text.loads(head.partition(b"\n")[0])
            return isinstance(told, dict) and told.get("key") in marks.sessions
    return False


def _keys_of(name: str) -> list[str]:
    """The sessions that a transcript, or what lies beside it, may be of by its name: of what is kept as hashes no name
    can be made."""
    stem = name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX)
    if stem == name:
        return []
    lossy = lossy_name_to_key(stem + SUFFIX)
    return [key for key in (name_to_key(stem + SUFFIX), lossy) if key]
