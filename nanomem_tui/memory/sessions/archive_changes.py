"""Change the archive as a whole: migrate `HISTORY.md` to `history.jsonl`, and drop old entries.

Owns what such a change does and its preview. Written through the layer `history` of operations, so each can be undone;
refused while an agent runs. No entry that Dream has not read is dropped, no kept line changes by a byte, and what
cannot be read moves to the quarantine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from nanomem_tui.agents.archive import (
    HistoryEntry,
    clamp_cursor,
    count_skipped,
    dump_entry,
    not_dreamt,
    parse_cursor,
    parse_history,
    parse_history_md,
)
from nanomem_tui.agents.jsonl import Record, parse_jsonl
from nanomem_tui.core import atomic
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, Conflict, NothingToDo, Refused
from nanomem_tui.core.files import has_stamp
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, Paths
from nanomem_tui.core.text import counted
from nanomem_tui.memory.sessions.archive import History, LongArchive, Piece, is_long, long_archive
from nanomem_tui.store.files.history import (
    BACKUP,
    CURSOR,
    HISTORY,
    HISTORY_MD,
    LAYER,
    file_size,
    file_value,
    pieces,
    read_plain,
)

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.core.files import Stamp
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence


# Which lines of an archive that is not held go when it is compacted, and what is left of it, a piece at a time.


class LongCut:
    """The cut of one state of an archive: the first `going` entries go, and what cannot be read before line `end`."""

    def __init__(self, archive: LongArchive, going: int, end: int) -> None:
        """Reads the pieces that have lines of both sorts. Raises the errors of `from_os_error`."""
        self.going = going
        self.unreadable: list[Record] = []
        """The lines that cannot be read and go."""
        self.left = 0
        """How many of them stay, as they stand behind `end`."""
        self.size = 0
        """Bytes that are left."""
        self._archive, self._end = archive, end
        for piece in archive.pieces:
            if self._is_complete(piece):
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
        """Yield what is left, a piece at a time; all of it as it is where nothing goes."""
        for piece in self._archive.pieces:
            if self.nothing:
                yield self._archive.data(piece)
            elif not self._is_complete(piece):
                yield b"".join(record.raw + b"\n" for record in self._sorted(piece)[0])
            elif self._size(piece):
                data = self._archive.data(piece)
                yield data if data.endswith(b"\n") else data + b"\n"

    def _is_complete(self, piece: Piece) -> bool:
        last = piece.first + piece.entries
        return piece.entries == piece.lines and (piece.first >= self.going or last <= self.going)

    def _size(self, piece: Piece) -> int:
        if piece.first + piece.entries <= self.going:
            return 0
        return piece.size + (not self._archive.data(piece).endswith(b"\n") if piece is self._archive.pieces[-1] else 0)

    def _sorted(self, piece: Piece) -> tuple[list[Record], list[Record], int]:
        data, going = self._archive.data(piece), max(0, self.going - piece.first)
        return _sorted_lines(data, parse_history(data, HISTORY)[0], going, self._end - piece.line + 1)


def _sorted_lines(
    data: bytes, entries: Sequence[HistoryEntry], going: int, end: int
) -> tuple[list[Record], list[Record], int]:
    """Return the lines that stay without the first `going` entries, those that cannot be read before line `end` and go,
    and how many of such stay."""
    places = list(map(place_of, entries))
    records = parse_jsonl(data, HISTORY)
    good = set(places)
    unread = [record for record in records if place_of(record) not in good]
    bad = [record for record in unread if record.number < end]
    dropped = {*places[:going], *map(place_of, bad)}
    return [record for record in records if place_of(record) not in dropped], bad, len(unread) - len(bad)


def place_of(entry: HistoryEntry | Record) -> tuple[int, int]:
    """Return where an entry begins: its line, and the byte in it."""
    return entry.number if isinstance(entry, Record) else entry.line, entry.start


def first_above(archive: LongArchive, cursor: int) -> int:
    """Return the place, from the oldest, of the first entry of a higher cursor; their number where there is none."""
    for piece in archive.pieces:
        if piece.highest > cursor:
            entries = _entries(archive, piece)
            return piece.first + next(at for at, entry in enumerate(entries) if entry.cursor > cursor)
    return archive.count


def line_up_to(archive: LongArchive, cursor: int) -> int:
    """Return the last line with an entry of that cursor or a lower one; 0 where there is none."""
    for piece in reversed(archive.pieces):
        if piece.entries and piece.lowest <= cursor:
            return max(entry.line for entry in _entries(archive, piece) if entry.cursor <= cursor) + piece.line - 1
    return 0


def line_of(archive: LongArchive, cursor: int) -> int:
    """Return the first line with an entry of that cursor; 0 where there is none."""
    for piece in archive.pieces:
        if piece.lowest <= cursor <= piece.highest:
            lines = (entry.line for entry in _entries(archive, piece) if entry.cursor == cursor)
            if line := min(lines, default=0):
                return line + piece.line - 1
    return 0


def _entries(archive: LongArchive, piece: Piece) -> tuple[HistoryEntry, ...]:
    return parse_history(archive.data(piece), "")[0]


KEEP = 1000
"""Entries that an agent keeps when it compacts its archive."""

_DATED = re.compile(r"\s*(?:[-*+•]\s+)?\d{4}-\d{2}-\d{2}\b")


@dataclass(frozen=True, slots=True)
class Migration:
    """What migrating would do. `undated` entries have no date of their own and get that of the file; `first` and `last`
    are timestamps; `unreadable` counts lines with bytes that are no UTF-8. `bad_dates` and `out_of_order` are lines
    whose date is none, or goes back; `dated_within` are those that begin with a date and no stamp in brackets, and so
    are text of the entry before. `refused`: why not now, "" when it may be.

    `sources` are the files that the entries come from; `behind` counts the entries of the archive that they are
    appended to. `dreamed`: the next Dreams read them, as entries before them wait. `backup` is "" when `HISTORY.md` is
    not among the sources.
    """

    entries: int
    first: str
    last: str
    undated: int
    unreadable: int
    backup: str
    refused: str = ""
    bad_dates: tuple[int, ...] = ()
    out_of_order: tuple[int, ...] = ()
    dated_within: tuple[int, ...] = ()
    sources: tuple[str, ...] = (HISTORY_MD,)
    behind: int = 0
    dreamed: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class HistoryCompaction:
    """What compacting the archive would do.

    `waiting` entries are kept whatever `keep` says: Dream has not read them. `unreadable` lines move to the quarantine;
    `left` ones stay, because they stand behind what Dream has read. `first` and `last` are the cursors removed.
    """

    entries: int
    keep: int
    removed: int
    kept: int
    waiting: int
    unreadable: int
    left: int
    first: int | None
    last: int | None
    bytes_before: int
    bytes_after: int
    refused: str = ""

    @property
    def nothing(self) -> bool:
        """Whether no line would go."""
        return not self.removed and not self.unreadable

    @property
    def notes(self) -> list[str]:
        """Why more stays than was asked for, and what is no longer told afterwards, in sentences."""
        notes = []
        if self.removed:
            notes.append("Blame can no longer show these entries as the source of lines; undo brings them back.")
        if self.waiting and self.kept > self.keep:
            notes.append(f"{counted(self.waiting, 'entry', 'entries')} that Dream has not read yet stay.")
        if self.left:
            notes.append(f"{counted(self.left, 'unreadable line')} behind what Dream has read stay where they are.")
        return notes

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The archive as it was, as it is to be, and the lines that cannot be read and go."""

    plan: HistoryCompaction
    before: bytes | Iterable[bytes]
    after: bytes | Iterable[bytes]
    unreadable: bytes
    latest: int
    stamp: Stamp | None = None
    """Of a file that is read anew for `before` and `after`, the state of which this is told."""


