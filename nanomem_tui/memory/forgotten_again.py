"""What was forgotten and stands in a file of the agent again: an agent writes these by hand, no gate of ours sees it.

Looks by the hashes that are kept, and says where; what it is only the person knows. Of a conversation, which may be
long, only what was written to since something was forgotten is looked through. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nanomem_tui.agents.layout import Layout, session_folders
from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.files import read_log
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import Forgotten

SHOWN = 5
"""Lines of a file that are named."""


def problems(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """The documents and notes, the archive and the conversations that hold what is forgotten. Raises the errors of
    `forgotten.load` and of `read_log`, and OSError."""
    kept = forgotten.load(paths)
    if not kept:
        return
    for path in _there([*sorted(paths.workspace.glob("*.md")), *sorted(paths.memory.glob("*.md"))]):
        text = files.read(path).decode("utf-8", "replace")
        yield from _told(paths, path, sorted({text.count("\n", 0, begin) + 1 for begin, _ in kept.places(text)}))
    since, _, _ = forgotten.stamp(paths)
    conversations = (path for folder in session_folders(paths, layout) for path in sorted(folder.glob("*.jsonl")))
    written = (path for path in _there(conversations) if path.stat().st_mtime_ns >= since)
    for path in (*_there([paths.history]), *written):
        yield from _told(paths, path, _lines(read_log(path), kept))


def _there(found: Iterable[Path]) -> Iterator[Path]:
    return (path for path in found if not path.is_symlink() and path.is_file())


def _lines(data: bytes, kept: Forgotten) -> list[int]:
    """The numbers of the lines of JSON that hold it; of a line that is none the text is looked at."""
    numbers = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            value = files.loads(line) if line else None
        except (ValueError, RecursionError):
            value = line.decode("utf-8", "replace")
        if value is not None and kept.value(value):
            numbers.append(number)
    return numbers


def _told(paths: Paths, path: Path, lines: list[int]) -> Iterator[Problem]:
    if lines:
        more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        listed = ", ".join(map(str, lines[:SHOWN])) + more
        what = f"forgotten, and there again: line{'s' if len(lines) > 1 else ''} {listed}"
        yield Problem(what, paths.relative(path), lines[0], "`nanomem forget --again` takes it out", "warning")
