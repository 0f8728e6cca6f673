"""The files that hold what happens now until it ages: append-only segments, each locked by the process that writes it.

Owns segments: their names, locks and lines, and when one goes. A line is acknowledged once it is written: it survives
the end of its process, and is taken over by the next one. Must not know what an entry says.
"""

from __future__ import annotations

import contextlib
import errno
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import clock, json_text, regular
from nanomem_tui.errors import NanomemError, Problem, from_os_error
from nanomem_tui.store import atomic, owners
from nanomem_tui.tiers.entries import Kept, kept_of, signed

SUFFIX = ".spool"
ROLL_BYTES = 512 * 1024
"""Bytes after which a new segment is begun: one goes as a whole, once all in it has aged."""
_AGED = b'{"aged":"'
_FROM = b'{"from":'
_BEGIN = b'{"c":"'


class Segment:
    """A file of the folder that this process has locked. `waiting`: entries in it that have not aged yet."""

    __slots__ = ("damaged", "handle", "path", "size", "waiting")

    def __init__(self, path: Path, handle: int, size: int = 0) -> None:
        self.path = path
        self.handle = handle
        self.size = size
        self.waiting = 0
        self.damaged = False


Read = tuple[Kept, Any]
"""An entry that was read, and its data."""


class Content(NamedTuple):
    """What lines hold: entries in order, the id up to which entries of the file have aged ("": none), the least rank of
    what follows, how many bytes were whole lines, and the numbers of those lines that could not be read."""

    entries: list[Read]
    aged: str
    rank: int
    whole: int
    bad: list[int]


def read_lines(data: bytes, segment: object, rank: int = 0) -> Content:
    """The entries in the bytes of a segment; no rank is less than the one before it, `rank` for the first."""
    entries: list[Read] = []
    aged = ""
    bad: list[int] = []
    whole = data.rfind(b"\n") + 1
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
        found = False
        for body in _bodies(line):
            found = True
            if body.startswith((_AGED, _FROM)):
                try:
                    told = json_text.loads(body)
                    aged, rank = str(told.get("aged", aged)), max(rank, int(told.get("from", rank)))
                except (ValueError, TypeError, OverflowError):
                    found = False
                continue
            read = kept_of(body, segment)
            if read is None:
                found = False
                continue
            kept, data = read
            if kept.rank < rank:
                kept = kept._replace(rank=rank)
            rank = kept.rank
            entries.append((kept, data))
        if not found and line.strip(b"\0\r "):
            bad.append(number)
    return Content(entries, aged, rank, whole, bad)


def _bodies(line: bytes) -> Iterator[bytes]:
    """The bodies of a line whose checksums are right: one, or the whole ones of a line that something was put into."""
    if (body := _body(line)) is not None:
        yield body
        return
    start = line.find(_BEGIN)
    while start >= 0:
        following = line.find(_BEGIN, start + 1)
        part = line[start:following] if following >= 0 else line[start:]
        if (body := _body(part[: part.rfind(b"}") + 1])) is not None:
            yield body
        start = following


def _body(line: bytes) -> bytes | None:
    if not line.startswith(_BEGIN) or line[14:20] != b'","r":' or not line.endswith(b"}"):
        return None
    body = line[20:-1]
    return body if line[6:14] == b"%08x" % zlib.crc32(body) else None


def without_aged(entries: list[Read], aged: str) -> list[Read]:
    """The entries after the one of the id `aged`; all of them where it is not there: they age once more then, which
    changes nothing."""
    for at in range(len(entries) - 1, -1, -1) if aged else ():
        if entries[at][0].id == aged:
            return entries[at + 1 :]
    return entries


def damaged(folder: Path) -> list[Problem]:
    """The lines of every segment in a folder that cannot be read. Changes nothing."""
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError):
            found += [_unread(path.name, number) for number in read_lines(regular.read(path), None).bad]
    return found


