"""The archive of summaries as a layer of operations: entries appended and taken back, its files replaced and renamed.

Keys are paths in the workspace. An entry has `#` and its cursor behind the path; its value is what `entry_value` gives.
A file's value is what `file_value` gives. None is absent in both.

Owns the protocol beside an agent, which writes these files without a lock: refused while one runs. An append makes its
torn last line safe first, is one write, and is durable before `.cursor` follows. An entry is taken back only while
nothing came after it and no Dream has read it. Must not know what an entry means.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.errors import BadInput, Conflict, Refused, from_os_error
from nanomem_tui.formats.history import HistoryEntry, dump_entry, parse_cursor, parse_history
from nanomem_tui.formats.jsonl import torn_tail
from nanomem_tui.operations import Change, Operation, Value
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic, blobs, owners, swap
from nanomem_tui.store.presence import Presence

LAYER = "history"
HISTORY = "memory/history.jsonl"
CURSOR = "memory/.cursor"
HISTORY_MD = "memory/HISTORY.md"
BACKUP = f"{HISTORY_MD}.bak"
_MODE = 0o644  # as an agent makes them
_AGAIN = "look at it again and repeat the change"
_BACKUPS = re.compile(rf"{re.escape(BACKUP)}(?:\.\d{{1,9}})?")


class Archive(NamedTuple):
    """The archive as it is: its bytes, its entries, and the last cursor given (0: none)."""

    data: bytes
    entries: tuple[HistoryEntry, ...]
    latest: int
    counter: str | None
    """The text of `.cursor`, None where there is no such file."""


def read_archive(paths: Paths) -> Archive:
    """What lies on disk; a missing file is an empty archive. Raises the errors of `from_os_error`."""
    data, counter = read_plain(paths.history) or b"", read_plain(paths.cursor)
    entries, _ = parse_history(data, HISTORY)
    highest = max((entry.cursor for entry in entries), default=0)
    text = None if counter is None else counter.decode("utf-8", "replace")
    return Archive(data, entries, max(highest, parse_cursor(counter) or 0), text)


def read_plain(path: Path) -> bytes | None:
    """The bytes of a regular file, None where there is none. Raises Refused, the errors of `from_os_error`."""
    if path.is_symlink():
        raise Refused("a link, which is not followed", str(path), "replace it by the file")
    if path.exists() and not path.is_file():
        raise Refused("not a regular file", str(path), "replace it by a file")
    try:
        return atomic.read_stable(path)
    except FileNotFoundError:
        return None


def appended(entries: Sequence[HistoryEntry], counter: str | None) -> list[Change]:
    """The changes that append `entries`; `counter` is the text of `.cursor` before, which taking them back restores."""
    return [
        Change(LAYER, f"{HISTORY}#{entry.cursor}", None, {**entry_value(entry), **({} if at else {"counter": counter})})
        for at, entry in enumerate(entries)
    ]


def entry_value(entry: HistoryEntry) -> dict[str, Any]:
    """An entry as a value of a change."""
    value: dict[str, Any] = {"cursor": entry.cursor, "timestamp": entry.timestamp, "text": entry.content}
    if entry.session_key is not None:
        value["session_key"] = entry.session_key
    return {**value, "extra": dict(entry.extra)} if entry.extra else value


def entry_of(value: Value) -> HistoryEntry:
    """The entry of a value. Raises BadInput for what is none."""
    cursor, timestamp, text = (value.get(name) for name in ("cursor", "timestamp", "text"))
    key, extra = value.get("session_key"), value.get("extra") or {}
    texts = isinstance(timestamp, str) and isinstance(text, str) and isinstance(key, (str, type(None)))
    if not isinstance(cursor, int) or isinstance(cursor, bool) or cursor < 1 or not texts:
        raise BadInput("no entry of the archive", str(value)[:60])
    return HistoryEntry(cursor, str(timestamp), str(text), key, 0, dict(extra) if isinstance(extra, Mapping) else {})


def file_value(backups: Path, data: bytes | None, **more: object) -> dict[str, Any] | None:
    """A file as a value of a change: its bytes go to the backups. `more`: `mtime` (nanoseconds), counts for people."""
    if data is None:
        return None
    return {"sha256": atomic.sha256(data), "blob": blobs.put(backups, data), "bytes": len(data), **more}


class HistoryLayer:
    """The layer `history` of operations; `agent` tells whether an agent runs now."""

    name = LAYER

    def __init__(self, paths: Paths, agent: Callable[[], Presence]) -> None:
        self._paths = paths
        self._agent = agent

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless the changes fit what is there, Refused while an agent runs or for another's file."""
        self._refuse()
        files, added, removed = _sorted(changes)
        for key in {change.key for change in files} | ({HISTORY, CURSOR} if added or removed else set()):
            owners.refuse_foreign(self._paths.workspace / key, key)
        for change in files:
            self._target(change)
        self._fresh(added)
        self._without(removed)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any entry or file is as its change makes it."""
        self._settle()
        files, added, removed = _sorted(changes)
        there = set(read_archive(self._paths).data.split(b"\n"))
        if any(_line(value) in there for value in added) or any(_line(value) not in there for value in removed):
            return True
        return any(
            _sha256(read_plain(self._path(change.key))) == (change.after or {}).get("sha256")
            for change in files
            if change.before != change.after
        )

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true; what is as it should be stays untouched."""
        self._refuse()
        files, added, removed = _sorted(changes)
        atomic.make_folder(self._paths.data)
        with atomic.locked(self._paths.data / "history.lock"):
            self._settle()
            if added:
                self._append(added)
            if removed:
                self._take_back(removed)
            for change in files:
                self._replace(change)

    def _settle(self) -> None:
        """Finish what a killed process left beside the files of the archive; before anybody asks what they hold."""
        for path in (self._paths.history, self._paths.cursor, self._paths.workspace / HISTORY_MD):
            with contextlib.suppress(OSError):
                swap.settle(path)

    def _refuse(self) -> None:
        agent = self._agent()
        if agent.running:
            what = f"{agent.what or 'an agent'} runs (process {agent.pid}) and writes its archive without a lock"
            raise Refused(what, HISTORY, "stop the agent first")

    # -- entries --------------------------------------------------------------------------------------------------

    def _fresh(self, added: Sequence[Value]) -> list[Value]:
        """Those that are not there yet. Raises Conflict when their cursors are given away."""
        if not added:
            return []
        archive = read_archive(self._paths)
        there = set(archive.data.split(b"\n"))
        fresh = [value for value in added if _line(value) not in there]
        last = archive.latest if len(fresh) == len(added) else max(entry.cursor for entry in archive.entries)
        for value in fresh:
            if int(value["cursor"]) <= last:
                raise Conflict(f"cursor {value['cursor']} was given to another entry", HISTORY, _AGAIN)
        return fresh

    def _append(self, added: Sequence[Value]) -> None:
        fresh = self._fresh(added)
        path = self._paths.history
        if fresh:
            self._without_torn_tail(path)
            if not path.parent.is_dir():
                atomic.make_folder(path.parent)
            atomic.append_line(path, b"".join(_line(value) + b"\n" for value in fresh), durable=True)
        last = max(int(value["cursor"]) for value in added)
        if (parse_cursor(read_plain(self._paths.cursor)) or 0) < last:
            atomic.write_atomic(self._paths.cursor, str(last).encode(), mode=_MODE)

    def _without_torn_tail(self, path: Path) -> None:
        """Set aside what an interrupted append left: behind it a new entry would stand in an unreadable line."""
        data = read_plain(path) or b""
        tail = torn_tail(data)
        if tail:
            atomic.quarantine(self._paths.quarantine, path.name, tail)
            atomic.write_atomic(path, data[: -len(tail)], expected=atomic.sha256(data))

    def _without(self, removed: Sequence[Value]) -> bytes | None:
        """The archive without these entries, None when none is there. Raises Conflict unless they are its end."""
        if not removed:
            return None
        archive = read_archive(self._paths)
        there = set(archive.data.split(b"\n"))
        lines = {int(value["cursor"]): _line(value) for value in removed}
        ours = [lines[cursor] for cursor in sorted(lines) if lines[cursor] in there]
        if not ours:
            return None
        dreamt = parse_cursor(read_plain(self._paths.dream_cursor)) or 0
        if dreamt >= min(lines):
            fix = "take that Dream back with its cursor: `nanomem dream restore SHA --rewind-cursor`"
            raise Conflict(f"a Dream has read it (its cursor is at {dreamt})", HISTORY, fix)
        tail = b"".join(line + b"\n" for line in ours)
        if not archive.data.endswith(tail):
            raise Conflict("entries were appended after it", HISTORY, "it can only be taken back while it is the last")
        return archive.data[: -len(tail)]

    def _take_back(self, removed: Sequence[Value]) -> None:
        data = read_plain(self._paths.history) or b""
        left = self._without(removed)
        held = [value["counter"] for value in removed if "counter" in value]
        if left is not None:
            ours = not left and held == [None]  # there was no archive before
            self._put(self._paths.history, None if ours else left, expected=atomic.sha256(data))
        last = max(int(value["cursor"]) for value in removed)
        if held and parse_cursor(read_plain(self._paths.cursor)) == last:
            self._put(self._paths.cursor, None if held[0] is None else str(held[0]).encode("utf-8", "replace"))

    # -- whole files ----------------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        if key not in (HISTORY, CURSOR, HISTORY_MD) and not _BACKUPS.fullmatch(key):
            raise BadInput("no file of the archive", key)
        return self._paths.workspace / key

    def _target(self, change: Change) -> tuple[bytes | None, bytes | None]:
        """What the file holds, and what it is to hold: entries that were appended since stay at its end."""
        current = read_plain(self._path(change.key))
        if _sha256(current) == (change.after or {}).get("sha256"):
            return current, current
        before, after = self._bytes(change.before), self._bytes(change.after)
        if current == before:
            return current, after
        grown = before and after is not None and current is not None and change.key == HISTORY
        if grown and current and before and current.startswith(before) and before.endswith(b"\n"):
            return current, (after or b"") + current[len(before) :]
        raise Conflict("the file changed since", change.key, _AGAIN)

    def _bytes(self, value: Value | None) -> bytes | None:
        return None if value is None else blobs.get(self._paths.backups, str(value.get("blob")))

    def _replace(self, change: Change) -> None:
        current, target = self._target(change)
        path = self._path(change.key)
        if target != current:
            self._put(path, target, expected=_sha256(current) or "")
        mtime = (change.after or {}).get("mtime")
        if isinstance(mtime, int):  # what has no date in it is dated by it
            with contextlib.suppress(OSError):
                os.utime(path, ns=(mtime, mtime))

    @staticmethod
    def _put(path: Path, data: bytes | None, *, expected: str | None = None) -> None:
        if data is not None:
            if not path.parent.is_dir():
                atomic.make_folder(path.parent)
            atomic.write_atomic(path, data, expected=expected, mode=_MODE)
            return
        try:
            if expected is not None:
                swap.remove_expected(path, expected)
            else:
                path.unlink(missing_ok=True)
                atomic.sync_folder(path.parent)
        except OSError as error:
            raise from_os_error(error, f"removing {path.name}") from error


def _sorted(changes: Sequence[Change]) -> tuple[list[Change], list[Value], list[Value]]:
    """(changes of whole files, entries to append, entries to take back), the entries by cursor."""
    files = [change for change in changes if "#" not in change.key]
    entries = [change for change in changes if "#" in change.key]
    added = [change.after for change in entries if change.after is not None]
    removed = [change.before for change in entries if change.after is None and change.before is not None]
    for value in (*added, *removed):
        entry_of(value)
    return files, _by_cursor(added), _by_cursor(removed)


def _by_cursor(values: Sequence[Value]) -> list[Value]:
    return sorted(values, key=lambda value: int(value["cursor"]))


def _line(value: Value) -> bytes:
    return dump_entry(entry_of(value)).removesuffix(b"\n")


def _sha256(data: bytes | None) -> str | None:
    return None if data is None else atomic.sha256(data)
