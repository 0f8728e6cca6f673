"""The transcript files of a workspace: where every release puts them, whose they are, and how to read them safely.

A key never becomes a path: files are found by listing folders. Links are never followed and nothing but a regular file
is opened. Must not write.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl, text_of
from nanomem_tui.agents.layout import NOT_READ, Layout, session_folders
from nanomem_tui.agents.transcripts import (
    CHECKPOINT_SUFFIX,
    OFFSET_KEYS,
    SUFFIX,
    Session,
    is_metadata,
    is_own_name,
    is_provider_state,
    key_to_lossy_name,
    key_to_name,
    key_to_own_name,
    lossy_name_to_key,
    name_to_key,
    offset_fault,
    parse_session,
    plain_messages,
)
from nanomem_tui.core import atomic, clock
from nanomem_tui.core import files as core_files
from nanomem_tui.core.atomic import open_locked, read_from
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.files import Stamp, chunks, read_log, stamp_of
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import secrets

NO_METADATA = "no metadata line"
WHOLE = 64_000_000
"""Bytes of a transcript up to which it is held whole: some 70,000 messages in 250 MB."""
TAKEN_OUT = "`nanomem doctor --fix` takes the line out while no agent runs, and undo puts it back"
"""What to do about a line of a transcript that cannot be read."""


class SessionFile(NamedTuple):
    """One transcript file; `current` when it lies where the agent of this layout looks. `link`: it is none, but a link,
    a folder or a pipe in the place of one, and is never opened; `instead` says which."""

    path: Path
    stamp: Stamp
    modified: float
    current: bool
    link: bool
    checkpoint: bool
    instead: str = ""


class Summary(NamedTuple):
    """What a listing says of a transcript, counted line by line. `header` is the metadata that agents obey."""

    header: Mapping[str, Any] | None
    messages: int
    last_archived: int
    problems: int
    other_keys: tuple[str, ...] = ()


def session_files(paths: Paths, layout: Layout, named: Collection[str] | None = None) -> Iterator[SessionFile]:
    """Every transcript file, in no order; `named`: only those with one of these names. Hidden and temporary files are
    left out; what is no regular file is named and not opened."""
    for folder in session_folders(paths, layout):
        current = layout.sessions_dir is not None and folder == layout.sessions_dir
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        names = {entry.name for entry in entries}
        for entry in entries:
            if not entry.name.endswith(SUFFIX) or entry.name.startswith("."):
                continue
            if named is not None and entry.name not in named:
                continue
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                instead = _instead(found.st_mode)
                yield SessionFile(
                    path=folder / entry.name,
                    stamp=stamp_of(found),
                    modified=found.st_mtime,
                    current=current,
                    link=bool(instead),
                    checkpoint=checkpoint_name(entry.name) in names,
                    instead=instead,
                )


def _instead(mode: int) -> str:
    """What lies in the place of a transcript; "" where it is one."""
    if stat.S_ISREG(mode):
        return ""
    kind = core_files.kind_of(mode)
    return "a link, which is not followed" if kind == "link" else f"a {kind} lies in the place of the file"


def checkpoint_name(name: str) -> str:
    """The name of the sidecar with the turn in flight that belongs to a transcript's file name."""
    return name.removesuffix(SUFFIX) + CHECKPOINT_SUFFIX


def key_of(name: str, header: Mapping[str, Any] | None) -> str:
    """Whose transcript a file is: its metadata knows best, then its name."""
    return text_of((header or {}).get("key")) or name_to_key(name) or lossy_name_to_key(name)


def names_of(key: str) -> set[str]:
    """The file names that any release, or we, give to the transcript of a key. Raises BadInput for one that no name can
    hold."""
    return {key_to_name(key), key_to_own_name(key), key_to_lossy_name(key)}


def is_of_one(name: str, header: Mapping[str, Any] | None) -> bool:
    """Whether a transcript is of one session for certain: an old name does not tell, and two keys may share it."""
    key = key_of(name, header)
    if name_to_key(name) == key or is_own_name(name, key):
        return True
    return key == lossy_name_to_key(name) and name.count("_") == 1


def hidden_reason(file: SessionFile, header: Mapping[str, Any] | None, layout: Layout) -> str:
    """Why the agent of this layout does not find that session, in words; "" when it does."""
    name = file.path.name
    if file.link:
        return file.instead
    if layout.release in NOT_READ:
        return ""
    if not file.current:
        return "lies in the folder of an older release, where this agent does not look"
    named, key = name_to_key(name), text_of((header or {}).get("key"))
    if is_own_name(name, key):
        return ""
    if layout.session_naming == "base64url":
        if named is None:
            return "its file name is of an older release, which this agent ignores"
        if key and key != named:
            return f"its file is named for {named}: the agent looks for {key} elsewhere"
        return "" if header is not None else f"it has {NO_METADATA}: the agent loads it but does not list it"
    if key and key not in (named, None) and key_to_lossy_name(key) != name:
        return f"its file is not named as this agent names {key}"
    return ""


def other_keys(name: str, key: str) -> tuple[str, ...]:
    """Keys that an old release put into the same file, as far as its name tells: `slack:T1_C2` with `slack_T1:C2`."""
    if name_to_key(name) == key or key_to_lossy_name(key) != name:
        return ()
    likely = lossy_name_to_key(name)
    return (likely,) if likely != key and ":" in likely else ()


def summarise(file: SessionFile) -> Summary:
    """Count a transcript without holding it in memory; of a long one, lines of the form that agents write are counted
    and not read out. Raises the errors of `from_os_error`."""
    long = file.stamp[1] > WHOLE
    header: dict[str, Any] | None = None
    keys: list[str] = []
    pieces = chunks(file.path)
    first = next(pieces, b"")
    wide = core_files.is_wide(first)
    messages, problems = 0, int(wide)
    for chunk in [core_files.as_utf8(b"".join([first, *pieces]))] if wide else chain([first], pieces):
        if long and (plain := plain_messages(chunk)) is not None:
            messages += plain
            continue
        for record in parse_jsonl(chunk, ""):
            problems += record.problem is not None
            if record.value is None:
                continue
            if is_metadata(record.value):
                problems += header is not None
                header = record.value
                keys.append(text_of(header.get("key")))
            elif not is_provider_state(record.value):
                messages += 1
                problems += not text_of(record.value.get("role"))
    head = header or {}
    offsets = [head.get(name, 0) for name in OFFSET_KEYS]
    faults = [bool(offset_fault(offset, messages)) for offset in offsets]
    at = 0 if OFFSET_KEYS[0] in head else 1
    others = tuple(dict.fromkeys(key for key in keys if key and key != keys[-1]))
    return Summary(
        header=header,
        messages=messages,
        last_archived=0 if faults[at] else int(offsets[at]),
        problems=problems + sum(faults) + (header is None),
        other_keys=others,
    )


def newest_first(files: Iterable[SessionFile]) -> list[SessionFile]:
    """The files by their time of change, the newest first; of the same time, those that the agent finds."""
    return sorted(files, key=lambda file: (file.modified, file.current, file.path.name), reverse=True)


# -- Transcripts of our own, for an agent that keeps none: appended message by message --------------------------------

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
        with open_locked(self.path, "writing the session") as handle:
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
