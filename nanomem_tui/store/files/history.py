"""The archive of summaries as a layer of operations: entries appended and taken back, its files replaced and renamed.

Keys are paths in the workspace. An entry has `#` and its cursor behind the path; its value is what `entry_value` gives.
A file's value is what `file_value` gives. None is absent in both.

Owns the protocol beside an agent, which writes these files without a lock: refused while one runs. An append makes its
torn last line safe first, is one write, and is durable before `.cursor` follows. An entry is taken back only while
nothing came after it and no Dream has read it. No file is held whole. Must not know what an entry means.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry, dump_entry, parse_cursor, parse_history, plain_cursors
from nanomem_tui.agents.jsonl import torn_tail
from nanomem_tui.core import atomic
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, Conflict, Refused, from_os_error
from nanomem_tui.core.operations import Change, Operation, Value
from nanomem_tui.core.paths import Paths
from nanomem_tui.store.files.presence import Presence

LAYER = "history"
HISTORY = "memory/history.jsonl"
CURSOR = "memory/.cursor"
HISTORY_MD = "memory/HISTORY.md"
BACKUP = f"{HISTORY_MD}.bak"
_BESIDE = ("memory/LESSONS.jsonl", "memory/LTM_AUDIT.jsonl", "memory/LESSONS_AUDIT.jsonl")
"""Other files of lines that agents append to without a lock; they are replaced whole."""
PIECE = 4 * 1024 * 1024
"""Bytes of a file that are held at a time; a longer line is held whole."""
READ_OUT = 64_000_000
"""Bytes of an archive up to which every line is read out; of a longer one those that are not as agents write them."""
_MODE = 0o644  # as an agent makes them
_AGAIN = "look at it again and repeat the change"
_BACKUPS = re.compile(rf"{re.escape(BACKUP)}(?:\.\d{{1,9}})?")


class Archive(NamedTuple):
    """What was looked for in the archive: the highest cursor of an entry and the last one given (0: none), the text of
    `.cursor` (None where there is no such file), the lines that are there, and the entries whose line has the sign."""

    highest: int
    latest: int
    counter: str | None
    lines: frozenset[bytes]
    entries: tuple[HistoryEntry, ...]


def read_archive(paths: Paths, lines: Collection[bytes] = (), sign: bytes = b"") -> Archive:
    """The archive on disk; a missing file is an empty one. Raises Refused, the errors of `from_os_error`."""
    counter = read_plain(paths.cursor)
    wanted, there, found, highest = set(lines), set[bytes](), list[HistoryEntry](), 0
    long = file_size(paths.history) > READ_OUT
    for data in pieces(paths.history):
        cursors = plain_cursors(data) if long else None
        if cursors is None:
            cursors = [entry.cursor for entry in parse_history(data, HISTORY)[0]]
        highest = max(highest, max(cursors, default=0))
        if any(line in data for line in wanted):
            there |= wanted & {*data.split(b"\n")}
        if sign and sign in data:
            signed = b"\n".join(line for line in data.split(b"\n") if sign in line)
            found += parse_history(signed, HISTORY)[0]
    text = None if counter is None else counter.decode("utf-8", "replace")
    return Archive(highest, max(highest, parse_cursor(counter) or 0), text, frozenset(there), tuple(found))


def read_plain(path: Path) -> bytes | None:
    """The bytes of a regular file, None where there is none. Raises Refused, the errors of `from_os_error`."""
    _refuse_what_is_no_file(path)
    try:
        return atomic.read_stable(path)
    except FileNotFoundError:
        return None


def pieces(path: Path, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """A regular file between two bytes in pieces of whole lines; nothing where there is none. Raises as `read_plain`,
    of a line that is too long too."""
    _refuse_what_is_no_file(path)
    try:
        with core_files.opened(path) as file:
            file.seek(start)
            end = os.fstat(file.fileno()).st_size if stop is None else stop
            yield from core_files.read_pieces(file, path, PIECE, end - start)
    except FileNotFoundError:
        return
    except OSError as error:
        raise core_files.file_error(error, path) from error


def _refuse_what_is_no_file(path: Path) -> None:
    if path.is_symlink():
        raise Refused("a link, which is not followed", str(path), "replace it by the file")
    if path.exists() and not path.is_file():
        raise Refused("not a regular file", str(path), "replace it by a file")


def append_changes(entries: Sequence[HistoryEntry], counter: str | None) -> list[Change]:
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


def file_value(backups: Path, data: bytes | Iterable[bytes] | None, **more: object) -> dict[str, Any] | None:
    """A file as a value of a change: its bytes, whole or in pieces, go to the backups. `more`: `mtime` (nanoseconds),
    counts for people."""
    if data is None:
        return None
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for piece in (data,) if isinstance(data, bytes) else data:
            size += len(piece)
            yield piece

    blob = atomic.put_blob(backups, counted())
    return {"sha256": blob, "blob": blob, "bytes": size, **more}


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
            atomic.refuse_foreign(self._paths.workspace / key, key)
        for change in files:
            deque(self._target(change) or (), maxlen=0)  # reads the backup to its end
        self._fresh(added)
        self._end_without(removed)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any entry or file is as its change makes it."""
        files, added, removed = _sorted(changes)
        if added or removed:
            there = read_archive(self._paths, [_line(value) for value in (*added, *removed)]).lines
            if any(_line(value) in there for value in added) or any(_line(value) not in there for value in removed):
                return True
        return any(
            _digest(self._path(change.key)) == (change.after or {}).get("sha256")
            for change in files
            if change.before != change.after
        )

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true; what is as it should be stays untouched."""
        self._refuse()
        files, added, removed = _sorted(changes)
        atomic.make_folder(self._paths.data)
        with atomic.locked(self._paths.data / "history.lock"):
            if added:
                self._append(added)
            if removed:
                self._take_back(removed)
            for change in files:
                self._replace(change)

    def resume(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Finish what a killed process began: entries that are there are not added again, the counter follows them."""
        self.apply(operation, changes)

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
        archive = read_archive(self._paths, [_line(value) for value in added])
        fresh = [value for value in added if _line(value) not in archive.lines]
        last = archive.latest if len(fresh) == len(added) else archive.highest
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
        tail = torn_tail(_end(path))
        if tail:
            expected = _digest(path) or ""
            atomic.quarantine(self._paths.quarantine, path.name, tail)
            atomic.write_atomic(path, pieces(path, 0, file_size(path) - len(tail)), expected=expected)

    def _end_without(self, removed: Sequence[Value]) -> int | None:
        """Where the archive ends without these entries, None when none is there. Raises Conflict unless they are its
        end."""
        if not removed:
            return None
        lines = {int(value["cursor"]): _line(value) for value in removed}
        there = read_archive(self._paths, [*lines.values()]).lines
        ours = [lines[cursor] for cursor in sorted(lines) if lines[cursor] in there]
        if not ours:
            return None
        dreamt = parse_cursor(read_plain(self._paths.dream_cursor)) or 0
        if dreamt >= min(lines):
            fix = "take that Dream back with its cursor: `nanomem dream restore SHA --rewind-cursor`"
            raise Conflict(f"a Dream has read it (its cursor is at {dreamt})", HISTORY, fix)
        tail = b"".join(line + b"\n" for line in ours)
        end = file_size(self._paths.history) - len(tail)
        if b"".join(pieces(self._paths.history, max(0, end))) != tail:
            raise Conflict("entries were appended after it", HISTORY, "it can only be taken back while it is the last")
        return end

    def _take_back(self, removed: Sequence[Value]) -> None:
        path = self._paths.history
        expected = _digest(path) or ""
        end = self._end_without(removed)
        held = [value["counter"] for value in removed if "counter" in value]
        if end is not None:
            ours = not end and held == [None]  # there was no archive before
            self._put(path, None if ours else pieces(path, 0, end), expected=expected)
        last = max(int(value["cursor"]) for value in removed)
        if held and parse_cursor(read_plain(self._paths.cursor)) == last:
            self._put(self._paths.cursor, None if held[0] is None else str(held[0]).encode("utf-8", "replace"))

    # -- whole files ----------------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        if key not in (HISTORY, CURSOR, HISTORY_MD, *_BESIDE) and not _BACKUPS.fullmatch(key):
            raise BadInput("no file of the archive", key)
        return self._paths.workspace / key

    def _target(self, change: Change, there: str | None = None) -> Iterator[bytes] | None:
        """What the file is to hold, None for no file and where it holds that: entries that were appended since stay at
        its end. `there`: the digest of what it holds. Raises Conflict, and what `atomic.blob_pieces` raises."""
        path, before, after = self._path(change.key), change.before, change.after
        there = there or _digest(path)
        if there == (after or {}).get("sha256"):
            return None
        if there == (before or {}).get("sha256"):
            return self._kept(after) if after is not None else None
        grows = change.key in (HISTORY, *_BESIDE)
        if grows and before is not None and after is not None and _goes_on(path, before):
            return chain(_ended(self._kept(after)), pieces(path, int(before["bytes"])))
        raise Conflict("the file changed since", change.key, _AGAIN)

    def _kept(self, value: Value) -> Iterator[bytes]:
        return atomic.blob_pieces(self._paths.backups, str(value.get("blob")))

    def _replace(self, change: Change) -> None:
        path = self._path(change.key)
        there = _digest(path)
        if there != (change.after or {}).get("sha256"):
            self._put(path, self._target(change, there), expected=there or "")
        mtime = (change.after or {}).get("mtime")
        if isinstance(mtime, int):  # what has no date in it is dated by it
            with contextlib.suppress(OSError):
                os.utime(path, ns=(mtime, mtime))

    @staticmethod
    def _put(path: Path, data: bytes | Iterable[bytes] | None, *, expected: str | None = None) -> None:
        if data is not None:
            if not path.parent.is_dir():
                atomic.make_folder(path.parent)
            atomic.write_atomic(path, data, expected=expected, mode=_MODE)
            return
        try:
            if expected is not None:
                atomic.remove_expected(path, expected)
            else:
                path.unlink(missing_ok=True)
                atomic.sync_folder(path.parent)
        except OSError as error:
            raise from_os_error(error, f"removing {path.name}") from error


