"""Notes in Markdown: daily `memory/YYYY-MM-DD.md`, and the mirrors `episodic/` and `semantic/` of seed 001.

Reads notes; `MirrorLayer` appends to the mirrors what an operation adds.
"""

from __future__ import annotations

import builtins
import os
import stat
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents.markdown import daily_note_name, decode, dump_mirror_line
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import NanomemError, NotFound, Problem, from_os_error
from nanomem_tui.core.files import Parsed, non_files, regular_files
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import safe_text
from nanomem_tui.store.values import Item

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
        """Return every note: dated ones by day, the newest first, then the others by name."""
        notes = [note for note, _ in self._files()]
        return sorted(sorted(notes, key=lambda note: note.name), key=lambda note: note.date, reverse=True)

    def read(self, name: str) -> str:
        """Return the text of a note; bytes that are no UTF-8 become U+FFFD. Raises NotFound."""
        for note, path in self._files():
            if note.name == name:
                (text, _), unreadable = self._parsed.get(path, self._paths.relative(path))
                if unreadable:
                    raise NotFound(unreadable.what, name, unreadable.fix)
                return text
        raise NotFound("no such note", name)

    def search(self, query: str, limit: int = 100) -> builtins.list[NoteHit]:
        """Return the lines that hold every word of `query`, in the order of `list`, at most `limit`."""
        from nanomem_tui.memory.filters import matcher

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
        """Return the lines before and after one that are not empty, at most `many` each, in their order."""
        lines = _lines(self.read(name))

        def hits_of(numbers: Iterable[int]) -> builtins.list[NoteHit]:
            return list(islice((NoteHit(name, at + 1, lines[at]) for at in numbers if lines[at].strip()), many))

        return hits_of(range(line - 2, -1, -1))[::-1], hits_of(range(line, len(lines)))

    def problems(self) -> builtins.list[Problem]:
        """Return what could not be read, line by line, and what is no file."""
        found: builtins.list[Problem] = []
        for _, path in self._files():
            (_, problems), unreadable = self._parsed.get(path, self._paths.relative(path))
            found += [*problems, *([unreadable] if unreadable else [])]
        for name, kind in non_files(self._paths.memory, ".md"):  # mirrors name their own
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
    return text.replace("\r\n", "\n").split("\n")


# Markdown mirrors of what is remembered (seed 001 §4.2): one line an item in `memory/episodic/YYYY-MM-DD.md` and
# `memory/semantic/{preferences,facts,decisions}.md`.

FOLDERS = ("episodic", "semantic")
LOOK_BACK = 4_000_000
"""Bytes at the end of a mirror where a line is looked for before it is appended."""
WAITING = 1_000
"""Lines of a mirror that cannot be written that are tried again."""
_SEMANTIC = {"preference": "preferences", "fact": "facts", "decision": "decisions"}


class Line(NamedTuple):
    """One line of a mirror: its file below `memory/`, the heading that a new file gets, and the line itself."""

    file: str
    title: str
    text: str


def has_mirrors(paths: Paths, settings: Settings) -> bool:
    """Return whether this workspace has mirrors: by the setting, or because it keeps them already."""
    if settings.mirrors != "auto":
        return settings.mirrors == "on"
    return any(_is_folder(paths.memory / name) for name in FOLDERS)


def mirror_line(item: Item) -> Line:
    """Return the line of an item, in the form of seed 001; characters that a terminal obeys are made visible."""
    at = clock.parse(item.created_at) or clock.now()
    text = dump_mirror_line(at, safe_text(item.text)).decode("utf-8").removesuffix("\n")
    if item.kind in _SEMANTIC:
        name = _SEMANTIC[item.kind]
        return Line(f"semantic/{name}.md", name.capitalize(), text)
    day = f"{at.astimezone(UTC):%Y-%m-%d}"
    return Line(f"episodic/{day}.md", day, text)


def mirror_changes(paths: Paths, settings: Settings, items: Iterable[Item]) -> list[Change]:
    """Return the mirror lines of new items; none where no mirrors are kept."""
    if not has_mirrors(paths, settings):
        return []
    return [
        Change("mirror", f"{line.file}#{item.id}", None, line._asdict())
        for item in items
        for line in [mirror_line(item)]
    ]


