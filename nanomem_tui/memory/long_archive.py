"""An archive too long to be held: its newest part is, and the rest is looked at a piece at a time where it lies.

A piece is a few megabytes of whole lines. Of each is known where it begins, how many entries it has and between which
cursors they lie; what is asked of older entries reads the pieces that can hold them. Lines in the form that agents
write are counted without being read out. Must not know where archives lie.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from operator import lt
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents.archive import HistoryEntry, parse_history, plain_cursors
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.files import chunks, is_as, read_piece, stamp_of

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
        """The bytes of one of them. Raises the errors of `from_os_error`."""
        return read_piece(self._path, piece.start, piece.size)

    def between(self, start: int, stop: int) -> list[HistoryEntry]:
        """The entries of these places, counted from the oldest."""
        at = max(0, bisect_right(self._pieces, start, key=lambda piece: piece.first) - 1)
        wanted = [piece for piece in self._pieces[at:] if piece.first < stop]
        first = wanted[0].first if wanted else 0
        return list(islice(self._read(wanted), max(0, start - first), max(0, stop - first)))

    def count_above(self, cursor: int) -> int:
        """How many have a higher cursor."""
        whole = sum(piece.entries for piece in self._pieces if piece.lowest > cursor)
        torn = [piece for piece in self._pieces if piece.lowest <= cursor < piece.highest]
        return whole + sum(entry.cursor > cursor for entry in self._read(torn))

    def of(self, cursors: Collection[int]) -> dict[int, HistoryEntry]:
        """The entries of these cursors, the last where one comes twice."""
        asked = set(cursors)
        wanted = [one for one in self._pieces if any(one.lowest <= cursor <= one.highest for cursor in asked)]
        return {entry.cursor: entry for entry in self._read(wanted) if entry.cursor in asked}

    def of_range(self, low: int, high: int) -> Iterator[HistoryEntry]:
        """The entries of the pieces that may hold cursors from `low` to `high`, the oldest first."""
        return self._read([one for one in self._pieces if one.lowest <= high and low <= one.highest])

    def lowest_part(self) -> Iterator[HistoryEntry]:
        """The entries of the piece with the lowest cursor."""
        least = min((one for one in self._pieces if one.entries), key=lambda one: one.lowest, default=None)
        return self._read([least] if least is not None else [])

    def around(self, line: int, many: int) -> tuple[list[HistoryEntry], list[HistoryEntry]]:
        """The entries before and after the one of that line, at most `many` each."""
        at = max(0, bisect_right(self._pieces, line, key=lambda piece: piece.line) - 1)
        near = list(self._read(self._pieces[max(0, at - 1) : at + 2]))
        place = bisect_right(near, line, key=lambda entry: entry.line) - 1
        return near[max(0, place - many) : max(0, place)], near[place + 1 : place + 1 + many]

    def backwards(self, may_hold: Callable[[bytes], bool] = lambda _: True) -> Iterator[HistoryEntry]:
        """All entries, the newest first, but for lines that do not hold what is looked for."""
        for piece in reversed(self._pieces):
            data = self.data(piece)
            if may_hold(data):
                kept = b"\n".join(line if may_hold(line) else b"" for line in data.split(b"\n"))
                yield from reversed(_entries(kept, self._where, piece.line))

    def from_piece_of(self, cursor: int, most: int) -> tuple[list[HistoryEntry], list[Problem]]:
        """The entries of the first piece that holds one above a cursor and of about `most` bytes behind it, and what is
        wrong there."""
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
            cursors, problems = _survey(data, self._where, line, highest)
            low, high = (min(cursors), max(cursors)) if cursors else (0, -1)
            lines = _lines_of(data)
            self._pieces.append(Piece(start, line, len(data), lines, zlib.crc32(data), first, len(cursors), low, high))
            self._problems += problems[: PROBLEMS - len(self._problems)]
            start, line, first = start + len(data), line + lines, first + len(cursors)
            highest = max(highest, high)


def _survey(data: bytes, where: str, line: int, highest: int) -> tuple[list[int], list[Problem]]:
    """The cursors of the entries in a piece, and what is wrong there; lines of the usual form are not read out."""
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


def _lines_of(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n"))


_known: dict[Path, LongArchive] = {}
"""Of each archive the state that was looked through last."""


def long_archive(path: Path, where: str) -> LongArchive:
    """The archive as it is now; looked through once for each state of its file. Raises those of `from_os_error`."""
    before = _known.get(path)
    if before is None or not is_as(path, before.stamp):
        _known[path] = before = LongArchive(path, where, before)
    return before


def is_long(path: Path) -> bool:
    """Whether an archive is too long to be held."""
    try:
        return os.lstat(path).st_size > WHOLE
    except OSError:
        return False