def _ended(found: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a file and the newline that its last line may lack: more follows."""
    last = b""
    for last in found:
        yield last
    if last and not last.endswith(b"\n"):
        yield b"\n"


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


def _digest(path: Path) -> str | None:
    """The SHA-256 of a file, None where there is none. Raises Refused, and the errors of `from_os_error`."""
    _refuse_what_is_no_file(path)
    try:
        return atomic.digest(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise core_files.file_error(error, path) from error


def _goes_on(path: Path, before: Value) -> bool:
    """Whether a file begins with what a value says that it was, in whole lines, and goes on behind that."""
    size = before.get("bytes")
    if not isinstance(size, int) or not 0 < size < file_size(path):
        return False
    digest, last = hashlib.sha256(), b""
    for last in pieces(path, 0, size):
        digest.update(last)
    return last.endswith(b"\n") and digest.hexdigest() == before.get("sha256")


def file_size(path: Path) -> int:
    """The bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _end(path: Path) -> bytes:
    """The last bytes of a file, its last line among them whole."""
    for most in (PIECE, core_files.MOST):
        start = max(0, file_size(path) - most)
        if b"\n" in (end := b"".join(pieces(path, start))) or not start:
            return end[end.find(b"\n") + 1 :] if start else end
    raise core_files.file_error(core_files.too_large(path, core_files.MOST), path)
