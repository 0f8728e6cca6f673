"""Which lines of an archive that is not held go when it is compacted, and what is left of it, a piece at a time.

The same lines go as of one that is held: the oldest entries but those that are kept, and lines that cannot be read in
front of what a Dream has read. Must not know why so many are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from nanomem_tui.agents.archive import HistoryEntry, parse_history
from nanomem_tui.agents.jsonl import Record, parse_jsonl
from nanomem_tui.memory.long_archive import LongArchive, Piece


class LongCut:
    """The cut of one state of an archive: the first `going` entries go, and what cannot be read before line `end`."""

    def __init__(self, archive: LongArchive, going: int, end: int) -> None:
        """Reads the pieces that have lines of both sorts. Raises the errors of `from_os_error`."""
        self.going = going
        self.unreadable: list[Record] = []
        """The lines that cannot be read and go, with their numbers in the file."""
        self.left = 0
        """How many of them stay, as they stand behind `end`."""
        self.size = 0
        """Bytes that are left."""
        self._archive, self._end = archive, end
        for piece in archive.pieces:
            if self._whole(piece):
                self.size += self._size(piece)
                continue
            kept, bad, left = self._sorted(piece)
            self.size += sum(len(record.raw) + 1 for record in kept)
            self.unreadable += bad
            self.left += left

    @property
    def nothing(self) -> bool:
        """Whether no line goes."""
        return not self.going and not self.unreadable

    def kept(self) -> Iterator[bytes]:
        """What is left, a piece at a time; all of it as it is where nothing goes."""
        for piece in self._archive.pieces:
            if self.nothing:
                yield self._archive.data(piece)
            elif not self._whole(piece):
                yield b"".join(record.raw + b"\n" for record in self._sorted(piece)[0])
            elif self._size(piece):
                data = self._archive.data(piece)
                yield data if data.endswith(b"\n") else data + b"\n"

    def _whole(self, piece: Piece) -> bool:
        """Whether each line of it is an entry, and all of them stay or all of them go."""
        last = piece.first + piece.entries
        return piece.entries == piece.lines and (piece.first >= self.going or last <= self.going)

    def _size(self, piece: Piece) -> int:
        """Bytes that are left of a piece all of which stays or goes."""
        if piece.first + piece.entries <= self.going:
            return 0
        return piece.size + (not self._archive.data(piece).endswith(b"\n") if piece is self._archive.pieces[-1] else 0)

    def _sorted(self, piece: Piece) -> tuple[list[Record], list[Record], int]:
        """The lines of a piece that stay, those that cannot be read and go, and how many of these stay."""
        data = self._archive.data(piece)
        entries = parse_history(data, "")[0]
        good = {place_of(entry) for entry in entries}
        gone = {place_of(entry) for entry in entries[: max(0, self.going - piece.first)]}
        records = parse_jsonl(data, "")
        unread = [record for record in records if (record.number, record.start) not in good]
        numbered = [record._replace(number=record.number + piece.line - 1) for record in unread]
        bad = [record for record in numbered if record.number < self._end]
        dropped = gone | {(record.number - piece.line + 1, record.start) for record in bad}
        kept = [record for record in records if (record.number, record.start) not in dropped]
        return kept, bad, len(unread) - len(bad)


def place_of(entry: HistoryEntry) -> tuple[int, int]:
    """Where an entry begins: its line, and the byte in it."""
    return entry.line, entry.start


def first_above(archive: LongArchive, cursor: int) -> int:
    """The place, from the oldest, of the first entry of a higher cursor; their number where there is none."""
    for piece in archive.pieces:
        if piece.highest > cursor:
            entries = _entries(archive, piece)
            return piece.first + next(at for at, entry in enumerate(entries) if entry.cursor > cursor)
    return archive.count


def line_up_to(archive: LongArchive, cursor: int) -> int:
    """The last line with an entry of that cursor or a lower one; 0 where there is none."""
    for piece in reversed(archive.pieces):
        if piece.entries and piece.lowest <= cursor:
            return max(entry.line for entry in _entries(archive, piece) if entry.cursor <= cursor) + piece.line - 1
    return 0


def line_of(archive: LongArchive, cursor: int) -> int:
    """The first line with an entry of that cursor; 0 where there is none."""
    for piece in archive.pieces:
        if piece.lowest <= cursor <= piece.highest:
            lines = (entry.line for entry in _entries(archive, piece) if entry.cursor == cursor)
            if line := min(lines, default=0):
                return line + piece.line - 1
    return 0


def _entries(archive: LongArchive, piece: Piece) -> tuple[HistoryEntry, ...]:
    return parse_history(archive.data(piece), "")[0]
