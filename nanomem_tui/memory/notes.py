"""Notes in Markdown: daily `memory/YYYY-MM-DD.md`, and the mirrors `episodic/` and `semantic/` there. Reads only."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents.markdown import daily_note_name, decode
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NotFound, Problem
from nanomem_tui.core.files import Parsed, no_files, regular_files
from nanomem_tui.core.paths import Paths

MIRRORS = ("episodic", "semantic")


class Note(NamedTuple):
    """One note. `name` is its path below `memory/`, `date` is ISO or "", `size` in bytes, `updated_at` UTC ISO."""

    name: str
    date: str
    size: int
    updated_at: str


class NoteHit(NamedTuple):
    """A line that matches; `line` counts from 1."""

    name: str
    line: int
    text: str


class Notes:
    """The notes of one workspace, each read once for every state of its file."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._parsed = Parsed(decode)

    def list(self) -> builtins.list[Note]:
        """Every note: dated ones by day, the newest first, then the others by name."""
        notes = [note for note, _ in self._files()]
        return sorted(sorted(notes, key=lambda note: note.name), key=lambda note: note.date, reverse=True)

    def read(self, name: str) -> str:
        """The text of a note; bytes that are no UTF-8 become U+FFFD. Raises NotFound."""
        for note, path in self._files():
            if note.name == name:
                (text, _), unreadable = self._parsed.get(path, self._paths.relative(path))
                if unreadable:
                    raise NotFound(unreadable.what, name, unreadable.fix)
                return text
        raise NotFound("no such note", name)

    def search(self, query: str, limit: int = 100) -> builtins.list[NoteHit]:
        """The lines that hold every word of `query`, in the order of `list`, at most `limit`."""
        from nanomem_tui.memory.matching import matcher

        wanted = matcher(query)
        if not wanted:
            return []
        found = (
            NoteHit(note.name, number, line)
            for note in self.list()
            for number, line in enumerate(_lines(self.read(note.name)), 1)
            if wanted.matches(line)
        )
        return [hit for hit, _ in zip(found, range(max(0, limit)), strict=False)]

    def neighbours(self, name: str, line: int, many: int = 2) -> tuple[builtins.list[NoteHit], builtins.list[NoteHit]]:
        """The lines before and after one that are not empty, at most `many` each, in their order. Raises NotFound."""
        lines = _lines(self.read(name))

        def told(numbers: Iterable[int]) -> builtins.list[NoteHit]:
            return list(islice((NoteHit(name, at + 1, lines[at]) for at in numbers if lines[at].strip()), many))

        return told(range(line - 2, -1, -1))[::-1], told(range(line, len(lines)))

    def problems(self) -> builtins.list[Problem]:
        """What could not be read, line by line, and what is no file."""
        found: builtins.list[Problem] = []
        for _, path in self._files():
            (_, problems), unreadable = self._parsed.get(path, self._paths.relative(path))
            found += [*problems, *([unreadable] if unreadable else [])]
        for name, kind in no_files(self._paths.memory, ".md"):  # mirrors name their own
            if daily_note_name(name):
                what = f"a {kind} lies in the place of a note, and is not read"
                fix = "put the real file in its place"
                found.append(Problem(what, self._paths.relative(self._paths.memory / name), None, fix, "warning"))
        return found

    def _files(self) -> builtins.list[tuple[Note, Path]]:
        found = []
        for folder in ("", *MIRRORS):
            for name, at in regular_files(self._paths.memory / folder, ".md"):
                day = daily_note_name(name)
                if folder or day:
                    whole = f"{folder}/{name}" if folder else name
                    updated = clock.iso(datetime.fromtimestamp(at.st_mtime, UTC))
                    note = Note(whole, day.isoformat() if day else "", at.st_size, updated)
                    found.append((note, self._paths.memory / folder / name))
        return found


def _lines(text: str) -> list[str]:
    """The lines of a text without their ends."""
    return text.replace("\r\n", "\n").split("\n")
