"""Transcripts without the lines that cannot be read and with one object a line, as changes that can be undone.

An agent passes by such a line and still counts its offsets with it: messages behind it are then taken for archived, or
are told twice (FORMATS.md, "Session transcripts"). Owns when a transcript needs that; the bytes are the format's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.transcripts import without_unreadable
from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.files import read_log
from nanomem_tui.core.operations import Change
from nanomem_tui.memory.session_files import SessionFile, hidden_reason, key_of
from nanomem_tui.memory.session_layer import kept_value

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


class Broken(NamedTuple):
    """A transcript that holds lines which cannot be read, or several objects on a line (`shared`), or that is in UTF-16
    or UTF-32 (`wide`): whose it is, its file, and how many such lines."""

    key: str
    file: SessionFile
    lines: int
    shared: int = 0
    wide: bool = False


def broken(ws: Workspace) -> Iterator[Broken]:
    """Those that the agent finds. One that cannot be read at all is left to the doctor."""
    for file, summary, unreadable in ws.sessions.summaries():
        hidden = unreadable or file.link or not file.current or hidden_reason(file, summary.header, ws.layout)
        if not hidden and summary.problems:
            data = read_log(file.path)
            found, wide = without_unreadable(data), files.is_wide(data)
            if found.lines or found.shared or wide:
                yield Broken(key_of(file.path.name, summary.header), file, found.lines, found.shared, wide)


def changes(ws: Workspace, one: Broken) -> list[Change]:
    """The change that takes those lines out and parts those that are shared; the file as it was is kept. Raises
    Conflict when the file changed since."""
    data = read_log(one.file.path)
    found = without_unreadable(data)
    if (found.lines, found.shared) != (one.lines, one.shared):
        raise Conflict("the session changed meanwhile", one.key, "look at it again and repeat it")
    backups, name = ws.paths.backups, one.file.path.name
    before, after = (kept_value(name, atomic.put_blob(backups, body), found.messages) for body in (data, found.data))
    return [Change("session", one.key, before, after)]