def _unread(name: str, line: int) -> Problem:
    return Problem("an entry that cannot be read", f"operational/{name}", line, "it is kept aside when the rest ages")


class Spool:
    """The segments of one workspace that this process writes or has taken over. The caller lets in one at a time."""

    def __init__(self, folder: Path, quarantine: Path) -> None:
        self.folder = folder
        self._quarantine = quarantine
        self.current: Segment | None = None
        """What is written to; None until `begin` has said from when what follows is."""
        self.room: Segment | None = None
        """What `begin` goes on in."""
        self.held: dict[str, Segment] = {}
        self.pid = os.getpid()
        self._made = False
        self.problems: dict[str, Problem] = {}

    def append(self, line: bytes) -> Segment:
        """Write one line; the segment that has it now. Raises the errors of `from_os_error`: it is in none then."""
        current = self.current
        assert current is not None, "begun before"
        try:
            if os.write(current.handle, line) != len(line):
                raise OSError(errno.ENOSPC, "the write came out short")
        except OSError as error:
            self._take_back(current)
            raise from_os_error(error, "keeping what happened") from error
        current.size += len(line)
        current.waiting += 1
        if current.size > ROLL_BYTES:
            self.current = None
        return current

    def begin(self, rank: int, ms: int) -> None:
        """Write to a new segment where there is none with room; what comes now has at least that rank, also where its
        own time `ms` is before that: the clock was set back, or many came within a millisecond. Raises the errors of
        `from_os_error`."""
        try:
            self.room = room = self.room or self._made_one()
            if rank > ms:
                atomic.append_to(room.handle, line := signed(b'{"from":%d}' % rank), size=room.size, guarded=True)
                room.size += len(line)
            self.current, self.room = room, None
        except OSError as error:
            if self.room is not None:
                self._take_back(self.room)
            raise from_os_error(error, "keeping what happened") from error

    def _take_back(self, segment: Segment) -> None:
        """After a write that failed: what it left goes, or the segment is written no more."""
        try:
            os.ftruncate(segment.handle, segment.size)
        except OSError:
            segment.damaged = True
            self.current = self.room = None
        if not segment.waiting:
            self._drop(segment)

    def _made_one(self) -> Segment:
        atomic.make_folder(self.folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            path = self.folder / f"{clock.now_ms()}-{os.getpid()}-{os.urandom(3).hex()}{SUFFIX}"
            handle = os.open(path, flags, atomic.PRIVATE_FILE)
            owners.inherit(handle, self.folder)
            if atomic.try_lock(handle) and path.exists():
                break
            os.close(handle)  # another process took the file over before we had locked it
        segment = Segment(path, handle)
        self.held[path.name] = segment
        self._made = True
        return segment

    def is_whole(self) -> bool:
        """Whether every segment is still in its folder; somebody may have taken it away."""
        return all(os.fstat(segment.handle).st_nlink for segment in self.held.values())

    def anew(self, entries: Iterable[Kept]) -> list[Kept]:
        """These entries in new segments, each wholly after the one before, in place of those that we have. Raises the
        errors of `from_os_error`."""
        old = list(self.held.values())
        self.held, self.current, self.room = {}, None, None
        written: list[Kept] = []
        rank = 0
        try:
            for kept in entries:
                if self.current is None:
                    rank = max(rank + 1, kept.rank)
                    self.begin(rank, kept.ms)
                rank = max(rank, kept.rank)
                written.append(kept._replace(rank=rank, segment=self.append(kept.line())))
        except NanomemError:
            for segment in self.held.values():
                segment.waiting = 0
            self.close()
            self.held = {segment.path.name: segment for segment in old}
            raise
        for segment in old:
            with contextlib.suppress(OSError):
                os.unlink(segment.path)
            os.close(segment.handle)
        return written

    def forked(self) -> bool:
        """Whether this process is a child of the one that began: the segments stay its parent's, we begin anew."""
        if self.pid == os.getpid():
            return False
        for segment in list(self.held.values()):
            self._let_go(segment)
        self.pid = os.getpid()
        return True

    # -- what others left ---------------------------------------------------------------------------------------------

    def resume(self) -> list[list[Read]]:
        """Take over what all processes left that have ended, and go on in a segment of theirs where one has room."""
        return [self.take_over(name) for name in self.names() if name not in self.held]

    def names(self) -> list[str]:
        """The segments in the folder, whoever's, oldest first."""
        try:
            return sorted(name for name in os.listdir(self.folder) if name.endswith(SUFFIX))
        except OSError:
            return []

    def take_over(self, name: str) -> list[Read]:
        """Make the segment of a process that has ended ours; what of it has not aged. Nothing while its owner lives,
        who has its flock."""
        path = self.folder / name
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return []
        try:
            if atomic.try_lock(handle) and path.exists():
                data = regular.read(path)
                segment = Segment(path, handle, len(data))
                content = read_lines(data, segment)
                left = without_aged(content.entries, content.aged)
                segment.waiting = len(left)
                segment.damaged = content.whole != len(data) or bool(content.bad)
                self.held[name] = segment
                self._tell(name, content.bad)
                if not left:
                    self._drop(segment)
                else:
                    # What comes next comes after this, whatever the clock says: `begin` has to write that down.
                    usable = not segment.damaged and segment.size < ROLL_BYTES
                    self.room = self.current or self.room or (segment if usable else None)
                    self.current = None
                return left
        except OSError:
            pass
        os.close(handle)
        return []

    def _tell(self, name: str, bad: list[int]) -> None:
        if bad:
            self.problems[name] = _unread(name, bad[0])

    # -- what has aged ------------------------------------------------------------------------------------------------

    def aged(self, entries: list[Kept]) -> None:
        """The oldest entries are in the database: they leave their segments. One in which none waits goes.

        Never raises: an entry that could not leave is known by its id, and ages once more.
        """
        newest: dict[Segment, Kept] = {}
        for kept in entries:
            kept.segment.waiting -= 1
            newest[kept.segment] = kept
        for segment, kept in newest.items():
            if self.held.get(segment.path.name) is not segment:
                continue
            if segment.waiting <= 0:
                self._drop(segment)
            else:
                line = signed(b'{"aged":"%b"}' % kept.id.encode())
                with contextlib.suppress(OSError):
                    # A tail that was torn off gets its end first, or it would swallow the line.
                    atomic.append_to(segment.handle, line, size=segment.size, guarded=not segment.damaged)
                    segment.size = os.fstat(segment.handle).st_size

    def _drop(self, segment: Segment) -> None:
        """Take a segment away in which nothing waits; its bytes go to the quarantine first where some are no entry."""
        try:
            if segment.damaged:
                atomic.quarantine(self._quarantine, segment.path.name, regular.read(segment.path))
            os.unlink(segment.path)
        except (OSError, NanomemError):
            return  # tried again by who takes it over
        self._let_go(segment)

    def _let_go(self, segment: Segment) -> None:
        self.held.pop(segment.path.name, None)
        if self.current is segment:
            self.current = None
        if self.room is segment:
            self.room = None
        os.close(segment.handle)

    def sync(self, segment: Segment | None = None) -> None:
        """Make what was written, or one segment, survive a power cut. Raises the errors of `from_os_error`."""
        try:
            if self._made:
                atomic.sync_folder(self.folder)
                self._made = False
            for one in [segment] if segment is not None else [*self.held.values()]:
                os.fsync(one.handle)
        except OSError as error:
            raise from_os_error(error, "keeping what happened") from error

    def close(self) -> None:
        """Let go of every segment; the next process takes over what is in them."""
        for segment in list(self.held.values()):
            if segment.waiting <= 0:
                self._drop(segment)
            if segment.path.name in self.held:
                self._let_go(segment)
