"""The beginning of MEMORY.md without what is forgotten, which stands before every turn. Reads only, and no file outside
of the workspace."""

from __future__ import annotations

import os

from nanomem_tui.core import files
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import forgotten

MAX_NOTES = 64_000
"""Bytes that are read."""


class NotesHeader:
    """The beginning of one workspace's MEMORY.md, read again when the file changed, or what is forgotten."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._known: tuple[object, str] = (None, "")

    def read(self) -> str:
        """The text; nothing where there is no file, where nobody can tell what is forgotten, or where a link leads
        elsewhere: what lies there is no memory."""
        path = self._paths.memory_md
        try:
            found = path.stat()
            stamp = (found.st_ino, found.st_size, found.st_mtime_ns, forgotten.stamp(self._paths))
            if self._known[0] != stamp:
                self._known = (stamp, self._read() if self._is_inside() else "")
        except (OSError, NanomemError):
            self._known = (None, "")
        return self._known[1]

    def _is_inside(self) -> bool:
        inside = os.path.realpath(self._paths.workspace)
        return os.path.realpath(self._paths.memory_md).startswith(f"{inside}{os.sep}")

    def _read(self) -> str:
        with files.opened(self._paths.memory_md) as file:
            text = (
                files.decode(file.read(MAX_NOTES), "replace")
                .replace("\0", "")
                .replace("\r\n", "\n")
                .replace("\r", "\n")
            )
        return forgotten.load(self._paths).taken_out(text)