class MirrorLayer:
    """The layer `mirror`: a change from nothing to a line appends it, one from a line to nothing takes it out again.

    Only undo takes a line out; deleting an item leaves its line, as in seed 001.
    """

    name = "mirror"

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._failures: dict[str, Problem] = {}
        self._waiting: dict[tuple[str, str], tuple[list[str], list[str]]] = {}

    def check(self, changes: Sequence[Change]) -> None:
        """Nothing is refused here."""

    def begun(self, changes: Sequence[Change]) -> bool:
        """False: what a killed process left is finished, because the items are there; a line is written once."""
        return False

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Append and take out lines, each once; what fails is a problem, and is tried again with what comes next."""
        for change in changes:
            value = change.after if change.after is not None else change.before
            line = _line(value or {})
            if line is not None:
                lines = self._waiting.setdefault((line.file, line.title), ([], []))
                lines[change.after is None].append(line.text)
                if change.after is not None and line.text in lines[1]:
                    lines[1].remove(line.text)  # it was to be taken out, and is wanted again
        self.catch_up()

    def catch_up(self) -> None:
        """Write what could not be written before."""
        by_file, self._waiting = self._waiting, {}
        for (file, title), (added, removed) in by_file.items():
            try:
                self._write(file, title, added, removed)
            except (NanomemError, OSError) as error:
                found = error if isinstance(error, NanomemError) else from_os_error(error, "writing a mirror")
                what = f"the mirror cannot be written ({found.what})"
                self._failures[file] = Problem(what, f"memory/{file}", fix=found.fix, severity="warning")
                self._waiting[file, title] = added[-WAITING:], removed[-WAITING:]
            else:
                self._failures.pop(file, None)

    def problems(self) -> list[Problem]:
        """Return what could not be written."""
        return list(self._failures.values())

    def _write(self, file: str, title: str, added: Sequence[str], removed: Sequence[str]) -> None:
        path = self._paths.memory / file
        if added:
            for folder in (path.parent.parent, path.parent):
                if not _is_folder(folder):
                    if os.path.lexists(folder):
                        raise NanomemError("not a folder of its own", str(folder), "replace the link by a folder")
                    atomic.make_folder(folder)
            _append(path, title, added)
        if removed and _is_folder(path.parent) and os.path.lexists(path):
            _take_out(path, removed)


def _line(value: object) -> Line | None:
    if not isinstance(value, dict):
        return None
    file, title, text = (value.get(name) for name in Line._fields)
    if not (isinstance(file, str) and isinstance(title, str) and isinstance(text, str)):
        return None
    folder, _, name = file.partition("/")
    fits = folder in FOLDERS and name.endswith(".md") and "/" not in name and not name.startswith(".")
    return Line(file, title, text) if fits and "\n" not in title + text else None


def _append(path: Path, title: str, lines: Sequence[str]) -> None:
    with atomic.open_locked(path, "writing a mirror") as handle:
        size = os.fstat(handle).st_size
        present = set(atomic.read_from(handle, max(0, size - LOOK_BACK)).split(b"\n"))
        fresh = [line for line in dict.fromkeys(lines) if line.encode() not in present]
        if not fresh:
            return
        head = "" if size else f"# {title}\n\n"
        atomic.append_to(handle, (head + "".join(f"{line}\n" for line in fresh)).encode())
        os.fsync(handle)  # an operation is done once, and nothing else makes the line again
        if not size:
            atomic.sync_folder(path.parent)


def _take_out(path: Path, lines: Sequence[str]) -> None:
    """Remove the last of each of these lines, unless somebody writes the file meanwhile."""
    with atomic.open_locked(path, "writing a mirror") as handle:
        data = atomic.read_from(handle)
        kept = data.split(b"\n")
        for line in lines:
            places = [number for number, text in enumerate(kept) if text == line.encode()]
            if places:
                del kept[places[-1]]
        rest = b"\n".join(kept)
        if rest != data:
            atomic.write_atomic(path, rest, expected=atomic.sha256(data))


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
