"""Where Dream stands: what waits for the next one, and whether one runs now. Reads only.

Apart from `run` so that a command that only tells this loads no Dreamer and no guard.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.archive import (
    HistoryEntry,
    ReadTo,
    beyond,
    clamp_cursor,
    not_dreamt,
    parse_cursor,
    parse_history,
)
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import NanomemError, Problem, in_words
from nanomem_tui.core.paths import DREAM_CURSOR, Paths
from nanomem_tui.core.text import counted
from nanomem_tui.memory.sessions.archive import WHOLE, is_long, long_archive

if TYPE_CHECKING:
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence


class Queue(NamedTuple):
    """Where Dream stands: its cursor (clamped to what exists), the last one, the entries it has not seen, and all.

    `stated` is what the cursor file says, `given` the last cursor that the agent gave, whose entry may be gone.
    `unread` are entries that a Dream passed and could not read. Of a long archive `entries` are those from a little
    before the cursor on, as many as a few Dreams read; `more` wait behind them.
    """

    cursor: int
    latest: int
    waiting: tuple[HistoryEntry, ...]
    entries: tuple[HistoryEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    stated: int = 0
    given: int = 0
    unread: tuple[HistoryEntry, ...] = ()
    more: int = 0

    @property
    def ahead(self) -> int:
        """How many entries to come the cursor file passes over already; 0 when it is not beyond the last one."""
        return beyond(self.stated, self.latest, self.given)

    def too_far(self, git: GitHistory | None) -> Problem | None:
        """What a cursor file that is `ahead` leads to, and what to write there; None when it is not.

        The newest commit tells up to where Dreams have read, unless that is beyond the last entry as well.
        """
        if not self.ahead:
            return None
        last = max(self.latest, self.given)
        newest = git.commits(1) if git else []
        read = newest[0].cursor_after if newest else None
        to_come = "the entry" if self.ahead == 1 else f"the {self.ahead:,} entries"
        what = f"the cursor says {self.stated}, {self.ahead:,} ahead of the last entry ({last}): "
        what += f"no Dream would ever read {to_come} to come"
        if read is None or read > last:
            fix = f"write the last entry that a Dream has read into {DREAM_CURSOR}; 0 has all of them read again"
        else:
            wait = sum(1 for entry in self.entries if entry.cursor > read)
            fix = f"write {read} into {DREAM_CURSOR}: up to there Dreams have read"
            fix += f", and {counted(wait, 'entry', 'entries')} would wait" if wait else ""
        return Problem(what, DREAM_CURSOR, None, fix)

    @property
    def unreadable(self) -> tuple[Problem, ...]:
        """The lines behind the cursor that are no entry, in the order of the file."""
        entries = {entry.line for entry in self.entries}
        read = max((entry.line for entry in self.entries if entry.cursor <= self.cursor), default=0)
        follows = min((entry.line for entry in self.waiting if entry.cursor == self.cursor + 1), default=0)
        read = max(read, follows - 1)  # what lies before the very next entry was read, whatever became of it
        bad = {p.line: p for p in self.problems if p.line is not None and p.line > read and p.line not in entries}
        return tuple(bad[line] for line in sorted(bad))

    def passed(self, last: int = 0) -> tuple[int, ...]:
        """The numbers of those that a Dream up to the line `last` passes over: before it, all when it reads all."""
        rest = any(entry.line > last for entry in self.waiting)
        lines = (problem.line for problem in self.unreadable if problem.line is not None)
        return tuple(line for line in lines if line < last or not rest)


class DreamQueue:
    """The history of one workspace as Dream sees it."""

    def __init__(
        self,
        paths: Paths,
        files: FileLayer,
        presence: Callable[[], Presence],
        read_to: Callable[[], ReadTo | None] = lambda: None,
    ) -> None:
        """`read_to` is asked where the last Dream of ours ended, once cursors are out of order."""
        self._read_to = read_to
        self._paths = paths
        self._files = files
        self._presence = presence

    def queue(self) -> Queue:
        """The entries that wait for a Dream, in file order. Reads only.

        Raises AccessDenied when the history cannot be read."""
        stated = parse_cursor(self._files.load(DREAM_CURSOR).data) or 0
        try:
            entries, problems, latest, more = self._read(stated)
        except (OSError, NanomemError) as error:
            said = in_words(error, f"reading {self._paths.history.name}")
            raise type(said)(said.what, self._paths.relative(self._paths.history), said.fix) from error
        cursor = clamp_cursor(stated, latest)
        waiting = not_dreamt(entries, max(0, stated), self._read_to)
        unread: tuple[HistoryEntry, ...] = ()
        if (self._paths.review / "unread").is_dir():
            from nanomem_tui.dream.unread import entries_unread

            unread = entries_unread(self._paths, lambda noted: self._passed(entries, noted, cursor))
        return Queue(cursor, latest, tuple(waiting), entries, problems, stated, self._given(), unread, more)

    def _read(self, stated: int) -> tuple[tuple[HistoryEntry, ...], tuple[Problem, ...], int, int]:
        """The entries, what is wrong with lines, the highest cursor, and how many wait beyond these entries: of a long
        archive only those are read that a few Dreams take. Raises OSError and NanomemError."""
        path, where = self._paths.history, self._paths.relative(self._paths.history)
        if is_long(path):
            long = long_archive(path, where)
            cursor = clamp_cursor(stated, long.highest)
            part, told = long.from_piece_of(cursor, WHOLE)
            more = long.count_above(cursor) - sum(entry.cursor > cursor for entry in part)
            return tuple(part), tuple(told), long.highest, more
        try:
            data = atomic.read_stable(path)
        except FileNotFoundError:
            data = b""
        entries, problems = parse_history(data, where)
        return entries, problems, max((entry.cursor for entry in entries), default=0), 0

    def _passed(self, entries: Sequence[HistoryEntry], noted: Collection[int], cursor: int) -> list[HistoryEntry]:
        """Those of the cursors `noted` that a Dream is past."""
        path = self._paths.history
        found = long_archive(path, self._paths.relative(path)).of(noted).values() if is_long(path) else entries
        return [entry for entry in found if entry.cursor <= cursor and entry.cursor in noted]

    def count_between(self, queue: Queue, before: int, last: int) -> int:
        """How many entries there are behind the cursor `before`, up to that of `last`; `queue`: what was read now."""
        path = self._paths.history
        if is_long(path):
            long = long_archive(path, self._paths.relative(path))
            return long.count_above(before) - long.count_above(last)
        return sum(1 for entry in queue.entries if before < entry.cursor <= last)

    def _given(self) -> int:
        """The last cursor that the agent gave; 0 where its file does not tell."""
        try:
            return parse_cursor(atomic.read_stable(self._paths.cursor)) or 0
        except (OSError, NanomemError):
            return 0

    def running(self) -> bool:
        """Whether a Dream of ours, or the agent's own, is under way."""
        return self._presence().dreaming or self._is_locked()

    def _is_locked(self) -> bool:
        try:
            handle = os.open(self.lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not atomic.try_lock(handle)
        finally:
            os.close(handle)

    @property
    def lock(self) -> Path:
        """The file whose lock keeps Dreams of ours apart."""
        return self._paths.data / "dream.lock"
