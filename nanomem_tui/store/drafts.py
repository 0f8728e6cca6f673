"""Texts that were being written when the console was ended from outside: kept until the same text is edited again.

Owns that folder, beside the database. A draft belongs to what was edited: its title and the words before.
"""

from __future__ import annotations

import contextlib
import hashlib

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic


class Drafts:
    """The drafts of one workspace."""

    def __init__(self, paths: Paths) -> None:
        self._folder = paths.drafts

    def keep(self, title: str, before: str, text: str) -> None:
        """Keep `text`, that was being made of `before`. Raises what a write raises."""
        atomic.make_folder(self._folder)
        atomic.write_atomic(self._folder / _name(title, before), text.encode("utf-8", "surrogatepass"))

    def of(self, title: str, before: str) -> str | None:
        """What was being made of `before`; None for nothing that can be read."""
        if not self._folder.is_dir():
            return None
        with contextlib.suppress(OSError, UnicodeError, NanomemError):
            return regular.read(self._folder / _name(title, before)).decode("utf-8", "surrogatepass")
        return None

    def drop(self, title: str, before: str) -> None:
        """It was edited again, and saved or left."""
        with contextlib.suppress(OSError):
            (self._folder / _name(title, before)).unlink()
            self._folder.rmdir()  # only the last one can

    def count(self) -> int:
        """How many there are."""
        with contextlib.suppress(OSError):
            return sum(1 for path in self._folder.iterdir() if path.suffix == ".txt")
        return 0


def _name(title: str, before: str) -> str:
    key = f"{title}\0{before}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(key).hexdigest()[:24]}.txt"