class HistoryChanges:
    """Changes of the archive of one workspace."""

    def __init__(self, paths: Paths, files: FileLayer, perform: Perform, agent: Callable[[], Presence]) -> None:
        self._paths = paths
        self._files = files
        self._perform = perform
        self._agent = agent

    # -- HISTORY.md -----------------------------------------------------------------------------------------------

    def migration(self) -> Migration:
        """Return what `migrate` would do."""
        return (self._migration() if self._is_first() else self._addition())[0]

    def migrate(self) -> Operation:
        """Write `history.jsonl` from `HISTORY.md`, take all of it as read by Dream, keep the old file as a backup.

        As agents do it, but that an entry of several paragraphs stays one, with its date. Where `history.jsonl` holds
        entries already, those of `HISTORY.md` and its backups that it lacks are appended to it, with new cursors.
        Raises NothingToDo, Refused while an agent runs, Conflict.
        """
        plan, entries, old = self._migration() if self._is_first() else self._addition()
        if plan.refused:
            raise Refused(plan.refused, plan.sources[-1], "nothing was changed")
        backups, path = self._paths.backups, self._paths.history
        ends = next(iter(pieces(path, max(0, file_size(path) - 1))), b"\n") == b"\n"
        lines, latest = b"".join(map(dump_entry, entries)), str(entries[-1].cursor)
        before = file_value(backups, pieces(path) if path.exists() else None, entries=plan.behind)
        whole = chain(pieces(path), [lines if ends else b"\n" + lines])
        after = file_value(backups, whole, entries=plan.behind + plan.entries)
        cursor = file_value(backups, read_plain(self._paths.cursor))
        # Dream's cursor first: whoever is killed in between leaves no archive that Dream would read from its beginning.
        changes = [] if plan.dreamed else [self._files.change(DREAM_CURSOR, latest)]
        changes += [Change(LAYER, HISTORY, before, after)]
        changes += [Change(LAYER, CURSOR, cursor, file_value(backups, latest.encode()))]
        if plan.backup:
            kept = file_value(backups, old, mtime=os.stat(self._paths.history_md).st_mtime_ns)
            changes += [Change(LAYER, plan.backup, None, kept), Change(LAYER, HISTORY_MD, kept, None)]
        names = " and ".join(name.rpartition("/")[2] for name in plan.sources)
        where = f"behind the {plan.behind:,} of the archive" if plan.behind else "to history.jsonl"
        label = f"migrate {names}: {counted(plan.entries, 'entry', 'entries')} {where}"
        return self._perform(new_operation("history.migrate", label, changes))

    def _migration(self) -> tuple[Migration, Sequence[HistoryEntry], bytes]:
        path = self._paths.history_md
        old = read_plain(path)
        if old is None:
            raise NothingToDo("there is no HISTORY.md to migrate", self._paths.relative(path))
        entries, problems = parse_history_md(old, HISTORY_MD, os.stat(path).st_mtime)
        if not entries:
            raise NothingToDo("HISTORY.md holds no entry", HISTORY_MD)
        lines = core_files.decode(old, "replace").split("\n")
        dates = [entry.timestamp for entry in entries]
        plan = Migration(
            entries=len(entries),
            first=min(dates),
            last=max(dates),
            undated=sum(not lines[entry.line - 1].startswith("[") for entry in entries),
            unreadable=len(lines_of(problems, "bytes")),
            bad_dates=lines_of(problems, "no date"),
            out_of_order=lines_of(problems, "out of order"),
            dated_within=tuple(number for number, line in enumerate(lines, 1) if _DATED.match(line)),
            backup=self._backup(),
            refused=self._refused(),
        )
        return plan, entries, old

    def _is_first(self) -> bool:
        return os.path.lexists(self._paths.history_md) and not file_size(self._paths.history)

    def _addition(self) -> tuple[Migration, Sequence[HistoryEntry], bytes]:
        """Return what appending would do, the entries with their new cursors, and what `HISTORY.md` holds."""
        archive = History(self._paths)
        found, counts = archive.old(), archive.count()
        if not archive.old_files():
            raise NothingToDo("there is no HISTORY.md to migrate", HISTORY_MD)
        if not found:
            raise NothingToDo("every entry of the old files is in history.jsonl", HISTORY)
        latest = counts["cursor"]
        entries = [
            HistoryEntry(latest + number, one.entry.timestamp, one.entry.content) for number, one in enumerate(found, 1)
        ]
        sources = tuple(dict.fromkeys(f"memory/{one.file}" for one in found))
        moves = HISTORY_MD in sources
        dates = [entry.timestamp for entry in entries]
        plan = Migration(
            entries=len(entries),
            first=min(dates),
            last=max(dates),
            undated=0,
            unreadable=0,
            backup=self._backup() if moves else "",
            refused=self._refused(),
            sources=sources,
            behind=counts["entries"],
            dreamed=counts["unprocessed"] > 0,
        )
        return plan, entries, (read_plain(self._paths.history_md) or b"") if moves else b""

    def _backup(self) -> str:
        """Return the first name for the old file that is not taken, as agents choose it."""
        number, name = 2, BACKUP
        while os.path.lexists(self._paths.workspace / name):
            name = f"{BACKUP}.{number}"
            number += 1
        return name

    # -- compaction -----------------------------------------------------------------------------------------------

    def compaction(self, keep: int = KEEP) -> HistoryCompaction:
        """Return what `compact` would do. Raises BadInput for a negative `keep`."""
        return self._cut(keep).plan

    def compact(self, keep: int = KEEP) -> Operation:
        """Drop the oldest entries but `keep`, never one that Dream has not read; can be undone later."""
        cut = self._cut(keep)
        plan = cut.plan
        if plan.refused:
            raise Refused(plan.refused, HISTORY, "stop the agent first")
        if plan.nothing:
            waits = f", {plan.waiting:,} of them not read by Dream" if plan.waiting else ""
            raise NothingToDo(f"the archive has {counted(plan.entries, 'entry', 'entries')}{waits}", HISTORY)
        if cut.unreadable:
            atomic.quarantine(self._paths.quarantine, self._paths.history.name, cut.unreadable)
        backups = self._paths.backups
        before = file_value(backups, cut.before, entries=plan.entries)
        after = file_value(backups, cut.after, entries=plan.kept)
        if cut.stamp is not None and not has_stamp(self._paths.history, cut.stamp):
            raise Conflict("the archive changed meanwhile", HISTORY, "look at it again and repeat the change")
        changes = [*self._counted(cut.latest), Change(LAYER, HISTORY, before, after)]
        what = f"{plan.kept:,} of {counted(plan.entries, 'entry', 'entries')}"
        bad = f", {counted(plan.unreadable, 'unreadable line')} to the quarantine" if plan.unreadable else ""
        operation = new_operation(
            "history.compact", f"compact the archive to {what}{bad}", changes,
            meta={"keep": keep, "removed": plan.removed, "kept": plan.kept},
        )  # fmt: skip
        return self._perform(operation)

    def _counted(self, latest: int) -> list[Change]:
        """Return the change that lets `.cursor` know the last cursor given: without the entries nobody else does."""
        counter = read_plain(self._paths.cursor)
        if (parse_cursor(counter) or 0) >= latest:
            return []
        backups = self._paths.backups
        return [Change(LAYER, CURSOR, file_value(backups, counter), file_value(backups, str(latest).encode()))]

    def _cut(self, keep: int) -> _Cut:
        if keep < 0:
            raise BadInput("cannot keep a negative number of entries", str(keep))
        if is_long(self._paths.history) and not self._paths.history.is_symlink():
            return self._long_cut(keep)
        data = read_plain(self._paths.history) or b""
        entries, _ = parse_history(data, HISTORY)
        latest = max((entry.cursor for entry in entries), default=0)
        dreamt = self._dreamt(latest)
        waiting = not_dreamt(entries, dreamt)
        fresh = entries.index(waiting[0]) if waiting else len(entries)
        if any(entry.cursor <= dreamt for entry in waiting):
            fresh -= 1  # only the entry before them says that they wait
        going = entries[: max(0, min(len(entries) - keep, fresh))]
        # Once Dream has read what follows, such a line costs nothing; before that a person has to mend it.
        read = max((entry.line for entry in entries if entry.cursor <= dreamt), default=0)
        follows = (entry.line for entry in entries if entry.cursor == dreamt + 1)
        end = max(read, min(follows, default=0))
        kept, bad, left = _sorted_lines(core_files.as_utf8(data), entries, len(going), end)
        after = _joined(kept) if going or bad else data
        plan = HistoryCompaction(
            entries=len(entries),
            keep=keep,
            removed=len(going),
            kept=len(entries) - len(going),
            waiting=len(waiting),
            unreadable=len(bad),
            left=left,
            first=going[0].cursor if going else None,
            last=going[-1].cursor if going else None,
            bytes_before=len(data),
            bytes_after=len(after),
            refused=self._refused(),
        )
        return _Cut(plan, data, after, _joined(bad), latest)

    def _long_cut(self, keep: int) -> _Cut:
        """Return the same of an archive that is not held."""
        long = long_archive(self._paths.history, HISTORY)
        dreamt = self._dreamt(long.highest)
        going = max(0, min(long.count - keep, first_above(long, dreamt)))
        cut = LongCut(long, going, max(line_up_to(long, dreamt), line_of(long, dreamt + 1)))
        plan = HistoryCompaction(
            entries=long.count,
            keep=keep,
            removed=going,
            kept=long.count - going,
            waiting=long.count_above(dreamt),
            unreadable=len(cut.unreadable),
            left=cut.left,
            first=long.between(0, 1)[0].cursor if going else None,
            last=long.between(going - 1, going)[0].cursor if going else None,
            bytes_before=long.stamp[1],
            bytes_after=long.stamp[1] if cut.nothing else cut.size,
            refused=self._refused(),
        )
        return _Cut(plan, pieces(self._paths.history), cut.kept(), _joined(cut.unreadable), long.highest, long.stamp)

    def _dreamt(self, latest: int) -> int:
        stated = parse_cursor(self._files.load(DREAM_CURSOR).data) or 0
        given = parse_cursor(read_plain(self._paths.cursor)) or 0
        return 0 if count_skipped(stated, latest, given) else clamp_cursor(stated, latest)

    def _refused(self) -> str:
        agent = self._agent()
        return f"{agent.what or 'an agent'} runs (process {agent.pid})" if agent.running else ""


def lines_of(problems: Iterable[Problem], begins: str) -> tuple[int, ...]:
    """Return the lines of the problems that begin so."""
    return tuple(one.line for one in problems if one.what.startswith(begins) and one.line is not None)


def _joined(records: Iterable[Record]) -> bytes:
    return b"".join(record.raw + b"\n" for record in records)
