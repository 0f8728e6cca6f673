"""The archive of summaries: `history.jsonl`, or the oldest release's `HISTORY.md`, and what Dream has not read yet.

Reads only: while an agent lives nobody else may append, and rewriting it loses entries.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left
from operator import attrgetter

from nanomem_tui.errors import AccessDenied, NotFound, Problem
from nanomem_tui.formats.history import HistoryEntry, parse_cursor, parse_history, parse_history_md
from nanomem_tui.memory.reading import Parsed
from nanomem_tui.paths import Paths
from nanomem_tui.regular import MOST_OF_A_LOG

Entries = tuple[tuple[HistoryEntry, ...], tuple[Problem, ...]]


class History:
    """The archive of one workspace, parsed once for every state of its file."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._lines: Parsed[Entries] = Parsed(parse_history, MOST_OF_A_LOG)
        self._markdown: Parsed[Entries] = Parsed(self._parse_markdown)
        self._cursors: Parsed[int | None] = Parsed(lambda data, _: parse_cursor(data))

    def entries(self, limit: int | None = None, offset: int = 0) -> list[HistoryEntry]:
        """The entries, the newest first; `limit` None is all of them."""
        entries = self._entries()[::-1]
        return list(entries[offset : None if limit is None else offset + limit])

    def in_order(self) -> tuple[HistoryEntry, ...]:
        """The entries, the oldest first; the same object while the file is the same."""
        return self._entries()

    def neighbours(self, entry: HistoryEntry, many: int = 2) -> tuple[list[HistoryEntry], list[HistoryEntry]]:
        """The entries before and after one in the file, at most `many` each, in their order."""
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
        latest = max((entry.cursor for entry in entries), default=0)
        dreamt = self.dream_cursor if self._is_lines() else latest
        return {
            "entries": len(entries),
            "unprocessed": sum(entry.cursor > dreamt for entry in entries),
            "cursor": max(latest, self._cursors.get(self._paths.cursor, "")[0] or 0),
            "dream_cursor": dreamt,
        }

    @property
    def dream_cursor(self) -> int:
        """The last entry that Dream has read as it takes it: 0 where its cursor is missing or no number."""
        return self._cursors.get(self._paths.dream_cursor, "")[0] or 0

    def unprocessed(self) -> list[HistoryEntry]:
        """What Dream has not read yet, the oldest first."""
        dreamt = self.count()["dream_cursor"]
        return [entry for entry in self._entries() if entry.cursor > dreamt]

    def get(self, cursor: int) -> HistoryEntry:
        """The entry of that cursor, the last where two writers gave it twice. Raises NotFound."""
        for entry in self._entries()[::-1]:
            if entry.cursor == cursor:
                return entry
        raise NotFound("no history entry of that cursor", str(cursor), "`nanomem history list` shows them")

    def search(self, query: str, limit: int = 100) -> list[HistoryEntry]:
        """The entries that hold every word of `query`, the newest first, at most `limit`."""
        from nanomem_tui.memory.matching import matcher

        wanted = matcher(query)
        if not wanted:
            return []
        found = (entry for entry in reversed(self._entries()) if wanted.matches(entry.content))
        return [entry for entry, _ in zip(found, range(max(0, limit)), strict=False)]

    def problems(self) -> list[Problem]:
        """What could not be read, line by line."""
        (_, problems), unreadable = self._read()
        return [*problems, *([unreadable] if unreadable else [])]

    def unreadable(self) -> list[Problem]:
        """Why the archive cannot be read at all: it is not empty then."""
        problem = self._read()[1]
        return [problem] if problem is not None else []

    def _entries(self) -> tuple[HistoryEntry, ...]:
        return self._read()[0][0]

    def _read(self) -> tuple[Entries, Problem | None]:
        if self._is_lines():
            return self._lines.get(self._paths.history, self._paths.relative(self._paths.history))
        return self._markdown.get(self._paths.history_md, self._paths.relative(self._paths.history_md))

    def _is_lines(self) -> bool:
        """Whether the archive is `history.jsonl`: an empty one beside a `HISTORY.md` was not migrated yet."""
        with contextlib.suppress(OSError):
            if os.lstat(self._paths.history).st_size:
                return True
        return not self._paths.history_md.is_file()

    def _parse_markdown(self, data: bytes, where: str) -> Entries:
        try:
            changed = os.lstat(self._paths.history_md).st_mtime
        except OSError:
            changed = 0.0
        return parse_history_md(data, where, changed)
