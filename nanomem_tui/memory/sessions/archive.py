"""The archive of summaries: `history.jsonl`, or `HISTORY.md` of the oldest release, and what no Dream has read yet.

A `HISTORY.md`, or a backup of one, beside `history.jsonl` may hold entries that never came into it: they are searched,
and named as a problem. Reads only: while an agent runs nobody else may append, and rewriting loses entries.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter, lt
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents.archive import (
    HistoryEntry,
    ReadTo,
    lines_of_text,
    not_dreamt,
    parse_cursor,
    parse_history,
    parse_history_md,
    plain_cursors,
)
from nanomem_tui.agents.jsonl import repairable
from nanomem_tui.core.errors import AccessDenied, NanomemError, NotFound, Problem
from nanomem_tui.core.files import MOST_OF_A_LOG, Parsed, chunks, has_stamp, read_piece, stamp_of
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import counted

# An archive too long to be held: its newest part is, and the rest is looked at a piece at a time where it lies.

WHOLE = 64_000_000
"""Bytes of an archive up to which it is held whole: some 300,000 entries in 250 MB."""
NEWEST = 8
"""Pieces at the end of a longer one that are held."""
PROBLEMS = 1_000
"""Problems that are told of one."""


class Piece(NamedTuple):
    """A part of the file: the byte and the line where it begins, its bytes and lines, the checksum, the entries before
    it, its own, and their lowest and highest cursor (0 and -1 where it has none)."""

    start: int
    line: int
    size: int
    lines: int
    checksum: int
    first: int
    entries: int
    lowest: int
    highest: int


class LongArchive:
    """One state of such a file, the oldest entry first. One that only grew is looked through from its last piece on.

    `newest` are the entries that are held, `older` tells how many are not; `highest` is the highest cursor of all.
    """

    def __init__(self, path: Path, where: str, before: LongArchive | None = None) -> None:
        """Raises the errors of `from_os_error`."""
        self._path, self._where = path, where
        self._pieces: list[Piece] = []
        self._problems: list[Problem] = []
        self.stamp = stamp_of(os.lstat(path))
        if before is not None and before.stamp[0] == self.stamp[0] and before.stamp[1] <= self.stamp[1]:
            self._go_on(before)
        self._look_through()
        self.newest = tuple(self._read(self._pieces[-NEWEST:]))
        self.older = self._pieces[-NEWEST].first if len(self._pieces) >= NEWEST else 0
        self.highest = max([0, *(piece.highest for piece in self._pieces)])

    @property
    def count(self) -> int:
        """How many entries it has."""
        return self._pieces[-1].first + self._pieces[-1].entries if self._pieces else 0

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong in it, line by line, as far as lines had to be read; at most `PROBLEMS`."""
        return tuple(self._problems[:PROBLEMS])

    @property
    def pieces(self) -> Sequence[Piece]:
        """Its parts, in order."""
        return self._pieces

    def data(self, piece: Piece) -> bytes:
        """Return the bytes of one of them. Raises the errors of `from_os_error`."""
        return read_piece(self._path, piece.start, piece.size)

    def between(self, start: int, stop: int) -> list[HistoryEntry]:
        """Return the entries of these places, counted from the oldest."""
        at = max(0, bisect_right(self._pieces, start, key=lambda piece: piece.first) - 1)
        wanted = [piece for piece in self._pieces[at:] if piece.first < stop]
        first = wanted[0].first if wanted else 0
        return list(islice(self._read(wanted), max(0, start - first), max(0, stop - first)))

    def count_above(self, cursor: int) -> int:
        """Return how many have a higher cursor."""
        whole = sum(piece.entries for piece in self._pieces if piece.lowest > cursor)
        torn = [piece for piece in self._pieces if piece.lowest <= cursor < piece.highest]
        return whole + sum(entry.cursor > cursor for entry in self._read(torn))

    def entries_of(self, cursors: Collection[int]) -> dict[int, HistoryEntry]:
        """Return the entries of these cursors, the last where one comes twice."""
        asked = set(cursors)
        wanted = [one for one in self._pieces if any(one.lowest <= cursor <= one.highest for cursor in asked)]
        return {entry.cursor: entry for entry in self._read(wanted) if entry.cursor in asked}

    def of_range(self, low: int, high: int) -> Iterator[HistoryEntry]:
        """Return the entries of the pieces that may hold cursors from `low` to `high`, the oldest first."""
        return self._read([one for one in self._pieces if one.lowest <= high and low <= one.highest])

    def lowest_part(self) -> Iterator[HistoryEntry]:
        """Return the entries of the piece with the lowest cursor."""
        least = min((one for one in self._pieces if one.entries), key=lambda one: one.lowest, default=None)
        return self._read([least] if least is not None else [])

    def around(self, line: int, many: int) -> tuple[list[HistoryEntry], list[HistoryEntry]]:
        """Return the entries before and after the one of that line, at most `many` each."""
        at = max(0, bisect_right(self._pieces, line, key=lambda piece: piece.line) - 1)
        near = list(self._read(self._pieces[max(0, at - 1) : at + 2]))
        place = bisect_right(near, line, key=lambda entry: entry.line) - 1
        return near[max(0, place - many) : max(0, place)], near[place + 1 : place + 1 + many]

    def backwards(self, may_hold: Callable[[bytes], bool] = lambda _: True) -> Iterator[HistoryEntry]:
        """Yield all entries, the newest first, but for lines that do not hold what is looked for."""
        for piece in reversed(self._pieces):
            data = self.data(piece)
            if may_hold(data):
                kept = b"\n".join(line if may_hold(line) else b"" for line in data.split(b"\n"))
                yield from reversed(_entries(kept, self._where, piece.line))

    def from_piece_of(self, cursor: int, most: int) -> tuple[list[HistoryEntry], list[Problem]]:
        """Return the entries and problems of about `most` bytes from the first one above a cursor."""
        at = next((n for n, piece in enumerate(self._pieces) if piece.highest > cursor), len(self._pieces) - 1)
        wanted = self._pieces[at : at + 1 + most // max(1, self._pieces[at].size)]
        end = wanted[-1].line + wanted[-1].lines
        told = [one for one in self._problems if one.line is not None and wanted[0].line <= one.line < end]
        return list(self._read(wanted)), told

    def _read(self, pieces: Collection[Piece]) -> Iterator[HistoryEntry]:
        for piece in pieces:
            yield from _entries(self.data(piece), self._where, piece.line)

    def _go_on(self, before: LongArchive) -> None:
        """Take over what is known of the pieces before the last one, when the file is the same up to there."""
        last = before._pieces[-1] if before._pieces else None
        if last is None or zlib.crc32(read_piece(self._path, last.start, last.size)) != last.checksum:
            return
        self._pieces = before._pieces[:-1]
        self._problems = [one for one in before._problems if one.line is not None and one.line < last.line]

    def _look_through(self) -> None:
        last = self._pieces[-1] if self._pieces else None
        start = last.start + last.size if last else 0
        line = last.line + last.lines if last else 1
        first = last.first + last.entries if last else 0
        highest = max((piece.highest for piece in self._pieces), default=-1)
        for data in chunks(self._path, start):
            cursors, problems = survey_lines(data, self._where, line, highest)
            low, high = (min(cursors), max(cursors)) if cursors else (0, -1)
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            self._pieces.append(Piece(start, line, len(data), lines, zlib.crc32(data), first, len(cursors), low, high))
            self._problems += problems[: PROBLEMS - len(self._problems)]
            start, line, first = start + len(data), line + lines, first + len(cursors)
            highest = max(highest, high)


def survey_lines(data: bytes, where: str, line: int, highest: int) -> tuple[list[int], list[Problem]]:
    """Return the cursors and problems of a piece; lines of the usual form are not parsed."""
    cursors = plain_cursors(data) or []
    if cursors and cursors[0] > highest and all(map(lt, cursors, islice(cursors, 1, None))):
        return cursors, []
    entries, problems = parse_history(data, where)
    told = [one._replace(line=one.line + line - 1) if one.line is not None else one for one in problems]
    if entries and entries[0].cursor <= highest:
        what = f"cursor {entries[0].cursor} after {highest}"
        told.append(Problem(what, where, entries[0].line + line - 1, severity="warning"))
    return [entry.cursor for entry in entries], told


def _entries(data: bytes, where: str, line: int) -> list[HistoryEntry]:
    return [entry._replace(line=entry.line + line - 1) for entry in parse_history(data, where)[0]]


_known: dict[Path, LongArchive] = {}
"""Of each archive the state that was looked through last."""


def long_archive(path: Path, where: str) -> LongArchive:
    """Return the archive as it is now; looked through once for each state of its file."""
    before = _known.get(path)
    if before is None or not has_stamp(path, before.stamp):
        _known[path] = before = LongArchive(path, where, before)
    return before


def is_long(path: Path) -> bool:
    """Return whether an archive is too long to be held."""
    try:
        return os.lstat(path).st_size > WHOLE
    except OSError:
        return False


Entries = tuple[tuple[HistoryEntry, ...], tuple[Problem, ...]]
_BACKUP = re.compile(r"HISTORY\.md\.bak(?:\.(\d{1,9}))?")


class OldEntry(NamedTuple):
    """An entry of a `HISTORY.md`, or of a backup of one, that is not in the archive; `file` is its name."""

    file: str
    entry: HistoryEntry

    @property
    def id(self) -> str:
        """The file and the line where it stands: it has no cursor."""
        return f"{self.file}:{self.entry.line}"


class History:
    """The archive of one workspace, parsed once for every state of its file. A long one is not held whole."""

    def __init__(self, paths: Paths, read_to: Callable[[], ReadTo | None] = lambda: None) -> None:
        """`read_to` is asked where the last Dream of ours ended, once cursors are out of order."""
        self._paths = paths
        self._read_to = read_to
        self._lines: Parsed[Entries] = Parsed(parse_history, MOST_OF_A_LOG)
        self._markdown: Parsed[Entries] = Parsed(lambda data, where: parse_markdown(paths.history_md, data, where))
        self._backups: dict[str, Parsed[Entries]] = {}
        self._old: tuple[tuple[object, ...], list[OldEntry]] = ((), [])
        self._ordered: tuple[Sequence[HistoryEntry], dict[int, HistoryEntry]] = ((), {})
        self._cursors: Parsed[int | None] = Parsed(lambda data, _: parse_cursor(data))

    def entries(self, limit: int | None = None, offset: int = 0) -> list[HistoryEntry]:
        """Return the entries, the newest first; `limit` None is all of them that are held."""
        long = self._long()
        if long is not None and limit is not None and offset + limit > len(long.newest):
            stop = max(0, long.count - offset)
            return long.between(max(0, stop - limit), stop)[::-1]
        entries = self._entries()[::-1]
        return list(entries[offset : None if limit is None else offset + limit])

    def in_order(self) -> tuple[HistoryEntry, ...]:
        """Return the entries that are held, the oldest first; the same object while the file is the same."""
        return self._entries()

    @property
    def older(self) -> int:
        """How many entries of a long archive are not held: they stand before all of `in_order`."""
        long = self._long()
        return long.older if long is not None else 0

    def entries_of(self, cursors: Collection[int]) -> dict[int, HistoryEntry]:
        """Return the entries of these cursors that there are; of two the last."""
        entries = self._entries()
        if entries is not self._ordered[0]:
            self._ordered = entries, {entry.cursor: entry for entry in entries}
        found = {cursor: self._ordered[1][cursor] for cursor in cursors if cursor in self._ordered[1]}
        long = self._long()
        if long is not None and (rest := set(cursors) - found.keys()):
            found |= long.entries_of(rest)
        return {cursor: found[cursor] for cursor in cursors if cursor in found}

    def read_between(self, before: int, last: int) -> list[HistoryEntry]:
        """Return the entries behind the cursor `before` up to that of `last`, the oldest first."""
        long = self._long()
        entries = self._entries() if long is None else long.of_range(before + 1, last)
        return [entry for entry in entries if before < entry.cursor <= last]

    @property
    def lowest(self) -> HistoryEntry | None:
        """The entry of the lowest cursor; None when there is none."""
        long = self._long()
        entries = self._entries() if long is None else long.lowest_part()
        return min(entries, key=lambda entry: entry.cursor, default=None)

    def neighbours(self, entry: HistoryEntry, many: int = 2) -> tuple[list[HistoryEntry], list[HistoryEntry]]:
        """Return the entries before and after one in the file, at most `many` each, in their order."""
        if (long := self._long()) is not None:
            return long.around(entry.line, many)
        entries = self._entries()
        by = attrgetter("line" if entry.line else "cursor")  # HISTORY.md has no lines
        at = bisect_left(entries, by(entry), key=by)
        return list(entries[max(0, at - many) : at]), list(entries[at + 1 : at + 1 + many])

    def count(self) -> dict[str, int]:
        """`entries`, how many of them Dream has not read (`unprocessed`), the last `cursor` given, and Dream's own.

        In `HISTORY.md` nothing waits: there was no Dream, and the migration takes all of it as read. Raises
        AccessDenied when the archive cannot be read at all: it is not empty then.
        """
        (entries, _), unreadable = self._read()
        if unreadable is not None:
            raise AccessDenied(unreadable.what, unreadable.where, unreadable.fix)
        long = self._long()
        latest = long.highest if long is not None else max((entry.cursor for entry in entries), default=0)
        dreamt = self.dream_cursor if self._is_lines() else latest
        unread = not_dreamt(entries, dreamt, self._read_to) if long is None and self._is_lines() else ()
        waiting = long.count_above(dreamt) if long is not None else len(unread)
        return {
            "entries": long.count if long is not None else len(entries),
            "unprocessed": waiting,
            "cursor": max(latest, self._cursors.get(self._paths.cursor, "")[0] or 0),
            "dream_cursor": dreamt,
        }

    @property
    def dream_cursor(self) -> int:
        """The last entry that Dream has read as it takes it: 0 where its cursor is missing or no number."""
        return self._cursors.get(self._paths.dream_cursor, "")[0] or 0

    def get(self, cursor: int) -> HistoryEntry:
        """Return the entry of that cursor, the last where two writers gave it twice. Raises NotFound."""
        if (found := self.entries_of([cursor]).get(cursor)) is not None:
            return found
        raise NotFound("no history entry of that cursor", str(cursor), "`nanomem history list` shows them")

    def search(self, query: str, limit: int = 100) -> list[HistoryEntry]:
        """Return the entries that hold every word of `query`, the newest first, at most `limit`."""
        from nanomem_tui.memory.filters import matcher

        wanted = matcher(query)
        if not wanted:
            return []
        long = self._long()
        every = reversed(self._entries()) if long is None else long.backwards(wanted.may_be_in)
        found = (entry for entry in every if wanted.matches(entry.content))
        return [entry for entry, _ in zip(found, range(max(0, limit)), strict=False)]

    def old(self) -> list[OldEntry]:
        """Return the entries of `HISTORY.md` and its backups that are not in the archive, the oldest file first.

        An entry is in the archive when each of its lines is, as an agent that migrates splits it by paragraphs.
        """
        files = {path: self._markdown_of(path).get(path, "")[0][0] for path in self.old_files()}
        long = self._long()
        state = (self._entries(), long.stamp if long is not None else None, *files.items())
        if state != self._old[0]:
            archive: Iterable[HistoryEntry] = self._entries() if long is None else long.backwards(lambda _: True)
            there = {line for entry in archive for line in lines_of_text(entry.content)} if files else set()
            found = [OldEntry(path.name, entry) for path, entries in files.items() for entry in entries
                     if not there.issuperset(lines_of_text(entry.content))]  # fmt: skip
            self._old = state, found
        return self._old[1]

    def old_files(self) -> list[Path]:
        """`HISTORY.md` where it is not the archive itself, and its backups, the oldest first."""
        try:
            names = os.listdir(self._paths.memory)
        except OSError:
            return []
        backups = {name: int(match[1] or 1) for name in names if (match := _BACKUP.fullmatch(name))}
        current = [self._paths.history_md.name] if self._is_lines() else []
        return [
            self._paths.memory / name
            for name in (*sorted(backups, key=backups.__getitem__), *current)
            if name in names and not (self._paths.memory / name).is_symlink()
        ]

    def search_old(self, query: str, limit: int = 100) -> list[OldEntry]:
        """Return the entries outside the archive that hold every word of `query`, the newest first, at most `limit`."""
        from nanomem_tui.memory.filters import matcher

        wanted = matcher(query)
        found = [one for one in reversed(self.old()) if wanted.matches(one.entry.content)] if wanted else []
        return found[: max(0, limit)]

    def get_old(self, name: str) -> OldEntry:
        """Return the entry outside the archive of that id. Raises NotFound."""
        found = next((one for one in self.old() if one.id == name), None)
        if found is None:
            raise NotFound("no such history entry", name, "`nanomem history search` names the file and line of each")
        return found

    def _old_problems(self) -> list[Problem]:
        found: list[Problem] = []
        missing = self.old()
        for path in self.old_files():
            where = self._paths.relative(path)
            number = sum(one.file == path.name for one in missing)
            if unreadable := self._markdown_of(path).get(path, where)[1]:
                found.append(unreadable._replace(where=where))
            elif number:
                what = (
                    f"{counted(number, 'entry', 'entries')} of it {'is' if number == 1 else 'are'} not in the archive"
                )
                fix = "`nanomem history migrate` appends what is missing; a search finds it here too"
                found.append(Problem(what, where, None, fix, "warning" if path == self._paths.history_md else "note"))
        return found

    def problems(self) -> list[Problem]:
        """Return what could not be read, line by line, and the old files with entries that are not in the archive."""
        (_, problems), unreadable = self._read()
        found = [*repairable(problems), *([unreadable] if unreadable else [])]
        if not unreadable and (older := self.older):
            what = f"{older:,} older entries of it are not held in memory"
            fix = "nothing has to be done: lists by page, searches and Dreams read them where they lie"
            found.append(Problem(what, self._paths.relative(self._paths.history), None, fix, "note"))
        return found if unreadable else [*found, *self._old_problems()]

    def unreadable(self) -> list[Problem]:
        """Return why the archive cannot be read at all: it is not empty then."""
        problem = self._read()[1]
        return [problem] if problem is not None else []

    def _entries(self) -> tuple[HistoryEntry, ...]:
        return self._read()[0][0]

    def _long(self) -> LongArchive | None:
        return self._looked_through()[0]

    def _looked_through(self) -> tuple[LongArchive | None, Problem | None]:
        if not self._is_lines() or not is_long(self._paths.history):
            return None, None
        where = self._paths.relative(self._paths.history)
        try:
            return long_archive(self._paths.history, where), None
        except NanomemError as error:
            return None, Problem(error.what, where, fix=error.fix)

    def _read(self) -> tuple[Entries, Problem | None]:
        long, unreadable = self._looked_through()
        if long is not None:
            return (long.newest, long.problems), None
        if unreadable is not None:
            return ((), ()), unreadable
        if self._is_lines():
            return self._lines.get(self._paths.history, self._paths.relative(self._paths.history))
        return self._markdown.get(self._paths.history_md, self._paths.relative(self._paths.history_md))

    def _is_lines(self) -> bool:
        """Return whether the archive is `history.jsonl`: an empty one beside a `HISTORY.md` was not migrated yet."""
        with contextlib.suppress(OSError):
            if os.lstat(self._paths.history).st_size:
                return True
        return not self._paths.history_md.is_file()

    def _markdown_of(self, path: Path) -> Parsed[Entries]:
        return self._backups.setdefault(path.name, Parsed(lambda data, where: parse_markdown(path, data, where)))


def parse_markdown(path: Path, data: bytes, where: str) -> Entries:
    """Return the entries of a `HISTORY.md` at `path`: what has no date there gets that of the file."""
    try:
        changed = os.lstat(path).st_mtime
    except OSError:
        changed = 0.0
    return parse_history_md(data, where, changed)
