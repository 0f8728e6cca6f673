"""Transcripts of our own, for an agent that keeps none: appended message by message.

Says when one is to be compacted; that is an operation like any other. A secret that was said is written as its kind and
fingerprint. The form is the agents' (a metadata line, then one message a line), so everything that reads theirs reads
ours. Must never be pointed at a folder that an agent owns: this module makes files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nanomem_tui.agents.jsonl import dump_line
from nanomem_tui.agents.transcripts import Session, key_to_own_name, parse_session
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.atomic import opened, read_from
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.files import read_log
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import secrets

_HEAD = 1 << 16  # bytes of the metadata line that are read: a summary in it has at most 12,000 characters
ROLES = ("user", "assistant", "tool", "system")


class OwnSession:
    """One transcript: messages added in RAM, written by `save` in one append."""

    def __init__(self, key: str, path: Path, settings: Settings) -> None:
        self.key = key
        self.path = path
        self._settings = settings
        self._waiting: list[bytes] = []
        self._count: tuple[int, int, int] = (0, 0, 0)  # inode, bytes counted, messages in them
        self._cut_to = 0
        self._look_again = 0
        self.is_over_budget = False
        """Whether the last save left more than `consolidate_budget_tokens` that was not archived, by its size."""

    def add_message(self, role: str, content: str, **fields: Any) -> None:
        """A message of `role` with further fields of the format (`tool_calls`, `tool_call_id`, `name`, `timestamp`).

        Written by the next `save`. Raises BadInput for an unknown role or a value that JSON cannot hold.
        """
        if role not in ROLES:
            raise BadInput(f"unknown role `{role}`", self.key, f"one of {', '.join(ROLES)}")
        at = fields.pop("timestamp", None) or clock.local_naive(clock.now())
        told = {name: secrets.mask_value(value) for name, value in {"content": content, **fields}.items()}
        self._waiting.append(dump_line({"role": role, "content": told.pop("content"), "timestamp": at, **told}))

    def save(self) -> int:
        """Append what waits, in one write; returns how many messages that were.

        The cost does not grow with the transcript. Raises the errors of `from_os_error`; what waits is kept then.
        """
        if not self._waiting:
            return 0
        number = len(self._waiting)
        data = b"".join(self._waiting)
        with opened(self.path, "writing the session") as handle:
            found = os.fstat(handle)
            head = b"" if found.st_size else _header(self.key)
            counted = self._counted(handle, found) + number
            atomic.append_to(handle, head + data)
            self._waiting.clear()
            found = os.fstat(handle)
            self._count = (found.st_ino, found.st_size, counted)
            self.is_over_budget = self._is_over_budget(handle)
        return number

    @property
    def is_full(self) -> bool:
        """Whether it is beyond a threshold and is to be compacted, as of the last save."""
        return self._is_long() or self._is_heavy()

    def was_compacted(self) -> None:
        """Note its size: one that is as heavy after a compaction is not compacted again at once."""
        self._cut_to = self.path.stat().st_size

    def read(self) -> Session:
        """The whole transcript as it is on disk. Raises the errors of `from_os_error`."""
        data = read_log(self.path) if self.path.exists() else b""
        return parse_session(data, self.path.name, self.key)

    def _counted(self, handle: int, found: os.stat_result) -> int:
        """Messages in the file so far: known from the last save, or counted where somebody else wrote since."""
        inode, size, messages = self._count
        if (inode, size) == (found.st_ino, found.st_size):
            return messages
        start, messages = (size, messages) if inode == found.st_ino and size <= found.st_size else (0, 0)
        added = read_from(handle, start).count(b"\n")
        return messages + added - (start == 0 and added > 0)  # the first line is the metadata

    def looked_at(self) -> None:
        """Note that somebody counts its tokens now: it is worth another look once it has grown by an eighth of them."""
        self.is_over_budget = False
        budget = self._settings.consolidate_budget_tokens * self._settings.consolidate_chars_per_token
        self._look_again = self._count[1] + round(budget / 8)

    def _is_over_budget(self, handle: int) -> bool:
        """Estimated: the messages behind the offset of the first line are as long as all of them on average."""
        settings = self._settings
        _, size, messages = self._count
        least = settings.consolidate_budget_tokens * settings.consolidate_chars_per_token
        if size <= least or size < self._look_again:
            return False
        try:
            archived = int(json.loads(os.pread(handle, _HEAD, 0).partition(b"\n")[0])["last_archived"])
        except (ValueError, KeyError, TypeError, RecursionError):
            archived = 0
        return size * max(0, messages - archived) > least * max(1, messages)

    def _is_long(self) -> bool:
        settings = self._settings
        return self._count[2] >= max(settings.session_compact_threshold_messages, settings.session_keep_messages + 1)

    def _is_heavy(self) -> bool:
        """Whether there are too many bytes, and twice as many as the last compaction could not help."""
        return self._count[1] >= max(self._settings.session_compact_threshold_bytes, 2 * self._cut_to)


class OwnSessions:
    """The transcripts in one folder of ours, which is made at the first message."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self._settings = settings
        self._sessions: dict[str, OwnSession] = {}

    def get_or_create(self, key: str) -> OwnSession:
        """The transcript of `key`; nothing is written before its first message is saved. Raises BadInput."""
        session = self._sessions.get(key)
        if session is None:
            session = OwnSession(key, self.folder / key_to_own_name(key), self._settings)
            self._sessions[key] = session
        return session

    def over_budget(self) -> list[OwnSession]:
        """Return the sessions that turns of this process left over their budget."""
        return [session for session in list(self._sessions.values()) if session.is_over_budget]

    def keys(self) -> Sequence[str]:
        """The keys that were asked for in this process."""
        return tuple(self._sessions)


def _header(key: str) -> bytes:
    now = clock.local_naive(clock.now())
    head: Mapping[str, Any] = {
        "_type": "metadata", "key": key, "created_at": now, "updated_at": now, "metadata": {},
        "last_archived": 0, "last_consolidated": 0,
    }  # fmt: skip
    return json.dumps(head, ensure_ascii=False).encode() + b"\n"
